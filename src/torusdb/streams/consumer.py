"""The worker: takes leases, reads their shards in turn, hands records to the application, checkpoints.

One thread does it all, one step after another: nothing happens behind the application's back, and a test drives it as
the application does. A batch is handled like this:

    read a page ─▶ handler returns ─▶ checkpoint, on condition that the lease is still ours ─▶ next

A worker that is killed before the checkpoint leaves the batch to whoever takes the lease: records come at least once.
One that has lost its lease hears of it at the checkpoint, and drops the shard. Within a shard records are handled in
their order, and a shard only when its parent is at its end; so those of an item come in their order.
"""

from __future__ import annotations

import logging
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from torusdb.streams.assignment import Watch, plan
from torusdb.streams.calls import back_off
from torusdb.streams.leases import AT, LATEST, SHARD_END, TRIM_HORIZON, Lease, LeaseTable
from torusdb.streams.shards import Record, RecordsLost, StreamReader, StreamShard, ancestors, children_first

log = logging.getLogger("torusdb.streams")

Handler: TypeAlias = Callable[[str, list[Record]], Any]
"""Gets a shard's id and its next records. What it returns is of no matter; that it returns is."""

LostHandler: TypeAlias = Callable[[str, str], Any]
"""Gets a shard's id and the checkpoint behind which records are gone."""

LEASE_SECONDS: Final = 30.0
POLL_SECONDS: Final = 1.0
RECORDS_MAX: Final = 1000
HANDLER_ATTEMPTS_MAX: Final = 5

_RENEWALS: Final = 3
"""How often a lease is renewed, and all of them looked at, in the time after which it would count as abandoned."""


class HandlerFailed(Exception):
    """The handler failed again and again. Its last exception is the cause; nothing of the batch is checkpointed."""

    def __init__(self, shard_id: str, records: list[Record]) -> None:
        first, last = (record["dynamodb"]["SequenceNumber"] for record in (records[0], records[-1]))
        super().__init__(f"The handler failed on records {first} to {last} of {shard_id}")
        self.shard_id = shard_id
        self.records = records


@dataclass(slots=True)
class _Held:
    lease: Lease
    renewed: float
    """When, by the worker's own clock, before the request was sent."""
    iterator: str | None = None


class Consumer:
    def __init__(
        self,
        stream_arn: str,
        handler: Handler,
        *,
        dynamodb: Any,
        streams: Any,
        lease_table: str,
        worker: str | None = None,
        start: Literal["TRIM_HORIZON", "LATEST"] = TRIM_HORIZON,
        lease_seconds: float = LEASE_SECONDS,
        poll_seconds: float = POLL_SECONDS,
        records_max: int = RECORDS_MAX,
        handler_attempts_max: int = HANDLER_ATTEMPTS_MAX,
        on_lost: LostHandler | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Any] | None = None,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        """`dynamodb` and `streams` are boto3's clients for "dynamodb" and "dynamodbstreams". `start`: where an
        application that has no leases yet begins. `lease_seconds`: how long a worker may take over a batch before
        another takes it for dead; the handler should return well within it. `worker` names this worker in leases; it
        is made unique. `now` and `sleep` are for tests; `now` need only be this process's own clock."""
        self._stopping = threading.Event()
        self._sleep = sleep or self._stopping.wait
        self._now = now
        self._handler = handler
        self._on_lost = on_lost or _warn_of_lost
        self._start = start
        self._lease_seconds = lease_seconds
        self._poll_seconds = poll_seconds
        self._records_max = records_max
        self._attempts_max = handler_attempts_max
        # Unique, since a worker takes leases in its name for its own: one that starts again is another.
        self.worker = f"{worker or f'{socket.gethostname()}:{os.getpid()}'}/{new_id()}"
        self._leases = LeaseTable(dynamodb, lease_table, stream_arn, self._sleep)
        self._reader = StreamReader(streams, stream_arn, self._sleep)
        self._watch = Watch(lease_seconds)
        self._held: dict[str, _Held] = {}
        self._look_at = -math.inf
        self._is_prepared = False

    def run(self) -> None:
        """Works until `stop` is called. Raises HandlerFailed, or what a client raised that no retry helped. In each
        case it lets go of its leases first, as far as it can."""
        try:
            while not self._stopping.is_set():
                if not self.step():
                    self._sleep(self._poll_seconds)
        finally:
            self.close()

    def stop(self) -> None:
        """Has `run` return after the batch that is being handled. May be called from any thread or signal handler."""
        self._stopping.set()

    def close(self) -> None:
        """Lets go of the leases, so that others need not wait for them."""
        held, self._held = list(self._held.values()), {}
        self._look_at = -math.inf
        for one in held:
            try:
                self._leases.hand_over(one.lease, None)
            except Exception as error:
                # The lease will expire; what made the worker end is what its caller has to hear of.
                log.warning("The lease of %s could not be given back: %s", one.lease.shard_id, error)

    def step(self) -> bool:
        """One round: leases, then a batch of each shard. Whether there was anything to do."""
        busy = False
        if not self._is_prepared:
            self._leases.ensure()
            self._is_prepared = True
        if self._now() >= self._look_at:
            busy = self._look_around()
        for shard_id in list(self._held):
            if self._stopping.is_set():
                break
            # A handler may have taken its time with the shard before.
            for each in list(self._held.values()):
                self._renew_if_due(each)
            held = self._held.get(shard_id)
            if held is not None:
                busy = self._read(held) or busy
        return busy

    @property
    def shards(self) -> set[str]:
        """Those that this worker reads now."""
        return set(self._held)

    # Leases

    def _look_around(self) -> bool:
        """Brings leases in line with the stream's shards, and takes what is this worker's share."""
        shards = self._reader.shards()
        leases = self._leases.all()
        if self._add_missing(shards, leases):
            leases = self._leases.all()
        now = self._now()
        self._watch.look(leases, now)
        for lease in leases.values():
            if lease.is_finished and lease.shard_id not in shards:
                self._leases.remove(lease)
        for shard_id in [one for one in self._held if one not in leases or leases[one].owner != self.worker]:
            self._drop(shard_id)
        decided = plan(self.worker, self._held, leases, shards, self._watch, now)
        for lease in decided.take:
            self._take(lease)
        if decided.ask is not None:
            self._leases.ask_for(decided.ask, self.worker)
        waits = decided.ask is not None or any(lease.wanted_by == self.worker for lease in leases.values())
        self._look_at = self._now() + (self._poll_seconds if waits else self._lease_seconds / _RENEWALS)
        return bool(decided.take)

    def _drop(self, shard_id: str) -> None:
        log.info("The lease of %s is another worker's by now", shard_id)
        self._held.pop(shard_id, None)

    def _add_missing(self, shards: dict[str, StreamShard], leases: dict[str, Lease]) -> bool:
        """Children come first: whatever is cut off, a shard without a lease whose ancestors have none either has been
        there from the start, and every other one has appeared since and is read as a whole."""
        missing = [shard for shard in children_first(shards) if shard.shard_id not in leases]
        for shard in missing:
            checkpoint: str = TRIM_HORIZON
            if self._start == LATEST and not any(ancestor in leases for ancestor in ancestors(shard, shards)):
                checkpoint = SHARD_END if shard.is_closed else LATEST
            self._leases.add(Lease(shard.shard_id, shard.parent_id, checkpoint))
        return bool(missing)

    def _take(self, lease: Lease) -> None:
        renewed = self._now()
        taken = self._leases.take(lease, self.worker)
        if taken is not None:
            self._held[taken.shard_id] = _Held(taken, renewed)

    def _renew_if_due(self, held: _Held) -> bool:
        """Whether the lease is this worker's still."""
        if self._now() - held.renewed < self._lease_seconds / _RENEWALS:
            return True
        return self._change(held, self._leases.renew, held.lease)

    def _change(self, held: _Held, change: Callable[..., Lease | None], *arguments: Any) -> bool:
        renewed = self._now()
        lease = change(*arguments)
        if lease is None:
            self._drop(held.lease.shard_id)
            return False
        held.lease, held.renewed = lease, renewed
        if lease.wanted_by is not None:
            # Nothing is under way here: what was handled is checkpointed.
            self._held.pop(lease.shard_id, None)
            self._leases.hand_over(lease, lease.wanted_by)
            return False
        return True

    # Records

    def _read(self, held: _Held) -> bool:
        """Handles the next batch of a shard. Whether there was one, or the shard has come to its end."""
        lease = held.lease
        try:
            if held.iterator is None:
                held.iterator = self._reader.iterator(lease.shard_id, lease.checkpoint)
            page = self._reader.page(held.iterator, self._records_max)
        except RecordsLost as lost:
            return self._go_on_behind(held, lost)
        if page is None:
            held.iterator = None
            return True
        records, following = page
        if records and not self._handle_batch(held, records):
            return True
        if following is None:
            self._finish(held)
            return True
        held.iterator = following
        return bool(records)

    def _handle_batch(self, held: _Held, records: list[Record]) -> bool:
        """Whether the batch is handled and checkpointed, and the lease this worker's still."""
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        if held.lease.checkpoint == LATEST and not self._change(
            # Or whoever comes after a crash would begin behind what was being handled.
            held,
            self._leases.checkpoint,
            held.lease,
            f"{AT}{numbers[0]}",
        ):
            return False
        failures = 0
        while True:
            if not self._renew_if_due(held):
                return False
            try:
                self._handler(held.lease.shard_id, records)
                break
            except Exception as error:
                failures += 1
                log.warning("The handler failed, attempt %d of %d: %r", failures, self._attempts_max, error)
                if failures >= self._attempts_max or self._stopping.is_set():
                    raise HandlerFailed(held.lease.shard_id, records) from error
            self._sleep(back_off(failures))
        return self._change(held, self._leases.checkpoint, held.lease, numbers[-1])

    def _finish(self, held: _Held) -> None:
        self._held.pop(held.lease.shard_id, None)
        self._leases.finish(held.lease)
        self._look_at = self._now()  # its children can be read now

    def _go_on_behind(self, held: _Held, lost: RecordsLost) -> bool:
        """Goes on with what there still is: waiting brings nothing back."""
        lease = held.lease
        self._on_lost(lease.shard_id, lease.checkpoint)
        held.iterator = None
        if lost.with_shard:
            self._finish(held)
        elif lease.checkpoint != TRIM_HORIZON:
            self._change(held, self._leases.checkpoint, lease, TRIM_HORIZON)
        return True


def _warn_of_lost(shard_id: str, checkpoint: str) -> None:
    log.warning(
        "Records of %s behind %s are older than a day, and gone; going on with what there is", shard_id, checkpoint
    )

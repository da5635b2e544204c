"""A lock that one of many processes holds, on one item: by a lease that heartbeats keep up, with fencing tokens.

Theory of operation. The item of a lock says who holds it (`claim`, another for each time that it is taken), how often
it was taken (`token`), and how often that holder has renewed it since (`beats`). Token, claim and beats are together
the item's *version*. Who wants a lock that is held looks at it now and then; when a version has stood still for as
long as its lease, by the onlooker's own clock and from when it first saw it, the holder is taken for dead and the lock
is taken over, on the condition that this version is still there. So no two machines' clocks are compared, and it does
not matter what any of them shows: only that they run about equally fast, and even that matters for `is_held` alone.

The holder counts its lease from before it sent the request that took or renewed it, and as over a little early: so it
knows that its lease may be over before anyone else takes it to be.

None of this helps a holder that stands still between looking at its clock and writing, or whose write takes minutes to
arrive. That is what the database is asked for: `held.check()` is a part of a transaction that fails unless the lock is
still held under this claim, so that the write of a holder that was taken for dead is refused, and those that are done
are done in the order of their tokens. Where a transaction can't be had, what is written keeps the token of who wrote
it last, and `held.fence` refuses a lower one.

The item stays when a lock is let go of, and its token only grows. Requests may be done twice, late, or without their
answer arriving: each names the claim or the version that it changes, so that it is done once or not at all."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from torusdb.modeling.attributes import Attr, Attribute, attr
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ConditionFailed, ModelError, ModelingError
from torusdb.modeling.expressions import Condition
from torusdb.modeling.plans import Check, Get, Ref, Update, model_of
from torusdb.modeling.steps import Pause, Work, error_code
from torusdb.modeling.tasks import Task, work_of
from torusdb.modeling.updates import Action
from torusdb.modeling.upserts import Upsert

log = logging.getLogger("torusdb.modeling.locks")

LEASE_SECONDS: Final = 30.0
POLL_SECONDS: Final = 1.0
BEATS_PER_LEASE: Final = 3
"""How often a holder renews its lease in the time of one; and after a failure, how often in the time of a beat."""
CLOCK_RATES_APART: Final = 0.05
"""By so much of its lease a holder counts it as over early, and by so much the rates of two machines' clocks may be
apart. (Quartz is off by less than 0.0001; the rest is for clocks that are being set right slowly.)"""
CONFLICT: Final = "TransactionConflictException"
"""The service's, for a write of what a transaction is at work on: that of a holder who checks the lock."""
TRIES_MAX: Final = 3
"""Writes of one attempt to take a lock: more than one only where it changes hands meanwhile."""
SIGHTINGS_MAX: Final = 10_000
"""Locks held by others that a process keeps in mind. The oldest is forgotten, and waited for anew."""


class LockBusy(ModelingError):
    """Somebody else held the lock for as long as one was willing to wait. `seen` is who holds it."""

    def __init__(self, message: str, seen: Seen | None) -> None:
        super().__init__(message)
        self.seen = seen


class LockLost(ModelingError):
    """The lease ended before it was renewed, or somebody else has the lock. The cause is what the last heartbeat met
    with, if it met with anything."""


class LockItem(Entity):
    """What a lock's item has. `class Lock(LockItem, table=shop): key = Key("LOCK#{name}", "LOCK")` puts locks into a
    table; the key is made of `name`."""

    name: Attr[str]
    token: Attr[int] = attr(default=0)
    beats: Attr[int] = attr(default=0)
    lease_seconds: Attr[float] = attr(default=LEASE_SECONDS)
    holder: Attr[str | None] = attr(default=None)
    claim: Attr[str | None] = attr(default=None)


class Seen(NamedTuple):
    """Who holds a lock, as one who looks at it sees it. `still_seconds`: for how long this process has seen it so;
    once that is as long as the lease, `is_abandoned`."""

    name: str
    holder: str
    token: int
    still_seconds: float
    is_abandoned: bool


Version = tuple[int, str | None, int]


class Sightings:
    """Since when each lock that was looked at has been as it is, by this process's clock. Threads share it."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since: dict[str, tuple[Version, float]] = {}
        self._mutex = threading.Lock()

    def still_seconds(self, item: LockItem) -> float:
        """To be asked when the item has just been read."""
        version = (item.token, item.claim, item.beats)
        now = self._now()
        with self._mutex:
            if item.claim is None:  # nobody is waited for
                self._since.pop(item.name, None)
                return 0.0
            known = self._since.get(item.name)
            if known is None or known[0] != version:
                self._since[item.name] = known = version, now
                if len(self._since) > SIGHTINGS_MAX:
                    del self._since[next(iter(self._since))]
            return now - known[1]


class Locks:
    """The locks of a table, for one process: `locks.acquire("report")`, `locks.try_acquire("report")` and
    `locks.look("report")` are tasks; `holding.hold` runs the first two with heartbeats.

    `kind`: the entity. `holder`: what others see as the name of this process; it need not be unique. `poll_seconds`: at
    most so long from one look at a lock that is held to the next. `on_failure` is called with what a heartbeat has met
    with, each time: with the client's exception while the lease lasts, with LockLost when it is over, by the thread of
    the heartbeats or by another that finds it over first. `now` and `new_id` are for tests; `now` need only be this
    process's own clock, and `new_id` gives another id each time, that nobody else's does."""

    def __init__(
        self,
        kind: type[LockItem],
        *,
        holder: str | None = None,
        lease_seconds: float = LEASE_SECONDS,
        poll_seconds: float = POLL_SECONDS,
        on_failure: Callable[[Exception], Any] | None = None,
        now: Callable[[], float] = time.monotonic,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        model = model_of(kind)
        if model.primary.fields != ("name",):
            raise ModelError(f"{kind.__name__}.key must be made of name and of nothing else")
        if model.ttl is not None:
            raise ModelError(f"{kind.__name__}.{model.ttl._field} is a TTL: tokens would begin again, so have none")
        if lease_seconds <= 0 or poll_seconds <= 0:
            raise ValueError("lease_seconds and poll_seconds are more than 0")
        self.kind = kind
        self.holder = holder or _process_name()
        self.lease_seconds = lease_seconds
        self.poll_seconds = poll_seconds
        self.on_failure = on_failure
        self.now = now
        self.new_id = new_id
        self._sightings = Sightings(now)

    def acquire(self, name: str, *, wait_seconds: float | None = None) -> Task[Held]:
        """Takes the lock as soon as it is free, or its holder has let a whole lease go by. LockBusy after
        `wait_seconds`; None waits for as long as it takes."""
        return _Acquire(self, name, wait_seconds)

    def try_acquire(self, name: str) -> Task[Held | None]:
        """Takes the lock if it is free, and else gives None at once. A dead holder's is taken over by who has seen it
        before, a whole lease ago: so use one `Locks` for all tries."""
        return _TryAcquire(self, name)

    def look(self, name: str) -> Task[Seen | None]:
        """Who holds it, as far as is known; None if nobody does."""
        return _Look(self, name)

    def seen(self, item: LockItem) -> Seen | None:
        still = self._sightings.still_seconds(item)
        if item.claim is None:
            return None
        return Seen(item.name, item.holder or "", item.token, still, still >= item.lease_seconds)


class Held:
    """A lock that is held, or was. May be used by several threads.

    Ask `is_held` before what should not be done for nothing, and let the database decide about what must not be done:
    with `check` or `fence` in the write."""

    def __init__(self, locks: Locks, item: LockItem, taken: float) -> None:
        assert item.claim is not None
        self.name = item.name
        self.token = item.token
        """Higher than that of all who have held the lock before."""
        self.claim = item.claim
        self.lease_seconds = item.lease_seconds
        self.last_failure: Exception | None = None
        """What the last heartbeat met with; None if it got through."""
        self._locks = locks
        self._mutex = threading.Lock()
        self._lost: LockLost | None = None
        self._is_released = False
        self._renewed(taken)

    def __repr__(self) -> str:
        return f"<lock {self.name!r}, token {self.token}, {'held' if self.is_held else 'not held'}>"

    @property
    def ref(self) -> Ref[LockItem]:
        return Ref(self._locks.kind, name=self.name)

    @property
    def is_held(self) -> bool:
        """False for good from a little before the lease ends without having been renewed."""
        if self._lost is None and not self._is_released and self._locks.now() >= self._ends:
            self._lose("its lease has ended before it was renewed", self.last_failure)
        return self._lost is None and not self._is_released

    @property
    def seconds_left(self) -> float:
        """Of the lease, as the holder counts it."""
        return max(0.0, self._ends - self._locks.now()) if self.is_held else 0.0

    def require(self) -> None:
        """LockLost unless it `is_held`."""
        if not self.is_held:
            raise self._lost or LockLost(f"The lock {self.name!r} was let go of")

    def check(self) -> Check[LockItem]:
        """For a transaction: that nobody else has taken the lock. LockLost if that is known already."""
        self.require()
        return Check(self.ref, self._own())

    def fence(self, attribute: Attribute[int]) -> Condition:
        """For a single write that also sets the attribute to `token`: that no later holder has written it.
        `store.update(report, Report.text.set(text), Report.token.set(held.token), when=held.fence(Report.token))`."""
        self.require()
        return attribute.missing() | (attribute <= self.token)

    def beat(self) -> Task[bool]:
        """Renews the lease; gives whether to go on with that, and raises nothing: what a heartbeat meets with is told
        to `on_failure`, and is there as `last_failure`."""
        return _Beat(self)

    def release(self) -> Task[None]:
        """Lets go of it, so that others need not wait. LockLost if somebody else has it, or may have had it."""
        return _Release(self)

    def seconds_to_beat(self) -> float:
        """From now to the next heartbeat."""
        return max(0.0, self._next_beat - self._locks.now())

    # -- what becomes of it

    def _own(self) -> Condition:
        kind = self._locks.kind
        return (kind.claim == self.claim) & (kind.token == self.token)

    def _renewed(self, sent: float) -> None:
        """By a request that was sent then: whoever has seen what it wrote has seen it later."""
        self._ends = sent + self.lease_seconds * (1 - CLOCK_RATES_APART)
        self._next_beat = sent + self.lease_seconds / BEATS_PER_LEASE
        self.last_failure = None

    def _failed(self, error: Exception) -> None:
        """A heartbeat, of which it is not known whether it was done. The next one comes sooner."""
        if self._is_released:
            return
        self.last_failure = error
        self._next_beat = self._locks.now() + self.lease_seconds / BEATS_PER_LEASE**2
        log.warning("A heartbeat of the lock %r failed: %r", self.name, error)
        self._tell(error)

    def _lose(self, why: str, cause: Exception | None) -> None:
        with self._mutex:
            if self._lost is not None or self._is_released:
                return
            self._lost = lost = LockLost(f"The lock {self.name!r}, token {self.token}, is lost: {why}")
        lost.__cause__ = cause
        log.warning("%s", lost)
        self._tell(lost)

    def _tell(self, error: Exception) -> None:
        if self._locks.on_failure is not None:
            try:
                self._locks.on_failure(error)
            except Exception:  # heartbeats go on whatever the program makes of it
                log.exception("on_failure of the lock %r failed", self.name)

    def _close(self) -> LockLost | None:
        """No heartbeat matters from now on."""
        if self.is_held:
            with self._mutex:
                self._is_released = True
        return self._lost


class _Look(Task[Seen | None]):
    def __init__(self, locks: Locks, name: str) -> None:
        self.locks = locks
        self.name = name

    def work(self, context: Context) -> Work[Seen | None]:
        item = yield from work_of(Get(self.locks.kind, name=self.name).consistent(), context)
        return None if item is None else self.locks.seen(item)


class _Taking:
    def __init__(self, locks: Locks, name: str) -> None:
        self.locks = locks
        self.name = name

    def _attempt(self, claim: str, item: LockItem | None, context: Context) -> Work[Held | None]:
        """`item`: as it has just been read; None takes the lock to be free."""
        for _ in range(TRIES_MAX):
            write = self._write(claim, item)
            if write is None:
                return None
            sent = self.locks.now()
            try:
                taken = yield from work_of(write, context)
            except ConditionFailed as failed:
                if failed.item is not None and failed.entity is None:
                    raise  # something else has the lock's key
                item = failed.entity
            except Exception as error:
                if error_code(error) != CONFLICT:
                    raise
                return None
            else:
                return Held(self.locks, taken, sent)
        return None

    def _write(self, claim: str, item: LockItem | None) -> Update[LockItem] | None:
        """What takes the lock, if that may be."""
        kind = self.locks.kind
        ref = Ref(kind, name=self.name)
        seen = None if item is None else self.locks.seen(item)
        if item is None or seen is None:
            return Upsert(ref, *self._actions(claim), when=kind.claim.missing())
        # Our own is there if a request of ours was done without our knowing, at a time that we don't know either.
        if not seen.is_abandoned and item.claim != claim:
            return None
        same = (kind.token == item.token) & (kind.claim == item.claim) & (kind.beats == item.beats)
        return Update(ref, *self._actions(claim), when=same)

    def _actions(self, claim: str) -> list[Action]:
        kind, locks = self.locks.kind, self.locks
        return [
            kind.token.add(1),
            kind.beats.set(0),
            kind.claim.set(claim),
            kind.holder.set(locks.holder),
            kind.lease_seconds.set(locks.lease_seconds),
        ]


class _TryAcquire(_Taking, Task[Held | None]):
    def work(self, context: Context) -> Work[Held | None]:
        return (yield from self._attempt(self.locks.new_id(), None, context))


class _Acquire(_Taking, Task[Held]):
    def __init__(self, locks: Locks, name: str, wait_seconds: float | None) -> None:
        super().__init__(locks, name)
        self.wait_seconds = wait_seconds

    def work(self, context: Context) -> Work[Held]:
        locks = self.locks
        claim, begun = locks.new_id(), locks.now()
        item: LockItem | None = None
        while (held := (yield from self._attempt(claim, item, context))) is None:
            seconds = locks.poll_seconds
            if self.wait_seconds is not None:
                left = begun + self.wait_seconds - locks.now()
                if left <= 0:
                    raise self._busy(item)
                seconds = min(seconds, left)
            yield Pause(seconds)
            item = yield from work_of(Get(locks.kind, name=self.name).consistent(), context)
        return held

    def _busy(self, item: LockItem | None) -> LockBusy:
        seen = None if item is None else self.locks.seen(item)
        who = "others" if seen is None else seen.holder
        return LockBusy(f"The lock {self.name!r} was held by {who} for {self.wait_seconds} s", seen)


class _Beat(Task[bool]):
    def __init__(self, held: Held) -> None:
        self.held = held

    def work(self, context: Context) -> Work[bool]:
        held = self.held
        if not held.is_held:
            return False
        sent = held._locks.now()
        try:
            yield from work_of(Update(held.ref, held._locks.kind.beats.add(1), when=held._own()), context)
        except ConditionFailed as failed:
            held._lose(_taken_by(failed), failed)
        except Exception as error:
            held._failed(error)
        else:
            held._renewed(sent)
        return held.is_held


class _Release(Task[None]):
    def __init__(self, held: Held) -> None:
        self.held = held

    def work(self, context: Context) -> Work[None]:
        """Of a lock that is lost too, since it may be that nobody has taken it yet."""
        held = self.held
        kind = held._locks.kind
        lost = held._close()
        try:
            yield from work_of(Update(held.ref, kind.claim.remove(), kind.holder.remove(), when=held._own()), context)
        except ConditionFailed as failed:
            item = failed.entity
            is_done = item is not None and item.claim is None and item.token == held.token
            if lost is None and not is_done:  # else an earlier request was, whose answer was lost
                message = f"The lock {held.name!r}, token {held.token}, is lost: {_taken_by(failed)}"
                raise LockLost(message) from failed
        except Exception as error:
            if lost is None:
                raise
            lost.add_note(f"It could not be let go of either: {error!r}")
        if lost is not None:
            raise lost


def _taken_by(failed: ConditionFailed) -> str:
    item = failed.entity
    if not isinstance(item, LockItem):
        return "its item is gone"
    if item.claim is None:
        return f"others have had it since, up to token {item.token}"
    return f"{item.holder} has it, with token {item.token}"


def _process_name() -> str:
    import os
    import socket

    return f"{socket.gethostname()}:{os.getpid()}"

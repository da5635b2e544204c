"""Messages to the world outside, sent for every change that was made and for none that was not; and what comes of a
message done once by whom it reaches.

Theory of operation. A change and the message about it are written in one transaction, so there is never one without
the other. The message stands in the table until it is sent, and is removed afterwards; the stream only rings when there
is a new one. A sender that dies between sending and removing leaves the message there, and it is sent again. That
cannot be helped, since the world outside takes no part in transactions. So every message has an id that stays the same,
and the receiver does what it says in one transaction with a *marker* of that id, which can be written once only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from torusdb.modeling.batches import batch_write_work
from torusdb.modeling.blocks.attempts import attempted, failed_conditions
from torusdb.modeling.changes import Change
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import TransactionFailed
from torusdb.modeling.plans import BatchGet, Delete, Put, Ref, Write, model_of, ref_of
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, transaction_work, work_of

M = TypeVar("M", bound=Entity)


class Outbox(Generic[M]):
    """Of messages of one kind, an entity of your own:

    for mail in store.run(outbox.waiting(changes)):
        post(mail)
        store.run(outbox.sent([mail]))
    """

    def __init__(self, kind: type[M]) -> None:
        model_of(kind)  # refuses what is in no table
        self.kind = kind

    def waiting(self, changes: Iterable[Change[Any]]) -> Task[list[M]]:
        """The messages that these changes have made and that are not sent, in their order. A stream of keys only will
        do, since the table says which are waiting."""
        made = (each.of(self.kind) for each in changes if each.kind == "insert")
        return _Waiting(list(dict.fromkeys(change.ref for change in made if change is not None)))

    def sent(self, messages: Iterable[M]) -> Task[None]:
        """They wait no longer. That they were removed already is no error."""
        return _Sent([ref_of(message) for message in messages])


class _Waiting(Task[list[M]]):
    def __init__(self, refs: Sequence[Ref[M]]) -> None:
        self.refs = refs

    def work(self, context: Context) -> Work[list[M]]:
        found = yield from work_of(BatchGet(self.refs, consistent=True), context)
        return [message for message in found if message is not None]


class _Sent(Task[None]):
    def __init__(self, refs: Sequence[Ref[Any]]) -> None:
        self.refs = refs

    def work(self, context: Context) -> Work[None]:
        return batch_write_work((Delete(ref) for ref in self.refs), context)


class Once(Task[bool]):
    """Writes together with a marker that there is one of: `store.run(Once(Received(id=mail.id), Update(…)))`. True if
    they were done by this; False if the marker was there, so that they had been done before.

    What else refuses one of the writes is a TransactionFailed, and leaves no marker. A marker must be kept for as long
    as its message may come again: with a TTL, that is how long."""

    def __init__(self, marker: Entity, *writes: Write[Any]) -> None:
        self.marker = marker
        self.writes = writes

    def work(self, context: Context) -> Work[bool]:
        return attempted(lambda: self._attempt(context))

    def _attempt(self, context: Context) -> Work[bool]:
        try:
            yield from transaction_work([Put(self.marker, new=True), *self.writes], context)
        except TransactionFailed as failed:
            if 0 in failed_conditions(failed):
                return False
            raise
        return True

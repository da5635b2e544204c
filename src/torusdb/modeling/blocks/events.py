"""Scheduled events: items that wait for their time, and what comes of them then, once in effect.

Theory of operation. There are two ways in which an event's time is noticed, and each does all that comes of it in one
transaction with something that can be done once only. A worker that looks for what is due deletes the event in that
transaction. Where the table's TTL has deleted it, the stream tells so, maybe more than once; then the transaction puts
a *mark* where there is none. The TTL deletes nothing that a worker has deleted, and a worker nothing that is gone, so
an event that both are after takes effect once as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

from torusdb.modeling.attributes import Attr
from torusdb.modeling.changes import Change
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import InvalidValue, ModelError, TransactionFailed
from torusdb.modeling.plans import Delete, Put, Write, identity_of, model_of, ref_of
from torusdb.modeling.scalars import EPOCH
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, transaction_work

E = TypeVar("E", bound=Entity)

MARKS_KEPT: Final = timedelta(days=2)
"""Records of a stream come again within the day for which it keeps them."""
CONDITION_FAILED: Final = "ConditionalCheckFailed"


class Mark(Entity):
    """That an event has taken effect. `class Fired(Mark, table=shop): key = Key("FIRED#{event}", "FIRED")`. Give it
    the table's TTL attribute as well, and marks go by themselves after two days."""

    event: Attr[str]


class Events(Generic[E]):
    """`kind`: the events, entities with a TTL. `effect`: the writes that come of one. They are one transaction, with
    one write more; of what is not in the table, such as a mail, `effect` writes an order that another does."""

    def __init__(self, kind: type[E], mark: type[Mark], effect: Callable[[E], Iterable[Write[Any]]]) -> None:
        expiry = model_of(kind).ttl
        if expiry is None:
            raise ModelError(
                f"{kind.__name__} has no TTL, at which its events are due: declare an Attr[datetime] = ttl()"
            )
        self.kind = kind
        self.mark = mark
        self.effect = effect
        self.expiry = expiry
        self._mark_expiry = model_of(mark).ttl

    def follow(self, change: Change[Any]) -> Task[bool]:
        """What a change in the stream (with old images) means: the effect of an event that the TTL has removed. True if
        it has taken effect by this; False if it had before, or if the change is another."""
        return _Follow(self, change)

    def fire(self, event: E) -> Task[bool]:
        """For a worker that has found an event that is due: its effect, and its end. True if it has taken effect by
        this; False if it is gone, or is due at another time by now."""
        return _Fire(self, event)

    def made_mark(self, event: E, context: Context) -> Mark:
        until = EPOCH + timedelta(seconds=context.now_seconds()) + MARKS_KEPT
        return self.mark(event=self._name(event), **({self._mark_expiry._field: until} if self._mark_expiry else {}))

    def _name(self, event: E) -> str:
        """Of this event at this time: one that is scheduled anew is another."""
        key = "/".join(map(str, identity_of(ref_of(event).key)))
        return f"{key}@{getattr(event, self.expiry._field):%Y-%m-%dT%H:%M:%SZ}"


class _Follow(Task[bool], Generic[E]):
    def __init__(self, events: Events[E], change: Change[Any]) -> None:
        self.events = events
        self.change = change

    def work(self, context: Context) -> Work[bool]:
        events, event = self.events, self.change.old
        if not self.change.expired or self.change.ref.model.kind is not events.kind:
            return False
        if event is None:
            raise InvalidValue(
                f"{self.change.ref!r} has expired, and its record has no old image: make the stream keep it"
            )
        mark: Put[Mark] = Put(events.made_mark(event, context), new=True)
        return (yield from _once([mark, *events.effect(event)], context))


class _Fire(Task[bool], Generic[E]):
    def __init__(self, events: Events[E], event: E) -> None:
        self.events = events
        self.event = event

    def work(self, context: Context) -> Work[bool]:
        events, event = self.events, self.event
        same = events.expiry == getattr(event, events.expiry._field)
        return (yield from _once([Delete(event, when=same), *events.effect(event)], context))


def _once(writes: Sequence[Write[Any]], context: Context) -> Work[bool]:
    """All of the writes, unless the first can't be done, since it was before."""
    try:
        yield from transaction_work(writes, context)
    except TransactionFailed as failed:
        first = failed.reasons[0] if failed.reasons else None
        if first is None or first.code != CONDITION_FAILED:
            raise
        return False
    return True

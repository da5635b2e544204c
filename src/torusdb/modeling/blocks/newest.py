"""Lists in an item that keep the newest elements only.

Theory of operation. No update can put an element into a list and take another out of it: its paths would overlap. So it
is two requests. New elements are put at the front, and the answer says how long the list is; what is behind the newest
is then removed by its places. Others may come between: what they have put in front moves older elements to those
places, never newer ones. Whoever puts an element in last sees the full length, and removes all that is too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import PlanRefused
from torusdb.modeling.plans import Ref, Update
from torusdb.modeling.reads import positive
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, work_of

E = TypeVar("E", bound=Entity)


class KeepNewest(Task[E], Generic[E]):
    """`store.run(KeepNewest(Ref(Customer, id="1"), Customer.seen, ["book"], count=10))`: puts the elements in front,
    the newest first, and keeps `count` in all. Gives the entity as it is then.

    Readers take the first `count`: between the two requests, and when a program stops there, the list is longer. The
    next who writes shortens it."""

    def __init__(self, target: Ref[E], place: Attribute[list[Any]], elements: Sequence[Any], *, count: int) -> None:
        if not 0 < len(elements) <= positive("count", count):
            raise PlanRefused(f"{place!r} keeps {count} elements: give it 1 to {count} new ones, not {len(elements)}")
        self.target = target
        self.place = place
        self.elements = list(elements)
        self.count = count

    def work(self, context: Context) -> Work[E]:
        entity = yield from work_of(Update(self.target, self.place.prepend(self.elements)), context)
        length = len(getattr(entity, self.place._field))
        if length > self.count:
            old = [self.place[number].remove() for number in range(self.count, length)]
            entity = yield from work_of(Update(self.target, *old), context)
        return entity

"""Numbers without gaps: each new entity gets the one behind the last, in its own collection.

Theory of operation. The number is in the key. The last one is asked for, and the entity is written with the next on the
condition that nobody else has it: of two who have seen the same last one, one fails, and asks again. A number is given
by the write of its entity and by nothing else, so that a program that stops leaves no gap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.blocks.attempts import attempted, is_passing
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ConditionFailed, PlanRefused
from torusdb.modeling.plans import Put, model_of
from torusdb.modeling.queries import Query
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, work_of

E = TypeVar("E", bound=Entity)

FIRST: Final = 1
WRITERS_ATTEMPTS_MAX: Final = 20
"""Of those who write at the same moment one gets on at each attempt, so that as many can wait for each other."""


class InsertNext(Task[E], Generic[E]):
    """`store.run(InsertNext(Invoice.key.query(Invoice.year == 2026), Invoice.number, lambda number: Invoice(…)))`
    gives the entity that was written.

    `among`: those that are numbered together. Their key sorts by the number, and is the table's: an index, which is
    late, would answer with a number that is taken. `make` may be called several times."""

    def __init__(
        self,
        among: Query[E],
        number: Attribute[int],
        make: Callable[[int], E],
        *,
        attempts_max: int = WRITERS_ATTEMPTS_MAX,
    ) -> None:
        if among.index is not None:
            raise PlanRefused(f"InsertNext asks for the last number by the table's key, not by {among.key.label}")
        if among.models[0].attributes.get(number._field) is not number or number._field not in among.key.fields:
            raise PlanRefused(f"{number!r} is not in {among.key.label}, by which the last number is asked for")
        self.last = among.newest_first().limit(1).consistent()
        self.number = number
        self.make = make
        self.attempts_max = attempts_max

    def work(self, context: Context) -> Work[E]:
        return attempted(lambda: self._attempt(context), may_repeat=_is_taken, attempts_max=self.attempts_max)

    def _attempt(self, context: Context) -> Work[E]:
        found = yield from work_of(self.last, context)
        number = self._number_of(found[0]) + 1 if found else FIRST
        entity = self.make(number)
        self._check(entity, number, found)
        yield from work_of(Put(entity, new=True), context)
        return entity

    def _check(self, entity: E, number: int, found: list[E]) -> None:
        """That it is where the last number is asked for, with nothing in the key before the number that sorts first."""
        if self._number_of(entity) != number:
            raise PlanRefused(f"{entity!r} was to have the number {number}")
        key, partition = self.last.key, self.last.selection.partition
        item = model_of(type(entity)).key_of(entity)
        fields = [field for part in key.parts for field in part.template.fields]
        before = fields[: fields.index(self.number._field)]
        elsewhere = any(item[name] != wire for name, wire in partition.items())
        if elsewhere or any(getattr(entity, field) != getattr(found[0], field) for field in before if found):
            raise PlanRefused(f"{entity!r} is not among those by which it is numbered")

    def _number_of(self, entity: E) -> int:
        number: Any = getattr(entity, self.number._field)
        return int(number)


def _is_taken(error: Exception) -> bool:
    return is_passing(error) or isinstance(error, ConditionFailed)

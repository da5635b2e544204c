"""All versions of an entity, where version 0 is the latest.

Theory of operation. An entity and all that it has ever been are items of one collection, told apart by a *slot* in
their sort key. Slot 0 is a copy of the latest; each other one is the version of its number, and never changes. Both are
written by one transaction, on the conditions that slot 0 has the number that the writer has seen and that nobody has
taken the next. So the latest is there by its key, numbers have no gaps, and of two who change the same version one is
told that it is no longer the latest."""

from __future__ import annotations

from copy import copy
from typing import Any, Final, Generic, TypeVar

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.blocks.attempts import attempted, failed_conditions
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ConditionFailed, ModelError, PlanRefused, TransactionFailed
from torusdb.modeling.plans import Put, model_of
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, transaction_work

E = TypeVar("E", bound=Entity)

LATEST: Final = 0
"""The slot of the latest, and the number of what was never saved."""


class History(Generic[E]):
    """`history.save(page)` is a task that writes a new version of what was read (or is new), and gives it.

    `slot`: an attribute in the sort key; `number`: one that is not in the key. Both have 0 as their default, and only
    `save` writes them."""

    def __init__(self, kind: type[E], *, slot: Attribute[int], number: Attribute[int]) -> None:
        model = model_of(kind)
        for each in (slot, number):
            if model.attributes.get(each._field) is not each or model.defaults.get(each._field) != LATEST:
                raise ModelError(f"{each!r} is no attribute of {kind.__name__} with the default 0")
        if slot._field not in model.primary.fields or number._field in model.primary.fields:
            raise ModelError(f"{slot!r} has to be in {kind.__name__}.key, and {number!r} must not be")
        if model.version is not None:
            raise ModelError(f"{model.version!r} would count besides {number!r}, which is the version here")
        self.kind = kind
        self.slot = slot
        self.number = number

    def save(self, entity: E) -> Task[E]:
        """The entity, read from slot 0 or from another (which makes an old version the latest again, if its number is
        set to that of the latest), becomes the version behind the one that it says it is. ConditionFailed, with the
        latest as its `entity`, when that is not the latest."""
        return _Save(self, entity)

    def of(self, entity: E, slot: int, number: int) -> E:
        made = copy(entity)
        made.__dict__ = {**entity.__dict__, self.slot._field: slot, self.number._field: number}
        return made

    def number_of(self, entity: E) -> int:
        number: Any = getattr(entity, self.number._field)
        return int(number)


class _Save(Task[E], Generic[E]):
    def __init__(self, history: History[E], entity: E) -> None:
        if type(entity) is not history.kind:
            raise PlanRefused(f"{entity!r} is no {history.kind.__name__}")
        self.history = history
        self.entity = entity

    def work(self, context: Context) -> Work[E]:
        history = self.history
        seen = history.number_of(self.entity)
        latest = history.of(self.entity, LATEST, seen + 1)
        known = history.of(self.entity, seen + 1, seen + 1)
        first = seen == LATEST
        put = Put(latest, new=True) if first else Put(latest, history.number == seen)
        try:
            yield from attempted(lambda: transaction_work([put, Put(known, new=True)], context))
        except TransactionFailed as error:
            if not failed_conditions(error):
                raise
            reason = error.reasons[0]
            message = f"{self.entity!r} is not the latest, and has not become another version"
            raise ConditionFailed(message, reason.entity if reason else None) from error
        return latest

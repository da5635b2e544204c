"""Values that no two entities may share, such as e-mail addresses: kept when entities are made, changed and deleted.

Theory of operation. Only keys are unique. So each value that has to be is the key of an item of its own, a *marker*,
which is written and deleted in the transaction that writes or deletes the entity. A marker is made on the condition
that there is none, so of two who want one value at the same moment one fails, and the other has all of it. Which
markers an entity has follows from the values that are stored: whoever changes or deletes it reads it, and its version
says, within the transaction, that it is still as it was read; else all begins again. At every moment, and wherever a
program stops, there are exactly the markers of the values that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

from torusdb.modeling.attributes import Attr, Attribute
from torusdb.modeling.blocks.attempts import (
    apply_change,
    attempted,
    failed_conditions,
    is_passing,
    read_to_change,
    require_version,
    was_overtaken,
)
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ConditionFailed, InvalidValue, ModelError, TransactionFailed
from torusdb.modeling.plans import Delete, Get, Put, Ref, Write, model_of
from torusdb.modeling.rewriting import stored_wire
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, transaction_work, work_of

E = TypeVar("E", bound=Entity)

MARKER_FIELDS: Final = {"attribute", "value"}

Value = tuple[str, str]
"""The name of an attribute, and the text of its value."""


class UniqueValue(Entity):
    """What a marker has; a table's marker inherits from it, and adds its key:

    class Taken(UniqueValue, table=shop):
        key = Key("UNIQUE#{attribute}#{value}", "UNIQUE")"""

    attribute: Attr[str]
    value: Attr[str]
    owner: Attr[dict[str, str]]
    """The key attributes of the entity that has the value."""


class ValueTaken(ConditionFailed):
    """Another entity has the value; nothing was written. `attributes` are those whose values are taken."""

    def __init__(self, message: str, attributes: Sequence[Attribute[Any]]) -> None:
        super().__init__(message)
        self.attributes = list(attributes)


class Unique(Generic[E]):
    """`unique.insert(user)`, `unique.change(ref, change)` and `unique.delete(ref)` are tasks that write an entity and
    its markers, `unique.find(User.email, "ann@example.com")` one that reads by a value.

    Each of the attributes, by itself, is unique among all entities of the class; None is no value, and any number may
    have it. The entity needs a version. What several attributes must not share *together*, or what is to be compared
    in small letters, is a computed attribute."""

    def __init__(self, kind: type[E], attributes: Iterable[Attribute[Any]], *, markers: type[UniqueValue]) -> None:
        require_version(kind)
        model, self.attributes = model_of(kind), list(attributes)
        for each in self.attributes:
            if model.attributes.get(each._field) is not each:
                raise ModelError(f"{each!r} is no attribute of {kind.__name__}")
            if each._codec.kinds != ("S",):
                raise ModelError(f"{each!r} is not stored as a text, and markers are keys that are texts")
        if set(model_of(markers).primary.fields) != MARKER_FIELDS:
            raise ModelError(
                f"{markers.__name__}.key is made of {' and '.join(model_of(markers).primary.fields) or 'no attributes'}"
                ": a marker's is made of attribute and value"
            )
        key_kinds = {model.table.key_kinds[name] for name in model.table.key_names()}
        if model_of(markers).table is not model.table or key_kinds != {"S"}:
            raise ModelError(f"{kind.__name__} and {markers.__name__} are not of one table whose keys are texts")
        self.kind = kind
        self.markers = markers
        self.labels = {f"{model.type_name}.{each._stored}": each for each in self.attributes}

    def insert(self, entity: E) -> Task[None]:
        """Where there is none with its key, else ConditionFailed, and none has its values, else ValueTaken."""
        return _Insert(self, entity)

    def change(self, target: Ref[E], change: Callable[[E], None]) -> Task[E]:
        """Reads the entity, changes and writes it, as `attempts.Amend` does; ValueTaken if another has a new value."""
        return _Change(self, target, change, self.values)

    def adopt(self, target: Ref[E]) -> Task[E]:
        """Gives markers to an entity from before there were any. May be done again."""
        return _Change(self, target, lambda entity: None, lambda entity: set())

    def delete(self, target: Ref[E]) -> Task[E | None]:
        """Gives what was deleted, None if there was none."""
        return _Remove(self, target)

    def find(self, attribute: Attribute[Any], value: Any) -> Task[E | None]:
        """The entity that has the value, as it was written last; None if none has."""
        label = next((name for name, each in self.labels.items() if each is attribute), None)
        if label is None:
            raise ModelError(f"{attribute!r} is none of {', '.join(map(repr, self.attributes))}")
        wire = stored_wire(attribute, value)
        if wire is None:
            raise InvalidValue(f"{attribute!r}: {value!r} is no value, and any number may have it")
        return _Find(self, (label, wire["S"]))

    def values(self, entity: E) -> set[Value]:
        wires = [(label, stored_wire(each, getattr(entity, each._field))) for label, each in self.labels.items()]
        return {(label, wire["S"]) for label, wire in wires if wire is not None}

    def marker(self, value: Value, owner: E) -> UniqueValue:
        key = {name: str(wire["S"]) for name, wire in model_of(self.kind).key_of(owner).items()}
        return self.markers(attribute=value[0], value=value[1], owner=key)

    def _claim(self, marker: UniqueValue) -> Put[UniqueValue]:
        """Where there is none, or it is the owner's already."""
        owner = self.markers.owner
        return Put(marker, owner.missing() | (owner == marker.owner))

    def write(self, write: Write[E], owner: E, had: set[Value], has: set[Value], context: Context) -> Work[None]:
        """The write of an entity, with the markers that come and go by it."""
        gone: list[Write[Any]] = [Delete(self.marker(value, owner)) for value in sorted(had - has)]
        wanted = sorted(has - had)
        new = [self._claim(self.marker(value, owner)) for value in wanted]
        try:
            yield from transaction_work([write, *new, *gone], context)
        except TransactionFailed as error:
            failed = failed_conditions(error)
            if 0 in failed:
                reason = error.reasons[0]
                raise ConditionFailed(str(reason), reason.entity if reason else None) from error
            if failed:
                taken = [self.labels[wanted[number - 1][0]] for number in failed]
                told = " and ".join(f"{wanted[number - 1][0]} {wanted[number - 1][1]!r}" for number in failed)
                raise ValueTaken(f"{told}: another {self.kind.__name__} has it", taken) from error
            raise


class _Insert(Task[None], Generic[E]):
    def __init__(self, unique: Unique[E], entity: E) -> None:
        self.unique = unique
        self.entity = entity

    def work(self, context: Context) -> Work[None]:
        return attempted(lambda: self._attempt(context))

    def _attempt(self, context: Context) -> Work[None]:
        put = Put(self.entity, new=True)
        return self.unique.write(put, self.entity, set(), self.unique.values(self.entity), context)


class _Change(Task[E], Generic[E]):
    def __init__(
        self, unique: Unique[E], target: Ref[E], change: Callable[[E], None], marked: Callable[[E], set[Value]]
    ) -> None:
        """`marked`: the values for which there are markers before."""
        self.unique = unique
        self.target = target
        self.change = change
        self.marked = marked

    def work(self, context: Context) -> Work[E]:
        return attempted(lambda: self._attempt(context), may_repeat=was_overtaken)

    def _attempt(self, context: Context) -> Work[E]:
        entity = yield from read_to_change(self.target, context)
        had = self.marked(entity)
        apply_change(self.change, entity, self.target)
        yield from self.unique.write(Put(entity), entity, had, self.unique.values(entity), context)
        return entity


class _Remove(Task[E | None], Generic[E]):
    def __init__(self, unique: Unique[E], target: Ref[E]) -> None:
        self.unique = unique
        self.target = target

    def work(self, context: Context) -> Work[E | None]:
        return attempted(lambda: self._attempt(context), may_repeat=_was_changed_or_deleted)

    def _attempt(self, context: Context) -> Work[E | None]:
        entity = yield from work_of(Get(self.unique.kind, **self.target.values).consistent(), context)
        if entity is not None:
            yield from self.unique.write(Delete(entity), entity, self.unique.values(entity), set(), context)
        return entity


class _Find(Task[E | None], Generic[E]):
    def __init__(self, unique: Unique[E], value: Value) -> None:
        self.unique = unique
        self.value = value

    def work(self, context: Context) -> Work[E | None]:
        """Where the owner has given the value up between the two reads, the marker is looked at again: another may have
        it by now."""
        unique, (label, text) = self.unique, self.value
        seen: UniqueValue | None = None
        while True:
            marker = yield from work_of(Get(unique.markers, attribute=label, value=text).consistent(), context)
            if marker is None or marker == seen:
                return None
            seen = marker
            values = model_of(unique.kind).primary.parse({name: {"S": part} for name, part in marker.owner.items()})
            assert values is not None  # its key was written so
            entity = yield from work_of(Get(unique.kind, **values).consistent(), context)
            if entity is not None and self.value in unique.values(entity):
                return entity


def _was_changed_or_deleted(error: Exception) -> bool:
    return is_passing(error) or isinstance(error, ConditionFailed)

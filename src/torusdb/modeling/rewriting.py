"""What follows from an update: the keys of indexes, and computed attributes, that are made from what it changes.

These are made from whole values, so each has to be known: an update that leaves one unknown is refused, since the key
that it would leave behind no longer says what the entity does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torusdb.modeling.attributes import MISSING, Attribute
from torusdb.modeling.errors import InvalidValue, PlanRefused
from torusdb.modeling.expressions import Comparison, Condition, Existence, Operand
from torusdb.modeling.scalars import Wire
from torusdb.modeling.updates import Action

if TYPE_CHECKING:
    from torusdb.modeling.keys import KeyGroup
    from torusdb.modeling.model import EntityModel
    from torusdb.modeling.plans import Ref

Assignments = list[tuple[str, Wire | None]]


def consequences(ref: Ref[Any], entity: Any, actions: Sequence[Action]) -> tuple[Assignments, list[Condition]]:
    """What has to be written besides, and what has to be stored as the object has it for that to be right."""
    if not actions:
        raise PlanRefused(f"An update of {ref.model.name} needs at least one action")
    changes = changes_of(ref.model, actions)
    return _Rewriting(ref, entity, changes).run()


def changes_of(model: EntityModel[Any], actions: Sequence[Action]) -> dict[str, Action]:
    """The actions by the attribute that they are on."""
    changes: dict[str, Action] = {}
    for action in actions:
        field = _field(model, action)
        attribute = model.attributes[field]
        if field in model.primary.fields:
            raise PlanRefused(
                f"{action.place!r} is in the key of {model.name}, which cannot be updated: delete it and put another"
            )
        if attribute._declared.read_only:
            raise PlanRefused(f"{action.place!r} is read-only")
        if attribute is model.version:
            raise PlanRefused(f"{action.place!r} is the version, which counts by itself")
        if action.verb == "remove" and len(action.place._path) == 1 and _must_be_there(model, field):
            raise PlanRefused(f"{action.place!r} cannot be removed: a {model.name} needs it")
        if field in changes and len(action.place._path) == 1:
            raise PlanRefused(f"{action.place!r} is changed twice in one update")
        changes.setdefault(field, action)
    return changes


def _field(model: EntityModel[Any], action: Action) -> str:
    place = action.place
    field = next((name for name, each in model.attributes.items() if each._stored == place._path[0]), None)
    owner = place._owner if isinstance(place, Attribute) else None
    if field is None or (owner is not None and model.attributes[field] is not place):
        raise PlanRefused(f"{place!r} is no attribute of {model.name}")
    return field


def _must_be_there(model: EntityModel[Any], field: str) -> bool:
    return field in model.required and model.codecs[field].absent is None


class _Rewriting:
    def __init__(self, ref: Ref[Any], entity: Any, changes: dict[str, Action]) -> None:
        self.model = ref.model
        self.ref = ref
        self.entity = entity
        self.changes = changes
        self.relied_on: dict[str, Condition] = {}
        self.assignments: Assignments = []
        self.computed: dict[str, Any] = {}

    def run(self) -> tuple[Assignments, list[Condition]]:
        for name, attribute in self.model.computed.items():
            if not self.changes.keys().isdisjoint(attribute._declared.needs):
                self._compute(name, attribute)
        for group in self.model.key_groups:
            if any(field in self.changes or field in self.computed for field in group.fields):
                self._rewrite(group)
        return self.assignments, list(self.relied_on.values())

    def _compute(self, name: str, attribute: Attribute[Any]) -> None:
        known = {need: self._value(need, repr(attribute)) for need in attribute._declared.needs}
        self.computed[name] = computed_value(attribute, known)
        self.assignments.append((attribute._stored, stored_wire(attribute, self.computed[name])))

    def _rewrite(self, group: KeyGroup) -> None:
        values = {field: self._value(field, group.key.label) for field in group.fields}
        own = {attribute._stored for _, attribute in self.model.stored_attributes()}
        absent = any(value is None for value in values.values())
        for part in group.parts:
            if part.attribute.name not in own:  # else the action itself writes it
                wire = None if absent else group.key.part_wire(part, values)
                self.assignments.append((part.attribute.name, wire))

    def _value(self, field: str, wanted_by: str) -> Any:
        """The attribute's value after the update."""
        if field in self.changes:
            return changed_value(self.model, field, self.changes[field], wanted_by)
        if field in self.computed:
            return self.computed[field]
        if field in self.ref.values:
            return self.ref.values[field]
        attribute = self.model.attributes[field]
        if self.entity is None:
            raise PlanRefused(
                f"{wanted_by} changes with this, and needs {attribute!r} as well: "
                "set that too, or give the entity itself instead of a Ref"
            )
        value = getattr(self.entity, field)
        if attribute._declared.compute is not None:
            for need in attribute._declared.needs:
                self._value(need, wanted_by)
        else:
            self.relied_on[field] = Existence(attribute, False) if value is None else Comparison(attribute, "=", value)
        return value


def changed_value(model: EntityModel[Any], field: str, action: Action, wanted_by: str) -> Any:
    """What an attribute is after an action, for a key or a computed attribute that is made of it."""
    value: Any = MISSING
    if len(action.place._path) == 1:
        if action.verb == "remove":
            value = model.removed_value(field)
        elif action.verb in {"set", "clear"} and not isinstance(action.value, Operand):
            value = action.value
    if value is MISSING:
        raise PlanRefused(
            f"{action!r} changes {wanted_by}, which needs to know what becomes of it: "
            "use .set(value), on condition that it is as it was read"
        )
    return value


def computed_value(attribute: Attribute[Any], known: Mapping[str, Any]) -> Any:
    """`known`: what it is computed from."""
    compute: Callable[[Any], Any] | None = attribute._declared.compute
    assert compute is not None
    return compute(_Values(known, repr(attribute)))


def stored_wire(attribute: Attribute[Any], value: Any) -> Wire | None:
    try:
        return attribute._codec.encode(value)
    except InvalidValue as error:
        raise InvalidValue(f"{attribute!r}: {error}") from None


class _Values:
    """An entity, as far as a computed attribute may look at it."""

    def __init__(self, values: Mapping[str, Any], wanted_by: str) -> None:
        self.__dict__.update(values)
        self.__dict__["_wanted_by"] = wanted_by

    def __getattr__(self, name: str) -> Any:
        raise PlanRefused(f"{self._wanted_by} is computed from {name}, which its needs= does not name")

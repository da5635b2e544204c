"""Upserts: an update that makes the entity where there is none.

Theory of operation. UpdateItem makes an item out of what it writes, so an upsert writes all that an entity has: its
name, the attributes of its key, and what the actions leave out, by `if_not_exists`, with the defaults. An attribute is
*known* when the key or an action gives its value, and *fresh* when its value holds for a new item only; what is stored
stays. Of known attributes alone, the keys of indexes and computed attributes are written as they are; of fresh ones
alone, by `if_not_exists` too, since those of an item that is there are right. What is made of both would have to know
what is stored, and is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.context import Context
from torusdb.modeling.errors import PlanRefused
from torusdb.modeling.expressions import Condition, Operand, Placeholders
from torusdb.modeling.plans import Ref, Update
from torusdb.modeling.rewriting import Assignments, changed_value, changes_of, computed_value, stored_wire
from torusdb.modeling.scalars import Wire
from torusdb.modeling.updates import Action, update_text

if TYPE_CHECKING:
    from torusdb.modeling.entity import Entity
    from torusdb.modeling.keys import KeyGroup

E = TypeVar("E", bound="Entity")

Defaults = list[tuple[str, Wire]]


class Upsert(Update[E]):
    """Changes some attributes of an entity, or makes it of them, of its key and of its defaults:
    `Upsert(Ref(Counter, page="/"), Counter.visits.add(1))`.

    All that an entity needs and has no default for must be set by an action, with `set` or with `set_if_missing`. With
    `when`, the condition is held against nothing where there is no item. A version counts on, and begins with 1.

    An item that is there is taken to have the keys that its attributes say. One from before an index was declared does
    not: put it once."""

    def __init__(self, target: Ref[E], *actions: Action, when: Condition | None = None) -> None:
        self.ref = target
        self.entity = None
        self.actions = actions
        self.when = self._checked(when)
        self.ref.model.check_rivals(self.ref.key, repr(self.ref))
        self.assignments, self.defaults = _Filling(self.ref, actions).run()

    def parameters(self, context: Context) -> dict[str, Any]:
        placeholders = Placeholders()
        text = update_text(self._counted_actions(), placeholders, self.assignments, self.defaults)
        return {**self._base(context, placeholders, self.when), "Key": self.ref.key, "UpdateExpression": text}


class _Source(NamedTuple):
    """Where the value of an attribute comes from. `known`: from an action. (From the key it is neither.)"""

    value: Any
    known: bool
    fresh: bool


class _Filling:
    def __init__(self, ref: Ref[Any], actions: Sequence[Action]) -> None:
        self.model = ref.model
        self.ref = ref
        self.changes = changes_of(ref.model, actions)
        for action in actions:
            _check(action)
        self.assignments: Assignments = [(self.model.table.type_attribute, {"S": self.model.type_name})]
        self.defaults: Defaults = []
        self.sources: dict[str, _Source] = {}

    def run(self) -> tuple[Assignments, Defaults]:
        for name, attribute in self.model.attributes.items():
            if name not in self.model.computed and attribute is not self.model.version:
                self._fill(name, attribute)
        for name, attribute in self.model.computed.items():
            self._compute(name, attribute)
        for group in self.model.key_groups:
            self._write_group(group)
        return self.assignments, self.defaults

    def _fill(self, name: str, attribute: Attribute[Any]) -> None:
        if name in self.ref.values:
            self.sources[name] = _Source(self.ref.values[name], known=False, fresh=False)
            if attribute._stored not in self.ref.key and name not in self.model.in_key:
                self.assignments.append((attribute._stored, stored_wire(attribute, self.ref.values[name])))
            return
        action = self.changes.get(name)
        if action is None:
            self._default(name, attribute)
        elif action.verb == "set_if_missing":
            self.sources[name] = _Source(action.value, known=False, fresh=True)
        # What any other makes of it is asked where it is needed.

    def _default(self, name: str, attribute: Attribute[Any]) -> None:
        if name not in self.model.required:
            value = self.model.defaults[name] if name in self.model.defaults else self.model.factories[name]()
        elif attribute._codec.absent is not None:
            value = attribute._codec.absent()
        else:
            raise PlanRefused(
                f"An upsert makes the {self.model.name} where there is none, and needs {attribute!r}: "
                "set it, or set_if_missing"
            )
        self.sources[name] = _Source(value, known=False, fresh=True)
        wire = stored_wire(attribute, value)
        if wire is not None:
            self.defaults.append((attribute._stored, wire))

    def _compute(self, name: str, attribute: Attribute[Any]) -> None:
        needs = attribute._declared.needs
        known, fresh = self._origin(needs, repr(attribute))
        value = computed_value(attribute, {need: self.sources[need].value for need in needs})
        self.sources[name] = _Source(value, known, fresh)
        self._write(attribute._stored, stored_wire(attribute, value), fresh)

    def _write_group(self, group: KeyGroup) -> None:
        own = {attribute._stored for _, attribute in self.model.stored_attributes()}
        key, fields = group.key, group.fields
        _, fresh = self._origin(fields, key.label)
        values = {field: self.sources[field].value for field in fields}
        absent = any(value is None for value in values.values())
        if fresh and absent:
            return  # a new item does not have it, and one that is there stays as it is
        if fresh and group.may_be_absent:
            raise self._mixed(key.label, fields)
        for part in group.parts:
            if part.attribute.name not in own:
                self._write(part.attribute.name, None if absent else key.part_wire(part, values), fresh)

    def _origin(self, fields: Iterable[str], label: str) -> tuple[bool, bool]:
        """Whether any of them is known, and whether any is fresh; not both."""
        names = list(fields)
        for field in names:
            if field not in self.sources:
                value = changed_value(self.model, field, self.changes[field], label)
                self.sources[field] = _Source(value, known=True, fresh=False)
        known = any(self.sources[field].known for field in names)
        fresh = any(self.sources[field].fresh for field in names)
        if known and fresh:
            raise self._mixed(label, names)
        return known, fresh

    def _mixed(self, label: str, fields: Iterable[str]) -> PlanRefused:
        missing = next(field for field in fields if self.sources[field].fresh)
        return PlanRefused(f"{label} changes with this, and needs {self.model.name}.{missing} as well: set that too")

    def _write(self, name: str, wire: Wire | None, fresh: bool) -> None:
        if not fresh:
            self.assignments.append((name, wire))
        elif wire is not None:
            self.defaults.append((name, wire))


def _check(action: Action) -> None:
    if len(action.place._path) > 1:
        raise PlanRefused(f"{action.place!r} is part of what may not be there: an upsert sets it as a whole")
    if isinstance(action.value, Operand):
        raise PlanRefused(f"{action!r} takes a value that may not be there: an upsert sets values that it is given")

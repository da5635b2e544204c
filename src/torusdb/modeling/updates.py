"""Updates as Python expressions: `Order.total.set(x)`, `Order.tags.add_to({"gift"})`.

A `Place[T]` is an operand that can be written to. Its methods make `Action`s; `update_text` puts the actions of one
update into an UpdateExpression, clause by clause."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence, Set
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeVar, overload

from torusdb.modeling.errors import InvalidValue, PlanRefused
from torusdb.modeling.expressions import Operand, Placeholders, encoded
from torusdb.modeling.scalars import Wire, name_of

T = TypeVar("T")
E = TypeVar("E")
N = TypeVar("N", int, float, Decimal)

ZERO: Final[Wire] = {"N": "0"}


class Place(Operand[T]):
    """Names that begin with an underscore are its own; any other that is none of its methods is a member of the nested
    value: `Order.address.city`, the same as `Order.address["city"]`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Place[Any]:
        codec = object.__getattribute__(self, "_codec")
        if not codec.members or name not in codec.members:
            raise AttributeError(f"{self._label} has no {name}")
        return Place((*self._path, name), codec.members[name], f"{self._label}.{name}")

    def __getitem__(self, step: str | int) -> Place[Any]:
        codec = self._codec
        wanted = "M" if isinstance(step, str) else "L"
        inner = (codec.members or {}).get(step, codec.element) if isinstance(step, str) else codec.element
        if inner is None or wanted not in codec.kinds:
            raise InvalidValue(f"{self._label} has no [{step!r}]")
        return Place((*self._path, step), inner, f"{self._label}[{step!r}]")

    def set(self, value: T | Operand[T]) -> Action:
        """To the value, or to that of another attribute. None removes it, unless its default is something else; then
        None is stored."""
        return Action(self, "set" if value is not None else self._clearing_verb(), value)

    def remove(self) -> Action:
        """What is read then is the default."""
        return Action(self, "remove", None)

    def set_if_missing(self, value: T) -> Action:
        return Action(self, "set_if_missing", value)

    @overload
    def add(self: Place[N], amount: N) -> Action: ...
    @overload
    def add(self: Place[N | None], amount: N) -> Action: ...
    def add(self: Place[Any], amount: Any) -> Action:
        """To a number, in one step that no other writer can come between; from its default where none is stored."""
        return Action(self, "add", amount)

    def append(self: Place[list[E]], values: Sequence[E]) -> Action:
        return Action(self, "append", list(values))

    def prepend(self: Place[list[E]], values: Sequence[E]) -> Action:
        return Action(self, "prepend", list(values))

    @overload
    def add_to(self: Place[builtins.set[E]], values: Set[E]) -> Action: ...
    @overload
    def add_to(self: Place[frozenset[E]], values: Set[E]) -> Action: ...
    def add_to(self: Place[Any], values: Set[Any]) -> Action:
        """Puts elements into a set; those that are in it stay."""
        return Action(self, "add_to", values)

    @overload
    def delete_from(self: Place[builtins.set[E]], values: Set[E]) -> Action: ...
    @overload
    def delete_from(self: Place[frozenset[E]], values: Set[E]) -> Action: ...
    def delete_from(self: Place[Any], values: Set[Any]) -> Action:
        """Takes elements out of a set; those that are not in it don't matter."""
        return Action(self, "delete_from", values)

    def _clearing_verb(self) -> str:
        """What makes it None."""
        return "clear" if self._codec.keeps_none else "remove"

    def _numeric_start(self) -> Wire:
        """What is added to where nothing is stored."""
        return ZERO


class Action(NamedTuple):
    """One thing that an update does."""

    place: Place[Any]
    verb: str
    value: Any

    def __repr__(self) -> str:
        return f"{self.place!r}.{self.verb}({'' if self.value is None else repr(self.value)})"


def update_text(
    actions: Iterable[Action],
    placeholders: Placeholders,
    assignments: Iterable[tuple[str, Wire | None]],
    defaults: Iterable[tuple[str, Wire]] = (),
) -> str:
    """An UpdateExpression. `assignments` are attributes that are set (or removed, where None) besides the actions,
    `defaults` those that are set where there are none."""
    clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
    for action in actions:
        clause, text = _CLAUSES[action.verb](action, placeholders)
        clauses[clause].append(text)
    for name, wire in assignments:
        alias = placeholders.name(name)
        if wire is None:
            clauses["REMOVE"].append(alias)
        else:
            clauses["SET"].append(f"{alias} = {placeholders.value(wire)}")
    for name, wire in defaults:
        alias = placeholders.name(name)
        clauses["SET"].append(f"{alias} = if_not_exists({alias}, {placeholders.value(wire)})")
    return " ".join(f"{clause} {', '.join(texts)}" for clause, texts in clauses.items() if texts)


def _set(action: Action, placeholders: Placeholders) -> tuple[str, str]:
    place, value = action.place, action.value
    if isinstance(value, builtins.set | frozenset) and not value and place._codec.absent is not None:
        return "REMOVE", placeholders.path(place._path)  # as nothing is how an empty set is stored
    return "SET", f"{placeholders.path(place._path)} = {place._other_text(placeholders, value)}"


def _remove(action: Action, placeholders: Placeholders) -> tuple[str, str]:
    return "REMOVE", placeholders.path(action.place._path)


def _clear(action: Action, placeholders: Placeholders) -> tuple[str, str]:
    return "SET", f"{placeholders.path(action.place._path)} = {placeholders.value({'NULL': True})}"


def _set_if_missing(action: Action, placeholders: Placeholders) -> tuple[str, str]:
    path = placeholders.path(action.place._path)
    return "SET", f"{path} = if_not_exists({path}, {action.place._other_text(placeholders, action.value)})"


def _add(action: Action, placeholders: Placeholders) -> tuple[str, str]:
    """ADD starts from 0 and takes top-level attributes only (developer guide, "Update expressions")."""
    place = action.place
    if place._codec.kinds != ("N",):
        raise PlanRefused(f"{place!r} is of the type {name_of(place._codec.plain)}, and only to numbers can be added")
    path, start = placeholders.path(place._path), place._numeric_start()
    amount = place._other_text(placeholders, action.value)
    if start == ZERO and len(place._path) == 1:
        return "ADD", f"{path} {amount}"
    return "SET", f"{path} = if_not_exists({path}, {placeholders.value(start)}) + {amount}"


def _extend(action: Action, placeholders: Placeholders) -> tuple[str, str]:
    place = action.place
    if place._codec.kinds != ("L",):
        raise PlanRefused(f"{place!r} is of the type {name_of(place._codec.plain)}, not a list")
    path = placeholders.path(place._path)
    old = f"if_not_exists({path}, {placeholders.value({'L': []})})"
    new = place._other_text(placeholders, action.value)
    parts = (old, new) if action.verb == "append" else (new, old)
    return "SET", f"{path} = list_append({', '.join(parts)})"


def _change_set(action: Action, placeholders: Placeholders) -> tuple[str, str]:
    """ADD and DELETE take top-level attributes only (developer guide, "Update expressions")."""
    place = action.place
    if place._codec.kinds not in {("SS",), ("NS",), ("BS",)}:
        raise PlanRefused(f"{place!r} is of the type {name_of(place._codec.plain)}, not a set")
    if len(place._path) > 1:
        raise PlanRefused(f"{place!r} is nested, and elements are put into and taken out of sets at the top level only")
    wire = encoded(place._codec, action.value, repr(place))
    clause = "ADD" if action.verb == "add_to" else "DELETE"
    return clause, f"{placeholders.path(place._path)} {placeholders.value(wire)}"


_CLAUSES: Final[dict[str, Callable[[Action, Placeholders], tuple[str, str]]]] = {
    "set": _set,
    "remove": _remove,
    "clear": _clear,
    "set_if_missing": _set_if_missing,
    "add": _add,
    "append": _extend,
    "prepend": _extend,
    "add_to": _change_set,
    "delete_from": _change_set,
}

"""The second stage of the slow path: which of the model's constraints a request breaks, in the service's
words.

The walk follows the model's order (the service's own where it is known, see `shape_overrides.ORDER`) and
gathers up to ten violations, which make one message. What the service reports before, after or apart from
that list is marked on the members (`names`, `first_only`, `says_empty`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from torusdb.api import names
from torusdb.api.rendering import lower_first, rendered, shown_key
from torusdb.api.shapes import ATTRIBUTE_VALUE, SHAPES, Member, Shape
from torusdb.errors import ValidationException

VIOLATIONS_MAX = 10
"""The service lists no more than these (measured)."""

NOT_NULL = "Member must not be null"


def check(name: str, request: dict[str, Any]) -> None:
    """Raises ValidationException if `request`, of the input shape `name`, breaks a constraint."""
    for member in SHAPES[name].members:
        if member.names is not None:
            _check_name_first(member, request.get(member.name))
    walk = _Walk()
    walk.structure(SHAPES[name], request, "", "")
    if walk.violations:
        raise _refusal(walk.violations)
    if walk.afterwards:
        raise ValidationException(walk.afterwards[0])


def _refusal(violations: list[str]) -> ValidationException:
    count = len(violations)
    errors = "error" if count == 1 else "errors"
    return ValidationException(f"{count} validation {errors} detected: {'; '.join(violations)}")


def _check_name_first(member: Member, table_name: str | None) -> None:
    assert member.names is not None
    message = names.refusal(member.names, table_name)
    if message is not None:
        raise ValidationException(message)
    if member.names in ("create", "alone"):
        walk = _Walk()
        walk.member(member, table_name, "", "")
        if walk.violations:
            raise _refusal(walk.violations)


class _Walk:
    """One pass over a request. `path` is where a value stands, as the messages write it; `key` is the key of
    the map entry around it."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.afterwards: list[str] = []

    def structure(self, shape: Shape, value: dict[str, Any], prefix: str, key: str) -> None:
        stop_at_next_of: list[str] = []
        for member in shape.members:
            if member.name in stop_at_next_of:
                continue
            before = len(self.violations)
            self.member(member, value.get(member.name), prefix, key)
            if member.name in shape.first_only and len(self.violations) > before:
                stop_at_next_of = shape.first_only

    def member(self, member: Member, value: Any, prefix: str, key: str) -> None:
        path = prefix + lower_first(member.name)
        if value is None:
            if member.required:
                self.report("null", path, NOT_NULL)
        elif member.names is not None:
            for rule in names.broken_rules(member.names, value):
                self.report(f"'{rendered(value, member.shape)}'", path, rule)
        elif member.says_empty is not None and not value:
            self.afterwards.append(member.says_empty)
        else:
            self.own_rules(member, value, path, key)
            self.content(member.shape, value, path, key)

    def own_rules(self, member: Member, value: Any, path: str, key: str) -> None:
        said = {"min": member.says_min, "max": member.says_max}
        for kind, rule in _broken(SHAPES[member.shape], value, member.max):
            special = said.get(kind)
            if special is None:
                self.report(f"'{rendered(value, member.shape)}'", path, rule)
            else:
                self.add(special.format(rule=rule, key=shown_key(key)))
        if member.key_names is not None:
            rules = names.map_key_rules(member.key_names)
            if any(names.broken_rules(member.key_names, name) for name in value):
                shown = rendered(value, member.shape)
                self.report(f"'{shown}'", path, f"Map keys must satisfy constraint: [{rules}]")

    def content(self, name: str, value: Any, path: str, key: str) -> None:
        """What `value`, of the shape `name`, holds."""
        shape = SHAPES[name]
        if _is_free(name):
            return
        if shape.type == "structure":
            self.structure(shape, value, f"{path}.", key)
        elif shape.type == "list":
            self.elements_together(name, value, path)
            if _is_scalar(shape.member) and None not in value:
                return
            for number, element in enumerate(value, 1):
                if self.is_full:
                    break
                self.element(shape.member, element, f"{path}.{number}.member", key)
        elif shape.type == "map":
            self.elements_together(name, value, path)
            if _is_scalar(shape.value) and None not in value.values():
                return
            for entry, element in value.items():
                if self.is_full:
                    break
                self.element(shape.value, element, f"{path}.{shown_key(entry)}.member", entry)

    def element(self, name: str, value: Any, path: str, key: str) -> None:
        if value is None:
            self.report("null", path, NOT_NULL)
        else:
            self.content(name, value, path, key)

    def elements_together(self, name: str, value: Any, path: str) -> None:
        """Elements with rules of their own are reported all at once, at what holds them, by all the rules."""
        shape = SHAPES[name]
        if shape.type == "map":
            element_name, elements, what = shape.value, list(value.values()), "Map value"
        else:
            element_name, elements, what = shape.member, value, "Member"
        rules = _element_rules(element_name)
        if rules and any(_broken(SHAPES[element_name], one) for one in elements if one is not None):
            self.report(f"'{rendered(value, name)}'", path, f"{what} must satisfy constraint: [{rules}]")

    def report(self, value: str, path: str, rule: str) -> None:
        self.add(f"Value {value} at '{path}' failed to satisfy constraint: {rule}")

    @property
    def is_full(self) -> bool:
        return len(self.violations) >= VIOLATIONS_MAX

    def add(self, violation: str) -> None:
        if not self.is_full:
            self.violations.append(violation)


def _broken(shape: Shape, value: Any, own_max: int | None = None) -> list[tuple[str, str]]:
    """The rules that `value` breaks, each with its kind."""
    highest = shape.max if own_max is None else own_max
    measure, low, high = (
        (value, _at_least_value, _at_most_value)
        if isinstance(value, int | float)
        else (len(value), _at_least_length, _at_most_length)
    )
    broken = []
    if shape.pattern is not None and not re.fullmatch(shape.pattern, value):
        broken.append(("pattern", _matching(shape.pattern)))
    if shape.enum is not None and value not in shape.enum:
        broken.append(("enum", _one_of(shape.enum)))
    if shape.min is not None and measure < shape.min:
        broken.append(("min", low(shape.min)))
    if highest is not None and measure > highest:
        broken.append(("max", high(highest)))
    return broken


@cache
def _is_free(name: str) -> bool:
    """Whether the model says nothing of what a value of this shape holds: attribute values, and lists and maps of
    them, in which the stage before has left no null."""
    shape = SHAPES[name]
    return ATTRIBUTE_VALUE in (name, shape.member, shape.value)


@cache
def _is_scalar(name: str) -> bool:
    """Elements that hold nothing: their own rules are looked at all together."""
    return SHAPES[name].type not in ("structure", "list", "map")


@cache
def _element_rules(name: str) -> str:
    """The rules for elements of the shape `name`; structures have none, only their members do."""
    shape = SHAPES[name]
    rules = []
    if shape.enum is not None:
        rules.append(_one_of(shape.enum))
    if shape.max is not None:
        rules.append(_at_most_length(shape.max))
    if shape.min is not None:
        rules.append(_at_least_length(shape.min))
    if shape.pattern is not None:
        rules.append(_matching(shape.pattern))
    return ", ".join(rules)


def _matching(pattern: str) -> str:
    return f"Member must satisfy regular expression pattern: {pattern}"


def _one_of(values: list[str]) -> str:
    return f"Member must satisfy enum value set: [{', '.join(values)}]"


def _at_least_length(limit: int) -> str:
    return f"Member must have length greater than or equal to {limit}"


def _at_most_length(limit: int) -> str:
    return f"Member must have length less than or equal to {limit}"


def _at_least_value(limit: int) -> str:
    return f"Member must have value greater than or equal to {limit}"


def _at_most_value(limit: int) -> str:
    return f"Member must have value less than or equal to {limit}"

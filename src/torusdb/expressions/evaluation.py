"""Conditions compiled to closures over an item and the values of a request.

What is missing from an item equals nothing and has no order; nor have values of different types. So of
all comparisons only `<>` holds for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from torusdb.expressions.parsed import CONDITION_FUNCTIONS
from torusdb.expressions.paths import BoundPath, bind, look_up
from torusdb.expressions.tree import (
    And,
    Between,
    Call,
    Compare,
    In,
    Literal,
    Node,
    Not,
    Or,
    Path,
    Placeholder,
)
from torusdb.model.attributes import AttributeValue, Item
from torusdb.model.numbers import compare as compare_numbers

Values: TypeAlias = Mapping[str, AttributeValue]
Test: TypeAlias = Callable[[Item, Values], bool]
Fetch: TypeAlias = Callable[[Item, Values], "AttributeValue | None"]


def compile_condition(node: Node, names: Mapping[str, str]) -> Test:
    match node:
        case And(conditions):
            return _compile_all([compile_condition(condition, names) for condition in conditions])
        case Or(conditions):
            return _compile_any([compile_condition(condition, names) for condition in conditions])
        case Not(condition):
            inner = compile_condition(condition, names)
            return lambda item, values: not inner(item, values)
        case Compare(operator, left, right):
            return _compile_comparison(operator, left, right, names)
        case Between(operand, lower, upper):
            return _compile_between(*(_fetch(part, names) for part in (operand, lower, upper)))
        case In(operand, choices):
            return _compile_in(_fetch(operand, names), [_fetch(choice, names) for choice in choices])
        case Call(function, operands):
            fetches = [_fetch(operand, names) for operand in operands]
            # A wrong number of operands is refused before the plan is ever used.
            return _COMPILE_CALL[function](*fetches) if len(fetches) == CONDITION_FUNCTIONS[function] else _never
        case _:
            raise AssertionError(f"not a condition: {node}")


def _never(item: Item, values: Values) -> bool:
    raise AssertionError("evaluated an expression that has not passed its checks")


def _compile_all(tests: Sequence[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda item, values: first(item, values) and second(item, values)

    return lambda item, values: all(test(item, values) for test in tests)


def _compile_any(tests: Sequence[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda item, values: first(item, values) or second(item, values)

    return lambda item, values: any(test(item, values) for test in tests)


def _fetch(operand: Node, names: Mapping[str, str]) -> Fetch:
    match operand:
        case Path():
            return _fetch_path(bind(operand, names))
        case Placeholder(placeholder):
            return lambda item, values: values[placeholder]
        case Literal(value):
            return lambda item, values: value
        case Call("size", operands) if len(operands) == 1:
            return _fetch_size(_fetch(operands[0], names))
        case _:
            return _never_fetched


def _never_fetched(item: Item, values: Values) -> AttributeValue | None:
    raise AssertionError("evaluated an expression that has not passed its checks")


def _fetch_path(path: BoundPath) -> Fetch:
    name = path[0]
    if len(path) == 1 and isinstance(name, str):
        return lambda item, values: item.get(name)
    return lambda item, values: look_up(item, path)


def _fetch_size(fetch: Fetch) -> Fetch:
    def fetch_size(item: Item, values: Values) -> AttributeValue | None:
        value = fetch(item, values)
        size = None if value is None else _size(value)
        return None if size is None else {"N": str(size)}

    return fetch_size


def _size(value: AttributeValue) -> int | None:
    kind, content = next(iter(value.items()))
    if kind == "S":
        # The service counts UTF-16 code units (measured).
        return len(content) if content.isascii() else len(content.encode("utf-16-le")) // 2
    return None if kind in ("N", "BOOL", "NULL") else len(content)


def _order(left: AttributeValue | None, right: AttributeValue | None) -> int | None:
    """-1, 0 or 1; None for what has no order."""
    if left is None or right is None:
        return None
    kind = next(iter(left))
    if kind not in right:
        return None
    if kind == "N":
        return compare_numbers(left["N"], right["N"])
    if kind not in ("S", "B"):
        return None
    x, y = left[kind], right[kind]
    return -1 if x < y else int(x > y)


_ORDERS: Final[Mapping[str, frozenset[int]]] = {
    "<": frozenset([-1]),
    "<=": frozenset([-1, 0]),
    ">": frozenset([1]),
    ">=": frozenset([0, 1]),
}


def _compile_comparison(operator: str, left: Node, right: Node, names: Mapping[str, str]) -> Test:
    if operator == "=" and isinstance(left, Path) and len(left.parts) == 1 and isinstance(right, Placeholder):
        # By far the most common comparison. A missing attribute equals no value.
        name, placeholder = bind(left, names)[0], right.name
        assert isinstance(name, str)
        return lambda item, values: item.get(name) == values[placeholder]
    fetch_left, fetch_right = _fetch(left, names), _fetch(right, names)
    if operator == "=":
        return lambda item, values: _equal(fetch_left(item, values), fetch_right(item, values))
    if operator == "<>":
        # True also where either is missing: what is not there equals nothing.
        return lambda item, values: not _equal(fetch_left(item, values), fetch_right(item, values))
    accepted = _ORDERS[operator]
    return lambda item, values: _order(fetch_left(item, values), fetch_right(item, values)) in accepted


def _equal(left: AttributeValue | None, right: AttributeValue | None) -> bool:
    return left is not None and left == right


def _compile_between(operand: Fetch, lower: Fetch, upper: Fetch) -> Test:
    def test(item: Item, values: Values) -> bool:
        value = operand(item, values)
        from_below = _order(lower(item, values), value)
        if from_below is None or from_below > 0:
            return False
        from_above = _order(upper(item, values), value)
        return from_above is not None and from_above >= 0

    return test


def _compile_in(operand: Fetch, choices: Sequence[Fetch]) -> Test:
    def test(item: Item, values: Values) -> bool:
        value = operand(item, values)
        return value is not None and any(value == choice(item, values) for choice in choices)

    return test


def _compile_begins_with(operand: Fetch, prefix: Fetch) -> Test:
    def test(item: Item, values: Values) -> bool:
        value, start = operand(item, values), prefix(item, values)
        if value is None or start is None:
            return False
        kind = next(iter(start))
        return kind in ("S", "B") and kind in value and value[kind].startswith(start[kind])

    return test


_SET_OF: Final[Mapping[str, str]] = {"S": "SS", "N": "NS", "B": "BS"}


def _contains(value: AttributeValue | None, wanted: AttributeValue | None) -> bool:
    if value is None or wanted is None:
        return False
    if "L" in value:
        return wanted in value["L"]
    kind: str
    content: Any
    kind, content = next(iter(wanted.items()))
    if kind in ("S", "B") and kind in value:
        return content in value[kind]
    members = value.get(_SET_OF.get(kind, ""))
    return members is not None and content in members


def _compile_attribute_type(operand: Fetch, kind: Fetch) -> Test:
    def test(item: Item, values: Values) -> bool:
        value, wanted = operand(item, values), kind(item, values)
        return value is not None and wanted is not None and wanted.get("S") in value

    return test


_COMPILE_CALL: Final[Mapping[str, Callable[..., Test]]] = {
    "attribute_exists": lambda operand: lambda item, values: operand(item, values) is not None,
    "attribute_not_exists": lambda operand: lambda item, values: operand(item, values) is None,
    "attribute_type": _compile_attribute_type,
    "begins_with": _compile_begins_with,
    "contains": lambda operand, wanted: lambda item, values: _contains(operand(item, values), wanted(item, values)),
    "size": lambda operand: _never,
}

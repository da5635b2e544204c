"""Conditions once more, in the plainest way: trees of tuples, an evaluator by the words of the developer guide, and
their texts in all the spellings that the language allows."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any, TypeAlias

from hypothesis import strategies as st

Value: TypeAlias = dict[str, Any]
Node: TypeAlias = tuple[Any, ...]
"""("path", parts), ("value", value) or ("size", operand); a comparator, "BETWEEN", "IN" or a function with its
operands; ("AND", …), ("OR", …) or ("NOT", condition)."""

COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")
TYPES = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")


# Evaluation.


def evaluate(node: Node, item: dict[str, Value]) -> bool:
    match node:
        case ("AND", *conditions):
            return all(evaluate(condition, item) for condition in conditions)
        case ("OR", *conditions):
            return any(evaluate(condition, item) for condition in conditions)
        case ("NOT", condition):
            return not evaluate(condition, item)
        case ("attribute_exists", path):
            return fetch(path, item) is not None
        case ("attribute_not_exists", path):
            return fetch(path, item) is None
        case (operator, *operands):
            return OPERATORS[operator](*(fetch(operand, item) for operand in operands))
    raise AssertionError(node)


def fetch(operand: Node, item: dict[str, Value]) -> Value | None:
    kind, content = operand
    if kind == "value":
        return dict(content)
    if kind == "size":
        return size(fetch(content, item))
    value: Value | None = {"M": item}
    for part in content:
        if value is not None:
            value = step(value, part)
    return value


def step(value: Value, part: str | int) -> Value | None:
    if isinstance(part, str):
        return dict(value["M"]).get(part) if "M" in value else None
    return value["L"][part] if "L" in value and part < len(value["L"]) else None


def size(value: Value | None) -> Value | None:
    if value is None or value.keys() & {"N", "BOOL", "NULL"}:
        return None
    ((kind, content),) = value.items()
    return {"N": str(sum(2 if ord(char) > 0xFFFF else 1 for char in content) if kind == "S" else len(content))}


def equal(a: Value | None, b: Value | None) -> bool:
    if a is None or b is None or a.keys() != b.keys():
        return False
    ((kind, x),), (y,) = a.items(), b.values()
    if kind == "N":
        return Decimal(x) == Decimal(y)
    if kind == "NS":
        return {Decimal(one) for one in x} == {Decimal(one) for one in y}
    if kind in ("SS", "BS"):
        return set(x) == set(y)
    if kind == "L":
        return len(x) == len(y) and all(map(equal, x, y))
    if kind == "M":
        return bool(x.keys() == y.keys() and all(equal(x[name], y[name]) for name in x))
    return bool(x == y)


def order(a: Value | None, b: Value | None) -> int | None:
    for kind in ("S", "N", "B"):
        if a is not None and b is not None and kind in a and kind in b:
            x, y = (Decimal(one[kind]) if kind == "N" else one[kind] for one in (a, b))
            if kind == "S":
                x, y = x.encode(), y.encode()
            return int(x > y) - int(x < y)
    return None


def between(value: Value | None, lower: Value | None, upper: Value | None) -> bool:
    return order(value, lower) in (0, 1) and order(value, upper) in (0, -1)


def begins_with(value: Value | None, prefix: Value | None) -> bool:
    return any(
        kind in value and kind in prefix and value[kind][: len(prefix[kind])] == prefix[kind]
        for kind in ("S", "B")
        if value is not None and prefix is not None
    )


def contains(value: Value | None, wanted: Value | None) -> bool:
    if value is None or wanted is None:
        return False
    if "L" in value:
        return any(equal(element, wanted) for element in value["L"])
    for scalar, set_ in (("S", "SS"), ("N", "NS"), ("B", "BS")):
        if scalar in wanted and set_ in value:
            return any(equal({scalar: member}, wanted) for member in value[set_])
    return any(kind in value and kind in wanted and wanted[kind] in value[kind] for kind in ("S", "B"))


OPERATORS: dict[str, Any] = {
    "=": equal,
    "<>": lambda a, b: not equal(a, b),
    "<": lambda a, b: order(a, b) == -1,
    "<=": lambda a, b: order(a, b) in (-1, 0),
    ">": lambda a, b: order(a, b) == 1,
    ">=": lambda a, b: order(a, b) in (0, 1),
    "BETWEEN": between,
    "IN": lambda value, *choices: any(equal(value, choice) for choice in choices),
    "begins_with": begins_with,
    "contains": contains,
    "attribute_type": lambda value, kind: value is not None and kind["S"] in value,
}


# Items and trees. Few names and few values, so that they meet.

NAMES = ("a", "b", "c")
STRINGS = st.sampled_from(["", "a", "ab", "b", "é", "🙂"])
NUMBERS = st.sampled_from(["0", "-1", "1", "1.0", "2", "10", "0.1e1", "123456789012345678901234567890.5"])
BINARIES = st.sampled_from([b"", b"a", b"ab", b"\xff"])


def _set_of(members: st.SearchStrategy[Any], by: Any = lambda member: member) -> st.SearchStrategy[list[Any]]:
    return st.lists(members, min_size=1, max_size=3, unique_by=by)


ORDERED: dict[str, st.SearchStrategy[Value]] = {
    "S": st.builds(lambda text: {"S": text}, STRINGS),
    "N": st.builds(lambda number: {"N": number}, NUMBERS),
    "B": st.builds(lambda binary: {"B": binary}, BINARIES),
}
SCALARS = st.one_of(
    *ORDERED.values(),
    st.builds(lambda flag: {"BOOL": flag}, st.booleans()),
    st.just({"NULL": True}),
    st.builds(lambda members: {"SS": members}, _set_of(STRINGS)),
    st.builds(lambda members: {"NS": members}, _set_of(NUMBERS, Decimal)),
    st.builds(lambda members: {"BS": members}, _set_of(BINARIES)),
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda elements: {"L": elements}, st.lists(inner, max_size=3)),
        st.builds(lambda members: {"M": members}, st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)),
    ),
    max_leaves=5,
)
ITEMS: st.SearchStrategy[dict[str, Value]] = st.fixed_dictionaries({"a": VALUES}, optional={"b": VALUES, "c": VALUES})

PATHS: st.SearchStrategy[Node] = st.builds(
    lambda head, tail: ("path", (head, *tail)),
    st.sampled_from(NAMES),
    st.one_of(st.just([]), st.lists(st.sampled_from([*NAMES, 0, 1, 2]), max_size=3)),
)


def _given(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Node]:
    return values.map(lambda value: ("value", value))


SIZABLE = VALUES.filter(lambda value: not value.keys() & {"N", "BOOL", "NULL"})
SIZES: st.SearchStrategy[Node] = st.one_of(PATHS, _given(SIZABLE)).map(lambda operand: ("size", operand))
OPERANDS = st.one_of(PATHS, PATHS, _given(VALUES), SIZES)
ORDERED_OPERANDS = st.one_of(PATHS, PATHS, st.one_of(*map(_given, ORDERED.values())), SIZES)
PREFIXES = st.one_of(PATHS, PATHS, _given(ORDERED["S"]), _given(ORDERED["B"]))


def _are_distinct(leaf: Node) -> bool:
    """The service refuses to compare a path with itself."""
    return not (leaf[1] == leaf[2] and leaf[1][0] == "path")


def _are_bounds(leaf: Node) -> bool:
    """Bounds that the request gives must be of one type and in order."""
    return leaf[2][0] != "value" or leaf[3][0] != "value" or order(leaf[2][1], leaf[3][1]) in (-1, 0)


LEAVES: st.SearchStrategy[Node] = st.one_of(
    st.tuples(st.sampled_from(["=", "<>"]), OPERANDS, OPERANDS).filter(_are_distinct),
    st.tuples(st.sampled_from(COMPARATORS), ORDERED_OPERANDS, ORDERED_OPERANDS).filter(_are_distinct),
    st.tuples(st.just("BETWEEN"), ORDERED_OPERANDS, ORDERED_OPERANDS, ORDERED_OPERANDS).filter(_are_bounds),
    st.builds(lambda operand, choices: ("IN", operand, *choices), OPERANDS, st.lists(OPERANDS, min_size=1, max_size=3)),
    st.tuples(st.sampled_from(["attribute_exists", "attribute_not_exists"]), PATHS),
    st.tuples(st.just("begins_with"), PREFIXES, PREFIXES).filter(_are_distinct),
    st.tuples(st.just("contains"), st.one_of(PATHS, _given(VALUES)), st.one_of(PATHS, _given(VALUES))).filter(
        _are_distinct
    ),
    st.tuples(
        st.just("attribute_type"),
        st.one_of(PATHS, _given(VALUES)),
        _given(st.builds(lambda kind: {"S": kind}, st.sampled_from(TYPES))),
    ),
)
CONDITIONS: st.SearchStrategy[Node] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("NOT"), inner),
        st.builds(lambda joint, nodes: (joint, *nodes), st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2)),
    ),
    max_leaves=6,
)


# Texts.

CHANCES = st.builds(Random, st.integers(0, 2**32))
"""For writers. Hypothesis need not see each choice of theirs, which would cost it most of its time."""

STRENGTH = {"OR": 1, "AND": 2, "NOT": 3}


@dataclass
class Writer:
    """Writes a tree as text, each time in another way: aliases, parentheses, case and space are left to chance."""

    chance: Random
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)

    def text(self, tokens: list[str]) -> str:
        written = self._space()
        for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
            space = self._space()
            both_words = (token[-1].isalnum() or token[-1] == "_") and (
                following[:1].isalnum() or following[:1] in "#:_"
            )
            written += token + (space or " " if both_words and following else space)
        return written

    def condition(self, node: Node, around: int = 0) -> list[str]:
        """`around` is the strength of what stands around: a weaker condition needs parentheses, any may have them."""
        strength = STRENGTH.get(node[0], 4)
        tokens = self._bare_condition(node, strength)
        return ["(", *tokens, ")"] if strength < around or self._flip() else tokens

    def _bare_condition(self, node: Node, strength: int) -> list[str]:
        match node:
            case ("AND" | "OR" as joint, *conditions):
                # As strong as its own parts: AND within AND is another tree, but the same condition.
                return self._joined([self.condition(each, strength) for each in conditions], joint)
            case ("NOT", condition):
                return [self._cased("NOT"), *self.condition(condition, strength)]
            case ("BETWEEN", value, lower, upper):
                bounds = self._joined([self.operand(lower), self.operand(upper)], "AND")
                return [*self.operand(value), self._cased("BETWEEN"), *bounds]
            case ("IN", value, *choices):
                return [*self.operand(value), self._cased("IN"), *self._arguments(choices)]
            case (operator, left, right) if operator in COMPARATORS:
                return [*self.operand(left), operator, *self.operand(right)]
            case (function, *operands):
                return [function, *self._arguments(operands)]
        raise AssertionError(node)

    def operand(self, node: Node) -> list[str]:
        kind, content = node
        if kind == "path":
            tokens = self.path(content)
        elif kind == "size":
            tokens = ["size", *self._arguments([content])]
        else:
            tokens = [self.value(content)]
        return ["(", *tokens, ")"] if self._flip() else tokens

    def path(self, parts: tuple[str | int, ...]) -> list[str]:
        tokens: list[str] = []
        for part in parts:
            if isinstance(part, int):
                tokens += ["[", str(part), "]"]
            else:
                tokens += ["."] if tokens else []
                tokens.append(self.name(part))
        return tokens

    def name(self, name: str) -> str:
        if not self._flip():
            return name
        alias = f"#{len(self.names)}"
        self.names[alias] = name
        return alias

    def value(self, value: Value) -> str:
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def _arguments(self, operands: list[Node] | tuple[Node, ...]) -> list[str]:
        return ["(", *self._joined([self.operand(operand) for operand in operands], ","), ")"]

    def _joined(self, parts: list[list[str]], joint: str) -> list[str]:
        tokens = list(parts[0])
        for part in parts[1:]:
            tokens += [self._cased(joint), *part]
        return tokens

    def _cased(self, keyword: str) -> str:
        return self.chance.choice([keyword, keyword.lower(), keyword.title()])

    def _space(self) -> str:
        return self.chance.choice(["", "", " ", "\n", "\t ", "\r"])

    def _flip(self) -> bool:
        return self.chance.random() < 0.2

"""Updates once more, in the plainest way: actions as tuples, applied one after the other to an item whose lists are
spread out by index, so that every index means the list as it was."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.expressions.naive_conditions import NAMES, NUMBERS, SCALARS, VALUES, Node, Value, Writer, fetch

Path: TypeAlias = tuple[str | int, ...]
Action: TypeAlias = tuple[str, Path, Node | None]
"""The section, the path, and the operand: ("value", …), ("path", …), ("+", a, b), ("-", a, b), ("if_not_exists",
path, default) or ("list_append", a, b)."""

INVALID_PATH = "The document path provided in the update expression is invalid for update"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"

_EXACT = Context(prec=200)


class Refused(Exception):
    pass


# Effects.


def refusals(actions: list[Action], item: dict[str, Value]) -> set[str]:
    """All reasons not to apply the actions. Which of them comes first is the service's affair."""
    reasons = set()
    for action in actions:
        for check in (outcome, require_place):
            try:
                check(action, item)
            except Refused as refused:
                reasons.add(str(refused))
    return reasons


def apply(actions: list[Action], item: dict[str, Value]) -> dict[str, Value]:
    root: Any = _spread({"M": item})
    for action in actions:
        *way, last = action[1]
        holder = root
        for part in way:
            holder = holder["M" if isinstance(part, str) else "L"][part]
        members = holder["M" if isinstance(last, str) else "L"]
        written = outcome(action, item)
        if written is None:
            members.pop(last, None)
        else:
            members[last] = _spread(written)
    return dict(_closed_up(root)["M"])


def _spread(value: Value) -> Any:
    if "L" in value:
        return {"L": {index: _spread(element) for index, element in enumerate(value["L"])}}
    if "M" in value:
        return {"M": {name: _spread(member) for name, member in value["M"].items()}}
    return value


def _closed_up(value: Any) -> Value:
    if "L" in value:
        return {"L": [_closed_up(value["L"][index]) for index in sorted(value["L"])]}
    if "M" in value:
        return {"M": {name: _closed_up(member) for name, member in value["M"].items()}}
    return dict(value)


def require_place(action: Action, item: dict[str, Value]) -> None:
    *way, last = action[1]
    holder = fetch(("path", tuple(way)), item)
    if holder is None or ("M" if isinstance(last, str) else "L") not in holder:
        raise Refused(INVALID_PATH)


def outcome(action: Action, item: dict[str, Value]) -> Value | None:
    section, path, operand = action
    if section == "REMOVE" or operand is None:
        return None
    given = calculate(operand, item)
    if section == "SET":
        return given
    old = fetch(("path", path), item)
    if old is None:
        return given if section == "ADD" else None
    ((kind, content),) = given.items()
    if kind not in old:
        raise Refused(WRONG_TYPE)
    if section == "DELETE":
        left = [member for member in old[kind] if _worth(member) not in map(_worth, content)]
        return {kind: left} if left else None
    if kind == "N":
        return {"N": str(_EXACT.add(Decimal(old["N"]), Decimal(content)))}
    return {kind: old[kind] + [member for member in content if _worth(member) not in map(_worth, old[kind])]}


def _worth(member: Any) -> Any:
    """What makes two members of a set the same: numbers have several spellings."""
    try:
        return Decimal(member)
    except Exception:
        return member


def calculate(operand: Node, item: dict[str, Value]) -> Value:
    match operand:
        case ("value", value):
            return dict(value)
        case ("path", _):
            value = fetch(operand, item)
            if value is None:
                raise Refused(MISSING)
            return dict(value)
        case ("if_not_exists", path, default):
            value = fetch(path, item)
            return calculate(default, item) if value is None else value
        case (operator, left, right):
            a, b = calculate(left, item), calculate(right, item)
            kind = "L" if operator == "list_append" else "N"
            if kind not in a or kind not in b:
                raise Refused(WRONG_TYPE)
            if operator == "list_append":
                return {"L": a["L"] + b["L"]}
            combine = _EXACT.add if operator == "+" else _EXACT.subtract
            return {"N": str(combine(Decimal(a["N"]), Decimal(b["N"])))}
    raise AssertionError(operand)


# Paths that touch each other.


def clash(paths: list[Path]) -> tuple[str, Path, Path] | None:
    """The overlap that is named, or else the conflict: between the first path that has one and the first it is with."""
    for kind in ("overlap", "conflict"):
        for number, path in enumerate(paths):
            for earlier in paths[:number]:
                if clash_of(earlier, path) == kind:
                    return kind, earlier, path
    return None


def clash_of(one: Path, two: Path) -> str | None:
    for a, b in zip(one, two, strict=False):
        if isinstance(a, str) != isinstance(b, str):
            return "conflict"
        if a != b:
            return None
    return "overlap"


# Strategies.


def paths_in(value: Value, way: Path = ()) -> list[Path]:
    """All paths that lead to something, and next to each level one that leads to nothing yet."""
    found: list[Path] = [way] if way else []
    if "M" in value:
        for name, member in value["M"].items():
            found += paths_in(member, (*way, name))
        found.append((*way, "d"))
    if "L" in value:
        for index, element in enumerate(value["L"]):
            found += paths_in(element, (*way, index))
        found.append((*way, len(value["L"]) + 1))
    return found


NUMBER_VALUES: st.SearchStrategy[Value] = NUMBERS.map(lambda number: {"N": number})
LISTS: st.SearchStrategy[Value] = st.lists(SCALARS, max_size=2).map(lambda elements: {"L": elements})
SETS: st.SearchStrategy[Value] = SCALARS.filter(lambda value: bool(value.keys() & {"SS", "NS", "BS"}))


def _given(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Node]:
    return values.map(lambda value: ("value", value))


@st.composite
def actions(draw: st.DrawFn, item: dict[str, Value]) -> list[Action]:
    """Up to five actions on paths that do not touch each other, most of them in the item."""
    known = paths_in({"M": item})
    paths = st.one_of(st.sampled_from(known), st.sampled_from(known), st.tuples(st.sampled_from(NAMES), st.just(0)))
    written: list[Action] = []
    for path in draw(st.lists(paths, min_size=1, max_size=5)):
        if not any(clash_of(path, other) for _, other, _ in written):
            written.append(draw(_action(path, paths.map(lambda path: ("path", path)))))
    return written


def _action(path: Path, paths: st.SearchStrategy[Node]) -> st.SearchStrategy[Action]:
    def or_else(operands: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        return st.one_of(operands, st.tuples(st.just("if_not_exists"), paths, operands))

    terms = or_else(st.one_of(paths, _given(NUMBER_VALUES)))
    sums = st.tuples(st.sampled_from("+-"), terms, terms)
    sums_of_sums = st.tuples(st.sampled_from("+-"), sums, st.one_of(sums, terms))
    lists = or_else(st.one_of(paths, _given(LISTS)))
    appended = or_else(st.tuples(st.just("list_append"), lists, lists))
    operands = st.one_of(or_else(_given(VALUES)), paths, sums, sums_of_sums, appended)
    return st.one_of(
        st.tuples(st.just("SET"), st.just(path), operands),
        st.tuples(st.just("REMOVE"), st.just(path), st.none()),
        st.tuples(st.just("ADD"), st.just(path), _given(st.one_of(NUMBER_VALUES, SETS))),
        st.tuples(st.just("DELETE"), st.just(path), _given(SETS)),
    )


class UpdateWriter(Writer):
    def update(self, written: list[Action]) -> str:
        sections: dict[str, list[list[str]]] = {}
        for section, path, operand in written:
            tokens = self.path(path)
            if section == "SET" and operand is not None:
                tokens += ["=", *self.set_value(operand)]
            elif operand is not None:
                tokens.append(self.value(operand[1]))
            sections.setdefault(section, []).append(tokens)
        return self.text(
            [
                token
                for section, parts in sections.items()
                for token in [self._cased(section), *self._joined(parts, ",")]
            ]
        )

    def set_value(self, operand: Node, in_parentheses: bool = False) -> list[str]:
        match operand:
            case ("+" | "-" as operator, left, right):
                tokens = [*self.set_value(left, True), operator, *self.set_value(right, True)]
                return ["(", *tokens, ")"] if in_parentheses or self._flip() else tokens
            case ("if_not_exists" | "list_append" as function, *operands):
                return [function, "(", *self._joined([self.set_value(each) for each in operands], ","), ")"]
            case ("path", path):
                return self.path(path)
            case (_, value):
                return [self.value(value)]
        raise AssertionError(operand)

"""Updates: UpdateExpression checked, compiled, applied.

Theory of operation. An update is a list of actions on paths that do not touch each other, so their order
is of no consequence: every operand is read from the item as it was, and list indexes mean the list as it
was. First each action works out its *outcome* (a new value, or REMOVED) and refuses what cannot be done,
in the order of the text, SET before all others; then the outcomes are written into a copy that shares
with the old item whatever they leave alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from torusdb.errors import ValidationException
from torusdb.expressions.parsed import UPDATE_FUNCTIONS, ParsedUpdate, parse_update
from torusdb.expressions.paths import BoundPath, bind, check_distinct_paths, look_up
from torusdb.expressions.placeholders import (
    Placeholders,
    are_short,
    undefined_alias,
    undefined_name,
    undefined_value,
)
from torusdb.expressions.projections import Projection
from torusdb.expressions.refusal import Refusal
from torusdb.expressions.tree import (
    Action,
    Arithmetic,
    Call,
    Node,
    Operand,
    Path,
    Placeholder,
    paths_of,
)
from torusdb.model import numbers
from torusdb.model.attributes import AttributeValue, Item
from torusdb.model.values import ITEM_BYTES_MAX, normalise_value, value_size

Values: TypeAlias = Mapping[str, AttributeValue]
Evaluate: TypeAlias = Callable[[Item, Values], AttributeValue]
Outcome: TypeAlias = AttributeValue | None
"""What an action leaves at its path; None for nothing."""
Work: TypeAlias = Callable[[Item, Values], Outcome]

PLAN_CACHE_ENTRIES_MAX: Final = 2048
PASSED_TYPES_MAX: Final = 32

SET_TYPES = frozenset(["SS", "NS", "BS"])
ADDABLE_TYPES = SET_TYPES | {"N"}
UPDATE_BYTES: Final = 3
WRITTEN_BYTES: Final = 19
CLEARED_BYTES: Final = 2
ELEMENT_BYTES: Final = 1
ARITHMETIC_BYTES: Final = 50
"""What the service adds for an update, and for each of its actions, to the item that it makes when it holds that
against the limit of an item: for one that writes a value or clears one, one that writes an element of a list, one
that calculates (measured at the limit)."""

_TYPE_WORDS: Final[Mapping[str, str]] = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "NULL": "NULL",
    "BOOL": "BOOLEAN",
    "L": "LIST",
    "M": "MAP",
}
_ARITHMETIC: Final[Mapping[str, Callable[[str, str], str]]] = {"+": numbers.add, "-": numbers.subtract}

_CONTAINERS: Final = frozenset(["L", "M", "SS", "NS", "BS"])

UPDATED_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
INVALID_PATH = "The document path provided in the update expression is invalid for update"
MISSING_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"
WRONG_DATA_TYPE = "An operand in the update expression has an incorrect data type"


class Update:
    """An update of one request."""

    __slots__ = ("_plan", "_values")

    def __init__(self, plan: Plan, values: Values) -> None:
        self._plan = plan
        self._values = values

    @property
    def attributes(self) -> tuple[str, ...]:
        """The top-level attributes it writes to, in the order of the text."""
        return self._plan.touched.attributes

    @property
    def touched(self) -> Projection:
        """The paths it writes to. Applied to the item before, it gives UPDATED_OLD; to the item after,
        UPDATED_NEW."""
        return self._plan.touched

    @property
    def nested_attributes(self) -> frozenset[str]:
        """The attributes it looks into, be it to read or to write."""
        return self._plan.nested_attributes

    @property
    def overhead_bytes(self) -> int:
        """What it adds to the size of the new item before that is held against the limit."""
        return self._plan.overhead_bytes

    def known_types(self) -> dict[str, str]:
        """The types it will give to top-level attributes, where the request alone decides that."""
        found = {}
        for name, value in self._plan.top_level_values:
            kind = _static_type(value, self._values)
            if kind is not None:
                found[name] = kind
        return found

    def require_no_keys(self, key_names: Iterable[str]) -> None:
        refuse_key_updates(self.attributes, key_names)

    def apply(self, item: Item) -> Item:
        """The item after the update: a new one that may share values with the old, which stays as it is.
        Where there is no item yet, `item` is its key."""
        values = self._values
        outcomes: list[Outcome] = [None] * len(self._plan.works)
        written_bytes = 0
        for index in self._plan.order:
            outcomes[index] = outcome = self._plan.works[index](item, values)
            if outcome is not None and next(iter(outcome)) in _CONTAINERS:
                # All outcomes stand in the new item. One value of 16 MB, used or appended to itself a hundred times,
                # would take a minute to build and to measure.
                written_bytes += value_size(outcome)
                if written_bytes > ITEM_BYTES_MAX:
                    raise ValidationException(UPDATED_TOO_LARGE)
        return _rewrite_members(item, self._plan.writes, outcomes)


def update(text: str, placeholders: Placeholders) -> Update:
    try:
        parsed = parse_update(text)
        names = placeholders.resolve(parsed.references)
        if None in names:
            raise undefined_name(undefined_alias(parsed.references, names))
        plan = (_plan if are_short(names) else _plan.__wrapped__)(text, names)
        plan.check(placeholders.values)
    except Refusal as refusal:
        raise refusal.of("UpdateExpression") from None
    return Update(plan, placeholders.values)


def refuse_key_updates(attributes: Iterable[str], key_names: Iterable[str]) -> None:
    attributes = frozenset(attributes)
    for name in key_names:
        if name in attributes:
            raise ValidationException(
                "One or more parameter values were invalid: "
                f"Cannot update attribute {name}. This attribute is part of the key"
            )


class Plan:
    """An update with its names resolved, ready for the values of any request."""

    __slots__ = (
        "_clash",
        "_parsed",
        "_passed_types",
        "nested_attributes",
        "order",
        "overhead_bytes",
        "top_level_values",
        "touched",
        "works",
        "writes",
    )

    def __init__(self, parsed: ParsedUpdate, names: Mapping[str, str]) -> None:
        actions = parsed.actions
        paths = [bind(action.path, names) for action in actions]
        self._parsed = parsed
        self._passed_types: set[tuple[str, ...]] = set()
        self._clash: Refusal | None = None
        try:
            check_distinct_paths(paths)
        except Refusal as refusal:
            # Named only after undefined values, which are the request's.
            self._clash = refusal
            return
        read = [bind(path, names) for path in paths_of(parsed.nodes)]
        self.nested_attributes = frozenset(path[0] for path in read if len(path) > 1 and isinstance(path[0], str))
        self.touched = Projection(paths)
        self.works = [_compile_action(action, path, names) for action, path in zip(actions, paths, strict=True)]
        self.order = sorted(range(len(actions)), key=lambda index: actions[index].section != "SET")
        self.overhead_bytes = UPDATE_BYTES + sum(map(_overhead_bytes, actions))
        self.writes = _writes(paths)
        self.top_level_values = [
            (path[0], action.value)
            for action, path in zip(actions, paths, strict=True)
            if len(path) == 1 and isinstance(path[0], str) and action.value is not None
        ]

    def check(self, values: Values) -> None:
        """Undefined values, paths that touch, types of ADD and DELETE, then functions and operators."""
        for placeholder in self._parsed.references.placeholders:
            if placeholder not in values:
                raise undefined_value(placeholder)
        types = tuple([next(iter(values[name])) for name in self._parsed.references.placeholders])
        if types in self._passed_types:
            return
        if self._clash is not None:
            raise self._clash
        for action in self._parsed.actions:
            _check_operand(action, values)
        for node in self._parsed.nodes:
            _check_function(node, values)
        if len(self._passed_types) < PASSED_TYPES_MAX:
            self._passed_types.add(types)


@lru_cache(PLAN_CACHE_ENTRIES_MAX)
def _plan(text: str, names: tuple[str, ...]) -> Plan:
    parsed = parse_update(text)
    return Plan(parsed, dict(zip(parsed.references.aliases, names, strict=True)))


def _overhead_bytes(action: Action) -> int:
    if action.section in ("REMOVE", "DELETE"):
        return CLEARED_BYTES
    writes_element = isinstance(action.path.parts[-1], int)
    return WRITTEN_BYTES + ELEMENT_BYTES * writes_element + ARITHMETIC_BYTES * isinstance(action.value, Arithmetic)


# Checks.


def _check_operand(action: Action, values: Values) -> None:
    if action.section not in ("ADD", "DELETE"):
        return
    kind = _static_type(action.value, values)
    if kind is not None and kind not in (ADDABLE_TYPES if action.section == "ADD" else SET_TYPES):
        raise Refusal(
            "Incorrect operand type for operator or function; "
            f"operator: {action.section}, operand type: {_TYPE_WORDS[kind]}, "
            f"typeSet: ALLOWED_FOR_{action.section}_OPERAND"
        )


def _check_function(node: Node, values: Values) -> None:
    if isinstance(node, Arithmetic):
        _check_types(node.operator, (node.left, node.right), "N", values)
    elif isinstance(node, Call):
        if len(node.operands) != UPDATE_FUNCTIONS[node.function]:
            raise Refusal(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {node.function}, number of operands: {len(node.operands)}"
            )
        if node.function == "list_append":
            _check_types(node.function, node.operands, "L", values)
        elif not isinstance(node.operands[0], Path):
            raise Refusal(f"Operator or function requires a document path; operator or function: {node.function}")


def _check_types(operator: str, operands: Sequence[Operand], wanted: str, values: Values) -> None:
    for operand in operands:
        if isinstance(operand, Placeholder):
            kind = next(iter(values[operand.name]))
            if kind != wanted:
                raise Refusal(
                    "Incorrect operand type for operator or function; "
                    f"operator or function: {operator}, operand type: {kind}"
                )


def _static_type(operand: Operand | None, values: Values) -> str | None:
    """The type an operand will have, where the item has no part in it."""
    match operand:
        case Placeholder(name):
            return next(iter(values[name]))
        case Arithmetic():
            return "N"
        case Call("list_append"):
            return "L"
        case Call("if_not_exists", (_, default)):
            return _static_type(default, values)
        case _:
            return None


# Compilation of what is to be worked out.


def _compile_action(action: Action, path: BoundPath, names: Mapping[str, str]) -> Work:
    if action.section == "REMOVE":
        return _compile_remove(path)
    assert action.value is not None
    if action.section == "SET":
        return _compile_set(path, _compile_value(action.value, names))
    assert isinstance(action.value, Placeholder)
    combine = add_to if action.section == "ADD" else delete_from
    name = action.value.name

    def work(item: Item, values: Values) -> Outcome:
        _require_parent(item, path)
        return combine(look_up(item, path), values[name], WRONG_DATA_TYPE)

    return work


def _compile_remove(path: BoundPath) -> Work:
    def work(item: Item, values: Values) -> Outcome:
        _require_parent(item, path)
        return None

    return work


def _compile_set(path: BoundPath, evaluate: Evaluate) -> Work:
    if len(path) == 1:
        return evaluate

    def work(item: Item, values: Values) -> Outcome:
        value = evaluate(item, values)
        _require_parent(item, path)
        return value

    return work


def _require_parent(item: Item, path: BoundPath) -> None:
    """What the path leads to need not exist, but what holds it must, and be of the right type."""
    if len(path) > 1:
        parent = look_up(item, path[:-1])
        if parent is None or ("M" if isinstance(path[-1], str) else "L") not in parent:
            raise ValidationException(INVALID_PATH)


def _compile_value(operand: Operand, names: Mapping[str, str]) -> Evaluate:
    match operand:
        case Placeholder(name):
            return lambda item, values: values[name]
        case Path():
            return _compile_path(bind(operand, names))
        case Arithmetic(operator, left, right):
            return _compile_arithmetic(_ARITHMETIC[operator], _compile_value(left, names), _compile_value(right, names))
        case Call("if_not_exists", (Path() as path, default)):
            return _compile_if_not_exists(bind(path, names), _compile_value(default, names))
        case Call("list_append", (first, second)):
            return _compile_list_append(_compile_value(first, names), _compile_value(second, names))
        case _:
            return _never


def _never(item: Item, values: Values) -> AttributeValue:
    raise AssertionError("evaluated an expression that has not passed its checks")


def _compile_path(path: BoundPath) -> Evaluate:
    def evaluate(item: Item, values: Values) -> AttributeValue:
        value = look_up(item, path)
        if value is None:
            raise ValidationException(MISSING_ATTRIBUTE)
        return value

    return evaluate


def _compile_arithmetic(operate: Callable[[str, str], str], left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(item: Item, values: Values) -> AttributeValue:
        a, b = left(item, values), right(item, values)
        if "N" not in a or "N" not in b:
            raise ValidationException(WRONG_DATA_TYPE)
        return {"N": operate(a["N"], b["N"])}

    return evaluate


def _compile_if_not_exists(path: BoundPath, default: Evaluate) -> Evaluate:
    def evaluate(item: Item, values: Values) -> AttributeValue:
        value = look_up(item, path)
        return default(item, values) if value is None else value

    return evaluate


def _compile_list_append(first: Evaluate, second: Evaluate) -> Evaluate:
    def evaluate(item: Item, values: Values) -> AttributeValue:
        a, b = first(item, values), second(item, values)
        if "L" not in a or "L" not in b:
            raise ValidationException(WRONG_DATA_TYPE)
        return {"L": a["L"] + b["L"]}

    return evaluate


def add_to(old: AttributeValue | None, operand: AttributeValue, mismatch: str) -> AttributeValue:
    """ADD: a sum or a union. `mismatch` is what to say when the types differ."""
    if old is None:
        return operand
    kind = next(iter(operand))
    if kind not in old:
        raise ValidationException(mismatch)
    if kind == "N":
        return {"N": numbers.add(old["N"], operand["N"])}
    if kind == "L":
        return {"L": old["L"] + operand["L"]}
    union = {kind: [*dict.fromkeys(old[kind] + operand[kind])]}
    normalise_value(union)
    return union


def delete_from(old: AttributeValue | None, operand: AttributeValue, mismatch: str) -> AttributeValue | None:
    """DELETE of members of a set. An emptied set goes altogether."""
    if old is None:
        return None
    kind = next(iter(operand))
    if kind not in old:
        raise ValidationException(mismatch)
    gone = set(operand[kind])
    left = [member for member in old[kind] if member not in gone]
    return {kind: left} if left else None


# Writing.


Writes: TypeAlias = dict[str | int, Any]
"""Below a map or list: by name or index, the writes further below, or the number of the action whose outcome
goes there."""


def _writes(paths: Sequence[BoundPath]) -> Writes:
    root: Writes = {}
    for number, path in enumerate(paths):
        writes = root
        for part in path[:-1]:
            writes = writes.setdefault(part, {})
        writes[path[-1]] = number
    return root


def _rewrite_members(members: Item, writes: Writes, outcomes: Sequence[Outcome]) -> Item:
    written: Any = dict(members)
    for name, below in writes.items():
        if isinstance(below, dict):
            written[name] = _rewrite(written[name], below, outcomes)
            continue
        outcome = outcomes[below]
        if outcome is None:
            written.pop(name, None)
        else:
            written[name] = outcome
    result: Item = written
    return result


def _rewrite(value: AttributeValue, writes: Writes, outcomes: Sequence[Outcome]) -> AttributeValue:
    """A copy of a map or list with the outcomes in it. As deep as a path is long."""
    if "M" in value:
        return {"M": _rewrite_members(value["M"], writes, outcomes)}
    old = value["L"]
    written: list[Outcome] = list(old)
    for index in sorted(part for part in writes if isinstance(part, int)):
        below = writes[index]
        if isinstance(below, dict):
            written[index] = _rewrite(old[index], below, outcomes)
        elif index < len(old):
            written[index] = outcomes[below]
        else:
            # Beyond the end elements are added in the order of their indexes, with no gap (developer guide).
            written.append(outcomes[below])
    return {"L": [element for element in written if element is not None]}

"""The parameters that came before expressions, as the same conditions, updates and key conditions.

Expected, QueryFilter and ScanFilter become trees; KeyConditions become comparisons; AttributeUpdates
become actions that share ADD and DELETE with expressions. What differs from expressions: an operator
takes values of the request only, NOT_CONTAINS asks that the attribute exist, and the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from torusdb.errors import ValidationException
from torusdb.expressions.comparisons import Comparison, check_comparison
from torusdb.expressions.conditions import Condition, condition_of
from torusdb.expressions.key_conditions import KEY_ATTRIBUTES_MAX, WRONG_COUNT, KeyCondition
from torusdb.expressions.projections import Projection
from torusdb.expressions.tree import And, Between, Call, Compare, In, Literal, Not, Operand, Or, Path
from torusdb.expressions.tree import Condition as Tree
from torusdb.expressions.updates import (
    ADDABLE_TYPES,
    CLEARED_BYTES,
    SET_TYPES,
    UPDATE_BYTES,
    WRITTEN_BYTES,
    add_to,
    delete_from,
    refuse_key_updates,
)
from torusdb.model.attributes import AttributeValue, Item
from torusdb.model.values import check_name, normalise_value

_INVALID: Final = "One or more parameter values were invalid: "
TYPE_MISMATCH: Final = "Type mismatch for attribute to update"


class Compared(Protocol):
    """A member of KeyConditions, QueryFilter or ScanFilter."""

    @property
    def comparison_operator(self) -> str: ...
    @property
    def attribute_value_list(self) -> Sequence[AttributeValue] | None: ...


class Expectation(Protocol):
    """A member of Expected."""

    @property
    def value(self) -> AttributeValue | None: ...
    @property
    def exists(self) -> bool | None: ...
    @property
    def comparison_operator(self) -> str | None: ...
    @property
    def attribute_value_list(self) -> Sequence[AttributeValue] | None: ...


class AttributeUpdate(Protocol):
    """A member of AttributeUpdates."""

    @property
    def value(self) -> AttributeValue | None: ...
    @property
    def action(self) -> str | None: ...


# Conditions.


def filter_condition(members: Mapping[str, Compared], operator: str | None) -> Condition | None:
    """QueryFilter or ScanFilter with ConditionalOperator. None where it has no members."""
    comparisons = _checked_comparisons(members)
    return _joined({name: _tree(name, comparison) for name, comparison in comparisons.items()}, operator)


def expected_condition(members: Mapping[str, Expectation], operator: str | None) -> Condition | None:
    """Expected with ConditionalOperator. None where it has no members."""
    trees = {name: _tree(name, _expected_comparison(name, member)) for name, member in members.items()}
    return _joined(trees, operator)


def legacy_key_condition(members: Mapping[str, Compared]) -> KeyCondition:
    """The service takes this form for keys of several attributes as well (seen by others)."""
    comparisons = _checked_comparisons(members)
    if not 1 <= len(comparisons) <= KEY_ATTRIBUTES_MAX:
        raise ValidationException(WRONG_COUNT)
    return KeyCondition(comparisons)


def check_conditional_operator(operator: str | None, *conditions: Mapping[str, object] | None) -> None:
    """ConditionalOperator joins two conditions or more (messages seen from the service)."""
    if operator is None:
        return
    counts = [len(members) for members in conditions if members is not None]
    if not counts:
        raise ValidationException("ConditionalOperator cannot be used without Filter or Expected")
    if max(counts) < 2:
        raise ValidationException(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )


def _checked_comparisons(members: Mapping[str, Compared]) -> dict[str, Comparison]:
    return {
        name: _checked_comparison(member.comparison_operator, member.attribute_value_list or ())
        for name, member in members.items()
    }


def _checked_comparison(operator: str, operands: Sequence[AttributeValue]) -> Comparison:
    for operand in operands:
        normalise_value(operand)
    comparison = Comparison(operator, tuple(operands))
    check_comparison(comparison)
    return comparison


def _expected_comparison(name: str, member: Expectation) -> Comparison:
    """`Exists` and `Value` are the oldest form: equality, or that there is no such attribute."""
    operands, value = member.attribute_value_list, member.value
    if operands is not None and value is not None:
        raise _refused(f"Value and AttributeValueList cannot be used together for Attribute: {name}")
    operator = member.comparison_operator
    if operator is not None:
        return _compared_expectation(name, operator, member)
    if operands is not None:
        raise _refused(f"AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
    exists = member.exists is not False
    if exists and value is None:
        shown = "null" if member.exists is None else "true"
        raise _refused(f"Value must be provided when Exists is {shown} for Attribute: {name}")
    if value is None:
        return Comparison("NULL", ())
    if not exists:
        raise _refused(f"Value cannot be used when Exists is false for Attribute: {name}")
    normalise_value(value)
    return Comparison("EQ", (value,))


def _compared_expectation(name: str, operator: str, member: Expectation) -> Comparison:
    operands, value = member.attribute_value_list, member.value
    if member.exists is not None:
        raise _refused(f"Exists and ComparisonOperator cannot be used together for Attribute: {name}")
    if operator not in ("NULL", "NOT_NULL") and operands is None and value is None:
        raise _refused(
            f"Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {name}"
        )
    return _checked_comparison(operator, (operands or ()) if value is None else (value,))


def _refused(reason: str) -> ValidationException:
    return ValidationException(f"{_INVALID}{reason}")


def _joined(trees: Mapping[str, Tree], operator: str | None) -> Condition | None:
    conditions = tuple(trees.values())
    if not conditions:
        return None
    if len(conditions) == 1:
        return condition_of(conditions[0])
    return condition_of(Or(conditions) if operator == "OR" else And(conditions))


_COMPARATORS: Final[Mapping[str, str]] = {"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}


def _tree(name: str, comparison: Comparison) -> Tree:
    path = Path((name,))
    operands: tuple[Operand, ...] = tuple(Literal(value) for value in comparison.operands)
    match comparison.operator:
        case "NULL":
            return Call("attribute_not_exists", (path,))
        case "NOT_NULL":
            return Call("attribute_exists", (path,))
        case "BETWEEN":
            return Between(path, operands[0], operands[1])
        case "IN":
            return In(path, operands)
        case "BEGINS_WITH":
            return Call("begins_with", (path, operands[0]))
        case "CONTAINS":
            return Call("contains", (path, operands[0]))
        case "NOT_CONTAINS":
            contains = Call("contains", (path, operands[0]))
            return And((Call("attribute_exists", (path,)), Not(contains)))
        case operator:
            return Compare(_COMPARATORS[operator], path, operands[0])


# Updates.


class AttributeUpdates:
    """The legacy form of an update: one action for each top-level attribute."""

    __slots__ = ("_actions", "attributes", "touched")

    nested_attributes: frozenset[str] = frozenset()

    @property
    def overhead_bytes(self) -> int:
        """As of an UpdateExpression with the same actions."""
        if not self._actions:
            return 0
        clears = sum(action == "DELETE" for action, _ in self._actions.values())
        return UPDATE_BYTES + clears * CLEARED_BYTES + (len(self._actions) - clears) * WRITTEN_BYTES

    def __init__(self, members: Mapping[str, AttributeUpdate]) -> None:
        self._actions = {
            name: (member.action or "PUT", member.value)
            for name, member in members.items()
            if _is_valid_update(name, member)
        }
        self.attributes: tuple[str, ...] = tuple(self._actions)
        self.touched = Projection([(name,) for name in self._actions])

    def known_types(self) -> dict[str, str]:
        return {name: next(iter(value)) for name, (_, value) in self._actions.items() if value is not None}

    def require_no_keys(self, key_names: Iterable[str]) -> None:
        refuse_key_updates(self.attributes, key_names)

    def apply(self, item: Item) -> Item:
        written = dict(item)
        for name, (action, operand) in self._actions.items():
            value = _APPLY[action](item.get(name), operand)
            if value is None:
                written.pop(name, None)
            else:
                written[name] = value
        return written


def _is_valid_update(name: str, member: AttributeUpdate) -> bool:
    check_name(name)
    value, action = member.value, member.action
    if value is None:
        if action != "DELETE":
            raise _refused("Only DELETE action is allowed when no attribute value is specified")
        return True
    normalise_value(value)
    kind = next(iter(value))
    if action == "DELETE" and kind not in SET_TYPES:
        raise _refused(f"DELETE action with value is not supported for the type {kind}")
    if action == "ADD" and kind not in ADDABLE_TYPES and kind != "L":
        raise _refused(f"ADD action is not supported for the type {kind}")
    return True


def _delete(old: AttributeValue | None, operand: AttributeValue | None) -> AttributeValue | None:
    return None if operand is None else delete_from(old, operand, TYPE_MISMATCH)


def _add(old: AttributeValue | None, operand: AttributeValue | None) -> AttributeValue | None:
    assert operand is not None
    return add_to(old, operand, TYPE_MISMATCH)


_APPLY: Final[Mapping[str, Callable[[AttributeValue | None, AttributeValue | None], AttributeValue | None]]] = {
    "PUT": lambda old, operand: operand,
    "ADD": _add,
    "DELETE": _delete,
}

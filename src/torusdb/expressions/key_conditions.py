"""Key conditions: what a Query says of the key. KeyConditionExpression, KeyConditions, and their match with a
key schema.

Two steps, since the service looks the table up between them: `key_condition` and
`KeyCondition.comparisons` refuse what no key could satisfy, `KeyCondition.match` holds the comparisons
against the key attributes of a table or index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from torusdb.errors import ValidationException
from torusdb.expressions.comparisons import INDEXABLE_OPERATORS, Comparison, check_comparison
from torusdb.expressions.conditions import checked_plan
from torusdb.expressions.parsed import parse_condition
from torusdb.expressions.paths import bind
from torusdb.expressions.placeholders import Placeholders
from torusdb.expressions.tree import (
    And,
    Between,
    Call,
    Compare,
    Condition,
    In,
    Node,
    Not,
    Or,
    Path,
    Placeholder,
    children,
)
from torusdb.model.attributes import AttributeValue
from torusdb.model.keys import KeyAttribute

KEY_ATTRIBUTES_MAX: Final = 8
"""Four HASH and four RANGE attributes of a global secondary index."""
TABLE_KEY_ATTRIBUTES_MAX: Final = 2

_OPERATORS: Final[Mapping[str, str]] = {"=": "EQ", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}
_REVERSED: Final[Mapping[str, str]] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

NOT_SUPPORTED = "Query key condition not supported"
WRONG_COUNT = "Conditions can be of length 1 or 2 only"
WRONG_TYPE = "One or more parameter values were invalid: Condition parameter type does not match schema type"


@dataclass(frozen=True, slots=True)
class KeyMatch:
    """A Query's conditions on the key attributes of a table or index."""

    hash_values: tuple[AttributeValue, ...]
    """One for each HASH attribute, in the order of the schema."""
    range_values: tuple[AttributeValue, ...]
    """Of the leading RANGE attributes that must be equal."""
    last: Comparison | None
    """LT, LE, GT, GE, BETWEEN or BEGINS_WITH on the RANGE attribute that follows."""
    last_attribute: KeyAttribute | None = None

    @property
    def has_range(self) -> bool:
        return bool(self.range_values) or self.last is not None


@dataclass(frozen=True, slots=True)
class KeyCondition:
    comparisons: Mapping[str, Comparison]
    """By attribute, in the order of the request."""

    def require_table_count(self) -> None:
        """Refuses what no table's key could satisfy, known before the table is."""
        if len(self.comparisons) > TABLE_KEY_ATTRIBUTES_MAX:
            raise ValidationException(WRONG_COUNT)

    def match(self, hash_keys: Sequence[KeyAttribute], range_keys: Sequence[KeyAttribute]) -> KeyMatch:
        if len(self.comparisons) > len(hash_keys) + len(range_keys):
            if len(hash_keys) + len(range_keys) <= TABLE_KEY_ATTRIBUTES_MAX:
                self.require_table_count()
            raise ValidationException(NOT_SUPPORTED)
        hash_values = tuple(self._hash_value(key) for key in hash_keys)
        return self._match_ranges(hash_values, range_keys)

    def _hash_value(self, key: KeyAttribute) -> AttributeValue:
        comparison = self._of(key)
        if comparison is None:
            raise _missed(key)
        if comparison.operator != "EQ":
            raise ValidationException(NOT_SUPPORTED)
        return comparison.operands[0]

    def _of(self, key: KeyAttribute) -> Comparison | None:
        """The comparison with a key attribute; refused if no key attribute can satisfy it."""
        comparison = self.comparisons.get(key.name)
        if comparison is None:
            return None
        if comparison.operator not in INDEXABLE_OPERATORS:
            raise ValidationException("Attempted conditional constraint is not an indexable operation")
        for operand in comparison.operands:
            if key.type not in operand:
                raise ValidationException(WRONG_TYPE)
        return comparison

    def _match_ranges(self, hash_values: tuple[AttributeValue, ...], range_keys: Sequence[KeyAttribute]) -> KeyMatch:
        """The conditions on RANGE attributes leave no gap, and only the last need not be an equality."""
        left = len(self.comparisons) - len(hash_values)
        comparisons = [self._of(key) for key in range_keys]
        if sum(comparison is not None for comparison in comparisons) < left:
            # One names an attribute that is no part of the key, where this one would have been.
            missing = next(key for key, comparison in zip(range_keys, comparisons, strict=True) if comparison is None)
            raise _missed(missing)
        _require_no_gap(range_keys, comparisons)
        given = [comparison for comparison in comparisons if comparison is not None]
        if not given or given[-1].operator == "EQ":
            return KeyMatch(hash_values, tuple(each.operands[0] for each in given), None)
        equal = tuple(each.operands[0] for each in given[:-1])
        return KeyMatch(hash_values, equal, given[-1], range_keys[len(equal)])


def _missed(key: KeyAttribute) -> ValidationException:
    return ValidationException(f"Query condition missed key schema element: {key.name}")


def _require_no_gap(keys: Sequence[KeyAttribute], comparisons: Sequence[Comparison | None]) -> None:
    unequal: list[str] = []
    for key, comparison in zip(keys, comparisons, strict=True):
        if comparison is not None and unequal:
            raise ValidationException(
                f"RANGE key attributes {', '.join(unequal)} must have equality conditions specified in the "
                f"query because a condition is present on key attribute {key.name}"
            )
        if comparison is None or comparison.operator != "EQ":
            unequal.append(key.name)


class UnboundKeyCondition:
    """A KeyConditionExpression that has passed the checks common to all conditions. What is peculiar to
    keys the service checks after all other expressions of the request: `bind` does."""

    __slots__ = ("_placeholders", "_root")

    def __init__(self, root: Condition, placeholders: Placeholders) -> None:
        self._root = root
        self._placeholders = placeholders

    def bind(self) -> KeyCondition:
        comparisons: dict[str, Comparison] = {}
        for node in _joined(self._root):
            name, comparison = self._comparison(node)
            if name in comparisons:
                raise _invalid("must only contain one condition per key")
            comparisons[name] = comparison
        for comparison in comparisons.values():
            check_comparison(comparison)
        if len(comparisons) > KEY_ATTRIBUTES_MAX:
            raise ValidationException(WRONG_COUNT)
        return KeyCondition(comparisons)

    def _comparison(self, node: Node) -> tuple[str, Comparison]:
        _check_operator(node)
        operands = children(node)
        at, name = self._key_attribute(operands)
        values = tuple(
            self._placeholders.values[operand.name] for operand in operands if isinstance(operand, Placeholder)
        )
        match node:
            case Compare(operator, _, _):
                return name, Comparison(_OPERATORS[_REVERSED[operator] if at else operator], values)
            case Between():
                return name, Comparison("BETWEEN", values)
            case _:
                return name, Comparison("BEGINS_WITH", values)

    def _key_attribute(self, operands: Sequence[Node]) -> tuple[int, str]:
        """The only path among the operands: where it stands, and its name."""
        found: tuple[int, str] | None = None
        for at, operand in enumerate(operands):
            if isinstance(operand, Path):
                if found is not None:
                    raise ValidationException(
                        "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
                    )
                path = bind(operand, self._placeholders.names)
                if len(path) > 1:
                    raise _invalid("cannot have conditions on nested attributes")
                found = at, str(path[0])
            elif isinstance(operand, Call):
                _check_operator(operand)
        if found is None:
            raise ValidationException("Invalid condition in KeyConditionExpression: No key attribute specified")
        return found


def key_condition(text: str, placeholders: Placeholders) -> UnboundKeyCondition:
    checked_plan(text, placeholders, "KeyConditionExpression")
    return UnboundKeyCondition(parse_condition(text).root, placeholders)


def _joined(root: Condition) -> list[Node]:
    """The conditions that AND joins, in the order of the text."""
    found: list[Node] = []
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, And):
            pending.extend(reversed(node.conditions))
        else:
            found.append(node)
    return found


def _check_operator(node: Node) -> None:
    """Refuses what a key condition cannot hold, at any depth."""
    match node:
        case Or():
            raise _invalid_operator("OR")
        case Not():
            raise _invalid_operator("NOT")
        case In():
            raise _invalid_operator("IN")
        case Compare("<>", _, _):
            raise _invalid_operator("<>")
        case Call("size", _):
            raise _invalid("cannot contain nested operations")
        case Call(function, _) if function != "begins_with":
            raise _invalid_operator(function)
        case Between(operand, _, _) if not isinstance(operand, Path):
            raise _key_not_first("BETWEEN")
        case Call(function, operands) if not isinstance(operands[0], Path):
            raise _key_not_first(function)
        case _:
            pass


def _invalid(reason: str) -> ValidationException:
    """These say twice what they are of, the others below once (seen in 2026; years before, all said it once)."""
    return ValidationException(f"Invalid KeyConditionExpression: KeyConditionExpressions {reason}")


def _invalid_operator(operator: str) -> ValidationException:
    return ValidationException(f"Invalid operator used in KeyConditionExpression: {operator}")


def _key_not_first(operator: str) -> ValidationException:
    return ValidationException(
        f"Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute "
        "as its first operand"
    )

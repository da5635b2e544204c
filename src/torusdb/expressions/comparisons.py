"""Comparisons in the legacy form, an operator and a list of values: of KeyConditions and filters, and of
key conditions once they have been read from an expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from torusdb.errors import ValidationException
from torusdb.model.attributes import AttributeValue
from torusdb.model.values import compare as compare_values

_INVALID: Final = "One or more parameter values were invalid: "
_SCALARS: Final = frozenset(["S", "N", "B"])

OPERANDS: Final[Mapping[str, int | None]] = {
    "EQ": 1,
    "NE": 1,
    "LE": 1,
    "LT": 1,
    "GE": 1,
    "GT": 1,
    "CONTAINS": 1,
    "NOT_CONTAINS": 1,
    "BEGINS_WITH": 1,
    "BETWEEN": 2,
    "IN": None,
    "NULL": 0,
    "NOT_NULL": 0,
}
"""How many values an operator takes; None for one or more."""

INDEXABLE_OPERATORS: Final = frozenset(["EQ", "LE", "LT", "GE", "GT", "BEGINS_WITH", "BETWEEN"])

_TYPES: Final[Mapping[str, frozenset[str]]] = {
    "LE": _SCALARS,
    "LT": _SCALARS,
    "GE": _SCALARS,
    "GT": _SCALARS,
    "CONTAINS": _SCALARS,
    "NOT_CONTAINS": _SCALARS,
    "BEGINS_WITH": frozenset(["S", "B"]),
    "IN": _SCALARS,
    "BETWEEN": _SCALARS,
}
"""What an operator compares with. EQ and NE take all types, lists, maps and booleans too (service model)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: str
    """EQ, LE, … as in ComparisonOperator."""
    operands: tuple[AttributeValue, ...]


def check_operand_count(comparison: Comparison) -> None:
    wanted, given = OPERANDS[comparison.operator], len(comparison.operands)
    if given != wanted if wanted is not None else given == 0:
        raise ValidationException(
            f"{_INVALID}Invalid number of argument(s) for the {comparison.operator} ComparisonOperator"
        )


def check_same_type(operands: Sequence[AttributeValue]) -> None:
    if len({next(iter(operand)) for operand in operands}) > 1:
        raise ValidationException(f"{_INVALID}AttributeValues inside AttributeValueList must be of same type")


def check_bounds(comparison: Comparison) -> None:
    if comparison.operator != "BETWEEN":
        return
    lower, upper = comparison.operands
    if next(iter(lower)) in _SCALARS and compare_values(lower, upper) > 0:
        raise ValidationException(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )


def check_comparison(comparison: Comparison) -> None:
    """The checks of KeyConditions, QueryFilter, ScanFilter and Expected, in the service's order."""
    check_operand_count(comparison)
    check_same_type(comparison.operands)
    allowed = _TYPES.get(comparison.operator)
    for operand in comparison.operands:
        kind = next(iter(operand))
        if allowed is not None and kind not in allowed:
            raise ValidationException(
                f"{_INVALID}ComparisonOperator {comparison.operator} is not valid for {kind} AttributeValue type"
            )
    check_bounds(comparison)

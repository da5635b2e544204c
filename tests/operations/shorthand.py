"""Attribute values, short enough that a test's item stays on its line."""

from __future__ import annotations

from typing import Any, TypeAlias

Value: TypeAlias = dict[str, Any]


def S(text: str) -> Value:  # noqa: N802  # the service's letters
    return {"S": text}


def N(number: int | str) -> Value:  # noqa: N802
    return {"N": str(number)}


def SS(*members: str) -> Value:  # noqa: N802
    return {"SS": list(members)}


def NS(*members: int | str) -> Value:  # noqa: N802
    return {"NS": list(map(str, members))}


def L(*elements: Value) -> Value:  # noqa: N802
    return {"L": list(elements)}


def M(**members: Value) -> Value:  # noqa: N802
    return {"M": members}

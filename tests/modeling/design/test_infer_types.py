"""Types from values: the narrowest that gives all of them back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.modeling.design.proposals import wire
from torusdb.modeling.design.drafts import Names
from torusdb.modeling.design.infer_types import TypeGuess, TypeGuesser, choices, comparable


def guess(*values: Any) -> TypeGuess | None:
    return TypeGuesser(Names()).guess("things", [wire(value) for value in values])


@pytest.mark.parametrize(
    ("values", "annotation"),
    [
        (["a", "2024-01-01"], "str"),
        (["2024-01-01", "2024-12-31"], "date"),
        (["20240101"], "str"),
        (["2024-01-01T00:00:00.000000Z"], "datetime"),
        (["2024-01-01T00:00:00Z"], "str"),
        (["2024-01-01T00:00:00+01:00"], "str"),
        (["00000000-0000-0000-0000-000000000007"], "UUID"),
        (["00000000-0000-0000-0000-00000000000A"], "str"),
        ([1, -2], "int"),
        ([1, 2.5], "Decimal"),
        ([True, False], "bool"),
        ([b"x"], "bytes"),
        ([{"a", "b"}], "set[str]"),
        ([{1, 2}], "set[int]"),
        ([[1, 2], []], "list[int]"),
        ([[]], "list[str]"),
        ([["a", 1]], "list[int | str]"),
        ([[["2024-01-01"]]], "list[list[date]]"),
        ([[None, "a"]], "list[str | None]"),
        ([{}], "dict[str, str]"),
        ([{"some key": 1}], "dict[str, int]"),
        ([{"class": 1, "b": "x"}], "dict[str, int | str]"),
        ([{f"k{n}": n} for n in range(9)], "dict[str, int]"),
        ([1, "a"], "int | str"),
        (["a", None], "str"),
        ([None], "str"),
    ],
)
def test_types(values: list[Any], annotation: str) -> None:
    found = guess(*values)
    assert found is not None
    assert found.annotation == annotation
    assert found.may_be_none == any(value is None for value in values)


@pytest.mark.parametrize("values", [[{"a"}, "a"], [[{"a"}, "b"]], [{"x y": {"a"}}]])
def test_mixtures_that_the_kit_has_no_type_for(values: list[Any]) -> None:
    assert guess(*values) is None


def test_maps_with_the_same_names_are_dataclasses() -> None:
    guesser = TypeGuesser(Names({"Address"}))
    values = [{"street": "a", "zip": {"code": 1}}, {"street": "b", "zip": {"code": 2}, "tags": {"x"}}]
    found = guesser.guess("address", [wire(value) for value in values])
    assert found is not None
    assert found.annotation == "Address_2"
    zips, address = guesser.dataclasses
    assert [(each.name, each.annotation, each.optional) for each in address.members] == [
        ("street", "str", False),
        ("zip", zips.name, False),
        ("tags", "set[str]", False),
    ]
    again = guesser.guess("address", [wire(value) for value in values])
    assert again is not None
    assert (again.annotation, len(guesser.dataclasses)) == ("Address_2", 2), "of one form there is one class"


def test_few_values_in_many_items_are_told() -> None:
    assert choices(["a", "b"] * 10) == "perhaps an Enum or Literal: 'a': 10, 'b': 10"
    assert choices(["a", "b"] * 9) == ""
    assert choices(["a"] * 30) == ""
    assert choices([str(number % 9) for number in range(90)]) == ""
    assert choices(["a", "b" * 41] * 20) == ""


def test_values_are_compared_as_values() -> None:
    assert comparable({"N": "1.0"}) == comparable({"N": "1"})
    assert comparable({"NS": ["1", "2"]}) == comparable({"NS": ["2.0", "1"]})
    assert comparable({"M": {"a": {"L": [{"BS": [b"x", b"y"]}]}}}) == comparable(
        {"M": {"a": {"L": [{"BS": [b"y", b"x"]}]}}}
    )
    assert comparable({"S": "1"}) != comparable({"N": "1"})

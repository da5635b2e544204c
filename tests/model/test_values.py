from __future__ import annotations

import copy
from base64 import b64encode
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torusdb.errors import RequestFault, ValidationException
from torusdb.model.attributes import Item, decode_item, encode_item
from torusdb.model.numbers import number_size
from torusdb.model.values import (
    compare,
    item_size,
    normalise_item,
    normalise_value,
    value_size,
)

INVALID = "One or more parameter values were invalid: "
number_texts = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000, places=4).map(str),
)
scalars = st.one_of(
    st.text().map(lambda text: {"S": text}),
    number_texts.map(lambda text: {"N": text}),
    st.binary().map(lambda raw: {"B": raw}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    st.lists(st.text(), min_size=1, unique=True).map(lambda members: {"SS": members}),
    st.lists(number_texts, min_size=1, unique_by=Decimal).map(lambda members: {"NS": members}),
    st.lists(st.binary(), min_size=1, unique=True).map(lambda members: {"BS": members}),
)
attribute_values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda elements: {"L": elements}),
        st.dictionaries(st.text(min_size=1), inner, max_size=4).map(lambda members: {"M": members}),
    ),
    max_leaves=12,
)
items = st.dictionaries(st.text(min_size=1), attribute_values, max_size=6)


def naive_size(value: dict[str, Any]) -> int:
    """The developer guide's rules once more, written for reading."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return number_size(content)
        case "B":
            return len(content)
        case "BOOL" | "NULL":
            return 1
        case "SS" | "NS" | "BS":
            return sum(naive_size({kind[0]: member}) for member in content)
        case "L":
            return 3 + sum(1 + naive_size(element) for element in content)
        case _:
            return 3 + sum(1 + len(name.encode()) + naive_size(member) for name, member in content.items())


@given(items)
def test_the_walk_measures_and_makes_canonical(item: dict[str, dict[str, Any]]) -> None:
    size = normalise_item(item)
    assert size == sum(len(name.encode()) + naive_size(value) for name, value in item.items())
    assert item_size(item) == size
    canonical = copy.deepcopy(item)
    assert normalise_item(item) == size
    assert item == canonical
    assert decode_item(encode_item(item)) == item


@given(attribute_values)
def test_a_value_is_measured_as_in_an_item(value: dict[str, Any]) -> None:
    in_item = {"a": copy.deepcopy(value)}
    size = normalise_value(value)
    assert normalise_item(in_item) == size + 1
    assert in_item["a"] == value
    assert value_size(value) == size


def test_canonical_forms() -> None:
    item: Item = {
        "n": {"N": "+01.50"},
        "ns": {"NS": ["10", "9.0", "-3", "1e1" + "0"]},
        "ss": {"SS": ["b", "a", "\U0001f600", "\uffff", ""]},
        "bs": {"BS": [b"b", b"", b"\xff", b"a\x00"]},
        "deep": {"L": [{"M": {"n": {"N": "007"}}}]},
    }
    normalise_item(item)
    assert item == {
        "n": {"N": "1.5"},
        "ns": {"NS": ["-3", "9", "10", "1" + "0" * 10]},
        "ss": {"SS": ["", "a", "b", "\uffff", "\U0001f600"]},
        "bs": {"BS": [b"", b"a\x00", b"b", b"\xff"]},
        "deep": {"L": [{"M": {"n": {"N": "7"}}}]},
    }


@pytest.mark.parametrize("text", ["100", "1" + "0" * 37, "120", "7", "77", "777", "0", "-70", "1" * 38])
def test_numbers_weigh_the_same_everywhere(text: str) -> None:
    size = number_size(text)
    assert normalise_item({"n": {"N": text}}) == 1 + size
    assert normalise_value({"N": text}) == size
    assert item_size({"n": {"N": text}}) == 1 + size
    assert normalise_value({"NS": [text]}) == size


@given(st.lists(st.text(), unique=True))
def test_string_sets_are_in_the_order_of_utf8(members: list[str]) -> None:
    value = {"SS": [*members, "always one"]} if "always one" not in members else {"SS": members}
    normalise_value(value)
    assert value["SS"] == sorted(value["SS"], key=str.encode)


@pytest.mark.parametrize("value", [{"S": ""}, {"B": b""}, {"L": []}, {"M": {}}, {"SS": [""]}, {"BS": [b""]}])
def test_empty_values_are_values(value: dict[str, Any]) -> None:
    assert normalise_value(value) == (3 if "L" in value or "M" in value else 0)


BARE_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (
        {"S": "a", "N": "1"},
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
    ),
    ({"S": "a", "N": "x"}, "The parameter cannot be converted to a numeric value: x"),
    ({"N": ""}, "The parameter cannot be converted to a numeric value"),
    ({"N": "1" * 39}, "Attempting to store more than 38 significant digits in a Number"),
    ({"NS": ["1", "b"]}, "The parameter cannot be converted to a numeric value: b"),
]
REQUEST_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"NULL": False}, f"{INVALID}Null attribute value types must have the value of true"),
    ({"SS": [], "NULL": False}, f"{INVALID}Null attribute value types must have the value of true"),
    ({"SS": []}, f"{INVALID}An string set  may not be empty"),
    ({"NS": []}, f"{INVALID}An number set  may not be empty"),
    ({"BS": []}, f"{INVALID}Binary sets should not be empty"),
    ({"SS": ["b", "a", "b"]}, f"{INVALID}Input collection [b, a, b] contains duplicates."),
    ({"NS": ["1", "2", "1.0"]}, "Input collection contains duplicates"),
    ({"BS": [b"b", b"b"]}, f"{INVALID}Input collection [Yg==, Yg==]of type BS contains duplicates."),
]


@pytest.mark.parametrize(
    ("error", "value", "message"),
    [(ValidationException, *fault) for fault in BARE_FAULTS] + [(RequestFault, *fault) for fault in REQUEST_FAULTS],
)
@pytest.mark.parametrize("wrap", [None, "L", "M"])
def test_faults_are_refused_at_every_depth(
    error: type[ValidationException], value: dict[str, Any], message: str, wrap: str | None
) -> None:
    value = copy.deepcopy(value)
    if wrap is not None:
        value = {wrap: [value] if wrap == "L" else {"a": value}}
    with pytest.raises(ValidationException) as of_value:
        normalise_value(copy.deepcopy(value))
    with pytest.raises(ValidationException) as of_item:
        normalise_item({"a": value})
    for refused in (of_value.value, of_item.value):
        assert refused.message == message
        assert type(refused) is error


def nested(levels: int, kind: str, core: dict[str, Any]) -> dict[str, Any]:
    value = core
    for _ in range(levels):
        value = {"L": [value]} if kind == "L" else {"M": {"a": value}}
    return value


@pytest.mark.parametrize("kind", ["L", "M"])
def test_nesting_ends_at_32_levels(kind: str) -> None:
    assert normalise_value(nested(31, kind, {"BOOL": True})) > 0
    for value in (nested(32, kind, {"BOOL": True}), nested(40_000, kind, {"S": "a"})):
        with pytest.raises(ValidationException) as refused:
            normalise_item({"a": value})
        assert refused.value.message == (
            "Nesting Levels have exceeded supported limits: "
            "Attributes in the item have nested levels beyond supported limit"
        )


@given(st.text(), st.text())
def test_strings_compare_as_utf8(a: str, b: str) -> None:
    x, y = a.encode(), b.encode()
    assert compare({"S": a}, {"S": b}) == (x > y) - (x < y)


def test_compare_by_type() -> None:
    assert compare({"N": "9"}, {"N": "10"}) == -1
    assert compare({"N": "-9"}, {"N": "-10"}) == 1
    assert compare({"N": "1.5"}, {"N": "1.5"}) == 0
    assert compare({"S": "9"}, {"S": "10"}) == 1
    assert compare({"S": "\uffff"}, {"S": "\U0001f600"}) == -1
    assert compare({"B": b"\x80"}, {"B": b"\x7f"}) == 1
    assert compare({"B": b""}, {"B": b"\x00"}) == -1


def test_duplicate_binaries_are_shown_in_base64() -> None:
    raw = bytes(range(256))
    with pytest.raises(ValidationException) as refused:
        normalise_value({"BS": [raw, raw]})
    assert refused.value.message is not None
    assert b64encode(raw).decode() in refused.value.message


LONGEST = "n" * 65535


@pytest.mark.parametrize("name", [LONGEST, "é" * 32767 + "n"])
def test_the_longest_names_have_65535_bytes(name: str) -> None:
    for fits in ({name: {"S": "x"}}, {"a": {"M": {name: {"S": "x"}}}}, {"a": {"L": [{"M": {name: {"S": "x"}}}]}}):
        assert normalise_item(fits) > 65535
    for too_long in ({name + "n": {"S": ""}}, {"a": {"M": {name + "n": {"S": ""}}}}):
        with pytest.raises(RequestFault, match="Attribute name is too large, must be less than 65536 bytes"):
            normalise_item(too_long)
    with pytest.raises(RequestFault, match="Attribute name is too large"):
        normalise_value({"L": [{"M": {"a": {"M": {name + "n": {"S": ""}}}}}]})


@pytest.mark.parametrize("item", [{"": {"S": "x"}}, {"a": {"M": {"": {"S": "x"}}}}, {"a": {"L": [{"M": {"": {}}}]}}])
def test_no_name_is_empty(item: Item) -> None:
    with pytest.raises(RequestFault, match="Empty attribute name"):
        normalise_item(item)

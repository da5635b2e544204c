"""What updates make of an item, and what they cannot be applied to."""

from decimal import Decimal
from typing import Any

import pytest

from tests.expressions.one_item import OneItem, those_in
from torusdb.errors import ValidationException
from torusdb.expressions import Placeholders, updates
from torusdb.model.attributes import AttributeValue
from torusdb.model.values import value_size

INVALID_PATH = "The document path provided in the update expression is invalid for update"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)

ITEM = {
    "n": 5,
    "half": Decimal("0.5"),
    "s": "x",
    "ss": {"a", "b"},
    "ns": {1, 2},
    "bs": {b"a", b"b"},
    "l": ["a", "b", "c"],
    "m": {"a": 1, "deep": {"b": "c"}, "many": [1, {"k": "v"}]},
}

VALUES = {
    ":v": "new",
    ":w": "newer",
    ":zero": 0,
    ":one": 1,
    ":two": 2,
    ":many_digits": Decimal("1.00000000000000000000000000001"),
    ":list": ["y", "z"],
    ":none": [],
    ":map": {"x": 1},
    ":a": {"a"},
    ":ab": {"a", "b"},
    ":bc": {"b", "c"},
    ":x": {"x"},
    ":two_three": {2, Decimal("3.0")},
    ":bytes": {b"b", b"c"},
}

GONE = object()
"""In an expected change: the attribute is no more."""


def changed(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in (ITEM | changes).items() if value is not GONE}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # SET of values and paths.
        ("SET a = :v", changed(a="new")),
        ("SET n = :v", changed(n="new")),
        ("SET a = s, s = :v", changed(a="x", s="new")),
        ("SET n = s, s = n", changed(n="x", s=5)),
        ("SET a = m.deep.b", changed(a="c")),
        ("SET a = l[1]", changed(a="b")),
        ("SET a = m.many[1]", changed(a={"k": "v"})),
        ("SET m.a = :v", changed(m=ITEM["m"] | {"a": "new"})),
        ("SET m.fresh = l, l[0] = m.a", changed(m=ITEM["m"] | {"fresh": ["a", "b", "c"]}, l=[1, "b", "c"])),
        ("SET m.deep.x = :v, m.deep.b = :w", changed(m=ITEM["m"] | {"deep": {"b": "newer", "x": "new"}})),
        ("SET m.many[1].k = :v", changed(m=ITEM["m"] | {"many": [1, {"k": "new"}]})),
        ("SET m.twin = m", changed(m=ITEM["m"] | {"twin": ITEM["m"]})),
        # Lists: what lies beyond the end goes to the end, in the order of the indexes.
        ("SET l[0] = :v, l[2] = :w", changed(l=["new", "b", "newer"])),
        ("SET l[3] = :v", changed(l=["a", "b", "c", "new"])),
        ("SET l[9] = :v, l[4] = :w", changed(l=["a", "b", "c", "newer", "new"])),
        ("SET l[4294967294] = :v", changed(l=["a", "b", "c", "new"])),
        # Arithmetic is exact.
        ("SET n = n + :one", changed(n=6)),
        ("SET n = n - :two", changed(n=3)),
        ("SET n = :one - n", changed(n=-4)),
        ("SET n = n - n", changed(n=0)),
        ("SET half = half + half", changed(half=1)),
        ("SET n = half - :many_digits", changed(n=Decimal("-0.50000000000000000000000000001"))),
        ("SET n = (n + :one)", changed(n=6)),
        ("SET n = (n + :one) - (half + :two)", changed(n=Decimal("3.5"))),
        ("SET count2 = if_not_exists(count2, :zero) + :one", changed(count2=1)),
        ("SET n = if_not_exists(n, :zero) + :one", changed(n=6)),
        # Functions.
        ("SET a = if_not_exists(a, :v)", changed(a="new")),
        ("SET s = if_not_exists(s, :v)", ITEM),
        ("SET a = if_not_exists(s, nowhere)", changed(a="x")),
        ("SET a = if_not_exists(nowhere.b[3], s)", changed(a="x")),
        ("SET a = if_not_exists(m.nowhere, if_not_exists(l[7], :v))", changed(a="new")),
        ("SET l = list_append(l, :list)", changed(l=["a", "b", "c", "y", "z"])),
        ("SET l = list_append(:list, l)", changed(l=["y", "z", "a", "b", "c"])),
        ("SET l = list_append(l, l)", changed(l=["a", "b", "c", "a", "b", "c"])),
        ("SET a = list_append(if_not_exists(a, :none), :list)", changed(a=["y", "z"])),
        ("SET m.many = list_append(m.many, l)", changed(m=ITEM["m"] | {"many": [1, {"k": "v"}, "a", "b", "c"]})),
        ("SET a = list_append(list_append(:none, :list), :none)", changed(a=["y", "z"])),
        # REMOVE.
        ("REMOVE n", changed(n=GONE)),
        ("REMOVE nowhere", ITEM),
        ("REMOVE m.deep.b", changed(m=ITEM["m"] | {"deep": {}})),
        ("REMOVE m.nowhere, l[9]", ITEM),
        ("REMOVE l[1]", changed(l=["a", "c"])),
        ("REMOVE l[0], l[2]", changed(l=["b"])),
        ("REMOVE l[2], l[1], l[0]", changed(l=[])),
        ("REMOVE m.many[0]", changed(m=ITEM["m"] | {"many": [{"k": "v"}]})),
        ("REMOVE l[0] SET l[1] = :v", changed(l=["new", "c"])),
        ("SET l[5] = :v REMOVE l[0], l[2]", changed(l=["b", "new"])),
        ("REMOVE s SET a = s", changed(a="x", s=GONE)),
        # ADD.
        ("ADD n :two", changed(n=7)),
        ("ADD a :two", changed(a=2)),
        ("ADD m.a :two, m.fresh :one", changed(m=ITEM["m"] | {"a": 3, "fresh": 1})),
        ("ADD m.many[0] :two", changed(m=ITEM["m"] | {"many": [3, {"k": "v"}]})),
        ("ADD l[7] :two", changed(l=["a", "b", "c", 2])),
        ("ADD ss :bc", changed(ss={"a", "b", "c"})),
        ("ADD ns :two_three", changed(ns={1, 2, 3})),
        ("ADD bs :bytes", changed(bs={b"a", b"b", b"c"})),
        ("ADD a :ab", changed(a={"a", "b"})),
        ("ADD n :one SET a = n", changed(n=6, a=5)),
        # DELETE.
        ("DELETE ss :a", changed(ss={"b"})),
        ("DELETE ss :bc", changed(ss={"a"})),
        ("DELETE ss :x", ITEM),
        ("DELETE ss :ab", changed(ss=GONE)),
        ("DELETE ns :two_three", changed(ns={1})),
        ("DELETE bs :bytes", changed(bs={b"a"})),
        ("DELETE nowhere :a, m.nowhere :a, l[9] :a", ITEM),
        ("DELETE ss :ab SET a = ss", changed(ss=GONE, a={"a", "b"})),
    ],
)  # fmt: skip
def test_effects(one_item: OneItem, text: str, expected: dict[str, Any]) -> None:
    one_item.put(ITEM)
    assert one_item.update(text, those_in(text, VALUES)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SET a.b = :v", INVALID_PATH),
        ("SET a[0] = :v", INVALID_PATH),
        ("SET m.nowhere.b = :v", INVALID_PATH),
        ("SET l[3].b = :v", INVALID_PATH),
        ("SET l.a = :v", INVALID_PATH),
        ("SET m[0] = :v", INVALID_PATH),
        ("SET s.a = :v", INVALID_PATH),
        ("SET ss[0] = :v", INVALID_PATH),
        ("SET a = :map, b.c = :v", INVALID_PATH),
        ("REMOVE a.b", INVALID_PATH),
        ("REMOVE s.b", INVALID_PATH),
        ("REMOVE m[0]", INVALID_PATH),
        ("REMOVE l.a", INVALID_PATH),
        ("ADD a.b :one", INVALID_PATH),
        ("ADD s[0] :one", INVALID_PATH),
        ("DELETE a.b :a", INVALID_PATH),
        ("SET a = b", MISSING),
        ("SET a = n, n = b, b = :v", MISSING),
        ("SET a = m.b", MISSING),
        ("SET a = l[3]", MISSING),
        ("SET a = s.b", MISSING),
        ("SET a = b + :one", MISSING),
        ("SET a = list_append(b, :list)", MISSING),
        ("SET a = if_not_exists(b, c)", MISSING),
        ("SET a = s + :one", WRONG_TYPE),
        ("SET a = :one - l", WRONG_TYPE),
        ("SET a = if_not_exists(a, s) + :one", WRONG_TYPE),
        ("SET a = list_append(s, :list)", WRONG_TYPE),
        ("SET a = list_append(:list, ss)", WRONG_TYPE),
        ("ADD s :one", WRONG_TYPE),
        ("ADD n :ab", WRONG_TYPE),
        ("ADD ss :one", WRONG_TYPE),
        ("ADD ss :two_three", WRONG_TYPE),
        ("ADD l :ab", WRONG_TYPE),
        ("DELETE s :ab", WRONG_TYPE),
        ("DELETE ns :ab", WRONG_TYPE),
        ("DELETE l :ab", WRONG_TYPE),
    ],
)
def test_what_the_item_does_not_allow(one_item: OneItem, text: str, reason: str) -> None:
    one_item.put(ITEM)
    assert one_item.update_refusal(text, those_in(text, VALUES)) == reason
    assert one_item.get() == ITEM


@pytest.mark.parametrize(
    ("number", "text", "operand", "reason"),
    [
        ("9.9999999999999999999999999999999999999E+125", "SET n = n + :v", "1E+125", OVERFLOW),
        ("-9.9999999999999999999999999999999999999E+125", "SET n = n - :v", "1E+125", OVERFLOW),
        ("9E+125", "ADD n :v", "1E+125", OVERFLOW),
        ("1.5E-130", "SET n = n - :v", "1.4E-130", UNDERFLOW),
        ("1E+38", "SET n = n + :v", "1", TOO_PRECISE),
        ("1E+125", "ADD n :v", "1E-130", TOO_PRECISE),
    ],
)
def test_numbers_that_cannot_be_stored(one_item: OneItem, number: str, text: str, operand: str, reason: str) -> None:
    one_item.put({"n": Decimal(number)})
    parameters = {"UpdateExpression": text, "ExpressionAttributeValues": {":v": {"N": operand}}}
    assert one_item.refusal("UpdateItem", **parameters) == reason


def test_sums_have_38_digits(one_item: OneItem) -> None:
    one_item.put({"n": Decimal("9" * 37)})
    assert one_item.update("SET n = n + :v", {":v": Decimal("9E37")}) == {"n": Decimal("9" * 38)}


def test_an_update_makes_the_item_where_there_is_none(one_item: OneItem) -> None:
    for text, values, item in [
        ("SET a = :v", {":v": 1}, {"a": 1}),
        ("ADD a :v", {":v": 1}, {"a": 1}),
        ("ADD a :v", {":v": {"x"}}, {"a": {"x"}}),
        ("SET a = if_not_exists(a, :v) REMOVE b", {":v": 1}, {"a": 1}),
    ]:
        one_item.put(None)
        assert one_item.update(text, values) == item


@pytest.mark.parametrize(
    ("text", "values"), [("REMOVE a, b", None), ("DELETE a :v", {":v": {"x"}}), ("REMOVE a DELETE b :v", {":v": {"x"}})]
)
def test_to_take_away_from_no_item_makes_none(one_item: OneItem, text: str, values: dict[str, Any] | None) -> None:
    for returned in ("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"):
        one_item.put(None)
        assert one_item.updated(returned, text, values) is None
        assert one_item.get() is None


def test_nested_paths_of_no_item_are_invalid(one_item: OneItem) -> None:
    one_item.put(None)
    for text, values in [("SET a.b = :v", {":v": 1}), ("REMOVE a.b", None), ("ADD a[0] :v", {":v": 1})]:
        assert one_item.update_refusal(text, values) == INVALID_PATH
    assert one_item.get() is None


def test_no_update_nests_deeper_than_the_service_stores(one_item: OneItem) -> None:
    one_item.put({"a": {}})
    for _ in range(31):
        one_item.update("SET a.b = a")
    assert one_item.update_refusal("SET a.b = a") == TOO_DEEP


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("SET n = n + :one", {"n": 5}, {"n": 6}),
        ("SET a = :v", None, {"a": "new"}),
        ("SET a = :v, n = :one", {"n": 5}, {"a": "new", "n": 1}),
        ("REMOVE n", {"n": 5}, None),
        ("REMOVE nowhere", None, None),
        ("ADD ss :bc", {"ss": {"a", "b"}}, {"ss": {"a", "b", "c"}}),
        ("DELETE ss :a", {"ss": {"a", "b"}}, {"ss": {"b"}}),
        ("DELETE ss :ab", {"ss": {"a", "b"}}, None),
        ("SET m.a = :v", {"m": {"a": 1}}, {"m": {"a": "new"}}),
        ("SET m.fresh = :v", None, {"m": {"fresh": "new"}}),
        ("SET m.a = :v REMOVE m.deep.b", {"m": {"a": 1, "deep": {"b": "c"}}}, {"m": {"a": "new"}}),
        ("REMOVE m.deep", {"m": {"deep": {"b": "c"}}}, None),
        ("SET l[1] = :v", {"l": ["b"]}, {"l": ["new"]}),
        ("SET l[2] = :v, l[0] = :w", {"l": ["a", "c"]}, {"l": ["newer", "new"]}),
        ("SET l[9] = :v", None, None),
        ("SET m.many[1].k = :v", {"m": {"many": [{"k": "v"}]}}, {"m": {"many": [{"k": "new"}]}}),
        ("SET s = s", {"s": "x"}, {"s": "x"}),
    ],
)  # fmt: skip
def test_what_an_answer_shows_of_the_update(
    one_item: OneItem, text: str, old: dict[str, Any] | None, new: dict[str, Any] | None
) -> None:
    values = those_in(text, VALUES)
    for returned, shown in [("UPDATED_OLD", old), ("UPDATED_NEW", new), ("ALL_OLD", ITEM), ("NONE", None)]:
        one_item.put(ITEM)
        assert one_item.updated(returned, text, values) == shown
    after = one_item.get()
    one_item.put(ITEM)
    assert one_item.updated("ALL_NEW", text, values) == after == one_item.get()


def test_an_update_shares_nothing_with_the_request(one_item: OneItem) -> None:
    one_item.put({"a": 1})
    assert one_item.update("SET l = :v, k = :v", {":v": [{"x": 1}]}) == {
        "a": 1,
        "l": [{"x": 1}],
        "k": [{"x": 1}],
    }
    assert one_item.update("SET l[0].x = :v", {":v": 2})["k"] == [{"x": 1}]


def test_sets_come_back_in_order(one_item: OneItem) -> None:
    one_item.put({"ns": {10, 9}})
    one_item.update("ADD ns :v", {":v": {1, 100, Decimal("9.5")}})
    assert one_item.call("GetItem")["Item"]["ns"] == {"NS": ["1", "9", "9.5", "10", "100"]}


def test_an_update_that_outgrows_every_item_is_not_built_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """One value may be written a hundred times: what it makes is measured as it grows."""
    measured = []

    def counting(value: AttributeValue) -> int:
        measured.append(value)
        return value_size(value)

    monkeypatch.setattr(updates, "value_size", counting)
    placeholders = Placeholders(None, {":v": {"L": [{"N": "1"}] * 50_000}})  # 150 KB, and a list's overhead
    change = updates.update("SET " + ", ".join(f"a{n} = list_append(:v, :v)" for n in range(100)), placeholders)
    with pytest.raises(ValidationException, match=updates.UPDATED_TOO_LARGE):
        change.apply({})
    assert len(measured) == 2

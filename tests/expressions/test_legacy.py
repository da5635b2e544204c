"""The parameters that came before expressions: Expected, QueryFilter, ScanFilter and AttributeUpdates."""

from decimal import Decimal
from typing import Any

import pytest

from tests.expressions.one_item import KEY, TABLE, OneItem, wire
from torusdb.errors import ValidationException

INVALID = "One or more parameter values were invalid: "
MIXED = "Can not use both expression and non-expression parameters in the same request: "

ITEM = {
    "n": 5,
    "s": "abc",
    "b": b"abc",
    "t": True,
    "z": None,
    "ss": {"a", "b"},
    "ns": {1, 2},
    "l": ["x", 1],
    "m": {"a": 1},
    "el": [],
}


def compare(operator: str, *operands: Any) -> dict[str, Any]:
    comparison: dict[str, Any] = {"ComparisonOperator": operator}
    if operands:
        comparison["AttributeValueList"] = [wire(operand) for operand in operands]
    return comparison


def scanned(one_item: OneItem, members: dict[str, Any], **more: Any) -> bool:
    """Whether a ScanFilter lets the item through."""
    return one_item.db.call("Scan", {"TableName": TABLE, "ScanFilter": members, **more})["Count"] == 1


@pytest.mark.parametrize(
    ("name", "operator", "operands", "expected"),
    [
        ("n", "EQ", [5], True),
        ("n", "EQ", [Decimal("5.0")], True),
        ("n", "EQ", ["5"], False),
        ("n", "NE", ["5"], True),
        ("n", "NE", [5], False),
        ("nowhere", "NE", [5], True),
        ("nowhere", "EQ", [5], False),
        ("t", "EQ", [True], True),
        ("t", "NE", [False], True),
        ("z", "EQ", [None], True),
        ("ss", "EQ", [{"b", "a"}], True),
        ("ss", "NE", [{"a"}], True),
        ("l", "EQ", [["x", 1]], True),
        ("m", "EQ", [{"a": 1}], True),
        ("m", "NE", [{"a": 2}], True),
        ("el", "EQ", [[]], True),
        ("n", "LT", [6], True),
        ("n", "LT", [5], False),
        ("n", "LE", [5], True),
        ("n", "GT", [4], True),
        ("n", "GE", [5], True),
        ("n", "GE", ["4"], False),
        ("s", "GT", ["abb"], True),
        ("b", "LT", [b"abd"], True),
        ("nowhere", "LE", [5], False),
        ("n", "BETWEEN", [4, 5], True),
        ("n", "BETWEEN", [6, 7], False),
        ("s", "BETWEEN", ["a", "b"], True),
        ("nowhere", "BETWEEN", [4, 5], False),
        ("n", "IN", [4, 5, 6], True),
        ("n", "IN", [4], False),
        ("s", "IN", ["abc"], True),
        ("nowhere", "IN", ["abc"], False),
        ("s", "BEGINS_WITH", ["ab"], True),
        ("s", "BEGINS_WITH", ["b"], False),
        ("b", "BEGINS_WITH", [b"ab"], True),
        ("n", "BEGINS_WITH", ["5"], False),
        ("s", "CONTAINS", ["bc"], True),
        ("b", "CONTAINS", [b"bc"], True),
        ("ss", "CONTAINS", ["a"], True),
        ("ns", "CONTAINS", [1], True),
        ("l", "CONTAINS", ["x"], True),
        ("l", "CONTAINS", [2], False),
        ("n", "CONTAINS", [5], False),
        ("nowhere", "CONTAINS", ["x"], False),
        ("s", "NOT_CONTAINS", ["x"], True),
        ("ss", "NOT_CONTAINS", ["a"], False),
        ("l", "NOT_CONTAINS", ["y"], True),
        ("n", "NOT_CONTAINS", [5], True),
        ("nowhere", "NOT_CONTAINS", ["x"], False),
        ("n", "NOT_NULL", [], True),
        ("z", "NOT_NULL", [], True),
        ("nowhere", "NOT_NULL", [], False),
        ("nowhere", "NULL", [], True),
        ("z", "NULL", [], False),
        ("m.a", "NOT_NULL", [], False),
    ],
)
def test_each_operator_in_filters_and_expectations(
    one_item: OneItem, name: str, operator: str, operands: list[Any], expected: bool
) -> None:
    one_item.put(ITEM)
    comparison = {name: compare(operator, *operands)}
    assert scanned(one_item, comparison) == expected
    assert one_item.holds(Expected=comparison) == expected
    key = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [KEY["pk"]]}}
    queried = one_item.db.call("Query", {"TableName": TABLE, "KeyConditions": key, "QueryFilter": comparison})
    assert (queried["Count"] == 1) == expected


def test_the_oldest_form_of_expectations(one_item: OneItem) -> None:
    one_item.put(ITEM)
    assert one_item.holds(Expected={"n": {"Value": wire(5)}})
    assert one_item.holds(Expected={"n": {"Value": wire(5), "Exists": True}})
    assert one_item.holds(Expected={"m": {"Value": wire({"a": 1})}})
    assert one_item.holds(Expected={"n": {"Value": wire(5), "ComparisonOperator": "GE"}})
    assert one_item.holds(Expected={"nowhere": {"Exists": False}})
    assert not one_item.holds(Expected={"n": {"Value": wire(6)}})
    assert not one_item.holds(Expected={"nowhere": {"Value": wire(6)}})
    assert not one_item.holds(Expected={"n": {"Exists": False}})
    one_item.put(None)
    assert not one_item.holds(Expected={"n": {"Value": wire(5)}})
    assert one_item.holds(Expected={"pk": {"Exists": False}})


@pytest.mark.parametrize("operator", ["AND", "OR", None])
def test_conditional_operator_joins_comparisons(one_item: OneItem, operator: str | None) -> None:
    one_item.put(ITEM)
    more = {} if operator is None else {"ConditionalOperator": operator}
    right, wrong = compare("EQ", 5), compare("EQ", "x")
    for members, expected in [
        ({"n": right, "s": compare("NOT_NULL")}, True),
        ({"n": right, "s": wrong}, operator == "OR"),
        ({"n": compare("EQ", 6), "s": compare("EQ", "abc"), "t": wrong}, operator == "OR"),
        ({"n": compare("EQ", 6), "s": wrong}, False),
    ]:
        assert scanned(one_item, members, **more) == expected
        assert one_item.holds(Expected=members, **more) == expected


def test_no_members_ask_for_nothing(one_item: OneItem) -> None:
    one_item.put(ITEM)
    assert scanned(one_item, {})
    assert one_item.holds(Expected={})


COUNT = f"{INVALID}Invalid number of argument(s) for the {{}} ComparisonOperator"
REVERSED = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"


@pytest.mark.parametrize(
    ("comparison", "reason"),
    [
        *[(compare(operator, 1, 2), COUNT.format(operator)) for operator in ("EQ", "NE", "LT", "LE", "GT", "GE")],
        *[(compare(operator, "x", "y"), COUNT.format(operator)) for operator in ("CONTAINS", "NOT_CONTAINS")],
        (compare("BEGINS_WITH", "x", "y"), COUNT.format("BEGINS_WITH")),
        (compare("NULL", 1), COUNT.format("NULL")),
        (compare("NOT_NULL", 1), COUNT.format("NOT_NULL")),
        (compare("BETWEEN", 1), COUNT.format("BETWEEN")),
        (compare("BETWEEN", 1, 2, 3), COUNT.format("BETWEEN")),
        ({"ComparisonOperator": "IN", "AttributeValueList": []}, COUNT.format("IN")),
        (compare("IN", 1, "x"), f"{INVALID}AttributeValues inside AttributeValueList must be of same type"),
        (compare("BETWEEN", 1, "x"), f"{INVALID}AttributeValues inside AttributeValueList must be of same type"),
        (compare("BETWEEN", 2, 1), REVERSED),
        (compare("BETWEEN", "b", "a"), REVERSED),
        (compare("LT", {"x"}), "SS"),
        (compare("LE", True), "BOOL"),
        (compare("GT", None), "NULL"),
        (compare("GE", [1]), "L"),
        (compare("BETWEEN", {"a": 1}, {"a": 2}), "M"),
        (compare("IN", {1}), "NS"),
        (compare("CONTAINS", {b"x"}), "BS"),
        (compare("NOT_CONTAINS", ["x"]), "L"),
        (compare("BEGINS_WITH", 1), "N"),
        (
            {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "x"}]},
            "The parameter cannot be converted to a numeric value: x",
        ),
        ({"ComparisonOperator": "EQ", "AttributeValueList": [{"SS": []}]}, f"{INVALID}An string set  may not be empty"),
    ],
)
def test_comparisons_refused_in_filters_and_expectations(
    one_item: OneItem, comparison: dict[str, Any], reason: str
) -> None:
    if " " not in reason:
        operator = comparison["ComparisonOperator"]
        reason = f"{INVALID}ComparisonOperator {operator} is not valid for {reason} AttributeValue type"
    assert one_item.refusal("UpdateItem", Expected={"a": comparison}) == reason
    with pytest.raises(ValidationException) as caught:
        scanned(one_item, {"a": comparison})
    assert caught.value.message == reason


@pytest.mark.parametrize(
    ("expectation", "reason"),
    [
        ({}, "Value must be provided when Exists is null for Attribute: a"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: a"),
        ({"Exists": False, "Value": wire(1)}, "Value cannot be used when Exists is false for Attribute: a"),
        (
            {"Value": wire(1), "AttributeValueList": [wire(1)]},
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            {"AttributeValueList": [wire(1)]},
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (
            {"Exists": True, "ComparisonOperator": "EQ", "AttributeValueList": [wire(1)]},
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            {"ComparisonOperator": "LT"},
            "Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a",
        ),
        (
            {"ComparisonOperator": "BETWEEN", "Value": wire(1)},
            "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
    ],
)
def test_expectations_that_make_no_sense(one_item: OneItem, expectation: dict[str, Any], reason: str) -> None:
    assert one_item.refusal("DeleteItem", Expected={"a": expectation}) == INVALID + reason


def test_conditional_operator_needs_something_to_join(one_item: OneItem) -> None:
    alone = "ConditionalOperator cannot be used without Filter or Expected"
    too_few = "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    assert one_item.refusal("DeleteItem", ConditionalOperator="OR") == alone
    assert one_item.refusal("DeleteItem", ConditionalOperator="AND", Expected={"a": {"Exists": False}}) == too_few


def test_legacy_parameters_do_not_go_with_expressions(one_item: OneItem) -> None:
    assert one_item.refusal("UpdateItem", AttributeUpdates={}, Expected={}, ConditionExpression="a = b") == (
        f"{MIXED}Non-expression parameters: {{AttributeUpdates, Expected}} "
        "Expression parameters: {ConditionExpression}"
    )


# AttributeUpdates.


def act(action: str | None = None, value: Any = ...) -> dict[str, Any]:
    update: dict[str, Any] = {} if action is None else {"Action": action}
    if value is not ...:
        update["Value"] = wire(value)
    return update


@pytest.mark.parametrize(
    ("updates", "changes"),
    [
        ({"n": act("PUT", 6)}, {"n": 6}),
        ({"n": act(None, "text")}, {"n": "text"}),
        ({"new": act("PUT", [1])}, {"new": [1]}),
        ({"m.a": act("PUT", 1)}, {"m.a": 1}),
        ({"n": act("ADD", 2)}, {"n": 7}),
        ({"new": act("ADD", -2)}, {"new": -2}),
        ({"ss": act("ADD", {"b", "c"})}, {"ss": {"a", "b", "c"}}),
        ({"new": act("ADD", {"x"})}, {"new": {"x"}}),
        ({"l": act("ADD", ["y", "x"])}, {"l": ["x", 1, "y", "x"]}),
        ({"new": act("ADD", ["y"])}, {"new": ["y"]}),
        ({"ss": act("DELETE", {"a", "x"})}, {"ss": {"b"}}),
        ({"ss": act("DELETE", {"a", "b"})}, {"ss": None}),
        ({"new": act("DELETE", {"a"})}, {}),
        ({"n": act("DELETE"), "new": act("DELETE")}, {"n": None}),
        ({"n": act("ADD", 1), "s": act("DELETE"), "t": act("PUT", False)}, {"n": 6, "s": None, "t": False}),
        ({}, {}),
    ],
)
def test_attribute_updates(one_item: OneItem, updates: dict[str, Any], changes: dict[str, Any]) -> None:
    one_item.put(ITEM)
    one_item.call("UpdateItem", AttributeUpdates=updates)
    expected = {name: value for name, value in (ITEM | changes).items() if name not in changes or value is not None}
    assert one_item.get() == expected


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (act(), "Only DELETE action is allowed when no attribute value is specified"),
        (act("PUT"), "Only DELETE action is allowed when no attribute value is specified"),
        (act("ADD"), "Only DELETE action is allowed when no attribute value is specified"),
        *[
            (act("DELETE", value), f"DELETE action with value is not supported for the type {kind}")
            for value, kind in [("x", "S"), (1, "N"), (b"x", "B"), (True, "BOOL"), (None, "NULL"), ([], "L"), ({}, "M")]
        ],
        *[
            (act("ADD", value), f"ADD action is not supported for the type {kind}")
            for value, kind in [("x", "S"), (b"x", "B"), (True, "BOOL"), (None, "NULL"), ({}, "M")]
        ],
    ],
)
def test_attribute_updates_that_make_no_sense(one_item: OneItem, update: dict[str, Any], reason: str) -> None:
    assert one_item.refusal("UpdateItem", AttributeUpdates={"a": update}) == INVALID + reason


@pytest.mark.parametrize(
    "update", [act("ADD", {"x"}), act("ADD", {1}), act("ADD", [1]), act("DELETE", {"x"}), act("DELETE", {1})]
)
def test_attribute_updates_ask_for_the_type_that_is_there(one_item: OneItem, update: dict[str, Any]) -> None:
    one_item.put({"a": 1})
    assert one_item.refusal("UpdateItem", AttributeUpdates={"a": update}) == "Type mismatch for attribute to update"
    assert one_item.get() == {"a": 1}


def test_attribute_updates_leave_the_key_alone(one_item: OneItem) -> None:
    assert one_item.refusal("UpdateItem", AttributeUpdates={"pk": act("PUT", "x")}) == (
        f"{INVALID}Cannot update attribute pk. This attribute is part of the key"
    )


@pytest.mark.parametrize(
    ("updates", "item"),
    [
        ({"a": act("PUT", 1)}, {"a": 1}),
        ({"a": act("ADD", 1), "b": act("DELETE")}, {"a": 1}),
        ({}, {}),
        ({"a": act("DELETE"), "b": act("DELETE", {"x"})}, None),
    ],
)
def test_attribute_updates_of_no_item(one_item: OneItem, updates: dict[str, Any], item: dict[str, Any] | None) -> None:
    one_item.put(None)
    one_item.call("UpdateItem", AttributeUpdates=updates)
    assert one_item.get() == item


def test_answers_show_what_attribute_updates_touched(one_item: OneItem) -> None:
    updates = {"n": act("ADD", 1), "s": act("DELETE"), "new": act("PUT", 1)}
    for returned, shown in [
        ("UPDATED_OLD", {"n": {"N": "5"}, "s": {"S": "abc"}}),
        ("UPDATED_NEW", {"n": {"N": "6"}, "new": {"N": "1"}}),
    ]:
        one_item.put(ITEM)
        answer = one_item.call("UpdateItem", AttributeUpdates=updates, ReturnValues=returned)
        assert answer == {"Attributes": shown}

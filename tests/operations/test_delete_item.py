"""DeleteItem."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.shorthand import N, S
from torusdb import Database

VALIDATION = "ValidationException"
INVALID = "One or more parameter values were invalid: "
FAILED = ("ConditionalCheckFailedException", "The conditional request failed")


@pytest.fixture
def filled(db: Database, table: str) -> str:
    """The table with one item."""
    db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": N(1)}})
    return table


def stored(db: Database, table: str) -> Any:
    return db.call("GetItem", {"TableName": table, "Key": {"pk": S("a")}, "ConsistentRead": True}).get("Item")


def test_an_item_goes_and_going_again_is_no_error(db: Database, filled: str) -> None:
    request = {"TableName": filled, "Key": {"pk": S("a")}}
    assert db.call("DeleteItem", request) == {}
    assert stored(db, filled) is None
    assert db.call("DeleteItem", request) == {}


def test_all_old_gives_what_was_there(db: Database, filled: str) -> None:
    request = {"TableName": filled, "Key": {"pk": S("a")}, "ReturnValues": "ALL_OLD"}
    assert db.call("DeleteItem", request) == {"Attributes": {"pk": S("a"), "x": N(1)}}
    assert db.call("DeleteItem", request) == {}


@pytest.mark.parametrize("return_values", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_only_none_and_all_old_can_be_asked_for(refused: Refusal, table: str, return_values: str) -> None:
    request = {"TableName": table, "Key": {"pk": S("a")}, "ReturnValues": return_values}
    assert refused("DeleteItem", request) == (VALIDATION, "ReturnValues can only be ALL_OLD or NONE")


def test_a_condition_decides(db: Database, refused: Refusal, filled: str) -> None:
    request = {"TableName": filled, "Key": {"pk": S("a")}, "ConditionExpression": "x = :x"}
    assert refused("DeleteItem", {**request, "ExpressionAttributeValues": {":x": N(2)}}) == FAILED
    assert stored(db, filled) == {"pk": S("a"), "x": N(1)}
    assert db.call("DeleteItem", {**request, "ExpressionAttributeValues": {":x": N("1.0")}}) == {}
    assert refused("DeleteItem", {**request, "ExpressionAttributeValues": {":x": N(1)}}) == FAILED


def test_a_failed_condition_shows_the_item_on_request(db: Database, filled: str) -> None:
    client = db.client()
    for pk, shown in (("a", {"pk": S("a"), "x": N(1)}), ("missing", None)):
        with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
            client.delete_item(
                TableName=filled,
                Key={"pk": S(pk)},
                ConditionExpression="attribute_exists(y)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        assert failed.value.response.get("Item") == shown


def test_a_legacy_expectation_is_a_condition(db: Database, refused: Refusal, filled: str) -> None:
    request = {"TableName": filled, "Key": {"pk": S("a")}}
    assert refused("DeleteItem", {**request, "Expected": {"x": {"Value": N(2)}}}) == FAILED
    less = {"x": {"ComparisonOperator": "LT", "AttributeValueList": [N(2)]}}
    assert db.call("DeleteItem", {**request, "Expected": less}) == {}


@pytest.mark.parametrize("key", [{}, {"pk": N(1)}, {"pk": S("a"), "x": N(1)}, {"x": S("a")}])
def test_a_key_must_be_the_tables(refused: Refusal, table: str, key: Any) -> None:
    message = "The provided key element does not match the schema"
    assert refused("DeleteItem", {"TableName": table, "Key": key}) == (VALIDATION, message)


STAGES: list[tuple[dict[str, Any], str]] = [
    (
        {"Expected": {"x": {}}, "ConditionExpression": ""},
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}",
    ),
    ({"Key": {"pk": {}}}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    ({"Expected": {"x": {}}}, f"{INVALID}Value must be provided when Exists is null for Attribute: x"),
]


@pytest.mark.parametrize("stage", range(len(STAGES)))
def test_the_first_fault_in_the_services_order_is_told(refused: Refusal, stage: int) -> None:
    """The request has the faults of this stage and all later ones, and is for a table that isn't there."""
    request: dict[str, Any] = {"TableName": "missing", "Key": {"pk": S("a")}}
    for more, _ in reversed(STAGES[stage:]):
        request.update(more)
    assert refused("DeleteItem", request) == (VALIDATION, STAGES[stage][1])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"ConditionExpression": ""},
            "Invalid ConditionExpression: The expression can not be empty;",
        ),
        (
            {"ConditionExpression": "x = :x"},
            "Invalid ConditionExpression: An expression attribute value used in expression is not defined; "
            "attribute value: :x",
        ),
        (
            {"ConditionExpression": "x = :x", "ExpressionAttributeValues": {":x": {"NULL": False}}},
            f"{INVALID}Null attribute value types must have the value of true",
        ),
        (
            {"ConditionExpression": "x = :x", "ExpressionAttributeValues": {":x": N("")}},
            "ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value "
            "for key :x",
        ),
        ({"ConditionalOperator": "OR"}, "ConditionalOperator cannot be used without Filter or Expected"),
    ],
)
def test_parameters_are_checked_before_the_table_is_looked_for(
    refused: Refusal, more: dict[str, Any], message: str
) -> None:
    assert refused("DeleteItem", {"TableName": "missing", "Key": {"pk": S("a")}, **more}) == (VALIDATION, message)


def test_a_table_that_is_not_there(refused: Refusal) -> None:
    code, message = refused("DeleteItem", {"TableName": "missing", "Key": {"pk": S("a")}})
    assert (code, message) == ("ResourceNotFoundException", "Requested resource not found")


def test_metrics_of_the_item_collection(db: Database, make_table: MakeTable) -> None:
    table = make_table("pk:S sk:S", locally={"by_x": ("pk:S x:N", "ALL")})
    request = {
        "TableName": table,
        "Key": {"pk": S("a"), "sk": S("b")},
        "ReturnItemCollectionMetrics": "SIZE",
    }
    assert db.call("DeleteItem", request) == {
        "ItemCollectionMetrics": {"ItemCollectionKey": {"pk": S("a")}, "SizeEstimateRangeGB": [0.0, 1.0]}
    }

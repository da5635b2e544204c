"""PutItem: what it stores, what it answers, what it refuses and in which order."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.shorthand import NS, SS, L, M, N, S
from torusdb import Database

VALIDATION = "ValidationException"
INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "
ANNOUNCED = "1 validation error detected: "
ITEM_BYTES_MAX = 400 * 1024


def stored(db: Database, table: str, pk: str = "a") -> Any:
    return db.call("GetItem", {"TableName": table, "Key": {"pk": S(pk)}, "ConsistentRead": True}).get("Item")


def test_an_item_is_replaced_as_a_whole(db: Database, table: str) -> None:
    assert db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": N(1), "y": N(2)}}) == {}
    assert db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": N(3)}}) == {}
    assert stored(db, table) == {"pk": S("a"), "x": N(3)}


def test_values_come_back_in_their_canonical_form(db: Database, table: str) -> None:
    item = {
        "pk": S("a"),
        "numbers": L(N("1.50"), N("-0"), N("1E2"), N("+5"), N(".5"), N("1e-3")),
        "sets": L(NS("1.0", 20, "-3"), SS("b", "a"), {"BS": [b"\x00", b""]}),
        "documents": M(empty=M(), list=L(), null={"NULL": True}, bool={"BOOL": False}),
        "empty": L(S(""), {"B": b""}, SS("")),
    }
    db.call("PutItem", {"TableName": table, "Item": item})
    found = stored(db, table)
    assert found["numbers"] == L(N("1.5"), N(0), N(100), N(5), N("0.5"), N("0.001"))
    numbers, strings, binaries = found["sets"]["L"]
    assert sorted(numbers["NS"]) == ["-3", "1", "20"]
    assert sorted(strings["SS"]) == ["a", "b"]
    assert sorted(binaries["BS"]) == [b"", b"\x00"]
    assert found["documents"] == M(empty=M(), list=L(), null={"NULL": True}, bool={"BOOL": False})
    assert found["empty"] == L(S(""), {"B": b""}, SS(""))


@pytest.mark.parametrize(
    "number",
    ["9" * 38, "1E125", "9.9999999999999999999999999999999999999E+125", "1E-130", "-1E-130", "0." + "1" * 38, "0E500"],
)
def test_numbers_up_to_38_digits_and_from_1e_130_to_1e126_are_stored(db: Database, table: str, number: str) -> None:
    db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "n": N(number)}})
    assert Decimal(stored(db, table)["n"]["N"]) == Decimal(number)


# What comes back.


def test_all_old_gives_what_was_there(db: Database, table: str) -> None:
    def put(x: int) -> Any:
        return db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": N(x)}, "ReturnValues": "ALL_OLD"})

    assert put(1) == {}
    assert put(2) == {"Attributes": {"pk": S("a"), "x": N(1)}}


@pytest.mark.parametrize("return_values", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_only_none_and_all_old_can_be_asked_for(refused: Refusal, table: str, return_values: str) -> None:
    request = {"TableName": table, "Item": {"pk": S("a")}, "ReturnValues": return_values}
    assert refused("PutItem", request) == (VALIDATION, f"{ANNOUNCED}ReturnValues can only be ALL_OLD or NONE")


def test_metrics_of_the_item_collection_come_from_tables_with_local_indexes(
    db: Database, make_table: MakeTable
) -> None:
    plain = make_table("pk:S sk:S", "Plain")
    local = make_table("pk:S sk:S", "Local", locally={"by_x": ("pk:S x:N", "ALL")})
    request = {"Item": {"pk": S("a"), "sk": S("b")}, "ReturnItemCollectionMetrics": "SIZE"}
    assert db.call("PutItem", {**request, "TableName": plain}) == {}
    assert db.call("PutItem", {**request, "TableName": local}) == {
        "ItemCollectionMetrics": {"ItemCollectionKey": {"pk": S("a")}, "SizeEstimateRangeGB": [0.0, 1.0]}
    }
    none = {**request, "TableName": local, "ReturnItemCollectionMetrics": "NONE"}
    assert db.call("PutItem", none) == {}


# Conditions.


def test_a_failed_condition_changes_nothing(db: Database, refused: Refusal, table: str) -> None:
    db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": N(1)}})
    request = {
        "TableName": table,
        "Item": {"pk": S("a"), "x": N(2)},
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    assert refused("PutItem", request) == ("ConditionalCheckFailedException", "The conditional request failed")
    assert stored(db, table) == {"pk": S("a"), "x": N(1)}


def test_a_failed_condition_shows_the_item_on_request(db: Database, table: str) -> None:
    client = db.client()
    client.put_item(TableName=table, Item={"pk": S("a"), "raw": {"B": b"\xff"}})
    for pk, shown in (("a", {"pk": S("a"), "raw": {"B": b"\xff"}}), ("missing", None)):
        with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
            client.put_item(
                TableName=table,
                Item={"pk": S(pk)},
                ConditionExpression="x = :x",
                ExpressionAttributeValues={":x": N(1)},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        assert failed.value.response.get("Item") == shown


def test_a_legacy_expectation_is_a_condition(db: Database, refused: Refusal, table: str) -> None:
    request = {"TableName": table, "Item": {"pk": S("a")}}
    db.call("PutItem", {**request, "Expected": {"pk": {"Exists": False}}})
    code, _ = refused("PutItem", {**request, "Expected": {"pk": {"Exists": False}}})
    assert code == "ConditionalCheckFailedException"
    db.call("PutItem", {**request, "Expected": {"pk": {"Value": S("a")}}})
    db.call("PutItem", {**request, "Expected": {"x": {"ComparisonOperator": "NULL"}}})
    both = {"pk": {"Value": S("b")}, "x": {"Exists": False}}
    db.call("PutItem", {**request, "Expected": both, "ConditionalOperator": "OR"})
    code, _ = refused("PutItem", {**request, "Expected": both, "ConditionalOperator": "AND"})
    assert code == "ConditionalCheckFailedException"
    assert db.call("PutItem", {**request, "Expected": {}}) == {}


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        ({}, "Value must be provided when Exists is null for Attribute: x"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: x"),
        ({"Exists": False, "Value": N(1)}, "Value cannot be used when Exists is false for Attribute: x"),
        ({"Value": N(1), "AttributeValueList": [N(1)]}, "Value and AttributeValueList cannot be used together"),
        ({"AttributeValueList": [N(1)]}, "AttributeValueList can only be used with a ComparisonOperator"),
        ({"ComparisonOperator": "EQ"}, "Value or AttributeValueList must be used with ComparisonOperator: EQ"),
        (
            {"ComparisonOperator": "NULL", "Exists": True},
            "Exists and ComparisonOperator cannot be used together for Attribute: x",
        ),
        (
            {"ComparisonOperator": "LT", "AttributeValueList": [N(1), N(2)]},
            "Invalid number of argument(s) for the LT ComparisonOperator",
        ),
        (
            {"ComparisonOperator": "IN", "AttributeValueList": [N(1), S("a")]},
            "AttributeValues inside AttributeValueList must be of same type",
        ),
    ],
)
def test_expectations_that_make_no_sense_are_refused(
    refused: Refusal, table: str, expected: dict[str, Any], reason: str
) -> None:
    code, message = refused("PutItem", {"TableName": table, "Item": {"pk": S("a")}, "Expected": {"x": expected}})
    assert code == VALIDATION
    assert (message or "").startswith(INVALID + reason)


def test_modern_and_legacy_parameters_exclude_one_another(refused: Refusal, table: str) -> None:
    request = {
        "TableName": table,
        "Item": {"pk": S("a")},
        "Expected": {"x": {"Exists": False}},
        "ConditionExpression": "",
    }
    assert refused("PutItem", request) == (
        VALIDATION,
        f"{ANNOUNCED}Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}",
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"ExpressionAttributeNames": {"#x": "x"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            {"ExpressionAttributeValues": {":x": N(1)}},
            f"{ANNOUNCED}ExpressionAttributeValues can only be specified when using expressions: "
            "ConditionExpression is null",
        ),
        (
            {"ConditionExpression": "x = :x", "ExpressionAttributeValues": {":x": N(1), ":y": N(1)}},
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:y}",
        ),
        (
            {"ConditionExpression": "x = :x", "ExpressionAttributeValues": {":x": {"NULL": False}}},
            f"{ANNOUNCED}{INVALID}Null attribute value types must have the value of true",
        ),
        (
            {"ConditionExpression": "x = :x", "ExpressionAttributeValues": {":x": {"SS": []}}},
            f"{ANNOUNCED}ExpressionAttributeValues contains invalid value: {INVALID}An string set  may not be empty "
            "for key :x",
        ),
        (
            {"ConditionExpression": "#x = :x", "ExpressionAttributeNames": {"#x": ""}},
            f"{ANNOUNCED}ExpressionAttributeNames contains invalid value: Empty attribute name for key #x",
        ),
        ({"ConditionalOperator": "AND"}, "ConditionalOperator cannot be used without Filter or Expected"),
    ],
)
def test_parameters_of_conditions_must_belong_together(
    refused: Refusal, table: str, more: dict[str, Any], message: str
) -> None:
    assert refused("PutItem", {"TableName": table, "Item": {"pk": S("a")}, **more}) == (VALIDATION, message)


# Values.


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        (None, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"S": None}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        (L(None), "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),  # type: ignore[arg-type]
        (
            {"S": "a", "N": "1"},
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
            "datatypes",
        ),
        (N(""), "The parameter cannot be converted to a numeric value"),
        (N("abc"), "The parameter cannot be converted to a numeric value: abc"),
        (N("1" * 39), "Attempting to store more than 38 significant digits in a Number"),
        (N("1E126"), "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        (N("1E-131"), "Number underflow. Attempting to store a number with magnitude smaller than supported range"),
        (SS(), f"{ANNOUNCED}{INVALID}An string set  may not be empty"),
        (NS(), f"{ANNOUNCED}{INVALID}An number set  may not be empty"),
        ({"BS": []}, f"{ANNOUNCED}{INVALID}Binary sets should not be empty"),
        (SS("a", "b", "a"), f"{ANNOUNCED}{INVALID}Input collection [a, b, a] contains duplicates."),
        (NS(1, "1.0"), f"{ANNOUNCED}Input collection contains duplicates"),
        ({"BS": [b"a", b"a"]}, f"{ANNOUNCED}{INVALID}Input collection [YQ==, YQ==]of type BS contains duplicates."),
        ({"NULL": False}, f"{ANNOUNCED}{INVALID}Null attribute value types must have the value of true"),
        (M(**{"": S("x")}), f"{ANNOUNCED}Empty attribute name"),
        (
            M(**{"n" * 65536: S("x")}),
            f"{ANNOUNCED}Attribute name is too large, must be less than 65536 bytes",
        ),
    ],
)
def test_values_that_are_none_are_refused_before_the_table_is_looked_for(
    refused: Refusal, value: Any, message: str
) -> None:
    request = {"TableName": "missing", "Item": {"pk": S("a"), "x": value}}
    assert refused("PutItem", request) == (VALIDATION, message)


@pytest.mark.parametrize("kind", ["L", "M"])
def test_documents_nest_31_levels_around_a_scalar(db: Database, refused: Refusal, table: str, kind: str) -> None:
    def nested(levels: int) -> Any:
        value = S("x")
        for _ in range(levels):
            value = L(value) if kind == "L" else M(m=value)
        return value

    db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": nested(31)}})
    assert stored(db, table)["x"] == nested(31)
    assert refused("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": nested(32)}}) == (
        VALIDATION,
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported "
        "limit",
    )


# Sizes.


def test_an_item_has_400_kb_at_most(db: Database, refused: Refusal, table: str) -> None:
    room = ITEM_BYTES_MAX - len("pk" + "a" + "x")
    db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": S("x" * room)}})
    too_large = {"Item": {"pk": S("a"), "x": S("x" * (room + 1))}}
    message = "Item size has exceeded the maximum allowed size"
    assert refused("PutItem", {**too_large, "TableName": table}) == (VALIDATION, message)
    assert refused("PutItem", {**too_large, "TableName": "missing"}) == (VALIDATION, message)


def test_numbers_are_weighed_as_they_are_stored(db: Database, refused: Refusal, table: str) -> None:
    """8,000 times 1E125 is a megabyte of zeros, which count for nothing."""
    item = {"pk": S("a"), **{f"n{count:04}": N("1E125") for count in range(8000)}}
    db.call("PutItem", {"TableName": table, "Item": item})
    room = ITEM_BYTES_MAX - len("pk" + "a") - 8000 * (len("n0000") + 2) - len("x")
    db.call("PutItem", {"TableName": table, "Item": {**item, "x": S("x" * room)}})
    code, _ = refused("PutItem", {"TableName": table, "Item": {**item, "x": S("x" * (room + 1))}})
    assert code == VALIDATION


# Keys.


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({}, f"{INVALID}Missing the key pk in the item"),
        ({"pk": S("a")}, f"{INVALID}Missing the key sk in the item"),
        ({"pk": N(1), "sk": N(1)}, f"{INVALID}Type mismatch for key pk expected: S actual: N"),
        ({"pk": S("a"), "sk": L()}, f"{INVALID}Type mismatch for key sk expected: N actual: L"),
        (
            {"pk": S(""), "sk": N(1)},
            f"{NOT_VALID}The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
        ),
        (
            {"pk": S("a" * 2049), "sk": N(1)},
            f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        (
            {"pk": S("a"), "sk": N(1), "x": N(1)},
            f"{INVALID}Type mismatch for Index Key x Expected: S Actual: N IndexName: by_x",
        ),
        (
            {"pk": S("a"), "sk": N(1), "x": S("")},
            f"{NOT_VALID}A value specified for a secondary index key is not supported. The AttributeValue for a key "
            "attribute cannot contain an empty string value. IndexName: by_x, IndexKey: x",
        ),
        (
            {"pk": S("a"), "sk": N(1), "y": {"B": b""}},
            f"{NOT_VALID}A value specified for a secondary index key is not supported. The AttributeValue for a key "
            "attribute cannot contain an empty binary value. IndexName: by_y, IndexKey: y",
        ),
    ],
)
def test_key_attributes_must_fit(refused: Refusal, make_table: MakeTable, item: dict[str, Any], message: str) -> None:
    table = make_table("pk:S sk:N", globally={"by_x": ("x:S", "ALL")}, locally={"by_y": ("pk:S y:B", "ALL")})
    assert refused("PutItem", {"TableName": table, "Item": item}) == (VALIDATION, message)


def test_of_several_indexes_the_first_in_the_alphabet_is_named(refused: Refusal, make_table: MakeTable) -> None:
    table = make_table(globally={"z_x": ("x:S", "ALL"), "a_x": ("x:S", "ALL"), "m_x": ("x:S", "ALL")})
    _, message = refused("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": N(1)}})
    assert message == f"{INVALID}Type mismatch for Index Key x Expected: S Actual: N IndexName: a_x"


def test_keys_have_2048_and_1024_bytes_at_most(db: Database, refused: Refusal, make_table: MakeTable) -> None:
    table = make_table("pk:S sk:B")
    longest = {"pk": S("é" * 1024), "sk": {"B": b"b" * 1024}}
    db.call("PutItem", {"TableName": table, "Item": longest})
    assert db.call("GetItem", {"TableName": table, "Key": longest}) == {"Item": longest}
    too_long = {"pk": S("a"), "sk": {"B": b"b" * 1025}}
    assert refused("PutItem", {"TableName": table, "Item": too_long}) == (
        VALIDATION,
        f"{INVALID}Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
    )


# Tables.


def test_a_table_that_is_not_there(refused: Refusal) -> None:
    assert refused("PutItem", {"TableName": "missing", "Item": {"pk": S("a")}}) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )


def test_expressions_are_checked_before_the_table_is_looked_for(refused: Refusal) -> None:
    request = {"TableName": "missing", "Item": {"pk": S("a")}, "ConditionExpression": "x ="}
    code, message = refused("PutItem", request)
    assert code == VALIDATION
    assert (message or "").startswith(f"{ANNOUNCED}Invalid ConditionExpression: Syntax error;")


def test_a_table_may_be_named_by_its_arn(db: Database, table: str) -> None:
    arn = db.call("DescribeTable", {"TableName": table})["Table"]["TableArn"]
    answer = db.call("PutItem", {"TableName": arn, "Item": {"pk": S("a")}, "ReturnConsumedCapacity": "TOTAL"})
    assert answer == {"ConsumedCapacity": {"TableName": arn, "CapacityUnits": 1.0}}
    assert stored(db, table) == {"pk": S("a")}


def test_several_broken_constraints_are_told_together(refused: Refusal) -> None:
    request = {"TableName": "Things", "ReturnValues": "all", "ReturnConsumedCapacity": "some"}
    assert refused("PutItem", request) == (
        VALIDATION,
        "3 validation errors detected: "
        "Value null at 'item' failed to satisfy constraint: Member must not be null; "
        "Value 'some' at 'returnConsumedCapacity' failed to satisfy constraint: "
        "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; "
        "Value 'all' at 'returnValues' failed to satisfy constraint: "
        "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]",
    )


def test_null_members_count_as_absent(db: Database, table: str) -> None:
    request = {
        "TableName": table,
        "Item": {"pk": S("a")},
        "ConditionExpression": None,
        "Expected": None,
        "ExpressionAttributeNames": None,
        "ExpressionAttributeValues": None,
        "ReturnValues": None,
    }
    assert db.call("PutItem", request) == {}

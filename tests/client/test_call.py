"""`Database.call`, which needs no boto3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torusdb
from torusdb import Database
from torusdb.errors import (
    ConditionalCheckFailedException,
    ResourceNotFoundException,
    ServiceError,
    UnknownOperationException,
    ValidationException,
)
from torusdb.storage.failures import DirectoryInUse, StorageFailed

TABLE: dict[str, Any] = {
    "TableName": "Things",
    "KeySchema": [{"AttributeName": "Id", "KeyType": "HASH"}, {"AttributeName": "At", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "Id", "AttributeType": "B"},
        {"AttributeName": "At", "AttributeType": "N"},
        {"AttributeName": "Seen", "AttributeType": "N"},
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "BySeen",
            "KeySchema": [
                {"AttributeName": "Id", "KeyType": "HASH"},
                {"AttributeName": "Seen", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
KEY = {"Id": {"B": b"\x00\xff"}, "At": {"N": "1"}}
ITEM = {**KEY, "Data": {"BS": [b"\x00", b"\xfe"]}, "Inner": {"M": {"list": {"L": [{"B": b"\x80"}]}}}}


@pytest.fixture
def things(db: Database) -> Database:
    db.call("CreateTable", TABLE)
    db.call("PutItem", {"TableName": "Things", "Item": ITEM})
    return db


def test_operations_without_parameters_need_none(db: Database) -> None:
    assert db.call("ListTables") == db.call("ListTables", {}) == {"TableNames": []}


BINARY_ANSWERS: dict[str, tuple[dict[str, Any], Any]] = {
    "GetItem": ({"TableName": "Things", "Key": KEY}, {"Item": ITEM}),
    "DeleteItem": ({"TableName": "Things", "Key": KEY, "ReturnValues": "ALL_OLD"}, {"Attributes": ITEM}),
    "Scan": (
        {"TableName": "Things", "Limit": 1},
        {"Items": [ITEM], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": KEY},
    ),
    "BatchGetItem": (
        {"RequestItems": {"Things": {"Keys": [KEY]}}},
        {"Responses": {"Things": [ITEM]}, "UnprocessedKeys": {}},
    ),
    "BatchWriteItem": (
        {
            "RequestItems": {"Things": [{"PutRequest": {"Item": ITEM}}]},
            "ReturnItemCollectionMetrics": "SIZE",
        },
        {
            "UnprocessedItems": {},
            "ItemCollectionMetrics": {
                "Things": [{"ItemCollectionKey": {"Id": KEY["Id"]}, "SizeEstimateRangeGB": [0.0, 1.0]}]
            },
        },
    ),
    "ExecuteStatement": ({"Statement": "SELECT * FROM Things"}, {"Items": [ITEM]}),
    "BatchExecuteStatement": (
        {
            "Statements": [
                {"Statement": 'SELECT * FROM Things WHERE Id=? AND "At"=1', "Parameters": [KEY["Id"]]},
                {"Statement": 'SELECT * FROM Absent WHERE Id=? AND "At"=1', "Parameters": [KEY["Id"]]},
            ]
        },
        {
            "Responses": [
                {"TableName": "Things", "Item": ITEM},
                {
                    "TableName": "Absent",
                    "Error": {"Code": "ResourceNotFound", "Message": "Requested resource not found"},
                },
            ]
        },
    ),
}


@pytest.mark.parametrize("operation", BINARY_ANSWERS)
def test_binary_values_are_bytes_both_ways(things: Database, operation: str) -> None:
    params, answer = BINARY_ANSWERS[operation]
    assert things.call(operation, params) == answer


def test_what_one_gets_can_be_put_again(things: Database) -> None:
    item = things.call("GetItem", {"TableName": "Things", "Key": KEY})["Item"]
    assert things.call("PutItem", {"TableName": "Things", "Item": item}) == {}
    page = things.call("Scan", {"TableName": "Things", "Limit": 1})
    rest = things.call("Scan", {"TableName": "Things", "ExclusiveStartKey": page["LastEvaluatedKey"]})
    assert rest == {"Items": [], "Count": 0, "ScannedCount": 0}


def test_parameters_are_left_as_they_were(things: Database) -> None:
    item = {**KEY, "Price": {"N": "1.50"}, "Tags": {"SS": ["b", "a"]}}
    params = {"TableName": "Things", "Item": item}
    things.call("PutItem", params)
    assert params == {"TableName": "Things", "Item": {**KEY, "Price": {"N": "1.50"}, "Tags": {"SS": ["b", "a"]}}}


def test_errors_are_exceptions_with_code_message_and_members(things: Database) -> None:
    with pytest.raises(ConditionalCheckFailedException) as caught:
        things.call(
            "PutItem",
            {
                "TableName": "Things",
                "Item": KEY,
                "ConditionExpression": "attribute_not_exists(Id)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
        )
    error = caught.value
    assert isinstance(error, ServiceError)
    assert (error.code, error.status) == ("ConditionalCheckFailedException", 400)
    assert error.message == str(error) == "The conditional request failed"
    assert error.members == {"Item": things.call("GetItem", {"TableName": "Things", "Key": KEY})["Item"]}


@pytest.mark.parametrize(
    ("operation", "params", "kind", "message"),
    [
        ("GetItem", {"TableName": "Absent", "Key": KEY}, ResourceNotFoundException, "Requested resource not found"),
        ("GetItem", {"TableName": "Things", "Key": {}}, ValidationException, "The provided key element does not match"),
        ("PutItem", {"TableName": "Things", "Item": {**KEY, "x": {}}}, ValidationException, "Supplied AttributeValue"),
        ("GetItem", {}, ValidationException, "2 validation errors detected"),
        ("Fly", {}, UnknownOperationException, "TorusDB has no operation Fly"),
    ],
)
def test_refusals_are_the_services_own(
    things: Database, operation: str, params: dict[str, Any], kind: type[ServiceError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        things.call(operation, params)


def test_a_closed_database_says_so(things: Database) -> None:
    things.close()
    things.close()
    assert not things.ready
    for operation, params in (("ListTables", {}), ("GetItem", {"TableName": "Things", "Key": KEY})):
        with pytest.raises(StorageFailed, match=r"^The database is closed\.$"):
            things.call(operation, params)


def test_a_directory_is_open_once_at_a_time(tmp_path: Path) -> None:
    with torusdb.open(tmp_path) as db:
        with pytest.raises(DirectoryInUse):
            torusdb.open(tmp_path)
        assert db.call("ListTables") == {"TableNames": []}
    with torusdb.open(str(tmp_path)) as db:
        assert db.call("ListTables") == {"TableNames": []}


def test_databases_in_memory_do_not_mix() -> None:
    with torusdb.open() as one, torusdb.open(":memory:") as other:
        one.call("CreateTable", TABLE)
        assert one.call("ListTables") == {"TableNames": ["Things"]}
        assert other.call("ListTables") == {"TableNames": []}


def test_the_package_offers_no_more_than_it_says() -> None:
    assert torusdb.Database is Database
    with pytest.raises(AttributeError, match="module 'torusdb' has no attribute 'connect'"):
        torusdb.connect  # noqa: B018

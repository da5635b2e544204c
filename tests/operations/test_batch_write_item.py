"""BatchWriteItem."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.shorthand import SS, N, S
from torusdb import Database

VALIDATION = "ValidationException"
INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "
ANNOUNCED = "1 validation error detected: "
NO_MATCH = "The provided key element does not match the schema"
DUPLICATES = (VALIDATION, "Provided list of item keys contains duplicates")
ONE_OF_TWO = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)


def put(pk: Any, **attributes: Any) -> dict[str, Any]:
    return {"PutRequest": {"Item": {"pk": S(pk) if isinstance(pk, str) else pk, **attributes}}}


def delete(pk: Any, **attributes: Any) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": {"pk": S(pk) if isinstance(pk, str) else pk, **attributes}}}


def names(db: Database, table: str) -> list[str]:
    return sorted(item["pk"]["S"] for item in db.call("Scan", {"TableName": table})["Items"])


def test_puts_and_deletes_in_several_tables(db: Database, make_table: MakeTable) -> None:
    first, second = make_table("pk:S", "First"), make_table("pk:S", "Second")
    assert db.call("BatchWriteItem", {"RequestItems": {first: [put("a"), put("b", x=N(1))], second: [put("c")]}}) == {
        "UnprocessedItems": {}
    }
    db.call("BatchWriteItem", {"RequestItems": {first: [delete("a"), put("b"), delete("missing")]}})
    assert names(db, first) == ["b"]
    assert names(db, second) == ["c"]
    assert db.call("GetItem", {"TableName": first, "Key": {"pk": S("b")}}) == {"Item": {"pk": S("b")}}


def test_indexes_follow(db: Database, make_table: MakeTable) -> None:
    table = make_table("pk:S", globally={"by_x": ("x:N", "ALL")})
    db.call("BatchWriteItem", {"RequestItems": {table: [put("a", x=N(1)), put("b", x=N(1)), put("c")]}})
    db.call("BatchWriteItem", {"RequestItems": {table: [delete("a"), put("c", x=N(1))]}})
    query = {
        "TableName": table,
        "IndexName": "by_x",
        "KeyConditionExpression": "x = :x",
        "ExpressionAttributeValues": {":x": N(1)},
    }
    assert sorted(item["pk"]["S"] for item in db.call("Query", query)["Items"]) == ["b", "c"]


def test_tables_may_be_named_by_their_arns(db: Database, refused: Refusal, table: str) -> None:
    arn = db.call("DescribeTable", {"TableName": table})["Table"]["TableArn"]
    request = {"RequestItems": {arn: [put("a")]}, "ReturnConsumedCapacity": "TOTAL"}
    assert db.call("BatchWriteItem", request) == {
        "UnprocessedItems": {},
        "ConsumedCapacity": [{"TableName": arn, "CapacityUnits": 1.0}],
    }
    assert refused("BatchWriteItem", {"RequestItems": {arn: [put("b")], table: [put("b")]}}) == DUPLICATES
    assert names(db, table) == ["a"]


def test_25_writes_at_most(db: Database, refused: Refusal, make_table: MakeTable) -> None:
    first, second = make_table("pk:S", "First"), make_table("pk:S", "Second")
    db.call("BatchWriteItem", {"RequestItems": {first: [put(str(count)) for count in range(25)]}})
    over_two = {first: [put(str(count)) for count in range(13)], second: [put(str(count)) for count in range(13)]}
    assert refused("BatchWriteItem", {"RequestItems": over_two}) == (
        VALIDATION,
        "Too many items requested for the BatchWriteItem call",
    )
    code, message = refused("BatchWriteItem", {"RequestItems": {first: [put(str(count)) for count in range(26)]}})
    assert code == VALIDATION
    assert (message or "").startswith(f"{ANNOUNCED}Value '{{First=[WriteRequest(putRequest=PutRequest(item={{pk=")
    assert (message or "").endswith(
        "}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: "
        "[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"
    )


@pytest.mark.parametrize(
    ("request_items", "message"),
    [
        ({}, "The requestItems parameter is required for BatchWriteItem"),
        (None, f"{ANNOUNCED}Value null at 'requestItems' failed to satisfy constraint: Member must not be null"),
        (
            {"Table": []},
            f"{ANNOUNCED}Value '{{Table=[]}}' at 'requestItems' failed to satisfy constraint: "
            "Map value must satisfy constraint: [Member must have length less than or equal to 25, "
            "Member must have length greater than or equal to 1]",
        ),
        (
            {"Table": [{"PutRequest": {}}]},
            f"{ANNOUNCED}Value null at 'requestItems.Table.member.1.member.putRequest.item' failed to satisfy "
            "constraint: Member must not be null",
        ),
        ({"Table": [{}]}, ONE_OF_TWO),
        ({"Table": [{**put("a"), **delete("a")}]}, ONE_OF_TWO),
        (
            {"Table": [put("a", x={})]},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        ({"Table": [put("a", x=SS())]}, f"{INVALID}An string set  may not be empty"),
        ({"Table": [put("a", x={"NULL": False})]}, f"{INVALID}Null attribute value types must have the value of true"),
        ({"Table": [put("a", **{"n" * 65536: N(1)})]}, "Attribute name is too large, must be less than 65536 bytes"),
        ({"Table": [delete(N("x"))]}, "The parameter cannot be converted to a numeric value: x"),
        ({"Table": [put("a", x=S("x" * 400 * 1024))]}, "Item size has exceeded the maximum allowed size"),
    ],
)
def test_members_are_checked_before_tables_are_looked_for(refused: Refusal, request_items: Any, message: str) -> None:
    assert refused("BatchWriteItem", {"RequestItems": request_items}) == (VALIDATION, message)


def test_no_item_may_be_written_twice(db: Database, refused: Refusal, make_table: MakeTable) -> None:
    table = make_table("pk:N")
    for writes in (
        [put(N(1)), put(N(2)), put(N("1.0"))],
        [delete(N(1)), delete(N(1))],
        [put(N(1)), delete(N("10e-1"))],
    ):
        assert refused("BatchWriteItem", {"RequestItems": {table: writes}}) == DUPLICATES
    assert db.call("Scan", {"TableName": table})["Count"] == 0


def test_the_same_key_may_be_written_in_two_tables(db: Database, make_table: MakeTable) -> None:
    tables = [make_table("pk:S", "First"), make_table("pk:S", "Second")]
    db.call("BatchWriteItem", {"RequestItems": {table: [put("a")] for table in tables}})
    assert [names(db, table) for table in tables] == [["a"], ["a"]]


@pytest.mark.parametrize(
    ("write", "message"),
    [
        ({"PutRequest": {"Item": {}}}, NO_MATCH),
        ({"PutRequest": {"Item": {"x": S("a")}}}, NO_MATCH),
        (put(N(1)), NO_MATCH),
        (delete(N(1)), NO_MATCH),
        (delete("a", x=S("b")), NO_MATCH),
        (
            put(""),
            f"{NOT_VALID}The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
        ),
        (put("a" * 2049), f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes"),
        (put("a", x=N(1)), f"{INVALID}Type mismatch for Index Key x Expected: S Actual: N IndexName: by_x"),
    ],
)
def test_one_wrong_key_refuses_the_batch(
    db: Database, refused: Refusal, make_table: MakeTable, write: Any, message: str
) -> None:
    table = make_table("pk:S", globally={"by_x": ("x:S", "ALL")})
    assert refused("BatchWriteItem", {"RequestItems": {table: [put("good"), write]}}) == (VALIDATION, message)
    assert names(db, table) == []


def test_one_missing_table_refuses_the_batch(db: Database, refused: Refusal, table: str) -> None:
    code, message = refused("BatchWriteItem", {"RequestItems": {table: [put("a")], "missing": [put("a")]}})
    assert (code, message) == ("ResourceNotFoundException", "Requested resource not found")
    assert names(db, table) == []


def test_metrics_of_each_item_collection_once(db: Database, make_table: MakeTable) -> None:
    plain = make_table("pk:S", "Plain")
    local = make_table("pk:S sk:S", "Local", locally={"by_x": ("pk:S x:N", "ALL")})
    request = {
        "RequestItems": {
            plain: [put("a")],
            local: [put("a", sk=S("1")), delete("a", sk=S("2")), put("b", sk=S("1"))],
        },
        "ReturnItemCollectionMetrics": "SIZE",
    }
    answer = db.call("BatchWriteItem", request)
    assert list(answer["ItemCollectionMetrics"]) == [local]
    metrics = answer["ItemCollectionMetrics"][local]
    assert sorted(one["ItemCollectionKey"]["pk"]["S"] for one in metrics) == ["a", "b"]
    assert all(one["SizeEstimateRangeGB"] == [0.0, 1.0] for one in metrics)


def test_a_boto3_batch_writer_works(db: Database, table: str) -> None:
    with db.resource().Table(table).batch_writer() as batch:
        for count in range(60):
            batch.put_item(Item={"pk": f"{count:02}", "n": count})
        for count in range(0, 60, 2):
            batch.delete_item(Key={"pk": f"{count:02}"})
    assert names(db, table) == [f"{count:02}" for count in range(1, 60, 2)]

"""DescribeTable: names and ARNs, sizes, and what is told in which state."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.jobs.by_hand import NOON, ByHand
from tests.operations.conftest import MakeTable, table_request
from torusdb import Database

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things"


def describe(db: Database, name: str = "Things") -> dict[str, Any]:
    description: dict[str, Any] = db.call("DescribeTable", {"TableName": name})["Table"]
    return description


def test_a_table_is_found_by_its_name_and_by_its_arn(db: Database, table: str) -> None:
    assert describe(db, table) == describe(db, ARN)
    assert describe(db)["TableArn"] == ARN


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Nothing", "Nothing"),
        ("things", "things"),
        ("arn:aws:dynamodb:us-east-1:000000000000:table/Nothing", "Nothing"),
        ("arn:aws:dynamodb:us-east-1:111111111111:table/Things", "Things"),
    ],
    ids=["no such table", "another case", "no such table's ARN", "another account"],
)
@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable"])
def test_what_is_not_there_is_named(refused: Refusal, table: str, operation: str, name: str, told: str) -> None:
    refusal = ("ResourceNotFoundException", f"Requested resource not found: Table: {told} not found")
    assert refused(operation, {"TableName": name}) == refusal


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable"])
def test_an_arn_of_another_region_is_told_so(refused: Refusal, table: str, operation: str) -> None:
    arn = "arn:aws:dynamodb:eu-west-2:000000000000:table/Things"
    refusal = ("ValidationException", f"1 validation error detected: Invalid AWS region in '{arn}'")
    assert refused(operation, {"TableName": arn}) == refusal


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "The parameter 'TableName' is required but was not present in the request"),
        (
            {"TableName": "ab"},
            "TableName must be at least 3 characters long and at most 255 characters long",
        ),
        (
            {"TableName": "a b!"},
            "1 validation error detected: Value 'a b!' at 'tableName' failed to satisfy constraint: "
            "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        ),
    ],
    ids=["missing", "short", "strange"],
)
@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable", "UpdateTable"])
def test_names_are_checked_first(refused: Refusal, operation: str, params: dict[str, Any], message: str) -> None:
    assert refused(operation, params) == ("ValidationException", message)


def test_items_and_bytes_are_counted_as_they_are_written(db: Database, make_table: MakeTable) -> None:
    make_table(globally={"by_owner": ("owner:S", "KEYS_ONLY")})
    for number in range(3):
        item = {"pk": {"S": str(number)}, "note": {"S": "12345"}}
        db.call("PutItem", {"TableName": "Things", "Item": item | ({"owner": {"S": "ann"}} if number else {})})
    described = describe(db)
    index = described["GlobalSecondaryIndexes"][0]
    # Names and values: pk 2 + 1, note 4 + 5, owner 5 + 3.
    assert (described["ItemCount"], described["TableSizeBytes"]) == (3, 3 * 12 + 2 * 8)
    assert (index["ItemCount"], index["IndexSizeBytes"]) == (2, 2 * 11)

    db.call("DeleteItem", {"TableName": "Things", "Key": {"pk": {"S": "1"}}})
    described = describe(db)
    assert (described["ItemCount"], described["TableSizeBytes"]) == (2, 32)
    assert described["GlobalSecondaryIndexes"][0]["ItemCount"] == 1


def test_a_table_on_demand_tells_since_when(hand: ByHand) -> None:
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, {}))
    hand.clock += 60
    described = hand.call("DescribeTable", TableName="Things")
    assert described["CreationDateTime"] == NOON
    assert described["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": NOON,
    }
    assert described["TableThroughputModeSummary"] == {
        "TableThroughputMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": NOON,
    }
    assert described["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12000,
        "WriteUnitsPerSecond": 4000,
        "Status": "ACTIVE",
    }


def test_what_is_told_survives_a_crash(hand: ByHand) -> None:
    more = {
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        "SSESpecification": {"Enabled": True},
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "DeletionProtectionEnabled": True,
        "OnDemandThroughput": {"MaxReadRequestUnits": 5},
        "WarmThroughput": {"ReadUnitsPerSecond": 13000},
    }
    indexes = {"by_owner": ("owner:S", ["note"])}
    hand.call("CreateTable", **table_request("pk:S sk:N", "Things", indexes, {"by_date": ("pk:S date:S", "ALL")}, more))
    item = {"pk": {"S": "1"}, "sk": {"N": "1"}, "owner": {"S": "ann"}}
    hand.call("PutItem", TableName="Things", Item=item)
    before = hand.call("DescribeTable", TableName="Things")
    hand.reopen()
    assert hand.call("DescribeTable", TableName="Things") == before


def test_dates_have_milliseconds(hand: ByHand) -> None:
    hand.clock += 0.123456
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, {}))
    assert hand.call("DescribeTable", TableName="Things")["CreationDateTime"] == NOON + 0.123

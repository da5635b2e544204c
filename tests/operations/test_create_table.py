"""CreateTable: what is made, and what the answer tells of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.jobs.by_hand import NOON, ByHand
from tests.operations.conftest import table_request
from torusdb import Database

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things"


def create(db: Database, key: str = "pk:S", **more: Any) -> dict[str, Any]:
    indexes = {name: more.pop(name, {}) for name in ("globally", "locally")}
    answer = db.call("CreateTable", table_request(key, "Things", more=more, **indexes))
    description: dict[str, Any] = answer["TableDescription"]
    return description


def describe(db: Database) -> dict[str, Any]:
    description: dict[str, Any] = db.call("DescribeTable", {"TableName": "Things"})["Table"]
    return description


def provisioned(read: int, write: int) -> dict[str, Any]:
    return {
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write},
    }


def test_a_table_on_demand_is_told_with_all_its_members() -> None:
    hand = ByHand()
    told = hand.call("CreateTable", **table_request("pk:S sk:N", "Things", {}, {}, {}))
    assert told == {
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        "TableName": "Things",
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "TableStatus": "CREATING",
        "CreationDateTime": NOON,
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": "arn:aws:dynamodb:eu-west-2:000000000000:table/Things",
        "TableId": "00000000-0000-4000-8000-000000000001",
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "TableThroughputModeSummary": {"TableThroughputMode": "PAY_PER_REQUEST"},
        "DeletionProtectionEnabled": False,
    }
    hand.close()


def test_a_provisioned_table_is_told_without_a_billing_mode(db: Database) -> None:
    told = create(db, **provisioned(3, 5))
    assert told["ProvisionedThroughput"] == {
        "NumberOfDecreasesToday": 0,
        "ReadCapacityUnits": 3,
        "WriteCapacityUnits": 5,
    }
    assert not {"BillingModeSummary", "TableThroughputModeSummary", "WarmThroughput"} & told.keys()


def test_without_a_billing_mode_a_table_is_provisioned(db: Database) -> None:
    request = table_request("pk:S", "Things", {}, {}, provisioned(1, 1))
    del request["BillingMode"]
    db.call("CreateTable", request)
    assert "BillingModeSummary" not in describe(db)


def test_attribute_definitions_and_projected_attributes_are_told_by_name(db: Database) -> None:
    told = create(db, "z:S sk:N", globally={"two": ("m:S a:B", ["zz", "aa"]), "one": ("sk:N", "ALL")})
    assert [one["AttributeName"] for one in told["AttributeDefinitions"]] == ["a", "m", "sk", "z"]
    indexes = told["GlobalSecondaryIndexes"]
    assert [index["IndexName"] for index in indexes] == ["two", "one"]
    assert indexes[0]["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["aa", "zz"]}


def test_a_local_index_is_told_without_status_and_throughput(db: Database) -> None:
    told = create(db, "pk:S sk:S", locally={"by-date": ("pk:S date:S", "KEYS_ONLY")})
    assert told["LocalSecondaryIndexes"] == [
        {
            "IndexName": "by-date",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "date", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": f"{ARN}/index/by-date",
        }
    ]
    assert "GlobalSecondaryIndexes" not in told


def test_a_global_index_is_created_with_its_table(db: Database) -> None:
    told = create(db, globally={"by-owner": ("owner:S", "ALL")})
    index = {
        "IndexName": "by-owner",
        "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "IndexSizeBytes": 0,
        "ItemCount": 0,
        "IndexArn": f"{ARN}/index/by-owner",
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
    }
    assert told["GlobalSecondaryIndexes"] == [{**index, "IndexStatus": "CREATING"}]
    warm = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"}
    assert describe(db)["GlobalSecondaryIndexes"] == [{**index, "IndexStatus": "ACTIVE", "WarmThroughput": warm}]


def test_a_global_index_has_up_to_four_attributes_in_each_part_of_its_key(db: Database) -> None:
    key = "a:S b:N c:B d:S|e:S f:S g:N h:S"
    schema = create(db, globally={"wide": (key, "ALL")})["GlobalSecondaryIndexes"][0]["KeySchema"]
    assert [one["AttributeName"] for one in schema] == list("abcdefgh")
    assert [one["KeyType"] for one in schema] == ["HASH"] * 4 + ["RANGE"] * 4


@pytest.mark.parametrize(
    "indexes",
    [
        {"globally": {"same": ("pk:S sk:S", "ALL")}},
        {"locally": {"same": ("pk:S sk:S", "ALL")}},
        {"globally": {"Things": ("sk:S", "ALL")}},
        {"globally": {"keys": ("sk:S", ["pk", "sk"])}},
    ],
    ids=["a global index on the table's key", "a local one", "an index named as the table", "projected keys"],
)
def test_indexes_that_look_odd_are_made(db: Database, indexes: dict[str, Any]) -> None:
    create(db, "pk:S sk:S", **indexes)
    assert describe(db)["TableStatus"] == "ACTIVE"


# Streams, encryption, class, protection, throughput, tags.


def test_a_stream_has_an_arn_with_the_moment_it_was_enabled() -> None:
    hand = ByHand()
    hand.clock += 0.25
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    told = hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, {"StreamSpecification": stream}))
    assert told["StreamSpecification"] == stream
    assert told["LatestStreamLabel"] == "2027-01-15T12:00:00.250"
    assert told["LatestStreamArn"] == f"{told['TableArn']}/stream/2027-01-15T12:00:00.250"
    hand.close()


@pytest.mark.parametrize("more", [{}, {"StreamSpecification": {"StreamEnabled": False}}], ids=["none", "disabled"])
def test_a_table_without_a_stream_tells_nothing_of_it(db: Database, more: dict[str, Any]) -> None:
    told = create(db, **more)
    assert not {"StreamSpecification", "LatestStreamArn", "LatestStreamLabel"} & told.keys()


KEY_ARN = re.compile(r"arn:aws:kms:us-east-1:000000000000:key/[0-9a-f-]{36}")


@pytest.mark.parametrize("sse", [{"Enabled": True}, {"Enabled": True, "SSEType": "KMS"}, {"SSEType": "KMS"}], ids=str)
def test_a_table_is_encrypted_with_the_key_that_the_service_manages_for_the_account(
    db: Database, sse: dict[str, Any]
) -> None:
    description = create(db, SSESpecification=sse)["SSEDescription"]
    assert (description["Status"], description["SSEType"]) == ("ENABLED", "KMS")
    assert KEY_ARN.fullmatch(description["KMSMasterKeyArn"])
    named = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/aws/dynamodb"}
    other = db.call("CreateTable", table_request("pk:S", "Other", {}, {}, {"SSESpecification": named}))
    assert other["TableDescription"]["SSEDescription"] == description


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("1234abcd", "arn:aws:kms:us-east-1:000000000000:key/1234abcd"),
        ("arn:aws:kms:us-east-1:111111111111:key/k", "arn:aws:kms:us-east-1:111111111111:key/k"),
    ],
    ids=["its id", "its ARN"],
)
def test_a_key_is_told_by_its_arn(db: Database, given: str, told: str) -> None:
    sse = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": given}
    assert create(db, SSESpecification=sse)["SSEDescription"]["KMSMasterKeyArn"] == told


@pytest.mark.parametrize("sse", [{}, {"Enabled": False}], ids=str)
def test_the_services_own_key_is_not_told_of(db: Database, sse: dict[str, Any]) -> None:
    assert "SSEDescription" not in create(db, SSESpecification=sse)


@pytest.mark.parametrize("table_class", ["STANDARD", "STANDARD_INFREQUENT_ACCESS"])
def test_a_class_is_told_where_it_was_given(db: Database, table_class: str) -> None:
    assert create(db, TableClass=table_class)["TableClassSummary"] == {"TableClass": table_class}
    assert describe(db)["TableClassSummary"] == {"TableClass": table_class}


def test_a_class_is_not_told_otherwise(db: Database) -> None:
    assert "TableClassSummary" not in create(db)
    assert "TableClassSummary" not in describe(db)


def test_deletion_protection_is_told_always(db: Database) -> None:
    assert create(db, DeletionProtectionEnabled=True)["DeletionProtectionEnabled"] is True
    assert describe(db)["DeletionProtectionEnabled"] is True


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"MaxReadRequestUnits": 1}, {"MaxReadRequestUnits": 1}),
        ({"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": 9}, {"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": 9}),
        ({}, None),
    ],
    ids=str,
)
def test_ceilings_of_a_table_on_demand_are_told_as_given(
    db: Database, given: dict[str, int], told: dict[str, int] | None
) -> None:
    assert create(db, OnDemandThroughput=given).get("OnDemandThroughput") == told


def test_ceilings_of_an_index_are_its_own(db: Database) -> None:
    request = table_request("pk:S", "Things", {"by-owner": ("owner:S", "ALL")}, {}, {})
    request["GlobalSecondaryIndexes"][0]["OnDemandThroughput"] = {"MaxReadRequestUnits": 50}
    told = db.call("CreateTable", request)["TableDescription"]
    assert told["GlobalSecondaryIndexes"][0]["OnDemandThroughput"] == {"MaxReadRequestUnits": 50}
    assert "OnDemandThroughput" not in told


def test_warm_throughput_that_was_asked_for_is_being_warmed(db: Database) -> None:
    told = create(db, WarmThroughput={"ReadUnitsPerSecond": 13000})
    assert told["WarmThroughput"] == {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 4000, "Status": "UPDATING"}
    assert describe(db)["WarmThroughput"] == {
        "ReadUnitsPerSecond": 13000,
        "WriteUnitsPerSecond": 4000,
        "Status": "ACTIVE",
    }


def test_a_provisioned_table_is_as_warm_as_its_throughput(db: Database) -> None:
    create(db, **provisioned(5, 6))
    assert describe(db)["WarmThroughput"] == {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 6, "Status": "ACTIVE"}


@pytest.mark.parametrize("count", [0, 1, 50])
def test_up_to_fifty_tags_are_accepted(db: Database, count: int) -> None:
    tags = [{"Key": f"tag {number}", "Value": "ü+-=._:/ 1" if number else ""} for number in range(count)]
    create(db, Tags=tags)
    assert describe(db)["TableStatus"] == "ACTIVE"


def test_names_differ_by_case(db: Database) -> None:
    for name in ("things", "Things", "THINGS"):
        db.call("CreateTable", table_request("pk:S", name, {}, {}, {}))
    assert db.call("ListTables")["TableNames"] == ["THINGS", "Things", "things"]


def test_a_table_made_again_has_another_id_and_the_same_arn(db: Database) -> None:
    first = create(db)
    db.call("PutItem", {"TableName": "Things", "Item": {"pk": {"S": "1"}}})
    db.call("DeleteTable", {"TableName": "Things"})
    second = create(db)
    assert first["TableArn"] == second["TableArn"] == ARN
    assert first["TableId"] != second["TableId"]
    assert db.call("Scan", {"TableName": "Things"})["Count"] == 0

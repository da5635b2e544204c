"""DeleteTable. What it says while a table is on its way is in test_table_phases."""

from __future__ import annotations

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from torusdb import Database

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things"


def test_a_table_is_gone_after_it(db: Database, refused: Refusal, table: str) -> None:
    db.call("DeleteTable", {"TableName": table})
    assert db.call("ListTables") == {"TableNames": []}
    not_found = ("ResourceNotFoundException", "Requested resource not found: Table: Things not found")
    for operation in ("DescribeTable", "DeleteTable"):
        assert refused(operation, {"TableName": table}) == not_found
    key = {"pk": {"S": "1"}}
    refusal = ("ResourceNotFoundException", "Requested resource not found")
    assert refused("GetItem", {"TableName": table, "Key": key}) == refusal
    assert refused("PutItem", {"TableName": table, "Item": key}) == refusal


def test_the_answer_tells_neither_sizes_nor_global_indexes(db: Database, make_table: MakeTable) -> None:
    make_table("pk:S sk:S", globally={"by_owner": ("owner:S", "ALL")}, locally={"by_date": ("pk:S date:S", "ALL")})
    db.call("PutItem", {"TableName": "Things", "Item": {"pk": {"S": "1"}, "sk": {"S": "1"}}})
    told = db.call("DeleteTable", {"TableName": "Things"})["TableDescription"]
    assert told["TableStatus"] == "DELETING"
    assert (told["ItemCount"], told["TableSizeBytes"]) == (0, 0)
    assert [index["IndexName"] for index in told["LocalSecondaryIndexes"]] == ["by_date"]
    assert "GlobalSecondaryIndexes" not in told


def test_an_arn_will_do(db: Database, table: str) -> None:
    assert db.call("DeleteTable", {"TableName": ARN})["TableDescription"]["TableName"] == table
    assert db.call("ListTables") == {"TableNames": []}


def test_a_protected_table_stays(db: Database, refused: Refusal, make_table: MakeTable) -> None:
    make_table(DeletionProtectionEnabled=True)
    refusal = (
        "ValidationException",
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
    )
    assert refused("DeleteTable", {"TableName": "Things"}) == refusal
    db.call("UpdateTable", {"TableName": "Things", "DeletionProtectionEnabled": False})
    db.call("DeleteTable", {"TableName": "Things"})


def test_other_tables_stay_as_they_are(db: Database, make_table: MakeTable) -> None:
    for name in ("Things", "Things2", "Thing"):
        make_table(name=name)
        db.call("PutItem", {"TableName": name, "Item": {"pk": {"S": name}}})
    db.call("DeleteTable", {"TableName": "Things"})
    assert db.call("ListTables") == {"TableNames": ["Thing", "Things2"]}
    assert db.call("Scan", {"TableName": "Things2"})["Items"] == [{"pk": {"S": "Things2"}}]

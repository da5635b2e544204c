"""BatchExecuteStatement: each statement succeeds or fails for itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.operations.conftest import MakeTable
from tests.operations.reads import item, put
from tests.operations.shorthand import N, S
from torusdb import Database
from torusdb.operations import writes

NAME = "Things"
SELECT = "SELECT * FROM Things WHERE pk = 'a' AND sk = "
NO_KEY = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}


@pytest.fixture(autouse=True)
def things(db: Database, make_table: MakeTable) -> None:
    make_table("pk:S sk:N", globally={"by-x": ("x:S", "ALL")})
    make_table("id:S", "Others")
    put(db, NAME, item(pk="a", sk=1, x="one"), item(pk="a", sk=2, x="two", fill="f" * 5000))
    put(db, "Others", item(id="o"))


def request(*statements: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"Statements": [{"Statement": one} if isinstance(one, str) else one for one in statements], **more}


def responses(db: Database, *statements: str | dict[str, Any]) -> list[dict[str, Any]]:
    answer = db.call("BatchExecuteStatement", request(*statements))
    assert set(answer) == {"Responses"}
    found: list[dict[str, Any]] = answer["Responses"]
    return found


def failure(message: str) -> dict[str, Any]:
    return {"Error": {"Code": "ValidationError", "Message": message}}


def stored(db: Database, pk: str, sk: int) -> dict[str, Any] | None:
    found: dict[str, Any] | None = db.call("GetItem", {"TableName": NAME, "Key": item(pk=pk, sk=sk)}).get("Item")
    return found


# Reads.


def test_reads_come_in_the_order_of_the_statements(db):
    found = responses(
        db,
        f"{SELECT}2",
        "SELECT * FROM Others WHERE id = 'o'",
        {"Statement": "SELECT x FROM Things WHERE pk = ? AND sk = ?", "Parameters": [S("a"), N(1)]},
        f"{SELECT}99",
        f"{SELECT}3 AND x = 'three'",
    )
    assert found == [
        {"TableName": NAME, "Item": item(pk="a", sk=2, x="two", fill="f" * 5000)},
        {"TableName": "Others", "Item": item(id="o")},
        {"TableName": NAME, "Item": item(x="one")},
        {"TableName": NAME},
        {"TableName": NAME},
    ]


def test_conditions_beyond_the_key_and_columns(db):
    assert responses(db, f"{SELECT}1 AND x = 'one'", f"{SELECT}2 AND x = 'one'") == [
        {"TableName": NAME, "Item": item(pk="a", sk=1, x="one")},
        {"TableName": NAME},
    ]
    statement = "SELECT nope FROM Things WHERE sk = 1 AND 'a' = pk AND x IS NOT MISSING"
    assert responses(db, statement) == [{"TableName": NAME, "Item": {}}]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM Things",
        "SELECT * FROM Things WHERE pk = 'a'",
        "SELECT * FROM Things WHERE x = 'one'",
        "SELECT * FROM Things WHERE pk = 'a' AND sk > 1",
        "SELECT * FROM Things WHERE pk = 'a' AND sk IN [1, 2]",
        "SELECT * FROM Things WHERE pk = 'a' AND sk = 1 AND sk = 2",
        "SELECT * FROM Things WHERE pk = 'a' AND sk = 1 OR x = 'one'",
        "SELECT * FROM Things.\"by-x\" WHERE x = 'one'",
        "SELECT * FROM Things.\"by-x\" WHERE x = 'one' AND pk = 'a' AND sk = 1",
    ],
)
def test_a_read_names_one_item(db, statement):
    assert responses(db, statement, f"{SELECT}1") == [
        failure(NO_KEY),
        {"TableName": NAME, "Item": item(pk="a", sk=1, x="one")},
    ]


# Writes.


def test_writes(db):
    found = responses(
        db,
        "INSERT INTO Things VALUE {'pk': 'b', 'sk': 1}",
        {"Statement": "UPDATE Things SET x = ? WHERE pk = 'a' AND sk = 1", "Parameters": [S("uno")]},
        "DELETE FROM Things WHERE pk = 'a' AND sk = 2 RETURNING ALL OLD *",
        "DELETE FROM Things WHERE pk = 'nope' AND sk = 2 RETURNING ALL OLD *",
        "UPDATE Others SET n = 1 WHERE id = 'o' RETURNING MODIFIED NEW *",
    )
    assert found == [
        {"TableName": NAME},
        {"TableName": NAME},
        {"TableName": NAME, "Item": item(pk="a", sk=2, x="two", fill="f" * 5000)},
        {"TableName": NAME},
        {"TableName": "Others", "Item": item(n=1)},
    ]
    assert stored(db, "b", 1) == item(pk="b", sk=1)
    assert stored(db, "a", 1) == item(pk="a", sk=1, x="uno")
    assert stored(db, "a", 2) is None


def test_what_fails_keeps_nothing_else_from_landing(db):
    found = responses(
        db,
        "INSERT INTO Things VALUE {'pk': 'a', 'sk': 1}",
        "UPDATE Things SET x = 'b' WHERE pk = 'a' AND sk = 2 AND x = 'one'",
        "UPDATE Things SET x = 'b' WHERE pk = 'nope' AND sk = 2",
        "UPDATE Things SET x = 'b' WHERE pk = 'a'",
        "UPDATE Things SET n = n + 1 WHERE pk = 'a' AND sk = 7",
        "INSERT INTO Nowhere VALUE {'pk': 'a', 'sk': 1}",
        "INSERT INTO Things VALUE {'pk': 'b'",
        "DELETE FROM Things WHERE pk = 'c' AND sk = 1 RETURNING ALL NEW *",
        {"Statement": "INSERT INTO Things VALUE {'pk': 'c', 'sk': ?}", "Parameters": [N(1), N(2)]},
        "EXISTS(SELECT * FROM Things WHERE pk = 'a' AND sk = 5)",
        "INSERT INTO Things VALUE {'pk': 'd', 'sk': 1}",
    )
    assert found == [
        {"Error": {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}, "TableName": NAME},
        {"Error": FAILED, "TableName": NAME},
        {"Error": FAILED, "TableName": NAME},
        failure("Where clause does not contain a mandatory equality on all key attributes"),
        {"Error": FAILED, "TableName": NAME},
        {"Error": {"Code": "ResourceNotFound", "Message": "Requested resource not found"}, "TableName": "Nowhere"},
        failure("Statement wasn't well formed, can't be processed: Expected RIGHT_CURLY"),
        failure(
            "Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements."
        ),
        failure("Number of parameters in request and statement don't match."),
        failure("EXISTS can only be used in ExecuteTransaction write requests."),
        {"TableName": NAME},
    ]
    assert stored(db, "d", 1) == item(pk="d", sk=1)
    assert stored(db, "a", 2) == item(pk="a", sk=2, x="two", fill="f" * 5000)


def test_a_read_of_no_table_says_so(db):
    assert responses(db, "SELECT * FROM Nowhere WHERE pk = 'a'", f"{SELECT}99") == [
        {"Error": {"Code": "ResourceNotFound", "Message": "Requested resource not found"}, "TableName": "Nowhere"},
        {"TableName": NAME},
    ]


@pytest.mark.parametrize("asked", ["ALL_OLD", "NONE"])
def test_the_item_that_failed_a_condition_is_not_told(db, asked):
    """The service takes the parameter and tells no item (measured by others in 2026), whatever its model says."""
    statement = {
        "Statement": "UPDATE Things SET x = 'b' WHERE pk = 'a' AND sk = 1 AND x = 'two'",
        "ReturnValuesOnConditionCheckFailure": asked,
    }
    assert responses(db, statement) == [{"Error": FAILED, "TableName": NAME}]


def test_a_full_item_collection_fails_its_statement_only(db, make_table, monkeypatch):
    make_table("pk:S sk:N", "Locals", locally={"by-x": ("pk:S x:S", "ALL")})
    put(db, "Locals", item(pk="full", sk=1, fill="x" * 1000))
    monkeypatch.setattr(writes, "COLLECTION_BYTES_MAX", 1100)
    assert responses(
        db,
        f"INSERT INTO Locals VALUE {{'pk': 'full', 'sk': 2, 'fill': '{'x' * 100}'}}",
        "INSERT INTO Locals VALUE {'pk': 'free', 'sk': 2}",
    ) == [
        {
            "Error": {
                "Code": "ItemCollectionSizeLimitExceeded",
                "Message": "Item collection size limit exceeded.",
            },
            "TableName": "Locals",
        },
        {"TableName": "Locals"},
    ]
    assert db.call("Scan", {"TableName": "Locals", "Select": "COUNT"})["Count"] == 2


# What refuses the whole batch.


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (
            [f"{SELECT}1", "DELETE FROM Things WHERE pk = 'a' AND sk = 2"],
            "Read and write requests together in the same batch is not supported.",
        ),
        ([f"{SELECT}1", f"{SELECT}1.0"], "Provided list of item keys contains duplicates"),
        (
            ["INSERT INTO Things VALUE {'pk': 'q', 'sk': 1}", "DELETE FROM Things WHERE pk = 'q' AND sk = 1"],
            "Provided list of item keys contains duplicates",
        ),
    ],
)
def test_batches_refused(db, refused, statements, message):
    assert refused("BatchExecuteStatement", request(*statements)) == ("ValidationException", message)
    assert stored(db, "q", 1) is None


def test_the_same_key_in_two_tables_is_no_duplicate(db, make_table):
    make_table("pk:S sk:N", "Twin")
    statement = "INSERT INTO {} VALUE {{'pk': 'q', 'sk': 1}}"
    assert responses(db, statement.format("Things"), statement.format("Twin")) == [
        {"TableName": "Things"},
        {"TableName": "Twin"},
    ]


def test_25_statements_and_no_more(db, refused):
    statements = [f"{SELECT}{number}" for number in range(26)]
    assert len(responses(db, *statements[:25])) == 25
    for some, words in ((statements, "less than or equal to 25"), ([], "greater than or equal to 1")):
        code, message = refused("BatchExecuteStatement", request(*some))
        assert code == "ValidationException"
        assert f"at 'statements' failed to satisfy constraint: Member must have length {words}" in message


# Capacity.


def consumed(db: Database, *statements: str | dict[str, Any], asked: str = "INDEXES") -> Any:
    return db.call("BatchExecuteStatement", request(*statements, ReturnConsumedCapacity=asked)).get("ConsumedCapacity")


def test_capacity_of_reads(db):
    found = consumed(
        db,
        f"{SELECT}1",
        {"Statement": f"{SELECT}2", "ConsistentRead": True},
        f"{SELECT}99",
        "SELECT * FROM Others WHERE id = 'o'",
    )
    assert found == [
        {"TableName": NAME, "CapacityUnits": 3.0, "Table": {"CapacityUnits": 3.0}},
        {"TableName": "Others", "CapacityUnits": 0.5, "Table": {"CapacityUnits": 0.5}},
    ]
    assert consumed(db, f"{SELECT}1", asked="TOTAL") == [{"TableName": NAME, "CapacityUnits": 0.5}]
    assert consumed(db, f"{SELECT}1", asked="NONE") is None


def test_capacity_of_writes(db):
    found = consumed(
        db,
        "INSERT INTO Things VALUE {'pk': 'b', 'sk': 1}",
        "UPDATE Things SET x = 'new' WHERE pk = 'a' AND sk = 1",
        "DELETE FROM Others WHERE id = 'nope'",
    )
    assert found == [
        {
            "TableName": NAME,
            "CapacityUnits": 4.0,
            "Table": {"CapacityUnits": 2.0},
            "GlobalSecondaryIndexes": {"by-x": {"CapacityUnits": 2.0}},
        },
        {"TableName": "Others", "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}},
    ]


def test_what_failed_counts_for_the_total_only(db):
    """The figures are the service's own for such a batch, as measured by others in 2026."""
    found = consumed(
        db,
        f"INSERT INTO Things VALUE {{'pk': 'a', 'sk': 1, 'fill': '{'x' * 2500}'}}",
        "INSERT INTO Things VALUE {'pk': 'b', 'sk': 1}",
        "INSERT INTO Others VALUE {'id': 'o'}",
    )
    assert found == [{"TableName": NAME, "CapacityUnits": 4.0, "Table": {"CapacityUnits": 1.0}}]
    assert consumed(db, "INSERT INTO Others VALUE {'id': 'o'}") is None

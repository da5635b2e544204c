"""ExecuteTransaction: all statements, or none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.operations.conftest import MakeTable
from tests.operations.reads import item, put
from tests.operations.shorthand import N, S
from torusdb import Database
from torusdb.errors import TransactionCanceledException

NAME = "Things"
A1 = item(pk="a", sk=1, x="one")
A2 = item(pk="a", sk=2, x="two", fill="f" * 5000)
WHERE = "WHERE pk = 'a' AND sk = "
SELECT = f"SELECT * FROM Things {WHERE}"
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
NONE = {"Code": "None"}


@pytest.fixture(autouse=True)
def things(db: Database, make_table: MakeTable) -> None:
    make_table("pk:S sk:N", globally={"by-x": ("x:S", "ALL")})
    make_table("id:S", "Others")
    put(db, NAME, A1, A2)
    put(db, "Others", item(id="o"))


def request(*statements: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"TransactStatements": [{"Statement": one} if isinstance(one, str) else one for one in statements], **more}


def execute(db: Database, *statements: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = db.call("ExecuteTransaction", request(*statements, **more))
    return answer


def cancelled(db: Database, *statements: str | dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The reasons, with their items as they are."""
    with pytest.raises(TransactionCanceledException) as caught:
        execute(db, *statements, **more)
    reasons = caught.value.members["CancellationReasons"]
    codes = ", ".join(reason["Code"] for reason in reasons)
    assert caught.value.message == (
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    )
    return reasons


def everything(db: Database) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for table in (NAME, "Others"):
        found += db.call("Scan", {"TableName": table})["Items"]
    return found


# Writes.


def test_writes_land_together(db):
    answer = execute(
        db,
        {"Statement": "INSERT INTO Things VALUE {'pk': 'b', 'sk': ?}", "Parameters": [N(1)]},
        f"UPDATE Things SET x = 'uno' SET n = 1 {WHERE}1 AND x = 'one'",
        f"DELETE FROM Things {WHERE}2",
        "EXISTS(SELECT * FROM Others WHERE id = 'o' AND n IS MISSING)",
        "DELETE FROM Things WHERE pk = 'nope' AND sk = 1 AND x = 'y'",
    )
    assert answer == {"Responses": [{}] * 5}
    assert everything(db) == [item(pk="b", sk=1), item(pk="a", sk=1, x="uno", n=1), item(id="o")]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            "INSERT INTO Things VALUE {'pk': 'a', 'sk': 1}",
            {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"},
        ),
        (f"UPDATE Things SET x = 'b' {WHERE}1 AND x = 'two'", FAILED),
        (f"UPDATE Things SET x = 'b' {WHERE}9", FAILED),
        (f"DELETE FROM Things {WHERE}1 AND x = 'two'", FAILED),
        (f"EXISTS(SELECT * FROM Things {WHERE}1 AND x = 'two')", FAILED),
        (f"EXISTS(SELECT * FROM Things {WHERE}9)", FAILED),
        (f"EXISTS(SELECT * FROM Things {WHERE}9 AND x IS MISSING)", FAILED),
        (
            f"UPDATE Things SET n = x + 1 {WHERE}1",
            {
                "Code": "ValidationError",
                "Message": "An operand in the update expression has an incorrect data type",
            },
        ),
        (
            "UPDATE Things SET n = 1 WHERE pk = 'a' AND sk = '1'",
            {"Code": "ValidationError", "Message": "The provided key element does not match the schema"},
        ),
        (
            "INSERT INTO Things VALUE {'pk': 'a'}",
            {
                "Code": "ValidationError",
                "Message": "One or more parameter values were invalid: Missing the key sk in the item",
            },
        ),
    ],
)
def test_one_that_cannot_be_cancels_all(db, statement, reason):
    before = everything(db)
    assert cancelled(
        db, "INSERT INTO Things VALUE {'pk': 'b', 'sk': 1}", statement, "DELETE FROM Others WHERE id = 'o'"
    ) == [NONE, reason, NONE]
    assert everything(db) == before


def test_every_condition_that_fails_is_among_the_reasons(db):
    reasons = cancelled(
        db,
        {
            "Statement": f"UPDATE Things SET n = 1 {WHERE}1 AND x = 'two'",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
        {
            "Statement": f"EXISTS(SELECT * FROM Things {WHERE}2 AND x = 'one')",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
        {"Statement": "DELETE FROM Others WHERE id = 'o' AND n = 1", "ReturnValuesOnConditionCheckFailure": "NONE"},
        {
            "Statement": f"EXISTS(SELECT * FROM Things {WHERE}9)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
    )
    assert reasons == [{**FAILED, "Item": A1}, {**FAILED, "Item": A2}, FAILED, FAILED]


def test_exists_alone(db):
    assert execute(db, f"EXISTS(SELECT * FROM Things {WHERE}1)") == {"Responses": [{}]}
    assert execute(db, {"Statement": "exists(select * from Things where pk=? and sk=1)", "Parameters": [S("a")]}) == {
        "Responses": [{}]
    }


# Reads.


def test_reads(db):
    answer = execute(
        db,
        f"{SELECT}2",
        f"SELECT x FROM Things {WHERE}1 AND x = 'one'",
        f"{SELECT}9",
        {"Statement": "SELECT nope FROM Others WHERE id = ?", "Parameters": [S("o")]},
    )
    # An item without the attributes asked for is shown as an empty one (developer guide, "Performing transactions
    # with PartiQL").
    assert answer == {"Responses": [{"Item": A2}, {"Item": item(x="one")}, {}, {"Item": {}}]}
    assert execute(db, f"{SELECT}1 AND x = 'two'") == {"Responses": [{}]}


# What refuses the transaction as a whole.


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (
            [f"{SELECT}1", f"DELETE FROM Things {WHERE}2"],
            "ExecuteTransaction API does not support both read and write operations in the same request.",
        ),
        (
            [f"EXISTS(SELECT * FROM Things {WHERE}1)", f"{SELECT}2"],
            "ExecuteTransaction API does not support both read and write operations in the same request.",
        ),
        ([f"{SELECT}1", f"{SELECT}1.0"], "Transaction request cannot include multiple operations on one item"),
        (
            [f"EXISTS(SELECT * FROM Things {WHERE}1)", f"DELETE FROM Things {WHERE}1"],
            "Transaction request cannot include multiple operations on one item",
        ),
    ],
)
def test_transactions_refused(db, refused, statements, message):
    before = everything(db)
    assert refused("ExecuteTransaction", request(*statements)) == ("ValidationException", message)
    assert everything(db) == before


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            f"DELETE FROM Things {WHERE}1 RETURNING ALL OLD *",
            "RETURNING clause is not supported in ExecuteTransaction.",
        ),
        (
            f"UPDATE Things SET n = 1 {WHERE}1 RETURNING MODIFIED NEW *",
            "RETURNING clause is not supported in ExecuteTransaction.",
        ),
        ("SELECT * FROM Things.\"by-x\" WHERE x = 'one'", "Reads on indices are not supported within transactions."),
        (
            "EXISTS(SELECT * FROM Things.\"by-x\" WHERE x = 'one')",
            "Reads on indices are not supported within transactions.",
        ),
        (f"UPDATE Things.i SET n = 1 {WHERE}1", "This operation is not supported on an index"),
        ("NONSENSE", "Statement wasn't well formed, can't be processed: Expected data manipulation"),
        (
            "DELETE FROM Things WHERE pk = ? AND sk = 1",
            "Number of parameters in request and statement don't match.",
        ),
        (
            "DELETE FROM Things WHERE pk = 'a'",
            "Where clause does not contain a mandatory equality on all key attributes",
        ),
        (
            "EXISTS(SELECT * FROM Things WHERE pk = 'a')",
            "Where clause does not contain a mandatory equality on all key attributes",
        ),
        (
            f"DELETE FROM Things {WHERE}1 AND x > true",
            "Incorrect operand type for operator or function; operator or function: >, operand type: BOOL",
        ),
    ],
)
def test_a_refusal_says_which_statement(db, refused, statement, message):
    before = everything(db)
    first = "INSERT INTO Things VALUE {'pk': 'b', 'sk': 1}"
    assert refused("ExecuteTransaction", request(first, statement)) == (
        "ValidationException",
        f"Validation failed in TransactStatements[1]: {message}",
    )
    assert everything(db) == before


@pytest.mark.parametrize(
    "statement", ["SELECT * FROM Things", "SELECT * FROM Things WHERE pk = 'a'", f"{SELECT}1 OR pk = 'b'"]
)
def test_a_read_names_one_item(refused, statement):
    assert refused("ExecuteTransaction", request(statement)) == (
        "ValidationException",
        "Validation failed in TransactStatements[0]: "
        "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
    )


@pytest.mark.parametrize("statement", ["SELECT * FROM Nowhere WHERE pk = 'a'", "INSERT INTO Nowhere VALUE {'pk': 'a'}"])
def test_no_table(refused, statement):
    assert refused("ExecuteTransaction", request(statement)) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )


def test_an_empty_key_refuses_the_transaction(refused):
    code, message = refused("ExecuteTransaction", request("INSERT INTO Things VALUE {'pk': '', 'sk': 1}"))
    assert code == "ValidationException"
    assert message.endswith("cannot contain an empty string value. Key: pk")


def test_100_statements_and_no_more(db, refused):
    statements = [f"INSERT INTO Others VALUE {{'id': '{number}'}}" for number in range(101)]
    assert execute(db, *statements[:100]) == {"Responses": [{}] * 100}
    for some, words in ((statements, "less than or equal to 100"), ([], "greater than or equal to 1")):
        code, message = refused("ExecuteTransaction", request(*some))
        assert code == "ValidationException"
        assert f"at 'transactStatements' failed to satisfy constraint: Member must have length {words}" in message


# Tokens.


def test_a_token_makes_a_repetition_do_nothing(db):
    statements = [
        {"Statement": "UPDATE Things SET n = 1 WHERE pk = ? AND sk = 1", "Parameters": [S("a")]},
        "INSERT INTO Things VALUE {'pk': 'b', 'sk': 1}",
    ]
    first = execute(db, *statements, ClientRequestToken="t", ReturnConsumedCapacity="TOTAL")
    db.call("DeleteItem", {"TableName": NAME, "Key": item(pk="b", sk=1)})
    again = execute(db, *statements, ClientRequestToken="t", ReturnConsumedCapacity="TOTAL")
    assert again["Responses"] == first["Responses"] == [{}, {}]
    assert first["ConsumedCapacity"] == [{"TableName": NAME, "CapacityUnits": 5.0, "WriteCapacityUnits": 5.0}]
    assert again["ConsumedCapacity"] == [{"TableName": NAME, "CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}]
    assert item(pk="b", sk=1) not in everything(db)


def test_a_token_belongs_to_its_statements_and_parameters(db, refused):
    statement = "UPDATE Things SET n = ? WHERE pk = 'a' AND sk = 1"
    execute(db, {"Statement": statement, "Parameters": [N(1)]}, ClientRequestToken="t")
    for other in ({"Statement": statement, "Parameters": [N(2)]}, f"DELETE FROM Things {WHERE}1"):
        code, _ = refused("ExecuteTransaction", request(other, ClientRequestToken="t"))
        assert code == "IdempotentParameterMismatchException"


# Capacity: twice that of single operations on the table, once on its indexes.


def consumed(db: Database, *statements: str) -> Any:
    return execute(db, *statements, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]


def test_capacity_of_writes(db):
    assert consumed(
        db,
        "INSERT INTO Things VALUE {'pk': 'b', 'sk': 1, 'x': 'y'}",
        f"DELETE FROM Things {WHERE}2",
        "EXISTS(SELECT * FROM Others WHERE id = 'o')",
    ) == [
        {
            "TableName": NAME,
            "CapacityUnits": 18.0,
            "WriteCapacityUnits": 18.0,
            "Table": {"CapacityUnits": 12.0, "WriteCapacityUnits": 12.0},
            "GlobalSecondaryIndexes": {"by-x": {"CapacityUnits": 6.0, "WriteCapacityUnits": 6.0}},
        },
        {
            "TableName": "Others",
            "CapacityUnits": 2.0,
            "WriteCapacityUnits": 2.0,
            "Table": {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0},
        },
    ]


def test_capacity_of_reads(db):
    assert consumed(db, f"{SELECT}2", f"{SELECT}9 AND x = 'y'", "SELECT id FROM Others WHERE id = 'o'") == [
        {
            "TableName": NAME,
            "CapacityUnits": 6.0,
            "ReadCapacityUnits": 6.0,
            "Table": {"CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
        },
        {
            "TableName": "Others",
            "CapacityUnits": 2.0,
            "ReadCapacityUnits": 2.0,
            "Table": {"CapacityUnits": 2.0, "ReadCapacityUnits": 2.0},
        },
    ]

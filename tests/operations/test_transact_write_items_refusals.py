"""TransactWriteItems: what refuses the request as a whole, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.shorthand import SS, L, N, S
from tests.operations.transacting import check, delete, key, put, stored, update, write
from torusdb import Database
from torusdb.errors import ServiceError

OPERATION = "TransactWriteItems"
VALIDATION = "ValidationException"
ANNOUNCED = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "
TWICE = (VALIDATION, "Transaction request cannot include multiple operations on one item")
ONE_ACTION = (VALIDATION, "TransactItems can only contain one of Check, Put, Update or Delete")
NO_TABLE = ("ResourceNotFoundException", "Requested resource not found")
EMPTY_KEY = (
    VALIDATION,
    f"{NOT_VALID}The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
)


def refused_for(refused: Refusal, *members: Any, **parameters: Any) -> tuple[str, str | None]:
    return refused(OPERATION, {"TransactItems": list(members), **parameters})


# The request's shape.


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (None, f"{ANNOUNCED}Value null at 'transactItems' failed to satisfy constraint: Member must not be null"),
        (
            [],
            f"{ANNOUNCED}Value '[]' at 'transactItems' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1",
        ),
        (
            [{"Put": {"TableName": "Things"}}],
            f"{ANNOUNCED}Value null at 'transactItems.1.member.put.item' failed to satisfy constraint: "
            "Member must not be null",
        ),
        (
            [{"Put": {"Item": {}}}, {"Delete": {"TableName": "Things"}}],
            "2 validation errors detected: Value null at 'transactItems.1.member.put.tableName' failed to satisfy "
            "constraint: Member must not be null; Value null at 'transactItems.2.member.delete.key' failed to satisfy "
            "constraint: Member must not be null",
        ),
        (
            [{"Update": {"TableName": "Things", "Key": key("a")}}],
            f"{ANNOUNCED}Value null at 'transactItems.1.member.update.updateExpression' failed to satisfy constraint: "
            "Member must not be null",
        ),
        (
            [{"ConditionCheck": {"TableName": "Things", "Key": key("a")}}],
            f"{ANNOUNCED}Value null at 'transactItems.1.member.conditionCheck.conditionExpression' failed to satisfy "
            "constraint: Member must not be null",
        ),
        (
            [put("no spaces", "a")],
            f"{ANNOUNCED}Value 'no spaces' at 'transactItems.1.member.put.tableName' failed to satisfy constraint: "
            "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        ),
        (
            [put("t" * 256, "a")],
            f"{ANNOUNCED}Value '{'t' * 256}' at 'transactItems.1.member.put.tableName' failed to satisfy constraint: "
            "Member must have length less than or equal to 255",
        ),
        (
            [put("Things", "a", ReturnValuesOnConditionCheckFailure="ALL_NEW")],
            f"{ANNOUNCED}Value 'ALL_NEW' at 'transactItems.1.member.put.returnValuesOnConditionCheckFailure' failed to "
            "satisfy constraint: Member must satisfy enum value set: [ALL_OLD, NONE]",
        ),
    ],
)
def test_what_the_model_forbids(refused: Refusal, items: Any, message: str) -> None:
    assert refused(OPERATION, {"TransactItems": items}) == (VALIDATION, message)


@pytest.mark.parametrize(
    ("token", "constraint"),
    [
        ("", "Member must have length greater than or equal to 1"),
        ("t" * 37, "Member must have length less than or equal to 36"),
    ],
)
def test_a_token_has_up_to_36_characters(refused: Refusal, table: str, token: str, constraint: str) -> None:
    assert refused_for(refused, put(table, "a"), ClientRequestToken=token) == (
        VALIDATION,
        f"{ANNOUNCED}Value '{token}' at 'clientRequestToken' failed to satisfy constraint: {constraint}",
    )


def test_100_members_at_most(db: Database, refused: Refusal, table: str) -> None:
    code, message = refused_for(refused, *(put(table, str(n)) for n in range(101)))
    assert code == VALIDATION
    assert (message or "").startswith(f"{ANNOUNCED}Value '[TransactWriteItem(conditionCheck=null, put=Put(item={{pk=")
    assert (message or "").endswith(
        "]' at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100"
    )
    assert db.call("Scan", {"TableName": table})["Count"] == 0


# Members by themselves.


@pytest.mark.parametrize("member", [{}, {**put("Things", "a"), **delete("Things", "a")}])
def test_each_member_has_one_action(refused: Refusal, member: Any) -> None:
    assert refused_for(refused, put("Missing", ""), member) == ONE_ACTION


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (put("Missing", "a", x=SS()), f"{INVALID}An string set  may not be empty"),
        (put("Missing", "a", x=N("x")), "The parameter cannot be converted to a numeric value: x"),
        (delete("Missing", N("x")), "The parameter cannot be converted to a numeric value: x"),
        (put("Missing", "a", x=S("x" * 400 * 1024)), "Item size has exceeded the maximum allowed size"),
        (
            put("Missing", "a", ConditionExpression="x ="),
            'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="',
        ),
        (
            check("Missing", "a", "size(x)"),
            "Invalid ConditionExpression: The function is not allowed to be used this way in an expression; "
            "function: size",
        ),
        (
            delete("Missing", "a", ConditionExpression="attribute_exists(#x)"),
            "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; "
            "attribute name: #x",
        ),
        (
            update("Missing", "a", "SET x = :x"),
            "Invalid UpdateExpression: An expression attribute value used in expression is not defined; "
            "attribute value: :x",
        ),
        (
            update("Missing", "a", "SET x = :x", {":x": N(1), ":y": N(1)}),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:y}",
        ),
        (
            check("Missing", "a", "attribute_exists(x)", ExpressionAttributeNames={"#x": "x"}),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}",
        ),
        (
            put("Missing", "a", ExpressionAttributeNames={"x": "x"}),
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "x"',
        ),
        (
            put("Missing", "a", ConditionExpression="x = :x", ExpressionAttributeValues={}),
            "ExpressionAttributeValues must not be empty",
        ),
        (
            check("Missing", "a", "x = :x", ExpressionAttributeValues={":x": {}}),
            "ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty, must contain exactly "
            "one of the supported datatypes for key :x",
        ),
        (
            check("Missing", "a", " " * 4097),
            "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size;",
        ),
    ],
)
def test_members_are_checked_before_tables_are_looked_for(refused: Refusal, member: Any, message: str) -> None:
    assert refused_for(refused, put("Missing", "good"), member) == (VALIDATION, message)


def test_an_item_nested_too_deep_refuses_the_request(refused: Refusal, table: str) -> None:
    deep: Any = S("x")
    for _ in range(32):
        deep = L(deep)
    code, message = refused_for(refused, put(table, "a", x=deep))
    assert code == VALIDATION
    assert (message or "").startswith("Nesting Levels have exceeded supported limits")


# Tables.


def test_one_missing_table_refuses_the_request(db: Database, refused: Refusal, table: str) -> None:
    assert refused_for(refused, put(table, "a"), put("Missing", "a")) == NO_TABLE
    assert stored(db, table, "a") is None
    # Before keys, even of members that come first, and before items that are named twice.
    assert refused_for(refused, put(table, ""), put("Missing", "a")) == NO_TABLE
    assert refused_for(refused, delete(table, N(1)), put("Missing", "a")) == NO_TABLE
    assert refused_for(refused, put("Missing", "a"), put("Missing", "a")) == NO_TABLE


def test_tables_of_another_region_or_account_are_not_there(refused: Refusal, table: str) -> None:
    for arn in (
        f"arn:aws:dynamodb:eu-north-1:000000000000:table/{table}",
        f"arn:aws:dynamodb:us-east-1:111111111111:table/{table}",
    ):
        assert refused_for(refused, put(arn, "a")) == NO_TABLE


# Keys.


@pytest.mark.parametrize(
    "action",
    [
        lambda table: put(table, ""),
        lambda table: delete(table, ""),
        lambda table: check(table, "", "x = y"),
        lambda table: update(table, "", "REMOVE x"),
    ],
)
def test_an_empty_key_refuses_the_request(db: Database, refused: Refusal, table: str, action: Any) -> None:
    assert refused_for(refused, put(table, "good"), action(table)) == EMPTY_KEY
    # Even behind a key that would cancel it, and before items that are named twice.
    assert refused_for(refused, delete(table, N(1)), action(table)) == EMPTY_KEY
    assert refused_for(refused, put(table, "a"), put(table, "a"), action(table)) == EMPTY_KEY
    assert stored(db, table, "good") is None


def test_an_empty_index_key_refuses_the_request(refused: Refusal, make_table: MakeTable) -> None:
    table = make_table(globally={"by_g": ("g:S", "ALL")})
    assert refused_for(refused, put(table, "a", g=S(""))) == (
        VALIDATION,
        f"{NOT_VALID}A value specified for a secondary index key is not supported. The AttributeValue for a key "
        "attribute cannot contain an empty string value. IndexName: by_g, IndexKey: g",
    )
    assert refused_for(refused, update(table, "a", "SET g = :g", {":g": S("")})) == (
        VALIDATION,
        f"{NOT_VALID}The update expression attempted to update a secondary index key to a value that is not "
        "supported. The AttributeValue for a key attribute cannot contain an empty string value.",
    )


def test_no_item_may_be_named_twice(db: Database, refused: Refusal, make_table: MakeTable) -> None:
    table = make_table("pk:N")
    arn = db.call("DescribeTable", {"TableName": table})["Table"]["TableArn"]
    for members in (
        [put(table, N(1)), put(table, N(1))],
        [check(table, N(1), "attribute_not_exists(pk)"), put(table, N(1))],
        [delete(table, N(1)), put(table, N(2)), update(table, N("10e-1"), "REMOVE x")],
        [put(table, N(1)), put(arn, N(1))],
        # Before conditions.
        [check(table, N(1), "attribute_exists(pk)"), delete(table, N(1))],
    ):
        assert refused_for(refused, *members) == TWICE
    assert db.call("Scan", {"TableName": table})["Count"] == 0


def test_the_same_key_may_be_written_in_two_tables(db: Database, make_table: MakeTable) -> None:
    tables = [make_table("pk:S", "First"), make_table("pk:S", "Second")]
    write(db, *(put(table, "a") for table in tables))
    assert [stored(db, table, "a") for table in tables] == [key("a")] * 2


# The size of it all.

TOO_LARGE = (VALIDATION, "The aggregate size of the items in the transaction cannot exceed 4 MB")
BIG = 399 * 1024


def test_items_of_4_mb_at_most(db: Database, refused: Refusal, table: str) -> None:
    ten = [put(table, str(n), x=S("x" * BIG)) for n in range(10)]
    assert refused_for(refused, *ten, put(table, "10", x=S("x" * BIG))) == TOO_LARGE
    assert db.call("Scan", {"TableName": table, "Select": "COUNT"})["Count"] == 0
    write(db, *ten)
    # What is there counts as well.
    assert refused_for(refused, *(delete(table, str(n)) for n in range(10)), put(table, "10", x=S("x" * BIG))) == (
        TOO_LARGE
    )
    write(db, *(delete(table, str(n)) for n in range(10)))


def test_all_refusals_change_nothing(db: Database, table: str) -> None:
    """Whatever the fault of the last member, those before it have not been written."""
    write(db, put(table, "there", x=S("text")))
    for last in (
        {},
        put(table, ""),
        put("Missing", "a"),
        delete(table, N(1)),
        put(table, "a"),
        check(table, "a b", "attribute_exists(pk)"),
        update(table, "there", "ADD x :v", {":v": N(1)}),
    ):
        with pytest.raises(ServiceError):
            write(db, put(table, "a", y=N(1)), update(table, "b", "SET y = :v", {":v": N(1)}), last)
    assert db.call("Scan", {"TableName": table})["Items"] == [{"pk": S("there"), "x": S("text")}]

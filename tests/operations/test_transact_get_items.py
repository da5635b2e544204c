"""TransactGetItems."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.shorthand import L, M, N, S
from tests.operations.transacting import NONE, cancelled, get, key, put, write
from torusdb import Database

OPERATION = "TransactGetItems"
VALIDATION = "ValidationException"
ANNOUNCED = "1 validation error detected: "
MISMATCH = ("ValidationError", "The provided key element does not match the schema")


def read(db: Database, *members: Any, **parameters: Any) -> Any:
    return db.call(OPERATION, {"TransactItems": list(members), **parameters})


def test_items_come_in_the_order_asked_for(db: Database, make_table: MakeTable) -> None:
    first, second = make_table("pk:S", "First"), make_table("pk:S", "Second")
    write(db, put(first, "a", x=N(1)), put(first, "b", x=N(2)), put(second, "a", x=N(3)))
    wanted = [get(second, "a"), get(first, "b"), get(first, "missing"), get(first, "a")]
    assert read(db, *wanted) == {
        "Responses": [
            {"Item": {"pk": S("a"), "x": N(3)}},
            {"Item": {"pk": S("b"), "x": N(2)}},
            {},
            {"Item": {"pk": S("a"), "x": N(1)}},
        ]
    }


def test_parts_of_items(db: Database, table: str) -> None:
    write(db, put(table, "a", x=N(1), m=M(a=N(1), b=N(2)), l=L(N(1), N(2))))
    assert read(
        db,
        get(table, "a", ProjectionExpression="pk, #m.b, l[1]", ExpressionAttributeNames={"#m": "m"}),
    ) == {"Responses": [{"Item": {"pk": S("a"), "m": M(b=N(2)), "l": L(N(2))}}]}


def test_nothing_of_an_item_is_no_item(db: Database, table: str) -> None:
    write(db, put(table, "a", x=N(1)))
    absent = {"ProjectionExpression": "absent"}
    assert read(db, get(table, "a", **absent), get(table, "b", **absent)) == {"Responses": [{}, {}]}


def test_binary_values_come_as_bytes(db: Database, table: str) -> None:
    client = db.client()
    item = {"pk": S("a"), "b": {"B": b"\x00\xff"}}
    client.put_item(TableName=table, Item=item)
    assert read(db, get(table, "a")) == {"Responses": [{"Item": item}]}
    assert client.transact_get_items(TransactItems=[get(table, "a")])["Responses"] == [{"Item": item}]


def test_tables_may_be_named_by_their_arns(db: Database, table: str) -> None:
    arn = db.call("DescribeTable", {"TableName": table})["Table"]["TableArn"]
    write(db, put(table, "a"))
    assert read(db, get(arn, "a")) == {"Responses": [{"Item": key("a")}]}


def test_a_hundred_items(db: Database, table: str) -> None:
    write(db, *(put(table, str(n)) for n in range(100)))
    answer = read(db, *(get(table, str(n)) for n in range(100)))
    assert answer["Responses"] == [{"Item": key(str(n))} for n in range(100)]


def test_names_without_a_projection_are_let_pass(db: Database, table: str) -> None:
    assert read(db, get(table, "a", ExpressionAttributeNames={"#x": "x"})) == {"Responses": [{}]}


# Refusals.


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
            [{}],
            f"{ANNOUNCED}Value null at 'transactItems.1.member.get' failed to satisfy constraint: "
            "Member must not be null",
        ),
        (
            [{"Get": {"TableName": "Things"}}],
            f"{ANNOUNCED}Value null at 'transactItems.1.member.get.key' failed to satisfy constraint: "
            "Member must not be null",
        ),
        ([get("Missing", N("x"))], "The parameter cannot be converted to a numeric value: x"),
        (
            [get("Missing", "a", ProjectionExpression="x y")],
            'Invalid ProjectionExpression: Syntax error; token: "y", near: "x y"',
        ),
        (
            [get("Missing", "a", ProjectionExpression="x", ExpressionAttributeNames={"#x": "x"})],
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}",
        ),
        (
            [get("Missing", "a", ProjectionExpression="#x")],
            "Invalid ProjectionExpression: An expression attribute name used in the document path is not defined; "
            "attribute name: #x",
        ),
    ],
)
def test_members_are_checked_before_tables_are_looked_for(refused: Refusal, items: Any, message: str) -> None:
    assert refused(OPERATION, {"TransactItems": items}) == (VALIDATION, message)


def test_100_members_at_most(refused: Refusal, table: str) -> None:
    code, message = refused(OPERATION, {"TransactItems": [get(table, str(n)) for n in range(101)]})
    assert code == VALIDATION
    assert (message or "").startswith(f"{ANNOUNCED}Value '[TransactGetItem(get=Get(key={{pk=")
    assert (message or "").endswith("Member must have length less than or equal to 100")


def test_one_missing_table_refuses_the_request(refused: Refusal, table: str) -> None:
    for first in (get(table, "a"), get(table, N(1)), get("Missing", "a")):
        assert refused(OPERATION, {"TransactItems": [first, get("Missing", "a")]}) == (
            "ResourceNotFoundException",
            "Requested resource not found",
        )


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"pk": N(1)}, MISMATCH),
        ({}, MISMATCH),
        ({"pk": S("a"), "sk": S("b")}, MISMATCH),
        (
            {"pk": S("")},
            (
                "ValidationError",
                "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
                "empty string value. Key: pk",
            ),
        ),
        (
            {"pk": S("a" * 2049)},
            (
                "ValidationError",
                "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 "
                "bytes",
            ),
        ),
    ],
)
def test_the_first_key_that_does_not_fit_cancels_the_read(
    db: Database, table: str, wrong: Any, reason: tuple[str, str]
) -> None:
    bad = {"Get": {"TableName": table, "Key": wrong}}
    assert cancelled(db, get(table, "a"), bad, bad, operation=OPERATION) == [NONE, reason, NONE]


def test_no_item_may_be_named_twice(db: Database, refused: Refusal, make_table: MakeTable) -> None:
    table = make_table("pk:N")
    arn = db.call("DescribeTable", {"TableName": table})["Table"]["TableArn"]
    for again in (get(table, N("1.0")), get(arn, N(1)), get(table, N(1), ProjectionExpression="x")):
        assert refused(OPERATION, {"TransactItems": [get(table, N(1)), again]}) == (
            VALIDATION,
            "Transaction request cannot include multiple operations on one item",
        )


def test_items_of_4_mb_at_most(db: Database, refused: Refusal, table: str) -> None:
    for number in range(11):
        write(db, put(table, str(number), x=S("x" * 399 * 1024)))
    wanted = [get(table, str(number), ProjectionExpression="pk") for number in range(11)]
    assert refused(OPERATION, {"TransactItems": wanted}) == (
        VALIDATION,
        "The aggregate size of the items in the transaction cannot exceed 4 MB",
    )
    assert len(read(db, *wanted[:10])["Responses"]) == 10

"""BatchGetItem."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.shorthand import L, M, N, S
from torusdb import Database

VALIDATION = "ValidationException"
INVALID = "One or more parameter values were invalid: "
ANNOUNCED = "1 validation error detected: "
DUPLICATES = (VALIDATION, "Provided list of item keys contains duplicates")
RESPONSE_BYTES_MAX = 16 * 1024 * 1024


def keys(*names: str) -> list[dict[str, Any]]:
    return [{"pk": S(name)} for name in names]


def by_key(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda item: json.dumps(item["pk"]))


@pytest.fixture
def two_tables(db: Database, make_table: MakeTable) -> tuple[str, str]:
    """Two tables, each with the items a, b and c."""
    tables = make_table("pk:S", "First"), make_table("pk:S", "Second")
    for table in tables:
        for name in "abc":
            item = {"pk": S(name), "of": S(table), "m": M(x=N(1), y=N(2))}
            db.call("PutItem", {"TableName": table, "Item": item})
    return tables


def test_items_of_several_tables_come_together(db: Database, two_tables: tuple[str, str]) -> None:
    first, second = two_tables
    answer = db.call(
        "BatchGetItem",
        {
            "RequestItems": {
                first: {"Keys": keys("b", "missing", "a"), "ConsistentRead": True},
                second: {"Keys": keys("c"), "ProjectionExpression": "m.#x", "ExpressionAttributeNames": {"#x": "x"}},
            }
        },
    )
    assert by_key(answer["Responses"].pop(first)) == [
        {"pk": S(name), "of": S(first), "m": M(x=N(1), y=N(2))} for name in "ab"
    ]
    assert answer == {"Responses": {second: [{"m": M(x=N(1))}]}, "UnprocessedKeys": {}}


def test_a_table_without_a_match_has_an_empty_list(db: Database, table: str) -> None:
    answer = db.call("BatchGetItem", {"RequestItems": {table: {"Keys": keys("missing")}}})
    assert answer == {"Responses": {table: []}, "UnprocessedKeys": {}}


def test_the_legacy_projection(db: Database, two_tables: tuple[str, str]) -> None:
    request = {"RequestItems": {two_tables[0]: {"Keys": keys("a"), "AttributesToGet": ["of", "missing"]}}}
    assert db.call("BatchGetItem", request)["Responses"] == {"First": [{"of": S("First")}]}


def test_tables_may_be_named_by_their_arns(db: Database, two_tables: tuple[str, str]) -> None:
    arn = db.call("DescribeTable", {"TableName": "First"})["Table"]["TableArn"]
    request = {"RequestItems": {arn: {"Keys": keys("a")}}, "ReturnConsumedCapacity": "TOTAL"}
    answer = db.call("BatchGetItem", request)
    assert [item["pk"] for item in answer["Responses"][arn]] == [S("a")]
    assert answer["ConsumedCapacity"] == [{"TableName": arn, "CapacityUnits": 0.5}]


def test_100_keys_at_most(db: Database, refused: Refusal, two_tables: tuple[str, str]) -> None:
    first, second = two_tables

    def request(in_first: int, in_second: int) -> dict[str, Any]:
        counts = {first: in_first, second: in_second}
        return {
            "RequestItems": {table: {"Keys": keys(*map(str, range(count)))} for table, count in counts.items() if count}
        }

    db.call("BatchGetItem", request(100, 0))
    db.call("BatchGetItem", request(50, 50))
    assert refused("BatchGetItem", request(51, 50)) == (
        VALIDATION,
        "Too many items requested for the BatchGetItem call",
    )
    assert refused("BatchGetItem", request(101, 0)) == (
        VALIDATION,
        f"{ANNOUNCED}Value at 'RequestItems.First.member.Keys' failed to satisfy constraint: "
        "Member must have length less than or equal to 100",
    )


@pytest.mark.parametrize(
    ("request_items", "message"),
    [
        ({}, "The requestItems parameter is required for BatchGetItem"),
        (None, f"{ANNOUNCED}Value null at 'requestItems' failed to satisfy constraint: Member must not be null"),
        (
            {"Table": {}},
            f"{ANNOUNCED}Value null at 'requestItems.Table.member.keys' failed to satisfy constraint: "
            "Member must not be null",
        ),
        (
            {"Table": {"Keys": []}},
            f"{ANNOUNCED}Value '[]' at 'requestItems.Table.member.keys' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1",
        ),
    ],
)
def test_empty_requests_are_refused(refused: Refusal, request_items: Any, message: str) -> None:
    assert refused("BatchGetItem", {"RequestItems": request_items}) == (VALIDATION, message)


def test_no_key_may_stand_twice(refused: Refusal, make_table: MakeTable) -> None:
    for list_ in (keys("a", "b", "a"), [{"pk": N(1)}, {"pk": N("1.0")}]):
        assert refused("BatchGetItem", {"RequestItems": {"missing": {"Keys": list_}}}) == DUPLICATES
    table = make_table("pk:S sk:S")
    twice = [{"pk": S("a"), "sk": S("b")}, {"sk": S("b"), "pk": S("a")}]
    assert refused("BatchGetItem", {"RequestItems": {table: {"Keys": twice}}}) == DUPLICATES


def test_the_same_key_may_stand_in_two_tables(db: Database, two_tables: tuple[str, str]) -> None:
    answer = db.call("BatchGetItem", {"RequestItems": {table: {"Keys": keys("a")} for table in two_tables}})
    assert {name: len(items) for name, items in answer["Responses"].items()} == {"First": 1, "Second": 1}


def test_modern_and_legacy_parameters_exclude_one_another_over_all_tables(
    refused: Refusal, two_tables: tuple[str, str]
) -> None:
    first, second = two_tables
    message = (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
    )
    modern, legacy = {"ProjectionExpression": "pk"}, {"AttributesToGet": ["pk"]}
    for request_items in (
        {first: {"Keys": keys("a"), **modern, **legacy}},
        {first: {"Keys": keys("a"), **modern}, second: {"Keys": keys("a"), **legacy}},
        {first: {"Keys": keys("a"), **legacy}, second: {"Keys": keys("a"), **modern}},
    ):
        assert refused("BatchGetItem", {"RequestItems": request_items}) == (VALIDATION, message)


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (
            {"Keys": keys("a"), "ExpressionAttributeNames": {"#a": "a"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            {"Keys": keys("a"), "ProjectionExpression": ""},
            "Invalid ProjectionExpression: The expression can not be empty;",
        ),
        ({"Keys": keys("a"), "AttributesToGet": ["x", "x"]}, f"{INVALID}Duplicate value in attribute name: x"),
        (
            {"Keys": [{"pk": {}}]},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        ({"Keys": [{"pk": N("x")}]}, "The parameter cannot be converted to a numeric value: x"),
    ],
)
def test_parameters_are_checked_before_tables_are_looked_for(refused: Refusal, member: Any, message: str) -> None:
    assert refused("BatchGetItem", {"RequestItems": {"missing": member}}) == (VALIDATION, message)


def test_all_tables_must_be_there(refused: Refusal, table: str) -> None:
    request_items = {table: {"Keys": keys("a")}, "missing": {"Keys": keys("a")}}
    code, message = refused("BatchGetItem", {"RequestItems": request_items})
    assert (code, message) == ("ResourceNotFoundException", "Requested resource not found")


def test_keys_must_be_the_tables(refused: Refusal, table: str) -> None:
    for key in ({}, {"pk": N(1)}, {"pk": S("a"), "x": S("b")}):
        request = {"RequestItems": {table: {"Keys": [{"pk": S("b")}, key]}}}
        assert refused("BatchGetItem", request) == (
            VALIDATION,
            "The provided key element does not match the schema",
        )


def test_paths_into_keys_are_refused(refused: Refusal, table: str) -> None:
    request = {"RequestItems": {table: {"Keys": keys("a"), "ProjectionExpression": "pk[0]"}}}
    _, message = refused("BatchGetItem", request)
    assert message == (
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk"
    )


def test_what_goes_beyond_16_mb_is_left_and_can_be_asked_for_again(db: Database, table: str) -> None:
    size = 256 * 1024
    fit = RESPONSE_BYTES_MAX // size
    names = [f"{count:02}" for count in range(fit + 3)]
    value = S("x" * (size - len("pk" + "00" + "x")))
    for name in names:
        db.call("PutItem", {"TableName": table, "Item": {"pk": S(name), "x": value}})
    wanted = {
        "Keys": keys(*names),
        "ConsistentRead": True,
        "ProjectionExpression": "#pk",
        "ExpressionAttributeNames": {"#pk": "pk"},
    }

    answer = db.call("BatchGetItem", {"RequestItems": {table: wanted}, "ReturnConsumedCapacity": "TOTAL"})
    found = answer["Responses"][table]
    left = answer["UnprocessedKeys"]
    assert len(found) == fit
    assert left == {table: {**wanted, "Keys": left[table]["Keys"]}}
    assert answer["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": fit * size / 4096}]

    again = db.call("BatchGetItem", {"RequestItems": left})
    assert again["UnprocessedKeys"] == {}
    assert by_key(found + again["Responses"][table]) == keys(*names)


def test_what_is_left_has_no_members_that_the_request_did_not_have(db: Database, table: str) -> None:
    for name in range(50):
        db.call("PutItem", {"TableName": table, "Item": {"pk": S(str(name)), "x": S("x" * 400_000)}})
    answer = db.call("BatchGetItem", {"RequestItems": {table: {"Keys": keys(*map(str, range(50)))}}})
    assert list(answer["UnprocessedKeys"][table]) == ["Keys"]


def test_values_of_all_types_come_through(db: Database, table: str) -> None:
    item = {"pk": S("a"), "b": {"B": b"\x00\xff"}, "l": L({"BS": [b"x"]}, {"NULL": True}, {"BOOL": False})}
    db.call("PutItem", {"TableName": table, "Item": item})
    assert db.call("BatchGetItem", {"RequestItems": {table: {"Keys": keys("a")}}})["Responses"] == {table: [item]}

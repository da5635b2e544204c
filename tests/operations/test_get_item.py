"""GetItem: keys, projections, and the order of what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.shorthand import L, M, N, S
from torusdb import Database

VALIDATION = "ValidationException"
INVALID = "One or more parameter values were invalid: "
NO_MATCH = "The provided key element does not match the schema"
ITEM = {"pk": S("a"), "x": N(1), "m": M(a=S("1"), b=M(c=S("2"))), "l": L(S("0"), S("1"), M(a=S("3"), b=S("4")))}


@pytest.fixture
def filled(db: Database, table: str) -> str:
    """The table with one item."""
    db.call("PutItem", {"TableName": table, "Item": ITEM})
    return table


def test_an_item_is_given_as_it_is(db: Database, filled: str) -> None:
    for consistent in (True, False, None):
        request = {"TableName": filled, "Key": {"pk": S("a")}, "ConsistentRead": consistent}
        assert db.call("GetItem", request) == {"Item": ITEM}


def test_what_is_not_there_is_left_out(db: Database, filled: str) -> None:
    assert db.call("GetItem", {"TableName": filled, "Key": {"pk": S("b")}}) == {}


@pytest.mark.parametrize("key_type", ["S", "N", "B"])
def test_keys_of_all_types_are_found(db: Database, make_table: MakeTable, key_type: str) -> None:
    table = make_table(f"pk:{key_type} sk:{key_type}")
    value = {"S": S("a\x00b"), "N": N("-12.5"), "B": {"B": b"\x00\xff\x00"}}[key_type]
    db.call("PutItem", {"TableName": table, "Item": {"pk": value, "sk": value}})
    assert db.call("GetItem", {"TableName": table, "Key": {"sk": value, "pk": value}}) == {
        "Item": {"pk": value, "sk": value}
    }


def test_equal_numbers_are_one_key(db: Database, make_table: MakeTable) -> None:
    table = make_table("pk:N")
    db.call("PutItem", {"TableName": table, "Item": {"pk": N("1.0")}})
    for written in ("1", "01", "1e0", "+1", "10E-1"):
        assert db.call("GetItem", {"TableName": table, "Key": {"pk": N(written)}}) == {"Item": {"pk": N(1)}}


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("x", {"x": N(1)}),
        ("pk, absent", {"pk": S("a")}),
        ("absent", {}),
        ("m.a", {"m": M(a=S("1"))}),
        ("m.b.c, m.a", {"m": M(a=S("1"), b=M(c=S("2")))}),
        ("m.a.absent", {}),
        ("l[1]", {"l": L(S("1"))}),
        ("l[1], l[0]", {"l": L(S("0"), S("1"))}),
        ("l[9], x", {"x": N(1)}),
        ("l[2].b, l[0]", {"l": L(S("0"), M(b=S("4")))}),
        ("l[2].b, l[2].a", {"l": L(M(a=S("3"), b=S("4")))}),
        ("x[0]", {}),
        ("x.a", {}),
        ("#m.#a", {"m": M(a=S("1"))}),
    ],
)
def test_projections_give_the_parts_named(db: Database, filled: str, expression: str, shown: Any) -> None:
    request: dict[str, Any] = {"TableName": filled, "Key": {"pk": S("a")}, "ProjectionExpression": expression}
    if "#" in expression:
        request["ExpressionAttributeNames"] = {"#m": "m", "#a": "a"}
    assert db.call("GetItem", request) == {"Item": shown}


def test_the_legacy_projection_takes_names_literally(db: Database, filled: str) -> None:
    request = {"TableName": filled, "Key": {"pk": S("a")}}
    assert db.call("GetItem", {**request, "AttributesToGet": ["x", "m.a"]}) == {"Item": {"x": N(1)}}


@pytest.mark.parametrize(
    "key",
    [
        {},
        {"pk": N(1)},
        {"pk": {"SS": ["a"]}},
        {"other": S("a")},
        {"pk": S("a"), "other": S("a")},
    ],
)
def test_a_key_must_be_the_tables(refused: Refusal, table: str, key: Any) -> None:
    assert refused("GetItem", {"TableName": table, "Key": key}) == (VALIDATION, NO_MATCH)


def test_both_parts_of_a_key_are_needed(refused: Refusal, make_table: MakeTable) -> None:
    table = make_table("pk:S sk:S")
    for key in ({"pk": S("a")}, {"sk": S("a")}, {"pk": S("a"), "sk": N(1)}):
        assert refused("GetItem", {"TableName": table, "Key": key}) == (VALIDATION, NO_MATCH)


@pytest.mark.parametrize(
    ("pk", "message"),
    [
        (
            "",
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            "empty string value. Key: pk",
        ),
        ("a" * 2049, f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes"),
        ("é" * 1025, f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes"),
    ],
)
def test_keys_that_could_not_be_stored_are_refused(refused: Refusal, table: str, pk: str, message: str) -> None:
    assert refused("GetItem", {"TableName": table, "Key": {"pk": S(pk)}}) == (VALIDATION, message)


# What is refused, and in which order.

STAGES: list[tuple[dict[str, Any], str]] = [
    (
        {"AttributesToGet": ["x", "x"], "ProjectionExpression": ""},
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}",
    ),
    ({"Key": {"pk": {}}}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    ({"AttributesToGet": ["x", "x"]}, f"{INVALID}Duplicate value in attribute name: x"),
]


@pytest.mark.parametrize("stage", range(len(STAGES)))
def test_the_first_fault_in_the_services_order_is_told(refused: Refusal, stage: int) -> None:
    """The request has the faults of this stage and all later ones, and is for a table that isn't there."""
    request: dict[str, Any] = {"TableName": "missing", "Key": {"pk": S("a")}}
    for more, _ in reversed(STAGES[stage:]):
        request.update(more)
    assert refused("GetItem", request) == (VALIDATION, STAGES[stage][1])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"ExpressionAttributeNames": {"#a": "a"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        ({"ProjectionExpression": ""}, "Invalid ProjectionExpression: The expression can not be empty;"),
        (
            {"ProjectionExpression": "a", "ExpressionAttributeNames": {}},
            "ExpressionAttributeNames must not be empty",
        ),
        (
            {"ProjectionExpression": "a", "ExpressionAttributeNames": {"a": "a"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"',
        ),
        (
            {"ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": ""}},
            "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a",
        ),
        (
            {"ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": "n" * 65536}},
            "Attribute name is too large, must be less than 65536 bytes",
        ),
        (
            {"ProjectionExpression": "a", "ExpressionAttributeNames": {"#b": "b", "#a": "a"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}",
        ),
        (
            {"ProjectionExpression": "#a"},
            "Invalid ProjectionExpression: An expression attribute name used in the document path is not defined; "
            "attribute name: #a",
        ),
        (
            {"ProjectionExpression": "a, a.b"},
            "Invalid ProjectionExpression: Two document paths overlap with each other; must remove or rewrite one of "
            "these paths; path one: [a], path two: [a, b]",
        ),
        ({"Key": {"pk": {"NULL": False}}}, f"{INVALID}Null attribute value types must have the value of true"),
    ],
)
def test_parameters_are_checked_before_the_table_is_looked_for(
    refused: Refusal, more: dict[str, Any], message: str
) -> None:
    assert refused("GetItem", {"TableName": "missing", "Key": {"pk": S("a")}, **more}) == (VALIDATION, message)


def test_a_table_that_is_not_there(refused: Refusal) -> None:
    assert refused("GetItem", {"TableName": "missing", "Key": {}}) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )


def test_paths_into_keys_are_refused_once_the_key_fits(refused: Refusal, make_table: MakeTable) -> None:
    table = make_table(globally={"by_x": ("x:S", "ALL")})
    scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    for path, named in (("pk.a", "Key: pk"), ("x[0]", "IndexKey: x")):
        request = {"TableName": table, "Key": {"pk": S("a")}, "ProjectionExpression": path}
        assert refused("GetItem", request) == (VALIDATION, scalars + named)
        assert refused("GetItem", {**request, "Key": {}}) == (VALIDATION, NO_MATCH)


def test_several_broken_constraints_are_told_together(refused: Refusal) -> None:
    request = {"TableName": "a;", "ReturnConsumedCapacity": "hi", "AttributesToGet": []}
    assert refused("GetItem", request) == (
        VALIDATION,
        "4 validation errors detected: "
        "Value null at 'key' failed to satisfy constraint: Member must not be null; "
        "Value 'a;' at 'tableName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; "
        "Value 'hi' at 'returnConsumedCapacity' failed to satisfy constraint: "
        "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; "
        "Value '[]' at 'attributesToGet' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1",
    )

"""What a Query is refused for, and the service's words for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.reads import Item, conditions, item, placeholders, put, value_of
from torusdb import Database
from torusdb.errors import ServiceError

TABLE = "songs"
MISTYPED = "One or more parameter values were invalid: Condition parameter type does not match schema type"
UNSUPPORTED = "Query key condition not supported"
START_INVALID = "The provided starting key is invalid"
MISMATCH = "The provided key element does not match the schema"
ANNOUNCED = "1 validation error detected: "


@pytest.fixture(autouse=True)
def songs(make_table: MakeTable) -> None:
    make_table(
        "artist:S track:N",
        TABLE,
        locally={"by-date": ("artist:S date_:S", "KEYS_ONLY")},
        globally={"by-label": ("label:S year_:N", ["title"]), "by-genre": ("genre:S", "ALL")},
    )


@pytest.fixture
def refusal(refused: Refusal) -> Any:
    """`refusal(...)`: the message of the ValidationException that the Query must answer with."""

    def query(**request: Any) -> str | None:
        code, message = refused("Query", {"TableName": TABLE, **request})
        assert code == "ValidationException"
        return message

    return query


# What the expression says, before any table is looked at.

EXPRESSIONS = [
    ("", "Invalid KeyConditionExpression: The expression can not be empty;"),
    ("artist = :a OR track = :n", "Invalid operator used in KeyConditionExpression: OR"),
    ("artist = :a AND (track = :n OR track = :m)", "Invalid operator used in KeyConditionExpression: OR"),
    ("NOT artist = :a", "Invalid operator used in KeyConditionExpression: NOT"),
    ("artist IN (:a)", "Invalid operator used in KeyConditionExpression: IN"),
    ("artist <> :a", "Invalid operator used in KeyConditionExpression: <>"),
    ("contains(artist, :a)", "Invalid operator used in KeyConditionExpression: contains"),
    ("attribute_exists(artist)", "Invalid operator used in KeyConditionExpression: attribute_exists"),
    ("attribute_not_exists(artist)", "Invalid operator used in KeyConditionExpression: attribute_not_exists"),
    ("attribute_type(artist, :t)", "Invalid operator used in KeyConditionExpression: attribute_type"),
    (
        "artist = :a AND size(track) = :n",
        "Invalid KeyConditionExpression: KeyConditionExpressions cannot contain nested operations",
    ),
    (
        "artist.name_ = :a",
        "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes",
    ),
    (
        "artist = :a AND begins_with(track[0], :a)",
        "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes",
    ),
    (
        "artist = :a AND track > :n AND track < :m",
        "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
    ),
    (
        "artist = track",
        "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
    ),
    (":a = :b", "Invalid condition in KeyConditionExpression: No key attribute specified"),
    (
        ":n BETWEEN track AND :m",
        "Invalid condition in KeyConditionExpression: "
        "BETWEEN operator must have the key attribute as its first operand",
    ),
    (
        "begins_with(:a, artist)",
        "Invalid condition in KeyConditionExpression: "
        "begins_with operator must have the key attribute as its first operand",
    ),
    (
        "artist = :a AND track BETWEEN :m AND :n",
        "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to "
        "lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
    ),
    (
        "artist = :a AND track BETWEEN :n AND :a",
        "Invalid KeyConditionExpression: The BETWEEN operator requires same data type for lower and upper bounds; "
        "lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:x}",
    ),
    (
        "artist = :a AND begins_with(track, :n)",
        "Invalid KeyConditionExpression: Incorrect operand type for operator or function; "
        "operator or function: begins_with, operand type: N",
    ),
    (
        "artist = :a AND b = :b AND track = :n",
        "Conditions can be of length 1 or 2 only",
    ),
    (
        "artist = :absent",
        "Invalid KeyConditionExpression: An expression attribute value used in expression is not defined; "
        "attribute value: :absent",
    ),
    ("artist = :a AND", 'Invalid KeyConditionExpression: Syntax error; token: "<EOF>", near: "AND"'),
]


@pytest.mark.parametrize(("text", "message"), EXPRESSIONS)
@pytest.mark.parametrize("table", [TABLE, "no-such-table"])
def test_key_conditions_that_no_key_could_satisfy(refused: Refusal, text: str, message: str, table: str) -> None:
    values = {"a": "x", "b": "y", "n": 1, "m": 2, "t": "S"}
    used = placeholders(**{name: value for name, value in values.items() if f":{name}" in text.replace(":absent", "")})
    request: dict[str, Any] = {"TableName": table, "KeyConditionExpression": text}
    if used:
        request["ExpressionAttributeValues"] = used
    assert refused("Query", request) == ("ValidationException", message)


def test_a_query_without_a_key_condition(refusal: Any) -> None:
    assert refusal() == "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."


def compared(operator: str, *values: Any) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": [value_of(value) for value in values]}


ARTIST = {"artist": compared("EQ", "x")}
INVALID = "One or more parameter values were invalid: "


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "Conditions can be of length 1 or 2 only"),
        ({**ARTIST, "track": compared("EQ", 1), "more": compared("EQ", 1)}, "Conditions can be of length 1 or 2 only"),
        ({"artist": compared("EQ")}, f"{INVALID}Invalid number of argument(s) for the EQ ComparisonOperator"),
        (
            {**ARTIST, "track": compared("BETWEEN", 1)},
            f"{INVALID}Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
        (
            {**ARTIST, "track": compared("BETWEEN", 1, "2")},
            f"{INVALID}AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            {**ARTIST, "track": compared("BETWEEN", 2, 1)},
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
        ),
        (
            {**ARTIST, "track": compared("BEGINS_WITH", 2)},
            f"{INVALID}ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
        ),
    ],
)
@pytest.mark.parametrize("table", [TABLE, "no-such-table"])
def test_key_conditions_of_the_old_form_that_no_key_could_satisfy(
    refused: Refusal, members: dict[str, Any], message: str, table: str
) -> None:
    assert refused("Query", {"TableName": table, "KeyConditions": members}) == ("ValidationException", message)


# The key schema of the table or index.

UNINDEXABLE = "Attempted conditional constraint is not an indexable operation"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"track": compared("EQ", 1)}, "Query condition missed key schema element: artist"),
        ({"title": compared("EQ", "t")}, "Query condition missed key schema element: artist"),
        ({**ARTIST, "title": compared("EQ", "t")}, "Query condition missed key schema element: track"),
        ({"artist": compared("GT", "x")}, UNSUPPORTED),
        ({"artist": compared("BEGINS_WITH", "x"), "track": compared("EQ", 1)}, UNSUPPORTED),
        ({"artist": compared("EQ", 1)}, MISTYPED),
        ({"artist": compared("GT", 1)}, MISTYPED),
        ({**ARTIST, "track": compared("EQ", "1")}, MISTYPED),
        ({**ARTIST, "track": compared("BEGINS_WITH", "1")}, MISTYPED),
        ({**ARTIST, "track": compared("BETWEEN", "1", "2")}, MISTYPED),
        ({"artist": compared("NE", "x")}, UNINDEXABLE),
        ({**ARTIST, "track": compared("IN", 1, 2)}, UNINDEXABLE),
        ({**ARTIST, "track": compared("NOT_NULL")}, UNINDEXABLE),
        ({**ARTIST, "track": compared("CONTAINS", 1)}, UNINDEXABLE),
        ({**ARTIST, "track": compared("NOT_CONTAINS", 1)}, UNINDEXABLE),
        ({**ARTIST, "track": compared("NULL")}, UNINDEXABLE),
    ],
)
def test_key_conditions_that_the_schema_does_not_allow(refusal: Any, members: dict[str, Any], message: str) -> None:
    assert refusal(KeyConditions=members) == message


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("track = :n", {"n": 1}, "Query condition missed key schema element: artist"),
        ("artist = :a AND title = :t", {"a": "x", "t": "t"}, "Query condition missed key schema element: track"),
        ("artist > :a", {"a": "x"}, UNSUPPORTED),
        ("begins_with(artist, :a)", {"a": "x"}, UNSUPPORTED),
        ("artist BETWEEN :a AND :b", {"a": "x", "b": "y"}, UNSUPPORTED),
        ("artist = :n", {"n": 1}, MISTYPED),
        ("artist = :a AND track = :b", {"a": "x", "b": "1"}, MISTYPED),
        ("artist = :a AND begins_with(track, :b)", {"a": "x", "b": "1"}, MISTYPED),
    ],
)
def test_key_condition_expressions_that_the_schema_does_not_allow(
    refusal: Any, text: str, values: dict[str, Any], message: str
) -> None:
    assert refusal(**conditions(text, **values)) == message


@pytest.mark.parametrize(
    ("index", "text", "message"),
    [
        ("by-date", "artist = :s AND track = :n", "Query condition missed key schema element: date_"),
        ("by-label", "artist = :s", "Query condition missed key schema element: label"),
        ("by-label", "label = :s AND artist = :s", "Query condition missed key schema element: year_"),
        ("by-genre", "genre = :s AND artist = :s", UNSUPPORTED),
    ],
)
def test_an_index_has_a_key_of_its_own(refusal: Any, index: str, text: str, message: str) -> None:
    values = {name: value for name, value in {"s": "x", "n": 1}.items() if f":{name}" in text}
    assert refusal(IndexName=index, **conditions(text, **values)) == message


def test_three_conditions_are_too_many_for_an_index_of_two(refusal: Any) -> None:
    request = conditions("label = :s AND year_ = :n AND title = :s", s="x", n=1)
    assert refusal(IndexName="by-label", **request) == "Conditions can be of length 1 or 2 only"


NOT_VALID = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty"


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        (conditions("artist = :a", a=""), "artist"),
        ({"KeyConditions": {"artist": compared("EQ", "")}}, "artist"),
        ({"IndexName": "by-date", **conditions("artist = :a AND date_ = :d", a="x", d="")}, "date_"),
        ({"IndexName": "by-date", **conditions("artist = :a AND begins_with(date_, :d)", a="x", d="")}, "date_"),
        ({"IndexName": "by-date", **conditions("artist = :a AND date_ BETWEEN :d AND :a", a="x", d="")}, "date_"),
    ],
)
def test_no_key_is_empty(refusal: Any, request_: dict[str, Any], key: str) -> None:
    assert refusal(**request_) == f"{NOT_VALID} string value. Key: {key}"


def test_no_binary_key_is_empty(refused: Refusal, make_table: MakeTable) -> None:
    make_table("p:B", "binaries")
    _, message = refused("Query", {"TableName": "binaries", **conditions("p = :p", p=b"")})
    assert message == f"{NOT_VALID} binary value. Key: p"


def test_no_key_is_longer_than_keys_may_be(refusal: Any, db: Database) -> None:
    assert (
        refusal(**conditions("artist = :a", a="x" * 2049))
        == f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes"
    )
    too_long = conditions("artist = :a AND date_ > :d", a="x", d="é" * 513)
    assert (
        refusal(IndexName="by-date", **too_long)
        == f"{INVALID}Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
    )
    fitting = conditions("artist = :a AND date_ > :d", a="x" * 2048, d="é" * 512)
    assert db.call("Query", {"TableName": TABLE, "IndexName": "by-date", **fitting})["Count"] == 0


# Index, Select, filter, consistency.

BY_ARTIST = conditions("artist = :a", a="x")
BY_LABEL = {"IndexName": "by-label", **conditions("label = :l", l="x")}
BY_DATE = {"IndexName": "by-date", **BY_ARTIST}


def test_an_index_that_is_not_there(refusal: Any) -> None:
    message = "The table does not have the specified index: by-nothing"
    assert refusal(IndexName="by-nothing", **BY_ARTIST) == message


def test_a_table_that_is_not_there(refused: Refusal) -> None:
    answer = refused("Query", {"TableName": "no-such-table", **BY_ARTIST})
    assert answer == ("ResourceNotFoundException", "Requested resource not found")


def test_consistent_reads_of_a_global_index(refusal: Any, db: Database) -> None:
    message = "Consistent reads are not supported on global secondary indexes"
    assert refusal(ConsistentRead=True, **BY_LABEL) == message
    assert db.call("Query", {"TableName": TABLE, "ConsistentRead": True, **BY_DATE})["Count"] == 0


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"Select": "SPECIFIC_ATTRIBUTES"},
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            {"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "b"},
            "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
        ),
        (
            {"Select": "COUNT", "ProjectionExpression": "b"},
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES", "ProjectionExpression": "b"},
            "Cannot specify the ProjectionExpression when choosing to get ALL_PROJECTED_ATTRIBUTES",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
    ],
)
@pytest.mark.parametrize("table", [TABLE, "no-such-table"])
def test_what_select_does_not_go_with(refused: Refusal, request_: dict[str, Any], message: str, table: str) -> None:
    answer = refused("Query", {"TableName": table, **request_, **BY_ARTIST})
    assert answer == ("ValidationException", f"{ANNOUNCED}{message}")


def test_select_does_not_go_with_attributes_to_get_either(refusal: Any) -> None:
    message = refusal(Select="COUNT", AttributesToGet=["b"], KeyConditions=ARTIST)
    assert message == f"{ANNOUNCED}Cannot specify the AttributesToGet when choosing to get only the Count"


def test_all_attributes_of_a_global_index_that_has_not_all(refusal: Any) -> None:
    assert refusal(Select="ALL_ATTRIBUTES", **BY_LABEL) == (
        f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index by-label "
        "because its projection type is not ALL"
    )


def test_attributes_that_a_global_index_has_not(refusal: Any) -> None:
    message = refusal(ProjectionExpression="label, title, length_, lyrics.first_", **BY_LABEL)
    assert message == f"{INVALID}Global secondary index by-label does not project [length_, lyrics]"


@pytest.mark.parametrize(("name", "request_"), [("by-label", BY_LABEL), ("by-date", BY_DATE)])
def test_filters_on_what_an_index_has_not(refusal: Any, name: str, request_: dict[str, Any]) -> None:
    message = refusal(FilterExpression="attribute_exists(length_)", **request_)
    assert message == f"{INVALID}Secondary index {name} does not project one or more filter attributes: [length_]"


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        ({"FilterExpression": "artist <> track", **BY_ARTIST}, "artist"),
        ({"FilterExpression": "attribute_exists(track)", **BY_ARTIST}, "track"),
        ({"FilterExpression": "attribute_exists(track.x)", **BY_ARTIST}, "track"),
        ({"FilterExpression": "attribute_exists(date_)", **BY_DATE}, "date_"),
        ({"FilterExpression": "attribute_exists(year_)", **BY_LABEL}, "year_"),
    ],
)
def test_filters_on_the_key(refusal: Any, request_: dict[str, Any], key: str) -> None:
    words = "Filter Expression can only contain non-primary key attributes: Primary key attribute"
    assert refusal(**request_) == f"{words}: {key}"


def test_filters_of_the_old_form_on_the_key(refusal: Any) -> None:
    message = refusal(KeyConditions=ARTIST, QueryFilter={"track": compared("EQ", 1)})
    assert message == "QueryFilter can only contain non-primary key attributes: Primary key attribute: track"


def test_a_filter_may_look_at_the_tables_key_through_an_index(db: Database) -> None:
    put(db, TABLE, item(artist="a", track=1, label="x", year_=1), item(artist="b", track=1, label="x", year_=1))
    request = {"TableName": TABLE, "FilterExpression": "artist = :a", **BY_LABEL}
    request["ExpressionAttributeValues"] = placeholders(l="x", a="b")
    assert db.call("Query", request)["Items"] == [item(artist="b", track=1, label="x", year_=1)]


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        ({"ProjectionExpression": "track.x", **BY_ARTIST}, "Key: track"),
        ({"ProjectionExpression": "label[0]", **BY_ARTIST}, "IndexKey: label"),
        ({"FilterExpression": "attribute_exists(genre.x)", **BY_ARTIST}, "IndexKey: genre"),
    ],
)
def test_paths_into_keys(refusal: Any, request_: dict[str, Any], key: str) -> None:
    assert refusal(**request_) == (
        f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {key}"
    )


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one(refusal: Any, limit: int) -> None:
    assert refusal(Limit=limit, **BY_ARTIST) == (
        f"{ANNOUNCED}Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
    )


@pytest.mark.parametrize(
    ("old", "names"),
    [
        ({"QueryFilter": {"b": compared("EQ", 1)}}, "QueryFilter"),
        ({"AttributesToGet": ["b"]}, "AttributesToGet"),
        ({"KeyConditions": ARTIST}, "KeyConditions"),
        ({"ConditionalOperator": "AND"}, "ConditionalOperator"),
        ({"KeyConditions": ARTIST, "AttributesToGet": ["b"]}, "AttributesToGet, KeyConditions"),
    ],
)
def test_old_and_new_parameters_do_not_mix(refusal: Any, old: dict[str, Any], names: str) -> None:
    assert refusal(**old, **BY_ARTIST) == (
        "Can not use both expression and non-expression parameters in the same request: "
        f"Non-expression parameters: {{{names}}} Expression parameters: {{KeyConditionExpression}}"
    )


def test_old_key_conditions_go_with_a_filter_expression(db: Database) -> None:
    request = {"TableName": TABLE, "KeyConditions": ARTIST, "FilterExpression": "attribute_exists(b)"}
    assert db.call("Query", request)["Count"] == 0


# ExclusiveStartKey.


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({}, START_INVALID),
        (item(artist="x"), START_INVALID),
        (item(artist="x", track=1, title="t"), START_INVALID),
        (item(artist="x", title="t"), START_INVALID),
        (item(artist=1, track=1), MISMATCH),
        (item(artist="x", track="1"), MISMATCH),
        (item(artist="", track=1), f"{NOT_VALID} string value. Key: artist"),
        (
            {"artist": {}, "track": {"N": "1"}},
            f"{START_INVALID}: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            {"artist": {"S": "x", "N": "1"}, "track": {"N": "1"}},
            f"{START_INVALID}: Supplied AttributeValue has more than one datatypes set, "
            "must contain exactly one of the supported datatypes",
        ),
        (
            {"artist": {"S": "x"}, "track": {"N": "one"}},
            "The parameter cannot be converted to a numeric value: one",
        ),
        (
            item(artist="y", track=1),
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
    ],
)
def test_start_keys_that_no_page_of_the_table_ended_with(refusal: Any, start: Item, message: str) -> None:
    assert refusal(ExclusiveStartKey=start, **BY_ARTIST) == message


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (item(artist="x", track=1), START_INVALID),
        (item(artist="x", track=1, title="t"), START_INVALID),
        (item(label="x", track=1, artist="x", title="t"), START_INVALID),
        (item(label=1, year_=1, artist="x", track=1), MISMATCH),
        (item(label="x", year_="1", artist="x", track=1), MISMATCH),
        (item(label="x", year_=1, artist=1, track=1), f"{START_INVALID}: {MISMATCH}"),
        (item(label="x", year_=1, artist="x", title="t"), f"{START_INVALID}: {MISMATCH}"),
        (
            item(label="y", year_=1, artist="x", track=1),
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
    ],
)
def test_start_keys_that_no_page_of_the_index_ended_with(refusal: Any, start: Item, message: str) -> None:
    assert refusal(ExclusiveStartKey=start, **BY_LABEL) == message


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("condition", ["track = :n", "track > :n", "track BETWEEN :n AND :n", "track >= :n"])
def test_a_start_key_outside_the_bounds_of_the_sort_key(refusal: Any, condition: str, forward: bool) -> None:
    request = conditions(f"artist = :a AND {condition}", a="x", n=5)
    for artist in ("x", "y"):
        message = refusal(ExclusiveStartKey=item(artist=artist, track=4), ScanIndexForward=forward, **request)
        assert message == "The provided starting key does not match the range key predicate"


def test_a_start_key_in_bounds_but_of_another_partition(refusal: Any) -> None:
    request = conditions("artist = :a AND track > :n", a="x", n=5)
    message = refusal(ExclusiveStartKey=item(artist="y", track=6), **request)
    assert message == "The query can return at most one row and cannot be restarted"


def test_the_parameters_come_before_the_start_key_and_the_start_key_before_the_key_condition(refusal: Any) -> None:
    bad_start = {"ExclusiveStartKey": item(artist="x")}
    assert refusal(**bad_start, **conditions("track = :n", n=1)) == START_INVALID
    assert refusal(**bad_start, **conditions("artist > artist", n=1)) != START_INVALID


def test_refusals_are_validation_exceptions_of_400(db: Database) -> None:
    with pytest.raises(ServiceError) as caught:
        db.call("Query", {"TableName": TABLE, **conditions("artist = :a OR track = :a", a="x")})
    assert (caught.value.code, caught.value.status) == ("ValidationException", 400)

"""Scan: the whole table or index, once each, in any number of segments; and what it is refused for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.reads import Item, item, placeholders, put, read, value_of
from torusdb import Database

TABLE = "songs"
START_INVALID = "The provided starting key is invalid"
MISMATCH = "The provided key element does not match the schema"
NOT_VALID = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty"
INVALID = "One or more parameter values were invalid: "
ARTISTS = [f"artist {number}" for number in range(30)]


@pytest.fixture
def songs(db: Database, make_table: MakeTable) -> Database:
    """Thirty artists with two songs each; one of the two has a label."""
    make_table(
        "artist:S track:N",
        TABLE,
        locally={"by-date": ("artist:S date_:S", "KEYS_ONLY")},
        globally={"by-label": ("label:S", ["title"])},
    )
    for artist in ARTISTS:
        put(db, TABLE, item(artist=artist, track=1, title="one", label="blue", length_=3))
        put(db, TABLE, item(artist=artist, track=2, title="two", date_="2026"))
    return db


@pytest.fixture
def refusal(songs: Database, refused: Refusal) -> Any:
    """`refusal(...)`: the message of the ValidationException that the Scan must answer with."""

    def scan(**request: Any) -> str | None:
        code, message = refused("Scan", {"TableName": TABLE, **request})
        assert code == "ValidationException"
        return message

    return scan


def scan(db: Database, **request: Any) -> dict[str, Any]:
    return db.call("Scan", {"TableName": TABLE, **request})


def keys(items: list[Item]) -> list[tuple[str, str]]:
    return [(each["artist"]["S"], each["track"]["N"]) for each in items]


ALL_KEYS = sorted((artist, track) for artist in ARTISTS for track in ("1", "2"))


def test_it_shows_every_item_once(songs: Database) -> None:
    answer = scan(songs)
    assert sorted(keys(answer["Items"])) == ALL_KEYS
    assert answer["Count"] == answer["ScannedCount"] == len(ALL_KEYS)
    assert "LastEvaluatedKey" not in answer


def test_partitions_lie_together_in_the_order_of_their_sort_keys(songs: Database) -> None:
    found = keys(scan(songs)["Items"])
    assert found[::2] == [(artist, "1") for artist, _ in found[1::2]]


def test_an_empty_table_is_empty(db: Database, make_table: MakeTable) -> None:
    make_table(name=TABLE)
    assert scan(db) == {"Items": [], "Count": 0, "ScannedCount": 0}


@pytest.mark.parametrize("limit", [1, 7, 59, 60, 61])
def test_pages_of_any_limit_show_the_same(songs: Database, limit: int) -> None:
    assert read(songs, "Scan", {"TableName": TABLE, "Limit": limit}) == scan(songs)["Items"]


def test_a_page_that_limit_ends_at_the_last_item_says_so_too(songs: Database) -> None:
    answer = scan(songs, Limit=60)
    last = answer["Items"][-1]
    assert answer["LastEvaluatedKey"] == {"artist": last["artist"], "track": last["track"]}
    rest = scan(songs, Limit=60, ExclusiveStartKey=answer["LastEvaluatedKey"])
    assert rest == {"Items": [], "Count": 0, "ScannedCount": 0}


def test_a_filter_works_on_what_is_read(songs: Database) -> None:
    request = {"FilterExpression": "title = :t", "ExpressionAttributeValues": placeholders(t="two")}
    answer = scan(songs, Limit=10, **request)
    assert (answer["Count"], answer["ScannedCount"]) == (5, 10)
    assert {each["title"]["S"] for each in answer["Items"]} == {"two"}
    assert scan(songs, Select="COUNT", **request) == {"Count": 30, "ScannedCount": 60}


def test_a_filter_may_look_at_the_key(songs: Database) -> None:
    request = {"FilterExpression": "artist = :a", "ExpressionAttributeValues": placeholders(a="artist 7")}
    assert sorted(keys(scan(songs, **request)["Items"])) == [("artist 7", "1"), ("artist 7", "2")]


@pytest.mark.parametrize(("operator", "count"), [("AND", 0), ("OR", 60)])
def test_filters_of_the_old_form(songs: Database, operator: str, count: int) -> None:
    members = {
        "label": {"ComparisonOperator": "EQ", "AttributeValueList": [value_of("blue")]},
        "date_": {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [value_of("20")]},
    }
    assert scan(songs, ScanFilter=members, ConditionalOperator=operator)["Count"] == count


def test_a_projection_shows_what_it_names(songs: Database) -> None:
    shown = scan(songs, ProjectionExpression="title")["Items"]
    assert shown.count(item(title="one")) == shown.count(item(title="two")) == 30
    assert scan(songs, AttributesToGet=["title"])["Items"] == shown


# Segments.


@pytest.mark.parametrize("total", [1, 2, 3, 7, 50, 4096])
def test_segments_share_the_table_between_them(songs: Database, total: int) -> None:
    shares = [scan(songs, Segment=segment, TotalSegments=total)["Items"] for segment in range(total)]
    assert [each for share in shares for each in share] == scan(songs)["Items"]


def test_a_segment_has_whole_partitions(songs: Database) -> None:
    for segment in range(5):
        artists = [artist for artist, _ in keys(scan(songs, Segment=segment, TotalSegments=5)["Items"])]
        assert artists[::2] == artists[1::2]


def test_segments_are_read_page_by_page(songs: Database) -> None:
    for segment in range(3):
        request = {"TableName": TABLE, "Segment": segment, "TotalSegments": 3}
        assert read(songs, "Scan", {**request, "Limit": 3}) == songs.call("Scan", request)["Items"]


def test_a_million_segments_are_not_too_many(songs: Database) -> None:
    answer = scan(songs, Segment=999_999, TotalSegments=1_000_000)
    assert answer["ScannedCount"] <= 2


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"Segment": 1},
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present",
        ),
        (
            {"TotalSegments": 2},
            "The Segment parameter is required but was not present in the request "
            "when parameter TotalSegments is present",
        ),
        (
            {"Segment": 2, "TotalSegments": 2},
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            "Segment: 2 is not less than TotalSegments: 2",
        ),
        (
            {"Segment": -1, "TotalSegments": 2},
            "1 validation error detected: Value '-1' at 'segment' failed to satisfy constraint: "
            "Member must have value greater than or equal to 0",
        ),
        (
            {"Segment": 0, "TotalSegments": 0},
            "1 validation error detected: Value '0' at 'totalSegments' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1",
        ),
        (
            {"Segment": 0, "TotalSegments": 1_000_001},
            "1 validation error detected: Value '1000001' at 'totalSegments' failed to satisfy constraint: "
            "Member must have value less than or equal to 1000000",
        ),
        (
            {"Segment": 1_000_000, "TotalSegments": 1_000_000},
            "1 validation error detected: Value '1000000' at 'segment' failed to satisfy constraint: "
            "Member must have value less than or equal to 999999",
        ),
    ],
)
@pytest.mark.parametrize("table", [TABLE, "no-such-table"])
def test_segments_that_cannot_be(refused: Refusal, request_: dict[str, Any], message: str, table: str) -> None:
    assert refused("Scan", {"TableName": table, **request_}) == ("ValidationException", message)


def test_a_start_key_of_another_segment(songs: Database, refusal: Any) -> None:
    first = scan(songs, Segment=0, TotalSegments=2, Limit=1)["LastEvaluatedKey"]
    assert refusal(Segment=1, TotalSegments=2, ExclusiveStartKey=first) == (
        f"{START_INVALID}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
        "TotalSegments: 2 Segment: 1"
    )


# Start keys.


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({}, f"{START_INVALID}: {MISMATCH}"),
        (item(artist="x"), f"{START_INVALID}: {MISMATCH}"),
        (item(artist="x", track=1, title="t"), f"{START_INVALID}: {MISMATCH}"),
        (item(artist="x", title="t"), f"{START_INVALID}: {MISMATCH}"),
        (item(artist=1, track=1), f"{START_INVALID}: {MISMATCH}"),
        (item(artist="", track=1), f"{START_INVALID}: {NOT_VALID} string value. Key: artist"),
        (
            {"artist": {"SS": ["x", "x"]}, "track": {"N": "1"}},
            f"{INVALID}Input collection [x, x] contains duplicates.",
        ),
    ],
)
def test_start_keys_that_no_page_of_the_table_ended_with(refusal: Any, start: Item, message: str) -> None:
    assert refusal(ExclusiveStartKey=start) == message


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (item(artist="x", track=1), START_INVALID),
        (item(artist="x", track=1, title="t"), START_INVALID),
        (item(label=1, artist="x", track=1), MISMATCH),
        (item(label="x", artist="x", track="1"), f"{START_INVALID}: {MISMATCH}"),
    ],
)
def test_start_keys_that_no_page_of_the_index_ended_with(refusal: Any, start: Item, message: str) -> None:
    assert refusal(IndexName="by-label", ExclusiveStartKey=start) == message


def test_the_start_key_need_not_exist(songs: Database) -> None:
    whole = scan(songs)["Items"]
    start = {**{name: whole[20][name] for name in ("artist", "track")}, "track": {"N": "1.5"}}
    assert scan(songs, ExclusiveStartKey=start)["Items"] == whole[21:]


# Indexes, Select, refusals.


def test_a_global_index_shows_what_it_holds(songs: Database) -> None:
    answer = scan(songs, IndexName="by-label")
    assert answer["Count"] == 30
    assert all(set(each) == {"artist", "track", "label", "title"} for each in answer["Items"])


def test_a_local_index_shows_what_it_holds(songs: Database) -> None:
    answer = scan(songs, IndexName="by-date", ConsistentRead=True)
    assert answer["Count"] == 30
    assert all(set(each) == {"artist", "track", "date_"} for each in answer["Items"])


def test_a_local_index_fetches_what_it_does_not_hold(songs: Database) -> None:
    shown = scan(songs, IndexName="by-date", ProjectionExpression="title, date_")["Items"]
    assert shown == [item(title="two", date_="2026")] * 30
    whole = scan(songs, IndexName="by-date", Select="ALL_ATTRIBUTES")["Items"]
    assert all(set(each) == {"artist", "track", "date_", "title"} for each in whole)


@pytest.mark.parametrize("index", ["by-label", "by-date"])
def test_to_a_filter_what_an_index_does_not_hold_is_missing(songs: Database, index: str) -> None:
    answer = scan(songs, IndexName=index, FilterExpression="attribute_exists(length_)")
    assert (answer["Count"], answer["ScannedCount"]) == (0, 30)
    answer = scan(songs, IndexName="by-date", Select="ALL_ATTRIBUTES", FilterExpression="attribute_exists(title)")
    assert (answer["Count"], answer["ScannedCount"]) == (0, 30)


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
            {"Select": "COUNT", "AttributesToGet": ["b"]},
            "Cannot specify the AttributesToGet when choosing to get only the Count",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            {"Select": "ALL_ATTRIBUTES", "IndexName": "by-label"},
            f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index by-label "
            "because its projection type is not ALL",
        ),
        (
            {"ProjectionExpression": "length_", "IndexName": "by-label"},
            f"{INVALID}Global secondary index by-label does not project [length_]",
        ),
        (
            {"ConsistentRead": True, "IndexName": "by-label"},
            "Consistent reads are not supported on global secondary indexes",
        ),
        ({"IndexName": "by-nothing"}, "The table does not have the specified index: by-nothing"),
        (
            {"Limit": 0},
            "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1",
        ),
        (
            {"FilterExpression": "attribute_exists(track.x)"},
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: track",
        ),
        (
            {"AttributesToGet": ["b"], "FilterExpression": "attribute_exists(b)"},
            "Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {AttributesToGet} Expression parameters: {FilterExpression}",
        ),
        (
            {"AttributesToGet": ["b", "c", "b"]},
            f"{INVALID}Duplicate value in attribute name: b",
        ),
        ({"ConditionalOperator": "OR"}, "ConditionalOperator cannot be used without Filter or Expected"),
    ],
)
def test_what_a_scan_is_refused_for(refusal: Any, request_: dict[str, Any], message: str) -> None:
    assert refusal(**request_) == message


def test_a_table_that_is_not_there(refused: Refusal) -> None:
    answer = refused("Scan", {"TableName": "no-such-table"})
    assert answer == ("ResourceNotFoundException", "Requested resource not found")


# Capacity.


@pytest.mark.parametrize(("consistent", "units"), [(False, 1.5), (True, 3.0)])
def test_a_page_is_weighed_as_a_whole(db: Database, make_table: MakeTable, consistent: bool, units: float) -> None:
    make_table("p:S", TABLE)
    put(db, TABLE, *(item(p=f"{number}", b="b" * 4094) for number in (1, 2)), item(p="3"))
    answer = scan(db, ConsistentRead=consistent, ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"] == {
        "TableName": TABLE,
        "CapacityUnits": units,
        "Table": {"CapacityUnits": units},
    }


@pytest.mark.parametrize(("consistent", "units"), [(False, 0.5), (True, 1.0)])
def test_an_empty_page_costs_the_least(db: Database, make_table: MakeTable, consistent: bool, units: float) -> None:
    make_table(name=TABLE)
    answer = scan(db, ConsistentRead=consistent, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == {"TableName": TABLE, "CapacityUnits": units}

"""Reading through secondary indexes: what is in them, in which order, what they show and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torusdb
from tests.operations.conftest import MakeTable, table_request
from tests.operations.reads import Item, conditions, item, placeholders, put, read
from torusdb import Database
from torusdb.errors import ServiceError

TABLE = "songs"
LOCAL_KEY = "artist:S date_:S"
GLOBAL_KEY = "label:S date_:S"
PROJECTIONS: list[tuple[str, str | list[str]]] = [
    ("keys", "KEYS_ONLY"),
    ("some", ["title", "absent"]),
    ("all", "ALL"),
]
EVERYTHING = {"artist", "track", "label", "date_", "title", "length_"}


@pytest.fixture
def songs(db: Database, make_table: MakeTable) -> Database:
    """A table with a local and a global index for each kind of projection."""
    make_table(
        "artist:S track:N",
        TABLE,
        locally={f"local-{name}": (LOCAL_KEY, shown) for name, shown in PROJECTIONS},
        globally={f"global-{name}": (GLOBAL_KEY, shown) for name, shown in PROJECTIONS},
    )
    return db


def song(artist: str, track: int, date: str, label: str = "blue") -> Item:
    return item(artist=artist, track=track, date_=date, label=label, title=f"t{track}", length_=track)


def query(db: Database, index: str, **request: Any) -> dict[str, Any]:
    condition = conditions("label = :l", l="blue") if "global" in index else conditions("artist = :a", a="x")
    values = {**condition.pop("ExpressionAttributeValues"), **request.pop("ExpressionAttributeValues", {})}
    return db.call(
        "Query",
        {"TableName": TABLE, "IndexName": index, **condition, **request, "ExpressionAttributeValues": values},
    )


def tracks(answer: dict[str, Any]) -> list[int]:
    return [int(each["track"]["N"]) for each in answer["Items"]]


INDEXES = [f"{kind}-{name}" for kind in ("local", "global") for name, _ in PROJECTIONS]


@pytest.mark.parametrize("index", INDEXES)
def test_entries_come_in_the_order_of_the_indexs_key(songs: Database, index: str) -> None:
    put(songs, TABLE, *(song("x", track, date) for track, date in ((1, "c"), (2, "a"), (3, "b"))))
    assert tracks(query(songs, index)) == [2, 3, 1]
    assert tracks(query(songs, index, ScanIndexForward=False)) == [1, 3, 2]


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("lacking", ["date_", "label"])
def test_what_lacks_a_key_attribute_is_not_in_the_index(songs: Database, index: str, lacking: str) -> None:
    whole = song("x", 1, "a")
    put(songs, TABLE, whole, {name: value for name, value in song("x", 2, "b").items() if name != lacking})
    in_both = "local" in index and lacking == "label"
    assert tracks(query(songs, index)) == ([1, 2] if in_both else [1])


@pytest.mark.parametrize(
    ("index", "shown"),
    [
        ("local-keys", {"artist", "track", "date_"}),
        ("local-some", {"artist", "track", "date_", "title"}),
        ("local-all", EVERYTHING),
        ("global-keys", {"artist", "track", "label", "date_"}),
        ("global-some", {"artist", "track", "label", "date_", "title"}),
        ("global-all", EVERYTHING),
    ],
)
@pytest.mark.parametrize("select", [{}, {"Select": "ALL_PROJECTED_ATTRIBUTES"}])
def test_an_index_shows_what_is_projected_into_it(
    songs: Database, index: str, shown: set[str], select: dict[str, str]
) -> None:
    put(songs, TABLE, song("x", 1, "a"))
    assert [set(each) for each in query(songs, index, **select)["Items"]] == [shown]


@pytest.mark.parametrize("index", ["local-keys", "local-some", "local-all", "global-all"])
def test_all_attributes_are_shown_where_asked_for(songs: Database, index: str) -> None:
    put(songs, TABLE, song("x", 1, "a"))
    assert query(songs, index, Select="ALL_ATTRIBUTES")["Items"] == [song("x", 1, "a")]


@pytest.mark.parametrize("index", ["local-keys", "local-some", "local-all", "global-all"])
def test_a_projection_may_ask_for_what_only_the_table_has(songs: Database, index: str) -> None:
    put(songs, TABLE, song("x", 1, "a"))
    assert query(songs, index, ProjectionExpression="length_, date_")["Items"] == [item(length_=1, date_="a")]


@pytest.mark.parametrize("index", INDEXES)
def test_entries_follow_their_items(songs: Database, index: str) -> None:
    put(songs, TABLE, song("x", 1, "a"), song("x", 2, "b"), song("x", 3, "c"))
    put(songs, TABLE, song("x", 1, "d"))
    put(songs, TABLE, {name: value for name, value in song("x", 2, "b").items() if name != "date_"})
    songs.call("DeleteItem", {"TableName": TABLE, "Key": item(artist="x", track=3)})
    assert query(songs, index)["Items"][0]["date_"] == {"S": "d"}
    assert tracks(query(songs, index)) == [1]


@pytest.mark.parametrize("index", INDEXES)
def test_a_filter_looks_at_what_the_index_holds(songs: Database, index: str) -> None:
    put(songs, TABLE, song("x", 1, "a"), song("x", 2, "b"), song("x", 3, "c"))
    filtered = {"FilterExpression": "track > :n", "ExpressionAttributeValues": placeholders(n=1), "Limit": 2}
    answer = query(songs, index, **filtered)
    assert (tracks(answer), answer["Count"], answer["ScannedCount"]) == ([2], 1, 2)


# Equal keys, and where pages end.


@pytest.mark.parametrize("index", INDEXES)
def test_a_page_ends_with_the_keys_of_table_and_index(songs: Database, index: str) -> None:
    put(songs, TABLE, song("x", 1, "a"), song("x", 2, "b"))
    last = query(songs, index, Limit=1)["LastEvaluatedKey"]
    label = {"label": {"S": "blue"}} if "global" in index else {}
    assert last == {**item(artist="x", track=1, date_="a"), **label}


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 3, 20])
@pytest.mark.parametrize("index", ["local-keys", "global-keys"])
def test_entries_with_equal_keys_are_all_read_page_by_page(
    songs: Database, index: str, limit: int, forward: bool
) -> None:
    put(songs, TABLE, *(song("x", track, "a") for track in range(20)))
    condition = conditions("label = :l", l="blue") if "global" in index else conditions("artist = :a", a="x")
    request = {"TableName": TABLE, "IndexName": index, "ScanIndexForward": forward, **condition}
    found = read(songs, "Query", {**request, "Limit": limit})
    assert sorted(tracks({"Items": found})) == list(range(20))
    whole = read(songs, "Query", {**request, "ScanIndexForward": True})
    assert found == (whole if forward else whole[::-1])


def test_entries_with_equal_keys_come_in_no_order_of_the_table(songs: Database) -> None:
    """So that nobody who tests here comes to rely on one."""
    put(songs, TABLE, *(song("x", track, "a") for track in range(20)))
    for index in ("local-keys", "global-keys"):
        assert tracks(query(songs, index)) not in (list(range(20)), list(range(20))[::-1])


def test_numbers_are_the_sort_key_of_an_index(db: Database, make_table: MakeTable) -> None:
    make_table("p:S", TABLE, globally={"by-n": ("k:S n:N", "KEYS_ONLY")})
    ordered = ["-1000", "-1.5", "-1", "-0.01", "0", "0.01", "1", "1.5", "2", "10", "1000"]
    for number in sorted(ordered):
        put(db, TABLE, {"p": {"S": number}, "k": {"S": "k"}, "n": {"N": number}})
    condition = conditions("k = :k AND n BETWEEN :x AND :y", k="k", x=-1, y=10)
    answer = db.call("Query", {"TableName": TABLE, "IndexName": "by-n", **condition})
    assert [each["n"]["N"] for each in answer["Items"]] == ordered[2:10]


def test_a_tables_sort_key_may_be_an_indexs_partition_key(db: Database, make_table: MakeTable) -> None:
    make_table("p:S s:S", TABLE, globally={"turned": ("s:S p:S", "ALL")})
    put(db, TABLE, *(item(p=p, s=s) for p in "abc" for s in "xy"))
    request = {"TableName": TABLE, "IndexName": "turned", **conditions("s = :s AND p > :p", s="y", p="a")}
    assert read(db, "Query", {**request, "Limit": 1}) == [item(p="b", s="y"), item(p="c", s="y")]


# Capacity.


@pytest.fixture
def heavy(songs: Database) -> Database:
    """Three items of a little over 9,000 bytes, of which the indexes hold less than 100 each."""
    put(songs, TABLE, *({**song("x", track, "a"), "body": {"S": "b" * 9000}} for track in (1, 2, 3)))
    return songs


def consumed(db: Database, index: str, asked: str = "INDEXES", **request: Any) -> dict[str, Any]:
    answer: dict[str, Any] = query(db, index, ReturnConsumedCapacity=asked, **request)["ConsumedCapacity"]
    assert answer.pop("TableName") == TABLE
    return answer


@pytest.mark.parametrize(
    ("index", "kind"), [("local-keys", "LocalSecondaryIndexes"), ("global-keys", "GlobalSecondaryIndexes")]
)
def test_a_read_of_an_index_is_charged_to_it(heavy: Database, index: str, kind: str) -> None:
    assert consumed(heavy, index) == {
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.0},
        kind: {index: {"CapacityUnits": 0.5}},
    }
    assert consumed(heavy, index, "TOTAL") == {"CapacityUnits": 0.5}


def test_entries_are_weighed_by_what_the_index_holds(heavy: Database) -> None:
    assert consumed(heavy, "global-all", "TOTAL") == {"CapacityUnits": 3.5}
    assert consumed(heavy, "local-all", "TOTAL", ConsistentRead=True) == {"CapacityUnits": 7.0}


def test_an_empty_read_of_an_index_is_charged_to_it(songs: Database) -> None:
    assert consumed(songs, "global-keys") == {
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.0},
        "GlobalSecondaryIndexes": {"global-keys": {"CapacityUnits": 0.5}},
    }


@pytest.mark.parametrize("asked", [{"Select": "ALL_ATTRIBUTES"}, {"ProjectionExpression": "length_"}])
@pytest.mark.parametrize(("consistent", "table", "index"), [(False, 4.5, 0.5), (True, 9.0, 1.0)])
def test_items_that_a_local_index_fetches_are_charged_one_by_one(
    heavy: Database, asked: dict[str, str], consistent: bool, table: float, index: float
) -> None:
    assert consumed(heavy, "local-keys", ConsistentRead=consistent, **asked) == {
        "CapacityUnits": table + index,
        "Table": {"CapacityUnits": table},
        "LocalSecondaryIndexes": {"local-keys": {"CapacityUnits": index}},
    }


@pytest.mark.parametrize(
    "asked", [{"Select": "COUNT"}, {"ProjectionExpression": "date_, track"}, {"Select": "ALL_PROJECTED_ATTRIBUTES"}]
)
def test_what_a_local_index_holds_is_not_fetched(heavy: Database, asked: dict[str, str]) -> None:
    assert consumed(heavy, "local-keys", **asked)["Table"] == {"CapacityUnits": 0.0}


# Indexes that come and go.


@pytest.fixture
def slowly(tmp_path: Path) -> Iterator[Database]:
    """A database with a table that is there, whose changes take an hour."""
    with torusdb.open(tmp_path) as database:
        request = table_request("artist:S track:N", TABLE, {"by-label": ("label:S", "ALL")}, {}, {})
        database.call("CreateTable", request)
        put(database, TABLE, song("x", 1, "a"))
    with torusdb.open(tmp_path, table_delay_seconds=3600) as database:
        yield database


def refusal(db: Database, operation: str, request: dict[str, Any]) -> str | None:
    with pytest.raises(ServiceError) as caught:
        db.call(operation, request)
    assert caught.value.code == "ValidationException"
    return caught.value.message


READS = [("Query", conditions("label = :l", l="blue")), ("Scan", {})]


@pytest.mark.parametrize(("operation", "request_"), READS)
def test_an_index_in_the_making_is_not_read_from(slowly: Database, operation: str, request_: dict[str, Any]) -> None:
    made = table_request("label:S", TABLE, {}, {}, {})
    index = {"IndexName": "late", "KeySchema": made["KeySchema"], "Projection": {"ProjectionType": "ALL"}}
    definitions = made["AttributeDefinitions"]
    update = {"GlobalSecondaryIndexUpdates": [{"Create": index}], "AttributeDefinitions": definitions}
    slowly.call("UpdateTable", {"TableName": TABLE, **update})
    request = {"TableName": TABLE, "IndexName": "late", **request_}
    assert refusal(slowly, operation, request) == "Cannot read from backfilling global secondary index: late"
    assert tracks(slowly.call(operation, {**request, "IndexName": "by-label"})) == [1]


@pytest.mark.parametrize(("operation", "request_"), READS)
def test_an_index_that_is_being_deleted_is_gone(slowly: Database, operation: str, request_: dict[str, Any]) -> None:
    update = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-label"}}]}
    slowly.call("UpdateTable", {"TableName": TABLE, **update})
    message = refusal(slowly, operation, {"TableName": TABLE, "IndexName": "by-label", **request_})
    assert message == "The table does not have the specified index: by-label"

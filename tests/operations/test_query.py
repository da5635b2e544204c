"""Query on a table: what it finds, in which order, and what it says of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.operations.conftest import MakeTable
from tests.operations.reads import Item, conditions, item, placeholders, put, value_of
from torusdb import Database

TABLE = "songs"
NUMBERS = [-100, -3, -2, 0, 1, 2, 10, 99, 1000]


@pytest.fixture
def songs(db: Database, make_table: MakeTable) -> Database:
    """One artist with a song for each track number, and a neighbour whose songs must never show."""
    make_table("artist:S track:N", TABLE)
    put(db, TABLE, *(item(artist="a", track=track, title=f"t{track}") for track in reversed(NUMBERS)))
    put(db, TABLE, *(item(artist="ab", track=track) for track in NUMBERS))
    return db


def query(db: Database, **request: Any) -> dict[str, Any]:
    return db.call("Query", {"TableName": TABLE, **request})


def numbers(answer: dict[str, Any]) -> list[int]:
    return [int(each["track"]["N"]) for each in answer["Items"]]


def test_one_partition_is_read_in_the_order_of_its_sort_key(songs: Database) -> None:
    answer = query(songs, **conditions("artist = :a", a="a"))
    assert numbers(answer) == NUMBERS
    assert answer["Count"] == answer["ScannedCount"] == len(NUMBERS)
    assert "LastEvaluatedKey" not in answer
    assert answer["Items"][0] == item(artist="a", track=-100, title="t-100")


def test_backwards_it_is_read_from_the_end(songs: Database) -> None:
    answer = query(songs, ScanIndexForward=False, **conditions("artist = :a", a="a"))
    assert numbers(answer) == NUMBERS[::-1]


@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("track = :x", {"x": 1}, [1]),
        ("track = :x", {"x": 5}, []),
        ("track < :x", {"x": 1}, [-100, -3, -2, 0]),
        ("track <= :x", {"x": 1}, [-100, -3, -2, 0, 1]),
        ("track > :x", {"x": 1}, [2, 10, 99, 1000]),
        ("track >= :x", {"x": 1}, [1, 2, 10, 99, 1000]),
        ("track BETWEEN :x AND :y", {"x": -3, "y": 10}, [-3, -2, 0, 1, 2, 10]),
        ("track BETWEEN :x AND :y", {"x": 3, "y": 9}, []),
        ("track BETWEEN :x AND :x", {"x": 2}, [2]),
        (":x > track", {"x": 0}, [-100, -3, -2]),
        (":x >= track", {"x": 0}, [-100, -3, -2, 0]),
        (":x < track", {"x": 10}, [99, 1000]),
        (":x <= track", {"x": 10}, [10, 99, 1000]),
        (":x = track", {"x": 10}, [10]),
    ],
)
@pytest.mark.parametrize("forward", [True, False])
def test_the_sort_key_may_be_bounded(
    songs: Database, condition: str, values: dict[str, int], expected: list[int], forward: bool
) -> None:
    answer = query(songs, ScanIndexForward=forward, **conditions(f"artist = :a AND {condition}", a="a", **values))
    assert numbers(answer) == (expected if forward else expected[::-1])


LEGACY = [
    ("EQ", [1], [1]),
    ("LT", [1], [-100, -3, -2, 0]),
    ("LE", [1], [-100, -3, -2, 0, 1]),
    ("GT", [1], [2, 10, 99, 1000]),
    ("GE", [1], [1, 2, 10, 99, 1000]),
    ("BETWEEN", [-3, 0], [-3, -2, 0]),
]


@pytest.mark.parametrize(("operator", "values", "expected"), LEGACY)
def test_key_conditions_of_the_old_form_find_the_same(
    songs: Database, operator: str, values: list[int], expected: list[int]
) -> None:
    answer = query(
        songs,
        KeyConditions={
            "track": {"ComparisonOperator": operator, "AttributeValueList": [value_of(each) for each in values]},
            "artist": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]},
        },
    )
    assert numbers(answer) == expected


@pytest.mark.parametrize(
    "text",
    [
        "track > :x AND artist = :a",
        "(artist = :a) AND (track > :x)",
        "(artist = :a AND track > :x)",
        "artist = :a and track > :x",
        ":a = artist AND :x < track",
        "#artist = :a AND #track > :x",
    ],
)
def test_a_key_condition_may_be_written_in_many_ways(songs: Database, text: str) -> None:
    names = {"ExpressionAttributeNames": {"#artist": "artist", "#track": "track"}} if "#" in text else {}
    assert numbers(query(songs, **names, **conditions(text, a="a", x=10))) == [99, 1000]


@pytest.mark.parametrize(
    ("type_", "stored", "prefix", "expected"),
    [
        ("S", ["a", "ab", "abc", "ac", "b", "ab\x00", "ab\U0010ffff"], "ab", ["ab", "ab\x00", "abc", "ab\U0010ffff"]),
        ("S", ["é", "éa", "e", "f"], "é", ["é", "éa"]),
        ("B", [b"\x00", b"\x00\x00", b"\x00\xff", b"\x01", b"\xff"], b"\x00", [b"\x00", b"\x00\x00", b"\x00\xff"]),
        ("B", [b"\xff", b"\xff\xff", b"\xfe"], b"\xff", [b"\xff", b"\xff\xff"]),
    ],
)
@pytest.mark.parametrize("is_legacy", [False, True])
def test_begins_with_finds_all_that_begins_so(
    db: Database,
    make_table: MakeTable,
    type_: str,
    stored: list[Any],
    prefix: Any,
    expected: list[Any],
    is_legacy: bool,
) -> None:
    make_table(f"p:S s:{type_}", TABLE)
    put(db, TABLE, *(item(p="x", s=each) for each in stored))
    request = conditions("p = :p AND begins_with(s, :s)", p="x", s=prefix)
    if is_legacy:
        request = {
            "KeyConditions": {
                "p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]},
                "s": {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [value_of(prefix)]},
            }
        }
    assert [each["s"][type_] for each in query(db, **request)["Items"]] == expected


def test_strings_sort_by_their_utf8_bytes(db: Database, make_table: MakeTable) -> None:
    make_table("p:S s:S", TABLE)
    ordered = ["A", "B", "a", "aa", "b", "z", "é", "￿", "\U00010000"]
    put(db, TABLE, *(item(p="x", s=each) for each in sorted(ordered, key=hash)))
    assert [each["s"]["S"] for each in query(db, **conditions("p = :p", p="x"))["Items"]] == ordered


def test_numbers_of_a_condition_are_compared_as_numbers(songs: Database) -> None:
    request = conditions("artist = :a AND track = :n", a="a")
    request["ExpressionAttributeValues"][":n"] = {"N": "1.0e1"}
    assert numbers(query(songs, **request)) == [10]


def test_an_unknown_partition_is_empty(songs: Database) -> None:
    answer = query(songs, **conditions("artist = :a", a="nobody"))
    assert answer == {"Items": [], "Count": 0, "ScannedCount": 0}


# Limit, filters, counts.


def test_a_page_of_limit_items_says_where_it_ended(songs: Database) -> None:
    answer = query(songs, Limit=2, **conditions("artist = :a", a="a"))
    assert numbers(answer) == [-100, -3]
    assert answer["LastEvaluatedKey"] == item(artist="a", track=-3)


def test_a_page_that_limit_ends_at_the_last_item_says_so_too(songs: Database) -> None:
    condition = conditions("artist = :a", a="a")
    answer = query(songs, Limit=len(NUMBERS), **condition)
    assert answer["LastEvaluatedKey"] == item(artist="a", track=1000)
    rest = query(songs, ExclusiveStartKey=answer["LastEvaluatedKey"], Limit=1, **condition)
    assert rest == {"Items": [], "Count": 0, "ScannedCount": 0}


def test_a_limit_that_is_not_reached_ends_nothing(songs: Database) -> None:
    answer = query(songs, Limit=len(NUMBERS) + 1, **conditions("artist = :a", a="a"))
    assert len(answer["Items"]) == len(NUMBERS)
    assert "LastEvaluatedKey" not in answer


@pytest.mark.parametrize(("forward", "expected"), [(True, [1, 2, 10, 99, 1000]), (False, [-2, -3, -100])])
def test_reading_goes_on_behind_the_start_key(songs: Database, forward: bool, expected: list[int]) -> None:
    start = item(artist="a", track=0)
    answer = query(songs, ExclusiveStartKey=start, ScanIndexForward=forward, **conditions("artist = :a", a="a"))
    assert numbers(answer) == expected


@pytest.mark.parametrize(("forward", "expected"), [(True, [10, 99, 1000]), (False, [2, 1, 0, -2, -3, -100])])
def test_the_start_key_need_not_exist(songs: Database, forward: bool, expected: list[int]) -> None:
    start = item(artist="a", track=7)
    answer = query(songs, ExclusiveStartKey=start, ScanIndexForward=forward, **conditions("artist = :a", a="a"))
    assert numbers(answer) == expected


def test_limit_counts_what_is_read_not_what_the_filter_leaves(songs: Database) -> None:
    request = conditions("artist = :a", a="a", t="t-2")
    answer = query(songs, Limit=3, FilterExpression="title = :t", **request)
    assert (answer["Count"], answer["ScannedCount"], numbers(answer)) == (1, 3, [-2])
    assert answer["LastEvaluatedKey"] == item(artist="a", track=-2)
    answer = query(songs, Limit=2, FilterExpression="title = :t", **request)
    assert (answer["Count"], answer["ScannedCount"], answer["Items"]) == (0, 2, [])
    assert answer["LastEvaluatedKey"] == item(artist="a", track=-3)


def test_a_filter_of_the_old_form_filters(songs: Database) -> None:
    answer = query(
        songs,
        KeyConditions={"artist": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}},
        QueryFilter={
            "title": {"ComparisonOperator": "IN", "AttributeValueList": [{"S": "t1"}, {"S": "t99"}]},
            "nothing": {"ComparisonOperator": "NOT_NULL"},
        },
        ConditionalOperator="OR",
    )
    assert numbers(answer) == [1, 99]
    assert answer["ScannedCount"] == len(NUMBERS)


def test_a_filter_sees_what_the_projection_hides(songs: Database) -> None:
    answer = query(
        songs,
        FilterExpression="title = :t",
        ProjectionExpression="track",
        **conditions("artist = :a", a="a", t="t1"),
    )
    assert answer["Items"] == [item(track=1)]


@pytest.mark.parametrize("filtered", [False, True])
def test_a_count_shows_no_items(songs: Database, filtered: bool) -> None:
    request = conditions("artist = :a", a="a")
    if filtered:
        request["FilterExpression"] = "title IN (:t, :u)"
        request["ExpressionAttributeValues"] |= placeholders(t="t0", u="t2")
    answer = query(songs, Select="COUNT", **request)
    assert answer == {"Count": 2 if filtered else len(NUMBERS), "ScannedCount": len(NUMBERS)}


@pytest.mark.parametrize(
    "shown",
    [
        {"ProjectionExpression": "title, absent"},
        {"ProjectionExpression": "title", "Select": "SPECIFIC_ATTRIBUTES"},
        {"ProjectionExpression": "#t", "ExpressionAttributeNames": {"#t": "title"}},
    ],
)
def test_a_projection_shows_what_it_names_and_no_keys(songs: Database, shown: dict[str, Any]) -> None:
    answer = query(songs, **shown, **conditions("artist = :a AND track = :n", a="a", n=1))
    assert answer["Items"] == [item(title="t1")]


def test_attributes_to_get_show_the_same(songs: Database) -> None:
    answer = query(
        songs,
        AttributesToGet=["title"],
        KeyConditions={
            "artist": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]},
            "track": {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "1"}]},
        },
    )
    assert answer["Items"] == [item(title="t1")]


def test_an_item_without_what_is_shown_is_an_empty_one(songs: Database) -> None:
    answer = query(songs, ProjectionExpression="title", **conditions("artist = :a AND track = :n", a="ab", n=1))
    assert answer == {"Items": [{}], "Count": 1, "ScannedCount": 1}


# Capacity.


def big(number: int, size: int) -> Item:
    """An item of just `size` bytes: two names and values of 2 bytes, and the rest."""
    return item(p="x1", s=10 + number, b="b" * (size - 7))


@pytest.mark.parametrize(
    ("sizes", "consistent", "units"),
    [
        ([], False, 0.5),
        ([], True, 1.0),
        ([100], False, 0.5),
        ([4096], True, 1.0),
        ([4097], True, 2.0),
        ([2048, 2048], True, 1.0),
        ([2048, 2049], True, 2.0),
        ([4096, 4096, 1], False, 1.5),
    ],
)
def test_what_is_read_is_weighed_as_a_whole(
    db: Database, make_table: MakeTable, sizes: list[int], consistent: bool, units: float
) -> None:
    make_table("p:S s:N", TABLE)
    put(db, TABLE, *(big(number, max(size, 8)) for number, size in enumerate(sizes)))
    answer = query(db, ReturnConsumedCapacity="TOTAL", ConsistentRead=consistent, **conditions("p = :p", p="x1"))
    assert answer["ConsumedCapacity"] == {"TableName": TABLE, "CapacityUnits": units}


def test_neither_filter_nor_projection_nor_count_makes_it_cheaper(db: Database, make_table: MakeTable) -> None:
    make_table("p:S s:N", TABLE)
    put(db, TABLE, *(big(number, 4096) for number in range(4)))
    for cheaper in (
        {"FilterExpression": "attribute_not_exists(b)"},
        {"ProjectionExpression": "s"},
        {"Select": "COUNT"},
    ):
        answer = query(db, ReturnConsumedCapacity="INDEXES", **cheaper, **conditions("p = :p", p="x1"))
        assert answer["ConsumedCapacity"] == {
            "TableName": TABLE,
            "CapacityUnits": 2.0,
            "Table": {"CapacityUnits": 2.0},
        }


@pytest.mark.parametrize("asked", [{}, {"ReturnConsumedCapacity": "NONE"}])
def test_capacity_is_told_only_where_asked_for(songs: Database, asked: dict[str, str]) -> None:
    assert "ConsumedCapacity" not in query(songs, **asked, **conditions("artist = :a", a="a"))

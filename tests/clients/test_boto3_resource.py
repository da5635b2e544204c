"""boto3's resource, over HTTP and in the process."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary

from tests.clients.conftest import Connector

NINA = {"Artist": "Nina Simone", "Song": "Sinnerman"}


def test_a_table_is_made_described_and_dropped(connector: Connector, music: Any) -> None:
    music.wait_until_exists()
    music.reload()
    assert (music.table_status, music.item_count) == ("ACTIVE", 0)
    resource = connector.resource()
    assert [table.name for table in resource.tables.all()] == ["Music"]
    resource.Table("Music").delete()
    music.wait_until_not_exists()
    assert list(resource.tables.all()) == []


def test_python_values_come_back_as_they_were(music: Any) -> None:
    item = {
        **NINA,
        "Year": 1965,
        "Price": Decimal("12.50"),
        "Cover": b"\x89PNG\x00",
        "Tags": {"jazz", "live"},
        "Takes": {1, 2, 3},
        "Hashes": {b"\x00", b"\xff"},
        "Credits": [{"Piano": True}, None, []],
    }
    music.put_item(Item=item)
    assert music.get_item(Key=NINA)["Item"] == {
        **item,
        "Price": Decimal("12.5"),
        "Cover": Binary(b"\x89PNG\x00"),
        "Hashes": {Binary(b"\x00"), Binary(b"\xff")},
    }


def test_the_batch_writer_writes_in_as_many_batches_as_it_takes(music: Any) -> None:
    batches: list[int] = []
    music.meta.client.meta.events.register("after-call.dynamodb.BatchWriteItem", lambda **_: batches.append(1))
    with music.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"Artist": "Nina Simone", "Song": f"{number:02}"})
        batch.delete_item(Key={"Artist": "Nina Simone", "Song": "00"})
    assert len(batches) == 3
    assert [item["Song"] for item in music.scan()["Items"]] == [f"{number:02}" for number in range(1, 60)]


def test_the_batch_writer_keeps_the_last_of_equal_keys(music: Any) -> None:
    with music.batch_writer(overwrite_by_pkeys=["Artist", "Song"]) as batch:
        for plays in range(3):
            batch.put_item(Item={**NINA, "Plays": plays})
    assert music.scan()["Items"] == [{**NINA, "Plays": 2}]


@pytest.fixture
def songs(music: Any) -> Any:
    """Five songs, `a` to `e`, with Plays from 0 to 4; the odd ones have a Cover."""
    with music.batch_writer() as batch:
        for plays, song in enumerate("abcde"):
            batch.put_item(Item={"Artist": "x", "Song": song, "Plays": plays} | ({"Cover": "jpg"} if plays % 2 else {}))
    return music


def found(answer: dict[str, Any]) -> str:
    return "".join(item["Song"] for item in answer["Items"])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Key("Song").eq("b"), "b"),
        (Key("Song").lt("c"), "ab"),
        (Key("Song").lte("c"), "abc"),
        (Key("Song").gt("c"), "de"),
        (Key("Song").gte("c"), "cde"),
        (Key("Song").between("b", "d"), "bcd"),
        (Key("Song").begins_with("e"), "e"),
    ],
)
def test_key_conditions_are_objects(songs: Any, condition: Any, expected: str) -> None:
    assert found(songs.query(KeyConditionExpression=Key("Artist").eq("x") & condition)) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Attr("Plays").ne(2), "abde"),
        (Attr("Plays").is_in([0, 4]), "ae"),
        (Attr("Cover").exists(), "bd"),
        (Attr("Cover").not_exists() & Attr("Plays").gt(0), "ce"),
        (~Attr("Cover").contains("p") | Attr("Plays").eq(1), "abce"),
        (Attr("Cover").size().gte(3), "bd"),
        (Attr("Plays").attribute_type("N") & Attr("Cover").begins_with("j"), "bd"),
    ],
)
def test_filters_are_objects(songs: Any, condition: Any, expected: str) -> None:
    assert found(songs.scan(FilterExpression=condition)) == expected


def test_a_write_has_its_condition_as_an_object(songs: Any) -> None:
    absent = songs.meta.client.exceptions.ConditionalCheckFailedException
    key = {"Artist": "x", "Song": "b"}
    update = {"UpdateExpression": "SET Cover = :c", "ExpressionAttributeValues": {":c": "png"}}
    with pytest.raises(absent):
        songs.update_item(Key=key, ConditionExpression=Attr("Cover").eq("png"), **update)
    songs.update_item(Key=key, ConditionExpression=Attr("Cover").eq("jpg"), **update)
    assert songs.get_item(Key=key)["Item"]["Cover"] == "png"


def test_pages_of_the_resource_go_on_from_the_last_key(songs: Any) -> None:
    pages, start = [], {}
    while not pages or start:
        answer = songs.scan(Limit=2, **start)
        pages.append(found(answer))
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]} if "LastEvaluatedKey" in answer else {}
    assert pages == ["ab", "cd", "e"]


def test_tables_are_read_together(connector: Connector, songs: Any) -> None:
    wanted = {"Music": {"Keys": [{"Artist": "x", "Song": song} for song in "ace"], "ProjectionExpression": "Plays"}}
    answer = connector.resource().batch_get_item(RequestItems=wanted)
    assert sorted(item["Plays"] for item in answer["Responses"]["Music"]) == [0, 2, 4]

"""ListStreams, DescribeStream, GetShardIterator, GetRecords: what they tell and what they refuse."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from msgspec.structs import replace

from tests.jobs.by_hand import NOON, ByHand
from tests.operations.conftest import table_request
from tests.operations.reading_streams import iterator_at, read_from, read_shard, read_stream, shards_of
from tests.operations.shorthand import N, S
from torusdb import errors
from torusdb.storage import driver
from torusdb.storage.commands import Command, Commit

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
OFF = {"StreamEnabled": False}
NO_SHARD = ("ResourceNotFoundException", "Requested resource not found: Shard does not exist")
TRIMMED = ("TrimmedDataAccessException", "The data you are trying to access has been trimmed")
INVALID_ITERATOR = ("ValidationException", "Invalid ShardIterator")
HOUR, DAY = 3600, 86_400


def create(hand: ByHand, name: str = "Things", key: str = "pk:S", **more: Any) -> str:
    settings = {"StreamSpecification": STREAM, **more}
    if "ProvisionedThroughput" in more:
        settings["BillingMode"] = "PROVISIONED"
    arn: str = hand.call("CreateTable", **table_request(key, name, {}, {}, settings))["LatestStreamArn"]
    return arn


def put(hand: ByHand, *keys: str, name: str = "Things") -> None:
    for key in keys:
        hand.call("PutItem", TableName=name, Item={"pk": S(key), "at": N(repr(hand.clock))})


def switch(hand: ByHand, stream: dict[str, Any], name: str = "Things") -> Any:
    return hand.call("UpdateTable", TableName=name, StreamSpecification=stream)


def described(hand: ByHand, arn: str, **more: Any) -> Any:
    return hand.call("DescribeStream", StreamArn=arn, **more)["StreamDescription"]


def keys_of(records: list[Any]) -> list[str]:
    return [record["dynamodb"]["Keys"]["pk"]["S"] for record in records]


# ListStreams


def test_streams_are_listed_by_arn_in_pages(hand: ByHand) -> None:
    assert hand.call("ListStreams") == {"Streams": []}
    arns = [create(hand, name) for name in ("bee", "ant", "cow")]
    hand.call("CreateTable", **table_request("pk:S", "silent", {}, {}, {}))
    in_order = sorted(arns)
    label = in_order[0].rpartition("/")[2]
    first = hand.call("ListStreams", Limit=1)
    assert first == {
        "Streams": [{"StreamArn": in_order[0], "StreamLabel": label, "TableName": "ant"}],
        "LastEvaluatedStreamArn": in_order[0],
    }
    rest = hand.call("ListStreams", Limit=2, ExclusiveStartStreamArn=in_order[0])
    assert [stream["StreamArn"] for stream in rest.pop("Streams")] == in_order[1:]
    assert rest == {}
    assert hand.call("ListStreams", TableName="bee")["Streams"][0]["StreamArn"] == arns[0]
    assert hand.call("ListStreams", TableName="nobody") == {"Streams": []}


@pytest.mark.parametrize(("operation", "most"), [("ListStreams", 100), ("DescribeStream", 100), ("GetRecords", 1000)])
def test_limits_have_bounds(hand: ByHand, operation: str, most: int) -> None:
    params: dict[str, Any] = {
        "ListStreams": {},
        "DescribeStream": {"StreamArn": "a" * 37},
        "GetRecords": {"ShardIterator": "x"},
    }[operation]
    form = "1 validation error detected: Value '{}' at 'limit' failed to satisfy constraint: Member must have value {}"
    for limit, rule in ((0, "greater than or equal to 1"), (most + 1, f"less than or equal to {most}")):
        assert hand.refused(operation, **params, Limit=limit) == ("ValidationException", form.format(limit, rule))


def test_several_constraints_are_told_together(hand: ByHand) -> None:
    code, message = hand.refused("GetShardIterator", StreamArn="short", ShardIteratorType="OLDEST")
    assert code == "ValidationException"
    assert message is not None
    assert message.startswith("3 validation errors detected: Value 'short' at 'streamArn' failed to satisfy")
    assert "Value null at 'shardId' failed to satisfy constraint: Member must not be null" in message
    assert "Value 'OLDEST' at 'shardIteratorType'" in message


# DescribeStream


def test_a_stream_is_described(hand: ByHand) -> None:
    arn = create(hand, key="pk:S sk:N")
    description = described(hand, arn)
    (shard,) = description.pop("Shards")
    assert description == {
        "CreationRequestDateTime": NOON,
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "StreamArn": arn,
        "StreamLabel": arn.rpartition("/")[2],
        "StreamStatus": "ENABLED",
        "StreamViewType": "NEW_AND_OLD_IMAGES",
        "TableName": "Things",
    }
    assert shard.keys() == {"SequenceNumberRange", "ShardId"}
    assert 28 <= len(shard["ShardId"]) <= 65
    (starting,) = shard["SequenceNumberRange"].values()
    assert len(starting) == 21
    assert starting.isdigit()


def test_a_stream_that_is_not_there_is_told_by_its_arn(hand: ByHand) -> None:
    arn = create(hand).replace("Things", "Nothing")
    refusal = ("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found")
    assert hand.refused("DescribeStream", StreamArn=arn) == refusal
    shard_id = "shardId-00000001550719748929-e0a2afc5"
    params = {"ShardId": shard_id, "ShardIteratorType": "LATEST"}
    assert hand.refused("GetShardIterator", StreamArn=arn, **params) == refusal


def test_shards_come_in_pages_and_by_their_parent(hand: ByHand) -> None:
    arn = create(hand, ProvisionedThroughput={"ReadCapacityUnits": 9000, "WriteCapacityUnits": 1})
    first = shards_of(hand.call, arn)
    assert len(first) == 4
    hand.advance(4 * HOUR)
    shards = shards_of(hand.call, arn)
    assert len(shards) == 8
    assert shards == shards_of(hand.call, arn, limit=3) == shards_of(hand.call, arn, limit=8)
    assert described(hand, arn, Limit=8).get("LastEvaluatedShardId") is None
    for shard in shards[4:]:
        parent = {"Type": "CHILD_SHARDS", "ShardId": shard["ParentShardId"]}
        assert described(hand, arn, ShardFilter=parent)["Shards"] == [shard]
    childless = {"Type": "CHILD_SHARDS", "ShardId": shards[-1]["ShardId"]}
    assert described(hand, arn, ShardFilter=childless)["Shards"] == []
    code, _ = hand.refused("DescribeStream", StreamArn=arn, ShardFilter={"Type": "CHILD_SHARDS"})
    assert code == "ValidationException"


# Enabling and disabling


def test_a_disabled_stream_is_read_for_a_day_more(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, "a", "b")
    hand.clock += HOUR
    switch(hand, OFF)
    put(hand, "c")
    assert described(hand, arn)["StreamStatus"] == "DISABLED"
    (shard,) = shards_of(hand.call, arn)
    records, ended = read_from(hand.call, iterator_at(hand.call, arn, shard["ShardId"]))
    assert keys_of(records) == ["a", "b"]
    assert ended
    assert shard["SequenceNumberRange"]["EndingSequenceNumber"] == records[-1]["dynamodb"]["SequenceNumber"]
    assert shard["SequenceNumberRange"]["StartingSequenceNumber"] == records[0]["dynamodb"]["SequenceNumber"]

    hand.advance(22.9 * HOUR)
    assert keys_of(read_stream(hand.call, arn)) == ["a", "b"]
    hand.advance(0.2 * HOUR)
    assert read_stream(hand.call, arn) == []
    hand.advance(HOUR)
    assert hand.call("ListStreams") == {"Streams": []}
    assert hand.refused("DescribeStream", StreamArn=arn)[0] == "ResourceNotFoundException"


def test_a_stream_enabled_again_is_another_one(hand: ByHand) -> None:
    first = create(hand)
    put(hand, "a")
    switch(hand, OFF)
    second = switch(hand, {**STREAM, "StreamViewType": "KEYS_ONLY"})["LatestStreamArn"]
    put(hand, "b")
    assert first != second
    assert [stream["StreamArn"] for stream in hand.call("ListStreams", TableName="Things")["Streams"]] == [
        first,
        second,
    ]
    assert keys_of(read_stream(hand.call, first)) == ["a"]
    assert keys_of(read_stream(hand.call, second)) == ["b"]
    assert described(hand, first)["StreamStatus"] == "DISABLED"
    assert described(hand, second)["StreamStatus"] == "ENABLED"
    assert described(hand, first)["StreamViewType"] == "NEW_AND_OLD_IMAGES"


def test_a_stream_outlives_its_table(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, "a")
    hand.call("DeleteTable", TableName="Things")
    hand.run_jobs()
    another = create(hand)
    put(hand, "b")
    assert arn != another
    assert keys_of(read_stream(hand.call, arn)) == ["a"]
    assert keys_of(read_stream(hand.call, another)) == ["b"]
    assert described(hand, arn)["StreamStatus"] == "DISABLED"
    hand.advance(DAY + HOUR)
    assert [stream["StreamArn"] for stream in hand.call("ListStreams")["Streams"]] == [another]


def test_phases_are_told(hand: ByHand) -> None:
    slow = ByHand(table_delay_seconds=10)
    arn = create(slow)
    assert described(slow, arn)["StreamStatus"] == "ENABLING"
    slow.advance(10)
    assert described(slow, arn)["StreamStatus"] == "ENABLED"
    put(slow, "a")
    switch(slow, OFF)
    assert described(slow, arn)["StreamStatus"] == "DISABLING"
    slow.advance(10)
    assert described(slow, arn)["StreamStatus"] == "DISABLED"
    another = switch(slow, STREAM)["LatestStreamArn"]
    assert described(slow, another)["StreamStatus"] == "ENABLING"
    slow.advance(10)
    slow.call("DeleteTable", TableName="Things")
    assert described(slow, another)["StreamStatus"] == "DISABLING"
    slow.advance(10)
    assert described(slow, another)["StreamStatus"] == "DISABLED"
    slow.close()


def test_streams_are_there_when_the_database_is_opened_again(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, "a")
    hand.advance(4 * HOUR)
    put(hand, "b")
    before = described(hand, arn)
    hand.reopen()
    assert described(hand, arn) == before
    put(hand, "c")
    assert keys_of(read_stream(hand.call, arn)) == ["a", "b", "c"]


# Iterators


def test_an_iterator_begins_where_it_is_told_to(hand: ByHand) -> None:
    arn = create(hand)
    for key in "abcde":
        put(hand, key)
        hand.clock += 10
    (shard,) = shards_of(hand.call, arn)
    shard_id = shard["ShardId"]
    numbers = [record["dynamodb"]["SequenceNumber"] for record in read_stream(hand.call, arn)]

    def begins(kind: str, **more: Any) -> list[str]:
        return keys_of(read_from(hand.call, iterator_at(hand.call, arn, shard_id, kind, **more))[0])

    assert begins("TRIM_HORIZON") == list("abcde")
    latest = iterator_at(hand.call, arn, shard_id, "LATEST")
    assert read_from(hand.call, latest) == ([], False)
    assert begins("AT_SEQUENCE_NUMBER", SequenceNumber=numbers[2]) == list("cde")
    assert begins("AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[2]) == list("de")
    assert begins("AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[4]) == []
    for seconds, first in ((-DAY, "abcde"), (0, "abcde"), (1, "bcde"), (10, "bcde"), (39, "e"), (40, "e"), (41, "")):
        assert begins("AT_TIMESTAMP", Timestamp=NOON + seconds) == list(first), seconds
    put(hand, "f")
    assert keys_of(read_from(hand.call, latest)[0]) == ["f"]
    assert begins("AT_TIMESTAMP", Timestamp=hand.clock) == ["f"]


@pytest.mark.parametrize(
    "params",
    [
        {"ShardIteratorType": "AT_SEQUENCE_NUMBER"},
        {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": "1" * 20 + "x"},
        {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": "0" * 21},
        {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": "9" * 40},
        {"ShardIteratorType": "AT_TIMESTAMP"},
        {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": NOON + 1},
    ],
)
def test_a_place_that_makes_no_sense_is_refused(hand: ByHand, params: dict[str, Any]) -> None:
    arn = create(hand)
    (shard,) = shards_of(hand.call, arn)
    code, message = hand.refused("GetShardIterator", StreamArn=arn, ShardId=shard["ShardId"], **params)
    assert code == "ValidationException"
    assert message


def test_a_sequence_number_of_another_shard_is_refused(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, "a")
    hand.advance(4 * HOUR)
    put(hand, "b")
    parent, child = shards_of(hand.call, arn)
    (of_parent,), (of_child,) = (read_shard(hand.call, arn, shard["ShardId"]) for shard in (parent, child))
    for shard, record in ((parent, of_child), (child, of_parent)):
        params = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "AT_SEQUENCE_NUMBER"}
        number = record["dynamodb"]["SequenceNumber"]
        assert hand.refused("GetShardIterator", **params, SequenceNumber=number)[0] == "ValidationException"


def test_a_shard_that_is_not_there_is_told_so(hand: ByHand) -> None:
    arn, other = create(hand), create(hand, "Others")
    (shard,) = shards_of(hand.call, other)
    params = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "LATEST"}
    assert hand.refused("GetShardIterator", **params) == NO_SHARD


def test_an_iterator_is_good_for_a_quarter_of_an_hour(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, "a")
    (shard,) = shards_of(hand.call, arn)
    iterator = iterator_at(hand.call, arn, shard["ShardId"])
    hand.clock += 900
    following = hand.call("GetRecords", ShardIterator=iterator)["NextShardIterator"]
    hand.clock += 1
    assert hand.refused("GetRecords", ShardIterator=iterator) == (
        "ExpiredIteratorException",
        "Shard iterator has expired",
    )
    assert hand.call("GetRecords", ShardIterator=following)["Records"] == []


def test_an_iterator_cannot_be_made_up_or_moved(hand: ByHand) -> None:
    arn, other = create(hand), create(hand, "Others")
    (shard,) = shards_of(hand.call, arn)
    iterator = iterator_at(hand.call, arn, shard["ShardId"])
    assert iterator.startswith(f"{arn}|")
    start, _, sealed = iterator.rpartition("|")
    for forged in (
        "x",
        "||",
        f"{start}|",
        f"{start}|é",
        f"{start}|AAAA",
        f"{start}|{sealed[:-4]}",
        f"{arn}|2|{sealed}",
        f"{start}|{'B' + sealed[1:]}",
        f"{other}|1|{sealed}",
    ):
        assert hand.refused("GetRecords", ShardIterator=forged) == INVALID_ITERATOR, forged
    elsewhere = iterator.replace(":000000000000:", ":111111111111:")
    assert hand.refused("GetRecords", ShardIterator=elsewhere)[0] == "ResourceNotFoundException"


# GetRecords


def test_pages_have_at_most_a_thousand_records(hand: ByHand) -> None:
    arn = create(hand)
    for start in range(0, 1025, 25):
        puts = [{"PutRequest": {"Item": {"pk": S(f"{n:04}")}}} for n in range(start, start + 25)]
        hand.call("BatchWriteItem", RequestItems={"Things": puts})
    (shard,) = shards_of(hand.call, arn)
    answer = hand.call("GetRecords", ShardIterator=iterator_at(hand.call, arn, shard["ShardId"]))
    assert keys_of(answer["Records"]) == [f"{n:04}" for n in range(1000)]
    rest = hand.call("GetRecords", ShardIterator=answer["NextShardIterator"])
    assert keys_of(rest["Records"]) == [f"{n:04}" for n in range(1000, 1025)]
    for limit in (1, 7, 1000):
        assert len(read_stream(hand.call, arn, limit)) == 1025


def test_pages_have_at_most_a_megabyte_but_always_a_record(hand: ByHand) -> None:
    arn = create(hand)
    for version in range(4):
        hand.call("PutItem", TableName="Things", Item={"pk": S("a"), "x": S(str(version) * 400_000)})
    (shard,) = shards_of(hand.call, arn)
    iterator = iterator_at(hand.call, arn, shard["ShardId"])
    sizes = []
    while (answer := hand.call("GetRecords", ShardIterator=iterator))["Records"]:
        sizes.append([record["dynamodb"]["SizeBytes"] for record in answer["Records"]])
        iterator = answer["NextShardIterator"]
    # One image, then three times an old and a new one: no two of these come to less than 1 MB.
    assert [len(page) for page in sizes] == [1, 1, 1, 1]
    assert sizes[0][0] < 500_000
    assert sizes[1][0] > 800_000


def test_a_closed_shard_ends_and_an_open_one_goes_on(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, "a", "b")
    (shard,) = shards_of(hand.call, arn)
    iterator = iterator_at(hand.call, arn, shard["ShardId"])
    hand.advance(4 * HOUR)
    put(hand, "c")
    assert hand.refused("GetRecords", ShardIterator=iterator)[0] == "ExpiredIteratorException"
    parent, child = shards_of(hand.call, arn)
    iterator = iterator_at(hand.call, arn, parent["ShardId"])
    answer = hand.call("GetRecords", ShardIterator=iterator, Limit=1)
    answer = hand.call("GetRecords", ShardIterator=answer["NextShardIterator"], Limit=1)
    assert keys_of(answer["Records"]) == ["b"]
    assert "NextShardIterator" not in answer
    latest = iterator_at(hand.call, arn, parent["ShardId"], "LATEST")
    assert hand.call("GetRecords", ShardIterator=latest) == {"Records": []}
    answer = hand.call("GetRecords", ShardIterator=iterator_at(hand.call, arn, child["ShardId"]))
    assert keys_of(answer["Records"]) == ["c"]
    assert "NextShardIterator" in answer


def test_what_is_a_day_old_is_gone(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, "a")
    hand.clock += 60
    put(hand, "b")
    hand.clock += 600
    put(hand, "c")
    (shard,) = shards_of(hand.call, arn)
    numbers = [record["dynamodb"]["SequenceNumber"] for record in read_stream(hand.call, arn)]
    hand.clock = NOON + DAY
    hand.run_jobs()
    shard_id = shard["ShardId"]
    assert keys_of(read_shard(hand.call, arn, shard_id)) == ["a", "b", "c"]
    old = iterator_at(hand.call, arn, shard_id)
    hand.advance(120)
    assert keys_of(read_shard(hand.call, arn, shard_id)) == ["c"]
    assert hand.refused("GetRecords", ShardIterator=old) == TRIMMED
    params = {"StreamArn": arn, "ShardId": shard_id}
    for kind, number in (("AT", 0), ("AT", 1), ("AFTER", 0)):
        request = {"ShardIteratorType": f"{kind}_SEQUENCE_NUMBER", "SequenceNumber": numbers[number]}
        assert hand.refused("GetShardIterator", **params, **request) == TRIMMED
    after = iterator_at(hand.call, arn, shard_id, "AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[1])
    assert keys_of(read_from(hand.call, after)[0]) == ["c"]
    long_ago = iterator_at(hand.call, arn, shard_id, "AT_TIMESTAMP", Timestamp=NOON)
    assert keys_of(read_from(hand.call, long_ago)[0]) == ["c"]


def test_errors_have_the_namespace_of_the_service() -> None:
    for error in (errors.TrimmedDataAccessException, errors.ExpiredIteratorException):
        assert error("x").body()["__type"] == f"com.amazonaws.dynamodb.v20120810#{error.__name__}"


@pytest.mark.parametrize("operation", ["UpdateTable", "DeleteTable"])
def test_a_stream_that_was_stored_as_a_setting_only_can_be_ended(hand: ByHand, operation: str) -> None:
    """By a TorusDB from before there were streams."""
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, {}))
    table = replace(hand.table("Things"), stream=STREAM, stream_label="2026-01-31T12:34:56.789")
    driver.complete(hand.engine, store(Commit([hand.ctx.catalog.record(table)])))
    hand.reopen()
    hand.run_jobs()
    put(hand, "a")
    hand.call(operation, TableName="Things", **({"StreamSpecification": OFF} if operation == "UpdateTable" else {}))
    hand.run_jobs()
    if operation == "UpdateTable":
        arn = switch(hand, STREAM)["LatestStreamArn"]
        put(hand, "b")
        assert keys_of(read_stream(hand.call, arn)) == ["b"]


def store(commit: Commit) -> Generator[Command, Any, None]:
    yield commit

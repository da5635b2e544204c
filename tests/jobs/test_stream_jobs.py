"""Shards that are renewed and split, records that are trimmed, streams that end: step by step, and cut off anywhere."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.jobs.by_hand import NOON, ByHand, JobRun
from tests.operations.conftest import table_request
from tests.operations.reading_streams import parents_first, read_shard, read_stream, replay, shards_of
from tests.operations.shorthand import N, S
from torusdb.jobs.streams import TRIM_SECONDS_MIN, renew_due_shards, trim_streams
from torusdb.model import keys
from torusdb.model.streams import Shard, Stream

STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
HOUR, DAY = 3600, 86_400


def create(hand: ByHand, read: int = 0, write: int = 0, **more: Any) -> str:
    if read:
        units = {"ReadCapacityUnits": read, "WriteCapacityUnits": write}
        more |= {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
    arn: str = hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, STREAM | more))["LatestStreamArn"]
    return arn


def put(hand: ByHand, *numbers: int) -> None:
    for number in numbers:
        hand.call("PutItem", TableName="Things", Item={"pk": S(f"item {number}"), "at": N(repr(hand.clock))})


def scale(hand: ByHand, read: int, write: int) -> None:
    units = {"ReadCapacityUnits": read, "WriteCapacityUnits": write}
    hand.call("UpdateTable", TableName="Things", ProvisionedThroughput=units)
    hand.run_jobs()


def stream_of(hand: ByHand, arn: str) -> Stream:
    return hand.ctx.catalog.streams[arn]


def open_slices(stream: Stream) -> list[tuple[bytes, bytes]]:
    return sorted((shard.start, shard.stop) for shard in stream.open_shards)


def check_lineage(stream: Stream) -> None:
    """The open shards cover the hash space, and each shard lies within its parent and begins behind it."""
    slices = open_slices(stream)
    assert slices[0][0] == bytes(8)
    assert slices[-1][1] == b""
    assert all(one[1] == next_[0] for one, next_ in pairwise(slices))
    by_id = {shard.shard_id: shard for shard in stream.shards}
    for shard in stream.shards:
        parent = by_id.get(shard.parent_id or "")
        if parent is not None:
            assert parent.closed is not None
            assert parent.start <= shard.start
            assert parent.stop == b"" or (shard.stop != b"" and shard.stop <= parent.stop)
            assert parent.ending_sequence is not None
            assert parent.ending_sequence < shard.starting_sequence
            assert parent.shard_id < shard.shard_id


def items(hand: ByHand) -> dict[Any, Any]:
    return {(repr(item["pk"]),): item for item in hand.call("Scan", TableName="Things")["Items"]}


@pytest.mark.parametrize(
    ("read", "write", "shards"),
    [(0, 0, 1), (1, 1, 1), (1500, 500, 1), (1501, 500, 2), (3000, 1000, 2), (1, 3999, 4), (9000, 1000, 4)],
)
def test_a_stream_begins_with_a_shard_per_partition(hand: ByHand, read: int, write: int, shards: int) -> None:
    arn = create(hand, read, write)
    assert len(shards_of(hand.call, arn)) == shards
    check_lineage(stream_of(hand, arn))


def test_warm_throughput_beyond_what_every_table_has_counts(hand: ByHand) -> None:
    warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 6_000}
    assert len(shards_of(hand.call, create(hand, WarmThroughput=warm))) == 6


def test_shards_are_renewed_every_four_hours(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, 1)
    hand.advance(4 * HOUR - 1)
    assert len(shards_of(hand.call, arn)) == 1
    assert JobRun(hand, renew_due_shards).finish() == NOON + 4 * HOUR
    hand.advance(1)
    put(hand, 2)
    for _ in range(4):
        hand.advance(4 * HOUR)
        put(hand, 3)
    shards = shards_of(hand.call, arn)
    assert len(shards) == 6
    assert [shard.get("ParentShardId") for shard in shards] == [None, *(shard["ShardId"] for shard in shards[:-1])]
    ranges = [shard["SequenceNumberRange"] for shard in shards]
    assert all("EndingSequenceNumber" in one for one in ranges[:-1])
    assert "EndingSequenceNumber" not in ranges[-1]
    check_lineage(stream_of(hand, arn))
    assert replay(read_stream(hand.call, arn), ["pk"]) == items(hand)
    for shard, numbers in zip(shards, ranges, strict=True):
        for record in read_shard(hand.call, arn, shard["ShardId"]):
            number = record["dynamodb"]["SequenceNumber"]
            assert numbers["StartingSequenceNumber"] <= number <= numbers.get("EndingSequenceNumber", number)


def test_a_shard_without_records_is_renewed_as_well(hand: ByHand) -> None:
    arn = create(hand)
    hand.advance(4 * HOUR)
    parent, child = (shard["SequenceNumberRange"] for shard in shards_of(hand.call, arn))
    assert parent["StartingSequenceNumber"] == parent["EndingSequenceNumber"] < child["StartingSequenceNumber"]


def test_more_throughput_splits_the_widest_slices(hand: ByHand) -> None:
    arn = create(hand, 1, 1)
    put(hand, *range(40))
    counts = []
    for write in (1500, 2500, 6500, 2000, 6500):
        scale(hand, 1, write)
        hand.clock += 1
        put(hand, *range(40))
        stream = stream_of(hand, arn)
        check_lineage(stream)
        counts.append(len(stream.open_shards))
        widths = {
            (int.from_bytes(stop or b"\x01" + bytes(8)) - int.from_bytes(start)) for start, stop in open_slices(stream)
        }
        assert max(widths) <= 2 * min(widths)
    # Slices are never merged.
    assert counts == [2, 3, 7, 7, 7]
    assert sum(map(len, stream_records(hand, arn).values())) == 240
    assert replay(read_stream(hand.call, arn), ["pk"]) == items(hand)


def test_shards_of_one_moment_are_in_the_order_in_which_they_follow_one_another(hand: ByHand) -> None:
    arn = create(hand, 1, 1)
    for write in (1500, 2500, 3500, 4500, 5500):
        scale(hand, 1, write)
    check_lineage(stream_of(hand, arn))
    assert stream_of(hand, arn).shards[-1].opened_ms > NOON * 1000
    shards = shards_of(hand.call, arn, limit=1)
    assert list(parents_first(shards)) == shards


def stream_records(hand: ByHand, arn: str) -> dict[str, list[Any]]:
    return {
        shard["ShardId"]: read_shard(hand.call, arn, shard["ShardId"])
        for shard in parents_first(shards_of(hand.call, arn))
    }


def test_records_go_to_the_shard_of_their_partition_key(hand: ByHand) -> None:
    arn = create(hand, 1, 4000)
    put(hand, *range(100))
    put(hand, *range(100))
    stream = stream_of(hand, arn)
    records = stream_records(hand, arn)
    by_shard = {shard: {record["dynamodb"]["Keys"]["pk"]["S"] for record in found} for shard, found in records.items()}
    assert sum(map(len, by_shard.values())) == 100
    assert all(len(found) > 10 for found in by_shard.values())
    for shard_id, found in by_shard.items():
        shard = stream.shard(shard_id)
        assert shard is not None
        for key in found:
            place = keys.partition_hash(["S"], [key])
            assert shard.start <= place
            assert shard.stop == b"" or place < shard.stop


def test_trimming_costs_no_more_looks_than_it_has_to(hand: ByHand) -> None:
    arn = create(hand)
    assert JobRun(hand, trim_streams).finish() == NOON + DAY
    put(hand, 1)
    hand.clock += 1000
    put(hand, 2)
    assert JobRun(hand, trim_streams).finish() == NOON + DAY
    hand.clock = NOON + DAY + 1
    assert JobRun(hand, trim_streams).finish() == NOON + DAY + 1000
    hand.clock = NOON + DAY + 990
    assert JobRun(hand, trim_streams).finish() == hand.clock + TRIM_SECONDS_MIN
    assert len(read_stream(hand.call, arn)) == 1


def test_closed_shards_go_when_they_are_empty_and_leave_nothing(hand: ByHand) -> None:
    arn = create(hand)
    for hour in range(0, 60, 2):
        put(hand, hour % 5)
        hand.advance(2 * HOUR)
    stream = stream_of(hand, arn)
    assert len(stream.shards) == 7
    check_lineage(stream)
    oldest = hand.clock - DAY - TRIM_SECONDS_MIN
    records = read_stream(hand.call, arn)
    assert all(record["dynamodb"]["ApproximateCreationDateTime"] >= oldest for record in records)
    assert len(records) == 12

    hand.call("DeleteTable", TableName="Things")
    hand.advance(DAY + TRIM_SECONDS_MIN)
    hand.advance(TRIM_SECONDS_MIN)
    assert hand.call("ListStreams") == {"Streams": []}
    spaces = (keys.STREAM_SPACE, keys.STREAM_CATALOG_SPACE)
    assert [key for key, _ in hand.stored() if key.startswith(spaces)] == []


def test_numbers_go_on_behind_what_is_trimmed(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, 1, 2)
    last = read_stream(hand.call, arn)[-1]["dynamodb"]["SequenceNumber"]
    hand.clock += DAY + 1
    JobRun(hand, trim_streams).finish()
    assert read_stream(hand.call, arn) == []
    hand.reopen()
    put(hand, 3)
    assert int(read_stream(hand.call, arn)[0]["dynamodb"]["SequenceNumber"]) == int(last) + 1


def busy_days(hand: ByHand, between_steps: Callable[[], None]) -> Stream:
    """Two days of writes and changes of throughput, with jobs that are begun anew after each of their steps."""
    arn = create(hand, 1, 1)
    for turn in range(24):
        put(hand, *range(turn, turn + 10))
        if turn in (3, 9):
            units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1 + turn * 500}
            hand.call("UpdateTable", TableName="Things", ProvisionedThroughput=units)
        hand.clock += 2 * HOUR
        for job in (renew_due_shards, trim_streams):
            steps = 0
            while True:
                run = JobRun(hand, job)
                taken = sum(run.step() for _ in range(steps + 1))
                between_steps()
                if taken <= steps:
                    break
                steps += 1
    return stream_of(hand, arn)


def test_jobs_may_be_cut_off_anywhere() -> None:
    undisturbed, crashing = ByHand(), ByHand()
    expected = busy_days(undisturbed, lambda: None)
    found = busy_days(crashing, crashing.reopen)

    def shape(shard: Shard) -> tuple[Any, ...]:
        return shard.shard_id, shard.start, shard.stop, shard.first, shard.count, shard.trimmed

    assert list(map(shape, found.shards)) == list(map(shape, expected.shards))
    assert read_stream(crashing.call, found.arn) == read_stream(undisturbed.call, expected.arn) != []
    check_lineage(found)
    undisturbed.close()
    crashing.close()

"""Reading streams, for tests: all records of a stream in an order that keeps that of each item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Call = Callable[..., Any]
"""An operation by its name, with its parameters by theirs."""

Record = dict[str, Any]


def shards_of(call: Call, arn: str, limit: int | None = None) -> list[dict[str, Any]]:
    """All shards, page by page."""
    params: dict[str, Any] = {"StreamArn": arn} if limit is None else {"StreamArn": arn, "Limit": limit}
    shards: list[dict[str, Any]] = []
    while True:
        description = call("DescribeStream", **params)["StreamDescription"]
        shards += description["Shards"]
        if "LastEvaluatedShardId" not in description:
            return shards
        params["ExclusiveStartShardId"] = description["LastEvaluatedShardId"]


def parents_first(shards: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    there = {shard["ShardId"] for shard in shards}
    given: set[str] = set()
    while len(given) < len(shards):
        for shard in shards:
            parent = shard.get("ParentShardId")
            if shard["ShardId"] not in given and (parent not in there or parent in given):
                given.add(shard["ShardId"])
                yield shard


def iterator_at(call: Call, arn: str, shard_id: str, kind: str = "TRIM_HORIZON", **more: Any) -> str:
    answer = call("GetShardIterator", StreamArn=arn, ShardId=shard_id, ShardIteratorType=kind, **more)
    iterator: str = answer["ShardIterator"]
    return iterator


def read_from(call: Call, iterator: str, limit: int | None = None) -> tuple[list[Record], bool]:
    """The records there are from a place on, and whether the shard has come to its end."""
    more = {} if limit is None else {"Limit": limit}
    records: list[Record] = []
    while True:
        answer = call("GetRecords", ShardIterator=iterator, **more)
        records += answer["Records"]
        if "NextShardIterator" not in answer:
            return records, True
        if not answer["Records"]:
            return records, False
        iterator = answer["NextShardIterator"]


def read_shard(call: Call, arn: str, shard_id: str, limit: int | None = None) -> list[Record]:
    return read_from(call, iterator_at(call, arn, shard_id), limit)[0]


def read_stream(call: Call, arn: str, limit: int | None = None) -> list[Record]:
    records: list[Record] = []
    for shard in parents_first(shards_of(call, arn)):
        records += read_shard(call, arn, shard["ShardId"], limit)
    return records


def replay(records: list[Record], key_names: list[str]) -> dict[Any, Any]:
    """The items by their keys that the records lead to, each checked against the one before it."""
    items: dict[Any, Any] = {}
    for record in records:
        change = record["dynamodb"]
        key = tuple(repr(change["Keys"][name]) for name in key_names)
        before, after = change.get("OldImage"), change.get("NewImage")
        assert items.get(key) == before
        assert before != after
        event = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
        assert record["eventName"] == event
        if after is None:
            del items[key]
        else:
            assert all(after[name] == value for name, value in change["Keys"].items())
            items[key] = after
    return items

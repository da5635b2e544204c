"""A stream's shards, and reading one of them from where a lease says that its worker has come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from torusdb.streams.calls import Sleep, attempt, code_of
from torusdb.streams.leases import AT, LATEST, TRIM_HORIZON

Record: TypeAlias = dict[str, Any]

LINEAGE_MAX: Final = 10_000
"""Shards between one and its oldest ancestor: a stream has some tens."""


@dataclass(frozen=True, slots=True)
class StreamShard:
    shard_id: str
    parent_id: str | None
    is_closed: bool


class RecordsLost(Exception):
    """What was to be read next is gone: the stream keeps its records for a day."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.with_shard = code_of(error) != TRIMMED


TRIMMED: Final = "TrimmedDataAccessException"


class StreamReader:
    def __init__(self, streams: Any, stream_arn: str, sleep: Sleep) -> None:
        self._streams = streams
        self._stream_arn = stream_arn
        self._sleep = sleep

    def shards(self) -> dict[str, StreamShard]:
        params: dict[str, Any] = {"StreamArn": self._stream_arn}
        shards: dict[str, StreamShard] = {}
        while True:
            description = attempt(self._sleep, self._streams.describe_stream, **params)["StreamDescription"]
            for shard in description["Shards"]:
                is_closed = "EndingSequenceNumber" in shard["SequenceNumberRange"]
                shards[shard["ShardId"]] = StreamShard(shard["ShardId"], shard.get("ParentShardId"), is_closed)
            if "LastEvaluatedShardId" not in description:
                return shards
            params["ExclusiveStartShardId"] = description["LastEvaluatedShardId"]

    def iterator(self, shard_id: str, checkpoint: str) -> str:
        """An iterator at a lease's checkpoint. Raises RecordsLost."""
        place: dict[str, Any]
        if checkpoint in (TRIM_HORIZON, LATEST):
            place = {"ShardIteratorType": checkpoint}
        elif checkpoint.startswith(AT):
            place = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": checkpoint.removeprefix(AT)}
        else:
            place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": checkpoint}
        answer = self._call(self._streams.get_shard_iterator, StreamArn=self._stream_arn, ShardId=shard_id, **place)
        iterator: str = answer["ShardIterator"]
        return iterator

    def page(self, iterator: str, limit: int) -> tuple[list[Record], str | None] | None:
        """The next records, and the iterator behind them, which is None at a shard's end; None where the iterator has
        expired. Raises RecordsLost."""
        try:
            answer = self._call(self._streams.get_records, ShardIterator=iterator, Limit=limit)
        except Exception as error:
            if code_of(error) != "ExpiredIteratorException":
                raise
            return None
        return answer["Records"], answer.get("NextShardIterator")

    def _call(self, call: Any, **params: Any) -> Any:
        try:
            return attempt(self._sleep, call, **params)
        except Exception as error:
            if code_of(error) in (TRIMMED, "ResourceNotFoundException"):
                raise RecordsLost(error) from error
            raise


def ancestors(shard: StreamShard, shards: dict[str, StreamShard]) -> Iterator[str]:
    """The ids of a shard's parent, that one's parent and so on, as far as they are known."""
    parent_id = shard.parent_id
    for _ in range(LINEAGE_MAX):
        if parent_id is None:
            return
        yield parent_id
        parent = shards.get(parent_id)
        parent_id = None if parent is None else parent.parent_id


def children_first(shards: dict[str, StreamShard]) -> list[StreamShard]:
    depth = {shard.shard_id: sum(1 for _ in ancestors(shard, shards)) for shard in shards.values()}
    return sorted(shards.values(), key=lambda shard: (-depth[shard.shard_id], shard.shard_id))

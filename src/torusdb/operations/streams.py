"""ListStreams, DescribeStream, GetShardIterator, GetRecords.

Only what is durable is told: a record that is shown is never taken back, and a shard that is said to be closed stays
closed. Where an answer rests on the catalog's word, the stream's record is read with a guard, which has the answer
wait until that is on disk.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from torusdb.api import requests
from torusdb.errors import TrimmedDataAccessException, ValidationException
from torusdb.model import keys
from torusdb.model.stream_records import answer_json, stream_record_size
from torusdb.model.streams import Shard, Stream
from torusdb.operations.answers import answer, encode, items_json
from torusdb.operations.context import Context
from torusdb.operations.shard_iterators import Place, first_since, iterator_of, no_such_shard, place_of
from torusdb.operations.table_checks import refuse
from torusdb.operations.table_description import Members, date, key_schema
from torusdb.storage.commands import Command, Get, Operation, Page, Range

LIST_STREAMS_MAX: Final = 100
SHARDS_MAX: Final = 100
"""In an answer of ListStreams and of DescribeStream (API reference)."""

RECORDS_MAX: Final = 1000
PAGE_BYTES_MAX: Final = 1024 * 1024
"""In an answer of GetRecords: "1 MB of data or 1000 stream records, whichever comes first" (API reference)."""

NUMBER_MAX: Final = (1 << 64) - 2
"""Of a record in its log, with room for the one after it."""

CHUNK_BYTES_MAX: Final = 256 * 1024
"""Stored bytes read in one go. A record's are never fewer than its SizeBytes."""


def list_streams(ctx: Context, request: requests.ListStreamsRequest) -> Operation:
    after, table_name = request.exclusive_start_stream_arn, request.table_name
    found = [
        stream
        for arn, stream in sorted(ctx.catalog.streams.items())
        if (after is None or arn > after) and (table_name is None or stream.table_name == table_name)
    ]
    limit = request.limit or LIST_STREAMS_MAX
    return answer(
        Streams=[
            {"StreamArn": stream.arn, "StreamLabel": stream.label, "TableName": stream.table_name}
            for stream in found[:limit]
        ],
        LastEvaluatedStreamArn=found[limit - 1].arn if len(found) > limit else None,
    )
    yield


def describe_stream(ctx: Context, request: requests.DescribeStreamRequest) -> Operation:
    stream = ctx.catalog.described_stream(request.stream_arn)
    yield from _until_durable(ctx, stream)
    shards = _filtered(stream, request.shard_filter)
    # Ids sort as shards follow one another; the one to start after may be gone by now.
    after = request.exclusive_start_shard_id or ""
    shards = [shard for shard in shards if shard.shard_id > after]
    limit = request.limit or SHARDS_MAX
    description: Members = {
        "CreationRequestDateTime": date(stream.created),
        "KeySchema": key_schema([stream.hash_key], [] if stream.range_key is None else [stream.range_key]),
        "Shards": [_described(shard) for shard in shards[:limit]],
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": _status(ctx, stream),
        "StreamViewType": stream.view,
        "TableName": stream.table_name,
    }
    if len(shards) > limit:
        description["LastEvaluatedShardId"] = shards[limit - 1].shard_id
    return encode({"StreamDescription": description})


def _until_durable(ctx: Context, stream: Stream) -> Generator[Command, Any, None]:
    yield Get([ctx.catalog.stream_key(stream)], guard=True)


def _filtered(stream: Stream, shard_filter: requests.StreamsShardFilter | None) -> list[Shard]:
    if shard_filter is None:
        return stream.shards
    if shard_filter.type is None or shard_filter.shard_id is None:
        # The words are ours: the model requires neither, but the one means nothing without the other.
        raise refuse("ShardFilter must have both Type and ShardId")
    return [shard for shard in stream.shards if shard.parent_id == shard_filter.shard_id]


def _described(shard: Shard) -> Members:
    numbers: Members = {"StartingSequenceNumber": shard.starting_sequence}
    if shard.ending_sequence is not None:
        numbers["EndingSequenceNumber"] = shard.ending_sequence
    members: Members = {"SequenceNumberRange": numbers, "ShardId": shard.shard_id}
    if shard.parent_id is not None:
        members["ParentShardId"] = shard.parent_id
    return members


def _status(ctx: Context, stream: Stream) -> str:
    table = ctx.catalog.find(stream.table_name)
    its_own = table is not None and (table.table_id, table.stream_label) == (stream.table_id, stream.label)
    moving = its_own and (table.status in ("CREATING", "DELETING") or table.changing == "stream")  # type: ignore[union-attr]
    if stream.disabled is None:
        return "ENABLING" if moving else "ENABLED"
    return "DISABLING" if moving else "DISABLED"


# Iterators


def get_shard_iterator(ctx: Context, request: requests.GetShardIteratorRequest) -> Operation:
    stream = ctx.catalog.described_stream(request.stream_arn)
    shard = stream.shard(request.shard_id)
    if shard is None:
        raise no_such_shard()
    number = yield from _START[request.shard_iterator_type](ctx, stream, shard, request)
    return answer(ShardIterator=iterator_of(Place(stream, shard, number), ctx.now()))


_Start = Generator[Command, Any, int]


def _at_horizon(ctx: Context, stream: Stream, shard: Shard, request: requests.GetShardIteratorRequest) -> _Start:
    return shard.trimmed + 1
    yield


def _at_latest(ctx: Context, stream: Stream, shard: Shard, request: requests.GetShardIteratorRequest) -> _Start:
    return (yield from _durable_count(stream, shard)) + 1


def _at_number(ctx: Context, stream: Stream, shard: Shard, request: requests.GetShardIteratorRequest) -> _Start:
    number = _number(shard, request)
    _require_untrimmed(shard, number)
    return number
    yield


def _after_number(ctx: Context, stream: Stream, shard: Shard, request: requests.GetShardIteratorRequest) -> _Start:
    """After the last record that was trimmed is where the trim horizon is: nothing is missed there."""
    number = _number(shard, request) + 1
    _require_untrimmed(shard, number)
    return number
    yield


def _at_timestamp(ctx: Context, stream: Stream, shard: Shard, request: requests.GetShardIteratorRequest) -> _Start:
    """The words of both refusals are ours; that a moment to come is refused is the service model's."""
    if request.timestamp is None:
        raise refuse("Timestamp must be specified when ShardIteratorType is AT_TIMESTAMP")
    if request.timestamp > ctx.now():
        raise refuse("Timestamp cannot be in the future")
    count = yield from _durable_count(stream, shard)
    stamp_ms = max(0, int(request.timestamp * 1000))
    number, _ = yield from first_since(stream.log(shard), shard.trimmed + 1, count + 1, stamp_ms)
    return number


_START = {
    "TRIM_HORIZON": _at_horizon,
    "LATEST": _at_latest,
    "AT_SEQUENCE_NUMBER": _at_number,
    "AFTER_SEQUENCE_NUMBER": _after_number,
    "AT_TIMESTAMP": _at_timestamp,
}


def _durable_count(stream: Stream, shard: Shard) -> Generator[Command, Any, int]:
    """How many records of the shard have become durable so far: what stands under its log's prefix."""
    last: bytes | None = (yield Get([stream.log(shard)]))[0]
    return int.from_bytes(last or b"", "big")


def _number(shard: Shard, request: requests.GetShardIteratorRequest) -> int:
    """The log's number for the sequence number of the request. The words of the refusals are ours."""
    text = request.sequence_number
    if text is None:
        raise refuse(f"SequenceNumber must be specified when ShardIteratorType is {request.shard_iterator_type}")
    if not (text.isascii() and text.isdigit()):
        raise ValidationException("Invalid SequenceNumber")
    number = shard.number_of(text)
    end = shard.count if shard.closed is not None else NUMBER_MAX
    if not 1 <= number <= max(end, 1):
        raise ValidationException("Invalid SequenceNumber")
    return number


def _require_untrimmed(shard: Shard, number: int) -> None:
    if number <= shard.trimmed:
        # In a log of 2019 (node-dynamodb-stream, issue 13).
        raise TrimmedDataAccessException("The data you are trying to access has been trimmed")


# Records


def get_records(ctx: Context, request: requests.GetRecordsRequest) -> Operation:
    place = place_of(ctx.catalog, request.shard_iterator, ctx.now())
    stream, shard = place.stream, place.shard
    _require_untrimmed(shard, place.next)
    records = yield from _read(place, request.limit or RECORDS_MAX)
    region = ctx.catalog.region
    shown = [answer_json(stream, shard, region, number, record) for number, record in records]
    following = records[-1][0] + 1 if records else place.next
    next_iterator = None
    if shard.closed is None or following <= shard.count:
        next_iterator = iterator_of(Place(stream, shard, following), ctx.now())
    else:
        yield from _until_durable(ctx, stream)
    return answer(Records=items_json(shown), NextShardIterator=next_iterator)


def _read(place: Place, limit: int) -> Generator[Command, Any, list[tuple[int, bytes]]]:
    """The records of the page with their numbers. One is always given, however large."""
    log = place.stream.log(place.shard)
    start, stop = keys.log_record_key(log, place.next), keys.after_prefix(log)
    records: list[tuple[int, bytes]] = []
    size = 0
    while True:
        page: Page = yield Range(start, stop, False, limit - len(records), CHUNK_BYTES_MAX)
        for key, record in page.records:
            size += stream_record_size(record)
            if size > PAGE_BYTES_MAX and records:
                return records
            records.append((int.from_bytes(key[len(log) :], "big"), record))
        if not page.more or len(records) == limit:
            return records
        start = page.records[-1][0] + b"\x00"

"""Streams over time: shards that are renewed, records that are a day old, streams that have ended.

What is to be done follows from the streams and their records alone, so a job may be cut off anywhere.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from msgspec.structs import replace

from torusdb.jobs.runner import Job, Step
from torusdb.model import keys
from torusdb.model.streams import RETENTION_SECONDS, SHARD_SECONDS_MAX, Shard, Stream
from torusdb.operations.context import Context
from torusdb.operations.shard_iterators import first_since
from torusdb.operations.stream_switch import renew_shards, shards_are_due
from torusdb.storage.commands import Clear, Command, Commit, Get

TRIM_SECONDS_MIN: Final = 60
"""Between two looks at what is a day old by now. The service is no more exact: records are "subject to removal"."""


# Shards that are renewed.


def renew_due_shards(ctx: Context) -> Generator[Step, Any, float | None]:
    due: list[float] = []
    for table in ctx.catalog:
        stream = ctx.catalog.enabled_stream(table)
        if stream is None or table.status == "CREATING":
            continue
        if shards_are_due(table, stream, ctx.now()):
            yield _renew(ctx, table.name)
            stream = ctx.catalog.streams.get(stream.arn, stream)
        due += [shard.opened_ms / 1000 + SHARD_SECONDS_MAX for shard in stream.open_shards]
    return min(due, default=None)


def _renew(ctx: Context, table_name: str) -> Step:
    table = ctx.catalog.find(table_name)
    if table is not None:
        yield from renew_shards(ctx, table)


# Records that are a day old.


def trim_streams(ctx: Context) -> Generator[Step, Any, float | None]:
    due: list[float] = []
    for arn in list(ctx.catalog.streams):
        stream = ctx.catalog.streams.get(arn)
        for number in [] if stream is None else [shard.number for shard in stream.shards]:
            oldest: float | None = yield _trim_shard(ctx, arn, number)
            if oldest is not None:
                due.append(oldest + RETENTION_SECONDS)
        ends: float | None = yield _forget(ctx, arn)
        if ends is not None:
            due.append(ends)
    return max(min(due), ctx.now() + TRIM_SECONDS_MIN) if due else None


def _trim_shard(ctx: Context, arn: str, number: int) -> Generator[Command, Any, float | None]:
    """Removes the shard's records that are too old. Gives the moment of the oldest that is left, or the earliest that
    one may yet come to have; None where there is nothing more to trim."""
    stream = ctx.catalog.streams.get(arn)
    shard = None if stream is None else next((one for one in stream.shards if one.number == number), None)
    if stream is None or shard is None:
        return None
    horizon_ms = int((ctx.now() - RETENTION_SECONDS) * 1000)
    log = stream.log(shard)
    last: bytes | None = (yield Get([log]))[0]
    count = int.from_bytes(last or b"", "big")
    kept, stamp_ms = yield from first_since(log, shard.trimmed + 1, count + 1, horizon_ms)
    if kept - 1 > shard.trimmed:
        # First the records, then the word of it: whoever finds neither tries again.
        yield Clear(keys.log_record_key(log, 0), keys.log_record_key(log, kept))
        yield from _keep(ctx, stream, replace(shard, trimmed=kept - 1))
    if stamp_ms is not None:
        return stamp_ms / 1000
    return ctx.now() if shard.closed is None else None


def _keep(ctx: Context, stream: Stream, shard: Shard) -> Step:
    shards = [shard if one.number == shard.number else one for one in stream.shards]
    stream = replace(stream, shards=shards)
    yield Commit([ctx.catalog.stream_record(stream)])
    ctx.catalog.keep_stream(stream)


def _forget(ctx: Context, arn: str) -> Generator[Command, Any, float | None]:
    """Drops the shards that were closed a day ago, whose records are all gone by now, and then the stream, if that has
    ended. Gives when the next one is to go."""
    stream = ctx.catalog.streams.get(arn)
    if stream is None:
        return None
    horizon = ctx.now() - RETENTION_SECONDS
    gone = [shard for shard in stream.shards if shard.closed is not None and shard.closed <= horizon]
    ends = [shard.closed + RETENTION_SECONDS for shard in stream.shards if shard.closed is not None]
    if not gone:
        return min(ends, default=None)
    for shard in gone:
        log = stream.log(shard)
        yield Clear(log, keys.after_prefix(log))
    kept = [shard for shard in stream.shards if shard not in gone]
    if kept:
        stream = replace(stream, shards=kept)
        yield Commit([ctx.catalog.stream_record(stream)])
        ctx.catalog.keep_stream(stream)
        return min((shard.closed + RETENTION_SECONDS for shard in kept if shard.closed is not None), default=None)
    yield Commit([], [ctx.catalog.stream_key(stream)])
    ctx.catalog.streams.pop(arn, None)
    return None


STREAM_JOBS: tuple[Job, ...] = (renew_due_shards, trim_streams)

"""Streams that begin, change their shards and end, together with their tables.

How many records a shard has had is read with a guard, so it holds when the commit of its closing lands: a closed shard
ends with exactly its last record.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from math import ceil
from typing import Any, Final

from msgspec.structs import replace

from torusdb.model.schema import Table
from torusdb.model.streams import Shard, Stream, ViewType, disable, due_shards, open_stream, roll_over, split
from torusdb.operations.context import Context
from torusdb.operations.table_building import stream_label
from torusdb.operations.table_description import ON_DEMAND_READ_UNITS, ON_DEMAND_WRITE_UNITS
from torusdb.storage.commands import Command, Commit, Get

PARTITION_READ_UNITS: Final = 3000
PARTITION_WRITE_UNITS: Final = 1000
"""What a partition serves in a second (developer guide, "Designing partition keys")."""

_LABEL_SECONDS: Final = 0.001
"""What two labels differ by at least."""


def switch_stream(
    ctx: Context, before: Table | None, table: Table
) -> Generator[Command, Any, tuple[Table, Stream | None]]:
    """Brings the stream in line with the table's setting: begins one where that is new, and ends the one that
    `before` had where it is gone. Gives the table with it, and the stream if one has begun or ended."""
    had = before is not None and before.stream is not None
    if table.stream is not None and not had:
        label = _new_label(ctx, table)
        table = replace(table, stream_label=label, streams_made=table.streams_made + 1)
        view: ViewType = table.stream["StreamViewType"]  # type: ignore[index]
        stream = open_stream(table, view, label, partition_count(table), ctx.now(), ctx.new_uuid())
        return replace(table, shard_logs=stream.shard_logs()), stream
    if table.stream is None and had:
        assert before is not None
        found = ctx.catalog.enabled_stream(before)
        if found is None:
            # Enabled when a stream was a setting only: there are no records.
            return table, None
        counts = yield from _counts(found, found.open_shards)
        return replace(table, shard_logs=[]), disable(found, counts, ctx.now())
    return table, None


def partition_count(table: Table) -> int:
    """How many shards a stream of the table begins with: one per partition.

    Partitions follow from throughput. What every on-demand table can serve from the start doesn't count: the service
    shows one to four shards for such a table, and here it has one, which also serves a reader that looks at the first
    shard only."""
    warm: Mapping[str, int] = table.warm or {}
    read, write = table.throughput.read_units, table.throughput.write_units
    if warm.get("ReadUnitsPerSecond", 0) > ON_DEMAND_READ_UNITS:
        read = max(read, warm["ReadUnitsPerSecond"])
    if warm.get("WriteUnitsPerSecond", 0) > ON_DEMAND_WRITE_UNITS:
        write = max(write, warm["WriteUnitsPerSecond"])
    return max(1, ceil(read / PARTITION_READ_UNITS + write / PARTITION_WRITE_UNITS))


def _new_label(ctx: Context, table: Table) -> str:
    """Account, table and label together name one stream (service model), however soon one follows another."""
    moment = ctx.now()
    while f"{table.arn}/stream/{stream_label(moment)}" in ctx.catalog.streams:
        moment += _LABEL_SECONDS
    return stream_label(moment)


def shards_are_due(table: Table, stream: Stream, now: float) -> bool:
    return bool(due_shards(stream, now)) or len(stream.open_shards) < partition_count(table)


def renew_shards(ctx: Context, table: Table) -> Generator[Command, Any, None]:
    """Closes the shards that have been open for long enough and those whose slice is to be split, and commits their
    children."""
    stream = ctx.catalog.enabled_stream(table)
    now = ctx.now()
    if stream is None or not shards_are_due(table, stream, now):
        return
    counts = yield from _counts(stream, stream.open_shards)
    # Those that are split are renewed with it.
    stream = split(stream, partition_count(table), counts, now)
    stream = roll_over(stream, due_shards(stream, now), counts, now)
    table = replace(table, shard_logs=stream.shard_logs())
    yield Commit([ctx.catalog.record(table), ctx.catalog.stream_record(stream)])
    ctx.catalog.keep(table)
    ctx.catalog.keep_stream(stream)


def _counts(stream: Stream, shards: Iterable[Shard]) -> Generator[Command, Any, dict[int, int]]:
    """How many records each shard has had, by its number: what stands under a log's prefix."""
    shards = list(shards)
    found: list[bytes | None] = yield Get([stream.log(shard) for shard in shards], guard=True)
    return {shard.number: int.from_bytes(last or b"", "big") for shard, last in zip(shards, found, strict=True)}

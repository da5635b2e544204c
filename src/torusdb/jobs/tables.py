"""Tables on their way: phases that end, indexes that are filled, spaces that are cleared.

Each is written so that it can be cut off anywhere: what is to be done follows from the catalog, and how far a
back-fill has come stands in the job space, written by the commit that made the progress.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

from torusdb.model import keys
from torusdb.model.records import unpack
from torusdb.model.schema import BASE_INDEX_ID, Index, Table
from torusdb.operations.catalog import BACKFILL, Leftover
from torusdb.operations.changes import index_entry
from torusdb.operations.context import Context
from torusdb.operations.table_phases import filled, in_phase, keep, settle
from torusdb.storage.commands import NOTHING, Clear, Command, Commit, Get, Page, Range

BACKFILL_ITEMS_MAX = 200
"""Items of one step of a back-fill: a few milliseconds, for which requests wait."""

BACKFILL_BYTES_MAX = 256 * 1024

Step: TypeAlias = Generator[Command, Any, Any]


# Phases: what --table-delay stretches.


def end_phases(ctx: Context) -> Generator[Step, Any, float | None]:
    """Moves on every table whose phase is over."""
    due: list[float] = []
    for table in ctx.catalog:
        if not in_phase(table):
            continue
        if table.status_until <= ctx.now():
            yield _end_phase(ctx, table.name)
        else:
            due.append(table.status_until)
    return min(due, default=None)


def _end_phase(ctx: Context, name: str) -> Step:
    table = ctx.catalog.find(name)
    now = ctx.now()
    if table is not None and in_phase(table) and table.status_until <= now:
        yield from keep(ctx, table, settle(table, now, ctx.settings.table_delay_seconds))


# Back-fill: the entries of the items that were there before the index.


def backfill(ctx: Context) -> Generator[Step, Any, float | None]:
    """Fills every index that waits for it."""
    due: list[float] = []
    for table in ctx.catalog:
        for index in table.global_indexes:
            if not is_filling(table, index):
                continue
            yield until_durable(ctx, table)
            more: bool | None = True
            while more:
                more = yield _fill_some(ctx, table, index)
            if more is None:
                continue
            if table.status_until <= ctx.now():
                yield _end_filling(ctx, table, index)
            else:
                due.append(table.status_until)
    return min(due, default=None)


def is_filling(table: Table, index: Index) -> bool:
    return table.status == "ACTIVE" and index.status == "CREATING" and index.backfilling


def until_all_is_durable() -> Step:
    """Waits for all that was committed before."""
    yield NOTHING


def until_durable(ctx: Context, table: Table) -> Step:
    """Waits for the commit that made the index, or enabled time to live. Every item that was written without regard
    to it is then durable too, hence in sight of the ranges that follow; whoever writes after it writes the entries as
    well."""
    yield Get([ctx.catalog.key(table)], guard=True)


def backfill_key(table_id: int, index_id: int) -> bytes:
    """Its record is the storage key from which a back-fill goes on."""
    return keys.job_key(BACKFILL | table_id << 16 | index_id)


def next_items(table: Table, index_id: int) -> Generator[Command, Any, tuple[Page, list[bytes | None]]]:
    """The items that come next in a back-fill, and their records as of now: the range shows what is durable, and an
    item may have been changed or deleted since."""
    start, stop = keys.space_bounds(table.table_id, BASE_INDEX_ID)
    progress: bytes | None = (yield Get([backfill_key(table.table_id, index_id)], guard=True))[0]
    page: Page = yield Range(progress or start, stop, False, BACKFILL_ITEMS_MAX, BACKFILL_BYTES_MAX)
    records: list[bytes | None] = []
    if page.records:
        records = yield Get([key for key, _ in page.records], guard=True)
    return page, records


def progress(table: Table, index_id: int, page: Page) -> tuple[bytes, bytes]:
    """The record of a back-fill that has done all there is in `page`."""
    return backfill_key(table.table_id, index_id), page.records[-1][0] + b"\x00"


def _fill_some(ctx: Context, begun_table: Table, begun_index: Index) -> Generator[Command, Any, bool | None]:
    """Writes the entries of the next items; whether there are more, or None when the index is not to be filled now."""
    found = _still_filling(ctx, begun_table, begun_index)
    if found is None:
        return None
    table, index = found
    page, records = yield from next_items(table, index.index_id)
    if not page.records:
        return False
    entries = [entry for record in records if record and (entry := index_entry(table, index, unpack(record)))]
    there: list[bytes | None] = yield Get([entry.key for entry in entries], guard=True)
    # What is there already was written with a later change of its item.
    missing = [entry for entry, record in zip(entries, there, strict=True) if record is None]
    stamp_ms = ctx.stamp_ms()
    puts = [(entry.key, entry.record(stamp_ms)) for entry in missing]
    puts.append(progress(table, index.index_id, page))
    size = sum(entry.size for entry in missing)
    yield Commit(puts, [], [(table.tally_key(index), len(missing), size)])
    return page.more


def _end_filling(ctx: Context, begun_table: Table, begun_index: Index) -> Step:
    found = _still_filling(ctx, begun_table, begun_index)
    if found is not None:
        table = filled(found[0], begun_index.name)
        yield Commit([ctx.catalog.record(table)], [backfill_key(table.table_id, found[1].index_id)])
        ctx.catalog.keep(table)


def _still_filling(ctx: Context, begun_table: Table, begun_index: Index) -> tuple[Table, Index] | None:
    """Table and index as they are now: between two steps either may have gone, and another one have taken the name."""
    table = ctx.catalog.find(begun_table.name)
    index = None if table is None else table.index_by_name.get(begun_index.name)
    if table is None or index is None or not is_filling(table, index):
        return None
    same = (table.table_id, index.index_id) == (begun_table.table_id, begun_index.index_id)
    return (table, index) if same else None


# Clearing: the spaces of dropped tables and indexes.


def clear_leftovers(ctx: Context) -> Generator[Step, Any, float | None]:
    for leftover in list(ctx.catalog.leftovers.values()):
        if (yield _is_dropped(leftover)):
            yield _clear(ctx, leftover)
    return None


def _is_dropped(leftover: Leftover) -> Generator[Command, Any, bool]:
    """Waits for the commit that dropped it. Should that fail, table or index are back, with all they hold."""
    record: bytes | None = (yield Get([leftover.key], guard=True))[0]
    return record is not None


def _clear(ctx: Context, leftover: Leftover) -> Step:
    table_id, index_id = leftover.table_id, leftover.index_id
    for bounds_of in (keys.space_bounds, keys.tally_bounds, keys.expiry_bounds):
        yield Clear(*bounds_of(table_id, index_id))
    if index_id is None:
        yield Clear(backfill_key(table_id, 0), backfill_key(table_id + 1, 0))
    else:
        yield Clear(backfill_key(table_id, index_id), backfill_key(table_id, index_id + 1))
    yield Commit([], [leftover.key])
    ctx.catalog.leftovers.pop(leftover.key, None)


TABLE_JOBS = (end_phases, backfill, clear_leftovers)

"""Time to live behind requests: the expiries of the items from before it was enabled, and the sweep that deletes what
has expired.

Theory of operation. Every write keeps the expiry of its item, in its commit. So what is to be deleted lies in one
range, and a sweep costs what it deletes, whatever else the table holds.

But for one thing: where much was deleted, an engine may have to walk over the traces for a long time (measured: 0.1
to 2 ms for a thousand). So a sweep remembers how far it has come, and the next one begins there. That is sound
since nothing becomes due in the past (`model.expiry`), once the back-fill is done and all writes from before are
durable: a range shows no others.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from msgspec.structs import replace

from torusdb.jobs.tables import Step, backfill_key, next_items, progress, until_all_is_durable, until_durable
from torusdb.model.expiry import Expiries
from torusdb.model.schema import Table, TimeToLive
from torusdb.operations.changes import change
from torusdb.operations.context import Context
from torusdb.operations.writes import commit_all
from torusdb.storage.commands import Command, Commit, Get, Page, Range

SWEEP_ITEMS_MAX = 100
"""Items that one step deletes: a few milliseconds, for which requests wait."""

SWEEP_BYTES_MAX = 1024 * 1024
"""Of the records of expiries, which are empty: no more than a bound that has to be given."""

PERIOD_SECONDS_MIN = 0.01

CLOCK_SECONDS_MAX = 2
"""One by which the clock may be set back without the sweep's notice, and one since what has expired when it is written
is due in the second before."""


# Back-fill: the expiries of the items that were there before.


def fill_expiries(ctx: Context) -> Generator[Step, Any, float | None]:
    for table in ctx.catalog:
        if _is_there(table) and table.ttl is not None and table.ttl.filling:
            yield until_durable(ctx, table)
            more: bool | None = True
            while more:
                more = yield _fill_some(ctx, table)
            if more is not None:
                yield _end_filling(ctx, table)
    return None


def _fill_some(ctx: Context, begun: Table) -> Generator[Command, Any, bool | None]:
    """Writes the expiries of the next items; whether there are more, or None when they are not wanted any more. Those
    that are there already are the same."""
    found = _same_still(ctx, begun)
    if found is None:
        return None
    table, ttl, expiries = found
    page, records = yield from next_items(table, ttl.index_id)
    if not page.records:
        return False
    there = [(key, record) for (key, _), record in zip(page.records, records, strict=True) if record is not None]
    puts = [(expiry, b"") for key, record in there if (expiry := expiries.key_of_record(key, record))]
    yield Commit([*puts, progress(table, ttl.index_id, page)])
    return page.more


def _end_filling(ctx: Context, begun: Table) -> Step:
    found = _same_still(ctx, begun)
    if found is not None:
        table, ttl, _ = found
        filled = replace(table, ttl=replace(ttl, filling=False))
        yield Commit([ctx.catalog.record(filled)], [backfill_key(table.table_id, ttl.index_id)])
        ctx.catalog.keep(filled)


# The sweep.


def sweep(ctx: Context) -> Generator[Step, Any, float | None]:
    """Deletes what has expired."""
    is_needed = False
    for table in ctx.catalog:
        if not _is_there(table) or table.ttl is None or table.expiries is None:
            continue
        is_needed = True
        if table.ttl.status(ctx.now()) == "ENABLED" and not table.ttl.filling:
            yield from _sweep_table(ctx, table, table.ttl, table.expiries)
    return ctx.now() + max(ctx.settings.ttl_period_seconds, PERIOD_SECONDS_MIN) if is_needed else None


def _sweep_table(ctx: Context, table: Table, ttl: TimeToLive, expiries: Expiries) -> Generator[Step, Any, None]:
    swept_of = (table.table_id, ttl.index_id)
    # An item expires when its second is less than the current one (API reference, "UpdateTimeToLive").
    stop_second = max(0, int(ctx.now() - ctx.settings.ttl_delay_seconds))
    swept = ctx.swept.get(swept_of, 0)
    if swept > stop_second:
        swept = 0  # the clock was set back
    yield until_all_is_durable()
    place: bytes | None
    place, stop = expiries.bounds(swept, stop_second)
    while place is not None and place < stop:
        place = yield _sweep_some(ctx, table, place, stop)
    ctx.swept[swept_of] = max(swept, stop_second - CLOCK_SECONDS_MAX)


def _sweep_some(ctx: Context, begun: Table, start: bytes, stop: bytes) -> Generator[Command, Any, bytes | None]:
    """Deletes the next items that have expired; gives the place to go on from, None where there are no more."""
    found = _same_still(ctx, begun)
    if found is None:
        return None
    table, _, expiries = found
    page: Page = yield Range(start, stop, False, SWEEP_ITEMS_MAX, SWEEP_BYTES_MAX)
    if not page.records:
        return None
    item_keys = [expiries.item_key(expiry) for expiry, _ in page.records]
    records: list[bytes | None] = yield Get(item_keys, guard=True)
    now = ctx.now()
    changes = []
    for (expiry, _), key, record in zip(page.records, item_keys, records, strict=True):
        # The range shows what is durable; an item may have got another expiry since, or be gone.
        if record is None or expiries.key_of_record(key, record) != expiry or expiries.is_too_old(record, now):
            continue
        deletion = change(table, key, record, None, 0, ctx.stamp_ms(), by_service=True)
        assert deletion is not None
        changes.append(deletion)
    yield from commit_all(changes)
    return page.records[-1][0] + b"\x00" if page.more else None


def _is_there(table: Table) -> bool:
    return table.status in ("ACTIVE", "UPDATING")


def _same_still(ctx: Context, begun: Table) -> tuple[Table, TimeToLive, Expiries] | None:
    """The table as it is now, unless it or its time to live has gone between two steps, or become another."""
    table = ctx.catalog.find(begun.name)
    assert begun.ttl is not None
    if table is None or table.ttl is None or table.expiries is None or not _is_there(table):
        return None
    same = (table.table_id, table.ttl.index_id) == (begun.table_id, begun.ttl.index_id)
    return (table, table.ttl, table.expiries) if same else None


TTL_JOBS = (fill_expiries, sweep)

"""One page of a Query or a Scan: both reduce their request to a `Plan`, and this reads it.

A page ends after `Limit` items, or with the item that brings what was read to 1 MB, whichever is first; filters and
projections work on what was read and don't change where it ends (developer guide). A page that ends for either
reason has a LastEvaluatedKey, even if nothing is left behind it.

Without filter or projection nothing is decoded: stored items are the wire's own JSON and are spliced into the answer.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec

from torusdb.expressions import Condition, Projection
from torusdb.model.attributes import Item, encode_item
from torusdb.model.records import record_item_json, record_size, unpack
from torusdb.model.schema import Index, Table
from torusdb.operations.capacity import Consumed, read_units
from torusdb.storage.commands import Command, Get, Page, Range

PAGE_BYTES_MAX = 1024 * 1024
"""What a page reads at most, in the service's item sizes (developer guide, "Paginating the results")."""

CHUNK_BYTES_MAX = 256 * 1024
"""Stored bytes read in one go: between two chunks a server serves others. A record is never smaller than the item's
size as the service counts it, so a page cannot be full before its stored bytes say that it may be."""

CHUNK_ITEMS_MAX = 10_000


class Plan(msgspec.Struct):
    table: Table
    index: Index | None
    start: bytes
    stop: bytes
    reverse: bool = False
    limit: int | None = None
    consistent: bool = False
    filter: Condition | None = None
    projection: Projection | None = None
    count_only: bool = False
    fetch_items: bool = False
    """Of a local index: the answer needs attributes that the index doesn't hold, so the items are read too."""
    weigh: bool = False
    """Sizes are needed: the request asks for the capacity consumed, or makes one page of several reads."""
    bytes_max: int = PAGE_BYTES_MAX
    """What may still be read for the page."""


class Reading(msgspec.Struct):
    items: list[bytes]
    count: int
    scanned_count: int
    last_key: Item | None
    consumed: Consumed
    scanned_bytes: int
    """What was read, where the plan weighs it."""


def read(plan: Plan) -> Generator[Command, Any, Reading]:
    records, page_is_full = yield from _read_records(plan)
    last_key = None
    if page_is_full and records:
        last_key = plan.table.index_key_item(plan.index, unpack(records[-1]))
    consumed = Consumed(plan.table)
    scanned_bytes = 0
    if plan.weigh:
        scanned_bytes = sum(map(record_size, records))
        units = read_units(scanned_bytes, plan.consistent)
        if plan.index is None:
            consumed.add(units)
        else:
            consumed.add(0.0, {plan.index.name: units})
    shown = (yield from _fetch(plan, records, consumed)) if plan.fetch_items else records
    items, count = _select(plan, records, shown)
    return Reading(items, count, len(records), last_key, consumed, scanned_bytes)


def _read_records(plan: Plan) -> Generator[Command, Any, tuple[list[bytes], bool]]:
    """The page's records, and whether it ended for its limit or its size rather than for want of items."""
    start, stop = plan.start, plan.stop
    records: list[bytes] = []
    stored_bytes = 0
    while True:
        items_max = CHUNK_ITEMS_MAX if plan.limit is None else min(plan.limit - len(records), CHUNK_ITEMS_MAX)
        page: Page = yield Range(start, stop, plan.reverse, items_max, CHUNK_BYTES_MAX)
        chunk = [record for _, record in page.records]
        records += chunk
        stored_bytes += sum(map(len, chunk))
        if stored_bytes >= plan.bytes_max and sum(map(record_size, records)) >= plan.bytes_max:
            return _cut(records, plan.bytes_max), True
        if len(records) == plan.limit:
            return records, True
        if not page.more:
            return records, False
        last = page.records[-1][0]
        start, stop = (start, last) if plan.reverse else (last + b"\x00", stop)


def _cut(records: list[bytes], bytes_max: int) -> list[bytes]:
    """The records up to the one that fills the page."""
    size = 0
    for count, record in enumerate(records, 1):
        size += record_size(record)
        if size >= bytes_max:
            return records[:count]
    return records


def _fetch(plan: Plan, records: list[bytes], consumed: Consumed) -> Generator[Command, Any, list[bytes]]:
    """The items behind entries of a local index. Each is charged as a read of its own (developer guide, "Read capacity
    units" of local secondary indexes)."""
    found: list[bytes | None] = yield Get([plan.table.key_of(unpack(record)) for record in records])
    # An item can have gone since its entry was read, if a server paused between the two: its entry is all there is.
    items = [item or entry for item, entry in zip(found, records, strict=True)]
    if plan.weigh:
        consumed.add(sum(read_units(record_size(item), plan.consistent) for item in items))
    return items


def _select(plan: Plan, records: list[bytes], shown: list[bytes]) -> tuple[list[bytes], int]:
    """The items of the answer as JSON, and how many passed the filter. The filter looks at `records`, what the table
    or index holds, even where the answer is taken from the items behind an index (seen: a Scan's filter takes what
    the index lacks for missing)."""
    if plan.filter is None and plan.projection is None:
        return ([] if plan.count_only else list(map(record_item_json, shown))), len(records)
    if plan.filter is None and plan.count_only:
        return [], len(records)
    matches = plan.filter.matches if plan.filter is not None else None
    apply = plan.projection.apply if plan.projection is not None else None
    selected = []
    count = 0
    for record, whole in zip(records, shown, strict=True):
        item = unpack(record)
        if matches is not None and not matches(item):
            continue
        count += 1
        if plan.count_only:
            continue
        if apply is None:
            selected.append(record_item_json(whole))
        else:
            selected.append(encode_item(apply(item if whole is record else unpack(whole))))
    return selected, count

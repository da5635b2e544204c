"""The phases of tables and indexes: CREATING, UPDATING, DELETING, and how each ends.

Theory of operation. An operation puts a table into a phase and answers with it. By default the phase ends
at once: what is committed is the table as `settle` leaves it, so the very next request sees it done, while
the answer says CREATING as the service's does. With a table delay the phase itself is committed, and a job
settles the table when `status_until` has come. Both ways run through the same functions, which are pure.

An index that is added goes through two phases, as in the service: first CREATING while the table is
UPDATING, then CREATING with `backfilling` while the table is ACTIVE again and a job writes its entries.
Writers keep its entries from the first. A change of an index alone leaves its table ACTIVE.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from torusdb.model.schema import Index, Table
from torusdb.model.streams import Stream
from torusdb.operations.context import Context
from torusdb.storage.commands import Command, Commit


class Settled(msgspec.Struct):
    """A table after a phase (None when it is gone), and the ids of the indexes that are gone with the phase."""

    table: Table | None
    dropped: list[int]


def in_phase(table: Table) -> bool:
    """Whether there is something for `settle` to end."""
    return table.status != "ACTIVE" or any(index.status == "UPDATING" for index in table.indexes)


def settle(table: Table, now: float, delay: float = 0.0) -> Settled:
    """The table when its phase has ended. `delay` is how long the phase lasts that an index enters."""
    if table.status == "DELETING":
        return Settled(None, [])
    kept: list[Index] = []
    dropped: list[int] = []
    status_until = 0.0
    for index in table.indexes:
        if index.status == "DELETING":
            dropped.append(index.index_id)
            continue
        if index.backfilling:
            kept.append(index)
        elif index.status == "CREATING" and table.status == "UPDATING":
            kept.append(replace(_with_throughput(index), backfilling=True))
            status_until = now + delay
        else:
            kept.append(replace(_with_throughput(index), status="ACTIVE"))
    settled = replace(
        table,
        status="ACTIVE",
        status_until=status_until,
        changing=None,
        throughput=table.next_throughput or table.throughput,
        next_throughput=None,
        indexes=kept,
    )
    return Settled(settled, dropped)


def _with_throughput(index: Index) -> Index:
    return replace(index, throughput=index.next_throughput or index.throughput, next_throughput=None)


def filled(table: Table, index_name: str) -> Table:
    """The table when an index's back-fill is done."""
    indexes = [
        replace(index, status="ACTIVE", backfilling=False) if index.name == index_name else index
        for index in table.indexes
    ]
    return replace(table, indexes=indexes)


def enter(
    ctx: Context, table: Table, puts: Iterable[tuple[bytes, bytes]] = (), stream: Stream | None = None
) -> Generator[Command, Any, None]:
    """Commits a table that has entered a phase, or that has left it at once; with it, its stream if that has
    changed."""
    if stream is not None:
        puts = [*puts, ctx.catalog.stream_record(stream)]
    delay = ctx.settings.table_delay_seconds
    now = ctx.now()
    if delay:
        settled = Settled(replace(table, status_until=now + delay), [])
        yield from keep(ctx, table, settled, puts)
    else:
        yield from keep(ctx, table, settle(table, now), puts)
    if stream is not None:
        ctx.catalog.keep_stream(stream)


def keep(
    ctx: Context, table: Table, settled: Settled, puts: Iterable[tuple[bytes, bytes]] = ()
) -> Generator[Command, Any, None]:
    """Commits what has become of a table, with the spaces to clear, and makes it known."""
    catalog = ctx.catalog
    leftovers = [catalog.leftover(table, index_id) for index_id in settled.dropped]
    records = [*puts]
    deletes = []
    if settled.table is None:
        leftovers.append(catalog.leftover(table, None))
        deletes.append(catalog.key(table))
    else:
        records.append(catalog.record(settled.table))
    records += (leftover.record() for leftover in leftovers)
    yield Commit(records, deletes)
    if settled.table is None:
        catalog.forget(table)
    else:
        catalog.keep(settled.table)
    catalog.leftovers.update((leftover.key, leftover) for leftover in leftovers)
    ctx.wake_jobs()

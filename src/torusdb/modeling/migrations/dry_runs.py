"""What a migration would do: reads and converts, writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from torusdb.modeling.design.cost import MILLION, US_EAST_1
from torusdb.modeling.design.sizes import item_bytes
from torusdb.modeling.design.units import TRANSACTION_FACTOR, write_units
from torusdb.modeling.migrations import tables
from torusdb.modeling.migrations.conversion import Outcome, key_of
from torusdb.modeling.migrations.converting import replacement
from torusdb.modeling.migrations.driving import Driver, Means
from torusdb.modeling.migrations.errors import ItemRefused
from torusdb.modeling.migrations.index_units import Indexes
from torusdb.modeling.migrations.ledgers import first_entry
from torusdb.modeling.migrations.migration import Migration
from torusdb.modeling.migrations.pacing import Pacer
from torusdb.modeling.migrations.progress import key_text
from torusdb.modeling.migrations.retries import patiently
from torusdb.modeling.migrations.scanning import scan_request
from torusdb.modeling.migrations.states import State
from torusdb.modeling.migrations.writing import check_count
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Work

EXAMPLES_MAX: Final = 5
ERRORS_SHOWN: Final = 20


@dataclass
class DryRun:
    """`items`: that were looked at, of the `table_items` that the table has by its own account (the service brings that
    up to date every six hours). `counts`: by what would become of them; `examples`: items before and after. Units are
    of the items that were looked at, `index_units` the part of `write_units` that indexes take; `whole` gives those of
    the table. `seconds`: that the whole run takes at its
    pace, at least; None where it has no limit."""

    table_items: int
    is_whole: bool = False
    items: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)
    examples: list[tuple[Item, list[Item]]] = field(default_factory=list)
    read_units: float = 0.0
    write_units: float = 0.0
    index_units: float = 0.0
    seconds: float | None = None

    @property
    def share(self) -> float:
        """How much of the table was looked at."""
        return 1.0 if self.is_whole or not self.table_items else min(1.0, self.items / self.table_items)

    def whole(self, units: float) -> float:
        return units / self.share if self.share else 0.0

    @property
    def price(self) -> float:
        """Of the whole run, in USD, if the tables are of the standard class in us-east-1 and paid by request."""
        prices = US_EAST_1.standard
        reads, writes = self.whole(self.read_units), self.whole(self.write_units)
        return (reads * prices.read_requests + writes * prices.write_requests) / MILLION

    def seconds_at(self, pacer: Pacer) -> float | None:
        paces = (pacer.reads.units_per_second, pacer.writes.units_per_second)
        units = (self.whole(self.read_units), self.whole(self.write_units))
        times = [each / pace for each, pace in zip(units, paces, strict=True) if pace is not None]
        return max(times) if times else None


def dry_run(
    migration: Migration,
    driver: Driver,
    state: State,
    *,
    items_max: int | None = None,
    watch: Callable[[DryRun], Any] = lambda found: None,
) -> DryRun:
    """Looks at so many items, or at all."""
    source = tables.describe(migration.source, driver.means)
    found = DryRun(source["ItemCount"])
    before = driver.pacer.reads.used
    driver.run(_work(migration, state, found, _indexes(migration, source, driver.means), items_max, watch))
    found.read_units = driver.pacer.reads.used - before
    return found


def _indexes(migration: Migration, source: tables.Description, means: Means) -> Indexes:
    """Those that are written to: a target that is not there yet will have what it is declared with."""
    if migration.marker is not None:
        return Indexes(source)
    return Indexes(tables.find(migration.target.name, means) or migration.target.create_parameters())


def _work(
    migration: Migration,
    state: State,
    found: DryRun,
    indexes: Indexes,
    items_max: int | None,
    watch: Callable[[DryRun], Any],
) -> Work[None]:
    request = scan_request(migration.source, 0, 1, consistent=migration.marker is None)
    while True:
        page = yield from patiently(request)
        for item in page["Items"]:
            if state.is_own(migration.source.name, item):
                continue
            _look(migration, item, indexes, found)
            if found.items == items_max:
                return
        watch(found)
        if "LastEvaluatedKey" not in page:
            found.is_whole = True
            return
        request.parameters["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _look(migration: Migration, item: Item, indexes: Indexes, found: DryRun) -> None:
    found.items += 1
    try:
        if migration.is_done(item):
            found.counts["already"] += 1
            return
        outcome = migration.outcome(item)
        if outcome.is_left:
            found.counts["left"] += 1
            if migration.marker is not None:
                return
        else:
            found.counts["converted"] += 1
            if len(found.examples) < EXAMPLES_MAX:
                found.examples.append((item, outcome.items))
        table_units, index_units = _units(migration, item, outcome, indexes)
        found.write_units += table_units + index_units
        found.index_units += index_units
    except ItemRefused as error:
        found.counts["refused"] += 1
        if len(found.errors) < ERRORS_SHOWN:
            found.errors[key_text(key_of(migration.source, item))] = str(error)


def _units(migration: Migration, item: Item, outcome: Outcome, indexes: Indexes) -> tuple[int, int]:
    """Of the tables, and of the indexes. Raises ItemRefused for what could not be written."""
    if migration.marker is None:
        written = [first_entry(migration, item, outcome.items), *outcome.items]
        check_count(written)
        units = TRANSACTION_FACTOR * sum(write_units(item_bytes(each)) for each in written)
        return units, sum(indexes.units(None, each) for each in outcome.items)
    check_count(replacement(migration, item, outcome))
    key = key_of(migration.source, item)
    kept = [each for each in outcome.items if key_of(migration.source, each) == key]
    others = [each for each in outcome.items if each not in kept]
    units = sum(map(write_units, [max(map(item_bytes, [item, *kept])), *map(item_bytes, others)]))
    in_indexes = indexes.units(item, kept[0] if kept else None) + sum(indexes.units(None, each) for each in others)
    return units * (TRANSACTION_FACTOR if others else 1), in_indexes

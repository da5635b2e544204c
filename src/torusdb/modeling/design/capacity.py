"""The capacity plan: what a design asks of its tables, into how many partitions that makes them, and what it costs.

plan(load_design("shop.py")) is a `Plan`: values, for a program; `report.py` tells them, `growth.py` draws them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Final, NamedTuple

from torusdb.modeling.design.cost import US_EAST_1, Bill, Demand, Prices, bills, break_even_load
from torusdb.modeling.design.facts import MADE_SAMPLE, Facts
from torusdb.modeling.design.loading import Design
from torusdb.modeling.design.loads import (
    EntityLoad,
    Heat,
    PatternLoad,
    entity_load,
    heats,
    own_index,
    pattern_load,
    possible_partitions,
)
from torusdb.modeling.design.units import partitions, partitions_by_size, partitions_by_throughput
from torusdb.modeling.design.workload import Accepted, Volume, Workload
from torusdb.modeling.errors import ModelError
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.table import GlobalIndex, Index, Table

UTILISATION: Final = 0.7
"""What auto-scaling aims at unless it is told otherwise, as the console has it."""
STORED_OVERHEAD_BYTES: Final = 100
"""Of each item and each entry, as storage is billed (developer guide, "Item sizes and formats")."""


@dataclass(frozen=True)
class Resource:
    """A table or a global index: what has partitions and capacity of its own. Local indexes are within their table."""

    name: str
    table: Table
    index: Index | None
    read_units: float
    write_units: float
    stored_bytes: float
    billed_bytes: float

    @property
    def partitions_by_throughput(self) -> int:
        return partitions_by_throughput(self.read_units, self.write_units)

    @property
    def partitions_by_size(self) -> int:
        return partitions_by_size(self.stored_bytes)

    @property
    def partitions(self) -> int:
        return partitions(self.read_units, self.write_units, self.stored_bytes)

    @property
    def share(self) -> Demand:
        """Of each partition, if keys spread the load evenly."""
        count = self.partitions
        return Demand(self.read_units / count, self.write_units / count, self.stored_bytes / count)

    @property
    def demand(self) -> Demand:
        return Demand(self.read_units, self.write_units, self.billed_bytes)


@dataclass(frozen=True)
class Plan:
    """Units are of a second at the busiest time. `missing`: expectations that were not given, and are in no sum;
    `assumed`: what was taken to be so for want of them. `break_even`: the average load from which on provisioned
    capacity costs less than on-demand."""

    design: Design
    prices: Prices
    utilisation: float
    average_load: float | None
    patterns: list[PatternLoad]
    entities: list[EntityLoad]
    resources: list[Resource]
    heats: list[Heat]
    bills: list[Bill]
    missing: list[str]
    assumed: list[str]
    break_even: float | None

    @property
    def read_units(self) -> float:
        return sum(each.read_units for each in self.resources)

    @property
    def write_units(self) -> float:
        return sum(each.write_units for each in self.resources)

    @property
    def partitions(self) -> int:
        return sum(each.partitions for each in self.resources)


def plan(
    design: Design,
    *,
    prices: Prices = US_EAST_1,
    utilisation: float = UTILISATION,
    average_load: float | None = None,
) -> Plan:
    """`average_load`: in the place of the workload's own."""
    for name, value in (("utilisation", utilisation), ("average_load", average_load)):
        if value is not None and not 0 < value <= 1:
            raise ModelError(f"{name} is a part, above 0 and up to 1, not {value}")
    facts = Facts(design)
    average = design.workload.average_load if average_load is None else average_load
    patterns = [pattern_load(facts, access) for access in facts.accesses.values()]
    entities = [entity_load(facts, model) for model in facts.models]
    resources = list(_resources(facts, patterns, entities))
    demands = [each.demand for each in resources]
    loads: list[PatternLoad | EntityLoad] = [*patterns, *entities]
    return Plan(
        design=design,
        prices=prices,
        utilisation=utilisation,
        average_load=average,
        patterns=patterns,
        entities=entities,
        resources=resources,
        heats=heats(facts),
        bills=bills(
            demands,
            prices,
            utilisation=utilisation,
            average_load=average,
            stream_reads_per_second=design.workload.stream_reads_per_second or 0.0,
        ),
        missing=list(dict.fromkeys(each for load in loads if (each := load.missing))),
        assumed=list(_assumed(facts, average, patterns)),
        break_even=break_even_load(demands, prices, utilisation),
    )


def _resources(facts: Facts, patterns: Sequence[PatternLoad], entities: Sequence[EntityLoad]) -> Iterator[Resource]:
    for table in facts.design.tables:
        for index in [None, *(each for each in table.indexes if isinstance(each, GlobalIndex))]:
            reads = sum(
                load.units_per_second or 0.0
                for load in patterns
                if load.access.table is table and _own(load.access.index) is index
            )
            writes = stored = billed = 0.0
            for load in entities:
                if load.model.table is not table or load.volume is None:
                    continue
                for key, units in load.units_each.items():
                    if own_index(key) is index:
                        size, items = facts.size(load.model, key.index), facts.items_in(key)
                        assert size is not None  # the load has no units without
                        assert items is not None
                        writes += units * load.volume.writes
                        stored += items * size.bytes
                        billed += items * (size.bytes + STORED_OVERHEAD_BYTES)
            name = table.name if index is None else f"{table.name}.{index.name}"
            yield Resource(name, table, index, reads, writes, stored, billed)


def _own(index: Index | None) -> GlobalIndex | None:
    return index if isinstance(index, GlobalIndex) else None


def _assumed(facts: Facts, average_load: float | None, patterns: Sequence[PatternLoad]) -> Iterator[str]:
    if average_load is None and facts.design.workload:
        yield "the busiest time lasts all month: say Workload(…, average_load=…), and on-demand will cost less"
    for model in facts.models:
        size, volume = facts.size(model), facts.volume(model)
        if volume is not None and size is not None and size.source == MADE_SAMPLE:
            yield (
                f"an item of {model.name} has {size.bytes:,.0f} bytes, as {size.source} has: say Volume({model.name}, "
                "item_bytes=…) or sample=…"
            )
    for key in facts.keys:
        entry, partial = facts.size(key.model, key.index), key.index is not None and key.index.include is not None
        if partial and facts.volume(key.model) is not None and entry is not None and entry.source == MADE_SAMPLE:
            yield (
                f"an entry of {key.model.name} in {key.index_name} has {entry.bytes:,.0f} bytes, as {entry.source} "
                f"has: say Volume({key.model.name}, sample=…)"
            )
        if key.may_be_absent:
            yield from _assumed_of_sparse(key, facts.volume(key.model))
    volumes = facts.design.workload.volumes.values()
    if any(each.writes for each in volumes) and all(each.in_transactions is None for each in volumes):
        yield "nothing is written by transactions, which cost twice: say Volume(…, in_transactions=…) if something is"
    for load in patterns:
        yield from _assumed_of_read(load)
    yield from _unknown_heat(facts, patterns)


def _assumed_of_sparse(key: BoundKey[Any], volume: Volume | None) -> Iterator[str]:
    if volume is None:
        return
    name = key.model.name
    if key not in volume.in_index:
        yield (
            f"all {name} entities are in {key.index_name}: say Volume({name}, in_index={{{key.label}: …}}) if some "
            "are not"
        )
    elif volume.in_index[key] < 1 and key not in volume.index_writes:
        yield (
            f"as many writes of {name} reach {key.index_name} as entities are in it: say Volume({name}, "
            f"index_writes={{{key.label}: …}}) if they come and go"
        )


def _assumed_of_read(load: PatternLoad) -> Iterator[str]:
    access, rate = load.access, load.rate
    if rate is None:
        return
    if access.mixed and access.operation == "Query":
        yield f"the entities among which {access.pattern.name} finds its own are not counted"
    if access.limit and access.filtered and access.page_items is None:
        yield f"{access.pattern.name} reads {rate.items_given:g} items, though it filters and its limit ends no request"
    if len(access.models) > 1 and not isinstance(rate.items, Mapping):
        names = ": …, ".join(model.name for model in access.models)
        yield (
            f"{access.pattern.name} gives entities in proportion to their volumes: say "
            f"Rate({access.pattern.name}, items={{{names}: …}})"
        )


def _unknown_heat(facts: Facts, patterns: Sequence[PatternLoad]) -> Iterator[str]:
    for load in patterns:
        if load.rate is None or load.rate.hottest_reads is not None or not load.access.keys:
            continue
        if possible_partitions(load.access.keys[0]) is None:
            name = load.access.pattern.name
            yield f"reads of {name} spread over its keys: say Rate(…, hottest_reads=…) if they don't"
    for model in facts.models:
        volume = facts.volume(model)
        if volume is None or not volume.writes or model.primary in volume.hottest:
            continue
        if possible_partitions(model.primary) is None:
            yield f"writes of {model.name} spread over its keys: say Volume(…, hottest_writes=…) if they don't"


# Growing


class Point(NamedTuple):
    """The plan at so many times the expected load and data."""

    factor: float
    plan: Plan

    def total(self, mode: str, table_class: str) -> float:
        return next(each.total for each in self.plan.bills if (each.mode, each.table_class) == (mode, table_class))


def grown(plan_: Plan, factors: Sequence[float]) -> list[Point]:
    return [
        Point(
            factor,
            plan(
                plan_.design._replace(workload=scaled(plan_.design.workload, factor)),
                prices=plan_.prices,
                utilisation=plan_.utilisation,
                average_load=plan_.average_load,
            ),
        )
        for factor in factors
    ]


def scaled(workload: Workload, factor: float) -> Workload:
    """So many times the items, and the use of them; what one use reads stays the same."""
    return Workload(
        *(replace(each, **_scaled_members(each, factor)) for each in workload if not isinstance(each, Accepted)),
        average_load=workload.average_load,
        stream_reads_per_second=workload.stream_reads_per_second,
    )


def _scaled_members(each: Any, factor: float) -> dict[str, Any]:
    if isinstance(each, Volume):
        writes = None if each.writes_per_second is None else each.writes * factor
        return {"items": ceil(each.items * factor), "writes_per_second": writes}
    return {"per_second": each.per_second * factor}

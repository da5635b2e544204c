"""What a workload asks of the tables: capacity units by pattern and by entity, and the hottest partition keys.

Theory of operation. A read costs by what it reads, whatever its filter keeps; each request of a sharded query is
rounded up by itself. A write costs the table's part, and one write of each index that the entity is in, which a local
index takes from the table's capacity. Where an expectation is missing nothing is made up for it: the load says what is
missing, and has no units."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, Final, NamedTuple

from torusdb.modeling.design.facts import Access, Facts
from torusdb.modeling.design.sizes import choices
from torusdb.modeling.design.units import TRANSACTION_FACTOR, item_read_units, load_of_partition, range_read_units
from torusdb.modeling.design.units import write_units as units_of_write
from torusdb.modeling.design.workload import Rate, Volume
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.model import EntityModel
from torusdb.modeling.pages import first_page_items
from torusdb.modeling.shards import SHARDS_MAX
from torusdb.modeling.table import GlobalIndex, Index

ROOM: Final = 1.0
"""What a partition can do, as a load."""


class PatternLoad(NamedTuple):
    """`units_each`: read units of one use. `missing`: what would have to be said."""

    access: Access
    rate: Rate | None
    units_each: float | None
    missing: str | None = None

    @property
    def units_per_second(self) -> float | None:
        return None if self.rate is None or self.units_each is None else self.rate.per_second * self.units_each


class EntityLoad(NamedTuple):
    """`units_each`: write units of one write, by key: of the table, and of each index that the entity is in. `missing`:
    what would have to be said."""

    model: EntityModel[Any]
    volume: Volume | None
    units_each: dict[BoundKey[Any], float]
    missing: str | None = None

    @property
    def units_per_second(self) -> float | None:
        if self.volume is None or self.missing:
            return None
        return self.volume.writes * sum(self.units_each.values())


class Heat(NamedTuple):
    """What the hottest partition key of a kind gets in a second. `key`: one of the keys that are of this kind; `even`:
    that is for want of a better figure the even part, and the hottest one gets this at least; `shards`: into how many
    it would have to be spread, None if no number is enough."""

    key: BoundKey[Any]
    read_units: float
    write_units: float
    sources: list[str]
    even: bool
    shards: int | None

    @property
    def load(self) -> float:
        return load_of_partition(self.read_units, self.write_units)


# Patterns


def pattern_load(facts: Facts, access: Access) -> PatternLoad:
    rate = facts.rate(access.pattern)
    if rate is None:
        return PatternLoad(access, None, None, f"Rate({access.pattern.name}, per_second=…)")
    missing = _missing_of_read(facts, access)
    if missing:
        return PatternLoad(access, rate, None, missing)
    return PatternLoad(access, rate, access.lanes * lane_units(facts, access, rate, access.lanes))


def _missing_of_read(facts: Facts, access: Access) -> str | None:
    for model in access.table.entities.values() if access.operation == "Scan" else access.models:
        if access.operation == "Scan" and facts.volume(model) is None:
            return f"Volume({model.name}, items=…), since {access.pattern.name} reads the whole table"
        if facts.size(model, access.index) is None:
            return f"item_bytes of Volume({model.name}): no sample of it can be made"
    return None


def lane_units(facts: Facts, access: Access, rate: Rate, lanes: int) -> float:
    """Read units of one of the requests of a pattern, if it makes so many."""
    units = _lane_units(facts, access, rate, lanes, consistent=access.consistent)
    if not rate.in_transactions:
        return units
    in_transaction = TRANSACTION_FACTOR * _lane_units(facts, access, rate, lanes, consistent=True)
    return units + rate.in_transactions * (in_transaction - units)


def _lane_units(facts: Facts, access: Access, rate: Rate, lanes: int, *, consistent: bool) -> float:
    if access.operation == "Scan":
        return _scan_units(facts, access, consistent=consistent) / lanes
    mean = facts.mean_bytes(access)
    assert mean is not None  # see _missing_of_read
    if access.operation == "GetItem":
        return item_read_units(mean, consistent=consistent)
    if access.operation == "BatchGetItem":
        return rate.items_given * item_read_units(mean, consistent=consistent)
    return range_read_units(items_read(access, rate, lanes), mean, consistent=consistent, page_items=access.page_items)


def items_read(access: Access, rate: Rate, lanes: int) -> float:
    """By one of the requests. Of a limited query that is the first page of a shard, which rarely needs a second."""
    there = rate.items_given / access.keeps
    if access.limit and not access.filtered and there >= access.limit:
        return min(there, first_page_items(access.limit, lanes))
    return there / lanes


def _scan_units(facts: Facts, access: Access, *, consistent: bool) -> float:
    stored = 0.0
    for model in access.table.entities.values():
        size, volume = facts.size(model), facts.volume(model)
        assert size is not None  # see _missing_of_read
        assert volume is not None
        stored += size.bytes * volume.items
    return range_read_units(stored, 1.0, consistent=consistent)


# Entities


def entity_load(facts: Facts, model: EntityModel[Any]) -> EntityLoad:
    volume = facts.volume(model)
    if volume is None:
        return EntityLoad(model, None, {}, f"Volume({model.name}, items=…, writes_per_second=…)")
    units: dict[BoundKey[Any], float] = {}
    for key in model.keys.values():
        size = facts.size(model, key.index)
        if size is None:
            return EntityLoad(model, volume, {}, f"item_bytes of Volume({model.name}): no sample of it can be made")
        units[key] = units_of_write(size.bytes) * _times(volume, key)
    missing = None if volume.writes_per_second is not None else f"writes_per_second of Volume({model.name})"
    return EntityLoad(model, volume, units, missing)


def _times(volume: Volume, key: BoundKey[Any]) -> float:
    if key.index is None:
        return 1 + volume.transactional * (TRANSACTION_FACTOR - 1)
    return volume.index_writes.get(key, volume.in_index.get(key, 1.0))


# Heat


def possible_partitions(key: BoundKey[Any]) -> int | None:
    """How many values the partition key can have, shards left out; None for any number."""
    counts = [choices(key.model.codecs[field]) for part in key.partition for field in part.template.fields]
    known = [count for count in counts if count is not None]
    return prod(known) if len(known) == len(counts) else None


def own_index(key: BoundKey[Any]) -> Index | None:
    """Where a key has partitions of its own: a global index. Those of a local one are the table's."""
    return key.index if isinstance(key.index, GlobalIndex) else None


def kind_of(key: BoundKey[Any]) -> tuple[Any, ...]:
    """Keys of one kind share partition keys: those of a customer and of their orders."""
    texts = tuple((part.attribute.name, *part.template.literals) for part in key.partition)
    return (key.model.table.name, own_index(key), texts, key.shards)


class HotWrite(NamedTuple):
    """The write units that one partition key gets, and from what."""

    units: float
    even: bool
    source: str


class HotRead(NamedTuple):
    """A pattern, and the part of its uses that goes to one partition key. `even`: it is not given; `knows_shard`: each
    use reads one shard."""

    access: Access
    rate: Rate
    part: float
    even: bool
    knows_shard: bool

    def units(self, facts: Facts, shards: int) -> float:
        """Of one shard, if there are so many."""
        lanes, part = (1, self.part / shards) if self.knows_shard else (shards, self.part)
        units = lane_units(facts, self.access, self.rate, lanes)
        return self.rate.per_second * part * units


def heats(facts: Facts) -> list[Heat]:
    """By kind of partition key. Only what is known: where neither the hottest part is given nor the partition keys can
    be counted, a load may fall on any number of them."""
    reads: dict[tuple[Any, ...], list[HotRead]] = {}
    writes: dict[tuple[Any, ...], list[HotWrite]] = {}
    keys: dict[tuple[Any, ...], BoundKey[Any]] = {}
    for access in facts.accesses.values():
        hot = _hot_read(facts, access)
        if hot is not None:
            key = access.keys[0]
            keys.setdefault(kind_of(key), key)
            reads.setdefault(kind_of(key), []).append(hot)
    for model in facts.models:
        for key, hot_write in _hot_writes(facts, model):
            keys.setdefault(kind_of(key), key)
            writes.setdefault(kind_of(key), []).append(hot_write)
    return [_heat(facts, key, reads.get(kind, []), writes.get(kind, [])) for kind, key in keys.items()]


def _hot_read(facts: Facts, access: Access) -> HotRead | None:
    load = pattern_load(facts, access)
    if load.rate is None or load.units_each is None or not access.keys:
        return None
    key = access.keys[0]
    part, even = _part(load.rate.hottest_reads, key)
    if part is None:
        return None
    return HotRead(access, load.rate, part, even, knows_shard=access.lanes == 1 and key.shards > 1)


def _part(given: float | None, key: BoundKey[Any]) -> tuple[float | None, bool]:
    """The part that goes to one partition key, and whether that is an even part for want of a given one. None if there
    may be any number of keys."""
    possible = possible_partitions(key)
    if given is not None or possible is None:
        return given, False
    return 1 / possible, possible > 1


def _hot_writes(facts: Facts, model: EntityModel[Any]) -> Iterator[tuple[BoundKey[Any], HotWrite]]:
    load = entity_load(facts, model)
    if load.volume is None:
        return
    for key, units in load.units_each.items():
        named = model.primary if own_index(key) is None else key
        part, even = _part(load.volume.hottest.get(named), key)
        if part is not None:
            hottest = units * load.volume.writes * part
            yield key, HotWrite(hottest, even, f"writes of {model.name}")


def _heat(facts: Facts, key: BoundKey[Any], reads: list[HotRead], writes: list[HotWrite]) -> Heat:
    written = sum(each.units for each in writes)

    def load(shards: int) -> float:
        return load_of_partition(sum(each.units(facts, shards) for each in reads), written / shards)

    enough = next((shards for shards in range(1, SHARDS_MAX + 1) if load(shards) <= ROOM), None)
    return Heat(
        key=key,
        read_units=sum(each.units(facts, key.shards) for each in reads),
        write_units=written / key.shards,
        sources=list(dict.fromkeys([*(each.access.pattern.name for each in reads), *(each.source for each in writes)])),
        even=any(each.even for each in reads) or any(each.even for each in writes),
        shards=enough,
    )

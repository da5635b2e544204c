"""How much a model will hold, and how often it will be used: what its author expects, written beside it.

workload = Workload(
    Volume(Customer, items=100_000, item_bytes=400, writes_per_second=5),
    Volume(Order, items=2_000_000, item_bytes=300, writes_per_second=40, largest_collection=5_000),
    Rate(orders_of, per_second=200, items=10),
    Accepted("unused-index", by_day, "the report that reads it is not written yet"),
    average_load=0.3,
)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import isfinite
from typing import Any, TypeAlias

from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ModelError
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.patterns import Pattern

KEY_MOVES: float = 2.0
"""Writes of an index for one of the entity, where that changes its place in the index: an entry goes, another comes."""


@dataclass(frozen=True)
class Volume:
    """Of an entity.

    `item_bytes`: of an item on average, keys included; measured on `sample` if it isn't given, or on one that is made
    from the types. `largest_item_bytes`: of the largest there will ever be. `largest_collection`: how many share a
    partition at most.
    `writes_per_second`: at the busiest time; the part `hottest_writes` of them goes to one partition key of the table
    (or, by key, of indexes as well: {Order.by_status: 0.8}), and the part `in_transactions` is written by transactions.
    `in_index`: by key of an index, the part of the entities that is in it at a time: 1 if it isn't said.
    `index_writes`: by key of an index, how many writes of the index a write of the entity causes on average: 2 where
    the entity moves in the index each time, less where most writes change nothing that the index holds; `in_index` if
    it isn't said, which is too little where entities pass through an index, as through a queue."""

    entity: type[Entity]
    _: KW_ONLY
    items: int
    item_bytes: int | None = None
    largest_item_bytes: int | None = None
    largest_collection: int | None = None
    writes_per_second: float | None = None
    hottest_writes: float | Mapping[BoundKey[Any], float] | None = None
    in_transactions: float | None = None
    index_writes: Mapping[BoundKey[Any], float] = field(default_factory=dict)
    in_index: Mapping[BoundKey[Any], float] = field(default_factory=dict)
    sample: Entity | None = None

    def __post_init__(self) -> None:
        name = f"Volume({self.entity.__name__})"
        if self.entity.__model__ is None:
            raise ModelError(f"{name}: the class is in no table")
        for each in ("items", "item_bytes", "largest_item_bytes", "largest_collection", "writes_per_second"):
            _not_negative(name, each, getattr(self, each))
        for key, part in self.hottest.items():
            of_key = f" of {key.label}" if isinstance(self.hottest_writes, Mapping) else ""
            _part(name, f"hottest_writes{of_key}", part)
        if self.in_transactions is not None:
            _part(name, "in_transactions", self.in_transactions, or_none=True)
        for key, part in self.in_index.items():
            _part(name, f"in_index of {key.label}", part, or_none=True)
        for key, writes in self.index_writes.items():
            if not 0 <= writes <= KEY_MOVES:
                raise ModelError(
                    f"{name}: index_writes of {key.label} is {writes}; a write of the entity causes 0 to 2 of the index"
                )
        for key in [*self.in_index, *self.index_writes]:
            if key.index is None:
                raise ModelError(f"{name}: {key.label} is the key of the table, and here a key of an index belongs")
        for key in [*self.in_index, *self.index_writes, *self.hottest]:
            if key.model is not self.entity.__model__:
                raise ModelError(f"{name}: {key.label} is no key of {self.entity.__name__}")
        if self.sample is not None and type(self.sample) is not self.entity:
            raise ModelError(f"{name}: the sample is {self.sample!r}, which is no {self.entity.__name__}")

    @property
    def writes(self) -> float:
        """A second; none where it isn't said."""
        return self.writes_per_second or 0.0

    @property
    def transactional(self) -> float:
        """The part of the writes that transactions make; none where it isn't said."""
        return self.in_transactions or 0.0

    @property
    def hottest(self) -> Mapping[BoundKey[Any], float]:
        """The part of the writes that goes to one partition key, by key of the table or of an index."""
        if isinstance(self.hottest_writes, Mapping):
            return self.hottest_writes
        return {} if self.hottest_writes is None else {self.entity.__model__.primary: self.hottest_writes}


@dataclass(frozen=True)
class Rate:
    """Of an access pattern, at the busiest time. `items`: how many one use of it gives on average, or how many of each
    entity, as in {Customer: 1, Order: 10}; the part `hottest_reads` of the uses goes to one partition key (to all its
    shards, if it has some), and the part `in_transactions` is read by transactions."""

    pattern: Pattern[..., Any]
    _: KW_ONLY
    per_second: float
    items: float | Mapping[type[Entity], float] = 1.0
    hottest_reads: float | None = None
    in_transactions: float = 0.0

    def __post_init__(self) -> None:
        name = f"Rate({self.pattern.name})"
        _not_negative(name, "per_second", self.per_second)
        for each in self.items.values() if isinstance(self.items, Mapping) else [self.items]:
            _not_negative(name, "items", each)
        _part(name, "hottest_reads", self.hottest_reads)
        _part(name, "in_transactions", self.in_transactions, or_none=True)

    @property
    def items_given(self) -> float:
        """By one use, of all entities."""
        return sum(self.items.values()) if isinstance(self.items, Mapping) else self.items


@dataclass(frozen=True)
class Accepted:
    """A finding of the lints that is meant to be so. `about`: what it is found of: a key (`Order.by_status`), an
    attribute, a pattern, an entity, an index or a table. `reason`: for whoever wonders."""

    rule: str
    about: object
    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ModelError(f"Accepted({self.rule!r}) has no reason: say why it is meant to be so")


Expectation: TypeAlias = Volume | Rate | Accepted


class Workload:
    """`volumes`: by entity; `rates`: by pattern; `accepted`: what the lints are to be silent about. `average_load`: the
    use of a month on average, as a part of that at the busiest time. `stream_reads_per_second`: how often consumers ask
    shards of streams for records (GetRecords; those of Lambda functions are free). None where it isn't said."""

    def __init__(
        self,
        *expectations: Expectation,
        average_load: float | None = None,
        stream_reads_per_second: float | None = None,
    ) -> None:
        _part("The workload", "average_load", average_load)
        _not_negative("The workload", "stream_reads_per_second", stream_reads_per_second)
        self.volumes: dict[type[Entity], Volume] = {}
        self.rates: dict[Pattern[..., Any], Rate] = {}
        self.accepted: list[Accepted] = []
        self.average_load = average_load
        self.stream_reads_per_second = stream_reads_per_second
        for each in expectations:
            if isinstance(each, Accepted):
                self.accepted.append(each)
            elif isinstance(each, Volume):
                if self.volumes.setdefault(each.entity, each) is not each:
                    raise ModelError(f"The workload has a Volume of {each.entity.__name__} twice")
            elif self.rates.setdefault(each.pattern, each) is not each:
                raise ModelError(f"The workload has a Rate of {each.pattern.name} twice")

    def __iter__(self) -> Iterator[Expectation]:
        yield from self.volumes.values()
        yield from self.rates.values()
        yield from self.accepted

    def __bool__(self) -> bool:
        return bool(self.volumes or self.rates or self.accepted)

    def __repr__(self) -> str:
        return f"Workload({', '.join(map(repr, self))})"


def joined(workloads: Sequence[Workload]) -> Workload:
    """All of them as one."""
    return Workload(
        *(each for workload in workloads for each in workload),
        average_load=_one_of("average_load", [each.average_load for each in workloads]),
        stream_reads_per_second=_one_of(
            "stream_reads_per_second", [each.stream_reads_per_second for each in workloads]
        ),
    )


def _one_of(field: str, values: Sequence[float | None]) -> float | None:
    given = {value for value in values if value is not None}
    if len(given) > 1:
        raise ModelError(f"The workloads have {len(given)} different values of {field}: say it in one of them")
    return next(iter(given), None)


def _not_negative(name: str, field: str, value: float | None) -> None:
    if value is not None and value < 0:
        raise ModelError(f"{name}: {field} is {value}, and cannot be below 0")
    if value is not None and not isfinite(value):
        raise ModelError(f"{name}: {field} is {value}, which is no number to plan with")


def _part(name: str, field: str, value: float | None, *, or_none: bool = False) -> None:
    if value is None or 0 < value <= 1 or (or_none and value == 0):
        return
    least = "from 0" if or_none else "above 0 and"
    raise ModelError(f"{name}: {field} is a part, {least} up to 1, not {value}")

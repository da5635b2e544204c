"""How much a model will hold, and how often it will be used: what its author expects, written beside it.

workload = Workload(
    Volume(Customer, items=100_000, item_bytes=400, writes_per_second=5),
    Volume(Order, items=2_000_000, item_bytes=300, writes_per_second=40, largest_collection=5_000),
    Rate(orders_of, per_second=200, items=10),
)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ModelError
from torusdb.modeling.patterns import Pattern


@dataclass(frozen=True)
class Volume:
    """Of an entity. `item_bytes`: of an item on average, keys included; measured on a sample if it isn't given;
    `largest_item_bytes`: of the largest there will ever be. `writes_per_second`: at the busiest time; the part
    `hottest_writes` of them goes to one partition key. `largest_collection`: how many share a partition at most."""

    entity: type[Entity]
    _: KW_ONLY
    items: int
    item_bytes: int | None = None
    largest_item_bytes: int | None = None
    largest_collection: int | None = None
    writes_per_second: float = 0.0
    hottest_writes: float | None = None

    def __post_init__(self) -> None:
        name = f"Volume({self.entity.__name__})"
        if self.entity.__model__ is None:
            raise ModelError(f"{name}: the class is in no table")
        for field in ("items", "item_bytes", "largest_item_bytes", "largest_collection", "writes_per_second"):
            _not_negative(name, field, getattr(self, field))
        _part(name, "hottest_writes", self.hottest_writes)


@dataclass(frozen=True)
class Rate:
    """Of an access pattern, at the busiest time. `items`: how many one use of it gives on average; the part
    `hottest_reads` of the uses goes to one partition key."""

    pattern: Pattern[..., Any]
    _: KW_ONLY
    per_second: float
    items: float = 1.0
    hottest_reads: float | None = None

    def __post_init__(self) -> None:
        name = f"Rate({self.pattern.name})"
        _not_negative(name, "per_second", self.per_second)
        _not_negative(name, "items", self.items)
        _part(name, "hottest_reads", self.hottest_reads)


Expectation: TypeAlias = Volume | Rate


class Workload:
    """`volumes`: by entity; `rates`: by pattern."""

    def __init__(self, *expectations: Expectation) -> None:
        self.volumes: dict[type[Entity], Volume] = {}
        self.rates: dict[Pattern[..., Any], Rate] = {}
        for each in expectations:
            if isinstance(each, Volume):
                if self.volumes.setdefault(each.entity, each) is not each:
                    raise ModelError(f"The workload has a Volume of {each.entity.__name__} twice")
            elif self.rates.setdefault(each.pattern, each) is not each:
                raise ModelError(f"The workload has a Rate of {each.pattern.name} twice")

    def __iter__(self) -> Iterator[Expectation]:
        yield from self.volumes.values()
        yield from self.rates.values()

    def __bool__(self) -> bool:
        return bool(self.volumes or self.rates)

    def __repr__(self) -> str:
        return f"Workload({', '.join(map(repr, self))})"


def joined(workloads: Sequence[Workload]) -> Workload:
    """All of them as one."""
    return Workload(*(each for workload in workloads for each in workload))


def _not_negative(name: str, field: str, value: float | None) -> None:
    if value is not None and value < 0:
        raise ModelError(f"{name}: {field} is {value}, and cannot be below 0")


def _part(name: str, field: str, value: float | None) -> None:
    if value is not None and not 0 < value <= 1:
        raise ModelError(f"{name}: {field} is a part, above 0 and up to 1, not {value}")

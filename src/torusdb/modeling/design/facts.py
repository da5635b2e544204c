"""What can be known of a design by looking at it: what each pattern reads, and how large things are.

The lints and the capacity plan both begin here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from torusdb.modeling.design.loading import Design
from torusdb.modeling.design.sizes import item_bytes, projected, sample_item
from torusdb.modeling.design.workload import Rate, Volume
from torusdb.modeling.entity import Entity
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.model import EntityModel
from torusdb.modeling.patterns import Pattern
from torusdb.modeling.plans import BatchGet, Get
from torusdb.modeling.queries import Count, Query
from torusdb.modeling.reads import Read
from torusdb.modeling.scalars import Item
from torusdb.modeling.table import Index, Table


@dataclass(frozen=True)
class Access:
    """What a pattern does with the samples that it is tried with. `keys`: one for each entity that it asks for; none of
    a Scan. `lanes`: how many requests go out at once; `page_items`: how many items each of them reads at most;
    `mixed`: it reads entities that it doesn't ask for; `filtered`: it throws away some of what it reads."""

    pattern: Pattern[..., Any]
    operation: str
    table: Table
    index: Index | None
    models: list[EntityModel[Any]]
    keys: list[BoundKey[Any]]
    lanes: int
    consistent: bool
    page_items: int | None
    limit: int | None
    mixed: bool
    filtered: bool
    read: Read[Any] | None

    @property
    def keeps(self) -> float:
        """The part of what is read that its filter keeps."""
        return self.pattern.filter_keeps or 1.0

    @property
    def where(self) -> str:
        return self.table.name if self.index is None else f"{self.table.name}.{self.index.name}"


def access_of(pattern: Pattern[..., Any]) -> Access:
    plan = pattern.sample_plan()
    if isinstance(plan, Get):
        return _of_keys(pattern, plan, [plan.ref.model])
    if isinstance(plan, BatchGet):
        return _of_keys(pattern, plan, list(dict.fromkeys(ref.model for ref in plan.refs)))
    read = plan.query if isinstance(plan, Count) else plan
    mixed = read.mixed if isinstance(read, Query) else len(read.table.entities) > len(read.models)
    requests = plan.requests()
    filtered = any("FilterExpression" in request.parameters for request in requests)
    limits = [read.page_items, None if filtered or isinstance(plan, Count) else read.limit_items]
    return Access(
        pattern=pattern,
        operation=pattern.operation,
        table=read.table,
        index=read.index,
        models=read.models,
        keys=[key for model in read.models if (key := key_in(model, read.index))] if isinstance(read, Query) else [],
        lanes=len(requests),
        consistent=read.is_consistent,
        page_items=min((limit for limit in limits if limit is not None), default=None),
        limit=read.limit_items,
        mixed=mixed,
        filtered=filtered,
        read=read,
    )


def _of_keys(pattern: Pattern[..., Any], plan: Get[Any] | BatchGet[Any], models: list[EntityModel[Any]]) -> Access:
    assert plan.table is not None  # a pattern whose plan has none is refused
    return Access(
        pattern=pattern,
        operation=plan.operation,
        table=plan.table,
        index=None,
        models=models,
        keys=[model.primary for model in models],
        lanes=1,
        consistent=plan.is_consistent,
        page_items=None,
        limit=None,
        mixed=False,
        filtered=False,
        read=None,
    )


def key_in(model: EntityModel[Any], index: Index | None) -> BoundKey[Any] | None:
    """The key that an entity has of an index, or of its table."""
    return next((key for key in model.keys.values() if key.index is index), None)


class Size(NamedTuple):
    """Of an item in bytes, and where that is known from."""

    bytes: float
    source: str


GIVEN = "item_bytes"
OWN_SAMPLE = "its sample"
MADE_SAMPLE = "a sample made from its types"


class Facts:
    """Of a design. `accesses`: by pattern."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.accesses = {pattern: access_of(pattern) for table in design.tables for pattern in table.patterns.values()}
        self._samples: dict[EntityModel[Any], Item | None] = {}

    @property
    def models(self) -> list[EntityModel[Any]]:
        return [model for table in self.design.tables for model in table.entities.values()]

    @property
    def keys(self) -> list[BoundKey[Any]]:
        return [key for model in self.models for key in model.keys.values()]

    def volume(self, model: EntityModel[Any]) -> Volume | None:
        return self.design.workload.volumes.get(model.kind)

    def rate(self, pattern: Pattern[..., Any]) -> Rate | None:
        return self.design.workload.rates.get(pattern)

    def size(self, model: EntityModel[Any], index: Index | None = None) -> Size | None:
        """Of an item, or of its entry in an index; None if no sample of it can be made."""
        volume, item = self.volume(model), self.sample(model)
        given = volume.item_bytes if volume is not None else None
        partial = index is not None and index.include is not None
        if given is not None and (item is None or not partial):
            return Size(given, GIVEN)
        if item is None:
            return None
        measured = item_bytes(projected(item, model, index))
        source = MADE_SAMPLE if self._own_sample(model) is None else OWN_SAMPLE
        return Size(measured if given is None else min(measured, given), source)

    def sample(self, model: EntityModel[Any]) -> Item | None:
        if model not in self._samples:
            own = self._own_sample(model)
            self._samples[model] = _made_sample(model) if own is None else model.encode(own)
        return self._samples[model]

    def _own_sample(self, model: EntityModel[Any]) -> Entity | None:
        """The author's, of the volume or else the first of the design's samples."""
        volume = self.volume(model)
        if volume is not None and volume.sample is not None:
            return volume.sample
        return next(iter(self.design.samples.of(model.kind)), None)

    def items_in(self, key: BoundKey[Any]) -> float | None:
        """How many entities are in the index of a key, or in its table."""
        volume = self.volume(key.model)
        return None if volume is None else volume.items * volume.in_index.get(key, 1.0)

    def mean_bytes(self, access: Access) -> float | None:
        """Of the items that a pattern reads: by how many of each it gives, or else by how many there are of each."""
        rate = self.rate(access.pattern)
        given: Mapping[Any, float] = rate.items if rate is not None and isinstance(rate.items, Mapping) else {}
        weighed: list[tuple[float, float]] = []
        for model in access.models:
            size, volume = self.size(model, access.index), self.volume(model)
            if size is None:
                return None
            weighed.append((size.bytes, given.get(model.kind, 0) if given else (volume.items if volume else 1)))
        weights = sum(weight for _, weight in weighed)
        if not weights:
            return sum(size for size, _ in weighed) / len(weighed)
        return sum(size * weight for size, weight in weighed) / weights


def _made_sample(model: EntityModel[Any]) -> Item | None:
    try:
        return sample_item(model)
    except Exception:  # a computed attribute is the author's own function; None is told by whoever asks
        return None

"""Tables and indexes: what the catalog keeps of them, and what follows from it for keys.

These are values. A change of a table makes a new `Table`; whoever holds the old one keeps a consistent view
of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

import msgspec

from torusdb.model import keys as storage_keys
from torusdb.model.attributes import Item
from torusdb.model.expiry import Expiries
from torusdb.model.keys import KeyAttribute, KeyType

ProjectionType: TypeAlias = Literal["ALL", "KEYS_ONLY", "INCLUDE"]

BASE_INDEX_ID = 0
"""The index id of a table's own items in the key space."""


class Throughput(msgspec.Struct, frozen=True):
    read_units: int = 0
    write_units: int = 0
    last_increase: float | None = None
    last_decrease: float | None = None
    decreases_today: int = 0


class Index(msgspec.Struct, frozen=True, dict=True):
    """A secondary index. `index_id` is never used again within its table, so that a dropped index's space can
    be cleared behind requests."""

    name: str
    index_id: int
    is_global: bool
    hash_keys: list[KeyAttribute]
    range_keys: list[KeyAttribute]
    projection: ProjectionType
    non_key_attributes: list[str] = []
    throughput: Throughput = Throughput()
    next_throughput: Throughput | None = None
    """What it becomes when UPDATING ends."""
    on_demand: dict[str, int] | None = None
    warm: dict[str, int] | None = None
    status: Literal["CREATING", "UPDATING", "DELETING", "ACTIVE"] = "ACTIVE"
    backfilling: bool = False
    """Added to a table with items, and a job still has entries to write. Not to be read from yet."""

    @cached_property
    def keys(self) -> list[KeyAttribute]:
        return [*self.hash_keys, *self.range_keys]

    @cached_property
    def key_names(self) -> frozenset[str]:
        return frozenset(key.name for key in self.keys)


class TimeToLive(msgspec.Struct, frozen=True):
    """A table's time to live, enabled or on its way to be disabled."""

    attribute: str
    index_id: int
    """Of its entries in the space of expiries, from the same count as the ids of indexes: enabled anew, it is
    another one."""
    enabled: bool = True
    changing_until: float = 0.0
    """When ENABLING or DISABLING ends, as imitated by --table-delay."""
    filling: bool = False
    """A job still has entries to write, of the items from before it was enabled."""

    def status(self, now: float) -> Literal["ENABLING", "ENABLED", "DISABLING", "DISABLED"]:
        if now < self.changing_until:
            return "ENABLING" if self.enabled else "DISABLING"
        return "ENABLED" if self.enabled else "DISABLED"


class ResourcePolicy(msgspec.Struct, frozen=True):
    document: str
    """As it was given, to the letter."""
    revision: str


class ShardLog(msgspec.Struct, frozen=True):
    """Where a stream's records go for partition keys whose hash is `start` or above, up to the next one's."""

    start: bytes
    log: bytes


class Table(msgspec.Struct, frozen=True, dict=True):
    """A table. `table_id` is never used again within a database."""

    name: str
    table_id: int
    uuid: str
    arn: str
    hash_key: KeyAttribute
    range_key: KeyAttribute | None
    attribute_types: dict[str, KeyType]
    """AttributeDefinitions: the key attributes of the table and all indexes, in the order given."""
    created: float
    status: Literal["CREATING", "UPDATING", "DELETING", "ACTIVE"] = "ACTIVE"
    status_until: float = 0.0
    """When a phase imitated by --table-delay ends; jobs move the table on."""
    changing: Literal["throughput", "stream", "class"] | None = None
    """What UPDATING is about, unless it is about an index."""
    billing: Literal["PROVISIONED", "PAY_PER_REQUEST"] = "PROVISIONED"
    billing_changed: float | None = None
    throughput: Throughput = Throughput()
    next_throughput: Throughput | None = None
    """What it becomes when UPDATING ends."""
    on_demand: dict[str, int] | None = None
    warm: dict[str, int] | None = None
    indexes: list[Index] = []
    next_index_id: int = 1
    deletion_protection: bool = False
    table_class: str | None = None
    table_class_changed: float | None = None
    stream: dict[str, Any] | None = None
    stream_label: str | None = None
    """Of the latest stream, which may be disabled."""
    streams_made: int = 0
    shard_logs: list[ShardLog] = []
    """Of the open shards, in the order of their hashes; none where no stream is enabled. Kept with the `Stream`."""
    ttl: TimeToLive | None = None
    sse: dict[str, Any] | None = None
    tags: dict[str, str] = {}
    resource_policy: str | None = None
    resource_policy_revision: str = "0"
    stream_policies: dict[str, ResourcePolicy] = {}
    """By the label of the stream."""

    @cached_property
    def keys(self) -> list[KeyAttribute]:
        """The primary key: one or two attributes."""
        return [self.hash_key] if self.range_key is None else [self.hash_key, self.range_key]

    @cached_property
    def key_names(self) -> frozenset[str]:
        return frozenset(key.name for key in self.keys)

    @cached_property
    def index_key_names(self) -> list[str]:
        return [key.name for index in self.indexes for key in index.keys]

    @cached_property
    def base_partition(self) -> bytes:
        return storage_keys.index_partition(self.table_id, BASE_INDEX_ID)

    @cached_property
    def own_tally_key(self) -> bytes:
        """The counter of the table's items. A property, since every write of an item asks for it."""
        return self.tally_key(None)

    @cached_property
    def index_by_name(self) -> dict[str, Index]:
        return {index.name: index for index in self.indexes}

    @cached_property
    def local_indexes(self) -> list[Index]:
        return [index for index in self.indexes if not index.is_global]

    @cached_property
    def global_indexes(self) -> list[Index]:
        return [index for index in self.indexes if index.is_global]

    @cached_property
    def key_of(self) -> Callable[[Item], bytes]:
        """`table.key_of(item)`: the storage key of an item whose key attributes have been checked. A
        property, so that all that is the same for each item is worked out once."""
        return storage_keys.item_keyer(self.base_partition, self.hash_key, self.range_key)

    @cached_property
    def expiries(self) -> Expiries | None:
        """None where nothing expires."""
        if self.ttl is None or not self.ttl.enabled:
            return None
        return Expiries(self.table_id, self.ttl.index_id, self.base_partition, self.ttl.attribute)

    def shard_log_of(self, key: bytes) -> bytes:
        """Where the stream's record of a change to the item at `key` goes."""
        starts = self._shard_starts
        at = bisect_right(starts, storage_keys.hash_of(key)) - 1 if len(starts) > 1 else 0
        return self.shard_logs[at].log

    @cached_property
    def stream_images(self) -> tuple[bool, bool]:
        """Whether the stream that is enabled shows items as they are after a change, and as they were before."""
        assert self.stream is not None
        view = self.stream["StreamViewType"]
        return view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES"), view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")

    @cached_property
    def key_order(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys)

    @cached_property
    def _shard_starts(self) -> list[bytes]:
        return [shard.start for shard in self.shard_logs]

    def key_item(self, item: Item) -> Item:
        """The item's primary key."""
        return {key.name: item[key.name] for key in self.keys}

    def index_key_item(self, index: Index | None, item: Item) -> Item:
        """The keys of table and index (None: the table alone): what says where a page ended."""
        names = self.keys if index is None else (*self.keys, *index.keys)
        return {key.name: item[key.name] for key in names}

    def partition_prefix(self, hash_value: Any) -> bytes:
        """What the storage keys of all items of a partition key begin with. The value is bare: `"user#1"`."""
        return storage_keys.partition_key_prefix(self.base_partition, (self.hash_key,), (hash_value,))

    def index_partition(self, index: Index) -> bytes:
        """What the storage keys of all entries of an index begin with."""
        return storage_keys.index_partition(self.table_id, index.index_id)

    def index_partition_prefix(self, index: Index, hash_values: Sequence[Any]) -> bytes:
        """What the storage keys of all entries of an index's partition key begin with. The values are bare,
        in the order of the index's HASH attributes."""
        return storage_keys.partition_key_prefix(self.index_partition(index), index.hash_keys, hash_values)

    def entry_key(self, index: Index, item: Item) -> bytes | None:
        """The storage key of the item's entry in `index`; None where the item has no place in it."""
        return storage_keys.index_entry_key(
            self.index_partition(index), item, index.hash_keys, index.range_keys, self.keys
        )

    def tally_key(self, index: Index | None) -> bytes:
        """The counter of the table's items, or of an index's entries."""
        return storage_keys.tally_key(self.table_id, BASE_INDEX_ID if index is None else index.index_id)

    def collection_tally_key(self, item: Item) -> bytes:
        """The counter of the item's collection: all of one partition key, with the entries of local indexes."""
        partition = self.partition_prefix(item[self.hash_key.name][self.hash_key.type])
        return storage_keys.TALLY_SPACE + partition[1:]

    def project(self, index: Index, item: Item) -> Item:
        """What `index` stores of the item."""
        kept = self.projected_names(index)
        if kept is None:
            return item
        return {name: value for name, value in item.items() if name in kept}

    def projected_names(self, index: Index) -> frozenset[str] | None:
        """The attributes that `index` stores; None for all."""
        if index.projection == "ALL":
            return None
        return self.key_names | index.key_names | frozenset(index.non_key_attributes)

    def spaces(self) -> Iterator[tuple[bytes, bytes]]:
        """The bounds of everything the table keeps, for `Clear`."""
        yield storage_keys.space_bounds(self.table_id, None)

"""A write of one item as a value: what PutItem, UpdateItem, DeleteItem, members of BatchWriteItem and of transactions,
and statements of PartiQL have in common.

A `Write` says all that is needed once the item is there: what forbids the write, and what the item is afterwards. Both
are pure functions of what was there before, so that several writes can be decided together and land as one commit. It
is made in two steps: what the request alone tells is checked by the operation, in its own order; what takes the table
is checked here, where the `Write` is made (`put`, `update`, `delete`, `check`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from torusdb.errors import ConditionalCheckFailedException, ValidationException
from torusdb.expressions import Condition, require_scalar_keys
from torusdb.expressions.updates import UPDATED_TOO_LARGE
from torusdb.model.attributes import Item
from torusdb.model.records import record_item_json, record_size, unpack
from torusdb.model.schema import Table
from torusdb.model.values import ITEM_BYTES_MAX, item_size, normalise_item
from torusdb.operations.changes import Change, change
from torusdb.operations.key_checks import (
    check_index_key_types,
    check_item_keys,
    check_key,
    check_updated_index_keys,
)
from torusdb.operations.parameters import ItemChange


class Before(msgspec.Struct, gc=False):
    """What a write finds: a record, and the item in it for those who ask."""

    record: bytes | None
    _item: Item | None = None

    @property
    def item(self) -> Item | None:
        if self._item is None and self.record is not None:
            self._item = unpack(self.record)
        return self._item


class After(msgspec.Struct, frozen=True, gc=False):
    """What a write leaves: the item and its size, or None for no item."""

    item: Item | None
    size: int = 0


NOTHING: Final = After(None)

Requirement: TypeAlias = Callable[[Before], None]
"""Raises what the service says where the condition of a write does not hold."""


class Write(msgspec.Struct, frozen=True, gc=False):
    table: Table
    table_name: str
    """The table, by the name or ARN that the request gave."""
    key: bytes
    key_item: Item
    """The key's attributes, perhaps among others."""
    require: Requirement | None
    after: After | Callable[[Before], After] | None
    """The item after the write; as a function where that depends on what is there, which may refuse the write. None: it
    is a check, which leaves all as it is."""
    size: int = 0
    """Of the item that the request gives, if it gives a whole one."""


class Decided(msgspec.Struct, frozen=True, gc=False):
    """A write that may land."""

    write: Write
    before: Before
    after: After
    change: Change | None
    """None for a check, and where there was nothing and there is to be nothing."""

    @property
    def larger_size(self) -> int:
        """Of the item before and the item after: what the service sizes a write by."""
        record = self.before.record
        return max(self.after.size, 0 if record is None else record_size(record))


def decide(write: Write, record: bytes | None, stamp_ms: int) -> Decided:
    before = Before(record)
    if write.require is not None:
        write.require(before)
    after = write.after
    if after is None:
        return Decided(write, before, NOTHING, None)
    if not isinstance(after, After):
        after = after(before)
    return Decided(write, before, after, change(write.table, write.key, record, after.item, after.size, stamp_ms))


def put(table: Table, table_name: str, item: Item, size: int, require: Requirement | None) -> Write:
    check_item_keys(table, item)
    return Write(table, table_name, table.key_of(item), item, require, After(item, size), size)


def delete(table: Table, table_name: str, key: Item, require: Requirement | None) -> Write:
    check_key(table, key)
    return Write(table, table_name, table.key_of(key), key, require, NOTHING)


def check(table: Table, table_name: str, key: Item, require: Requirement | None) -> Write:
    check_key(table, key)
    return Write(table, table_name, table.key_of(key), key, require, None)


def update(
    table: Table,
    table_name: str,
    key: Item,
    update_: ItemChange,
    require: Requirement | None,
    counts_overhead: bool = False,
) -> Write:
    """`counts_overhead`: the update's own overhead counts towards the limit of an item's size, as in UpdateItem, but
    not in a transaction (measured)."""
    check_key(table, key)
    key_names = [attribute.name for attribute in table.keys]
    update_.require_no_keys(key_names)
    if table.indexes:
        check_index_key_types(table, update_.known_types())
    require_scalar_keys(update_.nested_attributes, key_names, table.index_key_names)
    overhead_bytes = update_.overhead_bytes if counts_overhead else 0
    return Write(
        table,
        table_name,
        table.key_of(key),
        key,
        require,
        lambda before: _updated(table, update_, before.item, key, overhead_bytes),
    )


def _updated(table: Table, update_: ItemChange, old: Item | None, key: Item, overhead_bytes: int) -> After:
    """Nothing where there was nothing and the update only takes away: the service doesn't make an item of a key for
    that, as it does for an update without any action (measured)."""
    new = update_.apply(key if old is None else old)
    if old is None and update_.attributes and len(new) == len(key):
        return NOTHING
    # Written into a map or a list, a value may come to lie too deep.
    size = normalise_item(new) if update_.touched.nested_attributes else item_size(new)
    if table.indexes:
        check_updated_index_keys(table, old or key, new)
    # The key is left out where the update's overhead is counted in, but counts for the item itself (measured).
    if max(size, size - item_size(key) + overhead_bytes) > ITEM_BYTES_MAX:
        raise ValidationException(UPDATED_TOO_LARGE)
    return After(new, size)


def requiring(condition: Condition, on_failure: str | None) -> Requirement:
    """`on_failure` is ReturnValuesOnConditionCheckFailure."""

    def require(before: Before) -> None:
        if not condition.matches(before.item):
            raise condition_failed(before, on_failure)

    return require


def condition_failed(before: Before, on_failure: str | None) -> ConditionalCheckFailedException:
    message = "The conditional request failed"
    if on_failure == "ALL_OLD" and before.record is not None:
        return ConditionalCheckFailedException(message, Item=msgspec.Raw(record_item_json(before.record)))
    return ConditionalCheckFailedException(message)

"""PutItem, UpdateItem and DeleteItem, and the steps that all writes of an item share.

The stages of each are a visible list, in the service's order: the request's values, its expressions, the item's
size; then the table and its keys; then what is there, the condition on it, the change.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeAlias

import msgspec

from torusdb.api import requests
from torusdb.errors import (
    ConditionalCheckFailedException,
    ItemCollectionSizeLimitExceededException,
    RequestFault,
    ValidationException,
)
from torusdb.expressions import Condition, require_scalar_keys
from torusdb.model.attributes import Item
from torusdb.model.records import record_item_json, unpack
from torusdb.model.schema import Table
from torusdb.model.values import ITEM_BYTES_MAX, item_size, normalise_item
from torusdb.operations import parameters
from torusdb.operations.answers import EMPTY, answer
from torusdb.operations.capacity import Consumed, table_write_units
from torusdb.operations.changes import Change, change
from torusdb.operations.context import Context
from torusdb.operations.key_checks import (
    check_index_key_types,
    check_item_keys,
    check_key,
    check_updated_index_keys,
)
from torusdb.operations.parameters import ItemChange
from torusdb.storage.commands import Command, Commit, Get, Operation, Tally

GIB = 1024**3

COLLECTION_BYTES_MAX = 10 * GIB
"""All items of one partition key with their local index entries (developer guide, "Item collections")."""

WriteRequest: TypeAlias = requests.PutItemRequest | requests.DeleteItemRequest | requests.UpdateItemRequest


def put_item(ctx: Context, request: requests.PutItemRequest) -> Operation:
    item: Item = request.item
    size = normalise_item(item)
    condition = parameters.of_put(request)
    _check_old_or_none(request.return_values)
    check_size(size)
    table = ctx.catalog.active_table(request.table_name)
    check_item_keys(table, item)

    key = table.key_of(item)
    record: bytes | None = (yield Get([key], guard=True))[0]
    if condition is not None:
        _require(condition, record, request.return_values_on_condition_check_failure)
    change_ = change(table, key, record, item, size, ctx.stamp_ms())
    yield from commit(table, change_)
    attributes = _json_of(record) if request.return_values == "ALL_OLD" else None
    return (yield from _answer(table, request, item, change_, attributes))


def delete_item(ctx: Context, request: requests.DeleteItemRequest) -> Operation:
    condition = parameters.of_delete(request)
    _check_old_or_none(request.return_values)
    table = ctx.catalog.active_table(request.table_name)
    check_key(table, request.key)

    key = table.key_of(request.key)
    record: bytes | None = (yield Get([key], guard=True))[0]
    if condition is not None:
        _require(condition, record, request.return_values_on_condition_check_failure)
    change_ = change(table, key, record, None, 0, ctx.stamp_ms())
    yield from commit(table, change_)
    attributes = _json_of(record) if request.return_values == "ALL_OLD" else None
    return (yield from _answer(table, request, request.key, change_, attributes))


def update_item(ctx: Context, request: requests.UpdateItemRequest) -> Operation:
    update, condition = parameters.of_update(request)
    table = ctx.catalog.active_table(request.table_name)
    check_key(table, request.key)
    update.require_no_keys([attribute.name for attribute in table.keys])
    check_index_key_types(table, update.known_types())
    require_scalar_keys(update.nested_attributes, [key.name for key in table.keys], table.index_key_names)

    key = table.key_of(request.key)
    record: bytes | None = (yield Get([key], guard=True))[0]
    old = None if record is None else unpack(record)
    if condition is not None and not condition.matches(old):
        raise _condition_failed(record, request.return_values_on_condition_check_failure)
    new, size = _updated(table, update, old, request.key)
    change_ = change(table, key, record, new, size, ctx.stamp_ms())
    yield from commit(table, change_)
    attributes = _updated_attributes(request.return_values, update, old, new)
    return (yield from _answer(table, request, request.key, change_, attributes))


def _updated(table: Table, update: ItemChange, old: Item | None, key: Item) -> tuple[Item | None, int]:
    """The item after the update and its size. None where there was none and the update only takes away: the service
    doesn't make an item of a key for that, as it does for an update without any action (measured)."""
    new = update.apply(key if old is None else old)
    if old is None and update.attributes and len(new) == len(key):
        return None, 0
    # Written into a map or a list, a value may come to lie too deep.
    size = normalise_item(new) if update.touched.nested_attributes else item_size(new)
    if table.indexes:
        check_updated_index_keys(table, old or key, new)
    # The key is left out where the update's overhead is counted in, but counts for the item itself (measured).
    if max(size, size - item_size(key) + update.overhead_bytes) > ITEM_BYTES_MAX:
        raise ValidationException("Item size to update has exceeded the maximum allowed size")
    return new, size


def check_size(size: int) -> None:
    if size > ITEM_BYTES_MAX:
        raise ValidationException("Item size has exceeded the maximum allowed size")


def commit(table: Table, change_: Change | None) -> Generator[Command, Any, None]:
    """Lands a change, unless it would let an item collection outgrow its limit."""
    if change_ is None:
        return
    if table.local_indexes:
        yield from check_collections([change_])
    if change_.unsure:
        yield from count_unfilled([change_])
    yield change_.commit()


def commit_all(changes: list[Change]) -> Generator[Command, Any, None]:
    """Lands changes of different items together."""
    if not changes:
        return
    yield from check_collections(changes)
    yield from count_unfilled(changes)
    yield Commit(
        [put for one in changes for put in one.puts],
        [key for one in changes for key in one.deletes],
        [tally for one in changes for tally in one.tallies],
        [append for one in changes for append in one.appends],
    )


def check_collections(changes: list[Change]) -> Generator[Command, Any, None]:
    grown = [c for c in changes if c.collection is not None and c.collection_growth > 0]
    if not grown:
        return
    tallies: list[tuple[int, int]] = yield Tally([c.collection for c in grown if c.collection is not None])
    for change_, (_, size) in zip(grown, tallies, strict=True):
        if size + change_.collection_growth > COLLECTION_BYTES_MAX:
            raise ItemCollectionSizeLimitExceededException("Item collection size limit exceeded.")


def count_unfilled(changes: list[Change]) -> Generator[Command, Any, None]:
    """A change counts the entry that it replaces as going. If the back-fill has not written that entry yet it was
    never counted, nor will it be: the back-fill passes over what it finds already there."""
    unsure = [(change_, *entry) for change_ in changes for entry in change_.unsure]
    if not unsure:
        return
    records: list[bytes | None] = yield Get([key for _, _, key, _ in unsure], guard=True)
    for (change_, counter, _, size), record in zip(unsure, records, strict=True):
        if record is None:
            change_.tallies.append((counter, 1, size))


def _require(condition: Condition, record: bytes | None, on_failure: str | None) -> None:
    if not condition.matches(None if record is None else unpack(record)):
        raise _condition_failed(record, on_failure)


def _condition_failed(record: bytes | None, on_failure: str | None) -> ConditionalCheckFailedException:
    if on_failure == "ALL_OLD" and record is not None:
        return ConditionalCheckFailedException(
            "The conditional request failed", Item=msgspec.Raw(record_item_json(record))
        )
    return ConditionalCheckFailedException("The conditional request failed")


def _check_old_or_none(return_values: str | None) -> None:
    if return_values not in (None, "NONE", "ALL_OLD"):
        raise RequestFault("ReturnValues can only be ALL_OLD or NONE")


def _json_of(record: bytes | None) -> msgspec.Raw | None:
    return None if record is None else msgspec.Raw(record_item_json(record))


def _updated_attributes(
    return_values: str | None, update: ItemChange, old: Item | None, new: Item | None
) -> Item | None:
    """The service leaves Attributes out where there is nothing to show."""
    match return_values:
        case "ALL_OLD":
            return old
        case "ALL_NEW":
            return new
        case "UPDATED_OLD":
            return update.touched.apply(old or {}) or None
        case "UPDATED_NEW":
            return update.touched.apply(new or {}) or None
    return None


def _answer(
    table: Table, request: WriteRequest, key: Item, change_: Change | None, attributes: Any
) -> Generator[Command, Any, bytes]:
    """The body common to the three: Attributes, ConsumedCapacity, ItemCollectionMetrics."""
    if (
        attributes is None
        and request.return_consumed_capacity is None
        and request.return_item_collection_metrics is None
    ):
        return EMPTY
    capacity = metrics = None
    if request.return_consumed_capacity is not None:
        capacity = consumed_by(table, [change_]).report(request.return_consumed_capacity, request.table_name)
    if request.return_item_collection_metrics == "SIZE" and table.local_indexes:
        metrics = (yield from collection_metrics(table, [key]))[0]
    return answer(Attributes=attributes, ConsumedCapacity=capacity, ItemCollectionMetrics=metrics)


def consumed_by(table: Table, changes: Iterable[Change | None]) -> Consumed:
    """What the writes of one table cost together. To delete what isn't there costs as much as the smallest write."""
    consumed = Consumed(table)
    for one in changes:
        if one is None:
            consumed.add(table_write_units(None, None))
        else:
            consumed.add(table_write_units(one.old_size, one.new_size), one.index_units)
    return consumed


def collection_metrics(table: Table, keys: list[Item]) -> Generator[Command, Any, list[dict[str, Any]]]:
    """The ItemCollectionMetrics of items of a table with local indexes. The service estimates to the gigabyte."""
    tallies: list[tuple[int, int]] = yield Tally([table.collection_tally_key(key) for key in keys])
    hash_name = table.hash_key.name
    return [
        {
            "ItemCollectionKey": {hash_name: key[hash_name]},
            "SizeEstimateRangeGB": [float(size // GIB), float(size // GIB + 1)],
        }
        for key, (_, size) in zip(keys, tallies, strict=True)
    ]

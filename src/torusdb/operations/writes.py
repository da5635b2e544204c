"""PutItem, UpdateItem and DeleteItem, and how the changes of all writes land.

The stages of each are a visible list, in the service's order: the request's values, its expressions, the item's
size; then the table and its keys; then what is there, the condition on it, the change (`write_step`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeAlias

import msgspec

from torusdb.api import requests
from torusdb.errors import ItemCollectionSizeLimitExceededException, RequestFault, ValidationException
from torusdb.model.attributes import Item
from torusdb.model.records import record_item_json
from torusdb.model.schema import Table
from torusdb.model.values import ITEM_BYTES_MAX, normalise_item
from torusdb.operations import parameters, write_step
from torusdb.operations.answers import EMPTY, answer
from torusdb.operations.capacity import Consumed, table_write_units
from torusdb.operations.changes import Change
from torusdb.operations.context import Context
from torusdb.operations.parameters import ItemChange
from torusdb.operations.write_step import Decided, Write, decide, requiring
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
    on_failure = request.return_values_on_condition_check_failure
    require = None if condition is None else requiring(condition, on_failure)
    return (yield from _perform(ctx, request, write_step.put(table, request.table_name, item, size, require)))


def delete_item(ctx: Context, request: requests.DeleteItemRequest) -> Operation:
    condition = parameters.of_delete(request)
    _check_old_or_none(request.return_values)
    table = ctx.catalog.active_table(request.table_name)
    on_failure = request.return_values_on_condition_check_failure
    require = None if condition is None else requiring(condition, on_failure)
    return (yield from _perform(ctx, request, write_step.delete(table, request.table_name, request.key, require)))


def update_item(ctx: Context, request: requests.UpdateItemRequest) -> Operation:
    update, condition = parameters.of_update(request)
    table = ctx.catalog.active_table(request.table_name)
    on_failure = request.return_values_on_condition_check_failure
    require = None if condition is None else requiring(condition, on_failure)
    write = write_step.update(table, request.table_name, request.key, update, require, counts_overhead=True)
    return (yield from _perform(ctx, request, write, update))


def _perform(
    ctx: Context, request: WriteRequest, write: Write, update: ItemChange | None = None
) -> Generator[Command, Any, bytes]:
    """What the three have in common once the write is admitted: read, decide, land, answer."""
    record: bytes | None = (yield Get([write.key], guard=True))[0]
    decided = decide(write, record, ctx.stamp_ms())
    change = decided.change
    if change is not None:
        if write.table.indexes:
            yield from look_before([change])
        yield change.commit()
    return_values = request.return_values
    attributes = None
    if return_values is not None:
        attributes = _json_of(record) if return_values == "ALL_OLD" else _attributes(return_values, update, decided)
    elif request.return_consumed_capacity is None and request.return_item_collection_metrics is None:
        return EMPTY  # most requests end here
    return (yield from _answer(request, decided, attributes))


def check_size(size: int) -> None:
    if size > ITEM_BYTES_MAX:
        raise ValidationException("Item size has exceeded the maximum allowed size")


def commit(table: Table, change_: Change | None) -> Generator[Command, Any, None]:
    """Lands a change, unless it would let an item collection outgrow its limit."""
    yield from commit_all([] if change_ is None else [change_])


def commit_all(changes: list[Change], puts: Iterable[tuple[bytes, bytes]] = ()) -> Generator[Command, Any, None]:
    """Lands changes of different items together, and other records with them."""
    yield from look_before(changes)
    records = [*(put for one in changes for put in one.puts), *puts]
    deletes = [key for one in changes for key in one.deletes]
    if records or deletes:
        yield Commit(
            records,
            deletes,
            [tally for one in changes for tally in one.tallies],
            [append for one in changes for append in one.appends],
        )


def look_before(changes: list[Change]) -> Generator[Command, Any, None]:
    """What changes may depend on besides the items themselves."""
    if (yield from outgrowing(changes)):
        raise ItemCollectionSizeLimitExceededException("Item collection size limit exceeded.")
    yield from count_unfilled(changes)


def outgrowing(changes: list[Change]) -> Generator[Command, Any, list[Change]]:
    """Those that would let an item collection outgrow its limit, if all were made together."""
    growing = [one for one in changes if one.collection is not None and one.collection_growth > 0]
    if not growing:
        return []
    growth: dict[bytes | None, int] = {}
    for one in changes:
        growth[one.collection] = growth.get(one.collection, 0) + one.collection_growth
    tallies: list[tuple[int, int]] = yield Tally([one.collection for one in growing if one.collection is not None])
    return [
        one
        for one, (_, size) in zip(growing, tallies, strict=True)
        if size + growth[one.collection] > COLLECTION_BYTES_MAX
    ]


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


def _check_old_or_none(return_values: str | None) -> None:
    if return_values not in (None, "NONE", "ALL_OLD"):
        raise RequestFault("ReturnValues can only be ALL_OLD or NONE")


def _json_of(record: bytes | None) -> msgspec.Raw | None:
    return None if record is None else msgspec.Raw(record_item_json(record))


def _attributes(return_values: str, update: ItemChange | None, decided: Decided) -> Item | None:
    """What an update shows. The service leaves Attributes out where there is nothing to show."""
    old, new = decided.before, decided.after
    match return_values:
        case "ALL_NEW":
            return new.item
        case "UPDATED_OLD":
            assert update is not None
            return update.touched.apply(old.item or {}) or None
        case "UPDATED_NEW":
            assert update is not None
            return update.touched.apply(new.item or {}) or None
    return None


def _answer(request: WriteRequest, decided: Decided, attributes: Any) -> Generator[Command, Any, bytes]:
    """The body common to the three: Attributes, ConsumedCapacity, ItemCollectionMetrics."""
    table, capacity, metrics = decided.write.table, None, None
    if request.return_consumed_capacity is not None:
        capacity = consumed_by(table, [decided.change]).report(request.return_consumed_capacity, request.table_name)
    if request.return_item_collection_metrics == "SIZE" and table.local_indexes:
        metrics = (yield from collection_metrics(table, [decided.write.key_item]))[0]
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


def metrics_by_table(writes: Iterable[Write]) -> Generator[Command, Any, dict[str, Any] | None]:
    """The ItemCollectionMetrics of several writes: each collection once. None where there are none."""
    collections: dict[str, dict[bytes, Write]] = {}
    for write in writes:
        if write.table.local_indexes:
            of_table = collections.setdefault(write.table_name, {})
            of_table.setdefault(write.table.collection_tally_key(write.key_item), write)
    metrics: dict[str, Any] = {}
    for name, of_table in collections.items():
        of_collections = list(of_table.values())
        metrics[name] = yield from collection_metrics(of_collections[0].table, [one.key_item for one in of_collections])
    return metrics or None

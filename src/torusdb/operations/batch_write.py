"""BatchWriteItem: up to 25 puts and deletes, each for itself on the service, here landed as one commit."""

from __future__ import annotations

from torusdb.api import requests
from torusdb.errors import ValidationException
from torusdb.model.attributes import Item
from torusdb.model.schema import Table
from torusdb.model.values import normalise_item
from torusdb.operations import write_step
from torusdb.operations.answers import answer
from torusdb.operations.capacity import reports
from torusdb.operations.context import Context
from torusdb.operations.key_checks import check_batch_item_keys
from torusdb.operations.write_step import Write, decide
from torusdb.operations.writes import check_size, commit_all, consumed_by, metrics_by_table
from torusdb.storage.commands import Get, Operation

BATCH_WRITES_MAX = 25


def batch_write_item(ctx: Context, request: requests.BatchWriteItemRequest) -> Operation:
    _check_counts(request)
    sizes = _check_values(request)
    writes = _writes(ctx, request, sizes)

    records: list[bytes | None] = yield Get([write.key for write in writes], guard=True)
    stamp_ms = ctx.stamp_ms()
    decided = [decide(write, record, stamp_ms) for write, record in zip(writes, records, strict=True)]
    yield from commit_all([one.change for one in decided if one.change is not None])

    consumed = [
        (name, consumed_by(table, [one.change for one in decided if one.write.table_name == name]))
        for name, table in {write.table_name: write.table for write in writes}.items()
    ]
    metrics = None
    if request.return_item_collection_metrics == "SIZE":
        metrics = yield from metrics_by_table(writes)
    return answer(
        UnprocessedItems={},
        ConsumedCapacity=reports(consumed, request.return_consumed_capacity),
        ItemCollectionMetrics=metrics,
    )


def _check_counts(request: requests.BatchWriteItemRequest) -> None:
    if not request.request_items:
        raise ValidationException("The requestItems parameter is required for BatchWriteItem")
    if sum(map(len, request.request_items.values())) > BATCH_WRITES_MAX:
        raise ValidationException("Too many items requested for the BatchWriteItem call")


def _check_values(request: requests.BatchWriteItemRequest) -> list[int]:
    """Checks what can be checked without the tables; gives the members' sizes in order."""
    sizes = []
    for members in request.request_items.values():
        for member in members:
            put, delete = member.put_request, member.delete_request
            if (put is None) == (delete is None):
                raise ValidationException(
                    "Supplied AttributeValue has more than one datatypes set, "
                    "must contain exactly one of the supported datatypes"
                )
            size = normalise_item(put.item if put is not None else delete.key)  # type: ignore[union-attr]
            check_size(size)
            sizes.append(size)
    return sizes


def _writes(ctx: Context, request: requests.BatchWriteItemRequest, sizes: list[int]) -> list[Write]:
    """Looks the tables up and checks the keys; no item may be written twice."""
    writes: list[Write] = []
    seen: set[bytes] = set()
    size_of_next = iter(sizes)
    for name, members in request.request_items.items():
        table = ctx.catalog.active_table(name)
        for member in members:
            write = _write(name, table, member, next(size_of_next))
            if write.key in seen:
                raise ValidationException("Provided list of item keys contains duplicates")
            seen.add(write.key)
            writes.append(write)
    return writes


def _write(name: str, table: Table, member: requests.WriteRequest, size: int) -> Write:
    if member.put_request is not None:
        item: Item = member.put_request.item
        check_batch_item_keys(table, item)
        return write_step.put(table, name, item, size, None)
    assert member.delete_request is not None
    return write_step.delete(table, name, member.delete_request.key, None)

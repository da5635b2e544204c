"""GetItem and BatchGetItem."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec

from torusdb.api import requests
from torusdb.errors import ValidationException
from torusdb.expressions import Projection, require_scalar_keys
from torusdb.model.attributes import Item, encode_item
from torusdb.model.records import record_item_json, record_size, unpack
from torusdb.model.schema import Table
from torusdb.model.values import normalise_item
from torusdb.operations import parameters
from torusdb.operations.answers import EMPTY, answer, items_json
from torusdb.operations.capacity import Consumed, read_units, reports
from torusdb.operations.context import Context
from torusdb.operations.key_checks import check_key
from torusdb.storage.commands import Command, Get, Operation

BATCH_KEYS_MAX = 100
BATCH_RESPONSE_BYTES_MAX = 16 * 1024 * 1024
"""Service model, BatchGetItem: what doesn't fit into the answer is left unprocessed."""


def get_item(ctx: Context, request: requests.GetItemRequest) -> Operation:
    projection = parameters.of_get(request)
    table = ctx.catalog.active_table(request.table_name)
    check_key(table, request.key)
    check_projection(table, projection)

    record: bytes | None = (yield Get([table.key_of(request.key)]))[0]
    if request.return_consumed_capacity is None:
        # Written out for speed: most requests end here.
        return EMPTY if record is None else b'{"Item":' + item_json(record, projection) + b"}"
    consumed = Consumed(table)
    consumed.add(read_units(0 if record is None else record_size(record), request.consistent_read))
    return answer(
        Item=None if record is None else msgspec.Raw(item_json(record, projection)),
        ConsumedCapacity=consumed.report(request.return_consumed_capacity, request.table_name),
    )


def check_projection(table: Table, projection: Projection | None) -> None:
    if projection is not None:
        require_scalar_keys(projection.nested_attributes, [key.name for key in table.keys], table.index_key_names)


def item_json(record: bytes, projection: Projection | None) -> bytes:
    if projection is None:
        return record_item_json(record)
    return encode_item(projection.apply(unpack(record)))


def batch_get_item(ctx: Context, request: requests.BatchGetItemRequest) -> Operation:
    _check_batch(request)
    projections = parameters.of_batch_get(request.request_items)
    for one in request.request_items.values():
        _check_keys_distinct(one.keys)
    tables = {name: ctx.catalog.active_table(name) for name in request.request_items}
    _check_tables_distinct(tables)
    for name, one in request.request_items.items():
        for key in one.keys:
            check_key(tables[name], key)
        check_projection(tables[name], projections[name])

    responses: dict[str, msgspec.Raw] = {}
    unprocessed: dict[str, Any] = {}
    consumed: list[tuple[str, Consumed]] = []
    budget = BATCH_RESPONSE_BYTES_MAX
    for name, one in request.request_items.items():
        taken = yield from _read_keys(tables[name], one, budget)
        budget -= taken.size
        responses[name] = items_json([item_json(record, projections[name]) for record in taken.records])
        consumed.append((name, taken.consumed))
        if taken.left:
            unprocessed[name] = msgspec.structs.replace(one, keys=taken.left)
    return answer(
        Responses=responses,
        UnprocessedKeys=unprocessed,
        ConsumedCapacity=reports(consumed, request.return_consumed_capacity),
    )


class _Taken(msgspec.Struct):
    records: list[bytes]
    left: list[Item]
    size: int
    consumed: Consumed


def _read_keys(table: Table, wanted: requests.KeysAndAttributes, budget: int) -> Generator[Command, Any, _Taken]:
    """The items of one table as far as they fit into what is left of the answer."""
    found: list[bytes | None] = yield Get([table.key_of(key) for key in wanted.keys])
    taken = _Taken([], [], 0, Consumed(table))
    for key, record in zip(wanted.keys, found, strict=True):
        size = 0 if record is None else record_size(record)
        if taken.left or taken.size + size > budget:
            taken.left.append(key)
            continue
        taken.size += size
        taken.consumed.add(read_units(size, wanted.consistent_read))
        if record is not None:
            taken.records.append(record)
    return taken


def _check_batch(request: requests.BatchGetItemRequest) -> None:
    if not request.request_items:
        raise ValidationException("The requestItems parameter is required for BatchGetItem")
    if sum(len(one.keys) for one in request.request_items.values()) > BATCH_KEYS_MAX:
        raise ValidationException("Too many items requested for the BatchGetItem call")


def _check_keys_distinct(keys: list[Item]) -> None:
    seen = set()
    for key in keys:
        normalise_item(key)
        seen.add(encode_item(dict(sorted(key.items()))))
    if len(seen) < len(keys):
        raise ValidationException("Provided list of item keys contains duplicates")


def _check_tables_distinct(tables: dict[str, Table]) -> None:
    """A table's name and its ARN name the same table: such a request gives its keys in two lists."""
    if len({table.table_id for table in tables.values()}) < len(tables):
        raise ValidationException("Provided list of item keys contains duplicates")

"""Query and Scan: from a request to the plan that `reading` carries out, and the answer.

Both go the same way: the request's own parameters, the table, the index, where to start, what the answer is to hold.
A Query is bounded by its key condition, a Scan by its segment of the hash space.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

from torusdb.api import requests
from torusdb.errors import ValidationException
from torusdb.expressions import KeyMatch, require_scalar_keys
from torusdb.model.attributes import Item
from torusdb.model.keys import (
    KeyAttribute,
    after_prefix,
    encode_key_value,
    segment_bounds,
    space_bounds,
)
from torusdb.model.schema import BASE_INDEX_ID, Index, Table
from torusdb.operations import parameters
from torusdb.operations.answers import answer, items_json
from torusdb.operations.context import Context
from torusdb.operations.key_bounds import Bounds, entry_key, keys_of, partition_beginning, range_bounds
from torusdb.operations.key_checks import INVALID, KEY_MISMATCH, check_key, check_key_value
from torusdb.operations.parameters import STARTING_KEY_INVALID, ReadParameters
from torusdb.operations.reading import Plan, read
from torusdb.storage.commands import Command, Operation

ReadRequest: TypeAlias = requests.QueryRequest | requests.ScanRequest


def query(ctx: Context, request: requests.QueryRequest) -> Operation:
    asked = parameters.of_query(request)
    assert asked.key_condition is not None
    if request.index_name is None:
        asked.key_condition.require_table_count()
    _check_select(request, announce="1 validation error detected: ")
    table = ctx.catalog.active_table(request.table_name)
    index = _index(table, request)
    if request.exclusive_start_key is not None:
        _check_start_of_query(table, index, request.exclusive_start_key)
    hash_keys, range_keys = keys_of(table, index)
    match = asked.key_condition.match(hash_keys, range_keys)
    _check_key_values(match, hash_keys, range_keys)
    bounds = _key_bounds(table, index, match)
    if request.exclusive_start_key is not None:
        _check_table_key(table, request.exclusive_start_key)
        bounds = _start_query(table, index, request, match, bounds)
    if asked.filter is not None:
        asked.filter.require_no_keys([key.name for key in (*hash_keys, *range_keys)], asked.filter_label)
    plan = _plan(table, index, request, asked, bounds)
    plan.reverse = request.scan_index_forward is False
    return (yield from _answer(plan, request))


def scan(ctx: Context, request: requests.ScanRequest) -> Operation:
    asked = parameters.of_scan(request)
    _check_select(request, announce="")
    table = ctx.catalog.active_table(request.table_name)
    index = _index(table, request)
    start, stop = _segment(table, index, request)
    if request.exclusive_start_key is not None:
        _check_start_of_scan(table, index, request.exclusive_start_key)
        after = entry_key(table, index, request.exclusive_start_key)
        if not start <= after < stop:
            raise ValidationException(
                f"{STARTING_KEY_INVALID}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct "
                f"Segment. TotalSegments: {request.total_segments} Segment: {request.segment}"
            )
        start = after + b"\x00"
    return (yield from _answer(_plan(table, index, request, asked, (start, stop)), request))


# What the request alone decides.


def _check_select(request: ReadRequest, announce: str) -> None:
    """`announce`: a Query puts words before these messages that a Scan doesn't (measured)."""
    select = request.select
    if select is None:
        return
    shown = None
    if request.projection_expression is not None:
        shown = "ProjectionExpression"
    elif request.attributes_to_get is not None:
        shown = "AttributesToGet"
    if select == "SPECIFIC_ATTRIBUTES":
        if shown is None:
            raise ValidationException(
                f"{announce}Must specify the AttributesToGet or ProjectionExpression "
                "when choosing to get SPECIFIC_ATTRIBUTES"
            )
    elif shown is not None:
        chosen = "only the Count" if select == "COUNT" else select
        raise ValidationException(f"{announce}Cannot specify the {shown} when choosing to get {chosen}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.index_name is None:
        # "Querying" in a Scan, too: the service's words.
        raise ValidationException(
            f"{announce}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )


# Table and index.


def _index(table: Table, request: ReadRequest) -> Index | None:
    if request.index_name is None:
        return None
    index = table.index_by_name.get(request.index_name)
    if index is None or index.status == "DELETING":
        raise ValidationException(f"The table does not have the specified index: {request.index_name}")
    if index.is_global and request.consistent_read:
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    if index.status == "CREATING":
        raise ValidationException(f"Cannot read from backfilling global secondary index: {index.name}")
    return index


def _plan(table: Table, index: Index | None, request: ReadRequest, asked: ReadParameters, bounds: Bounds) -> Plan:
    for part in (asked.projection, asked.filter):
        if part is not None:
            require_scalar_keys(part.nested_attributes, [key.name for key in table.keys], table.index_key_names)
    return Plan(
        table,
        index,
        *bounds,
        limit=request.limit,
        consistent=bool(request.consistent_read),
        filter=asked.filter,
        projection=asked.projection,
        count_only=request.select == "COUNT",
        fetch_items=index is not None and _needs_items(table, index, request, asked),
        weigh=request.return_consumed_capacity in ("TOTAL", "INDEXES"),
    )


def _needs_items(table: Table, index: Index, request: ReadRequest, asked: ReadParameters) -> bool:
    """Whether the answer needs attributes that the index does not hold. A local index then has the items read
    as well; a global one refuses."""
    held = table.projected_names(index)
    if held is None:
        return False
    if asked.filter is not None and asked.key_condition is not None:
        # Of a Query only: to the filter of a Scan such attributes are missing (seen).
        missing = [name for name in asked.filter.attributes if name not in held]
        if missing:
            raise ValidationException(
                f"{INVALID}Secondary index {index.name} does not project one or more filter attributes: "
                f"[{', '.join(missing)}]"
            )
    if request.select == "ALL_ATTRIBUTES":
        if index.is_global:
            raise ValidationException(
                f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} "
                "because its projection type is not ALL"
            )
        return True
    if asked.projection is None or request.select == "COUNT":
        return False
    missing = [name for name in asked.projection.attributes if name not in held]
    if missing and index.is_global:
        raise ValidationException(
            f"{INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )
    return bool(missing)


# Where a page starts and stops.


def _check_key_values(match: KeyMatch, hash_keys: list[KeyAttribute], range_keys: list[KeyAttribute]) -> None:
    """What no key can be a condition must not ask for either: the service says so of empty values and of long ones."""
    for key, value in zip(hash_keys, match.hash_values, strict=True):
        check_key_value(key, value, is_hash=True)
    for key, value in zip(range_keys, match.range_values, strict=False):
        check_key_value(key, value, is_hash=False)
    if match.last is not None and match.last_attribute is not None:
        for value in match.last.operands:
            check_key_value(match.last_attribute, value, is_hash=False)


def _key_bounds(table: Table, index: Index | None, match: KeyMatch) -> Bounds:
    """The bounds that the conditions on partition key and sort key leave."""
    _, range_keys = keys_of(table, index)
    beginning = partition_beginning(table, index, list(match.hash_values))
    for key, value in zip(range_keys, match.range_values, strict=False):
        beginning += encode_key_value(key.type, value[key.type])
    if match.last is None:
        return beginning, after_prefix(beginning)
    assert match.last_attribute is not None
    return range_bounds(beginning, match.last_attribute, match.last.operator, match.last.operands)


def _segment(table: Table, index: Index | None, request: requests.ScanRequest) -> Bounds:
    index_id = BASE_INDEX_ID if index is None else index.index_id
    if request.total_segments is None or request.segment is None:
        return space_bounds(table.table_id, index_id)
    prefix = table.base_partition if index is None else table.index_partition(index)
    return segment_bounds(prefix, request.segment, request.total_segments)


# ExclusiveStartKey. The order of its checks and the words differ between Query and Scan (measured).


def _check_start_of_query(table: Table, index: Index | None, key: Item) -> None:
    _check_start_count(table, index, key, STARTING_KEY_INVALID)
    _check_start_attributes(table, index, key)


def _check_start_of_scan(table: Table, index: Index | None, key: Item) -> None:
    if index is None:
        _check_start_count(table, index, key, f"{STARTING_KEY_INVALID}: {KEY_MISMATCH}")
    else:
        _check_start_count(table, index, key, STARTING_KEY_INVALID)
        _check_start_attributes(table, index, key)
    _check_table_key(table, key)


def _check_start_count(table: Table, index: Index | None, key: Item, message: str) -> None:
    names = table.key_names if index is None else table.key_names | index.key_names
    if len(key) != len(names):
        raise ValidationException(message)


def _check_start_attributes(table: Table, index: Index | None, key: Item) -> None:
    hash_keys, range_keys = keys_of(table, index)
    for attribute in (*hash_keys, *range_keys):
        value = key.get(attribute.name)
        if value is None:
            raise ValidationException(STARTING_KEY_INVALID)
        check_key_value(attribute, value, is_hash=attribute in hash_keys)


def _check_table_key(table: Table, key: Item) -> None:
    try:
        check_key(table, {name: value for name, value in key.items() if name in table.key_names})
    except ValidationException as fault:
        raise ValidationException(f"{STARTING_KEY_INVALID}: {fault.message}") from None


def _start_query(
    table: Table, index: Index | None, request: requests.QueryRequest, match: KeyMatch, bounds: Bounds
) -> Bounds:
    """The bounds from the start key on. Its sort key is held against the condition first, wherever its partition."""
    key = request.exclusive_start_key
    assert key is not None
    hash_keys, _ = keys_of(table, index)
    start, stop = bounds
    after = entry_key(table, index, key)
    in_partition = entry_key(
        table, index, {**key, **{attribute.name: v for attribute, v in zip(hash_keys, match.hash_values, strict=True)}}
    )
    if not start <= in_partition < stop:
        raise ValidationException("The provided starting key does not match the range key predicate")
    if after != in_partition:
        raise ValidationException(
            "The query can return at most one row and cannot be restarted"
            if match.has_range
            else "The provided starting key is outside query boundaries based on provided conditions"
        )
    return (start, after) if request.scan_index_forward is False else (after + b"\x00", stop)


# The answer.


def _answer(plan: Plan, request: ReadRequest) -> Generator[Command, Any, bytes]:
    reading = yield from read(plan)
    return answer(
        Items=None if plan.count_only else items_json(reading.items),
        Count=reading.count,
        ScannedCount=reading.scanned_count,
        LastEvaluatedKey=reading.last_key,
        ConsumedCapacity=reading.consumed.report(request.return_consumed_capacity, request.table_name),
    )

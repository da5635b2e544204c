"""CreateTable, DescribeTable, DeleteTable, ListTables, and what there is to know of an account's limits and
endpoints."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec

from torusdb.api import requests
from torusdb.errors import ResourceInUseException, ValidationException
from torusdb.model.keys import META_SPACE
from torusdb.operations.context import Context
from torusdb.operations.stream_switch import switch_stream
from torusdb.operations.table_admission import check_deletable, still_in_use
from torusdb.operations.table_building import new_table
from torusdb.operations.table_creation_checks import check_creation
from torusdb.operations.table_description import Members, count, describe
from torusdb.operations.table_phases import enter
from torusdb.storage.commands import Command, Get, Operation

_encode = msgspec.json.Encoder().encode

LIST_NAMES_MAX = 100
"""Names in an answer of ListTables (API reference)."""

ACCOUNT_UNITS_MAX = 80_000
TABLE_UNITS_MAX = 40_000
"""What DescribeLimits tells: the default quotas of an account (developer guide, "Quotas"). TorusDB does not
enforce them."""

LAST_TABLE_ID_KEY = META_SPACE + b"last table id"
_TABLE_ID_BYTES = 4


def create_table(ctx: Context, request: requests.CreateTableRequest) -> Operation:
    check_creation(request)
    existing = ctx.catalog.find(request.table_name)
    if existing is not None:
        if existing.status == "CREATING":
            raise still_in_use(f"Table is being created: {existing.name}")
        raise ResourceInUseException(f"Table already exists: {request.table_name}")

    table_id = yield from _last_table_id()
    table, stream = yield from switch_stream(ctx, None, new_table(ctx, request, table_id + 1))
    body = _encode({"TableDescription": _created(describe(table, {}, ctx.now()), request)})
    last_id = (LAST_TABLE_ID_KEY, table.table_id.to_bytes(_TABLE_ID_BYTES, "big"))
    yield from enter(ctx, table, [last_id], stream)
    return body


def _created(members: Members, request: requests.CreateTableRequest) -> Members:
    """The answer tells of warm throughput only what was asked for, and nothing for the indexes (measured)."""
    if request.warm_throughput is None:
        del members["WarmThroughput"]
    for index in members.get("GlobalSecondaryIndexes", []):
        del index["WarmThroughput"]
    return members


def _last_table_id() -> Generator[Command, Any, int]:
    """Ids are counted in the store, by the commit that creates the table: none is given twice, whatever
    happens."""
    record: bytes | None = (yield Get([LAST_TABLE_ID_KEY], guard=True))[0]
    return 0 if record is None else int.from_bytes(record, "big")


def describe_table(ctx: Context, request: requests.DescribeTableRequest) -> Operation:
    table = ctx.catalog.described_table(request.table_name)
    counts = yield from count(table)
    return _encode({"Table": describe(table, counts, ctx.now())})


def delete_table(ctx: Context, request: requests.DeleteTableRequest) -> Operation:
    table = ctx.catalog.described_table(request.table_name)
    if table.deletion_protection:
        raise ValidationException(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    check_deletable(table)
    table = msgspec.structs.replace(table, status="DELETING")
    # The answer tells neither sizes nor global indexes (measured).
    told = msgspec.structs.replace(table, indexes=table.local_indexes)
    body = _encode({"TableDescription": describe(told, {}, ctx.now())})
    # The stream ends with the first step of the deletion, and can be read for a day.
    table, stream = yield from switch_stream(ctx, table, msgspec.structs.replace(table, stream=None))
    yield from enter(ctx, table, stream=stream)
    return body


def list_tables(ctx: Context, request: requests.ListTablesRequest) -> Operation:
    # The start is a place in the order of names: no table of that name need exist (measured).
    after = request.exclusive_start_table_name
    names = [name for name in ctx.catalog.names() if after is None or name > after]
    limit = request.limit or LIST_NAMES_MAX
    answer: dict[str, Any] = {"TableNames": names[:limit]}
    if len(names) > limit:
        answer["LastEvaluatedTableName"] = names[limit - 1]
    return _encode(answer)
    yield


def describe_limits(ctx: Context, request: requests.DescribeLimitsRequest) -> Operation:
    return _encode(
        {
            "AccountMaxReadCapacityUnits": ACCOUNT_UNITS_MAX,
            "AccountMaxWriteCapacityUnits": ACCOUNT_UNITS_MAX,
            "TableMaxReadCapacityUnits": TABLE_UNITS_MAX,
            "TableMaxWriteCapacityUnits": TABLE_UNITS_MAX,
        }
    )
    yield


def describe_endpoints(ctx: Context, request: requests.DescribeEndpointsRequest) -> Operation:
    address = f"dynamodb.{ctx.catalog.region}.amazonaws.com"
    return _encode({"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]})
    yield

"""CreateTable, DescribeTable, DeleteTable, ListTables, and what there is to know of an account's limits and endpoints.

The checks of CreateTable are a visible list, in the service's order (measured).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import datetime, timezone
from typing import Any

import msgspec

from torusdb.api import requests
from torusdb.errors import ResourceInUseException, ValidationException
from torusdb.model.keys import META_SPACE, KeyAttribute, KeyType
from torusdb.model.schema import Index, Table, Throughput
from torusdb.operations import table_checks as checks
from torusdb.operations.context import Context
from torusdb.operations.table_checks import refuse
from torusdb.operations.table_description import count, describe
from torusdb.operations.table_phases import check_not_in_use, enter, in_use
from torusdb.storage.commands import Command, Get, Operation

_encode = msgspec.json.Encoder().encode

LIST_NAMES_MAX = 100
"""Names in an answer of ListTables (API reference)."""

ACCOUNT_UNITS_MAX = 80_000
TABLE_UNITS_MAX = 40_000
"""What DescribeLimits tells: the default quotas of an account (developer guide, "Quotas"). TorusDB does not enforce them."""

LAST_TABLE_ID_KEY = META_SPACE + b"last table id"
_TABLE_ID_BYTES = 4


def create_table(ctx: Context, request: requests.CreateTableRequest) -> Operation:
    checks.check_built(
        VectorIndexes=request.vector_indexes,
        GlobalTableSourceArn=request.global_table_source_arn,
        GlobalTableSettingsReplicationMode=request.global_table_settings_replication_mode,
    )
    _check_billing(request)
    _check_keys(request)
    _check_local_indexes(request)
    _check_global_indexes(request)
    _check_definitions_used(request)
    check_projections(request)
    _check_options(request)
    existing = ctx.catalog.find(request.table_name)
    if existing is not None:
        if existing.status == "DELETING":
            raise in_use(existing)
        raise ResourceInUseException(f"Table already exists: {request.table_name}")

    table_id = yield from _last_table_id()
    table = _table(ctx, request, table_id + 1)
    body = _encode({"TableDescription": describe(table, {}, ctx.now())})
    yield from enter(ctx, table, [(LAST_TABLE_ID_KEY, table.table_id.to_bytes(_TABLE_ID_BYTES, "big"))])
    return body


def _last_table_id() -> Generator[Command, Any, int]:
    """Ids are counted in the store, by the commit that creates the table: none is given twice, whatever happens."""
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
    is_deleting = table.status == "DELETING"
    if not is_deleting:
        check_not_in_use(table)
        table = msgspec.structs.replace(table, status="DELETING")
    # The answer tells neither sizes nor global indexes (measured).
    told = msgspec.structs.replace(table, indexes=table.local_indexes)
    body = _encode({"TableDescription": describe(told, {}, ctx.now())})
    if not is_deleting:
        yield from enter(ctx, table)
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


def _check_billing(request: requests.CreateTableRequest) -> None:
    throughput = request.provisioned_throughput
    if request.billing_mode == "PAY_PER_REQUEST":
        if throughput is not None:
            raise ValidationException(checks.NEITHER_UNIT)
        return
    if throughput is None:
        raise refuse(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    checks.check_throughput_bounds(throughput)


def _check_keys(request: requests.CreateTableRequest) -> None:
    key_schema, definitions = request.key_schema or [], request.attribute_definitions or []
    if len(key_schema) > len(definitions):
        raise ValidationException(checks.NO_DEFINITION)
    checks.check_defined(key_schema, definitions)
    checks.check_key_schema(key_schema)
    has_indexes = request.local_secondary_indexes is not None or request.global_secondary_indexes is not None
    if not has_indexes and len(key_schema) != len(definitions):
        raise refuse(
            "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions"
        )


def _check_local_indexes(request: requests.CreateTableRequest) -> None:
    indexes, key_schema = request.local_secondary_indexes, request.key_schema or []
    if indexes is None:
        return
    if not indexes:
        raise refuse("List of LocalSecondaryIndexes is empty")
    if len(key_schema) < 2:
        raise refuse(
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
        )
    names: set[str] = set()
    for index in indexes:
        _check_local_index(index, key_schema, request.attribute_definitions or [])
        _check_new_name(index.index_name, names)
    if len(indexes) > checks.LOCAL_INDEXES_MAX:
        raise refuse(f"Number of LocalSecondaryIndexes exceeds per-table limit of {checks.LOCAL_INDEXES_MAX}")


def _check_local_index(
    index: requests.LocalSecondaryIndex, table_key_schema: checks.KeySchema, definitions: checks.Definitions
) -> None:
    checks.check_defined(index.key_schema, definitions)
    checks.check_key_schema(index.key_schema)
    if len(index.key_schema) < 2:
        raise refuse(f"Index KeySchema does not have a range key for index: {index.index_name}")
    hash_name, table_hash_name = index.key_schema[0].attribute_name, table_key_schema[0].attribute_name
    if hash_name != table_hash_name:
        raise refuse(
            "Index KeySchema does not have the same leading hash key as table KeySchema for index: "
            f"{index.index_name}. index hash key: {hash_name}, table hash key: {table_hash_name}"
        )
    checks.check_projection(index.projection)


def _check_global_indexes(request: requests.CreateTableRequest) -> None:
    indexes = request.global_secondary_indexes
    if indexes is None:
        return
    if not indexes:
        raise refuse("List of GlobalSecondaryIndexes is empty")
    names = {index.index_name for index in request.local_secondary_indexes or []}
    for index in indexes:
        checks.check_defined(index.key_schema, request.attribute_definitions or [])
        checks.check_global_key_schema(index.key_schema)
        checks.check_projection(index.projection)
        _check_index_throughput(index, request.billing_mode)
        _check_new_name(index.index_name, names)
    if len(indexes) > checks.GLOBAL_INDEXES_MAX:
        raise refuse(f"GlobalSecondaryIndex count exceeds the per-table limit of {checks.GLOBAL_INDEXES_MAX}")


def _check_index_throughput(index: requests.GlobalSecondaryIndex, billing_mode: str | None) -> None:
    if billing_mode == "PAY_PER_REQUEST":
        if index.provisioned_throughput is not None:
            raise refuse(
                f"ProvisionedThroughput should not be specified for index: {index.index_name} "
                "when BillingMode is PAY_PER_REQUEST"
            )
    elif index.provisioned_throughput is None:
        raise refuse(f"ProvisionedThroughput is not specified for index: {index.index_name}")
    else:
        checks.check_throughput_bounds(index.provisioned_throughput)


def _check_new_name(name: str, names: set[str]) -> None:
    if name in names:
        raise refuse(f"Duplicate index name: {name}")
    names.add(name)


def _check_definitions_used(request: requests.CreateTableRequest) -> None:
    """With indexes, a definition that no key uses is told so (measured)."""
    used = dict.fromkeys(checks.names_of(request.key_schema or []))
    for index in (*(request.local_secondary_indexes or []), *(request.global_secondary_indexes or [])):
        used.update(dict.fromkeys(checks.names_of(index.key_schema)))
    defined = [definition.attribute_name for definition in request.attribute_definitions or []]
    if len(defined) > len(used):
        raise refuse(
            f"Some AttributeDefinitions are not used. AttributeDefinitions: [{', '.join(defined)}], "
            f"keys used: [{', '.join(used)}]"
        )


def check_projections(request: requests.CreateTableRequest) -> None:
    indexes = (*(request.local_secondary_indexes or []), *(request.global_secondary_indexes or []))
    checks.check_projected_total(sum(len(index.projection.non_key_attributes or []) for index in indexes))


def _check_options(request: requests.CreateTableRequest) -> None:
    stream = request.stream_specification
    if stream is not None and not stream.stream_enabled and stream.stream_view_type is not None:
        raise refuse("Table is being created with a stream disabled, UpdateViewType should not be specified")
    if stream is not None and stream.stream_enabled and stream.stream_view_type is None:
        # These words are ours, after those above.
        raise refuse("Table is being created with a stream enabled, UpdateViewType should be specified")
    on_demand = request.billing_mode == "PAY_PER_REQUEST"
    refused_when = None if on_demand else "table BillingMode is PROVISIONED."
    checks.check_on_demand(request.on_demand_throughput, "table", refused_when, least=1)
    _check_warm(request.warm_throughput, request.provisioned_throughput, "table")
    for index in request.global_secondary_indexes or []:
        owner = f"index {index.index_name}"
        checks.check_on_demand(index.on_demand_throughput, owner, refused_when, least=1)
        _check_warm(index.warm_throughput, index.provisioned_throughput, owner)
    checks.check_sse(request.sse_specification)
    checks.check_tags(request.tags)


def _check_warm(
    warm: requests.WarmThroughput | None, throughput: requests.ProvisionedThroughput | None, owner: str
) -> None:
    if throughput is None:
        checks.check_warm(warm, owner, *checks.ON_DEMAND_START)
    else:
        checks.check_warm(
            warm,
            owner,
            (throughput.read_capacity_units, "ReadCapacityUnits of ProvisionedThroughput"),
            (throughput.write_capacity_units, "WriteCapacityUnits of ProvisionedThroughput"),
        )


def _table(ctx: Context, request: requests.CreateTableRequest, table_id: int) -> Table:
    types = {d.attribute_name: d.attribute_type for d in request.attribute_definitions or []}
    key_names = checks.names_of(request.key_schema or [])
    table_keys = [KeyAttribute(name, types[name]) for name in key_names]
    now = ctx.now()
    on_demand = request.billing_mode == "PAY_PER_REQUEST"
    stream = request.stream_specification
    has_stream = stream is not None and stream.stream_enabled
    local, global_ = request.local_secondary_indexes or [], request.global_secondary_indexes or []
    return Table(
        name=request.table_name,
        table_id=table_id,
        uuid=ctx.new_uuid(),
        arn=ctx.catalog.arn(request.table_name),
        hash_key=table_keys[0],
        range_key=table_keys[1] if len(table_keys) > 1 else None,
        attribute_types=types,
        created=now,
        status="CREATING",
        billing="PAY_PER_REQUEST" if on_demand else "PROVISIONED",
        billing_changed=now if on_demand else None,
        throughput=throughput_of(request.provisioned_throughput),
        on_demand=ceilings_of(request.on_demand_throughput),
        warm=warm_of(request.warm_throughput),
        indexes=[
            *(local_index(index, index_id, types) for index_id, index in enumerate(local, 1)),
            *(global_index(index, index_id, types) for index_id, index in enumerate(global_, len(local) + 1)),
        ],
        next_index_id=len(local) + len(global_) + 1,
        deletion_protection=bool(request.deletion_protection_enabled),
        table_class=request.table_class,
        stream=msgspec.to_builtins(stream) if has_stream else None,
        stream_label=stream_label(now) if has_stream else None,
        sse=sse_description(ctx, request.sse_specification),
        tags={tag.key: tag.value for tag in request.tags or []},
        resource_policy=request.resource_policy,
    )


def local_index(index: requests.LocalSecondaryIndex, index_id: int, types: dict[str, KeyType]) -> Index:
    return Index(
        name=index.index_name,
        index_id=index_id,
        is_global=False,
        hash_keys=_keys(index.key_schema, "HASH", types),
        range_keys=_keys(index.key_schema, "RANGE", types),
        projection=index.projection.projection_type or "ALL",
        non_key_attributes=index.projection.non_key_attributes or [],
    )


def global_index(
    index: requests.GlobalSecondaryIndex | requests.CreateGlobalSecondaryIndexAction,
    index_id: int,
    types: dict[str, KeyType],
) -> Index:
    return Index(
        name=index.index_name,
        index_id=index_id,
        is_global=True,
        hash_keys=_keys(index.key_schema, "HASH", types),
        range_keys=_keys(index.key_schema, "RANGE", types),
        projection=index.projection.projection_type or "ALL",
        non_key_attributes=index.projection.non_key_attributes or [],
        throughput=throughput_of(index.provisioned_throughput),
        on_demand=ceilings_of(index.on_demand_throughput),
        warm=warm_of(index.warm_throughput),
        status="CREATING",
    )


def _keys(
    key_schema: Sequence[requests.KeySchemaElement], key_type: str, types: dict[str, KeyType]
) -> list[KeyAttribute]:
    return [
        KeyAttribute(e.attribute_name, types[e.attribute_name]) for e in key_schema if e.key_type == key_type
    ]


def throughput_of(throughput: requests.ProvisionedThroughput | None) -> Throughput:
    if throughput is None:
        return Throughput()
    return Throughput(throughput.read_capacity_units, throughput.write_capacity_units)


def ceilings_of(on_demand: requests.OnDemandThroughput | None) -> dict[str, int] | None:
    """What is set of the two; None for neither, which is as if nothing had been given (measured)."""
    return _present(on_demand)


def warm_of(warm: requests.WarmThroughput | None) -> dict[str, int] | None:
    return _present(warm)


def _present(members: requests.Request | None) -> dict[str, int] | None:
    if members is None:
        return None
    return {name: value for name, value in msgspec.to_builtins(members).items() if value is not None} or None


def stream_label(now: float) -> str:
    """When the stream was enabled, in UTC with milliseconds: `2026-01-31T12:34:56.789`."""
    moment = datetime.fromtimestamp(now, timezone.utc).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds")


def sse_description(ctx: Context, sse: requests.SSESpecification | None) -> dict[str, Any] | None:
    """None for a key that the service owns, which is not told of."""
    if sse is None or not sse.enabled:
        return None
    key = sse.kms_master_key_id
    if key is None or key.startswith("alias/"):
        key = ctx.new_uuid()
    if not key.startswith("arn:"):
        key = f"arn:aws:kms:{ctx.catalog.region}:{ctx.catalog.account}:key/{key}"
    return {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key}

"""From requests to the values that the catalog keeps: tables and indexes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from torusdb.api import requests
from torusdb.model.keys import KeyAttribute, KeyType
from torusdb.model.schema import Index, Table, Throughput
from torusdb.operations.catalog import Catalog
from torusdb.operations.context import Context
from torusdb.operations.table_checks import names_of


def new_table(ctx: Context, request: requests.CreateTableRequest, table_id: int) -> Table:
    types = {d.attribute_name: d.attribute_type for d in request.attribute_definitions or []}
    key_names = names_of(request.key_schema or [])
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
        sse=sse_description(ctx.catalog, request.sse_specification),
        tags={tag.key: tag.value for tag in request.tags or []},
        resource_policy=request.resource_policy,
        resource_policy_revision=policy_revision(now),
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
    return [KeyAttribute(e.attribute_name, types[e.attribute_name]) for e in key_schema if e.key_type == key_type]


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
    moment = datetime.fromtimestamp(now, UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds")


def policy_revision(now: float, previous: str = "0") -> str:
    """Another than that of the policy before. That it is a time in milliseconds is our choice: nothing documents its
    form."""
    return str(max(int(now * 1000), int(previous) + 1))


MANAGED_KEY = "alias/aws/dynamodb"
"""The key of an account and region for whoever names none."""


def sse_description(catalog: Catalog, sse: requests.SSESpecification | None) -> dict[str, Any] | None:
    """None for a key that the service owns, which is not told of. SSEType enables without `Enabled` (measured)."""
    from uuid import NAMESPACE_URL, uuid5

    if sse is None or not (sse.enabled or sse.sse_type):
        return None
    key = sse.kms_master_key_id or MANAGED_KEY
    if key.startswith("alias/"):
        # There are no keys to look up: an alias always stands for the same one.
        key = str(uuid5(NAMESPACE_URL, f"{catalog.account}/{catalog.region}/{key}"))
    if not key.startswith("arn:"):
        key = f"arn:aws:kms:{catalog.region}:{catalog.account}:key/{key}"
    return {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key}

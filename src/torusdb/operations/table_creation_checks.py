"""What CreateTable refuses before it looks at the tables there are: a visible list, in the service's order
(measured)."""

from __future__ import annotations

from torusdb.api import requests
from torusdb.errors import ValidationException
from torusdb.operations import table_checks as checks
from torusdb.operations.table_checks import refuse


def check_creation(request: requests.CreateTableRequest) -> None:
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
    _check_projections(request)
    _check_options(request)


def _check_billing(request: requests.CreateTableRequest) -> None:
    throughput = request.provisioned_throughput
    if request.billing_mode == "PAY_PER_REQUEST":
        if throughput is not None:
            raise ValidationException(checks.NEITHER_UNIT)
        return
    if throughput is None:
        raise refuse("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
    checks.check_throughput_bounds(throughput)


def _check_keys(request: requests.CreateTableRequest) -> None:
    key_schema, definitions = request.key_schema or [], request.attribute_definitions or []
    if len(key_schema) > len(definitions):
        raise ValidationException(checks.NO_DEFINITION)
    checks.check_defined(key_schema, definitions)
    checks.check_key_schema(key_schema)
    checks.check_distinct(definitions)
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
    for index in _indexes(request):
        used.update(dict.fromkeys(checks.names_of(index.key_schema)))
    defined = [definition.attribute_name for definition in request.attribute_definitions or []]
    if len(defined) > len(used):
        raise refuse(
            f"Some AttributeDefinitions are not used. AttributeDefinitions: [{', '.join(defined)}], "
            f"keys used: [{', '.join(used)}]"
        )


def _check_projections(request: requests.CreateTableRequest) -> None:
    checks.check_projected_total(sum(len(index.projection.non_key_attributes or []) for index in _indexes(request)))


def _indexes(
    request: requests.CreateTableRequest,
) -> list[requests.LocalSecondaryIndex | requests.GlobalSecondaryIndex]:
    return [*(request.local_secondary_indexes or []), *(request.global_secondary_indexes or [])]


def _check_options(request: requests.CreateTableRequest) -> None:
    stream = request.stream_specification
    if stream is not None and not stream.stream_enabled and stream.stream_view_type is not None:
        raise refuse("Table is being created with a stream disabled, UpdateViewType should not be specified")
    if stream is not None and stream.stream_enabled and stream.stream_view_type is None:
        raise refuse("Table is being created with a stream enabled, UpdateViewType is required")
    on_demand = request.billing_mode == "PAY_PER_REQUEST"
    refusal = None if on_demand else "cannot be specified when table BillingMode is PROVISIONED."
    checks.check_on_demand(request.on_demand_throughput, "table", refusal, least=1)
    _check_warm(request.warm_throughput, request.provisioned_throughput, "table")
    for index in request.global_secondary_indexes or []:
        # The spaces around the colon are the service's.
        refusal_of_index = refusal and f"for index: {index.index_name} {refusal}"
        checks.check_on_demand(index.on_demand_throughput, f"index : {index.index_name}", refusal_of_index, least=1)
        _check_warm(index.warm_throughput, index.provisioned_throughput, f"index {index.index_name}")
    checks.check_sse(request.sse_specification)
    tags = request.tags or []
    checks.check_tags(tags)
    checks.check_tag_count(len(tags))
    if request.resource_policy is not None:
        checks.check_resource_policy(request.resource_policy)


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

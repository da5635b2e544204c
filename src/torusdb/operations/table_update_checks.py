"""What UpdateTable refuses: first for the request by itself, then for the table. Both are visible lists, in
the service's order (measured)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torusdb.api import requests
from torusdb.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from torusdb.model.schema import Index, Table, Throughput
from torusdb.operations import table_checks as checks
from torusdb.operations.table_building import ceilings_of, warm_of
from torusdb.operations.table_checks import refuse
from torusdb.operations.table_description import warm_units
from torusdb.operations.table_phases import STILL_IN_USE

INDEX_UPDATES_MAX = 5
"""Of one request (measured)."""

Billing = Literal["PROVISIONED", "PAY_PER_REQUEST"]


# The request by itself.


def check_update(request: requests.UpdateTableRequest) -> None:
    checks.check_built(
        ReplicaUpdates=request.replica_updates,
        MultiRegionConsistency=request.multi_region_consistency,
        GlobalTableWitnessUpdates=request.global_table_witness_updates,
        GlobalTableSettingsReplicationMode=request.global_table_settings_replication_mode,
        DisassociationProtectionEnabled=request.disassociation_protection_enabled,
        VectorIndexUpdates=request.vector_index_updates,
    )
    _check_something_changes(request)
    throughput = request.provisioned_throughput
    if request.billing_mode == "PROVISIONED" and throughput is None:
        raise refuse("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    if request.billing_mode == "PAY_PER_REQUEST" and throughput is not None:
        raise ValidationException(checks.NEITHER_UNIT)
    if throughput is not None:
        checks.check_throughput_bounds(throughput)
    _check_index_updates(request.global_secondary_index_updates or [])
    _check_stream(request.stream_specification)
    checks.check_sse(request.sse_specification)


def _check_something_changes(request: requests.UpdateTableRequest) -> None:
    on_demand, warm = request.on_demand_throughput, request.warm_throughput
    changes = (
        request.provisioned_throughput,
        request.billing_mode,
        request.stream_specification,
        request.global_secondary_index_updates or None,
        request.sse_specification,
        request.deletion_protection_enabled,
        request.table_class,
        ceilings_of(on_demand),
        warm_of(warm),
    )
    if all(change is None for change in changes):
        raise ValidationException(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
            "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"
        )


def _check_index_updates(updates: Sequence[requests.GlobalSecondaryIndexUpdate]) -> None:
    names: set[str] = set()
    for update in updates:
        action = update.update or update.create or update.delete
        if action is None:
            raise refuse(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if action.index_name in names:
            raise refuse(
                "Only one global secondary index update per index is allowed simultaneously. "
                f"Index: {action.index_name}"
            )
        names.add(action.index_name)


def _check_stream(stream: requests.StreamSpecification | None) -> None:
    if stream is None:
        return
    if not stream.stream_enabled and stream.stream_view_type is not None:
        raise refuse("If stream is being disabled, then UpdateViewType must not be specified")
    if stream.stream_enabled and stream.stream_view_type is None:
        # These words are ours, after those above.
        raise refuse("If stream is being enabled, then UpdateViewType must be specified")


# The request against the table.


def check_update_of(table: Table, request: requests.UpdateTableRequest) -> None:
    billing = request.billing_mode or table.billing
    if request.provisioned_throughput is not None and billing == "PAY_PER_REQUEST":
        raise ValidationException(checks.NEITHER_UNIT)
    refused_when = None if billing == "PAY_PER_REQUEST" else "the table BillingMode is PROVISIONED"
    # -1 removes a ceiling.
    checks.check_on_demand(request.on_demand_throughput, "table", refused_when, least=-1)
    _check_warm_grows(request.warm_throughput, table, table, "table")
    if request.provisioned_throughput is not None and table.billing == "PROVISIONED":
        _check_throughput_changes(request.provisioned_throughput, table.throughput, "table", "table")
    _check_stream_changes(request.stream_specification, table)
    _check_indexes(request, table, billing)


def _check_warm_grows(warm: requests.WarmThroughput | None, table: Table, owner: Table | Index, called: str) -> None:
    read, write = warm_units(table, owner)
    reason = "current WarmThroughput, decreasing WarmThroughput is not supported"
    checks.check_warm(warm, called, (read, reason), (write, reason))


def _check_throughput_changes(
    requested: requests.ProvisionedThroughput, current: Throughput, kind: str, called: str
) -> None:
    read, write = requested.read_capacity_units, requested.write_capacity_units
    if (read, write) == (current.read_units, current.write_units):
        raise ValidationException(
            f"The provisioned throughput for the {called} will not change. "
            "The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for the {kind}: {current.read_units}. "
            f"Requested ReadCapacityUnits: {read}. "
            f"Current WriteCapacityUnits provisioned for the {kind}: {current.write_units}. "
            f"Requested WriteCapacityUnits: {write}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher "
            "limits."
        )


def _check_stream_changes(stream: requests.StreamSpecification | None, table: Table) -> None:
    if stream is None:
        return
    if stream.stream_enabled and table.stream is not None:
        raise ValidationException(f"Table already has an enabled stream: TableName: {table.name}")
    if not stream.stream_enabled and table.stream is None:
        # These words are ours, after those above.
        raise ValidationException(f"Table already has a disabled stream: TableName: {table.name}")


def _check_indexes(request: requests.UpdateTableRequest, table: Table, billing: Billing) -> None:
    updates = request.global_secondary_index_updates or []
    created = [update.create for update in updates if update.create is not None]
    deleted = [update.delete for update in updates if update.delete is not None]
    if len(updates) > INDEX_UPDATES_MAX or len(created) + len(deleted) > 1:
        raise _one_at_a_time()
    for update in updates:
        if update.update is not None:
            _check_updated(update.update, table, billing)
        elif update.create is not None:
            _check_created(update.create, request, table, billing)
        elif update.delete is not None:
            _check_deleted(update.delete, table)
    _check_throughput_for_all(request, table)


def _one_at_a_time() -> LimitExceededException:
    return LimitExceededException(
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    )


def _check_updated(action: requests.UpdateGlobalSecondaryIndexAction, table: Table, billing: Billing) -> None:
    throughput = action.provisioned_throughput
    if throughput is not None:
        units = max(throughput.read_capacity_units, throughput.write_capacity_units)
        if units > checks.THROUGHPUT_MAX:
            raise ValidationException(
                "This operation cannot be performed with given input values. "
                "Please contact DynamoDB service team for more info: Action Blocked: IndexUpdate"
            )
    index = _global_index(table, action.index_name)
    _check_index_idle(table, index)
    if throughput is not None and billing == "PAY_PER_REQUEST":
        raise _neither_unit_for(index.name)
    if throughput is not None and table.billing == "PROVISIONED":
        _check_throughput_changes(throughput, index.throughput, "index", f"index {index.name}")
    owner = f"index {index.name}"
    refused_when = None if billing == "PAY_PER_REQUEST" else "the table BillingMode is PROVISIONED"
    checks.check_on_demand(action.on_demand_throughput, owner, refused_when, least=-1)
    _check_warm_grows(action.warm_throughput, table, index, owner)


def _check_index_idle(table: Table, index: Index) -> None:
    if index.status in ("UPDATING", "DELETING"):
        # The two spaces are the service's.
        raise ResourceInUseException(
            f"{STILL_IN_USE}Index is being {'updated' if index.status == 'UPDATING' else 'deleted'}.  "
            f"Table: {table.name} Index: {index.name}"
        )


def _check_created(
    action: requests.CreateGlobalSecondaryIndexAction,
    request: requests.UpdateTableRequest,
    table: Table,
    billing: Billing,
) -> None:
    """The key attributes must be defined in the request itself, even those the table has defined
    (measured)."""
    if request.attribute_definitions is None:
        raise ValidationException("No Attribute Schema Defined")
    if len(action.key_schema) > len(request.attribute_definitions):
        raise ValidationException(checks.NO_DEFINITION)
    checks.check_defined(action.key_schema, request.attribute_definitions)
    checks.check_global_key_schema(action.key_schema)
    checks.check_projection(action.projection)
    if billing == "PAY_PER_REQUEST":
        if action.provisioned_throughput is not None:
            raise _neither_unit_for(action.index_name)
    elif action.provisioned_throughput is None:
        raise refuse(f"Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {action.index_name}")
    else:
        checks.check_throughput_bounds(action.provisioned_throughput)
    if action.index_name in table.index_by_name:
        raise ValidationException("Attempting to create an index which already exists")
    if any(index.status in ("CREATING", "DELETING") for index in table.indexes):
        raise _one_at_a_time()
    if len(table.global_indexes) >= checks.GLOBAL_INDEXES_MAX:
        raise refuse(f"GlobalSecondaryIndex count exceeds the per-table limit of {checks.GLOBAL_INDEXES_MAX}")
    projected = sum(len(index.non_key_attributes) for index in table.indexes)
    checks.check_projected_total(projected + len(action.projection.non_key_attributes or []))


def _check_deleted(action: requests.DeleteGlobalSecondaryIndexAction, table: Table) -> None:
    """An index may be deleted while it is back-filled (developer guide)."""
    index = _global_index(table, action.index_name)
    _check_index_idle(table, index)
    if any(other.status in ("CREATING", "DELETING") for other in table.indexes if other is not index):
        raise _one_at_a_time()


def _check_throughput_for_all(request: requests.UpdateTableRequest, table: Table) -> None:
    """A table that leaves the on-demand mode needs a throughput for each of its indexes."""
    if request.billing_mode != "PROVISIONED" or table.billing == "PROVISIONED":
        return
    updates = request.global_secondary_index_updates or []
    given = {u.update.index_name for u in updates if u.update and u.update.provisioned_throughput}
    given |= {u.delete.index_name for u in updates if u.delete}
    missing = [index.name for index in table.global_indexes if index.name not in given]
    if missing:
        raise refuse(f"ProvisionedThroughput must be specified for index: {','.join(missing)}")


def _neither_unit_for(index_name: str) -> ValidationException:
    return refuse(
        f"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {index_name} "
        "when BillingMode is PAY_PER_REQUEST"
    )


def _global_index(table: Table, name: str) -> Index:
    index = table.index_by_name.get(name)
    if index is None or not index.is_global:
        raise ResourceNotFoundException("Requested resource not found")
    return index

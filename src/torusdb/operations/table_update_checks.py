"""What UpdateTable refuses: first for the request by itself, then for the table. Both are visible lists, in
the service's order (measured)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from torusdb.api import requests
from torusdb.errors import LimitExceededException, ResourceNotFoundException, ValidationException
from torusdb.model.schema import Index, Table, Throughput
from torusdb.operations import table_checks as checks
from torusdb.operations.catalog import Catalog
from torusdb.operations.table_admission import check_index_idle
from torusdb.operations.table_building import ceilings_of, sse_description, warm_of
from torusdb.operations.table_checks import refuse
from torusdb.operations.table_description import warm_units

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
    changes = _changes(request)
    if not changes:
        raise ValidationException(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
            "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"
        )
    throughput = request.provisioned_throughput
    if request.billing_mode == "PROVISIONED" and throughput is None:
        raise refuse("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    if request.billing_mode == "PAY_PER_REQUEST" and throughput is not None:
        raise refuse("ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST")
    if throughput is not None:
        checks.check_throughput_bounds(throughput)
    _check_index_updates(request.global_secondary_index_updates)
    _check_stream(request.stream_specification)
    checks.check_sse(request.sse_specification)
    _check_changes_get_along(changes, request)


def _changes(request: requests.UpdateTableRequest) -> set[str]:
    """What the request is about, by the members that say so."""
    members: dict[str, Any] = {
        "ProvisionedThroughput": request.provisioned_throughput,
        "BillingMode": request.billing_mode,
        "StreamSpecification": request.stream_specification,
        "GlobalSecondaryIndexUpdates": request.global_secondary_index_updates or None,
        "SSESpecification": request.sse_specification,
        "DeletionProtectionEnabled": request.deletion_protection_enabled,
        "TableClass": request.table_class,
        "OnDemandThroughput": ceilings_of(request.on_demand_throughput),
        "WarmThroughput": warm_of(request.warm_throughput),
    }
    return {name for name, value in members.items() if value is not None}


def _check_changes_get_along(changes: set[str], request: requests.UpdateTableRequest) -> None:
    """Nearly every change wants a request of its own; what the service checks first is told (measured)."""
    alone = len(changes) == 1
    for name, told in (
        ("SSESpecification", "Server-Side Encryption"),
        ("TableClass", "TableClass"),
        ("DeletionProtectionEnabled", "DeletionProtection"),
    ):
        if name in changes and not alone:
            raise refuse(f"{told} modification must be the only operation in the request")
    if "OnDemandThroughput" in changes and changes & {"StreamSpecification", "WarmThroughput"}:
        raise refuse("OnDemandThroughput can only be combined with BillingMode in an UpdateTable request")
    if "WarmThroughput" in changes and not alone:
        if any(update.create for update in request.global_secondary_index_updates or []):
            raise refuse("Create global secondary index cannot be specified when updating WarmThroughput")
        raise refuse("WarmThroughput must be the only operation in the request")
    if {"ProvisionedThroughput", "StreamSpecification"} <= changes:
        raise refuse("You cannot modify stream status while updating table IOPS")
    if any(update.create or update.delete for update in request.global_secondary_index_updates or []):
        if "ProvisionedThroughput" in changes:
            raise refuse("You cannot create or delete index while updating table IOPS")
        if "StreamSpecification" in changes:
            raise refuse("You cannot create or delete index while changing stream status")


def _check_index_updates(updates: Sequence[requests.GlobalSecondaryIndexUpdate] | None) -> None:
    if updates is not None and not updates:
        raise refuse("List of GlobalSecondaryIndexUpdates is empty")
    names: set[str] = set()
    for update in updates or []:
        actions = [action for action in (update.update, update.create, update.delete) if action is not None]
        if not actions:
            raise refuse(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(actions) > 1:
            raise refuse("Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object")
        action = actions[0]
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
        raise refuse("If stream is being enabled then UpdateViewType is required")


# The request against the table.


def check_update_of(catalog: Catalog, table: Table, request: requests.UpdateTableRequest) -> None:
    billing = request.billing_mode or table.billing
    if request.provisioned_throughput is not None and billing == "PAY_PER_REQUEST":
        raise ValidationException(checks.NEITHER_UNIT)
    # -1 removes a ceiling.
    checks.check_on_demand(request.on_demand_throughput, "table", _no_ceilings(billing), least=-1)
    _check_warm_grows(request.warm_throughput, table, table, "table")
    if request.provisioned_throughput is not None and table.billing == "PROVISIONED":
        _check_throughput_changes(request.provisioned_throughput, table.throughput, "the table", "table")
    _check_stream_changes(request.stream_specification, table)
    _check_encryption_changes(request.sse_specification, catalog, table)
    _check_indexes(request, table, billing)


def _no_ceilings(billing: Billing) -> str | None:
    return None if billing == "PAY_PER_REQUEST" else "cannot be specified when the table BillingMode is PROVISIONED"


def _check_warm_grows(warm: requests.WarmThroughput | None, table: Table, owner: Table | Index, called: str) -> None:
    read, write = warm_units(table, owner)
    reason = "current WarmThroughput, decreasing WarmThroughput is not supported"
    checks.check_warm(warm, called, (read, reason), (write, reason))


def _check_throughput_changes(
    requested: requests.ProvisionedThroughput, current: Throughput, owner: str, called: str
) -> None:
    read, write = requested.read_capacity_units, requested.write_capacity_units
    if (read, write) == (current.read_units, current.write_units):
        raise ValidationException(
            f"The provisioned throughput for the {called} will not change. "
            "The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for {owner}: {current.read_units}. "
            f"Requested ReadCapacityUnits: {read}. "
            f"Current WriteCapacityUnits provisioned for {owner}: {current.write_units}. "
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
        raise ValidationException(f"Table has no stream to disable: TableName: {table.name}")


def _check_encryption_changes(sse: requests.SSESpecification | None, catalog: Catalog, table: Table) -> None:
    """The same key again is refused where it is given by its ARN only (measured)."""
    if sse is None:
        return
    wanted = sse_description(catalog, sse)
    if wanted is None and table.sse is None:
        raise refuse("Table is already encrypted by default")
    if wanted is not None and wanted == table.sse and wanted["KMSMasterKeyArn"] == sse.kms_master_key_id:
        raise refuse(
            "Table is already encrypted with given KMSMasterKeyId. "
            "Use KMSMasterKeyId parameter if you want to change Master Key"
        )


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
    index = _global_index(table, action.index_name, "update")
    check_index_idle(table, index, "update")
    if throughput is not None and billing == "PAY_PER_REQUEST":
        raise refuse(
            f"The only Updates for index: {index.name} when TableThroughputMode is PAY_PER_REQUEST "
            "can be to OnDemandThroughput, WarmThroughput"
        )
    called = f"index {index.name}"
    if throughput is not None and table.billing == "PROVISIONED":
        _check_throughput_changes(throughput, index.throughput, called, called)
    # The spaces around the colon are the service's.
    no_ceilings = _no_ceilings(billing)
    refusal = no_ceilings and f"for index : {index.name} {no_ceilings}"
    checks.check_on_demand(action.on_demand_throughput, f"index : {index.name}", refusal, least=-1)
    _check_warm_grows(action.warm_throughput, table, index, called)


def _check_created(
    action: requests.CreateGlobalSecondaryIndexAction,
    request: requests.UpdateTableRequest,
    table: Table,
    billing: Billing,
) -> None:
    """The key attributes must be defined in the request itself, even those the table has defined
    (measured)."""
    if request.attribute_definitions is None:
        raise refuse(f"AttributeDefinitions is not specified for index: {action.index_name}")
    if len(action.key_schema) > len(request.attribute_definitions):
        raise ValidationException(checks.NO_DEFINITION)
    checks.check_defined(action.key_schema, request.attribute_definitions)
    checks.check_global_key_schema(action.key_schema)
    checks.check_projection(action.projection)
    if billing == "PAY_PER_REQUEST":
        if action.provisioned_throughput is not None:
            raise refuse(
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: "
                f"{action.index_name} when BillingMode is PAY_PER_REQUEST"
            )
    elif action.provisioned_throughput is None:
        raise refuse(f"Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {action.index_name}")
    else:
        checks.check_throughput_bounds(action.provisioned_throughput)
    if action.index_name in table.index_by_name:
        raise ValidationException("Attempting to create an index which already exists")
    if any(index.status in ("CREATING", "DELETING") for index in table.indexes):
        raise _one_at_a_time()
    if len(table.global_indexes) >= checks.GLOBAL_INDEXES_MAX:
        raise LimitExceededException(
            "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of "
            f"{checks.GLOBAL_INDEXES_MAX}"
        )
    projected = sum(len(index.non_key_attributes) for index in table.indexes)
    checks.check_projected_total(projected + len(action.projection.non_key_attributes or []))


def _check_deleted(action: requests.DeleteGlobalSecondaryIndexAction, table: Table) -> None:
    """An index may be deleted while it is back-filled (developer guide)."""
    index = _global_index(table, action.index_name, "delete")
    check_index_idle(table, index, "delete")
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


def _global_index(table: Table, name: str, action: Literal["update", "delete"]) -> Index:
    index = table.index_by_name.get(name)
    if index is None:
        raise ResourceNotFoundException(f"Requested resource not found: Index {name} for table {table.name}")
    if not index.is_global:
        raise ValidationException(f"Cannot {action} an index that is not a GlobalSecondaryIndex: {name}")
    return index

"""What a table refuses while an earlier change of it is under way.

Two changes at once get along or not, and the service has words of its own for most pairs that don't (measured).
Without a table delay the only change that ever is under way is the back-fill of an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from torusdb.api import requests
from torusdb.errors import ResourceInUseException
from torusdb.model.schema import Index, Table

_DOING = {"CREATING": "created", "DELETING": "deleted"}

Asked: TypeAlias = Literal["throughput", "ceilings", "stream", "class", "indexes"]
UnderWay: TypeAlias = Literal["throughput", "stream", "class", "creation", "deletion"]

_REFUSALS: dict[tuple[UnderWay, Asked], str] = {
    ("throughput", "throughput"): "Table IOPS are currently being updated. {table}",
    ("throughput", "ceilings"): "OnDemandThroughput cannot be updated while BillingMode update is in progress",
    ("throughput", "stream"): "Can't enable or disable stream while table IOPS are being updated. {table}",
    ("throughput", "indexes"): "Can't create or delete indexes while table IOPS are being updated. {table}",
    ("stream", "throughput"): "Can't change table IOPS when stream status is being updated. {table} {stream}",
    ("stream", "stream"): "A stream status change is currently in progress. {table} {stream}",
    ("stream", "indexes"): "Can't create or delete an index when stream status is being updated. {table} {stream}",
    ("class", "class"): "Can't update table class when a table class update is in progress. {table} {class_}",
    ("class", "indexes"): "Can't create or delete an index when a table class update is in progress. {table} {class_}",
    ("creation", "throughput"): "Can't change table IOPS when an index is being created. {table} Indexes: {indexes}",
    ("creation", "stream"): "Can't change stream status when an index is being created. {table} Indexes: {indexes}",
    ("creation", "ceilings"): (
        "OnDemandThroughput cannot be updated while index creation is in progress for indexes: {indexes}"
    ),
    ("deletion", "throughput"): "Can't change table IOPS when an index is being deleted. {table} Indexes: {indexes}",
    ("deletion", "ceilings"): (
        "OnDemandThroughput cannot be updated while index deletion is in progress for indexes: {indexes}"
    ),
}

_ADMITTED: frozenset[tuple[UnderWay, Asked]] = frozenset([("creation", "indexes"), ("deletion", "indexes")])
"""These are refused too, but by the rule of one index at a time."""


def still_in_use(detail: str) -> ResourceInUseException:
    return ResourceInUseException(f"Attempt to change a resource which is still in use: {detail}")


def check_settled(table: Table) -> None:
    """A table that comes or goes can not be changed at all."""
    if table.status in _DOING:
        raise still_in_use(f"Table is being {_DOING[table.status]}: {table.name}")


def check_deletable(table: Table) -> None:
    check_settled(table)
    if any(index.status != "ACTIVE" for index in table.indexes):
        raise still_in_use("Cannot delete table while indexes are being created, updated, or deleted.")
    if table.changing == "stream":
        raise still_in_use("Cannot delete table while stream is being enabled/disabled.")
    if table.status != "ACTIVE":
        raise still_in_use(f"Table: {table.name} is in the process of being updated.")


def check_changeable(table: Table, request: requests.UpdateTableRequest) -> None:
    check_settled(table)
    under_way = _under_way(table)
    if under_way is None:
        return
    for asked in _asked(table, request):
        if (under_way, asked) not in _ADMITTED:
            raise still_in_use(_refusal(table, under_way, asked))


def check_index_idle(table: Table, index: Index, action: Literal["update", "delete"]) -> None:
    """The two spaces are the service's."""
    which = f"Table: {table.name} Index: {index.name}"
    if index.status == "UPDATING":
        raise still_in_use(f"Index is being updated.  {which}")
    if index.status == "DELETING":
        raise still_in_use(f"Index is being deleted.  {which}")
    if index.status == "CREATING" and not index.backfilling:
        if action == "update":
            raise still_in_use(f"Index is being created but is not backfilling yet.  {which}")
        raise still_in_use(
            "Index creation is in resource allocation phase. "
            f"Retry deletion during backfilling phase or when the index is active. {which}"
        )


def _under_way(table: Table) -> UnderWay | None:
    if table.status != "UPDATING":
        return None
    if table.changing is not None:
        return table.changing
    return "deletion" if any(index.status == "DELETING" for index in table.indexes) else "creation"


def _asked(table: Table, request: requests.UpdateTableRequest) -> Iterator[Asked]:
    switches = request.billing_mode is not None and request.billing_mode != table.billing
    if switches or request.provisioned_throughput is not None:
        yield "throughput"
    if request.on_demand_throughput is not None:
        yield "ceilings"
    if request.stream_specification is not None:
        yield "stream"
    if request.table_class is not None:
        yield "class"
    if any(update.create or update.delete for update in request.global_secondary_index_updates or []):
        yield "indexes"


def _refusal(table: Table, under_way: UnderWay, asked: Asked) -> str:
    template = _REFUSALS.get((under_way, asked), "Table is being updated: {name}")
    moving = [index.name for index in table.indexes if index.status in ("CREATING", "DELETING")]
    operation = "DISABLE" if table.stream is None else "ENABLE"
    return template.format(
        name=table.name,
        table=f"Table: {table.name}",
        stream=f"Stream: {table.stream_label} Operation: {operation}",
        class_=f"TableClassUpdateInProgress: {table.table_class}",
        indexes=f"[{', '.join(moving)}]",
    )

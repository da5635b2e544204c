"""UpdateTimeToLive and DescribeTimeToLive. What deletes expired items is in `jobs.ttl`.

The service takes up to an hour for a change and refuses others in that time (API reference). That time is what
--table-delay imitates, as it does for tables and indexes: without it a change is done at once, and the next one
welcome.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from torusdb.api import requests
from torusdb.errors import ValidationException
from torusdb.model.schema import Table, TimeToLive
from torusdb.operations.context import Context
from torusdb.operations.table_admission import check_settled
from torusdb.operations.table_phases import Settled, keep
from torusdb.storage.commands import Operation


def update_time_to_live(ctx: Context, request: requests.UpdateTimeToLiveRequest) -> Operation:
    table = ctx.catalog.described_table(request.table_name)
    wanted = request.time_to_live_specification
    check_settled(table)
    _check_changes(table.ttl, wanted, ctx.now())
    yield from keep(ctx, table, _changed(table, wanted, ctx.now() + ctx.settings.table_delay_seconds))
    return msgspec.json.encode(
        {"TimeToLiveSpecification": {"Enabled": wanted.enabled, "AttributeName": wanted.attribute_name}}
    )


def describe_time_to_live(ctx: Context, request: requests.DescribeTimeToLiveRequest) -> Operation:
    ttl = ctx.catalog.described_table(request.table_name).ttl
    status = "DISABLED" if ttl is None else ttl.status(ctx.now())
    members: dict[str, Any] = {"TimeToLiveStatus": status}
    if ttl is not None and status != "DISABLED":
        members["AttributeName"] = ttl.attribute
    return msgspec.json.encode({"TimeToLiveDescription": members})
    yield


def _check_changes(ttl: TimeToLive | None, wanted: requests.TimeToLiveSpecification, now: float) -> None:
    """Seen by the service's users: "already disabled" (terraform-aws-dynamodb #94) and "active on a different
    AttributeName" (cdkd #932), which does not show what may follow. That there is a refusal for the time of a change is
    documented (API reference); for its words, and for what follows the colon, no record was found."""
    enabled = ttl is not None and ttl.enabled
    if ttl is not None and enabled and wanted.attribute_name != ttl.attribute:
        raise ValidationException(
            f"TimeToLive is active on a different AttributeName: current AttributeName is {ttl.attribute}"
        )
    if wanted.enabled == enabled:
        raise ValidationException(f"TimeToLive is already {'enabled' if enabled else 'disabled'}")
    if ttl is not None and now < ttl.changing_until:
        raise ValidationException("Time to live has been modified multiple times within a fixed interval")


def _changed(table: Table, wanted: requests.TimeToLiveSpecification, changing_until: float) -> Settled:
    """The table as it is to be; and where the entries lie that are to be cleared."""
    if wanted.enabled:
        ttl = TimeToLive(wanted.attribute_name, table.next_index_id, True, changing_until, filling=True)
        return Settled(replace(table, ttl=ttl, next_index_id=table.next_index_id + 1), [])
    assert table.ttl is not None
    ttl = replace(table.ttl, enabled=False, changing_until=changing_until, filling=False)
    return Settled(replace(table, ttl=ttl), [ttl.index_id])

"""UpdateTable: the table in the phase that the request begins, told and committed.

What the answer tells is not quite what is committed: of most changes it shows the old values still, or says that
they are under way (`_told`).
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from torusdb.api import requests
from torusdb.model.schema import Index, Table, Throughput
from torusdb.operations.context import Context
from torusdb.operations.stream_switch import switch_stream
from torusdb.operations.table_admission import check_changeable
from torusdb.operations.table_building import (
    ceilings_of,
    global_index,
    sse_description,
    throughput_of,
    warm_of,
)
from torusdb.operations.table_description import Members, count, decreases_today, describe, warm_units
from torusdb.operations.table_phases import enter
from torusdb.operations.table_update_checks import Billing, check_update, check_update_of
from torusdb.storage.commands import Operation

_encode = msgspec.json.Encoder().encode


def update_table(ctx: Context, request: requests.UpdateTableRequest) -> Operation:
    check_update(request)
    table = ctx.catalog.described_table(request.table_name)
    check_changeable(table, request)
    check_update_of(ctx.catalog, table, request)
    updated, stream = yield from switch_stream(ctx, table, _Update(ctx, table, request).apply())
    # Sizes are of the table as it is: an index that is new has none.
    counts = yield from count(table)
    told = describe(_told(table, updated, request, ctx.now()), counts, ctx.now())
    _tell_warming(told, request)
    if updated != table:
        yield from enter(ctx, updated, stream=stream)
    return _encode({"TableDescription": told})


def _told(table: Table, updated: Table, request: requests.UpdateTableRequest, now: float) -> Table:
    """The table as the answer tells it (all measured)."""
    told = replace(
        updated,
        on_demand=_told_ceilings(request, table, updated),
        billing_changed=table.billing_changed,
        table_class=table.table_class,
        table_class_changed=table.table_class_changed,
        warm=table.warm,
        indexes=[_told_index(table.index_by_name.get(index.name), index) for index in updated.indexes],
    )
    if request.billing_mode is not None or request.table_class is not None:
        # Even where nothing changes.
        told = replace(told, status="UPDATING")
    if request.sse_specification is not None:
        sse = table.sse if updated.sse is not None and table.sse is not None else {}
        told = replace(told, sse={**sse, "Status": "UPDATING"})
    if updated.billing != table.billing and updated.billing == "PAY_PER_REQUEST":
        told = replace(told, throughput=replace(updated.throughput, last_decrease=now))
    return told


def _told_index(index: Index | None, updated: Index) -> Index:
    return updated if index is None else replace(updated, warm=index.warm)


def _tell_warming(told: Members, request: requests.UpdateTableRequest) -> None:
    if warm_of(request.warm_throughput) is not None:
        told["WarmThroughput"]["Status"] = "UPDATING"
    actions = [update.update for update in request.global_secondary_index_updates or []]
    warmed = {action.index_name for action in actions if action and warm_of(action.warm_throughput)}
    for index in told.get("GlobalSecondaryIndexes", []):
        if index["IndexName"] in warmed:
            index["WarmThroughput"]["Status"] = "UPDATING"


class _Update:
    """The table in the phase that the request begins."""

    def __init__(self, ctx: Context, table: Table, request: requests.UpdateTableRequest) -> None:
        self.ctx = ctx
        self.table = table
        self.request = request
        self.now = ctx.now()
        self.billing: Billing = request.billing_mode or table.billing

    def apply(self) -> Table:
        table, request = self.table, self.request
        changed = replace(
            self._with_throughput(),
            on_demand=self._ceilings(table.on_demand, request.on_demand_throughput),
            warm=self._warm(table, request.warm_throughput),
            indexes=self._indexes(),
            next_index_id=table.next_index_id + any(u.create for u in self._index_updates),
        )
        changed = self._with_settings(changed)
        changed = replace(changed, attribute_types=self._attribute_types(changed))
        changing = self._changing(changed)
        if changing is not None or any(update.create or update.delete for update in self._index_updates):
            return replace(changed, status="UPDATING", changing=changing)
        # Everything else leaves the table as it was, most of all ACTIVE.
        return changed

    def _changing(self, changed: Table) -> Literal["throughput", "stream", "class"] | None:
        table = self.table
        if changed.billing != table.billing or changed.next_throughput != table.next_throughput:
            return "throughput"
        if changed.stream != table.stream:
            return "stream"
        return "class" if changed.table_class != table.table_class else None

    @property
    def _index_updates(self) -> list[requests.GlobalSecondaryIndexUpdate]:
        return self.request.global_secondary_index_updates or []

    def _with_throughput(self) -> Table:
        table, requested = self.table, self.request.provisioned_throughput
        if self.billing == table.billing:
            if requested is None:
                return table
            throughput, following = self._throughput_change(table.throughput, throughput_of(requested))
            return replace(table, throughput=throughput, next_throughput=following)
        if self.billing == "PAY_PER_REQUEST":
            throughput = replace(table.throughput, read_units=0, write_units=0)
            return replace(table, billing="PAY_PER_REQUEST", billing_changed=self.now, throughput=throughput)
        given = throughput_of(requested)
        throughput = replace(
            table.throughput,
            read_units=given.read_units,
            write_units=given.write_units,
        )
        return replace(table, billing="PROVISIONED", throughput=throughput)

    def _throughput_change(self, current: Throughput, wanted: Throughput) -> tuple[Throughput, Throughput]:
        """What is told while the change is under way, the old figures with new dates; and what comes after
        it."""
        rises = wanted.read_units > current.read_units or wanted.write_units > current.write_units
        falls = wanted.read_units < current.read_units or wanted.write_units < current.write_units
        told = replace(
            current,
            last_increase=self.now if rises else current.last_increase,
            last_decrease=self.now if falls else current.last_decrease,
            decreases_today=decreases_today(current, self.now),
        )
        after = replace(
            told,
            read_units=wanted.read_units,
            write_units=wanted.write_units,
            decreases_today=told.decreases_today + falls,
        )
        return told, after

    def _ceilings(
        self, current: dict[str, int] | None, requested: requests.OnDemandThroughput | None
    ) -> dict[str, int] | None:
        """Member by member over what is set; -1 removes one; leaving the on-demand mode removes both
        (measured)."""
        if self.billing == "PROVISIONED":
            return None
        merged = {**(current or {}), **(ceilings_of(requested) or {})}
        return {name: units for name, units in merged.items() if units != -1} or None

    def _warm(self, owner: Table | Index, requested: requests.WarmThroughput | None) -> dict[str, int] | None:
        """What a table can serve never falls (developer guide, "Warm throughput"): what it could before is
        kept where its mode or its throughput changes."""
        wanted = warm_of(requested)
        changes = self.billing != self.table.billing or self.request.provisioned_throughput is not None
        if wanted is None and not changes and isinstance(owner, Table):
            return owner.warm
        read, write = warm_units(self.table, owner)
        return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write, **(wanted or {})}

    def _indexes(self) -> list[Index]:
        updated = {u.update.index_name: u.update for u in self._index_updates if u.update}
        deleted = {u.delete.index_name for u in self._index_updates if u.delete}
        indexes = []
        for index in self.table.indexes:
            if not index.is_global:
                indexes.append(index)
                continue
            changed = self._index(index, updated.get(index.name))
            indexes.append(replace(changed, status="DELETING") if index.name in deleted else changed)
        for update in self._index_updates:
            if update.create is not None:
                definitions = self.request.attribute_definitions or []
                types = {d.attribute_name: d.attribute_type for d in definitions}
                # A type that the table has for the attribute stands, whatever the request says (measured).
                types.update(self.table.attribute_types)
                indexes.append(global_index(update.create, self.table.next_index_id, types))
        return indexes

    def _index(self, index: Index, action: requests.UpdateGlobalSecondaryIndexAction | None) -> Index:
        changed = index
        if self.billing != self.table.billing:
            changed = replace(changed, warm=self._warm(index, None))
            if self.billing == "PAY_PER_REQUEST":
                throughput = replace(index.throughput, read_units=0, write_units=0)
                changed = replace(changed, throughput=throughput)
            else:
                changed = replace(changed, on_demand=None)
        if action is not None:
            changed = self._updated_index(changed, action)
        only_warmed = changed == replace(index, warm=changed.warm)
        if index.status == "ACTIVE" and not only_warmed:
            changed = replace(changed, status="UPDATING")
        return changed

    def _updated_index(self, index: Index, action: requests.UpdateGlobalSecondaryIndexAction) -> Index:
        changed = replace(
            index,
            on_demand=self._ceilings(index.on_demand, action.on_demand_throughput),
            warm=self._warm(index, action.warm_throughput),
        )
        if action.provisioned_throughput is None:
            return changed
        if self.billing != self.table.billing:
            given = action.provisioned_throughput
            units = replace(
                index.throughput, read_units=given.read_capacity_units, write_units=given.write_capacity_units
            )
            return replace(changed, throughput=units)
        throughput, following = self._throughput_change(index.throughput, throughput_of(action.provisioned_throughput))
        return replace(changed, throughput=throughput, next_throughput=following)

    def _with_settings(self, table: Table) -> Table:
        request = self.request
        if request.deletion_protection_enabled is not None:
            table = replace(table, deletion_protection=request.deletion_protection_enabled)
        if request.table_class is not None and request.table_class != (table.table_class or "STANDARD"):
            table = replace(table, table_class=request.table_class, table_class_changed=self.now)
        if request.sse_specification is not None:
            table = replace(table, sse=sse_description(self.ctx.catalog, request.sse_specification))
        stream = request.stream_specification
        if stream is not None and stream.stream_enabled:
            table = replace(table, stream=msgspec.to_builtins(stream))
        elif stream is not None:
            table = replace(table, stream=None)
        return table

    def _attribute_types(self, table: Table) -> dict[str, Literal["S", "N", "B"]]:
        """Exactly the attributes that are keys: an index that goes takes its own along, a definition in the
        request that no key uses is passed over (measured)."""
        used = {key.name: key.type for key in table.keys}
        for index in table.indexes:
            if index.status != "DELETING":
                used.update((key.name, key.type) for key in index.keys)
        kept = {name: type_ for name, type_ in self.table.attribute_types.items() if name in used}
        return {**kept, **{name: type_ for name, type_ in used.items() if name not in kept}}


def _told_ceilings(request: requests.UpdateTableRequest, table: Table, updated: Table) -> dict[str, int] | None:
    """The answer tells a ceiling that is being removed as -1 (measured)."""
    requested = ceilings_of(request.on_demand_throughput)
    if requested is None or updated.billing == "PROVISIONED":
        return updated.on_demand
    return {**(table.on_demand or {}), **requested}

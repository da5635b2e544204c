"""TransactWriteItems and TransactGetItems.

The order of checks, as far as others have measured it on the service in 2026: the request's shape; each member's
action, values, expressions and, of a Put, the item's size; the tables; empty key attributes. All these refuse the
request. Then the members' keys against their tables, where the first fault cancels the transaction with a reason; then
items that are named twice, which refuse the request again; then the token. Only then is it looked at what is there, and
every member that cannot be is among the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from torusdb.api import requests
from torusdb.errors import EmptyKeyValue, ServiceError, ValidationException
from torusdb.expressions import Condition, Projection
from torusdb.model.schema import Table
from torusdb.model.values import TOO_DEEP, normalise_item
from torusdb.operations import parameters, write_step
from torusdb.operations.answers import EMPTY, answer
from torusdb.operations.context import Context
from torusdb.operations.get_item import check_projection, item_json
from torusdb.operations.key_checks import check_key
from torusdb.operations.tokens import token_of
from torusdb.operations.transaction_step import land, read_together, require_none
from torusdb.operations.write_step import Requirement, Write, requiring
from torusdb.operations.writes import check_size, metrics_by_table
from torusdb.storage.commands import Operation


class Draft(msgspec.Struct, frozen=True):
    """A member that the request alone has nothing against."""

    table_name: str
    admit: Callable[[Table], Write]
    """Checks what takes the table."""


def transact_write_items(ctx: Context, request: requests.TransactWriteItemsRequest) -> Operation:
    _check_actions(request.transact_items)
    drafts = [_draft(member) for member in request.transact_items]
    writes = admitted(ctx, drafts)
    token = token_of("TransactWriteItems", request.client_request_token, request.transact_items)
    landed = yield from land(ctx, writes, token)
    metrics = None
    if request.return_item_collection_metrics == "SIZE":
        metrics = yield from metrics_by_table(write for write in writes if write.after is not None)
    return answer(ConsumedCapacity=landed.consumed(request.return_consumed_capacity), ItemCollectionMetrics=metrics)


def _check_actions(members: Sequence[requests.TransactWriteItem]) -> None:
    for member in members:
        actions = (member.condition_check, member.put, member.delete, member.update)
        if actions.count(None) != len(actions) - 1:
            # Measured for several actions in one member; assumed for none.
            raise ValidationException("TransactItems can only contain one of Check, Put, Update or Delete")


def _draft(member: requests.TransactWriteItem) -> Draft:
    if member.put is not None:
        return _draft_put(member.put)
    if member.update is not None:
        return _draft_update(member.update)
    if member.delete is not None:
        return _draft_delete(member.delete)
    assert member.condition_check is not None
    return _draft_check(member.condition_check)


def _draft_put(member: requests.Put) -> Draft:
    size = normalise_item(member.item)
    require = _required(member, parameters.of_transact_write(member))
    check_size(size)
    name = member.table_name
    return Draft(name, lambda table: write_step.put(table, name, member.item, size, require))


def _draft_update(member: requests.Update) -> Draft:
    normalise_item(member.key)
    name = member.table_name
    try:
        change, condition = parameters.of_transact_update(member)
    except ValidationException as fault:
        if fault.message != TOO_DEEP:
            raise
        return Draft(name, _refusing(fault))
    require = _required(member, condition)
    return Draft(name, lambda table: write_step.update(table, name, member.key, change, require))


def _refusing(fault: ValidationException) -> Callable[[Table], Write]:
    """A value that nests too deep for an update cancels the transaction, where it refuses an UpdateItem (seen by others
    on the service in 2026)."""

    def admit(table: Table) -> Write:
        raise fault

    return admit


def _draft_delete(member: requests.Delete) -> Draft:
    normalise_item(member.key)
    require = _required(member, parameters.of_transact_write(member))
    return Draft(member.table_name, lambda table: write_step.delete(table, member.table_name, member.key, require))


def _draft_check(member: requests.ConditionCheck) -> Draft:
    normalise_item(member.key)
    require = _required(member, parameters.of_transact_write(member))
    return Draft(member.table_name, lambda table: write_step.check(table, member.table_name, member.key, require))


def _required(member: parameters.TransactWrite, condition: Condition | None) -> Requirement | None:
    return None if condition is None else requiring(condition, member.return_values_on_condition_check_failure)


def admitted(ctx: Context, drafts: Sequence[Draft]) -> list[Write]:
    tables = [ctx.catalog.active_table(draft.table_name) for draft in drafts]
    writes: list[Write] = []
    faults: list[ServiceError | None] = []
    for draft, table in zip(drafts, tables, strict=True):
        try:
            writes.append(draft.admit(table))
            faults.append(None)
        except EmptyKeyValue:
            raise
        except ValidationException as fault:
            faults.append(fault)
    require_no_first(faults)
    return writes


def require_no_first(faults: list[ServiceError | None]) -> None:
    """Of faults in members' keys only the first is told; the other members have None in the reasons (measured)."""
    first = next((number for number, fault in enumerate(faults) if fault is not None), None)
    require_none([fault if number == first else None for number, fault in enumerate(faults)])


def transact_get_items(ctx: Context, request: requests.TransactGetItemsRequest) -> Operation:
    gets = [member.get for member in request.transact_items]
    projections = [parameters.of_transact_get(get) for get in gets]
    tables = [ctx.catalog.active_table(get.table_name) for get in gets]
    keys = _keys_to_read(gets, tables, projections)
    targets = [(get.table_name, table, key) for get, table, key in zip(gets, tables, keys, strict=True)]
    records, consumed = yield from read_together(targets, request.return_consumed_capacity)
    return answer(
        Responses=[_response(record, projection) for record, projection in zip(records, projections, strict=True)],
        ConsumedCapacity=consumed,
    )


def _keys_to_read(
    gets: Sequence[requests.Get], tables: Sequence[Table], projections: Sequence[Projection | None]
) -> list[bytes]:
    """Unlike those of a write, even empty key attributes cancel a read (seen by others on the service in 2026)."""
    keys: list[bytes] = []
    faults: list[ServiceError | None] = []
    for get, table, projection in zip(gets, tables, projections, strict=True):
        try:
            check_key(table, get.key)
            check_projection(table, projection)
            keys.append(table.key_of(get.key))
            faults.append(None)
        except ValidationException as fault:
            faults.append(fault)
    require_no_first(faults)
    return keys


def _response(record: bytes | None, projection: Projection | None) -> dict[str, msgspec.Raw]:
    """Without `Item` where there is no item, or nothing of it that was asked for (measured)."""
    json = EMPTY if record is None else item_json(record, projection)
    return {} if json == EMPTY else {"Item": msgspec.Raw(json)}

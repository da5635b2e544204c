"""INSERT, UPDATE and DELETE: from a statement to the write of one item.

What differs from PutItem, UpdateItem and DeleteItem: an INSERT never overwrites, an UPDATE never makes an item, and a
DELETE of what isn't there succeeds whatever else its clause demands (developer guide, "PartiQL insert statements" and
its neighbours). Words without a remark are the service's as seen by others in 2026.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from torusdb.errors import ConditionalCheckFailedException, DuplicateItemException, ValidationException
from torusdb.expressions import Condition, require_scalar_keys
from torusdb.expressions import Update as Change
from torusdb.model.attributes import Item
from torusdb.model.records import record_item_json
from torusdb.model.schema import Table
from torusdb.model.values import ITEM_BYTES_MAX, normalise_item
from torusdb.operations.context import Context
from torusdb.operations.key_checks import (
    check_index_key_types,
    check_item_keys,
    check_key,
    check_updated_index_keys,
)
from torusdb.operations.write_step import After, Before, Decided, Write
from torusdb.operations.writes import check_size
from torusdb.partiql import Command, Delete, Insert, Update, Values, Where, equalities

Writing: TypeAlias = Insert | Update | Delete

ALL_OLD = "ALL_OLD"


def compile_write(ctx: Context, command: Writing, values: Values, on_failure: str | None = None) -> Write:
    """`on_failure` is ReturnValuesOnConditionCheckFailure."""
    if command.target.index is not None:
        raise ValidationException("This operation is not supported on an index")
    match command:
        case Insert():
            return _insert(ctx, command, values)
        case Update():
            return _update(ctx, command, values, on_failure)
        case Delete():
            return _delete(ctx, command, values, on_failure)


def returned(command: Command, values: Values, decided: Decided) -> Item | None:
    """What RETURNING asks for. None where there is nothing to show."""
    returning = command.returning if isinstance(command, Update | Delete) else None
    if returning is None:
        return None
    item = decided.before.item if returning.age == "OLD" else decided.after.item
    if item is None or returning.what == "ALL":
        return item
    assert isinstance(command, Update)
    return command.change(values).touched.apply(item) or None


def _insert(ctx: Context, command: Insert, values: Values) -> Write:
    item: Item = {name: values[placeholder] for name, placeholder in command.members}
    size = normalise_item(item)
    check_size(size)
    table = ctx.catalog.active_table(command.target.table)
    check_item_keys(table, item)

    def require(before: Before) -> None:
        if before.record is not None:
            raise DuplicateItemException("Duplicate primary key exists in table")

    after = After(item, size)
    key_item = table.key_item(item)
    return Write(table, command.target.table, table.key_of(item), key_item, require, lambda before: after, size)


def _update(ctx: Context, command: Update, values: Values, on_failure: str | None) -> Write:
    change, condition = command.change(values), _condition(command.where, values)
    table = ctx.catalog.active_table(command.target.table)
    key, rest = _key(table, command.where, values)
    change.require_no_keys([attribute.name for attribute in table.keys])
    check_index_key_types(table, change.known_types())
    require_scalar_keys(change.nested_attributes, [each.name for each in table.keys], table.index_key_names)

    def require(before: Before) -> None:
        if before.item is None or (rest and condition is not None and not condition.matches(before.item)):
            raise _failed(before, on_failure)

    def after(before: Before) -> After:
        assert before.item is not None
        return _changed(table, change, before.item)

    return Write(table, command.target.table, table.key_of(key), key, require, after)


def _changed(table: Table, change: Change, old: Item) -> After:
    """UpdateItem counts the update's own overhead towards the limit, a statement does not."""
    new = change.apply(old)
    size = normalise_item(new)
    if table.indexes:
        check_updated_index_keys(table, old, new)
    if size > ITEM_BYTES_MAX:
        raise ValidationException("Item size to update has exceeded the maximum allowed size")
    return After(new, size)


def _delete(ctx: Context, command: Delete, values: Values, on_failure: str | None) -> Write:
    condition = _condition(command.where, values)
    table = ctx.catalog.active_table(command.target.table)
    key, rest = _key(table, command.where, values)

    def require(before: Before) -> None:
        if before.item is not None and rest and condition is not None and not condition.matches(before.item):
            raise _failed(before, on_failure)

    return Write(table, command.target.table, table.key_of(key), key, require, lambda before: After(None))


def _condition(where: Where | None, values: Values) -> Condition | None:
    return None if where is None else where.condition(values)


def _key(table: Table, where: Where | None, values: Values) -> tuple[Item, bool]:
    """The key of the one item that the clause names, and whether it demands more of it."""
    tests, rest = equalities(None if where is None else where.root, values, table.key_names)
    key: Item = {}
    for test in tests:
        value = test.comparison.operands[0]
        if key.setdefault(test.attribute, value) != value:
            raise ValidationException(
                f"Multiple conditions on same key {test.attribute}. Only single item Update/Insert/Delete are supported"
            )
    if len(key) < len(table.keys):
        raise ValidationException("Where clause does not contain a mandatory equality on all key attributes")
    check_key(table, key)
    return key, rest


def _failed(before: Before, on_failure: str | None) -> ConditionalCheckFailedException:
    message = "The conditional request failed"
    if on_failure == ALL_OLD and before.record is not None:
        return ConditionalCheckFailedException(message, Item=msgspec.Raw(record_item_json(before.record)))
    return ConditionalCheckFailedException(message)

"""INSERT, UPDATE, DELETE and EXISTS: from a statement to the write, or the check, of one item.

What differs from PutItem, UpdateItem and DeleteItem: an INSERT never overwrites, an UPDATE never makes an item, and a
DELETE of what isn't there succeeds whatever else its clause demands (developer guide, "PartiQL insert statements" and
its neighbours). Words without a remark are the service's as seen by others in 2026.
"""

from __future__ import annotations

from typing import TypeAlias

from torusdb.errors import DuplicateItemException, ValidationException
from torusdb.expressions import Condition
from torusdb.model.attributes import Item
from torusdb.model.schema import Table
from torusdb.model.values import normalise_item
from torusdb.operations import write_step
from torusdb.operations.context import Context
from torusdb.operations.transactions import Draft
from torusdb.operations.write_step import Before, Decided, Requirement, Write, condition_failed
from torusdb.operations.writes import check_size
from torusdb.partiql import Command, Delete, Exists, Insert, Select, Update, Values, Where, equalities

Writing: TypeAlias = Insert | Update | Delete | Exists
"""A statement that a transaction of writes may hold."""


def compile_write(ctx: Context, command: Writing, values: Values, on_failure: str | None = None) -> Write:
    """`on_failure` is ReturnValuesOnConditionCheckFailure."""
    if isinstance(command, Exists):
        raise ValidationException("EXISTS can only be used in ExecuteTransaction write requests.")
    draft = draft_write(command, values, on_failure)
    return draft.admit(ctx.catalog.active_table(draft.table_name))


def draft_write(command: Writing, values: Values, on_failure: str | None) -> Draft:
    """The write, as far as the statement alone tells of it."""
    if command.target.index is not None:
        if isinstance(command, Exists):
            raise ValidationException("Reads on indices are not supported within transactions.")
        raise ValidationException("This operation is not supported on an index")
    match command:
        case Insert():
            return _draft_insert(command, values)
        case Update():
            return _draft_update(command, values, on_failure)
        case Delete():
            return _draft_delete(command, values, on_failure)
        case Exists():
            return _draft_check(command, values, on_failure)


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


def _draft_insert(command: Insert, values: Values) -> Draft:
    item: Item = {name: values[placeholder] for name, placeholder in command.members}
    size = normalise_item(item)
    check_size(size)
    name = command.target.table
    return Draft(name, lambda table: write_step.put(table, name, item, size, _require_absent))


def _require_absent(before: Before) -> None:
    if before.record is not None:
        raise DuplicateItemException("Duplicate primary key exists in table")


def _draft_update(command: Update, values: Values, on_failure: str | None) -> Draft:
    change, condition = command.change(values), _condition(command.where, values)

    def admit(table: Table) -> Write:
        key, rest = clause_key(table, command.where, values)
        require = _requiring_item(condition if rest else None, on_failure)
        return write_step.update(table, command.target.table, key, change, require)

    return Draft(command.target.table, admit)


def _draft_delete(command: Delete, values: Values, on_failure: str | None) -> Draft:
    condition = _condition(command.where, values)

    def admit(table: Table) -> Write:
        key, rest = clause_key(table, command.where, values)

        def require(before: Before) -> None:
            if rest and condition is not None and before.item is not None and not condition.matches(before.item):
                raise condition_failed(before, on_failure)

        return write_step.delete(table, command.target.table, key, require)

    return Draft(command.target.table, admit)


def _draft_check(command: Exists, values: Values, on_failure: str | None) -> Draft:
    """An item that isn't there fails the check, whatever the clause says of what it lacks: EXISTS is true of a
    collection that isn't empty (developer guide, "EXISTS"). The guide asks for a condition besides the key, and gives
    an example without: to be there is condition enough."""
    where = command.select.where
    condition = _condition(where, values)

    def admit(table: Table) -> Write:
        key, rest = clause_key(table, where, values)
        return write_step.check(
            table, command.target.table, key, _requiring_item(condition if rest else None, on_failure)
        )

    return Draft(command.target.table, admit)


def _condition(where: Where | None, values: Values) -> Condition | None:
    return None if where is None else where.condition(values)


def _requiring_item(condition: Condition | None, on_failure: str | None) -> Requirement:
    """There has to be an item, and what the clause demands besides the key has to hold of it."""

    def require(before: Before) -> None:
        if before.item is None or (condition is not None and not condition.matches(before.item)):
            raise condition_failed(before, on_failure)

    return require


def check_clause(table: Table, command: Command, values: Values) -> None:
    """Refuses a statement whose clause names no single item, whatever the item."""
    match command:
        case Update(where=where) | Delete(where=where) | Exists(Select(where=where)):
            clause_key(table, where, values)


def clause_key(table: Table, where: Where | None, values: Values) -> tuple[Item, bool]:
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
    return key, rest

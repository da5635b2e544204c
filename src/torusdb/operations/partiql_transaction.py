"""ExecuteTransaction: up to 100 statements that are carried out together, all reads or all writes.

Writes are TransactWriteItems in other words, with EXISTS for a check, and land by the same core (`transaction_step`);
reads are TransactGetItems. What a statement is refused for by itself refuses the transaction, and says which statement
it was; what is wrong with a key's value cancels it, as it does TransactWriteItems. (Seen of the service by others in
2026: the refusals of RETURNING and of indexes, with what stands before them, and those of mixed transactions and of
items named twice. That other refusals of a statement begin likewise is assumed.)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import msgspec

from torusdb.api import requests
from torusdb.errors import ValidationException
from torusdb.operations.answers import answer
from torusdb.operations.context import Context
from torusdb.operations.partiql_reads import Reads, compile_select
from torusdb.operations.partiql_writes import check_clause, draft_write
from torusdb.operations.tokens import token_of
from torusdb.operations.transaction_step import land, read_together
from torusdb.operations.transactions import Draft, admitted
from torusdb.partiql import Delete, Exists, Insert, Select, Statement, Update, Values, parse
from torusdb.storage.commands import Command, Operation

Made = TypeVar("Made")


class Member(msgspec.Struct, frozen=True):
    """A statement of the transaction that the request alone has nothing against."""

    statement: Statement
    values: Values
    draft: Draft | None
    """None for a read."""

    @property
    def table_name(self) -> str:
        return self.statement.command.target.table


def execute_transaction(ctx: Context, request: requests.ExecuteTransactionRequest) -> Operation:
    members = _each(request.transact_statements, _member)
    if len({member.statement.is_read for member in members}) > 1:
        raise ValidationException(
            "ExecuteTransaction API does not support both read and write operations in the same request."
        )
    if members[0].statement.is_read:
        return (yield from _read(ctx, request, members))
    return (yield from _write(ctx, request, members))


def _each(given: Sequence[Any], make: Callable[[Any], Made]) -> list[Made]:
    """Made of each statement; a refusal says of which."""
    made: list[Made] = []
    for number, one in enumerate(given):
        try:
            made.append(make(one))
        except ValidationException as fault:
            raise ValidationException(f"Validation failed in TransactStatements[{number}]: {fault.message}") from None
    return made


def _member(request: requests.ParameterizedStatement) -> Member:
    statement = parse(request.statement)
    values = statement.bind(request.parameters or ())
    match statement.command:
        case Select(target):
            if target.index is not None:
                raise ValidationException("Reads on indices are not supported within transactions.")
            return Member(statement, values, None)
        case Update(returning=returning) | Delete(returning=returning) if returning is not None:
            raise ValidationException("RETURNING clause is not supported in ExecuteTransaction.")
        case Insert() | Update() | Delete() | Exists() as command:
            return Member(
                statement, values, draft_write(command, values, request.return_values_on_condition_check_failure)
            )


# Writes.


def _write(
    ctx: Context, request: requests.ExecuteTransactionRequest, members: Sequence[Member]
) -> Generator[Command, Any, bytes]:
    tables = [ctx.catalog.active_table(member.table_name) for member in members]
    _each(
        list(zip(tables, members, strict=True)),
        lambda one: check_clause(one[0], one[1].statement.command, one[1].values),
    )
    writes = admitted(ctx, [member.draft for member in members if member.draft is not None])
    token = token_of("ExecuteTransaction", request.client_request_token, request.transact_statements)
    landed = yield from land(ctx, writes, token)
    return answer(
        Responses=[{} for _ in members],
        ConsumedCapacity=landed.consumed(request.return_consumed_capacity),
    )


# Reads.


def _read(
    ctx: Context, request: requests.ExecuteTransactionRequest, members: Sequence[Member]
) -> Generator[Command, Any, bytes]:
    found = _each(members, lambda member: _item_read(ctx, member))
    targets = [(reads.table_name, reads.table, key) for reads, key in found]
    records, consumed = yield from read_together(targets, request.return_consumed_capacity)
    items = [reads.shown(record) for (reads, _), record in zip(found, records, strict=True)]
    return answer(
        Responses=[{} if item is None else {"Item": item} for item in items],
        ConsumedCapacity=consumed,
    )


def _item_read(ctx: Context, member: Member) -> tuple[Reads, bytes]:
    assert isinstance(member.statement.command, Select)
    reads = compile_select(ctx, member.statement.command, member.values, consistent=True)
    if reads.key is None:
        # The words of BatchExecuteStatement, of which the service is known.
        raise ValidationException(
            "Select statements within ExecuteTransaction must specify the primary key in the where clause."
        )
    return reads, reads.key

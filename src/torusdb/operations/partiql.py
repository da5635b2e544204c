"""ExecuteStatement: one statement, read or written as Query, Scan and the writes of items are."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from torusdb.api import requests
from torusdb.errors import ValidationException
from torusdb.model.attributes import AttributeValue, encode_item
from torusdb.operations.answers import answer, items_json
from torusdb.operations.context import Context
from torusdb.operations.next_token import digest_of, position_of, token_of
from torusdb.operations.partiql_reads import Position, compile_select, read_page
from torusdb.operations.partiql_writes import Writing, compile_write, returned
from torusdb.operations.write_step import decide
from torusdb.operations.writes import commit, consumed_by
from torusdb.partiql import Select, Values, parse
from torusdb.storage.commands import Command, Get, Operation


def execute_statement(ctx: Context, request: requests.ExecuteStatementRequest) -> Operation:
    statement = parse(request.statement)
    parameters: Sequence[AttributeValue] = request.parameters or ()
    values = statement.bind(parameters)
    match statement.command:
        case Select() as select:
            return (yield from _select(ctx, request, select, values, parameters))
        case command:
            return (yield from _write(ctx, request, command, values))


def _select(
    ctx: Context,
    request: requests.ExecuteStatementRequest,
    select: Select,
    values: Values,
    parameters: Sequence[AttributeValue],
) -> Generator[Command, Any, bytes]:
    reads = compile_select(ctx, select, values, request.consistent_read)
    digest = digest_of(request.statement, parameters)
    position = Position() if request.next_token is None else position_of(request.next_token, digest, reads)
    asked = request.return_consumed_capacity
    page = yield from read_page(reads, position, request.limit, weigh=asked in ("TOTAL", "INDEXES"))
    return answer(
        Items=items_json(page.items),
        NextToken=None if page.next is None else token_of(page.next, digest),
        LastEvaluatedKey=page.last_key,
        ConsumedCapacity=page.consumed.report(asked, reads.table_name),
    )


def _write(
    ctx: Context, request: requests.ExecuteStatementRequest, command: Writing, values: Values
) -> Generator[Command, Any, bytes]:
    if request.next_token is not None:
        raise ValidationException("Invalid NextToken")  # our words
    write = compile_write(ctx, command, values, request.return_values_on_condition_check_failure)
    record: bytes | None = (yield Get([write.key], guard=True))[0]
    decided = decide(write, record, ctx.stamp_ms())
    yield from commit(write.table, decided.change)
    item = returned(command, values, decided)
    consumed = consumed_by(write.table, [decided.change])
    return answer(
        Items=items_json([] if item is None else [encode_item(item)]),
        ConsumedCapacity=consumed.report(request.return_consumed_capacity, write.table_name),
    )

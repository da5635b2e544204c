"""BatchExecuteStatement: up to 25 statements, all reads or all writes of one item each.

Each statement succeeds or fails for itself; those that succeed land together. The rules and words are the service's as
seen by others in 2026, capacity included.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

import msgspec

from torusdb.api import requests
from torusdb.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    ItemCollectionSizeLimitExceededException,
    ResourceNotFoundException,
    ServiceError,
    ValidationException,
)
from torusdb.model.attributes import encode_item
from torusdb.model.records import record_size
from torusdb.operations.answers import answer
from torusdb.operations.capacity import Consumed, read_units, table_write_units
from torusdb.operations.context import Context
from torusdb.operations.partiql_reads import Reads, compile_select
from torusdb.operations.partiql_writes import compile_write, returned
from torusdb.operations.write_step import Decided, Write, decide
from torusdb.operations.writes import commit_all, consumed_by, outgrowing
from torusdb.partiql import Select, Statement, Values, parse
from torusdb.storage.commands import Command, Get, Operation

CODES: Final[dict[type[ServiceError], str]] = {
    ConditionalCheckFailedException: "ConditionalCheckFailed",
    DuplicateItemException: "DuplicateItem",
    ItemCollectionSizeLimitExceededException: "ItemCollectionSizeLimitExceeded",
    ResourceNotFoundException: "ResourceNotFound",
}
"""What an error is called in a batch (service model, BatchStatementErrorCodeEnum)."""

VALIDATION_ERROR: Final = "ValidationError"


class Read(msgspec.Struct):
    """A SELECT of one item."""

    reads: Reads
    key: bytes


class Member(msgspec.Struct):
    """A statement of the batch, on its way to its response."""

    statement: Statement | None = None
    """None where it cannot be parsed."""
    values: Values = {}
    job: Read | Write | None = None
    consistent: bool = False
    error: ServiceError | None = None
    item: msgspec.Raw | None = None
    decided: Decided | None = None
    units: float = 0.0
    """What a read cost, or a write that its condition has kept from being made."""

    @property
    def table_name(self) -> str | None:
        return None if self.statement is None else self.statement.command.target.table

    def response(self) -> dict[str, Any]:
        """A statement that failed says of which table, unless it was refused before it ran. The item that made a
        condition fail is not told, whatever ReturnValuesOnConditionCheckFailure asks for."""
        if self.error is None:
            return _present(TableName=self.table_name, Item=self.item)
        code = CODES.get(type(self.error), VALIDATION_ERROR)
        table_name = None if code == VALIDATION_ERROR else self.table_name
        return _present(Error={"Code": code, "Message": self.error.message}, TableName=table_name)


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def batch_execute_statement(ctx: Context, request: requests.BatchExecuteStatementRequest) -> Operation:
    members = [_parsed(one) for one in request.statements]
    are_reads = {member.statement.is_read for member in members if member.statement is not None}
    if len(are_reads) > 1:
        raise ValidationException("Read and write requests together in the same batch is not supported.")
    for member in members:
        if member.error is None:
            _compile(ctx, member)
    jobs = [member for member in members if member.job is not None]
    _require_distinct(jobs)
    yield from (_read_all(jobs) if True in are_reads else _write_all(ctx, jobs))
    return answer(
        Responses=[member.response() for member in members],
        ConsumedCapacity=_consumed(jobs, request.return_consumed_capacity),
    )


def _parsed(request: requests.BatchStatementRequest) -> Member:
    member = Member(consistent=bool(request.consistent_read))
    try:
        statement = parse(request.statement)
        member.values = statement.bind(request.parameters or ())
        member.statement = statement
    except ValidationException as error:
        member.error = error
    return member


def _compile(ctx: Context, member: Member) -> None:
    assert member.statement is not None
    command = member.statement.command
    try:
        if isinstance(command, Select):
            member.job = _read_of(compile_select(ctx, command, member.values, member.consistent))
        else:
            member.job = compile_write(ctx, command, member.values)
    except ServiceError as error:
        member.error = error


def _read_of(reads: Reads) -> Read:
    key = reads.key
    if key is None:
        raise ValidationException(
            "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
        )
    return Read(reads, key)


def _require_distinct(jobs: list[Member]) -> None:
    """Reads included."""
    targets = {member.job.key for member in jobs if member.job is not None}
    if len(targets) < len(jobs):
        raise ValidationException("Provided list of item keys contains duplicates")


def _read_all(jobs: list[Member]) -> Generator[Command, Any, None]:
    reads = [member.job for member in jobs if isinstance(member.job, Read)]
    if not reads:
        return
    records: list[bytes | None] = yield Get([read.key for read in reads])
    for member, read, record in zip(jobs, reads, records, strict=True):
        member.units = read_units(0 if record is None else record_size(record), member.consistent)
        member.item = read.reads.shown(record)


def _write_all(ctx: Context, jobs: list[Member]) -> Generator[Command, Any, None]:
    writes = [member.job for member in jobs if isinstance(member.job, Write)]
    if not writes:
        return
    records: list[bytes | None] = yield Get([write.key for write in writes], guard=True)
    stamp_ms = ctx.stamp_ms()
    for member, write, record in zip(jobs, writes, records, strict=True):
        try:
            member.decided = decide(write, record, stamp_ms)
        except ServiceError as error:
            member.error = error
            old_size = None if record is None else record_size(record)
            member.units = table_write_units(old_size, write.size)
    yield from _fail_outgrowing(jobs)
    decided = [member.decided for member in jobs if member.decided is not None]
    yield from commit_all([one.change for one in decided if one.change is not None])
    for member in jobs:
        if member.decided is not None and member.statement is not None:
            item = returned(member.statement.command, member.values, member.decided)
            member.item = None if item is None else msgspec.Raw(encode_item(item))


def _fail_outgrowing(jobs: list[Member]) -> Generator[Command, Any, None]:
    """Statements that would let an item collection outgrow its limit fail for themselves, not for the batch."""
    changes = [member.decided.change for member in jobs if member.decided is not None]
    outgrown = yield from outgrowing([one for one in changes if one is not None])
    for member in jobs:
        if member.decided is not None and any(member.decided.change is one for one in outgrown):
            member.error = ItemCollectionSizeLimitExceededException("Item collection size limit exceeded.")
            member.units = table_write_units(member.decided.larger_size, None)
            member.decided = None


def _consumed(jobs: list[Member], asked: str | None) -> list[dict[str, Any]] | None:
    """One entry a table. What failed counts for the table's total, and for nothing that the total is made of; a table
    on which everything failed is left out."""
    if asked not in ("TOTAL", "INDEXES"):
        return None
    by_table: dict[str, list[Member]] = {}
    for member in jobs:
        assert member.table_name is not None
        by_table.setdefault(member.table_name, []).append(member)
    entries = []
    for name, members in by_table.items():
        done = [member for member in members if member.error is None]
        if done:
            entry = _consumed_by(done).report(asked, name)
            assert entry is not None
            entry["CapacityUnits"] += sum(member.units for member in members if member.error is not None)
            entries.append(entry)
    return entries or None


def _consumed_by(members: list[Member]) -> Consumed:
    decided = [member.decided for member in members if member.decided is not None]
    if decided:
        return consumed_by(decided[0].write.table, [one.change for one in decided])
    job = members[0].job
    assert isinstance(job, Read)
    consumed = Consumed(job.reads.table)
    consumed.add(sum(member.units for member in members))
    return consumed

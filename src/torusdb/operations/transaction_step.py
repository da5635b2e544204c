"""Writes and checks that land together or not at all: the core of TransactWriteItems, bound to no request.

A transaction reads all it touches with one guarded `Get`, decides each member on what was there before, and lands all
changes, with its token's record, as one `Commit`. What an engine guarantees for any operation makes it serializable:
what was read still holds when the commit lands, and a reader sees a commit whole or not.

Conflicts. The service cancels a transaction that meets another one on an item (TransactionConflict), refuses single
writes that do (TransactionConflictException), and tells a repetition that its first attempt is still under way
(TransactionInProgressException). Here operations run one after another up to their commit, so two of them never meet:
the second finds what the first has left, and a repetition finds its token, staged or durable, and waits with its answer
until it is durable. Hence none of the three is ever raised.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Final

import msgspec

from torusdb.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    EmptyKeyValue,
    ItemCollectionSizeLimitExceededException,
    ServiceError,
    TransactionCanceledException,
    ValidationException,
)
from torusdb.model.records import record_size
from torusdb.model.schema import Table
from torusdb.operations.capacity import TRANSACTION_FACTOR, Consumed, read_units, reports, write_units
from torusdb.operations.context import Context
from torusdb.operations.tokens import Lookup, Token
from torusdb.operations.write_step import Decided, Write, decide
from torusdb.operations.writes import commit_all, outgrowing
from torusdb.storage.commands import Command, Get

TRANSACTION_BYTES_MAX: Final = 4 * 1024 * 1024
"""All items of a transaction together (API reference), each as large as it is charged for: that what is there counts as
well as what comes is what ExtendDB's authors say of the service."""

CODES: Final[dict[type[ServiceError], str]] = {
    ConditionalCheckFailedException: "ConditionalCheckFailed",
    DuplicateItemException: "DuplicateItem",
    ItemCollectionSizeLimitExceededException: "ItemCollectionSizeLimitExceeded",
    ValidationException: "ValidationError",
}
"""What an error is called among the reasons (API reference, TransactionCanceledException)."""


class Landed(msgspec.Struct, frozen=True):
    """A transaction that has landed, now or when it was first asked for."""

    writes: Sequence[Write]
    decided: Sequence[Decided]
    """Empty for a repetition."""
    repeated_units: dict[str, float] | None
    """What a repetition costs, by the table's name; None for the first time."""

    def consumed(self, asked: str | None) -> list[dict[str, Any]] | None:
        """The ConsumedCapacity member: one entry a table, in the order of the members (API reference). A repetition
        is charged as a read of the same items (measured)."""
        by_table = {write.table_name: Consumed(write.table) for write in self.writes}
        if self.repeated_units is not None:
            for name, units in self.repeated_units.items():
                by_table[name].add(units)
            return reports(by_table.items(), asked, "ReadCapacityUnits")
        for one in self.decided:
            units = TRANSACTION_FACTOR * write_units(one.larger_size)
            by_table[one.write.table_name].add(units, one.change.index_units if one.change is not None else None)
        return reports(by_table.items(), asked, "WriteCapacityUnits")


def land(ctx: Context, writes: Sequence[Write], token: Token | None) -> Generator[Command, Any, Landed]:
    """Lands writes and checks as one, unless `token` says that this was done before. Refused as a whole where members
    share an item, cancelled where one of them cannot be."""
    require_distinct(write.key for write in writes)
    lookup = None if token is None else Lookup(ctx, token)
    wanted = [write.key for write in writes]
    records: list[bytes | None] = yield Get(wanted if lookup is None else wanted + lookup.keys, guard=True)
    if lookup is not None:
        used = lookup.take(records[len(writes) :])
        if used is not None:
            return Landed(writes, [], used.read_units)
    decided = yield from _decide(writes, records[: len(writes)], ctx.stamp_ms())
    require_size(one.larger_size for one in decided)
    changes = [one.change for one in decided if one.change is not None]
    yield from commit_all(changes, [] if lookup is None else lookup.records(_repetition_units(decided)))
    if lookup is not None and lookup.opens_period:
        ctx.wake_jobs()
    return Landed(writes, decided, None)


def read_together(
    targets: Sequence[tuple[str, Table, bytes]], asked: str | None
) -> Generator[Command, Any, tuple[list[bytes | None], list[dict[str, Any]] | None]]:
    """Reads items as one, each given by its table's name, its table and its key. Gives their records, and the
    ConsumedCapacity member."""
    keys = [key for _, _, key in targets]
    require_distinct(keys)
    records: list[bytes | None] = yield Get(keys)
    sizes = [0 if record is None else record_size(record) for record in records]
    require_size(sizes)
    consumed = {name: Consumed(table) for name, table, _ in targets}
    for (name, _, _), size in zip(targets, sizes, strict=True):
        consumed[name].add(TRANSACTION_FACTOR * read_units(size, True))
    return records, reports(consumed.items(), asked, "ReadCapacityUnits")


def require_distinct(keys: Iterable[bytes]) -> None:
    given = list(keys)
    if len(set(given)) < len(given):
        raise ValidationException("Transaction request cannot include multiple operations on one item")


def require_size(sizes: Iterable[int]) -> None:
    if sum(sizes) > TRANSACTION_BYTES_MAX:
        # The words of the service are not known; these are the API reference's.
        raise ValidationException("The aggregate size of the items in the transaction cannot exceed 4 MB")


def _decide(
    writes: Sequence[Write], records: Sequence[bytes | None], stamp_ms: int
) -> Generator[Command, Any, list[Decided]]:
    """All members, on what was there before the transaction. Every one that cannot be is among the reasons."""
    decided: list[Decided] = []
    faults: list[ServiceError | None] = []
    for write, record in zip(writes, records, strict=True):
        try:
            decided.append(decide(write, record, stamp_ms))
            faults.append(None)
        except EmptyKeyValue:
            raise
        except ServiceError as fault:
            faults.append(fault)
    require_none(faults)
    outgrown = yield from outgrowing([one.change for one in decided if one.change is not None])
    require_none(
        [
            ItemCollectionSizeLimitExceededException("Collection size exceeded.")
            if any(one.change is change for change in outgrown)
            else None
            for one in decided
        ]
    )
    return decided


def require_none(faults: Sequence[ServiceError | None]) -> None:
    """Cancels a transaction whose members have faults: one reason for each member, in order."""
    if not any(faults):
        return
    reasons = [_reason(fault) for fault in faults]
    codes = ", ".join(reason["Code"] for reason in reasons)
    raise TransactionCanceledException(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        CancellationReasons=reasons,
    )


def _reason(fault: ServiceError | None) -> dict[str, Any]:
    if fault is None:
        return {"Code": "None"}
    code = next(code for kind, code in CODES.items() if isinstance(fault, kind))
    return {"Code": code, "Message": fault.message, **fault.members}


def _repetition_units(decided: Iterable[Decided]) -> dict[str, float]:
    """By the same sizes that the transaction itself is charged by (measured)."""
    units: dict[str, float] = {}
    for one in decided:
        name = one.write.table_name
        units[name] = units.get(name, 0.0) + TRANSACTION_FACTOR * read_units(one.larger_size, True)
    return units

"""Transactions: several writes, of which all are done or none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from torusdb.modeling.context import Context
from torusdb.modeling.errors import PlanRefused, Reason, TransactionFailed
from torusdb.modeling.expressions import Condition
from torusdb.modeling.plans import Check, Delete, Put, Ref, Update, Write
from torusdb.modeling.steps import Request, Work, error_code
from torusdb.modeling.updates import Action
from torusdb.modeling.upserts import Upsert
from torusdb.modeling.writes import stored_entity

if TYPE_CHECKING:
    from types import TracebackType

    from torusdb.modeling.entity import Entity

E = TypeVar("E", bound="Entity")

TRANSACTION_ACTIONS_MAX: Final = 100
"""The service's limit."""
CANCELED: Final = "TransactionCanceledException"
NO_PART: Final = "None"
"""The code of an action that a transaction was not cancelled for."""


class TransactionWrites:
    """What a transaction is to do. It is sent when its `with` block ends, and not at all if that ends with an
    exception."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.writes: list[Write[Any]] = []

    def put(self, entity: Entity, when: Condition | None = None) -> None:
        self._add(Put(entity, when))

    def insert(self, entity: Entity) -> None:
        """Fails where there is one with this key."""
        self._add(Put(entity, new=True))

    def update(self, target: E | Ref[E], *actions: Action, when: Condition | None = None) -> None:
        self._add(Update(target, *actions, when=when))

    def upsert(self, target: Ref[E], *actions: Action, when: Condition | None = None) -> None:
        """As an update, and makes it where there is none."""
        self._add(Upsert(target, *actions, when=when))

    def delete(self, target: E | Ref[E], when: Condition | None = None) -> None:
        self._add(Delete(target, when))

    def check(self, target: E | Ref[E], when: Condition) -> None:
        """Writes nothing, but all fails unless this holds."""
        self._add(Check(target, when))

    def work(self) -> Work[None]:
        if not self.writes:
            return
        members = []
        for write in self.writes:
            (request,) = write.requests(self._context)
            request.parameters.pop("ReturnValues", None)  # which a transaction has not
            members.append({write.member: request.parameters})
        try:
            yield Request("transact_write_items", {"TransactItems": members})
        except Exception as error:
            if error_code(error) != CANCELED:
                raise
            raise _failed(self.writes, error.response.get("CancellationReasons") or []) from error  # type: ignore[attr-defined]
        for write in self.writes:
            write.done()

    def _add(self, write: Write[Any]) -> None:
        self._context.table_name(write.ref.model.table)  # so that it is refused here, not at the end
        if len(self.writes) == TRANSACTION_ACTIONS_MAX:
            raise PlanRefused(f"A transaction has {TRANSACTION_ACTIONS_MAX} actions at most")
        for other in self.writes:
            if other.ref.key == write.ref.key and other.ref.model.table is write.ref.model.table:
                raise PlanRefused(f"A transaction does one thing with each item, and {write.ref!r} is in it twice")
        self.writes.append(write)


class Transaction(TransactionWrites):
    def __init__(self, context: Context, run: Callable[[Work[None]], None]) -> None:
        super().__init__(context)
        self._run = run

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._run(self.work())


class AsyncTransaction(TransactionWrites):
    def __init__(self, context: Context, run: Callable[[Work[None]], Awaitable[None]]) -> None:
        super().__init__(context)
        self._run = run

    async def __aenter__(self) -> AsyncTransaction:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self._run(self.work())


def _failed(writes: list[Write[Any]], reasons: list[dict[str, Any]]) -> TransactionFailed:
    found: list[Reason | None] = []
    for write, reason in zip(writes, reasons, strict=False):
        code = reason.get("Code", NO_PART)
        entity = stored_entity(write.ref.model, reason.get("Item"))
        action = f"{write.operation} of {write.ref!r}"
        found.append(None if code == NO_PART else Reason(action, code, reason.get("Message") or "", entity))
    told = "; ".join(str(reason) for reason in found if reason is not None)
    return TransactionFailed(f"The transaction was cancelled: {told or 'the service gives no reason'}", found)

"""Transactions: several writes, of which all are done or none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar

from torusdb.modeling.batches import pause_after
from torusdb.modeling.context import Context
from torusdb.modeling.errors import REASON_FAILED, Contention, PlanRefused, Reason, TransactionFailed
from torusdb.modeling.expressions import Condition
from torusdb.modeling.plans import Check, Delete, Put, Ref, Update, Write
from torusdb.modeling.steps import Ask, Request, Work, error_code
from torusdb.modeling.updates import Action
from torusdb.modeling.upserts import Upsert
from torusdb.modeling.writes import stored_entity, what_was_found

if TYPE_CHECKING:
    from types import TracebackType

    from torusdb.modeling.entity import Entity

E = TypeVar("E", bound="Entity")
T = TypeVar("T")

Refusal: TypeAlias = Exception | Callable[[Any], Exception]
"""What a program raises where the condition of a write does not hold, or what makes that of the entity that is stored
(None where none is)."""

TRANSACTION_ACTIONS_MAX: Final = 100
TOKEN_CHARACTERS_MAX: Final = 36
"""The service's limits."""
CANCELED: Final = "TransactionCanceledException"
NO_PART: Final = "None"
"""The code of an action that a transaction was not cancelled for."""
PASSING_REASONS: Final = frozenset(["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
"""Why a transaction can be cancelled that may well be done a moment later (API reference, "TransactWriteItems")."""
CONTENTION_REASONS: Final = frozenset([REASON_FAILED, "TransactionConflict"])
"""Why it may be done once all is read and decided again. (A table that has too much to do is not helped by that.)"""
ATTEMPTS_MAX: Final = 8
"""Of a change that meets others, unless it says otherwise. The pauses between them come to 3 seconds on average."""
NO_REFUSALS: Final[Mapping[int, Refusal]] = MappingProxyType({})


class TransactionWrites:
    """What a transaction is to do. It is sent when its `with` block ends, and not at all if that ends with an
    exception.

    `otherwise`: what is raised, in the place of TransactionFailed, if the condition of this write does not hold (be it
    `when`, that it is new, or its version): `otherwise=OutOfStock("b")`, or a function of the stored entity,
    `otherwise=lambda stored: OutOfStock(stored.stock)`. Of several such writes that failed, the first speaks."""

    def __init__(self, context: Context, token: str | None) -> None:
        if token is not None and not 1 <= len(token) <= TOKEN_CHARACTERS_MAX:
            raise PlanRefused(f"A transaction's token has 1 to {TOKEN_CHARACTERS_MAX} characters, not {len(token)}")
        self._context = context
        self._token = token
        self._refusals: dict[int, Refusal] = {}
        self._is_open = True
        self.writes: list[Write[Any]] = []

    def put(self, entity: Entity, when: Condition | None = None, *, otherwise: Refusal | None = None) -> None:
        self.add(Put(entity, when), otherwise=otherwise)

    def insert(self, entity: Entity, *, otherwise: Refusal | None = None) -> None:
        """Fails where there is one with this key."""
        self.add(Put(entity, new=True), otherwise=otherwise)

    def update(
        self,
        target: E | Ref[E],
        *actions: Action,
        when: Condition | None = None,
        otherwise: Refusal | None = None,
    ) -> None:
        self.add(Update(target, *actions, when=when), otherwise=otherwise)

    def upsert(
        self, target: Ref[E], *actions: Action, when: Condition | None = None, otherwise: Refusal | None = None
    ) -> None:
        """As an update, and makes it where there is none."""
        self.add(Upsert(target, *actions, when=when), otherwise=otherwise)

    def delete(self, target: E | Ref[E], when: Condition | None = None, *, otherwise: Refusal | None = None) -> None:
        self.add(Delete(target, when), otherwise=otherwise)

    def check(self, target: E | Ref[E], when: Condition, *, otherwise: Refusal | None = None) -> None:
        """Writes nothing, but all fails unless this holds."""
        self.add(Check(target, when), otherwise=otherwise)

    def add(self, *writes: Write[Any], otherwise: Refusal | None = None) -> None:
        """Writes that were made elsewhere: `transaction.add(*stock.taken(order))`."""
        for write in writes:
            self._add(write)
            if otherwise is not None:
                self._refusals[len(self.writes) - 1] = otherwise

    def work(self) -> Work[None]:
        if not self.writes:
            return
        members = []
        for write in self.writes:
            (request,) = write.requests(self._context)
            request.parameters.pop("ReturnValues", None)  # which a transaction has not
            members.append({write.member: request.parameters})
        parameters: dict[str, Any] = {"TransactItems": members}
        if self._token is not None:
            parameters["ClientRequestToken"] = self._token
        try:
            yield Request("transact_write_items", parameters)
        except Exception as error:
            raise_failure(error, [(write.operation, write.ref, write.new) for write in self.writes], self._refusals)
        for write in self.writes:
            write.done()

    def _add(self, write: Write[Any]) -> None:
        if not self._is_open:
            raise PlanRefused(
                f"{write.operation} of {write.ref!r} is outside of its transaction's with block, at whose end it "
                "would be sent: write it within `with store.transaction() as transaction:`"
            )
        self._context.table_name(write.ref.model.table)  # so that it is refused here, not at the end
        if len(self.writes) == TRANSACTION_ACTIONS_MAX:
            raise PlanRefused(f"A transaction has {TRANSACTION_ACTIONS_MAX} actions at most")
        for other in self.writes:
            if other.ref.key == write.ref.key and other.ref.model.table is write.ref.model.table:
                raise PlanRefused(f"A transaction does one thing with each item, and {write.ref!r} is in it twice")
        self.writes.append(write)


class Transaction(TransactionWrites):
    def __init__(self, context: Context, token: str | None, run: Callable[[Work[None]], None]) -> None:
        super().__init__(context, token)
        self._run = run
        self._is_open = False

    def __enter__(self) -> Transaction:
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if kind is None:
            self._run(self.work())


class AsyncTransaction(TransactionWrites):
    def __init__(self, context: Context, token: str | None, run: Callable[[Work[None]], Awaitable[None]]) -> None:
        super().__init__(context, token)
        self._run = run
        self._is_open = False

    async def __aenter__(self) -> AsyncTransaction:
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if kind is None:
            await self._run(self.work())


def transact_work(decide: Callable[[TransactionWrites], Any], context: Context, attempts_max: int) -> Work[Any]:
    """What `decide` gives, once all that it has added to the transaction is written. Whatever may pass is tried again
    from the beginning, since what was decided on may have changed."""
    failed = None
    for attempt in range(attempts_max):
        if attempt:
            yield pause_after(attempt)
        transaction = TransactionWrites(context, None)
        try:
            decided = yield Ask(partial(decide, transaction))
            yield from transaction.work()
        except TransactionFailed as error:
            if not error.is_only_for(CONTENTION_REASONS):
                raise
            failed = error
        else:
            return decided
    if failed is None:
        raise PlanRefused(f"A change needs 1 attempt at least, not {attempts_max}")
    raise Contention(
        f"In {attempts_max} attempts others were faster, the last time: {failed}", failed.reasons
    ) from failed


def raise_failure(
    error: Exception, actions: Sequence[tuple[str, Ref[Any], bool]], refusals: Mapping[int, Refusal] = NO_REFUSALS
) -> NoReturn:
    """For a client's exception. `actions`: what the transaction was to do, with what, and whether that was to be new;
    `refusals`: by their number, what is raised where a condition does not hold."""
    if error_code(error) != CANCELED:
        raise error
    reasons = error.response.get("CancellationReasons") or []  # type: ignore[attr-defined]  # error_code has found it
    found: list[Reason | None] = []
    for (operation, ref, new), reason in zip(actions, reasons, strict=False):
        code = reason.get("Code", NO_PART)
        item = reason.get("Item")
        entity = stored_entity(ref.model, item)
        action = f"{operation} of {ref!r}"
        why = what_was_found(item, new=new) if code == REASON_FAILED else reason.get("Message") or ""
        found.append(None if code == NO_PART else Reason(action, code, why, entity))
    told = "; ".join(str(reason) for reason in found if reason is not None)
    message = f"The transaction was cancelled: {told or 'the service gives no reason'}"
    failed = TransactionFailed(message, found)
    failed.__cause__ = error
    for number, refusal in sorted(refusals.items()):
        reason = found[number] if number < len(found) else None
        if reason is not None and reason.code == REASON_FAILED:
            raise (refusal if isinstance(refusal, Exception) else refusal(reason.entity)) from failed
    raise failed

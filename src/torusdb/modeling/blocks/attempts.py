"""What is done again when others come between: a transaction, or reading, changing and writing.

Theory of operation. The service cancels a transaction that meets another one on an item, and refuses a write whose
version is no longer the stored one. In both cases nothing was written, and all may begin again, after a pause that
grows and of which a random part is waited, so that those who met do not meet again. What failed for a reason that
another attempt would meet as well is raised at once; the last failure is raised when all attempts were in vain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from torusdb.modeling.batches import pause_after
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import REASON_FAILED, ConditionFailed, ModelError, PlanRefused, TransactionFailed
from torusdb.modeling.plans import Get, Put, Ref, Write, ref_of
from torusdb.modeling.steps import Work, error_code
from torusdb.modeling.tasks import Task, transaction_work, work_of
from torusdb.modeling.transactions import PASSING_REASONS

T = TypeVar("T")
E = TypeVar("E", bound=Entity)

ATTEMPTS_MAX: Final = 10
CONFLICT: Final = "TransactionConflictException"
"""What a write that is in no transaction gets where it meets one."""


def is_passing(error: Exception) -> bool:
    """Whether only the moment was wrong."""
    if isinstance(error, TransactionFailed):
        return error.is_only_for(PASSING_REASONS)
    return error_code(error) == CONFLICT


def attempted(
    attempt: Callable[[], Work[T]],
    *,
    may_repeat: Callable[[Exception], bool] = is_passing,
    attempts_max: int = ATTEMPTS_MAX,
) -> Work[T]:
    """The work of `attempt`, for blocks: again for as long as its failures may be repeated."""
    for failed in range(1, attempts_max):
        try:
            return (yield from attempt())
        except Exception as error:
            if not may_repeat(error):
                raise
        yield pause_after(failed)
    return (yield from attempt())


def failed_conditions(error: TransactionFailed) -> list[int]:
    """The numbers of the actions, from 0, whose conditions did not hold."""
    return [
        number for number, reason in enumerate(error.reasons) if reason is not None and reason.code == REASON_FAILED
    ]


class Transact(Task[None]):
    """A transaction that is sent again while it meets others: `store.run(Transact(Put(like, new=True), Update(post,
    Post.likes.add(1))))`. A condition that does not hold is a TransactionFailed at once."""

    def __init__(self, *writes: Write[Any], attempts_max: int = ATTEMPTS_MAX) -> None:
        self.writes = writes
        self.attempts_max = attempts_max

    def work(self, context: Context) -> Work[None]:
        return attempted(lambda: transaction_work(self.writes, context), attempts_max=self.attempts_max)


class Amend(Task[E], Generic[E]):
    """Reads an entity, changes it and writes it, all again when someone else has written it meanwhile; gives what was
    written: `store.run(Amend(Ref(Account, id="1"), deposit))`.

    `change` is given the object, and alters it. It may be called several times, with an object that is fresh each time;
    what it raises ends all, and nothing is written. Of an entity that isn't there it is a ConditionFailed."""

    def __init__(self, target: Ref[E], change: Callable[[E], None], *, attempts_max: int = ATTEMPTS_MAX) -> None:
        require_version(target.model.kind)
        self.target = target
        self.change = change
        self.attempts_max = attempts_max

    def work(self, context: Context) -> Work[E]:
        return attempted(lambda: self._attempt(context), may_repeat=was_overtaken, attempts_max=self.attempts_max)

    def _attempt(self, context: Context) -> Work[E]:
        entity = yield from read_to_change(self.target, context)
        apply_change(self.change, entity, self.target)
        yield from work_of(Put(entity), context)
        return entity


def require_version(kind: type[Entity]) -> None:
    if kind.__model__ is None or kind.__model__.version is None:
        raise ModelError(
            f"{kind.__name__} has no version, by which it is known whether someone else has written it: "
            "declare an Attr[int] = version()"
        )


def read_to_change(target: Ref[E], context: Context) -> Work[E]:
    entity = yield from work_of(Get(target.model.kind, **target.values).consistent(), context)
    if entity is None:
        raise ConditionFailed(f"{target!r} is to be changed, and there is none")
    return entity


def apply_change(change: Callable[[E], None], entity: E, target: Ref[E]) -> None:
    change(entity)
    if ref_of(entity) != target:
        raise PlanRefused(f"{target!r} was changed into {ref_of(entity)!r}: a key cannot be, delete it and put another")


def was_overtaken(error: Exception) -> bool:
    """By another writer; not by one who has deleted it."""
    return is_passing(error) or (isinstance(error, ConditionFailed) and error.entity is not None)

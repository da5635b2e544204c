"""Tasks: what takes several requests, as one value that any store runs.

The building blocks (`torusdb.modeling.blocks`) are tasks. A task of your own is a class whose `work` is a generator: it
hands on the work of plans, and gets what they give, so that it is written once for stores with and without async:

    class Rename(Task[int]):
        def __init__(self, customer: str, name: str) -> None: ...

        def work(self, context: Context) -> Work[int]:
            orders = yield from work_of(Order.key.query(Order.customer == self.customer), context)
            ...

`store.run(Rename("1", "Ann"))` and `await async_store.run(Rename("1", "Ann"))` then do the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, TypeVar, overload

from torusdb.modeling.batches import batch_get_work
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.pages import Pages, count_work
from torusdb.modeling.plans import BatchGet, Delete, Get, Put, ReturningOld, Update, Write
from torusdb.modeling.queries import Count
from torusdb.modeling.reads import Read
from torusdb.modeling.steps import Work
from torusdb.modeling.transact_gets import TransactGet, transact_get_work
from torusdb.modeling.transactions import TransactionWrites
from torusdb.modeling.writes import delete_work, get_work, put_work, returning_old_work, update_work

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
E = TypeVar("E", bound=Entity)


class Task(Generic[T_co]):
    """Of a subclass, `work` does it, and what that returns is what `store.run` gives. A task keeps nothing of a run, so
    that it can be run again."""

    def work(self, context: Context) -> Work[T_co]:
        raise NotImplementedError


Plan = (
    Get[Any]
    | BatchGet[Any]
    | TransactGet[Any]
    | Count[Any]
    | Put[Any]
    | Update[Any]
    | Delete[Any]
    | ReturningOld[Any]
    | Task[Any]
)


def read_work(read: Read[T], context: Context) -> Work[list[T]]:
    """All that a query or a scan has, up to its limit."""
    pages, decode = Pages(read, context), read.decoder()
    objects: list[T] = []
    while (rows := (yield from pages.next_rows())) is not None:
        objects += [decode(item) for _, item in rows]
        if read.limit_items is not None and len(objects) >= read.limit_items:
            return objects[: read.limit_items]
    return objects


def transaction_work(writes: Iterable[Write[Any]], context: Context, token: str | None = None) -> Work[None]:
    """All of the writes, or none and TransactionFailed."""
    transaction = TransactionWrites(context, token)
    transaction.add(*writes)
    yield from transaction.work()


_WORKS: Final[list[tuple[type[Any], Callable[[Any, Context], Work[Any]]]]] = [
    (Get, get_work),
    (BatchGet, batch_get_work),
    (TransactGet, transact_get_work),
    (Count, count_work),
    (Put, put_work),
    (Update, update_work),
    (Delete, delete_work),
    (ReturningOld, returning_old_work),
    (Read, read_work),
    (Task, lambda task, context: task.work(context)),
]


@overload
def work_of(plan: Read[T], context: Context) -> Work[list[T]]: ...
@overload
def work_of(plan: Get[E], context: Context) -> Work[E | None]: ...
@overload
def work_of(plan: BatchGet[E], context: Context) -> Work[list[E | None]]: ...
@overload
def work_of(plan: Count[Any], context: Context) -> Work[int]: ...
@overload
def work_of(plan: Update[E], context: Context) -> Work[E]: ...
@overload
def work_of(plan: ReturningOld[E], context: Context) -> Work[E | None]: ...
@overload
def work_of(plan: TransactGet[T], context: Context) -> Work[T]: ...
@overload
def work_of(plan: Task[T], context: Context) -> Work[T]: ...
@overload
def work_of(plan: Put[Any] | Delete[Any], context: Context) -> Work[None]: ...
def work_of(plan: Plan | Read[Any], context: Context) -> Work[Any]:
    """What a plan does, for tasks. A query or a scan is read to its end (a store gives its results page by page)."""
    for kind, work in _WORKS:
        if isinstance(plan, kind):
            return work(plan, context)
    raise TypeError(f"{plan!r} is no plan that can be run by itself")

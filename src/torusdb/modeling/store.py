"""Stores: entities of a table, through a client. `Store` runs all work on a boto3 client, `AsyncStore` on one of
aiobotocore; what they do is the same, since neither knows what it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from torusdb.modeling.batches import BatchWrite, batch_get_work, batch_write_work
from torusdb.modeling.errors import PlanRefused
from torusdb.modeling.expressions import Condition
from torusdb.modeling.pages import Pages, Row, count_work
from torusdb.modeling.plans import BatchGet, Delete, Get, Put, Ref, Update
from torusdb.modeling.queries import Count
from torusdb.modeling.reads import Read
from torusdb.modeling.steps import Pause, Request, Step, Together, Work
from torusdb.modeling.table import Table
from torusdb.modeling.transactions import TransactionWrites
from torusdb.modeling.updates import Action
from torusdb.modeling.writes import delete_work, get_work, put_work, update_work

if TYPE_CHECKING:
    from types import TracebackType

    from torusdb.modeling.entity import Entity

T = TypeVar("T")
E = TypeVar("E", bound="Entity")

PARALLEL_REQUESTS_MAX: Final = 16
"""Threads of a store, for the lanes of a sharded query. (botocore keeps 10 connections unless told otherwise.)"""

Plan = Get[Any] | BatchGet[Any] | Count[Any] | Put[Any] | Update[Any] | Delete[Any]


def work_of(plan: Plan) -> Work[Any]:
    """The work of all plans but those that are read page by page."""
    if isinstance(plan, Get):
        return get_work(plan)
    if isinstance(plan, BatchGet):
        return batch_get_work(plan)
    if isinstance(plan, Count):
        return count_work(plan)
    if isinstance(plan, Put):
        return put_work(plan)
    if isinstance(plan, Update):
        return update_work(plan)
    if isinstance(plan, Delete):
        return delete_work(plan)
    raise TypeError(f"{plan!r} is no plan that can be run by itself")


def _random() -> float:
    from random import random

    return random()  # noqa: S311 - it spreads retries


class _Results(Generic[T]):
    """Objects as they are read. Iterating goes on where it stood."""

    def __init__(self, read: Read[T]) -> None:
        self._pages = Pages(read)
        self._decode: Callable[[Any], T] = read.decoder()
        self._left = read.limit_items
        self._over = False
        """Nothing more is to be given out; `_finished`: nor would there be anything."""
        self._finished = False

    @property
    def cursor(self) -> str | None:
        """Goes on behind the last object that was given out: `query.after(cursor)`. None at the end."""
        return None if self._finished else self._pages.cursor()

    def _admit(self, rows: list[Row] | None) -> list[Row]:
        """The rows that are within the limit."""
        if rows is None:
            self._over = self._finished = True
            return []
        if self._left is None:
            return rows
        admitted = rows[: self._left]
        self._left -= len(admitted)
        self._over = self._left == 0
        self._more = len(admitted) < len(rows)
        return admitted

    def _given(self) -> None:
        """All that was admitted was given out."""
        if self._over and not self._finished:
            self._finished = not self._more and self._pages.exhausted


class Results(_Results[T]):
    def __init__(self, read: Read[T], run: Callable[[Work[Any]], Any]) -> None:
        super().__init__(read)
        self._run = run
        self._objects = self._iterate()

    def __iter__(self) -> Iterator[T]:
        return self._objects

    def __next__(self) -> T:
        return next(self._objects)

    def all(self) -> list[T]:
        return list(self._objects)

    def first(self) -> T | None:
        """The next, or None."""
        return next(self._objects, None)

    def _iterate(self) -> Iterator[T]:
        decode, last = self._decode, self._pages.last
        while not self._over:
            for lane, item in self._admit(self._run(self._pages.next_rows())):
                last[lane] = item
                yield decode(item)
            self._given()


class AsyncResults(_Results[T]):
    def __init__(self, read: Read[T], run: Callable[[Work[Any]], Awaitable[Any]]) -> None:
        super().__init__(read)
        self._run = run
        self._objects = self._iterate()

    def __aiter__(self) -> AsyncIterator[T]:
        return self._objects

    async def all(self) -> list[T]:
        return [each async for each in self._objects]

    async def first(self) -> T | None:
        """The next, or None."""
        return await anext(self._objects, None)

    async def _iterate(self) -> AsyncIterator[T]:
        decode, last = self._decode, self._pages.last
        while not self._over:
            for lane, item in self._admit(await self._run(self._pages.next_rows())):
                last[lane] = item
                yield decode(item)
            self._given()


class _Store:
    def __init__(self, table: Table, client: Any, *, random: Callable[[], float] = _random) -> None:
        self.table = table
        self._client = client
        self._random = random

    def _own(self, table: Table | None) -> None:
        if table is not None and table is not self.table:
            raise PlanRefused(f"This is of the table {table.name}, and the store is of {self.table.name}")


class Transaction(TransactionWrites):
    def __init__(self, run: Callable[[Work[None]], None]) -> None:
        super().__init__()
        self._run = run

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._run(self.work())


class AsyncTransaction(TransactionWrites):
    def __init__(self, run: Callable[[Work[None]], Awaitable[None]]) -> None:
        super().__init__()
        self._run = run

    async def __aenter__(self) -> AsyncTransaction:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self._run(self.work())


class Store(_Store):
    """The entities of a table, through a boto3 client: `Store(shop, boto3.client("dynamodb"))`. May be used by several
    threads, as the client may. `sleep` and `random` are for tests."""

    def __init__(
        self,
        table: Table,
        client: Any,
        *,
        sleep: Callable[[float], Any] | None = None,
        random: Callable[[], float] = _random,
    ) -> None:
        super().__init__(table, client, random=random)
        self._sleep = sleep

    def create_table(self) -> None:
        """Makes the table with its indexes, paid by request, and waits until it can be used."""
        self._client.create_table(**self.table.create_parameters())
        self._client.get_waiter("table_exists").wait(TableName=self.table.name)

    def get(self, kind: type[E], /, **key: Any) -> E | None:
        """The entity with this key; None if there is none."""
        return self._perform(get_work(Get(kind, **key)), _table_of(kind))

    def put(self, entity: E, when: Condition | None = None) -> None:
        """Writes the entity, in the place of what was there. With a version: unless someone else has written it."""
        self._perform(put_work(Put(entity, when)), _table_of(type(entity)))

    def insert(self, entity: E) -> None:
        """Writes the entity where there is none with its key; else ConditionFailed."""
        self._perform(put_work(Put(entity, new=True)), _table_of(type(entity)))

    def update(self, target: E | Ref[E], *actions: Action, when: Condition | None = None) -> E:
        """Changes attributes of an entity that is there, and gives it as it is then; see `Update`."""
        update: Update[E] = Update(target, *actions, when=when)
        return self._perform(update_work(update), update.ref.model.table)

    def delete(self, target: E | Ref[E], when: Condition | None = None) -> None:
        delete: Delete[E] = Delete(target, when)
        self._perform(delete_work(delete), delete.ref.model.table)

    def get_many(self, refs: Iterable[Ref[E]], *, consistent: bool = False) -> list[E | None]:
        """In the order of the keys; None for each that isn't there."""
        batch = BatchGet(list(refs), consistent=consistent)
        return self._perform(batch_get_work(batch), batch.table)

    def put_many(self, entities: Iterable[Entity]) -> None:
        """Not one transaction: some may be written and others not, as BatchIncomplete then tells."""
        self.write_many(Put(entity) for entity in entities)

    def delete_many(self, targets: Iterable[Entity | Ref[Any]]) -> None:
        self.write_many(Delete(target) for target in targets)

    def write_many(self, writes: Iterable[BatchWrite]) -> None:
        everything = list(writes)
        for write in everything:
            self._own(write.ref.model.table)
        self._perform(batch_write_work(everything), self.table)

    def transaction(self) -> Transaction:
        """`with store.transaction() as t: t.put(order); t.update(customer, Customer.orders.add(1))`"""
        return Transaction(lambda work: self._perform(work, self.table))

    @overload
    def run(self, plan: Read[T]) -> Results[T]: ...
    @overload
    def run(self, plan: Get[E]) -> E | None: ...
    @overload
    def run(self, plan: BatchGet[E]) -> list[E | None]: ...
    @overload
    def run(self, plan: Count[Any]) -> int: ...
    @overload
    def run(self, plan: Update[E]) -> E: ...
    @overload
    def run(self, plan: Put[Any] | Delete[Any]) -> None: ...
    def run(self, plan: Read[Any] | Plan) -> Any:
        """Does what a plan says; a query or a scan gives results to iterate over, and asks when they are."""
        if isinstance(plan, Read):
            self._own(plan.table)
            return Results(plan, lambda work: self._perform(work, self.table))
        return self._perform(work_of(plan), _table_of_plan(plan))

    def _perform(self, work: Work[T], table: Table | None) -> T:
        self._own(table)
        try:
            step = next(work)
            while True:
                try:
                    answer = self._do(step)
                except Exception as error:
                    step = work.throw(error)
                else:
                    step = work.send(answer)
        except StopIteration as end:
            value: T = end.value
            return value

    def _do(self, step: Step) -> Any:
        if type(step) is Request:
            return getattr(self._client, step.method)(**step.parameters)
        if type(step) is Together:
            return self._do_together(step.requests)
        assert isinstance(step, Pause)
        if self._sleep is None:
            from time import sleep

            self._sleep = sleep
        return self._sleep(step.seconds_max * self._random())

    def _do_together(self, requests: Sequence[Request]) -> list[Any]:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(len(requests), PARALLEL_REQUESTS_MAX)) as threads:
            return list(threads.map(self._do, requests))


class AsyncStore(_Store):
    """The entities of a table, through a client of aiobotocore. As `Store`, with `await` and `async for`."""

    def __init__(
        self,
        table: Table,
        client: Any,
        *,
        sleep: Callable[[float], Awaitable[Any]] | None = None,
        random: Callable[[], float] = _random,
    ) -> None:
        super().__init__(table, client, random=random)
        self._sleep = sleep

    async def create_table(self) -> None:
        await self._client.create_table(**self.table.create_parameters())
        await self._client.get_waiter("table_exists").wait(TableName=self.table.name)

    async def get(self, kind: type[E], /, **key: Any) -> E | None:
        return await self._perform(get_work(Get(kind, **key)), _table_of(kind))

    async def put(self, entity: E, when: Condition | None = None) -> None:
        await self._perform(put_work(Put(entity, when)), _table_of(type(entity)))

    async def insert(self, entity: E) -> None:
        await self._perform(put_work(Put(entity, new=True)), _table_of(type(entity)))

    async def update(self, target: E | Ref[E], *actions: Action, when: Condition | None = None) -> E:
        update: Update[E] = Update(target, *actions, when=when)
        return await self._perform(update_work(update), update.ref.model.table)

    async def delete(self, target: E | Ref[E], when: Condition | None = None) -> None:
        delete: Delete[E] = Delete(target, when)
        await self._perform(delete_work(delete), delete.ref.model.table)

    async def get_many(self, refs: Iterable[Ref[E]], *, consistent: bool = False) -> list[E | None]:
        batch = BatchGet(list(refs), consistent=consistent)
        return await self._perform(batch_get_work(batch), batch.table)

    async def put_many(self, entities: Iterable[Entity]) -> None:
        await self.write_many(Put(entity) for entity in entities)

    async def delete_many(self, targets: Iterable[Entity | Ref[Any]]) -> None:
        await self.write_many(Delete(target) for target in targets)

    async def write_many(self, writes: Iterable[BatchWrite]) -> None:
        everything = list(writes)
        for write in everything:
            self._own(write.ref.model.table)
        await self._perform(batch_write_work(everything), self.table)

    def transaction(self) -> AsyncTransaction:
        return AsyncTransaction(lambda work: self._perform(work, self.table))

    @overload
    def run(self, plan: Read[T]) -> AsyncResults[T]: ...
    @overload
    def run(self, plan: Get[E]) -> Awaitable[E | None]: ...
    @overload
    def run(self, plan: BatchGet[E]) -> Awaitable[list[E | None]]: ...
    @overload
    def run(self, plan: Count[Any]) -> Awaitable[int]: ...
    @overload
    def run(self, plan: Update[E]) -> Awaitable[E]: ...
    @overload
    def run(self, plan: Put[Any] | Delete[Any]) -> Awaitable[None]: ...
    def run(self, plan: Read[Any] | Plan) -> Any:
        if isinstance(plan, Read):
            self._own(plan.table)
            return AsyncResults(plan, lambda work: self._perform(work, self.table))
        return self._perform(work_of(plan), _table_of_plan(plan))

    async def _perform(self, work: Work[T], table: Table | None) -> T:
        self._own(table)
        try:
            step = next(work)
            while True:
                try:
                    answer = await self._do(step)
                except Exception as error:
                    step = work.throw(error)
                else:
                    step = work.send(answer)
        except StopIteration as end:
            value: T = end.value
            return value

    async def _do(self, step: Step) -> Any:
        import asyncio

        if type(step) is Request:
            return await getattr(self._client, step.method)(**step.parameters)
        if type(step) is Together:
            return await asyncio.gather(*(self._do(each) for each in step.requests))
        assert isinstance(step, Pause)
        return await (self._sleep or asyncio.sleep)(step.seconds_max * self._random())


def _table_of(kind: type[Any]) -> Table | None:
    return kind.__model__.table if kind.__model__ is not None else None


def _table_of_plan(plan: Plan) -> Table | None:
    if isinstance(plan, Get | BatchGet | Count):
        return plan.table
    return plan.ref.model.table

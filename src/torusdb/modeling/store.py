"""Stores: entities of a table, through a client. `Store` runs all work on a boto3 client, `AsyncStore` on one of
aiobotocore; what they do is the same, since neither knows what it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from torusdb.modeling.batches import BatchWrite, batch_get_work, batch_write_work
from torusdb.modeling.context import Context, utc_now
from torusdb.modeling.expressions import Condition
from torusdb.modeling.hints import is_resource
from torusdb.modeling.metering import Call, Observe, metered
from torusdb.modeling.missing_tables import raise_missing_table
from torusdb.modeling.options import StreamView
from torusdb.modeling.plans import BatchGet, Delete, Get, Put, Ref, ReturningOld, Update, Write
from torusdb.modeling.queries import Count
from torusdb.modeling.reads import Explanation, Read
from torusdb.modeling.results import AsyncResults, Results
from torusdb.modeling.shards import random_float
from torusdb.modeling.steps import Ask, Outside, Pause, Request, Step, Together, Work, drive, drive_async
from torusdb.modeling.table import Table
from torusdb.modeling.tasks import Plan, Task, work_of
from torusdb.modeling.transact_gets import TransactGet, transact_get_work
from torusdb.modeling.transactions import (
    ATTEMPTS_MAX,
    AsyncTransaction,
    Transaction,
    TransactionWrites,
    transact_work,
)
from torusdb.modeling.updates import Action
from torusdb.modeling.upserts import Upsert
from torusdb.modeling.writes import delete_work, get_work, put_work, update_work

if TYPE_CHECKING:
    from datetime import datetime

    from torusdb.modeling.entity import Entity

T = TypeVar("T")
E = TypeVar("E", bound="Entity")
A = TypeVar("A", bound="Entity")
B = TypeVar("B", bound="Entity")
C = TypeVar("C", bound="Entity")

PARALLEL_REQUESTS_MAX: Final = 16
"""Threads of a store, for the lanes of a sharded query. (botocore keeps 10 connections unless told otherwise.)"""

CREATION_POLLS: Final = {"Delay": 1, "MaxAttempts": 300}
"""How a new table is waited for: every second. (botocore asks every 20 seconds, and tables take a few.)"""


class _Store:
    def __init__(
        self,
        table: Table,
        client: Any,
        *,
        table_name: str | None,
        random: Callable[[], float],
        now: Callable[[], datetime],
        observe: Observe | None,
    ) -> None:
        _check_given(table, client)
        self.table = table
        self.table_name = table.name if table_name is None else table_name
        self._client = client
        self._random = random
        self._observe = observe
        self._context = Context({table: self.table_name}, now)

    def explain(self, plan: Get[Any] | BatchGet[Any] | Read[Any] | Count[Any] | Write[Any]) -> Explanation:
        """What a plan does when this store runs it."""
        table = plan.ref.model.table if isinstance(plan, Write) else plan.table
        if table is not None:
            self._context.table_name(table)  # refuses those of others
        return plan.explain()._replace(table=self.table_name)

    def _with(self, others: Iterable[_Store]) -> Context:
        return self._context.along_with(other._context for other in others)

    def _create_parameters(self, stream: StreamView | None) -> dict[str, Any]:
        return {**self.table.create_parameters(stream=stream), "TableName": self.table_name}


def _check_given(table: Any, client: Any) -> None:
    if not isinstance(table, Table):
        raise TypeError(f"A store is of a Table and a client, Store(shop, client), and {table!r} is no Table")
    if is_resource(client):
        raise TypeError("A store needs a client, and this is a resource of boto3: give it resource.meta.client")


class Store(_Store):
    """The entities of a table, through a boto3 client: `Store(shop, boto3.client("dynamodb"))`. May be used by several
    threads, as the client may. `table_name`: what the table is called here, if not as the model has it, so that
    one model serves several stages. `observe` is given each request that was answered, with what it used (`Meter`
    adds that up). `sleep`, `random` and `now` are for tests."""

    def __init__(
        self,
        table: Table,
        client: Any,
        *,
        table_name: str | None = None,
        sleep: Callable[[float], Any] | None = None,
        random: Callable[[], float] = random_float,
        now: Callable[[], datetime] = utc_now,
        observe: Observe | None = None,
    ) -> None:
        super().__init__(table, client, table_name=table_name, random=random, now=now, observe=observe)
        self._sleep = sleep

    def create_table(self, *, stream: StreamView | None = None) -> None:
        """Makes the table with its indexes and options, waits until it can be used, and has what expires dropped where
        an entity has a TTL. `stream`: makes a stream of its changes, which keeps this of each, whatever the options
        have."""
        self._client.create_table(**self._create_parameters(stream))
        self._client.get_waiter("table_exists").wait(TableName=self.table_name, WaiterConfig=CREATION_POLLS)
        for request in self.table.settings(self.table_name):
            self._do(request)

    def get(self, kind: type[E], /, *, consistent: bool = False, **key: Any) -> E | None:
        """The entity with this key; None if there is none. `consistent`: sees all that was written before. (A field of
        the key that has this name is given to a `Get`.)"""
        return self._perform(get_work(_get(kind, key, consistent), self._context))

    def put(self, entity: E, when: Condition | None = None) -> None:
        """Writes the whole entity, in the place of what was there, if anything was. With a version: unless someone
        else has written it."""
        self._perform(put_work(Put(entity, when), self._context))

    def insert(self, entity: E) -> None:
        """Writes the whole entity where there is none with its key; else ConditionFailed."""
        self._perform(put_work(Put(entity, new=True), self._context))

    def update(self, target: E | Ref[E], *actions: Action, when: Condition | None = None) -> E:
        """Changes some attributes of an entity that is there, else ConditionFailed. Gives the entity as it is then; see
        `Update`."""
        update: Update[E] = Update(target, *actions, when=when)
        return self._perform(update_work(update, self._context))

    def upsert(self, target: Ref[E], *actions: Action, when: Condition | None = None) -> E:
        """Changes some attributes of an entity if it is there, and else makes it, of them, its key and its defaults.
        Gives the entity as it is then; see `Upsert`."""
        upsert: Upsert[E] = Upsert(target, *actions, when=when)
        return self._perform(update_work(upsert, self._context))

    def delete(self, target: E | Ref[E], when: Condition | None = None) -> None:
        delete: Delete[E] = Delete(target, when)
        self._perform(delete_work(delete, self._context))

    def get_many(self, refs: Iterable[Ref[E]], *, consistent: bool = False) -> list[E | None]:
        """In the order of the keys; None for each that isn't there."""
        batch = BatchGet(list(refs), consistent=consistent)
        return self._perform(batch_get_work(batch, self._context))

    def put_many(self, entities: Iterable[Entity], *, overwrite: bool = False) -> None:
        """Not one transaction: some may be written and others not, as BatchIncomplete then tells. Each takes the place
        of what was there, if anything was.

        A batch asks no conditions, so entities with a version are refused, unless `overwrite` says that what is stored
        is of no matter, as in a load of a table that nobody else writes to: their version is then one more than the
        object has (1 of a new one), and nothing is checked."""
        self.write_many((Put(entity) for entity in entities), overwrite=overwrite)

    def delete_many(self, targets: Iterable[Entity | Ref[Any]]) -> None:
        self.write_many(Delete(target) for target in targets)

    def write_many(self, writes: Iterable[BatchWrite], *, overwrite: bool = False) -> None:
        self._perform(batch_write_work(writes, self._context, overwrite=overwrite))

    @overload
    def transact_get(self, a: Ref[A], b: Ref[B], /) -> tuple[A | None, B | None]: ...
    @overload
    def transact_get(self, a: Ref[A], b: Ref[B], c: Ref[C], /) -> tuple[A | None, B | None, C | None]: ...
    @overload
    def transact_get(self, *refs: Ref[E], others: Iterable[Store] = ()) -> tuple[E | None, ...]: ...
    @overload
    def transact_get(self, *refs: Ref[Any], others: Iterable[Store] = ()) -> tuple[Any, ...]: ...
    def transact_get(self, *refs: Ref[Any], others: Iterable[Store] = ()) -> tuple[Any, ...]:
        """As they are together at one moment, in the order of the keys; None for each that isn't there. `others`: the
        stores of other tables that keys are of. Types are known of up to three; of four with `TransactGet`."""
        return self._perform(transact_get_work(TransactGet(*refs), self._with(others)))

    def transaction(self, *, others: Iterable[Store] = (), token: str | None = None) -> Transaction:
        """`with store.transaction() as t: t.put(order); t.update(customer, Customer.orders.add(1))`

        `others`: the stores of other tables that it writes to. `token`: who asks again with the same token within ten
        minutes does it once."""
        return Transaction(self._with(others), token, self._perform)

    def transact(
        self,
        decide: Callable[[TransactionWrites], T],
        *,
        others: Iterable[Store] = (),
        attempts_max: int = ATTEMPTS_MAX,
    ) -> T:
        """Reads, decides and writes, and does so again if somebody else was faster: `decide` gets a transaction to add
        its writes to, which is sent when it returns; what it returns is given once they are all done.

        It is called again, after longer and longer pauses, when the transaction met another one, or when the condition
        of a write did not hold that says no `otherwise`: what it had read has changed. So it must do nothing else that
        cannot be done twice. Contention is raised after `attempts_max` calls; what another attempt would not mend, or
        `decide` raises, at once."""
        found: T = self._perform(transact_work(decide, self._with(others), attempts_max))
        return found

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
    def run(self, plan: ReturningOld[E]) -> E | None: ...
    @overload
    def run(self, plan: TransactGet[T]) -> T: ...
    @overload
    def run(self, plan: Task[T]) -> T: ...
    @overload
    def run(self, plan: Put[Any] | Delete[Any]) -> None: ...
    def run(self, plan: Read[Any] | Plan) -> Any:
        """Does what a plan says; a query or a scan gives results to iterate over, and asks when they are."""
        if isinstance(plan, Read):
            return Results(plan, self._context, self._perform)
        return self._perform(work_of(plan, self._context))

    def _perform(self, work: Work[T]) -> T:
        return drive(work, self._do)

    def _do(self, step: Step) -> Any:
        if type(step) is Request:
            try:
                if self._observe is not None:
                    return self._observed(step, self._observe)
                return getattr(self._client, step.method)(**step.parameters)
            except Exception as error:
                raise_missing_table(error, step)
                raise
        if type(step) is Together:
            return self._do_together(step.requests)
        if type(step) is Ask or type(step) is Outside:
            return step.function()
        assert isinstance(step, Pause)
        if self._sleep is None:
            from time import sleep

            self._sleep = sleep
        return self._sleep(step.seconds_max * self._random())

    def _observed(self, request: Request, observe: Observe) -> Any:
        answer = getattr(self._client, request.method)(**metered(request))
        observe(Call(request.method, request.parameters, answer))
        return answer

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
        table_name: str | None = None,
        sleep: Callable[[float], Awaitable[Any]] | None = None,
        random: Callable[[], float] = random_float,
        now: Callable[[], datetime] = utc_now,
        observe: Observe | None = None,
    ) -> None:
        super().__init__(table, client, table_name=table_name, random=random, now=now, observe=observe)
        self._sleep = sleep

    async def create_table(self, *, stream: StreamView | None = None) -> None:
        await self._client.create_table(**self._create_parameters(stream))
        await self._client.get_waiter("table_exists").wait(TableName=self.table_name, WaiterConfig=CREATION_POLLS)
        for request in self.table.settings(self.table_name):
            await self._do(request)

    async def get(self, kind: type[E], /, *, consistent: bool = False, **key: Any) -> E | None:
        return await self._perform(get_work(_get(kind, key, consistent), self._context))

    async def put(self, entity: E, when: Condition | None = None) -> None:
        await self._perform(put_work(Put(entity, when), self._context))

    async def insert(self, entity: E) -> None:
        await self._perform(put_work(Put(entity, new=True), self._context))

    async def update(self, target: E | Ref[E], *actions: Action, when: Condition | None = None) -> E:
        update: Update[E] = Update(target, *actions, when=when)
        return await self._perform(update_work(update, self._context))

    async def upsert(self, target: Ref[E], *actions: Action, when: Condition | None = None) -> E:
        upsert: Upsert[E] = Upsert(target, *actions, when=when)
        return await self._perform(update_work(upsert, self._context))

    async def delete(self, target: E | Ref[E], when: Condition | None = None) -> None:
        delete: Delete[E] = Delete(target, when)
        await self._perform(delete_work(delete, self._context))

    async def get_many(self, refs: Iterable[Ref[E]], *, consistent: bool = False) -> list[E | None]:
        batch = BatchGet(list(refs), consistent=consistent)
        return await self._perform(batch_get_work(batch, self._context))

    async def put_many(self, entities: Iterable[Entity], *, overwrite: bool = False) -> None:
        await self.write_many((Put(entity) for entity in entities), overwrite=overwrite)

    async def delete_many(self, targets: Iterable[Entity | Ref[Any]]) -> None:
        await self.write_many(Delete(target) for target in targets)

    async def write_many(self, writes: Iterable[BatchWrite], *, overwrite: bool = False) -> None:
        await self._perform(batch_write_work(writes, self._context, overwrite=overwrite))

    @overload
    async def transact_get(self, a: Ref[A], b: Ref[B], /) -> tuple[A | None, B | None]: ...
    @overload
    async def transact_get(self, a: Ref[A], b: Ref[B], c: Ref[C], /) -> tuple[A | None, B | None, C | None]: ...
    @overload
    async def transact_get(self, *refs: Ref[E], others: Iterable[AsyncStore] = ()) -> tuple[E | None, ...]: ...
    @overload
    async def transact_get(self, *refs: Ref[Any], others: Iterable[AsyncStore] = ()) -> tuple[Any, ...]: ...
    async def transact_get(self, *refs: Ref[Any], others: Iterable[AsyncStore] = ()) -> tuple[Any, ...]:
        return await self._perform(transact_get_work(TransactGet(*refs), self._with(others)))

    def transaction(self, *, others: Iterable[AsyncStore] = (), token: str | None = None) -> AsyncTransaction:
        return AsyncTransaction(self._with(others), token, self._perform)

    async def transact(
        self,
        decide: Callable[[TransactionWrites], Awaitable[T]],
        *,
        others: Iterable[AsyncStore] = (),
        attempts_max: int = ATTEMPTS_MAX,
    ) -> T:
        found: T = await self._perform(transact_work(decide, self._with(others), attempts_max))
        return found

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
    def run(self, plan: ReturningOld[E]) -> Awaitable[E | None]: ...
    @overload
    def run(self, plan: TransactGet[T]) -> Awaitable[T]: ...
    @overload
    def run(self, plan: Task[T]) -> Awaitable[T]: ...
    @overload
    def run(self, plan: Put[Any] | Delete[Any]) -> Awaitable[None]: ...
    def run(self, plan: Read[Any] | Plan) -> Any:
        if isinstance(plan, Read):
            return AsyncResults(plan, self._context, self._perform)
        return self._perform(work_of(plan, self._context))

    async def _perform(self, work: Work[T]) -> T:
        return await drive_async(work, self._do)

    async def _do(self, step: Step) -> Any:
        import asyncio

        if type(step) is Request:
            try:
                if self._observe is not None:
                    return await self._observed(step, self._observe)
                return await getattr(self._client, step.method)(**step.parameters)
            except Exception as error:
                raise_missing_table(error, step)
                raise
        if type(step) is Ask:
            return await step.function()
        if type(step) is Together:
            return await asyncio.gather(*(self._do(each) for each in step.requests))
        if type(step) is Outside:
            return await asyncio.to_thread(step.function)
        assert isinstance(step, Pause)
        return await (self._sleep or asyncio.sleep)(step.seconds_max * self._random())

    async def _observed(self, request: Request, observe: Observe) -> Any:
        answer = await getattr(self._client, request.method)(**metered(request))
        observe(Call(request.method, request.parameters, answer))
        return answer


def _get(kind: type[E], key: dict[str, Any], consistent: bool) -> Get[E]:
    get = Get(kind, **key)
    return get.consistent() if consistent else get

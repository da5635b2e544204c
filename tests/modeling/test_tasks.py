"""Tasks: several requests as one value, run alike with and without async."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.shop import Customer, Order, Product, order, shop
from tests.modeling.test_async import Async
from torusdb import Database
from torusdb.modeling import AsyncStore, Get, Put, Read, Ref, Store, Task, TransactionFailed, Update
from torusdb.modeling.context import Context
from torusdb.modeling.steps import Outside, Work
from torusdb.modeling.tasks import read_work, transaction_work, work_of


class Rename(Task[int]):
    """Gives a customer another name, notes it on all of their orders, and says how many these are."""

    def __init__(self, customer: str, name: str) -> None:
        self.customer = customer
        self.name = name

    def work(self, context: Context) -> Work[int]:
        customer = yield from work_of(Get(Customer, id=self.customer), context)
        assert customer is not None
        orders = yield from work_of(Order.key.query(Order.customer == self.customer).page_size(2), context)
        writes = [Update(each, Order.comment.set(self.name)) for each in orders]
        yield from transaction_work([Update(customer, Customer.name.set(self.name)), *writes], context)
        return len(writes)


class ReadAll(Task[list[Order]]):
    def __init__(self, read: Read[Order]) -> None:
        self.read = read

    def work(self, context: Context) -> Work[list[Order]]:
        return read_work(self.read, context)


class CallOut(Task[str]):
    """Asks something that is no database, and is told of its failures."""

    def __init__(self, function: Callable[[], str]) -> None:
        self.function = function

    def work(self, context: Context) -> Work[str]:
        try:
            answer: str = yield Outside(self.function)
        except OSError as error:
            return f"failed: {error}"
        return answer


def failing() -> str:
    raise OSError("full")


ORDERS = [order(number) for number in (3, 2, 1)]


def test_a_store_runs_a_task(store: Store, client: Recorder) -> None:
    store.put_many([Customer(id="1"), *ORDERS])
    client.requests.clear()
    assert store.run(Rename("1", "Ann")) == 3
    assert [method for method, _ in client.requests] == ["get_item", "query", "query", "transact_write_items"]
    assert store.get(Customer, id="1") == Customer(id="1", name="Ann")
    assert [each.comment for each in store.run(Order.key.query(Order.customer == "1"))] == ["Ann"] * 3


def test_an_asynchronous_store_runs_the_same_task(db: Database, store: Store) -> None:
    store.put_many([Customer(id="1"), *ORDERS])
    assert asyncio.run(_renamed(db)) == 3
    assert store.get(Customer, id="1") == Customer(id="1", name="Ann")


async def _renamed(db: Database) -> int:
    return await AsyncStore(shop, Async(db)).run(Rename("1", "Ann"))


def test_what_a_step_raises_reaches_the_task_and_the_program(store: Store) -> None:
    store.put(Customer(id="1"))
    fails = transaction_work([Put(Customer(id="2")), Put(Customer(id="1"), new=True)], store._context)
    with pytest.raises(TransactionFailed):
        store._perform(fails)
    assert store.get(Customer, id="2") is None


@pytest.mark.parametrize(("limit", "page", "expected"), [(2, 1, 2), (2, 5, 2), (3, 2, 3), (9, 2, 3)])
def test_a_read_within_a_task_keeps_to_its_limit(store: Store, limit: int, page: int, expected: int) -> None:
    store.put_many(ORDERS)
    query = Order.key.query(Order.customer == "1").limit(limit).page_size(page)
    assert store.run(ReadAll(query)) == ORDERS[:expected]


def test_a_task_is_of_the_tables_that_its_store_has(store: Store) -> None:
    other = Store(shop, store._client, table_name="elsewhere")
    other.create_table()
    store.put(Customer(id="1"))
    other.put(Customer(id="1"))
    other.run(Rename("1", "Ann"))
    assert store.get(Customer, id="1") == Customer(id="1")
    assert other.get(Customer, id="1") == Customer(id="1", name="Ann")


def test_what_is_no_plan_is_refused(store: Store) -> None:
    with pytest.raises(TypeError, match=r"^Ref\(Product, code='a'\) is no plan that can be run by itself$"):
        store.run(Ref(Product, code="a"))  # type: ignore[call-overload]


def test_a_task_calls_what_is_no_database(store: Store, client: Recorder) -> None:
    assert store.run(CallOut(lambda: "done")) == "done"
    assert store.run(CallOut(failing)) == "failed: full"
    assert client.requests == []


def test_with_async_a_call_holds_up_nobody(db: Database) -> None:
    """It ends only once another task has gone on."""
    gone_on = threading.Event()

    async def go_on() -> None:
        gone_on.set()

    async def run() -> list[str | None]:
        store = AsyncStore(shop, Async(db))
        waiting = CallOut(lambda: "done" if gone_on.wait(10) else "held up")
        return [*await asyncio.gather(store.run(waiting), go_on()), await store.run(CallOut(failing))]

    assert asyncio.run(run()) == ["done", None, "failed: full"]

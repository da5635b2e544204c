"""The asynchronous store sends what the other one sends, and gives what it gives."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from tests.modeling.shop import Customer, Order, Product, Status, customer_with_orders, order, orders_by_status, shop
from tests.modeling.test_transactions import ServiceError
from torusdb import Database
from torusdb.errors import ServiceError as DatabaseError
from torusdb.modeling import (
    AsyncStore,
    BatchGet,
    BatchIncomplete,
    ConditionFailed,
    Delete,
    Get,
    PlanRefused,
    Put,
    Ref,
    ReturningOld,
    Scan,
    Store,
    TransactGet,
    TransactionFailed,
    Update,
)


class Client:
    """Both kinds of client on a database, which write down what goes through them."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def call(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self.requests.append((method, parameters))
        operation = "".join(word.capitalize() for word in method.split("_"))
        try:
            return self.db.call(operation, parameters)
        except DatabaseError as error:
            raise ServiceError(error.code, Item=getattr(error, "item", None)) from error


class Sync(Client):
    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        return lambda **parameters: self.call(method, parameters)


class Async(Client):
    def __getattr__(self, method: str) -> Callable[..., Awaitable[dict[str, Any]]]:
        async def call(**parameters: Any) -> dict[str, Any]:
            return self.call(method, parameters)

        return call


def everything_sync(store: Store) -> list[Any]:
    found: list[Any] = []
    store.put_many([order(number, total=Decimal(number)) for number in range(30)])
    ann = Customer(id="1", name="Ann")
    store.insert(ann)
    book = Product(code="b", name="Book", shelf=3)
    store.put(book)
    found.append(store.get(Customer, id="1"))
    found.append(store.update(ann, Customer.orders.add(1)))
    found.append(store.run(Update(book, Product.shelf.set(4))))
    found += store.run(orders_by_status(Status.OPEN, date(2024, 3, 1), date(2024, 3, 2)).page_size(7))
    found += store.run(Order.all_by_day.query().page_size(3))
    results = store.run(customer_with_orders("1").limit(4))
    found += results
    found.append(results.cursor)
    found.append(store.run(Order.key.query(Order.customer == "1")).first())
    found.append(store.run(Order.key.query(Order.customer == "1").count()))
    found.append(store.run(Order.all_by_day.query().count()))
    found += store.run(Scan(Order).page_size(9)).all()
    found += store.get_many([Ref(Customer, id="1"), Ref(Customer, id="2")])
    found += store.run(BatchGet([Ref(Customer, id="1")]))
    found.append(store.run(Get(Customer, id="1")))
    with pytest.raises(ConditionFailed):
        store.put(ann, when=Customer.orders > 7)
    store.run(Put(Customer(id="2")))
    store.run(Delete(Ref(Customer, id="2")))
    store.delete(ann)
    store.delete_many(order(number) for number in range(5))
    found.append(store.run(Order.key.query(Order.customer == "1").count()))
    found.append(store.upsert(Ref(Customer, id="3"), Customer.orders.add(1)))
    found += store.transact_get(Ref(Customer, id="3"), Ref(Product, code="b"))
    found += store.run(TransactGet(Ref(Customer, id="3"), Ref(Customer, id="4")))
    found.append(store.run(ReturningOld(Delete(Ref(Customer, id="3")))))
    with store.transaction(others=[store], token="once") as transaction:
        transaction.upsert(Ref(Customer, id="5"), Customer.name.set("Eve"))
    found.append(store.get(Customer, id="5"))
    return found


async def everything_async(store: AsyncStore) -> list[Any]:
    found: list[Any] = []
    await store.put_many([order(number, total=Decimal(number)) for number in range(30)])
    ann = Customer(id="1", name="Ann")
    await store.insert(ann)
    book = Product(code="b", name="Book", shelf=3)
    await store.put(book)
    found.append(await store.get(Customer, id="1"))
    found.append(await store.update(ann, Customer.orders.add(1)))
    found.append(await store.run(Update(book, Product.shelf.set(4))))
    found += [
        each async for each in store.run(orders_by_status(Status.OPEN, date(2024, 3, 1), date(2024, 3, 2)).page_size(7))
    ]
    found += await store.run(Order.all_by_day.query().page_size(3)).all()
    results = store.run(customer_with_orders("1").limit(4))
    found += await results.all()
    found.append(results.cursor)
    found.append(await store.run(Order.key.query(Order.customer == "1")).first())
    found.append(await store.run(Order.key.query(Order.customer == "1").count()))
    found.append(await store.run(Order.all_by_day.query().count()))
    found += await store.run(Scan(Order).page_size(9)).all()
    found += await store.get_many([Ref(Customer, id="1"), Ref(Customer, id="2")])
    found += await store.run(BatchGet([Ref(Customer, id="1")]))
    found.append(await store.run(Get(Customer, id="1")))
    with pytest.raises(ConditionFailed):
        await store.put(ann, when=Customer.orders > 7)
    await store.run(Put(Customer(id="2")))
    await store.run(Delete(Ref(Customer, id="2")))
    await store.delete(ann)
    await store.delete_many(order(number) for number in range(5))
    found.append(await store.run(Order.key.query(Order.customer == "1").count()))
    found.append(await store.upsert(Ref(Customer, id="3"), Customer.orders.add(1)))
    found += await store.transact_get(Ref(Customer, id="3"), Ref(Product, code="b"))
    found += await store.run(TransactGet(Ref(Customer, id="3"), Ref(Customer, id="4")))
    found.append(await store.run(ReturningOld(Delete(Ref(Customer, id="3")))))
    async with store.transaction(others=[store], token="once") as transaction:
        transaction.upsert(Ref(Customer, id="5"), Customer.name.set("Eve"))
    found.append(await store.get(Customer, id="5"))
    return found


def in_order(requests: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Requests that go out together come in any order."""
    return sorted(map(repr, requests))


def test_both_stores_do_the_same() -> None:
    import torusdb

    with torusdb.open() as one, torusdb.open() as other:
        sync, asynchronous = Sync(one), Async(other)
        for db in (one, other):
            db.call("CreateTable", {**shop.create_parameters(), "TableName": "shop-prod"})
        found = everything_sync(Store(shop, sync, table_name="shop-prod"))
        assert asyncio.run(everything_async(AsyncStore(shop, asynchronous, table_name="shop-prod"))) == found
        assert in_order(sync.requests) == in_order(asynchronous.requests)
        assert len(found) > 100


def test_asynchronous_transactions() -> None:
    requests: list[dict[str, Any]] = []
    error: list[Exception] = []

    class Transactional:
        async def transact_write_items(self, **parameters: Any) -> dict[str, Any]:
            requests.append(parameters)
            if error:
                raise error[0]
            return {}

    async def fail(store: AsyncStore) -> None:
        async with store.transaction() as transaction:
            transaction.put(Customer(id="1"))
            raise KeyError

    async def run() -> None:
        store = AsyncStore(shop, Transactional())
        async with store.transaction() as transaction:
            transaction.put(Customer(id="1"))
        assert [list(each) for each in requests[0]["TransactItems"]] == [["Put"]]
        with pytest.raises(KeyError):
            await fail(store)
        assert len(requests) == 1
        error.append(
            ServiceError("TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}])
        )
        with pytest.raises(TransactionFailed, match="TransactionConflict"):
            async with store.transaction() as transaction:
                transaction.put(Customer(id="1"))

    asyncio.run(run())


def test_asynchronous_pauses() -> None:
    pauses: list[float] = []

    class Nothing:
        async def batch_write_item(self, **parameters: Any) -> dict[str, Any]:
            return {"UnprocessedItems": parameters["RequestItems"]}

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def run() -> None:
        store = AsyncStore(shop, Nothing(), sleep=sleep, random=lambda: 1.0)
        with pytest.raises(BatchIncomplete):
            await store.put_many([Customer(id="1")])

    asyncio.run(run())
    assert pauses == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0])


def test_an_asynchronous_store_is_of_its_table() -> None:
    other = AsyncStore(type(shop)("other", partition_key="pk"), None)
    with pytest.raises(PlanRefused, match=r"^This is of the table shop, and the store is of other$"):
        other.run(Order.key.query(Order.customer == "1"))

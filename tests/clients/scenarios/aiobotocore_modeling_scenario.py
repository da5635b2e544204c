"""The design kit's AsyncStore on aiobotocore. Run by `test_other_clients.py`, in a venv that has aiobotocore and
nothing that TorusDB itself needs: the kit needs none of it."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta

from aiobotocore.session import get_session

from torusdb.modeling import (
    AsyncStore,
    Attr,
    ConditionFailed,
    Count,
    Delete,
    Entity,
    Get,
    GlobalIndex,
    Key,
    Query,
    Ref,
    ReturningOld,
    Scan,
    Table,
    TransactionFailed,
    attr,
    pattern,
    random_shard,
    ttl,
    version,
)

by_time = GlobalIndex("times", partition_key="tpk", sort_key="tsk")
shop = Table("model", partition_key="pk", sort_key="sk", indexes=[by_time])
START = datetime(2024, 3, 1, tzinfo=UTC)


class Customer(Entity, table=shop):
    key = Key("CUSTOMER#{id}", "PROFILE")
    id: Attr[str]
    photo: Attr[bytes] = attr(default=b"")
    orders: Attr[int] = attr(default=0)
    revision: Attr[int] = version()


class Order(Entity, table=shop):
    key = Key("CUSTOMER#{customer}", "ORDER#{number:04}")
    by_time = Key("ORDERS", "{placed}", index=by_time, shard_by="shard")
    customer: Attr[str]
    number: Attr[int]
    placed: Attr[datetime]
    kept_until: Attr[datetime | None] = ttl(default=None, hide_expired=True)
    shard: Attr[int] = attr(default_factory=random_shard(5))


class Reads:
    @pattern("A customer")
    @staticmethod
    def customer(customer_id: str) -> Get[Customer]:
        return Get(Customer, id=customer_id)

    @pattern("A customer's orders")
    @staticmethod
    def orders_of(customer: str) -> Query[Order]:
        return Order.key.query(Order.customer == customer)

    @pattern("How many orders there are")
    @staticmethod
    def order_count() -> Count[Order]:
        return Order.by_time.query().count()


class Shop(Reads, AsyncStore): ...


def orders(count: int) -> list[Order]:
    return [Order(customer="ann", number=each, placed=START + timedelta(hours=each)) for each in range(count)]


async def tables(store: Shop) -> None:
    await store.create_table()


async def writes(store: Shop) -> None:
    ann = Customer(id="ann", photo=bytes(range(256)))
    await store.insert(ann)
    assert await store.customer("ann") == ann
    assert await store.customer("bob") is None
    assert (await store.update(ann, Customer.orders.add(2))).revision == 2
    assert (await store.upsert(Ref(Customer, id="bob"), Customer.orders.add(1))).orders == 1
    old = await store.run(ReturningOld(Delete(Ref(Customer, id="bob"))))
    assert old is not None


async def conditions(store: Shop) -> None:
    try:
        await store.insert(Customer(id="ann"))
    except ConditionFailed as error:
        assert error.entity.photo == bytes(range(256))
    else:
        raise AssertionError("there is one")
    added = await asyncio.gather(*(store.update(Ref(Customer, id="ann"), Customer.orders.add(1)) for _ in range(30)))
    assert sorted(each.orders for each in added) == list(range(3, 33)), "no update is lost"


async def batches(store: Shop) -> None:
    await store.put_many(orders(120))
    refs = [Ref(Order, customer="ann", number=number) for number in range(125)]
    found = await store.get_many(refs)
    assert [each and each.number for each in found] == [*range(120), *[None] * 5]


async def pages(store: Shop) -> None:
    numbers = [each.number async for each in store.orders_of("ann")]
    assert numbers == list(range(120))
    merged = await store.run(Order.by_time.query().page_size(7)).all()
    assert [each.number for each in merged] == list(range(120)), "of five shards, in order"
    assert await store.order_count() == 120
    query = Order.by_time.query()
    results = store.run(query.limit(50))
    first = await results.all()
    rest = await store.run(query.after(results.cursor)).all()
    assert [each.number for each in first + rest] == list(range(120))
    assert len(await store.run(Scan(Order).segments(3)).all()) == 120


async def transactions(store: Shop) -> None:
    last, ann = Ref(Order, customer="ann", number=119), Ref(Customer, id="ann")
    async with store.transaction(token="once") as transaction:
        transaction.delete(last)
        transaction.update(ann, Customer.orders.set(0))
    order, customer = await store.transact_get(last, ann)
    assert order is None
    assert customer is not None
    assert customer.orders == 0
    try:
        async with store.transaction() as transaction:
            transaction.insert(Customer(id="eve"))
            transaction.check(ann, Customer.orders > 0)
    except TransactionFailed as error:
        assert [each and each.code for each in error.reasons] == [None, "ConditionalCheckFailed"]
    else:
        raise AssertionError("ann has no orders")
    assert await store.customer("eve") is None


async def expiry(store: Shop) -> None:
    (one,) = orders(1)
    one.kept_until = datetime.now(UTC) - timedelta(minutes=1)
    await store.put(one)
    assert await store.get(Order, customer="ann", number=0) is None
    assert await store.order_count() == 118


async def main() -> None:
    async with get_session().create_client("dynamodb", endpoint_url=os.environ["ENDPOINT"]) as client:
        store = Shop(shop, client, table_name="model-prod")
        for step in (tables, writes, conditions, batches, pages, transactions, expiry):
            await step(store)
            print(step.__name__, flush=True)


asyncio.run(main())

"""What type checkers must know of a model. Lines that end in `# error` must be errors, and no others; `reveal_type`
answers with what the comment says. It is read, never run."""
# mypy: disable-error-code="unused-ignore"

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, reveal_type

from torusdb.modeling import (
    AsyncStore,
    Attr,
    BatchGet,
    Check,
    Count,
    Delete,
    Entity,
    Get,
    Key,
    Meter,
    Put,
    Query,
    Ref,
    ReturningOld,
    Store,
    Table,
    TransactGet,
    TransactionWrites,
    Update,
    Upsert,
    attr,
    changes,
    collection,
    computed,
    pattern,
    version,
)
from torusdb.modeling.blocks.holding import hold
from torusdb.modeling.blocks.locks import Locks
from torusdb.modeling.context import Context
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, work_of

shop = Table("shop", partition_key="pk", sort_key="sk")


class Customer(Entity, table=shop):
    key = Key("CUSTOMER#{id}", "PROFILE")
    id: Attr[str]
    age: Attr[int]
    nickname: Attr[str | None] = attr(default=None)
    tags: Attr[set[str]] = attr(default_factory=set)
    notes: Attr[list[str]] = attr(default_factory=list)
    revision: Attr[int] = version()
    label: Attr[str] = computed(lambda customer: customer.id, needs=["id"])


class Order(Entity, table=shop):
    key = Key("CUSTOMER#{customer}", "ORDER#{number:08}")
    customer: Attr[str]
    number: Attr[int]
    placed: Attr[datetime]
    total: Attr[Decimal]


ann = Customer(id="1", age=3)
Customer(id=3, age=3)  # error
Customer(id="1")  # error
Customer(id="1", age=3, size=3)  # error
Customer(id="1", age=3, label="x")  # error
Customer("1", 3)  # error

reveal_type(ann.id)  # str
reveal_type(ann.nickname)  # str | None
reveal_type(Customer.age)  # torusdb.modeling.attributes.Attribute[int]
ann.age = 4
ann.age = "x"  # error

has_age = Customer.age == 3
reveal_type(has_age)  # torusdb.modeling.expressions.Condition
Order.key.query(Customer.age == "3")  # error
older = Customer.age > "3"  # error
Customer.age.between(1, 2)
Customer.age.between("a", 2)  # error
Customer.age.begins_with("a")  # error
Customer.nickname.begins_with("a")
Customer.tags.contains("a")
Customer.tags.contains(1)  # error
Order.placed.between(date(2024, 1, 1), date(2024, 1, 2))
since = Order.placed >= datetime(2024, 1, 1, tzinfo=UTC)

Customer.age.set(3)
Customer.age.set("3")  # error
Customer.age.add(3)
Customer.id.add(3)  # error
Order.total.add(Decimal(1))
Customer.notes.append(["a"])
Customer.notes.append([1])  # error
Customer.tags.add_to({"a"})
Customer.tags.add_to({1})  # error

query = Order.key.query(Order.customer == "1")
reveal_type(query)  # torusdb.modeling.queries.Query[typed.Order]
reveal_type(query.limit(3).reverse())  # torusdb.modeling.queries.Query[typed.Order]
reveal_type(query.only(Order.number, Order.total))  # torusdb.modeling.reads.Read[tuple[int, decimal.Decimal]]
reveal_type(collection(Customer.key, Order.key).query())  # torusdb.modeling.queries.Query[typed.Customer | typed.Order]


@pattern("Orders of a customer")
def orders_of(customer: str) -> Query[Order]:
    return Order.key.query(Order.customer == customer)


class ShopReads:
    orders_of = orders_of

    @pattern("A customer")
    @staticmethod
    def customer(customer_id: str) -> Get[Customer]:
        return Get(Customer, id=customer_id)

    @pattern("The last of a customer's orders")
    @staticmethod
    def last_orders(customer: str, limit: int = 10) -> Query[Order]:
        return Order.key.query(Order.customer == customer).newest_first().limit(limit)

    @pattern("How many orders a customer has")
    @staticmethod
    def order_count(customer: str) -> Count[Order]:
        return Order.key.query(Order.customer == customer).count()

    @pattern("Customers by their ids")
    @staticmethod
    def customers(ids: list[str]) -> BatchGet[Customer]:
        return BatchGet([Ref(Customer, id=each) for each in ids])


class Shop(ShopReads, Store): ...


class AsyncShop(ShopReads, AsyncStore): ...


def use_shop(mine: Shop) -> None:
    reveal_type(mine.orders_of("1"))  # torusdb.modeling.results.Results[typed.Order]
    reveal_type(mine.last_orders("1", limit=3).all())  # list[typed.Order]
    reveal_type(mine.customer("1"))  # typed.Customer | None
    reveal_type(mine.order_count("1"))  # int
    reveal_type(mine.customers(["1"]))  # list[typed.Customer | None]
    reveal_type(ShopReads.last_orders("1"))  # torusdb.modeling.queries.Query[typed.Order]
    reveal_type(Shop.customer("1"))  # torusdb.modeling.plans.Get[typed.Customer]
    reveal_type(mine.run(Shop.customer("1")))  # typed.Customer | None
    reveal_type(ShopReads.last_orders.explanation.requests)  # int
    mine.orders_of(1)  # error
    mine.customer()  # error
    mine.last_orders("1", count=3)  # error
    ShopReads().customer("1")  # error


async def use_async_shop(mine: AsyncShop) -> None:
    reveal_type(mine.orders_of("1"))  # torusdb.modeling.results.AsyncResults[typed.Order]
    reveal_type(await mine.customer("1"))  # typed.Customer | None
    reveal_type(await mine.order_count("1"))  # int
    reveal_type(await mine.customers(["1"]))  # list[typed.Customer | None]
    reveal_type(AsyncShop.last_orders("1"))  # torusdb.modeling.queries.Query[typed.Order]
    mine.customer(1)  # error


class Birthday(Task[int]):
    def work(self, context: Context) -> Work[int]:
        customer = yield from work_of(Get(Customer, id="1"), context)
        reveal_type(customer)  # typed.Customer | None
        reveal_type((yield from work_of(query, context)))  # list[typed.Order]
        older = yield from work_of(Update(Ref(Customer, id="1"), Customer.age.add(1)), context)
        return older.age


def use(store: Store) -> None:
    reveal_type(store.get(Customer, id="1"))  # typed.Customer | None
    reveal_type(store.get(Customer, id="1", consistent=True))  # typed.Customer | None
    store.get(Customer, id="1", consistent="yes")  # error
    meter = Meter()
    Store(shop, None, observe=meter)
    Store(shop, None, observe=lambda call: print(call.capacity_units))
    Store(shop, None, observe=3)  # error
    reveal_type(meter.calls[0].items_read)  # int
    reveal_type(store.run(orders_of("1")).all())  # list[typed.Order]
    orders_of(1)  # error
    orders_of()  # error
    reveal_type(store.run(Get(Customer, id="1")))  # typed.Customer | None
    reveal_type(store.run(query.count()))  # int
    reveal_type(store.update(ann, Customer.age.add(1)))  # typed.Customer
    reveal_type(store.run(Update(Ref(Customer, id="1"), Customer.age.add(1))))  # typed.Customer
    for order in store.run(query):
        reveal_type(order)  # typed.Order
    store.put(3)  # error
    one, other = Ref(Customer, id="1"), Ref(Order, customer="1", number=1)
    reveal_type(store.upsert(one, Customer.age.add(1)))  # typed.Customer
    store.upsert(ann, Customer.age.add(1))  # error
    reveal_type(store.transact_get(one, other))  # tuple[typed.Customer | None, typed.Order | None]
    reveal_type(store.transact_get(one, one, other)[2])  # typed.Order | None
    reveal_type(store.transact_get(*[one, one], others=[store]))  # tuple[typed.Customer | None, ...]
    reveal_type(store.run(TransactGet(one, other)))  # tuple[typed.Customer | None, typed.Order | None]
    reveal_type(store.run(ReturningOld(Delete(one))))  # typed.Customer | None
    store.run(ReturningOld(Check(one, has_age)))  # error
    reveal_type(store.run(Birthday()))  # int
    with store.transaction(others=[store], token="once") as transaction:
        transaction.add(Put(ann), Upsert(one), Check(one, has_age))
        transaction.add(ann)  # error
        transaction.insert(ann, otherwise=KeyError("taken"))
        transaction.check(one, has_age, otherwise=lambda stored: KeyError(stored.age))
        transaction.check(one, has_age, otherwise="no")  # error
    reveal_type(store.transact(grow))  # int
    store.transact(lambda store: store.get(Customer, id="1"))  # error
    reveal_type(orders_of.sample_plan())  # torusdb.modeling.queries.Query[typed.Order]


def grow(transaction: TransactionWrites) -> int:
    transaction.update(Ref(Customer, id="1"), Customer.age.add(1))
    return 1


async def grow_later(transaction: TransactionWrites) -> int:
    return grow(transaction)


def use_changes(records: list[dict[str, Any]]) -> None:
    for change in changes(shop, records, unknown="skip"):
        reveal_type(change.new)  # torusdb.modeling.entity.Entity | None
        reveal_type(change.sequence_number)  # str
        if isinstance(change.old, Customer):
            reveal_type(change.old.age)  # int
        placed = change.of(Order)
        if placed is not None and placed.new is not None:
            reveal_type(placed.ref)  # torusdb.modeling.plans.Ref[typed.Order]
            reveal_type(placed.new.total)  # decimal.Decimal
    for ordered in changes(shop, records, unknown="skip", of=Order):
        reveal_type(ordered.old)  # typed.Order | None
    changes(shop, records)  # error
    changes(shop, records, unknown="skp")  # error


async def use_async(store: AsyncStore) -> None:
    reveal_type(await store.get(Customer, id="1"))  # typed.Customer | None
    reveal_type(await store.transact(grow_later))  # int
    await store.transact(grow)  # error
    reveal_type(await store.run(Get(Customer, id="1")))  # typed.Customer | None
    async for order in store.run(query):
        reveal_type(order)  # typed.Order
    one, other = Ref(Customer, id="1"), Ref(Order, customer="1", number=1)
    reveal_type(await store.upsert(one, Customer.age.add(1)))  # typed.Customer
    reveal_type(await store.transact_get(one, other))  # tuple[typed.Customer | None, typed.Order | None]
    reveal_type(await store.run(ReturningOld(Put(ann))))  # typed.Customer | None
    reveal_type(await store.run(Birthday()))  # int


def use_locks(store: Store, locks: Locks) -> None:
    with hold(store, locks.acquire("a")) as held, store.transaction() as transaction:
        reveal_type(held.token)  # int
        transaction.add(held.check())
    with hold(store, locks.try_acquire("a")) as maybe:
        maybe.check()  # error
    hold(store, locks.look("a"))  # error
    hold(store, Get(Customer, id="1"))  # error


async def use_locks_async(store: AsyncStore, locks: Locks) -> None:
    async with hold(store, locks.acquire("a")) as held:
        reveal_type(held.is_held)  # bool
    async with hold(store, locks.try_acquire("a")) as maybe:
        maybe.check()  # error

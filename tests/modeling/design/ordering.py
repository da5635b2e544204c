"""A model with an index of each kind, and what is planned for it."""

from __future__ import annotations

from enum import Enum
from typing import Any

from torusdb.modeling import (
    Attr,
    BatchGet,
    Count,
    Entity,
    Get,
    GlobalIndex,
    Key,
    LocalIndex,
    Query,
    Ref,
    Scan,
    Table,
    attr,
    collection,
    pattern,
)
from torusdb.modeling.design import Design, Workload, plan
from torusdb.modeling.design.capacity import Plan


class Status(Enum):
    OPEN = "open"
    SENT = "sent"


by_status = GlobalIndex("by_status", partition_key="gsi1pk", sort_key="gsi1sk")
by_day = GlobalIndex("by_day", partition_key="gsi2pk", sort_key="gsi2sk", include=["number"])
by_size = LocalIndex("by_size", sort_key="lsi1sk")
shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[by_status, by_day, by_size])


class Customer(Entity, table=shop):
    key = Key("CUSTOMER#{id}", "A")
    id: Attr[str]
    text: Attr[str] = attr(default="")


class Order(Entity, table=shop):
    key = Key("CUSTOMER#{customer}", "ORDER#{number:08}")
    by_status = Key("ORDERS#{status}", "{number:08}", index=by_status, shards=4, shard_by="number")
    by_day = Key("DAY#{day}", "{number:08}", index=by_day)
    by_size = Key(sort="{size:08}", index=by_size)
    customer: Attr[str]
    number: Attr[int]
    status: Attr[Status] = attr(default=Status.OPEN)
    day: Attr[str | None] = attr(default="MONDAY")
    size: Attr[int] = attr(default=7)
    text: Attr[str] = attr(default="")


@pattern("A customer")
def customer() -> Get[Customer]:
    return Get(Customer, id="1")


@pattern("A customer, as just written")
def customer_now() -> Get[Customer]:
    return Get(Customer, id="1").consistent()


@pattern("Orders by their keys")
def some_orders() -> BatchGet[Order]:
    return BatchGet([Ref(Order, customer="1", number=number) for number in range(7)])


@pattern("Orders of a customer")
def orders() -> Query[Order]:
    return Order.key.query(Order.customer == "1")


@pattern("Orders of a customer, as just written")
def orders_now() -> Query[Order]:
    return Order.key.query(Order.customer == "1").consistent()


@pattern("The last orders of a customer")
def last_orders() -> Query[Order]:
    return Order.key.query(Order.customer == "1").newest_first().limit(5)


@pattern("Orders of a customer, three at a time")
def orders_by_three() -> Query[Order]:
    return Order.key.query(Order.customer == "1").page_size(3)


@pattern("A customer with orders")
def with_orders() -> Query[Customer | Order]:
    return collection(Customer.key, Order.key).query(Customer.id == "1")


@pattern("Large orders of a customer", filter_keeps=0.5)
def large_orders() -> Query[Order]:
    return Order.key.query(Order.customer == "1").filter(Order.status == Status.OPEN)


@pattern("Orders of a status")
def of_status() -> Query[Order]:
    return Order.by_status.query(Order.status == Status.OPEN)


@pattern("The first orders of a status")
def first_of_status() -> Query[Order]:
    return Order.by_status.query(Order.status == Status.OPEN).limit(2)


@pattern("An order's shard of a status")
def shard_of_status() -> Query[Order]:
    return Order.by_status.query(Order.status == Status.OPEN, Order.number == 3)


@pattern("Numbers of a day")
def of_day() -> Query[Any]:
    return Order.by_day.query(Order.day == "MONDAY").only(Order.number)  # type: ignore[return-value]


@pattern("Orders of a customer by size")
def of_size() -> Query[Order]:
    return Order.by_size.query(Order.customer == "1")


@pattern("How many orders a customer has")
def how_many() -> Count[Order]:
    return Order.key.query(Order.customer == "1").count()


@pattern("All orders", allow_scan=True)
def all_orders() -> Scan[Order]:
    return Scan(Order)


def planned(*expectations: Any, **options: Any) -> Plan:
    return plan(Design("shop", [shop], Workload(*expectations, **options)))

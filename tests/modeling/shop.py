"""The model of most of these tests: a shop in one table, with indexes that are sparse, overloaded, sharded, local."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum

from torusdb.modeling import (
    Attr,
    Entity,
    GlobalIndex,
    Key,
    LocalIndex,
    Query,
    Table,
    attr,
    collection,
    computed,
    pattern,
    version,
)


class Status(Enum):
    OPEN = "open"
    PAID = "paid"
    SENT = "sent"


@dataclass
class Address:
    street: str
    city: str
    zip_code: str | None = None


emails = GlobalIndex("emails", partition_key="email_pk", sort_key="email_sk")
overloaded = GlobalIndex("gsi1", partition_key="gsi1pk", sort_key="gsi1sk")
by_day = GlobalIndex("gsi2", partition_key="gsi2pk", sort_key="gsi2sk")
by_total = LocalIndex("lsi1", sort_key="lsi1sk")
shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[emails, overloaded, by_day, by_total])


class Customer(Entity, table=shop):
    """A person who buys."""

    key = Key("CUSTOMER#{id}", "PROFILE")
    by_email = Key("EMAIL#{email}", "CUSTOMER", index=emails)
    id: Attr[str]
    name: Attr[str] = attr(default="")
    email: Attr[str | None] = attr(default=None)
    address: Attr[Address | None] = attr(default=None)
    tags: Attr[set[str]] = attr(default_factory=set)
    notes: Attr[list[str]] = attr(default_factory=list)
    orders: Attr[int] = attr(default=0)


class Order(Entity, table=shop):
    key = Key("CUSTOMER#{customer}", "#ORDER#{number:newest_first}")
    by_status = Key("ORDERS#{status}", "{placed}#{number:08}", index=overloaded)
    all_by_day = Key("ORDERS", "{placed}#{customer}", index=by_day, shards=4, shard_by="number")
    by_total = Key(sort="TOTAL#{total:012.2}", index=by_total)
    customer: Attr[str]
    number: Attr[int]
    status: Attr[Status]
    placed: Attr[datetime]
    total: Attr[Decimal]
    comment: Attr[str | None] = attr(default=None)


class Product(Entity, table=shop):
    key = Key("PRODUCT#{code}", "PRODUCT")
    by_shelf = Key("SHELF#{shelf}", "{label}", index=overloaded)
    code: Attr[str] = attr(read_only=True)
    name: Attr[str]
    shelf: Attr[int]
    stock: Attr[int] = attr(default=10, name="n")
    label: Attr[str] = computed(lambda product: f"{product.name} ({product.shelf})", needs=["name", "shelf"])
    revision: Attr[int] = version()


@pattern("A customer's profile and orders, newest first")
def customer_with_orders(customer: str) -> Query[Customer | Order]:
    return collection(Customer.key, Order.key).query(Customer.id == customer)


@pattern("Orders of a status in a range of days")
def orders_by_status(status: Status, since: date, until: date) -> Query[Order]:
    return Order.by_status.query(Order.status == status, Order.placed.between(since, until))


MIDNIGHT = datetime(2024, 3, 1, tzinfo=UTC)


def order(number: int, customer: str = "1", status: Status = Status.OPEN, **values: object) -> Order:
    """An order, placed as many hours after midnight as its number says."""
    filled = {"placed": MIDNIGHT + timedelta(hours=number), "total": Decimal(number), **values}
    return Order(customer=customer, number=number, status=status, **filled)  # type: ignore[arg-type]

"""Designs with faults, for the tests of the lints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from torusdb.modeling import (
    Attr,
    Entity,
    GlobalIndex,
    Key,
    Query,
    Table,
    collection,
    pattern,
)
from torusdb.modeling.design import Design, Finding, Workload, lint
from torusdb.modeling.table import Index


class Status(Enum):
    OPEN = "open"
    SENT = "sent"


def table(*indexes: Index, name: str = "things") -> Table:
    return Table(name, partition_key="pk", sort_key="sk", indexes=indexes)


def design(*tables: Table, workload: Workload | None = None) -> Design:
    return Design("design", list(tables), workload or Workload())


def found(rule: str, *tables: Table, workload: Workload | None = None) -> list[Finding]:
    return [each for each in lint(design(*tables, workload=workload)) if each.rule == rule]


def one(rule: str, *tables: Table, workload: Workload | None = None) -> Finding:
    (finding,) = found(rule, *tables, workload=workload)
    return finding


def gsi(name: str = "gsi1", **options: Any) -> GlobalIndex:
    return GlobalIndex(name, partition_key=f"{name}pk", sort_key=f"{name}sk", **options)


@dataclass
class Shop:
    table: Table
    order: Any
    of_status: Any
    index: GlobalIndex


def shop_by_status(shards: int = 1) -> Shop:
    """Orders that an index finds by their status."""
    index = gsi()
    shop = table(index)
    sharding: dict[str, Any] = {"shards": shards, "shard_by": "number"} if shards > 1 else {}

    class Order(Entity, table=shop):
        key = Key("ORDER#{number}", "ORDER")
        by_status = Key("ORDERS#{status}", "{placed}", index=index, **sharding)
        number: Attr[int]
        status: Attr[Status]
        placed: Attr[datetime]

    @pattern("Orders of a status")
    def of_status(status: Status) -> Query[Order]:
        return Order.by_status.query(Order.status == status).limit(10)

    return Shop(shop, Order, of_status, index)


def shop_and_customers(reads: Callable[[Any, Any], Any] | None = None, **options: Any) -> Shop:
    """Customers with their orders; `reads` makes a pattern of them."""
    shop = table()

    class Customer(Entity, table=shop):
        key = Key("C#{id}", "PROFILE")
        id: Attr[str]

    class Order(Entity, table=shop):
        key = Key("C#{customer}", "ORDER#{number:08}")
        customer: Attr[str]
        number: Attr[int]
        status: Attr[Status]
        total: Attr[int]

    def both() -> Any:
        return collection(Customer.key, Order.key).query(Customer.id == "1")

    def read() -> Any:
        return both() if reads is None else reads(Customer, Order)

    made = pattern("It", **options)(read)
    return Shop(shop, Order, made, gsi())


def things_with(kind: Any, *indexes: Index, **key: Any) -> tuple[Table, Any]:
    things = table(*indexes)

    class Thing(Entity, table=things):
        key = Key("T#{id}", "THING#{part:08}")
        id: Attr[str]
        part: Attr[int]
        values: Attr[kind]

    return things, Thing

"""Single-table models in Python, for any DynamoDB client.

    from datetime import date, datetime, UTC

    recent = GlobalIndex("recent", partition_key="gpk", sort_key="gsk")
    shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[recent])

    class Customer(Entity, table=shop):
        key = Key("CUSTOMER#{id}", "PROFILE")
        id: Attr[str]
        email: Attr[str | None] = attr(default=None)
        orders: Attr[int] = attr(default=0)

    class Order(Entity, table=shop):
        key = Key("CUSTOMER#{customer}", "ORDER#{number:08}")
        by_status = Key("STATUS#{status}", "{placed}", index=recent)
        customer: Attr[str]
        number: Attr[int]
        placed: Attr[datetime]
        status: Attr[str] = attr(default="open")

    class ShopReads:
        @pattern("Orders of a status since a day, newest first")
        @staticmethod
        def orders_since(status: str, day: date) -> Query[Order]:
            return Order.by_status.query(Order.status == status, Order.placed >= day).newest_first()

    class Shop(ShopReads, Store): ...

    store = Shop(shop, client)  # client = boto3.client("dynamodb")
    store.create_table()
    store.insert(Customer(id="1", email="ann@example.com"))
    with store.transaction() as transaction:
        transaction.insert(Order(customer="1", number=7, placed=datetime(2024, 3, 1, tzinfo=UTC)))
        transaction.update(Ref(Customer, id="1"), Customer.orders.add(1))
    for order in store.orders_since("open", date(2024, 3, 1)):
        print(order.number)

**Declaring.** A `Table` has indexes (`GlobalIndex`, `LocalIndex`) whose key attributes hold texts, or what `number_key`
and `binary_key` say (`KeyAttribute`), and `TableOptions` (capacity as `Throughput`, stream, tags, encryption by a key
such as `AWS_MANAGED_KEY`, …), with which it is made. An `Entity` has attributes (`Attr`, with `attr`, `computed`,
`version` and `ttl` for what a type does not say, and `StoredAs` for values that are stored as others) and a `Key` for
the table and for each index that it is in; `random_shard` spreads a key's partition by chance, `shards=` by an
attribute's value. What cannot work is a `ModelError` where it is declared.

**Saying what.** On the class, an attribute is an `Attribute` and a key a `BoundKey`: `Order.status == "open"` is a
`Condition`, `Customer.orders.add(1)` an `Action`, `Order.key.query(…)` a `Query`. A `Ref` is an item by its key. Plans
are values that become one request each (a query of shards and a scan of segments several, a batch as many as it needs),
and say which: their `explain()` is an `Explanation`.

- Reading: `Get`, `BatchGet`, `TransactGet`, `Query`, `Scan` (both a `Read`), `Count`; several entities of one partition
  are a `Collection`, made by `collection`.
- Writing (a `Write` each): `Put` writes a whole entity in the place of whatever was there; with `new=True`, as `insert`
  does, only where there is none. `Update` changes some attributes of one that is there, `Upsert` also makes it,
  `Delete` removes it, `Check` only asks for a condition, within a transaction. `ReturningOld` gives what was there
  before.
- A `Pattern`, declared by `pattern`, is a named function that makes a plan for reading, tried when it is declared.

**Doing.** A `Store` runs plans on a boto3 client, an `AsyncStore` on one of aiobotocore; `table_name=` says what the
table is called there. Reads give `Results` (`AsyncResults`), objects to iterate over, with a `cursor` to go on from
later. A `Transaction` (`AsyncTransaction`) is a `with` block, a `Task` several requests as one value. `transact` reads,
decides and writes through a `TransactionWrites`, and again if somebody else was faster. With `observe=Meter()` a store
tells what each `Call` used. `changes` makes a `Change` of each record of a stream.

**What goes wrong** is a `ModelingError`: an `InvalidValue`, a `PlanRefused` or a `CursorRefused` before anything is
sent; `ConditionFailed`, `TransactionFailed` (with a `Reason` for each action; as a `Contention` where `transact` gives
up) and `BatchIncomplete` after; `TableNotFound`; `UnknownEntity` in a stream. Any other
exception is the client's own.

The package imports no client, and nothing else of TorusDB."""

from torusdb.modeling.attributes import Attr, Attribute, attr, computed, ttl, version
from torusdb.modeling.changes import Change, changes
from torusdb.modeling.codecs import StoredAs
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import (
    BatchIncomplete,
    ConditionFailed,
    Contention,
    CursorRefused,
    InvalidValue,
    ModelError,
    ModelingError,
    PlanRefused,
    Reason,
    TableNotFound,
    TransactionFailed,
    UnknownEntity,
)
from torusdb.modeling.expressions import Condition
from torusdb.modeling.keys import BoundKey, Key
from torusdb.modeling.metering import Call, Meter
from torusdb.modeling.options import AWS_MANAGED_KEY, TableOptions, Throughput
from torusdb.modeling.patterns import Pattern, pattern
from torusdb.modeling.plans import BatchGet, Check, Delete, Get, Put, Ref, ReturningOld, Update, Write
from torusdb.modeling.queries import Collection, Count, Query, collection
from torusdb.modeling.reads import Explanation, Read
from torusdb.modeling.results import AsyncResults, Results
from torusdb.modeling.scans import Scan
from torusdb.modeling.shards import random_shard
from torusdb.modeling.store import AsyncStore, Store
from torusdb.modeling.table import GlobalIndex, KeyAttribute, LocalIndex, Table, binary_key, number_key
from torusdb.modeling.tasks import Task
from torusdb.modeling.transact_gets import TransactGet
from torusdb.modeling.transactions import AsyncTransaction, Transaction, TransactionWrites
from torusdb.modeling.updates import Action
from torusdb.modeling.upserts import Upsert

__all__ = [
    "AWS_MANAGED_KEY",
    "Action",
    "AsyncResults",
    "AsyncStore",
    "AsyncTransaction",
    "Attr",
    "Attribute",
    "BatchGet",
    "BatchIncomplete",
    "BoundKey",
    "Call",
    "Change",
    "Check",
    "Collection",
    "Condition",
    "ConditionFailed",
    "Contention",
    "Count",
    "CursorRefused",
    "Delete",
    "Entity",
    "Explanation",
    "Get",
    "GlobalIndex",
    "InvalidValue",
    "Key",
    "KeyAttribute",
    "LocalIndex",
    "Meter",
    "ModelError",
    "ModelingError",
    "Pattern",
    "PlanRefused",
    "Put",
    "Query",
    "Read",
    "Reason",
    "Ref",
    "Results",
    "ReturningOld",
    "Scan",
    "Store",
    "StoredAs",
    "Table",
    "TableNotFound",
    "TableOptions",
    "Task",
    "Throughput",
    "TransactGet",
    "Transaction",
    "TransactionFailed",
    "TransactionWrites",
    "UnknownEntity",
    "Update",
    "Upsert",
    "Write",
    "attr",
    "binary_key",
    "changes",
    "collection",
    "computed",
    "number_key",
    "pattern",
    "random_shard",
    "ttl",
    "version",
]

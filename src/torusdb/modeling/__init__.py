"""Single-table models in Python, for any DynamoDB client.

    shop = Table("shop", partition_key="pk", sort_key="sk")

    class Customer(Entity, table=shop):
        key = Key("CUSTOMER#{id}", "PROFILE")
        id: Attr[str]
        email: Attr[str]

    store = Store(shop, boto3.client("dynamodb"))
    store.put(Customer(id="1", email="ann@example.com"))
    customer = store.get(Customer, id="1")

Entities declare attributes (`Attr`) and keys (`Key`); conditions, filters and updates are expressions on attributes;
plans (`Get`, `Query`, `Update`, …) are values that each make one request, and say which; patterns name them. A `Store`
runs plans on a boto3 client, an `AsyncStore` on one of aiobotocore. The package imports neither, and nothing else of
TorusDB."""

from torusdb.modeling.attributes import Attr, Attribute, attr, computed, ttl, version
from torusdb.modeling.changes import Change, changes
from torusdb.modeling.codecs import StoredAs
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import (
    BatchIncomplete,
    ConditionFailed,
    CursorRefused,
    InvalidValue,
    ModelError,
    ModelingError,
    PlanRefused,
    Reason,
    TransactionFailed,
    UnknownEntity,
)
from torusdb.modeling.expressions import Condition
from torusdb.modeling.keys import BoundKey, Key
from torusdb.modeling.patterns import Pattern, pattern
from torusdb.modeling.plans import BatchGet, Check, Delete, Get, Put, Ref, ReturningOld, Update, Write
from torusdb.modeling.queries import Collection, Count, Query, collection
from torusdb.modeling.reads import Explanation, Read
from torusdb.modeling.results import AsyncResults, Results
from torusdb.modeling.scans import Scan
from torusdb.modeling.shards import random_shard
from torusdb.modeling.store import AsyncStore, Store
from torusdb.modeling.table import GlobalIndex, KeyAttribute, LocalIndex, Table, binary_key, number_key
from torusdb.modeling.transact_gets import TransactGet
from torusdb.modeling.transactions import AsyncTransaction, Transaction
from torusdb.modeling.updates import Action
from torusdb.modeling.upserts import Upsert

__all__ = [
    "Action",
    "AsyncResults",
    "AsyncStore",
    "AsyncTransaction",
    "Attr",
    "Attribute",
    "BatchGet",
    "BatchIncomplete",
    "BoundKey",
    "Change",
    "Check",
    "Collection",
    "Condition",
    "ConditionFailed",
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
    "TransactGet",
    "Transaction",
    "TransactionFailed",
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

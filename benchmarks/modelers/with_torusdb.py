"""`torusdb.modeling` on boto3."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import boto3
import order as shop

from torusdb.modeling import Attr, Entity, GlobalIndex, Key, Store, Table, attr

by_status = GlobalIndex("gsi1", partition_key="gsi1pk", sort_key="gsi1sk")
table = Table(shop.TABLE, partition_key="pk", sort_key="sk", indexes=[by_status])


class Order(Entity, table=table):
    key = Key("CUSTOMER#{customer}", "ORDER#{number:08}")
    by_status = Key("ORDERS#{status}", "{placed}#{number:08}", index=by_status)
    customer: Attr[str]
    number: Attr[int]
    status: Attr[shop.Status]
    placed: Attr[datetime]
    total: Attr[Decimal]
    weight: Attr[float]
    comment: Attr[str | None] = attr(default=None)


def works(endpoint: str) -> dict[str, Any]:
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name=shop.REGION,
        aws_access_key_id=shop.CREDENTIAL,
        aws_secret_access_key=shop.CREDENTIAL,
    )
    store = Store(table, client)
    store.put_many(_order(number) for number in range(shop.ORDERS))
    return {
        "put": lambda: store.put(_order(shop.NUMBER)),
        "get": lambda: store.get(Order, customer=shop.CUSTOMER, number=shop.NUMBER),
        "query": lambda: store.run(Order.key.query(Order.customer == shop.CUSTOMER)).all(),
    }


def _order(number: int) -> Order:
    return Order(
        customer=shop.CUSTOMER,
        number=number,
        status=shop.Status.OPEN,
        placed=shop.placed(number),
        total=Decimal(shop.TOTAL),
        weight=shop.WEIGHT,
        comment=shop.COMMENT,
    )

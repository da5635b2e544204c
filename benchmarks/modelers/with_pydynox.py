"""pydynox, with a client in Rust. Its templates have no widths for numbers, so the program writes the keys."""

from decimal import Decimal
from typing import Any

import order as shop
from pydynox import DynamoDBClient, Model, ModelConfig
from pydynox.attributes import DatetimeAttribute, DecimalAttribute, EnumAttribute, NumberAttribute, StringAttribute


def works(endpoint: str) -> dict[str, Any]:
    dynamodb = DynamoDBClient(
        region=shop.REGION, access_key=shop.CREDENTIAL, secret_key=shop.CREDENTIAL, endpoint_url=endpoint
    )

    class Order(Model):
        model_config = ModelConfig(table=shop.TABLE, client=dynamodb)
        pk = StringAttribute(partition_key=True)
        sk = StringAttribute(sort_key=True)
        gsi1pk = StringAttribute()
        gsi1sk = StringAttribute()
        customer = StringAttribute()
        number = NumberAttribute()
        status = EnumAttribute(shop.Status)
        placed = DatetimeAttribute()
        total = DecimalAttribute()
        weight = NumberAttribute()
        comment = StringAttribute()

    customer = "PYDYNOX"

    def made(number: int) -> Order:
        placed = shop.placed(number)
        return Order(
            **shop.written_keys(customer, number, placed.isoformat()),
            customer=customer,
            number=number,
            status=shop.Status.OPEN,
            placed=placed,
            total=Decimal(shop.TOTAL),
            weight=shop.WEIGHT,
            comment=shop.COMMENT,
        )

    for number in range(shop.ORDERS):
        made(number).sync_save()

    def query() -> list[Any]:
        found = Order.sync_query(
            partition_key=f"CUSTOMER#{customer}", sort_key_condition=Order.sk.begins_with("ORDER#")
        )
        orders = list(found)
        assert len(orders) == shop.ORDERS
        return orders

    return {
        "put": lambda: made(shop.NUMBER).sync_save(),
        "get": lambda: Order.sync_get(pk=f"CUSTOMER#{customer}", sk=f"ORDER#{shop.NUMBER:08}"),
        "query": query,
    }

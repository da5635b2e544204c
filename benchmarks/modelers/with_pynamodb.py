"""PynamoDB. It has no enums of its own and no key templates: both are the program's."""

from typing import Any

import order as shop
from pynamodb.attributes import NumberAttribute, UnicodeAttribute, UTCDateTimeAttribute
from pynamodb.models import Model

PLACED = "%Y-%m-%dT%H:%M:%S.%f+0000"


def works(endpoint: str) -> dict[str, Any]:
    class Order(Model):
        class Meta:
            table_name = shop.TABLE
            host = endpoint
            region = shop.REGION
            aws_access_key_id = shop.CREDENTIAL
            aws_secret_access_key = shop.CREDENTIAL

        pk = UnicodeAttribute(hash_key=True)
        sk = UnicodeAttribute(range_key=True)
        gsi1pk = UnicodeAttribute()
        gsi1sk = UnicodeAttribute()
        customer = UnicodeAttribute()
        number = NumberAttribute()
        status = UnicodeAttribute()
        placed = UTCDateTimeAttribute()
        total = NumberAttribute()
        weight = NumberAttribute()
        comment = UnicodeAttribute(null=True)

    # A partition of its own, since what others write is not of its types.
    customer = "PYNAMODB"

    def made(number: int) -> Order:
        placed = shop.placed(number)
        return Order(
            **shop.written_keys(customer, number, placed.strftime(PLACED)),
            customer=customer,
            number=number,
            status=shop.Status.OPEN.value,
            placed=placed,
            total=float(shop.TOTAL),
            weight=shop.WEIGHT,
            comment=shop.COMMENT,
        )

    for number in range(shop.ORDERS):
        made(number).save()

    def query() -> list[Any]:
        orders = list(Order.query(f"CUSTOMER#{customer}", Order.sk.startswith("ORDER#")))
        assert len(orders) == shop.ORDERS
        return orders

    return {
        "put": lambda: made(shop.NUMBER).save(),
        "get": lambda: Order.get(f"CUSTOMER#{customer}", f"ORDER#{shop.NUMBER:08}"),
        "query": query,
    }

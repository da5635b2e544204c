"""boto3 and dicts: what a program does that has no library."""

from decimal import Decimal
from typing import Any

import boto3
import order as shop


def works(endpoint: str) -> dict[str, Any]:
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name=shop.REGION,
        aws_access_key_id=shop.CREDENTIAL,
        aws_secret_access_key=shop.CREDENTIAL,
    )
    key = {"pk": {"S": f"CUSTOMER#{shop.CUSTOMER}"}, "sk": {"S": f"ORDER#{shop.NUMBER:08}"}}

    def put() -> Any:
        return client.put_item(TableName=shop.TABLE, Item=_item(shop.NUMBER))

    def query() -> Any:
        return client.query(
            TableName=shop.TABLE,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues={":pk": key["pk"], ":sk": {"S": "ORDER#"}},
        )["Items"]

    return {"put": put, "get": lambda: client.get_item(TableName=shop.TABLE, Key=key)["Item"], "query": query}


def _item(number: int) -> dict[str, Any]:
    placed = shop.placed(number).isoformat()
    return {
        **{name: {"S": text} for name, text in shop.written_keys(shop.CUSTOMER, number, placed).items()},
        "customer": {"S": shop.CUSTOMER},
        "number": {"N": str(number)},
        "status": {"S": "open"},
        "placed": {"S": placed},
        "total": {"N": str(Decimal(shop.TOTAL))},
        "weight": {"N": str(shop.WEIGHT)},
        "comment": {"S": shop.COMMENT},
    }

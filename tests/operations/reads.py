"""What the tests of Query and Scan have in common: requests in a few words, and walks over all pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torusdb import Database

Item = dict[str, Any]


def item(**attributes: str | int | bytes) -> Item:
    """`item(pk="a", sk=1)`: strings, numbers and binaries."""
    return {name: value_of(value) for name, value in attributes.items()}


def value_of(value: str | int | bytes) -> dict[str, Any]:
    if isinstance(value, str):
        return {"S": value}
    return {"N": str(value)} if isinstance(value, int) else {"B": value}


def put(db: Database, table: str, *items: Item) -> None:
    for each in items:
        db.call("PutItem", {"TableName": table, "Item": each})


def conditions(text: str, /, **values: str | int | bytes) -> dict[str, Any]:
    """The parameters of a key condition: `conditions("pk = :p", p="a")`."""
    return {"KeyConditionExpression": text, "ExpressionAttributeValues": placeholders(**values)}


def placeholders(**values: str | int | bytes) -> Item:
    return {f":{name}": value_of(value) for name, value in values.items()}


def pages(db: Database, operation: str, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All pages from the request on, as an SDK's paginator goes."""
    start: dict[str, Any] = {}
    while True:
        page = db.call(operation, {**request, **start})
        yield page
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def read(db: Database, operation: str, request: Mapping[str, Any]) -> list[Item]:
    return [each for page in pages(db, operation, request) for each in page["Items"]]

"""aiobotocore: everything at once on one event loop. Run by `test_other_clients.py`, in a venv of its own."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from aiobotocore.session import get_session

TABLE = "Orders"
POLLS = {"Delay": 1, "MaxAttempts": 30}
EVERY_TYPE: dict[str, Any] = {
    "S": {"S": "é\n\u2028\U0001f40d"},
    "N": {"N": "-1.25"},
    "B": {"B": bytes(range(256))},
    "SS": {"SS": ["a", "b"]},
    "NS": {"NS": ["1", "2"]},
    "BS": {"BS": [b"\x00", b"\xff"]},
    "BOOL": {"BOOL": False},
    "NULL": {"NULL": True},
    "L": {"L": [{"S": ""}, {"L": []}, {"B": b"\x80"}]},
    "M": {"M": {"inner": {"M": {}}}},
}


def key(customer: str, number: int) -> dict[str, Any]:
    return {"Customer": {"S": customer}, "Number": {"N": str(number)}}


def order(number: int, **more: Any) -> dict[str, Any]:
    return {**key("ann", number), "State": {"S": "open" if number % 2 else "paid"}, **more}


async def tables(client: Any) -> None:
    schema = [{"AttributeName": "Customer", "KeyType": "HASH"}, {"AttributeName": "Number", "KeyType": "RANGE"}]
    by_state = [{"AttributeName": "State", "KeyType": "HASH"}, {"AttributeName": "Number", "KeyType": "RANGE"}]
    by_date = [{"AttributeName": "Customer", "KeyType": "HASH"}, {"AttributeName": "Date", "KeyType": "RANGE"}]
    await client.create_table(
        TableName=TABLE,
        KeySchema=schema,
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in [("Customer", "S"), ("Number", "N"), ("State", "S"), ("Date", "S")]
        ],
        GlobalSecondaryIndexes=[
            {"IndexName": "ByState", "KeySchema": by_state, "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
        LocalSecondaryIndexes=[{"IndexName": "ByDate", "KeySchema": by_date, "Projection": {"ProjectionType": "ALL"}}],
        BillingMode="PAY_PER_REQUEST",
    )
    await client.get_waiter("table_exists").wait(TableName=TABLE, WaiterConfig=POLLS)
    table = (await client.describe_table(TableName=TABLE))["Table"]
    assert table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE", table
    assert [index["IndexName"] for index in table["LocalSecondaryIndexes"]] == ["ByDate"]


async def values(client: Any) -> None:
    await client.put_item(TableName=TABLE, Item={**key("types", 1), **EVERY_TYPE})
    item = (await client.get_item(TableName=TABLE, Key=key("types", 1), ConsistentRead=True))["Item"]
    for name in ("SS", "NS", "BS"):
        item[name][name].sort()
    assert item == {**key("types", 1), **EVERY_TYPE}, item
    assert "Item" not in await client.get_item(TableName=TABLE, Key=key("types", 2))


async def conditions(client: Any) -> None:
    async def put_once() -> bool:
        try:
            await client.put_item(
                TableName=TABLE,
                Item=order(1),
                ConditionExpression="attribute_not_exists(Customer)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except client.exceptions.ConditionalCheckFailedException as error:
            assert error.response["Item"] == order(1)
            return False
        return True

    won = await asyncio.gather(*(put_once() for _ in range(20)))
    assert sum(won) == 1, "one of many wins"
    counted = await asyncio.gather(
        *(
            client.update_item(
                TableName=TABLE,
                Key=key("ann", 1),
                UpdateExpression="ADD Cents :one SET #s = if_not_exists(#s, :open)",
                ExpressionAttributeNames={"#s": "State"},
                ExpressionAttributeValues={":one": {"N": "1"}, ":open": {"S": "open"}},
                ReturnValues="UPDATED_NEW",
            )
            for _ in range(50)
        )
    )
    cents = sorted(int(answer["Attributes"]["Cents"]["N"]) for answer in counted)
    assert cents == list(range(1, 51)), "no update is lost"


async def errors(client: Any) -> None:
    try:
        await client.get_item(TableName="Absent", Key=key("ann", 1))
    except client.exceptions.ResourceNotFoundException as error:
        assert error.response["Error"]["Message"] == "Requested resource not found"
    else:
        raise AssertionError("an absent table is not found")
    try:
        await client.get_item(TableName=TABLE, Key={"Customer": {"S": "ann"}})
    except client.exceptions.ClientError as error:
        assert error.response["Error"]["Code"] == "ValidationException"
    else:
        raise AssertionError("half a key is refused")


async def batches(client: Any) -> None:
    payload = {"Pad": {"B": b"x" * 380_000}}
    items = [order(number, Date={"S": f"{number:03}"}, **payload) for number in range(1, 51)]
    for start in range(0, len(items), 25):
        left = {TABLE: [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]}
        while left:
            left = (await client.batch_write_item(RequestItems=left))["UnprocessedItems"]
    wanted: dict[str, Any] = {TABLE: {"Keys": [key("ann", number) for number in range(1, 51)]}}
    found, rounds = 0, 0
    while wanted:
        answer = await client.batch_get_item(RequestItems=wanted)
        found += len(answer["Responses"].get(TABLE, []))
        wanted = answer["UnprocessedKeys"]
        rounds += 1
    assert (found, rounds > 1) == (50, True), "an answer ends at 16 MB"


async def pages(client: Any) -> None:
    query = {"KeyConditionExpression": "Customer = :c", "ExpressionAttributeValues": {":c": {"S": "ann"}}}
    found = []
    async for page in client.get_paginator("query").paginate(TableName=TABLE, **query):
        found.append(len(page["Items"]))
    assert (sum(found), len(found) > 10) == (50, True), "a page ends at 1 MB"
    by_state = {
        "IndexName": "ByState",
        "KeyConditionExpression": "#s = :open AND #n BETWEEN :from AND :to",
        "ExpressionAttributeNames": {"#s": "State", "#n": "Number"},
        "ExpressionAttributeValues": {":open": {"S": "open"}, ":from": {"N": "5"}, ":to": {"N": "20"}},
        "ScanIndexForward": False,
        "PaginationConfig": {"PageSize": 3},
    }
    numbers = []
    async for page in client.get_paginator("query").paginate(TableName=TABLE, **by_state):
        assert len(page["Items"]) <= 3
        numbers += [int(item["Number"]["N"]) for item in page["Items"]]
    assert numbers == [19, 17, 15, 13, 11, 9, 7, 5], numbers

    async def segment(number: int) -> int:
        total = 0
        scan = client.get_paginator("scan").paginate(TableName=TABLE, Segment=number, TotalSegments=4, Select="COUNT")
        async for page in scan:
            total += page["Count"]
        return total

    counts = await asyncio.gather(*map(segment, range(4)))
    assert sum(counts) == 51, counts


async def deletion(client: Any) -> None:
    deleted = await client.delete_item(TableName=TABLE, Key=key("types", 1), ReturnValues="ALL_OLD")
    assert deleted["Attributes"]["N"] == {"N": "-1.25"}
    await client.delete_table(TableName=TABLE)
    await client.get_waiter("table_not_exists").wait(TableName=TABLE, WaiterConfig=POLLS)
    assert (await client.list_tables())["TableNames"] == []


async def main() -> None:
    async with get_session().create_client("dynamodb", endpoint_url=os.environ["ENDPOINT"]) as client:
        for step in (tables, values, conditions, errors, batches, pages, deletion):
            await step(client)
            print(step.__name__, flush=True)


asyncio.run(main())

"""Are the answers right? Asked of every server before any timing; a wrong one refuses the workload."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from benchmarks.client import Client, WrongAnswerError
from benchmarks.data import BATCH_WRITE_ITEMS, ITEMS_PER_PARTITION, SEED, Dataset, comparable
from benchmarks.load_data import renew_table
from benchmarks.workloads import STREAM, STREAMED, Target

SAMPLES = 10
PAGE_BYTES = 1024 * 1024
PAGE_SHARE_MIN, PAGE_SHARE_MAX = 0.5, 1.1
"""Peers size items differently (one by its JSON), so their pages do too. Scans are counted by bytes, not by pages."""

Check = Callable[[Client, Target], None]


def _require(right: bool, text: str) -> None:
    if not right:
        raise WrongAnswerError(text)


def _require_same(found: Any, wanted: Any, text: str) -> None:
    same = comparable(found) == comparable(wanted)
    _require(same, f"{text}: {str(found)[:120]} is not {str(wanted)[:120]}")


def _key(dataset: Dataset, number: int) -> dict[str, Any]:
    pk, sk = dataset.key_of(number)
    return {"pk": {"S": pk.decode()}, "sk": {"S": sk.decode()}}


def _read(client: Client, dataset: Dataset, key: dict[str, Any]) -> Any:
    request = {"TableName": dataset.table, "Key": key, "ConsistentRead": True}
    return client.call("GetItem", request).get("Item")


def _numbers(dataset: Dataset, count: int = SAMPLES) -> list[int]:
    return random.Random(SEED).sample(range(dataset.items), count)


def check_get(client: Client, target: Target) -> None:
    data = target.dataset
    for number in _numbers(data):
        _require_same(_read(client, data, _key(data, number)), data.item(number), "GetItem")
    absent = {"pk": {"S": "nobody"}, "sk": {"S": "nothing"}}
    _require(_read(client, data, absent) is None, "GetItem finds an item that is not there")


def check_put(client: Client, target: Target) -> None:
    """A write is read back; one whose condition fails changes nothing."""
    data = target.dataset
    number = _numbers(data, 1)[0]
    changed = data.item(number, version=7)
    client.call("PutItem", {"TableName": data.table, "Item": changed})
    _require_same(_read(client, data, _key(data, number)), changed, "PutItem")
    refused = {
        "TableName": data.table,
        "Item": data.item(number, version=8),
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    _require_condition_fails(client, "PutItem", refused)
    _require_same(_read(client, data, _key(data, number)), changed, "PutItem that was refused")
    client.call("PutItem", {"TableName": data.table, "Item": data.item(number)})


def check_update(client: Client, target: Target) -> None:
    data = target.dataset
    number = _numbers(data, 1)[0]
    wanted = data.item(number)
    values = {":add": {"N": "5"}, ":note": {"S": "x"}, ":version": {"N": "1"}}
    request = {
        "TableName": data.table,
        "Key": _key(data, number),
        "UpdateExpression": "SET balance = balance + :add, #n = :note",
        "ConditionExpression": "version = :version AND attribute_exists(pk)",
        "ExpressionAttributeNames": {"#n": "note"},
        "ExpressionAttributeValues": values,
        "ReturnValues": "ALL_NEW",
    }
    wanted["balance"] = {"N": str(int(wanted["balance"]["N"]) + 5)}
    wanted["note"] = {"S": "x"}
    _require_same(client.call("UpdateItem", request)["Attributes"], wanted, "UpdateItem")
    values[":version"] = {"N": "2"}
    _require_condition_fails(client, "UpdateItem", request)
    _require_same(_read(client, data, _key(data, number)), wanted, "UpdateItem that was refused")
    client.call("PutItem", {"TableName": data.table, "Item": data.item(number)})


def _require_condition_fails(client: Client, operation: str, request: dict[str, Any]) -> None:
    name = client.failure(operation, request)
    _require(name == "ConditionalCheckFailedException", f"{operation}: {name} where the condition fails")


def check_query(client: Client, target: Target) -> None:
    data = target.dataset
    for number in _numbers(data):
        first = number // ITEMS_PER_PARTITION * ITEMS_PER_PARTITION
        wanted = [data.item(each) for each in range(first, first + ITEMS_PER_PARTITION)]
        request = {
            "TableName": data.table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": _key(data, first)["pk"]},
        }
        answer = client.call("Query", request)
        _require(answer["Count"] == ITEMS_PER_PARTITION, f"Query: {answer['Count']} items")
        _require("LastEvaluatedKey" not in answer, "Query: a page short of the whole partition")
        _require_same(answer["Items"], wanted, "Query")


def check_scan(client: Client, target: Target) -> None:
    """Every item once, in pages of 1 MB. Where full pages start is kept for the load: servers differ."""
    data = target.dataset
    seen: set[tuple[str, str]] = set()
    starts: list[dict[str, Any] | None] = []
    start: dict[str, Any] | None = None
    full_page_items: list[int] = []
    while True:
        request: dict[str, Any] = {"TableName": data.table}
        if start is not None:
            request["ExclusiveStartKey"] = start
        answer = client.call("Scan", request)
        seen.update((item["pk"]["S"], item["sk"]["S"]) for item in answer["Items"])
        _require(answer["Count"] == len(answer["Items"]), "Scan: Count is not the count of items")
        if "LastEvaluatedKey" not in answer:
            break
        starts.append(start)
        full_page_items.append(answer["Count"])
        start = answer["LastEvaluatedKey"]
    _require(len(seen) == data.items, f"Scan: {len(seen)} items of {data.items}")
    _require(bool(full_page_items), "Scan: no full page in the whole table")
    mean_items = sum(full_page_items) / len(full_page_items)
    page_share = mean_items * data.item_bytes / PAGE_BYTES
    _require(PAGE_SHARE_MIN <= page_share <= PAGE_SHARE_MAX, f"Scan: pages of {page_share:.2f} MB")
    target.scan_starts = starts
    target.scan_items_per_page = mean_items


def check_batch_get(client: Client, target: Target) -> None:
    data = target.dataset
    numbers = _numbers(data, 100)
    keys = [_key(data, number) for number in numbers]
    answer = client.call("BatchGetItem", {"RequestItems": {data.table: {"Keys": keys}}})
    _require(not answer.get("UnprocessedKeys"), "BatchGetItem: keys left unprocessed")
    found = {(item["pk"]["S"], item["sk"]["S"]): item for item in answer["Responses"][data.table]}
    _require(len(found) == len(numbers), f"BatchGetItem: {len(found)} items of {len(numbers)}")
    for number in numbers:
        key = _key(data, number)
        _require_same(found.get((key["pk"]["S"], key["sk"]["S"])), data.item(number), "BatchGetItem")


def check_batch_write(client: Client, target: Target) -> None:
    data = target.dataset
    numbers = _numbers(data, BATCH_WRITE_ITEMS)
    for version in (9, 1):  # The second puts things back as they were.
        puts = [{"PutRequest": {"Item": data.item(number, version)}} for number in numbers]
        answer = client.call("BatchWriteItem", {"RequestItems": {data.table: puts}})
        _require(not answer.get("UnprocessedItems"), "BatchWriteItem: items left unprocessed")
        for number in numbers:
            _require_same(_read(client, data, _key(data, number)), data.item(number, version), "BatchWriteItem")


def check_streamed(client: Client, target: Target) -> None:
    """A new item is in its table's stream, whichever shard that is."""
    data = target.dataset
    table, item = f"{data.table}_{STREAMED}", data.item(_numbers(data, 1)[0])
    renew_table(client, data, table, STREAM)
    client.call("PutItem", {"TableName": table, "Item": item})
    arn = client.call("DescribeTable", {"TableName": table})["Table"]["LatestStreamArn"]
    images = []
    for shard in client.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
        place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = client.call("GetShardIterator", place)["ShardIterator"]
        records = client.call("GetRecords", {"ShardIterator": iterator})["Records"]
        images += [record["dynamodb"].get("NewImage") for record in records]
    _require_same(images, [item], "GetRecords")


def sum_of_balances(client: Client, dataset: Dataset) -> int:
    """What UpdateItem adds to: no update under load may be lost, and none done twice."""
    total = 0
    request: dict[str, Any] = {"TableName": dataset.table}
    while True:
        answer = client.call("Scan", request)
        total += sum(int(item["balance"]["N"]) for item in answer["Items"])
        if "LastEvaluatedKey" not in answer:
            return total
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


CHECKS: dict[str, Check] = {
    "GetItem": check_get,
    "PutItem new": check_put,
    "PutItem overwrite": check_put,
    "UpdateItem if": check_update,
    "Query 50": check_query,
    "Scan 1 MB": check_scan,
    "BatchGetItem 100": check_batch_get,
    "BatchWriteItem 25": check_batch_write,
    "PutItem streamed": check_streamed,
}

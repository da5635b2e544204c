"""Are the answers right? Asked of every server before any timing; a wrong one refuses the workload."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from benchmarks.client import Client, WrongAnswerError
from benchmarks.data import BATCH_WRITE_ITEMS, ITEMS_PER_PARTITION, SEED, TRANSACTION_ITEMS, Dataset, comparable
from benchmarks.load_data import renew_table
from benchmarks.workloads import EXPIRES_BY, EXPIRING, FAR_SECOND, STREAM, STREAMED, Target

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


def check_select(client: Client, target: Target) -> None:
    """Keyed SELECTs: a partition, and one item of it."""
    data = target.dataset
    for number in _numbers(data):
        first = number // ITEMS_PER_PARTITION * ITEMS_PER_PARTITION
        wanted = [data.item(each) for each in range(first, first + ITEMS_PER_PARTITION)]
        key = _key(data, number)
        request = {"Statement": f'SELECT * FROM "{data.table}" WHERE pk = ?', "Parameters": [key["pk"]]}
        answer = client.call("ExecuteStatement", request)
        _require("NextToken" not in answer, "SELECT: a page short of the whole partition")
        _require_same(answer["Items"], wanted, "SELECT")
        request["Statement"] += " AND sk = ?"
        request["Parameters"] = [key["pk"], key["sk"]]
        _require_same(client.call("ExecuteStatement", request)["Items"], [data.item(number)], "SELECT of one item")


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


def check_transfer(client: Client, target: Target) -> None:
    """Both items change, or none; the same token again changes nothing."""
    data = target.dataset
    first, second = _numbers(data, 2)

    def moving(amount: int, version: int, token: str) -> dict[str, Any]:
        updates = []
        for number, change in ((first, -amount), (second, amount)):
            values = {":change": {"N": str(change)}, ":version": {"N": str(version if number == second else 1)}}
            update = {
                "TableName": data.table,
                "Key": _key(data, number),
                "UpdateExpression": "SET balance = balance + :change",
                "ConditionExpression": "version = :version",
                "ExpressionAttributeValues": values,
            }
            updates.append({"Update": update})
        return {"TransactItems": updates, "ClientRequestToken": token}

    def require_moved(amount: int, text: str) -> None:
        for number, change in ((first, -amount), (second, amount)):
            wanted = data.item(number)
            wanted["balance"] = {"N": str(int(wanted["balance"]["N"]) + change)}
            _require_same(_read(client, data, _key(data, number)), wanted, text)

    run = f"{random.randrange(1 << 32):x}"  # a token of an earlier check would be known already
    for _ in range(2):
        client.call("TransactWriteItems", moving(5, 1, f"{run} there"))
        require_moved(5, "TransactWriteItems")
    name = client.failure("TransactWriteItems", moving(7, 2, f"{run} never"))
    _require(name == "TransactionCanceledException", f"TransactWriteItems: {name} where a condition fails")
    require_moved(5, "TransactWriteItems that was cancelled")
    client.call("TransactWriteItems", moving(-5, 1, f"{run} back"))
    require_moved(0, "TransactWriteItems")


def check_transact_put(client: Client, target: Target) -> None:
    data = target.dataset
    numbers = _numbers(data, TRANSACTION_ITEMS)
    for version in (9, 1):  # The second puts things back as they were.
        puts = [{"Put": {"TableName": data.table, "Item": data.item(number, version)}} for number in numbers]
        client.call("TransactWriteItems", {"TransactItems": puts})
        for number in numbers:
            _require_same(_read(client, data, _key(data, number)), data.item(number, version), "TransactWriteItems")


def check_transact_get(client: Client, target: Target) -> None:
    """In the order asked for, with a gap where there is no item."""
    data = target.dataset
    numbers = _numbers(data, TRANSACTION_ITEMS - 1)
    keys = [*(_key(data, number) for number in numbers), {"pk": {"S": "nobody"}, "sk": {"S": "nothing"}}]
    gets = [{"Get": {"TableName": data.table, "Key": key}} for key in keys]
    responses = client.call("TransactGetItems", {"TransactItems": gets})["Responses"]
    found = [response.get("Item") for response in responses]
    _require_same(found, [*(data.item(number) for number in numbers), None], "TransactGetItems")


def check_expiring(client: Client, target: Target) -> None:
    """Time to live is enabled, and an item that is to expire one day is there until then. (How soon others go is not
    what is measured.)"""
    data = target.dataset
    table, item = f"{data.table}_{EXPIRING}", data.item(_numbers(data, 1)[0])
    item[EXPIRES_BY] = {"N": str(FAR_SECOND)}
    renew_table(client, data, table, expires_by=EXPIRES_BY)
    client.call("PutItem", {"TableName": table, "Item": item})
    description = client.call("DescribeTimeToLive", {"TableName": table})["TimeToLiveDescription"]
    enabled = {"TimeToLiveStatus": "ENABLED", "AttributeName": EXPIRES_BY}
    _require(description == enabled, f"DescribeTimeToLive: {description}")
    key = {"TableName": table, "Key": {name: item[name] for name in ("pk", "sk")}, "ConsistentRead": True}
    _require_same(client.call("GetItem", key).get("Item"), item, "GetItem")


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
    "SELECT 50": check_select,
    "Scan 1 MB": check_scan,
    "BatchGetItem 100": check_batch_get,
    "BatchWriteItem 25": check_batch_write,
    "TransactWriteItems 2": check_transfer,
    "TransactWriteItems 25": check_transact_put,
    "TransactGetItems 25": check_transact_get,
    "PutItem expiring": check_expiring,
    "PutItem streamed": check_streamed,
}

"""What is measured: for each workload its requests, what a right answer looks like, and how it counts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.client import request_headers
from benchmarks.data import BATCH_WRITE_ITEMS, ITEMS_PER_PARTITION, SEED, TRANSACTION_ITEMS, Dataset

FRESH_KEY = b"@" * 20
"""Where the load generator puts a key that was never used; see wrk/load.lua."""
NEVER_COUNTED = -1
BODIES_MAX = 20_000
"""Enough keys that no cache holds all of a large table's blocks; more make the generator slower."""
BODIES_BYTES_MAX = 24 * 1024 * 1024
"""What the generator holds of them at most: 10 KB items in batches of 100 come to much."""


@dataclass(frozen=True)
class Body:
    """A request, and a piece of text that only its own right answer holds."""

    json: bytes
    must: bytes = b""


@dataclass
class Target:
    """One server's table under load, and what was learnt of it before."""

    dataset: Dataset
    scan_starts: list[dict[str, Any] | None] = field(default_factory=list)
    scan_items_per_page: float = 0.0


MakeBodies = Callable[[Target, random.Random, int], list[Body]]


@dataclass(frozen=True)
class Workload:
    name: str
    operation: str
    writes: bool
    make: MakeBodies
    pattern: str
    """A Lua pattern that every right answer matches: as loose as JSON's white space needs."""
    items_in_answer: int = NEVER_COUNTED
    unit: str = "requests/s"
    fresh: str = ""
    """What the table of new items is called behind the dataset's; "" for a workload that writes none."""
    expires_by: str = ""
    """The attribute by which the items of that table expire; "" for a table without time to live."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What that table has more than others."""

    @property
    def is_fresh(self) -> bool:
        return bool(self.fresh)

    def table_of(self, dataset: Dataset) -> str:
        """New items go to a table of their own, made afresh for every run: they disturb nothing else."""
        return f"{dataset.table}_{self.fresh}" if self.fresh else dataset.table

    def bodies(self, target: Target) -> list[Body]:
        chosen = random.Random(SEED)
        bodies = self.make(target, chosen, 1)
        count = min(BODIES_MAX, max(16, BODIES_BYTES_MAX // len(bodies[0].json)))
        return self.make(target, chosen, count)

    def write_file(self, path: Path, bodies: list[Body]) -> None:
        """The file that wrk/load.lua reads."""
        headers = {k: v for k, v in request_headers(self.operation).items() if k != "X-Amz-Target"}
        with path.open("wb") as file:
            file.write(f"{self.operation}\n{self.items_in_answer}\t{self.pattern}\n".encode())
            file.write("\t".join(f"{name}: {value}" for name, value in headers.items()).encode() + b"\n")
            for body in bodies:
                file.write(body.must + b"\t" + body.json + b"\n")


def _get_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    data = target.dataset
    table = data.table.encode()
    numbers = [chosen.randrange(data.items) for _ in range(count)]
    return [Body(b'{"TableName":"%b","Key":%b}' % (table, data.key_json(n)), data.key_of(n)[0]) for n in numbers]


def _put_new_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    return _new_items(target, chosen, count, NEW)


def _put_expiring_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    bodies = _new_items(target, chosen, count, EXPIRING)
    form = b',"%b":{"N":"%d"}}}'
    seconds = (FAR_SECOND + number for number in range(count))
    return [
        Body(body.json[:-2] + form % (EXPIRES_BY.encode(), second))
        for body, second in zip(bodies, seconds, strict=True)
    ]


def _put_streamed_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    return _new_items(target, chosen, count, STREAMED)


def _new_items(target: Target, chosen: random.Random, count: int, suffix: str) -> list[Body]:
    data = target.dataset
    table = f"{data.table}_{suffix}".encode()
    items = [data.keyed_item_json(FRESH_KEY, b"order#001", chosen.randrange(data.items)) for _ in range(count)]
    return [Body(b'{"TableName":"%b","Item":%b}' % (table, item)) for item in items]


def _put_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    data = target.dataset
    items = [data.item_json(chosen.randrange(data.items), version=2) for _ in range(count)]
    return [Body(b'{"TableName":"%b","Item":%b}' % (data.table.encode(), item)) for item in items]


def _update_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    data = target.dataset
    rest = (
        b'"UpdateExpression":"SET balance = balance + :one, #s = :shipped",'
        b'"ConditionExpression":"attribute_exists(pk) AND balance >= :zero",'
        b'"ExpressionAttributeNames":{"#s":"status"},'
        b'"ExpressionAttributeValues":{":one":{"N":"1"},":zero":{"N":"0"},":shipped":{"S":"shipped"}}'
    )
    keys = [data.key_json(chosen.randrange(data.items)) for _ in range(count)]
    return [Body(b'{"TableName":"%b","Key":%b,%b}' % (data.table.encode(), key, rest)) for key in keys]


def _query_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    data = target.dataset
    pks = [data.key_of(chosen.randrange(data.items))[0] for _ in range(count)]
    form = b'{"TableName":"%b","KeyConditionExpression":"pk = :pk","ExpressionAttributeValues":{":pk":{"S":"%b"}}}'
    return [Body(form % (data.table.encode(), pk), pk) for pk in pks]


def _select_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    """The Query's reads as statements. Their text is always the same, as it is for clients that use parameters."""
    data = target.dataset
    pks = [data.key_of(chosen.randrange(data.items))[0] for _ in range(count)]
    form = rb'{"Statement":"SELECT * FROM \"%b\" WHERE pk = ?","Parameters":[{"S":"%b"}]}'
    return [Body(form % (data.table.encode(), pk), pk) for pk in pks]


def _scan_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    del chosen, count  # A full page starts where one ended: there are as many requests as full pages.
    requests: list[dict[str, Any]] = []
    for start in target.scan_starts or [None]:
        request: dict[str, Any] = {"TableName": target.dataset.table}
        if start is not None:
            request["ExclusiveStartKey"] = start
        requests.append(request)
    return [Body(msgspec.json.encode(request)) for request in requests]


def _batch_get_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    data = target.dataset
    bodies = []
    for _ in range(count):
        keys = b",".join(data.key_json(n) for n in chosen.sample(range(data.items), 100))
        bodies.append(Body(b'{"RequestItems":{"%b":{"Keys":[%b]}}}' % (data.table.encode(), keys)))
    return bodies


def _batch_write_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    data = target.dataset
    picks = (chosen.sample(range(data.items), BATCH_WRITE_ITEMS) for _ in range(count))
    return [Body(data.batch_write_body(numbers, version=3)) for numbers in picks]


def _transaction(members: list[bytes]) -> Body:
    """With a token of its own each time, as SDKs send them."""
    return Body(b'{"TransactItems":[%b],"ClientRequestToken":"%b"}' % (b",".join(members), FRESH_KEY))


def _transfer_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    data = target.dataset
    form = (
        b'{"Update":{"TableName":"%b","Key":%b,"UpdateExpression":"SET balance = balance + :amount",'
        b'"ConditionExpression":"attribute_exists(pk)","ExpressionAttributeValues":{":amount":{"N":"%d"}}}}'
    )
    bodies = []
    for _ in range(count):
        numbers = zip(chosen.sample(range(data.items), 2), (-1, 1), strict=True)
        bodies.append(_transaction([form % (data.table.encode(), data.key_json(n), amount) for n, amount in numbers]))
    return bodies


def _transact_put_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    data = target.dataset
    picks = (chosen.sample(range(data.items), TRANSACTION_ITEMS) for _ in range(count))
    form = b'{"Put":{"TableName":"%b","Item":%b}}'
    return [_transaction([form % (data.table.encode(), data.item_json(n, version=4)) for n in ns]) for ns in picks]


def _transact_get_bodies(target: Target, chosen: random.Random, count: int) -> list[Body]:
    data = target.dataset
    form = b'{"Get":{"TableName":"%b","Key":%b}}'
    bodies = []
    for _ in range(count):
        numbers = chosen.sample(range(data.items), TRANSACTION_ITEMS)
        members = b",".join(form % (data.table.encode(), data.key_json(n)) for n in numbers)
        bodies.append(Body(b'{"TransactItems":[%b]}' % members))
    return bodies


NEW, EXPIRING, STREAMED = "new", "expiring", "streamed"
EXPIRES_BY = "expires"
FAR_SECOND = 4_102_444_800
"""2100: nothing expires under load."""
STREAM: dict[str, Any] = {
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
_OBJECT = r"^%s*{"
WORKLOADS = [
    Workload("GetItem", "GetItem", False, _get_bodies, r'"Item"%s*:', 1),
    Workload("PutItem new", "PutItem", True, _put_new_bodies, _OBJECT, fresh=NEW),
    Workload("PutItem overwrite", "PutItem", True, _put_bodies, _OBJECT),
    Workload("UpdateItem if", "UpdateItem", True, _update_bodies, _OBJECT),
    Workload("Query 50", "Query", False, _query_bodies, r'"Count"%s*:%s*50%s*[,}]', ITEMS_PER_PARTITION),
    Workload("SELECT 50", "ExecuteStatement", False, _select_bodies, r'"Items"%s*:', ITEMS_PER_PARTITION),
    Workload("Scan 1 MB", "Scan", False, _scan_bodies, r'"LastEvaluatedKey"%s*:', unit="MB/s"),
    Workload("BatchGetItem 100", "BatchGetItem", False, _batch_get_bodies, r'"UnprocessedKeys"%s*:%s*{%s*}', 100),
    Workload("BatchWriteItem 25", "BatchWriteItem", True, _batch_write_bodies, r'"UnprocessedItems"%s*:%s*{%s*}'),
    Workload("TransactWriteItems 2", "TransactWriteItems", True, _transfer_bodies, _OBJECT),
    Workload("TransactWriteItems 25", "TransactWriteItems", True, _transact_put_bodies, _OBJECT),
    Workload("TransactGetItems 25", "TransactGetItems", False, _transact_get_bodies, r'"Responses"%s*:', 25),
    Workload("PutItem expiring", "PutItem", True, _put_expiring_bodies, _OBJECT, fresh=EXPIRING, expires_by=EXPIRES_BY),
    Workload("PutItem streamed", "PutItem", True, _put_streamed_bodies, _OBJECT, fresh=STREAMED, settings=STREAM),
]

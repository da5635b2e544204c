"""Writers that remember what a server has acknowledged, to be compared with what is there after it was killed.

Each writer has items of its own, so it knows what each must be: as the last acknowledged write left it, or as the one
request that was never answered would have. The counters are everybody's.
"""

from __future__ import annotations

import threading
from random import Random
from typing import Any

from tests.storage.server_process import Refused, ServerGone, ServerProcess

Item = dict[str, dict[str, Any]]
Key = tuple[str, str]
"""Partition and sort key."""

TABLE = "crashing"
WRITERS = 4
PARTITIONS = 3
SORTS = 20
COUNTERS = 2
BATCH_WRITES_MAX = 25
PADDING_CHARACTERS_MAX = 2000

EXPIRY = "due"
FAR_SECOND = 4_102_444_800
ENABLE_TIME_TO_LIVE: dict[str, Any] = {
    "TableName": TABLE,
    "TimeToLiveSpecification": {"Enabled": True, "AttributeName": EXPIRY},
}
CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("p", "s", "g", "l")],
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


class Counters:
    """What all writers together know of the counters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.acknowledged = [0] * COUNTERS
        self.unanswered = [0] * COUNTERS

    def begin(self, number: int) -> None:
        with self._lock:
            self.unanswered[number] += 1

    def end(self, number: int, counted: bool) -> None:
        with self._lock:
            self.unanswered[number] -= 1
            self.acknowledged[number] += counted

    def found(self, values: list[int]) -> None:
        """After a crash: an increment that was not answered counts or does not, one that was answered does."""
        for value, acknowledged, unanswered in zip(values, self.acknowledged, self.unanswered, strict=True):
            assert acknowledged <= value <= acknowledged + unanswered
        self.acknowledged, self.unanswered = values, [0] * COUNTERS


class Writer:
    def __init__(self, number: int, random: Random, counters: Counters) -> None:
        self._number = number
        self._random = random
        self._counters = counters
        self._serial = 0
        self.acknowledged_count = 0
        self.known: dict[Key, Item] = {}
        self.unanswered: dict[Key, Item | None] = {}
        """What the request would make of its items that got no answer."""

    def write_until_gone(self, server: ServerProcess) -> None:
        connection = server.connect()
        try:
            while True:
                self._random.choice((self._put, self._put, self._delete, self._batch, self._add, self._swap))(
                    connection.call
                )
                self.acknowledged_count += 1
        except ServerGone:
            pass
        finally:
            connection.close()

    def found(self, items: dict[Key, Item]) -> None:
        """After a crash: all that was acknowledged is there, and of the last request everything or nothing."""
        mine = {key: item for key, item in items.items() if key[0].startswith(f"writer{self._number}-")}
        after = {**self.known, **self.unanswered}
        with_last = {key: item for key, item in after.items() if item is not None}
        assert mine in (self.known, with_last)
        self.known, self.unanswered = mine, {}

    def _new_item(self) -> Item:
        self._serial += 1
        item: Item = {
            "p": {"S": f"writer{self._number}-{self._random.randrange(PARTITIONS)}"},
            "s": {"S": f"{self._random.randrange(SORTS):02d}"},
            "serial": {"N": str(self._serial)},
            "padding": {"S": "x" * self._random.randint(1, PADDING_CHARACTERS_MAX)},
        }
        for name in ("g", "l"):
            if self._random.random() < 0.7:
                item[name] = {"S": self._random.choice("abc")}
        if self._random.random() < 0.5:
            # One day, so that each overwrite moves an expiry and nothing goes by itself.
            item[EXPIRY] = {"N": str(FAR_SECOND + self._serial)}
        return item

    def _write(self, call: Any, operation: str, params: dict[str, Any], writes: dict[Key, Item | None]) -> None:
        self.unanswered = writes
        call(operation, params)
        for key, item in writes.items():
            if item is None:
                self.known.pop(key, None)
            else:
                self.known[key] = item
        self.unanswered = {}

    def _put(self, call: Any) -> None:
        item = self._new_item()
        self._write(call, "PutItem", {"TableName": TABLE, "Item": item}, {key_of(item): item})

    def _delete(self, call: Any) -> None:
        key = self._random.choice([*self.known, ("writer", "none")])
        params = {"TableName": TABLE, "Key": {"p": {"S": key[0]}, "s": {"S": key[1]}}}
        self._write(call, "DeleteItem", params, {key: None} if key in self.known else {})

    def _batch(self, call: Any) -> None:
        items = [self._new_item() for _ in range(self._random.randint(2, BATCH_WRITES_MAX))]
        writes: dict[Key, Item | None] = {key_of(item): item for item in items}
        members = [{"PutRequest": {"Item": item}} for item in writes.values()]
        self._write(call, "BatchWriteItem", {"RequestItems": {TABLE: members}}, writes)

    def _add(self, call: Any) -> None:
        self._count(call, {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}})

    def _swap(self, call: Any) -> None:
        """Reads a counter and writes it one higher, unless somebody was quicker."""
        number = self._random.randrange(COUNTERS)
        found = call("GetItem", {"TableName": TABLE, "Key": counter_key(number), "ConsistentRead": True})
        if "Item" in found:
            old = int(found["Item"]["n"]["N"])
            expressions = {
                "UpdateExpression": "SET n = :new",
                "ConditionExpression": "n = :old",
                "ExpressionAttributeValues": {":new": {"N": str(old + 1)}, ":old": {"N": str(old)}},
            }
            self._count(call, expressions, number)

    def _count(self, call: Any, expressions: dict[str, Any], number: int | None = None) -> None:
        number = self._random.randrange(COUNTERS) if number is None else number
        self._counters.begin(number)
        try:
            call("UpdateItem", {"TableName": TABLE, "Key": counter_key(number), **expressions})
        except Refused as refused:
            if refused.type != "ConditionalCheckFailedException":
                raise
            self._counters.end(number, counted=False)
        else:
            self._counters.end(number, counted=True)


def key_of(item: Item) -> Key:
    return item["p"]["S"], item["s"]["S"]


def counter_key(number: int) -> Item:
    return {"p": {"S": "counter"}, "s": {"S": str(number)}}

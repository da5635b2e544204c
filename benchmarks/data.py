"""The data every server gets: made from counters alone, so that any item can be made again to compare.

A table holds partitions of 50 items each: `pk` names the partition, `sk` the item. Items have the look of an
order: strings, numbers, a boolean, a set, a map, and a note that fills them up to the size asked for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

ITEMS_PER_PARTITION = 50
BATCH_WRITE_ITEMS = 25
TRANSACTION_ITEMS = 25
SEED = 20120810
SMALL_BYTES = 300
LARGE_BYTES = 10 * 1024

_TEMPLATE = (
    b'{"pk":{"S":"%b"},"sk":{"S":"%b"},"status":{"S":"shipped"},"balance":{"N":"%d"},"version":{"N":"%d"},'
    b'"paid":{"BOOL":true},"tags":{"SS":["gift","rush"]},"address":{"M":{"city":{"S":"Tallinn"},'
    b'"zip":{"S":"10111"}}},"note":{"S":"%b"}}'
)
# Item bytes by the service's rules of everything but the note's value, with 13-byte pk and 9-byte sk.
_FIXED_BYTES = 110
_NOTES_BYTES = 1 << 20


def _notes_pool() -> bytes:
    """Words in random order: it compresses about as prose does, so no engine wins by squeezing a constant."""
    words = random.Random(SEED)
    syllables = ["to", "rus", "ka", "mi", "len", "or", "dex", "ba", "shu", "vi", "qua", "ne"]
    text: list[str] = []
    length = 0
    while length < _NOTES_BYTES + LARGE_BYTES:
        word = "".join(words.choice(syllables) for _ in range(words.randint(1, 4)))
        text.append(word)
        length += len(word) + 1
    return " ".join(text).encode()


_NOTES = _notes_pool()


@dataclass(frozen=True)
class Dataset:
    """A table's worth of items."""

    table: str
    items: int
    item_bytes: int

    @property
    def partitions(self) -> int:
        return self.items // ITEMS_PER_PARTITION

    @property
    def label(self) -> str:
        return "0.3 KB" if self.item_bytes == SMALL_BYTES else f"{self.item_bytes // 1024} KB"

    def key_of(self, number: int) -> tuple[bytes, bytes]:
        partition, place = divmod(number, ITEMS_PER_PARTITION)
        return b"user#%08d" % partition, b"order#%03d" % place

    def key_json(self, number: int) -> bytes:
        return b'{"pk":{"S":"%b"},"sk":{"S":"%b"}}' % self.key_of(number)

    def item_json(self, number: int, version: int = 1) -> bytes:
        return self.keyed_item_json(*self.key_of(number), number, version)

    def keyed_item_json(self, pk: bytes, sk: bytes, number: int, version: int = 1) -> bytes:
        start = number * 7919 % _NOTES_BYTES
        note = _NOTES[start : start + self.item_bytes - _FIXED_BYTES]
        return _TEMPLATE % (pk, sk, 1000 + number % 9000, version, note)

    def item(self, number: int, version: int = 1) -> dict[str, Any]:
        item: dict[str, Any] = msgspec.json.decode(self.item_json(number, version))
        return item

    def batch_write_body(self, numbers: list[int], version: int = 1) -> bytes:
        puts = b",".join(b'{"PutRequest":{"Item":%b}}' % self.item_json(n, version) for n in numbers)
        return b'{"RequestItems":{"%b":[%b]}}' % (self.table.encode(), puts)

    def load_bodies(self, start: int, stop: int) -> Iterator[bytes]:
        for first in range(start, stop, BATCH_WRITE_ITEMS):
            yield self.batch_write_body(list(range(first, min(first + BATCH_WRITE_ITEMS, stop))))

    def create_request(self, table: str | None = None) -> dict[str, Any]:
        return {
            "TableName": table or self.table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
        }


def comparable(value: Any) -> Any:
    """A value, an item or a list of items in a form where equal values are `==`, however written."""
    if isinstance(value, list):
        return [comparable(each) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"N"}:
        return ("N", Decimal(value["N"]))
    if len(value) == 1 and next(iter(value)) in ("SS", "BS", "NS"):
        kind, members = next(iter(value.items()))
        return (kind, sorted(Decimal(m) if kind == "NS" else m for m in members))
    return {name: comparable(each) for name, each in value.items()}

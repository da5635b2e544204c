"""A write of one item as a value: what PutItem, UpdateItem, DeleteItem, statements of PartiQL and members of
transactions have in common.

A `Write` says all that is needed once the item is there: what forbids the write, and what the item is afterwards. Both
are pure functions of what was there before, so that several writes can be decided together and land as one commit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torusdb.model.attributes import Item
from torusdb.model.records import unpack
from torusdb.model.schema import Table
from torusdb.operations.changes import Change, change


class Before:
    """What a write finds: a record, and the item in it for those who ask."""

    __slots__ = ("_item", "record")

    def __init__(self, record: bytes | None) -> None:
        self.record = record
        self._item: Item | None = None

    @property
    def item(self) -> Item | None:
        if self._item is None and self.record is not None:
            self._item = unpack(self.record)
        return self._item


@dataclass(frozen=True, slots=True)
class After:
    """What a write leaves: the item and its size, or None for no item."""

    item: Item | None
    size: int = 0


@dataclass(frozen=True, slots=True)
class Write:
    table: Table
    table_name: str
    """The table, by the name or ARN that the request gave."""
    key: bytes
    key_item: Item
    require: Callable[[Before], None]
    """Raises what the service says where the condition of the write does not hold."""
    after: Callable[[Before], After]
    """The item after the write; refused where the write cannot be made of what is there."""
    size: int = 0
    """Of the item that the request gives, if it gives a whole one."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A write that may land."""

    write: Write
    before: Before
    after: After
    change: Change | None
    """None where there was nothing and there is to be nothing."""


def decide(write: Write, record: bytes | None, stamp_ms: int) -> Decided:
    before = Before(record)
    write.require(before)
    after = write.after(before)
    return Decided(write, before, after, change(write.table, write.key, record, after.item, after.size, stamp_ms))

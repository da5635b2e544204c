"""What an operation may ask of an engine. Everything that is stored or read goes through these five.

An operation is a generator: it yields commands and is sent their results; a driver runs it against an engine.
Keys are order-preserving bytes made by `model.keys`; records are bytes made by `model.records`. An engine
looks into neither, but it may place data by a key's first `model.keys.PLACE_BYTES` bytes (space, table, index and hash
of the partition key): all keys of one partition key share them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

import msgspec

NUMBER_BYTES = 8
"""Of a record's number in its log."""


class Get(msgspec.Struct, frozen=True, gc=False):
    """The records of `keys`, all of one moment, None for each that is absent: `list[bytes | None]`.

    With `guard`, the operation is going to commit: the engine sees to it that what was read still holds when the
    `Commit` lands (and an embedded engine reads what is staged but not yet durable). Without it, only durable
    records are shown.
    """

    keys: list[bytes]
    guard: bool = False


class Range(msgspec.Struct, frozen=True, gc=False):
    """Records with start <= key < stop, in key order (from the end if `reverse`): a `Page`.

    Reading ends after `items_max` records, or with the record that brings the stored bytes to `bytes_max` or over;
    at least one record is returned where there is one. Only durable records are shown, all of one moment.
    """

    start: bytes
    stop: bytes
    reverse: bool
    items_max: int
    bytes_max: int


class Page(msgspec.Struct, frozen=True, gc=False):
    """The answer to `Range`: records in the order asked for, and whether the range holds more behind them."""

    records: list[tuple[bytes, bytes]]
    more: bool


class Commit(msgspec.Struct, frozen=True, gc=False):
    """All of it or nothing, and durable before the operation's answer leaves.

    `tallies` adds to counters, pairs of (items, bytes) by key: a table's and an index's size. An engine keeps them
    exact with the writes they count, but may gather many additions into one write. They are read with `Tally`.

    `appends` adds records to logs, pairs of (the log's prefix, record). Each gets the next number of its log, from 1
    on, and is put under the prefix followed by it; the number that was given last stands under the prefix itself. Both
    are `NUMBER_BYTES` bytes, big-endian, so a log is read in the order of its commits. No number is given twice,
    whatever of the log is cleared, unless its prefix is.

    An empty commit (`NOTHING`) writes nothing, and is as durable as all that was committed before it.
    """

    puts: list[tuple[bytes, bytes]]
    deletes: list[bytes] = []
    tallies: list[tuple[bytes, int, int]] = []
    appends: list[tuple[bytes, bytes]] = []


NOTHING = Commit([])


class Tally(msgspec.Struct, frozen=True, gc=False):
    """The counters of `keys`, in order, staged additions included: `list[tuple[int, int]]`; (0, 0) where none."""

    keys: list[bytes]


class Clear(msgspec.Struct, frozen=True, gc=False):
    """Drops every record with start <= key < stop. For the space of a dropped table or index, whose keys are never
    used again: it need not be atomic, may be repeated, and is durable with the next `Commit`."""

    start: bytes
    stop: bytes


Command: TypeAlias = Get | Range | Commit | Tally | Clear
Operation: TypeAlias = Generator[Command, Any, bytes]
"""An operation yields commands and returns the JSON body of its answer."""

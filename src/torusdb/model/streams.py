"""Streams and their shards: what the catalog keeps of them, and how shards follow one another.

Theory of operation. A stream is a tree of shards. Each open shard takes the changes of one slice of the hash space of
partition keys, and the open ones together cover it: so all changes of an item go to one shard at a time. A shard is
closed when it is four hours old, when its slice is split, or with the stream; but for the last case its place is taken
by children, each of whose slices lies within its own. Whoever reads a shard only after its parent sees every item's
changes in their order.

A shard's records lie in a log that numbers them from 1 (`Commit.appends`). To the outside a record has a *sequence
number*: the log's number moved up so that numbers rise along each line of shards, written with 21 digits.

All of this is values: a change of a stream makes a new `Stream`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from torusdb.model import keys
from torusdb.model.keys import KeyAttribute
from torusdb.model.schema import ShardLog, Table

ViewType: TypeAlias = Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]

RETENTION_SECONDS: Final = 24 * 3600
"""How long a record can be read, and a stream that is disabled (developer guide, "Data retention limit")."""

SHARD_SECONDS_MAX: Final = 4 * 3600
"""When the service closes a shard and goes on in a child (seen by many: "typically 4 hours")."""

SEQUENCE_BASE: Final = 10**20
"""Makes sequence numbers 21 digits long, which is their least length (service model), so that they sort as text too."""

_HASHES: Final = 1 << (8 * keys.HASH_BYTES)


class Shard(msgspec.Struct, frozen=True):
    number: int
    """Never used again within the stream."""
    shard_id: str
    parent_id: str | None
    start: bytes
    stop: bytes
    """The slice of the hash space: start <= hash < stop; an empty `stop` is the end of the space."""
    opened_ms: int
    first: int
    """What is added to a record's number in the log, less one: the sequence number of the first record."""
    closed: float | None = None
    count: int = 0
    """Of a closed shard: how many records it has had."""
    trimmed: int = 0
    """How many of them, from the first on, are gone."""

    @property
    def starting_sequence(self) -> str:
        return sequence_text(self.first)

    @property
    def ending_sequence(self) -> str | None:
        """Of a closed shard: that of its last record. One that never had any ends where it started."""
        return None if self.closed is None else sequence_text(self._last)

    @property
    def _last(self) -> int:
        return self.first + max(self.count, 1) - 1

    def sequence_of(self, number: int) -> str:
        """The sequence number of the log's record `number`."""
        return sequence_text(self.first + number - 1)

    def number_of(self, sequence: str) -> int:
        """The log's number of the record with a sequence number, as far as it may be one of this shard."""
        return int(sequence) - SEQUENCE_BASE - self.first + 1


class Stream(msgspec.Struct, frozen=True, dict=True):
    """A stream, enabled or not. It outlives its table by `RETENTION_SECONDS`."""

    arn: str
    label: str
    table_name: str
    table_id: int
    number: int
    """Among the streams of its table."""
    hash_key: KeyAttribute
    range_key: KeyAttribute | None
    view: ViewType
    created: float
    secret: str
    """What its iterators are sealed with."""
    shards: list[Shard]
    """In the order of their ids, in which a child comes after its parent."""
    next_shard: int
    disabled: float | None = None

    @property
    def open_shards(self) -> list[Shard]:
        return [shard for shard in self.shards if shard.closed is None]

    def shard(self, shard_id: str) -> Shard | None:
        return next((shard for shard in self.shards if shard.shard_id == shard_id), None)

    def log(self, shard: Shard) -> bytes:
        return keys.shard_log(self.table_id, self.number, shard.number)

    def shard_logs(self) -> list[ShardLog]:
        """What the table keeps of it."""
        opened = sorted(self.open_shards, key=lambda shard: shard.start)
        return [ShardLog(shard.start, self.log(shard)) for shard in opened]


def sequence_text(sequence: int) -> str:
    return str(SEQUENCE_BASE + sequence)


def open_stream(table: Table, view: ViewType, label: str, partitions: int, now: float, secret: str) -> Stream:
    """A new stream of the table, in equal slices."""
    stream = Stream(
        arn=f"{table.arn}/stream/{label}",
        label=label,
        table_name=table.name,
        table_id=table.table_id,
        number=table.streams_made,
        hash_key=table.hash_key,
        range_key=table.range_key,
        view=view,
        created=now,
        secret=secret,
        shards=[],
        next_shard=0,
    )
    cuts = [_hash_bytes(_HASHES * at // partitions) for at in range(partitions)]
    cuts.append(b"")
    return _with_shards(stream, [(None, start, stop) for start, stop in pairwise(cuts)], now)


def due_shards(stream: Stream, now: float) -> list[Shard]:
    """The open shards that have been open for long enough."""
    return [shard for shard in stream.open_shards if shard.opened_ms / 1000 + SHARD_SECONDS_MAX <= now]


def roll_over(stream: Stream, due: Iterable[Shard], counts: Mapping[int, int], now: float) -> Stream:
    """Closes the shards that are due, and opens a child in the place of each. `counts`: how many records each shard
    has, by its number."""
    closed = [_closed(shard, counts[shard.number], now) for shard in due]
    stream = _with_closed(stream, closed)
    return _with_shards(stream, [(shard, shard.start, shard.stop) for shard in closed], now)


def split(stream: Stream, partitions: int, counts: Mapping[int, int], now: float) -> Stream:
    """Splits slices in two, the widest first, until there are as many as partitions. They are never merged, as the
    service's are not: a child has one parent."""
    slices = {shard.number: [(shard.start, shard.stop)] for shard in stream.open_shards}
    while sum(map(len, slices.values())) < partitions:
        number, widest = max(
            ((number, part) for number, parts in slices.items() for part in parts),
            key=lambda found: (_width(*found[1]), -found[0], found[1]),
        )
        middle = _hash_bytes((_hash_number(widest[0]) + _hash_stop(widest[1])) // 2)
        at = slices[number].index(widest)
        slices[number][at : at + 1] = [(widest[0], middle), (middle, widest[1])]
    parted = [shard for shard in stream.open_shards if len(slices[shard.number]) > 1]
    closed = [_closed(shard, counts[shard.number], now) for shard in parted]
    stream = _with_closed(stream, closed)
    return _with_shards(stream, [(shard, *part) for shard in closed for part in slices[shard.number]], now)


def disable(stream: Stream, counts: Mapping[int, int], now: float) -> Stream:
    closed = [_closed(shard, counts[shard.number], now) for shard in stream.open_shards]
    return replace(_with_closed(stream, closed), disabled=now)


def _closed(shard: Shard, count: int, now: float) -> Shard:
    return replace(shard, closed=now, count=count)


def _with_closed(stream: Stream, closed: list[Shard]) -> Stream:
    by_number = {shard.number: shard for shard in closed}
    return replace(stream, shards=[by_number.get(shard.number, shard) for shard in stream.shards])


def _with_shards(stream: Stream, made: list[tuple[Shard | None, bytes, bytes]], now: float) -> Stream:
    """Opens shards, each with its parent and its slice."""
    shards = list(stream.shards)
    for number, (parent, start, stop) in enumerate(made, stream.next_shard):
        # After its parent's, so that ids sort as shards follow one another, whatever the clock does.
        opened_ms = max(int(now * 1000), 0 if parent is None else parent.opened_ms + 1)
        shards.append(
            Shard(
                number=number,
                shard_id=_shard_id(stream, number, opened_ms),
                parent_id=None if parent is None else parent.shard_id,
                start=start,
                stop=stop,
                opened_ms=opened_ms,
                first=1 if parent is None else parent._last + 1,
            )
        )
    shards.sort(key=lambda shard: shard.shard_id)
    return replace(stream, shards=shards, next_shard=stream.next_shard + len(made))


def _shard_id(stream: Stream, number: int, opened_ms: int) -> str:
    """As the service writes them: when it was opened, and a hash."""
    digest = hashlib.md5(f"{stream.arn}/{number}".encode(), usedforsecurity=False).hexdigest()
    return f"shardId-{opened_ms:020}-{digest[:8]}"


def _hash_bytes(number: int) -> bytes:
    return number.to_bytes(keys.HASH_BYTES, "big")


def _hash_number(start: bytes) -> int:
    return int.from_bytes(start, "big")


def _hash_stop(stop: bytes) -> int:
    return int.from_bytes(stop, "big") if stop else _HASHES


def _width(start: bytes, stop: bytes) -> int:
    return _hash_stop(stop) - _hash_number(start)

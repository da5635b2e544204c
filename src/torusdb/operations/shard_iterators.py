"""Shard iterators: a place in a shard, in a form that is the database's own affair.

An iterator begins with its stream's ARN, as the service's does, and is sealed with a secret of the stream: none can be
made up, nor be used for another stream or shard, let alone another account's.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Generator
from struct import Struct
from struct import error as StructError  # noqa: N812 (an exception, whatever its name)
from typing import Any, Final, NamedTuple

from torusdb.errors import ExpiredIteratorException, ResourceNotFoundException, ValidationException
from torusdb.model import keys
from torusdb.model.stream_records import stream_record_stamp_ms
from torusdb.model.streams import Shard, Stream
from torusdb.operations.catalog import Catalog
from torusdb.storage.commands import Command, Get

ITERATOR_SECONDS_MAX: Final = 15 * 60
"""How long an iterator is good for (API reference, "GetShardIterator")."""

_PLACE = Struct(">QQQ")
_SEAL_BYTES: Final = 16
_KIND: Final = "1"
"""Stands between the ARN and the rest. The service has 1 or 2 there (seen); nobody says what they mean."""


class Place(NamedTuple):
    stream: Stream
    shard: Shard
    next: int
    """The log's number of the record to read next."""


def iterator_of(place: Place, now: float) -> str:
    content = _PLACE.pack(place.shard.number, place.next, int(now * 1000))
    sealed = b64encode(content + _seal(place.stream, content)).decode()
    return f"{place.stream.arn}|{_KIND}|{sealed}"


def place_of(catalog: Catalog, iterator: str, now: float) -> Place:
    """Where an iterator stands; refused where it is none of ours, too old, or the shard is gone."""
    arn, kind, sealed = _parts(iterator)
    try:
        raw = b64decode(sealed, validate=True)
        shard_number, number, made_ms = _PLACE.unpack(raw[:-_SEAL_BYTES])
    except (ValueError, StructError):
        raise _invalid() from None
    stream = catalog.described_stream(arn)
    if kind != _KIND or not hmac.compare_digest(raw[-_SEAL_BYTES:], _seal(stream, raw[:-_SEAL_BYTES])):
        raise _invalid()
    if now * 1000 - made_ms > ITERATOR_SECONDS_MAX * 1000:
        # In a trace of 2017 (spring-integration-aws, pull request 59).
        raise ExpiredIteratorException("Shard iterator has expired")
    shard = next((shard for shard in stream.shards if shard.number == shard_number), None)
    if shard is None:
        raise no_such_shard()
    return Place(stream, shard, number)


def no_such_shard() -> ResourceNotFoundException:
    """Seen in logs of the service's users (node-dynamodb-stream, issue 16)."""
    return ResourceNotFoundException("Requested resource not found: Shard does not exist")


def first_since(log: bytes, low: int, high: int, stamp_ms: int) -> Generator[Command, Any, tuple[int, int | None]]:
    """The number of the log's first record from `low` on that was made at `stamp_ms` or after it, and when it was made;
    `high` and None where there is none. A record that is gone was older."""
    found: int | None = None
    while low < high:
        middle = (low + high) // 2
        record: bytes | None = (yield Get([keys.log_record_key(log, middle)]))[0]
        if record is None or stream_record_stamp_ms(record) < stamp_ms:
            low = middle + 1
        else:
            high, found = middle, stream_record_stamp_ms(record)
    return low, found


def _parts(iterator: str) -> tuple[str, str, str]:
    parts = iterator.split("|")
    if len(parts) != 3:
        raise _invalid()
    return parts[0], parts[1], parts[2]


def _seal(stream: Stream, content: bytes) -> bytes:
    return hmac.digest(stream.secret.encode(), content, "sha256")[:_SEAL_BYTES]


def _invalid() -> ValidationException:
    """The words are ours."""
    return ValidationException("Invalid ShardIterator")

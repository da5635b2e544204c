"""Storage keys: order-preserving bytes that place an item by its partition key and sort it by its sort key.

Theory of operation. All records of a database live in one ordered store. The first byte of a key names a
space; keys of items and index entries are

    02 | table (4) | index (2) | hash of the partition key (8) | partition key | sort key | base table's key

The expiries of items lie in a space of their own, so that what has expired is one range:

    08 | table (4) | index (2) | second (8) | the item's key from its hash on

Index id 0 is the table itself; only index entries carry the base table's key, which makes them unique. A hash
leads it as well: entries with the same index key come in no order of the table's (as the service's do). Since
the hash leads, a Scan walks in hash order as the service's does, a Scan segment is a slice of the hash space,
and what one partition key holds lies together in the order of its sort keys.

The records of a stream's shard are a log (see `storage.commands.Commit`), whose prefix is

    05 | table (4) | number of the stream among its table's (2) | number of the shard in the stream (8)

Each part of a key is encoded so that byte order is the order of the values, and so that no encoding is the
beginning of another. Hence parts can be strung together without lengths, and everything that starts with
given parts is one range: from the encoded parts to `after_prefix` of them.

- Strings and binaries: their bytes (a string's UTF-8), 00 written as 00 FF, ended with 00 00.
- Numbers: `numbers.sortable`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import Any, Final, Literal, TypeAlias

import msgspec

from torusdb.model.attributes import Item
from torusdb.model.numbers import hash_bytes, sortable

KeyType: TypeAlias = Literal["S", "N", "B"]

META_SPACE: Final = b"\x00"
CATALOG_SPACE: Final = b"\x01"
ITEM_SPACE: Final = b"\x02"
JOB_SPACE: Final = b"\x03"
TALLY_SPACE: Final = b"\x04"
STREAM_SPACE: Final = b"\x05"
STREAM_CATALOG_SPACE: Final = b"\x06"
TOKEN_SPACE: Final = b"\x07"
EXPIRY_SPACE: Final = b"\x08"

HASH_BYTES: Final = 8
PARTITION_PREFIX_BYTES: Final = 7
"""Space, table and index."""
PLACE_BYTES: Final = PARTITION_PREFIX_BYTES + HASH_BYTES
"""What all keys of one partition key share; an engine may place data by it."""

SEGMENT_SLOTS: Final = 4096
"""The service cuts the hash space at multiples of 1/4096 for a parallel Scan (measured)."""

_END = b"\x00\x00"
_INDEX = Struct(">IH")
_TABLE = Struct(">I")
_JOB = Struct(">Q")
_PERIOD = Struct(">I")
_SECOND = Struct(">Q")
_SHARD = Struct(">IHQ")

EXPIRY_SECOND_MAX: Final = (1 << 64) - 1

_HASH_AT: Final = PARTITION_PREFIX_BYTES

# The service hashes a partition key with MD5 behind this word (found out from the order of its Scans).
_SEED = hashlib.md5(b"Outliers", usedforsecurity=False)


class KeyAttribute(msgspec.Struct, frozen=True):
    name: str
    type: KeyType


def _escaped(raw: bytes) -> bytes:
    return raw.replace(b"\x00", b"\x00\xff") if 0 in raw else raw


def _encode_string(value: str) -> bytes:
    raw = value.encode()
    return raw + _END if 0 not in raw else _escaped(raw) + _END


def _encode_binary(value: bytes) -> bytes:
    return value + _END if 0 not in value else _escaped(value) + _END


_ENCODERS: dict[KeyType, Callable[[Any], bytes]] = {
    "S": _encode_string,
    "N": sortable,
    "B": _encode_binary,
}


def encode_key_value(type_: KeyType, value: Any) -> bytes:
    """Bytes in the order of the values of a type; no value's are the beginning of another's."""
    return _ENCODERS[type_](value)


def encode_key_beginning(type_: Literal["S", "B"], value: Any) -> bytes:
    """What the encodings of all values that begin with `value` begin with."""
    return _escaped(value.encode() if type_ == "S" else value)


def _hash(raw: bytes) -> bytes:
    digest = _SEED.copy()
    digest.update(raw)
    return digest.digest()[:HASH_BYTES]


def _place_string(value: str) -> bytes:
    raw = value.encode()
    digest = _SEED.copy()  # `_hash` written out: this runs once per item read or written
    digest.update(raw)
    return digest.digest()[:HASH_BYTES] + (raw if 0 not in raw else _escaped(raw)) + _END


def _place_number(value: str) -> bytes:
    encoded = sortable(value)
    return _hash(hash_bytes(encoded)) + encoded


def _place_binary(value: bytes) -> bytes:
    return _hash(value) + _encode_binary(value)


_PLACERS: dict[KeyType, Callable[[Any], bytes]] = {
    "S": _place_string,
    "N": _place_number,
    "B": _place_binary,
}
"""The hash of a partition key of one attribute, and the encoding of it."""


def _placed(types: Sequence[KeyType], values: Sequence[Any]) -> bytes:
    """The hash of a partition key, and the encoding of it. Several attributes are hashed as encoded: how the
    service does it is not known."""
    if len(types) == 1:
        return _PLACERS[types[0]](values[0])
    encoded = b"".join(map(encode_key_value, types, values))
    return _hash(encoded) + encoded


def partition_hash(types: Sequence[KeyType], values: Sequence[Any]) -> bytes:
    """The place of a partition key on the ring."""
    return _placed(types, values)[:HASH_BYTES]


def index_partition(table_id: int, index_id: int) -> bytes:
    """What all keys of a table (index 0) or an index begin with."""
    return ITEM_SPACE + _INDEX.pack(table_id, index_id)


def partition_key_prefix(prefix: bytes, hash_keys: Sequence[KeyAttribute], values: Sequence[Any]) -> bytes:
    """What all keys of one partition key begin with: all but the sort key. `values` are bare, in the order of
    `hash_keys`: `["user#1"]`, not `[{"S": "user#1"}]`."""
    return prefix + _placed([key.type for key in hash_keys], values)


def item_key(prefix: bytes, item: Item, hash_key: KeyAttribute, range_key: KeyAttribute | None) -> bytes:
    """The key of a table's item, whose key attributes have been checked."""
    return item_keyer(prefix, hash_key, range_key)(item)


def item_keyer(prefix: bytes, hash_key: KeyAttribute, range_key: KeyAttribute | None) -> Callable[[Item], bytes]:
    """`item_key` with all but the item given: made once for a table, and called for each item."""
    hash_name, hash_type, place = hash_key.name, hash_key.type, _PLACERS[hash_key.type]
    if range_key is None:
        return lambda item: prefix + place(item[hash_name][hash_type])
    range_name, range_type, encode = range_key.name, range_key.type, _ENCODERS[range_key.type]

    def key_of(item: Item) -> bytes:
        return prefix + place(item[hash_name][hash_type]) + encode(item[range_name][range_type])

    return key_of


def index_entry_key(
    prefix: bytes,
    item: Item,
    hash_keys: Sequence[KeyAttribute],
    range_keys: Sequence[KeyAttribute],
    base_keys: Sequence[KeyAttribute],
) -> bytes | None:
    """The key of an item's entry in an index; None where the item has no place in it: it lacks a key
    attribute, or (an item from before the index) has one of another type, or an empty one."""
    hash_values = _values_of(item, hash_keys)
    range_values = _values_of(item, range_keys)
    if hash_values is None or range_values is None:
        return None
    parts = [partition_key_prefix(prefix, hash_keys, hash_values)]
    parts += (_ENCODERS[key.type](value) for key, value in zip(range_keys, range_values, strict=True))
    parts.append(_identity(item, base_keys))
    return b"".join(parts)


def _identity(item: Item, base_keys: Sequence[KeyAttribute]) -> bytes:
    """The base table's key behind its hash, which is the service's order among equal index keys as far as peers have
    found it out."""
    hashed, encoded = b"", b""
    for key in base_keys:
        value = item[key.name][key.type]
        sorted_as = _ENCODERS[key.type](value)
        encoded += sorted_as
        match key.type:
            case "S":
                hashed += value.encode()
            case "N":
                hashed += hash_bytes(sorted_as)
            case "B":
                hashed += value
    return _hash(hashed) + encoded


def _values_of(item: Item, keys: Iterable[KeyAttribute]) -> list[Any] | None:
    values = []
    for key in keys:
        attribute = item.get(key.name)
        value = None if attribute is None else attribute.get(key.type)
        if not value:
            return None
        values.append(value)
    return values


def after_prefix(prefix: bytes) -> bytes:
    """The smallest key greater than every key that begins with `prefix`."""
    kept = prefix.rstrip(b"\xff")
    if not kept:
        raise ValueError("no key is greater than all that begin with FF bytes only")
    return kept[:-1] + bytes([kept[-1] + 1])


def segment_bounds(prefix: bytes, segment: int, total: int) -> tuple[bytes, bytes]:
    """Where segment number `segment` of `total` of a parallel Scan starts and stops. With more segments than
    the service's slots, the slots are as fine as the hash."""
    slots = SEGMENT_SLOTS if total <= SEGMENT_SLOTS else 1 << (8 * HASH_BYTES)
    return _hash_bound(prefix, segment, total, slots), _hash_bound(prefix, segment + 1, total, slots)


def _hash_bound(prefix: bytes, segment: int, total: int, slots: int) -> bytes:
    if segment == total:
        return after_prefix(prefix)
    if segment == 0:
        return prefix
    slot = -(-slots * segment // total)
    return prefix + (slot * ((1 << (8 * HASH_BYTES)) // slots)).to_bytes(HASH_BYTES, "big")


def space_bounds(table_id: int, index_id: int | None) -> tuple[bytes, bytes]:
    """Where the items of a table and the entries of all its indexes lie, or those of one index (0: the
    table's own)."""
    prefix = ITEM_SPACE + _TABLE.pack(table_id) if index_id is None else index_partition(table_id, index_id)
    return prefix, after_prefix(prefix)


def catalog_prefix(account: str, region: str) -> bytes:
    """What the catalog keys of one account in one region begin with."""
    return CATALOG_SPACE + _encode_string(account) + _encode_string(region)


def catalog_key(account: str, region: str, table_name: str) -> bytes:
    return catalog_prefix(account, region) + _encode_string(table_name)


def tally_key(table_id: int, index_id: int) -> bytes:
    """The counter of a table's items (index 0) or an index's entries."""
    return TALLY_SPACE + _INDEX.pack(table_id, index_id)


def tally_bounds(table_id: int, index_id: int | None) -> tuple[bytes, bytes]:
    """Where all counters of a table lie, or that of one index."""
    start = TALLY_SPACE + _TABLE.pack(table_id) if index_id is None else tally_key(table_id, index_id)
    return start, after_prefix(start)


def expiry_space(table_id: int, index_id: int) -> bytes:
    """What the keys of all expiries of a table begin with, for the time between two changes of its time to live."""
    return EXPIRY_SPACE + _INDEX.pack(table_id, index_id)


def expiry_bounds(table_id: int, index_id: int | None) -> tuple[bytes, bytes]:
    """Where all expiries of a table lie, or those of one time."""
    start = EXPIRY_SPACE + _TABLE.pack(table_id) if index_id is None else expiry_space(table_id, index_id)
    return start, after_prefix(start)


def expiry_bound(space: bytes, second: int) -> bytes:
    """What no expiry before `second` is behind, and no later one before."""
    return space + _SECOND.pack(second)


def expiry_key(space: bytes, second: int, key: bytes) -> bytes:
    """The expiry of the item with the storage key `key`."""
    return space + _SECOND.pack(second) + key[PARTITION_PREFIX_BYTES:]


def expiring_key(base_partition: bytes, expiry: bytes) -> bytes:
    """The storage key of the item whose expiry has the key `expiry`."""
    return base_partition + expiry[PARTITION_PREFIX_BYTES + _SECOND.size :]


def job_key(job_id: int) -> bytes:
    return JOB_SPACE + _JOB.pack(job_id)


def token_prefix(account: str, region: str, period: int | None = None) -> bytes:
    """What the keys of request tokens of one account in one region begin with, or those of one period of time."""
    prefix = TOKEN_SPACE + _encode_string(account) + _encode_string(region)
    return prefix if period is None else prefix + _PERIOD.pack(period)


def token_key(account: str, region: str, period: int, operation: str, token: str) -> bytes:
    """Each operation has tokens of its own. They lie together by the time of their first use, so that those of a
    period are dropped as one range."""
    return token_prefix(account, region, period) + _encode_string(operation) + _encode_string(token)


def token_period(prefix: bytes, key: bytes) -> int:
    """The period of a key that begins with `prefix`, an account's in a region."""
    period: int = _PERIOD.unpack_from(key, len(prefix))[0]
    return period


def hash_of(item_key: bytes) -> bytes:
    """The place on the ring of the item or entry that is stored under a key."""
    return item_key[_HASH_AT:PLACE_BYTES]


def stream_catalog_key(account: str, region: str, table_name: str, label: str) -> bytes:
    names = (account, region, table_name, label)
    return STREAM_CATALOG_SPACE + b"".join(map(_encode_string, names))


def shard_log(table_id: int, stream_number: int, shard_number: int) -> bytes:
    """The prefix of a shard's log. All of a shard shares a place."""
    return STREAM_SPACE + _SHARD.pack(table_id, stream_number, shard_number)


def log_record_key(log: bytes, number: int) -> bytes:
    return log + _JOB.pack(number)

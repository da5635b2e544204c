"""Records: an item as the engine stores it, behind a header of 14 bytes.

| bytes | what |
| --- | --- |
| 1 | version of the format: 1 |
| 1 | flags: 0, none is defined yet |
| 4 | the item's size in DynamoDB's count, for capacity and page limits without decoding |
| 8 | when it was written, in milliseconds since 1970 |
| rest | the item in the wire's own JSON, canonical, ready to be spliced into an answer |

Numbers are big-endian.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from torusdb.model.attributes import Item, decode_item

RECORD_VERSION: Final = 1
HEADER_BYTES: Final = 14

_HEADER = Struct(">BBIQ")
_pack_header = _HEADER.pack
_read_size = Struct(">I").unpack_from
_SIZE_AT = 2
_STAMP_AT = 6
_read_stamp = Struct(">Q").unpack_from


class UnreadableRecordError(Exception):
    """A record that is not of this version: the data directory was written by a newer one, or is damaged."""


def pack(item_json: bytes, size: int, stamp_ms: int) -> bytes:
    return _pack_header(RECORD_VERSION, 0, size, stamp_ms) + item_json


def record_size(record: bytes) -> int:
    """The item's size in DynamoDB's count."""
    size: int = _read_size(record, _SIZE_AT)[0]
    return size


def record_stamp_ms(record: bytes) -> int:
    stamp_ms: int = _read_stamp(record, _STAMP_AT)[0]
    return stamp_ms


def record_item_json(record: bytes) -> bytes:
    if record[0] != RECORD_VERSION:
        _refuse(record)
    return record[HEADER_BYTES:]


def unpack(record: bytes) -> Item:
    # The stored item passed `model.values` once: each of its values has exactly one member.
    return decode_item(record_item_json(record))


def _refuse(record: bytes) -> None:
    raise UnreadableRecordError(
        f"a record of format version {record[0]} cannot be read by this TorusDB, which knows version "
        f"{RECORD_VERSION}: use the TorusDB that wrote the data, or a newer one"
    )

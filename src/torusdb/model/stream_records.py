"""Records of a stream, as a shard's log keeps them: a header, then the images as they go into an answer.

| bytes | what |
| --- | --- |
| 1 | version of the format: 1 |
| 1 | what happened: 1 INSERT, 2 MODIFY, 3 REMOVE; 128 is added where the service itself deleted an expired item |
| 4 | SizeBytes: the sizes of the keys and the images, as items are counted |
| 8 | when, in milliseconds since 1970 |
| rest | the members Keys, NewImage and OldImage, as far as the stream's view has them, in the wire's own JSON |

Numbers are big-endian.
"""

from __future__ import annotations

import hashlib
from struct import Struct
from typing import Final

from torusdb.model.records import UnreadableRecordError
from torusdb.model.streams import Shard, Stream

STREAM_RECORD_VERSION: Final = 1
HEADER_BYTES: Final = 14

INSERT: Final = 1
MODIFY: Final = 2
REMOVE: Final = 3
BY_SERVICE: Final = 128

_HEADER = Struct(">BBIQ")
_pack_header = _HEADER.pack
_NAMES = {INSERT: b"INSERT", MODIFY: b"MODIFY", REMOVE: b"REMOVE"}
_IDENTITY: Final = b',"userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}'
"""Of an item that time to live has removed (service model, `Identity`)."""


def pack_stream_record(event: int, size: int, stamp_ms: int, members: bytes) -> bytes:
    return _pack_header(STREAM_RECORD_VERSION, event, size, stamp_ms) + members


def stream_record_stamp_ms(record: bytes) -> int:
    stamp_ms: int = _HEADER.unpack_from(record)[3]
    return stamp_ms


def stream_record_size(record: bytes) -> int:
    size: int = _HEADER.unpack_from(record)[2]
    return size


def answer_json(stream: Stream, shard: Shard, region: str, number: int, record: bytes) -> bytes:
    """The record as GetRecords tells it. Its members are in the order of the service's."""
    version, event, size, stamp_ms = _HEADER.unpack_from(record)
    if version != STREAM_RECORD_VERSION:
        raise UnreadableRecordError(
            f"a stream's record of format version {version} cannot be read by this TorusDB, which knows version "
            f"{STREAM_RECORD_VERSION}: use the TorusDB that wrote the data, or a newer one"
        )
    return (
        b'{"awsRegion":"%b","dynamodb":{"ApproximateCreationDateTime":%d,%b,"SequenceNumber":"%b","SizeBytes":%d,'
        b'"StreamViewType":"%b"},"eventID":"%b","eventName":"%b","eventSource":"aws:dynamodb","eventVersion":"1.1"%b}'
        % (
            region.encode(),
            stamp_ms // 1000,
            record[HEADER_BYTES:],
            shard.sequence_of(number).encode(),
            size,
            stream.view.encode(),
            _event_id(stream, shard, number),
            _NAMES[event & ~BY_SERVICE],
            _IDENTITY if event & BY_SERVICE else b"",
        )
    )


def _event_id(stream: Stream, shard: Shard, number: int) -> bytes:
    """Unique, and the same whenever the record is read."""
    name = f"{stream.secret}/{shard.number}/{number}"
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest().encode()

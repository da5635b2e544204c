from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torusdb.model.attributes import encode_item
from torusdb.model.records import (
    HEADER_BYTES,
    UnreadableRecordError,
    pack,
    record_item_json,
    record_size,
    record_stamp_ms,
    unpack,
)

ITEM = {"pk": {"S": "ü"}, "b": {"B": b"\x00\xff"}, "l": {"L": [{"NULL": True}]}}


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_a_record_gives_back_what_was_packed(size: int, stamp_ms: int) -> None:
    item_json = encode_item(ITEM)
    record = pack(item_json, size, stamp_ms)
    assert len(record) == HEADER_BYTES + len(item_json)
    assert record_size(record) == size
    assert record_stamp_ms(record) == stamp_ms
    assert record_item_json(record) == item_json
    assert unpack(record) == ITEM


def test_the_header_on_disk() -> None:
    assert pack(b"{}", 0x0A0B, 0x0102030405).hex() == "010000000a0b0000000102030405" + b"{}".hex()


@pytest.mark.parametrize("version", [0, 2, 255])
def test_records_of_other_versions_are_refused(version: int) -> None:
    record = bytes([version]) + pack(b"{}", 1, 1)[1:]
    for read in (unpack, record_item_json):
        with pytest.raises(UnreadableRecordError, match=f"format version {version} "):
            read(record)

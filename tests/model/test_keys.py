from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torusdb.model import keys
from torusdb.model.attributes import Item
from torusdb.model.keys import KeyAttribute, KeyType
from torusdb.model.numbers import normalise

# Few letters, so that values often share beginnings; among them those that escaping is about.
texts = st.text("a\x00\x01\xffé\uffff\U0001f600", max_size=5)
binaries = st.lists(st.sampled_from([0x00, 0x01, 0x61, 0xFE, 0xFF]), max_size=5).map(bytes)
key_numbers = st.one_of(
    st.integers(-120, 120).map(str),
    st.decimals(-1000, 1000, places=3).map(lambda number: normalise(str(number))),
    st.builds(lambda digit, exponent: normalise(f"{digit}e{exponent}"), st.integers(-9, 9), st.integers(-129, 124)),
)
VALUES: dict[KeyType, st.SearchStrategy[Any]] = {"S": texts, "N": key_numbers, "B": binaries}
KEY_TYPES: tuple[KeyType, ...] = ("S", "N", "B")
key_types = st.lists(st.sampled_from(KEY_TYPES), min_size=1, max_size=4)


@st.composite
def two_tuples(draw: st.DrawFn) -> tuple[list[KeyType], list[Any], list[Any]]:
    types: list[KeyType] = draw(key_types)
    a = [draw(VALUES[type_]) for type_ in types]
    b = [draw(st.one_of(st.just(mine), VALUES[type_])) for type_, mine in zip(types, a, strict=True)]
    return types, a, b


def encoded(types: Sequence[KeyType], values: Sequence[Any]) -> bytes:
    return b"".join(map(keys.encode_key_value, types, values))


def ordinal(types: Sequence[KeyType], values: Sequence[Any]) -> list[Any]:
    as_ordered: dict[KeyType, Callable[[Any], Any]] = {"S": str.encode, "N": Decimal, "B": bytes}
    return [as_ordered[type_](value) for type_, value in zip(types, values, strict=True)]


@settings(max_examples=400)
@given(two_tuples())
def test_byte_order_of_parts_strung_together(case: tuple[list[KeyType], list[Any], list[Any]]) -> None:
    types, a, b = case
    x, y = ordinal(types, a), ordinal(types, b)
    p, q = encoded(types, a), encoded(types, b)
    assert (p > q) - (p < q) == (x > y) - (x < y)
    assert (p == q) == (a == b)
    if a != b:
        assert not p.startswith(q)
        assert not q.startswith(p)


@pytest.mark.parametrize(
    ("type_", "ladder"),
    [
        (
            "S",
            ["", "\x00", "\x00\x00", "\x00\x01", "\x00a", "\x01", "a", "a\x00", "a\x00b", "a\x01", "ab", "b"],
        ),
        ("B", [b"", b"\x00", b"\x00\x00", b"\x00\xff", b"\x01", b"\xfe", b"\xff", b"\xff\x00", b"\xff\xff"]),
    ],
)
def test_zero_bytes_within_values(type_: KeyType, ladder: list[Any]) -> None:
    for rest in (b"", b"\x00", b"\xff" * 3):
        rungs = [keys.encode_key_value(type_, value) + rest for value in ladder]
        assert rungs == sorted(set(rungs))


@given(st.data(), st.sampled_from(["S", "B"]))
def test_the_range_of_values_that_begin_alike(data: st.DataObject, type_: Any) -> None:
    value, beginning = data.draw(VALUES[type_]), data.draw(VALUES[type_])
    start = b"\x02" + keys.encode_key_beginning(type_, beginning)
    key = b"\x02" + keys.encode_key_value(type_, value)
    assert (start <= key < keys.after_prefix(start)) == value.startswith(beginning)


@given(st.binary(min_size=1).filter(lambda prefix: prefix.strip(b"\xff") != b""), st.binary())
def test_after_prefix_is_past_the_prefix_and_not_past_more(prefix: bytes, other: bytes) -> None:
    after = keys.after_prefix(prefix)
    assert prefix + other < after
    assert prefix < after
    assert (prefix <= other < after) == other.startswith(prefix)


def test_nothing_comes_after_ff() -> None:
    with pytest.raises(ValueError, match="FF"):
        keys.after_prefix(b"\xff\xff")


PREFIX = keys.index_partition(0x01020304, 0x0506)
PK, SK = KeyAttribute("pk", "S"), KeyAttribute("sk", "N")


def test_the_layout_of_an_items_key() -> None:
    assert PREFIX.hex() == "02010203040506"
    assert len(PREFIX) == keys.PARTITION_PREFIX_BYTES
    digest = hashlib.md5(b"Outliers" + b"a\x00b", usedforsecurity=False).digest()
    item: Item = {"sk": {"N": "1"}, "pk": {"S": "a\x00b"}, "other": {"BOOL": True}}
    key = keys.item_key(PREFIX, item, PK, SK)
    assert key == PREFIX + digest[:8] + b"a\x00\xffb\x00\x00" + b"\xc1\x02\x00"
    assert keys.item_key(PREFIX, item, PK, None) == key[:-3]
    assert keys.partition_key_prefix(PREFIX, [PK], ["a\x00b"]) == key[:-3]
    assert key[: keys.PLACE_BYTES] == PREFIX + keys.partition_hash(["S"], ["a\x00b"])


@given(st.data(), st.sampled_from(["S", "N", "B"]), st.sampled_from(["S", "N", "B"]))
def test_a_key_is_its_partition_and_its_sort_value(data: st.DataObject, hash_type: Any, range_type: Any) -> None:
    hash_key, range_key = KeyAttribute("h", hash_type), KeyAttribute("r", range_type)
    hash_value, range_value = data.draw(VALUES[hash_type]), data.draw(VALUES[range_type])
    item = {"h": {hash_type: hash_value}, "r": {range_type: range_value}}
    partition = keys.partition_key_prefix(PREFIX, [hash_key], [hash_value])
    place = PREFIX + keys.partition_hash([hash_type], [hash_value])
    assert partition == place + keys.encode_key_value(hash_type, hash_value)
    assert keys.item_key(PREFIX, item, hash_key, range_key) == partition + keys.encode_key_value(
        range_type, range_value
    )


@pytest.mark.parametrize(
    ("type_", "value", "raw"),
    [
        ("S", "é", "c3a9"),
        ("B", b"\x00", "00"),
        ("N", "0", "80"),
        ("N", "123", "c20218"),
        ("N", "-1", "3e6466"),
    ],
)
def test_the_hash_is_taken_over_the_services_own_bytes(type_: KeyType, value: Any, raw: str) -> None:
    digest = hashlib.md5(b"Outliers" + bytes.fromhex(raw), usedforsecurity=False).digest()
    assert keys.partition_hash([type_], [value]) == digest[:8]


HASH_KEYS = [KeyAttribute("a", "S"), KeyAttribute("b", "N")]
RANGE_KEYS = [KeyAttribute("c", "B"), KeyAttribute("d", "S")]
BASE_KEYS = [PK, SK]
INDEXED: Item = {
    "pk": {"S": "p"},
    "sk": {"N": "7"},
    "a": {"S": "x"},
    "b": {"N": "1"},
    "c": {"B": b"y"},
    "d": {"S": "z"},
}


def test_the_layout_of_an_index_entrys_key() -> None:
    key = keys.index_entry_key(PREFIX, INDEXED, HASH_KEYS, RANGE_KEYS, BASE_KEYS)
    assert key is not None
    partition = keys.partition_key_prefix(PREFIX, HASH_KEYS, ["x", "1"])
    base_hash = hashlib.md5(b"Outliersp" + bytes.fromhex("c108"), usedforsecurity=False).digest()[:8]
    assert key == partition + encoded("BS", [b"y", "z"]) + base_hash + encoded("SN", ["p", "7"])  # type: ignore[arg-type]
    assert partition[7:15] == keys.partition_hash(["S", "N"], ["x", "1"])
    assert partition[15:] == encoded(["S", "N"], ["x", "1"])


def test_one_hash_attribute_of_an_index_is_placed_as_a_tables() -> None:
    key = keys.index_entry_key(PREFIX, INDEXED, HASH_KEYS[:1], [], BASE_KEYS)
    assert key is not None
    assert key.startswith(keys.item_key(PREFIX, INDEXED, HASH_KEYS[0], None))


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
@pytest.mark.parametrize("instead", [None, {"BOOL": True}, {"S": ""}, {"B": b""}, {"NULL": True}])
def test_an_item_without_a_key_attribute_has_no_entry(name: str, instead: dict[str, Any] | None) -> None:
    item = {**INDEXED, name: instead} if instead else {k: v for k, v in INDEXED.items() if k != name}
    assert keys.index_entry_key(PREFIX, item, HASH_KEYS, RANGE_KEYS, BASE_KEYS) is None


def test_the_number_zero_is_a_key() -> None:
    item = {**INDEXED, "b": {"N": "0"}}
    assert keys.index_entry_key(PREFIX, item, HASH_KEYS, RANGE_KEYS, BASE_KEYS) is not None


@pytest.mark.parametrize("total", [1, 2, 3, 7, 100, 4095, 4096, 4097, 5000])
def test_segments_cover_the_space_without_gap_or_overlap(total: int) -> None:
    start, stop = keys.space_bounds(0x01020304, 0x0506)
    at = start
    for segment in range(total):
        bounds = keys.segment_bounds(PREFIX, segment, total)
        assert bounds[0] == at
        assert bounds[0] < bounds[1]
        at = bounds[1]
    assert at == stop


def test_segments_are_cut_at_the_next_slot_up() -> None:
    cuts = [keys.segment_bounds(PREFIX, segment, 3)[1] for segment in range(2)]
    assert [cut[7:].hex() for cut in cuts] == ["5560000000000000", "aab0000000000000"]


@given(st.integers(1, 1_000_000), st.data(), st.binary(min_size=8, max_size=8))
def test_each_hash_is_in_the_segment_of_its_share(total: int, data: st.DataObject, hash_: bytes) -> None:
    segment = data.draw(st.integers(0, total - 1))
    start, stop = keys.segment_bounds(PREFIX, segment, total)
    slots = 4096 if total <= 4096 else 2**64
    slot = int.from_bytes(hash_, "big") * slots >> 64
    assert (start <= PREFIX + hash_ < stop) == (slot * total // slots == segment)


def test_spaces_hold_what_is_theirs() -> None:
    table = keys.space_bounds(7, None)
    for index_id in (0, 1, 0xFFFF):
        start, stop = keys.space_bounds(7, index_id)
        assert table[0] <= start < stop <= table[1]
        assert start == keys.index_partition(7, index_id)
    assert table[1] <= keys.space_bounds(8, None)[0]
    assert keys.space_bounds(0xFFFFFFFF, None)[1] == keys.JOB_SPACE


def test_keys_of_the_other_spaces_are_apart_and_in_order() -> None:
    ladder = [
        keys.catalog_key("000000000000", "eu-west-2", "a"),
        keys.catalog_key("000000000000", "eu-west-2", "ab"),
        keys.catalog_key("000000000000", "eu-west-2", "b"),
        keys.catalog_key("000000000000", "eu-west-20", "a"),
        keys.catalog_key("000000000001", "eu-west-2", "a"),
        keys.index_partition(0, 0),
        keys.job_key(1),
        keys.job_key(256),
        keys.tally_key(1, 0),
        keys.tally_key(1, 1),
        keys.tally_key(2, 0),
    ]
    assert ladder == sorted(set(ladder))
    prefix = keys.catalog_prefix("000000000000", "eu-west-2")
    assert [key.startswith(prefix) for key in ladder] == [True] * 3 + [False] * 8

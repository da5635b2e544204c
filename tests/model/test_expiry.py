"""When an item expires, and where that is kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torusdb.model import keys
from torusdb.model.attributes import encode_item
from torusdb.model.expiry import AGE_SECONDS_MAX, Expiries, expiry_second
from torusdb.model.keys import KeyAttribute
from torusdb.model.numbers import normalise
from torusdb.model.records import pack

PARTITION = keys.index_partition(9, 0)
key_of = keys.item_keyer(PARTITION, KeyAttribute("pk", "S"), None)
SPACE_BYTES = 7
EXPIRIES = Expiries(9, 3, PARTITION, "ttl")


@pytest.mark.parametrize(
    ("number", "second"),
    [
        ("1700000000", 1_700_000_000),
        ("0", 0),
        ("1", 1),
        ("1700000000.5", 1_700_000_000),
        ("1699999999.999999", 1_699_999_999),
        ("0.5", 0),
        ("1.7e9", 1_700_000_000),
        ("-1", None),
        ("-1700000000", None),
        ("-0.5", None),
        ("1700000000000", 1_700_000_000_000),
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), None),
        ("1e20", None),
        ("9.9999999999999999999999999999999999999e125", None),
        ("1e-130", 0),
    ],
)
def test_numbers(number: str, second: int | None) -> None:
    assert expiry_second({"ttl": {"N": normalise(number)}}, "ttl") == second


@pytest.mark.parametrize(
    "value",
    [
        {"S": "1700000000"},
        {"B": b"1700000000"},
        {"BOOL": True},
        {"NULL": True},
        {"NS": ["1700000000"]},
        {"L": [{"N": "1700000000"}]},
        {"M": {"ttl": {"N": "1700000000"}}},
    ],
    ids=lambda value: next(iter(value)),
)
def test_what_is_no_number_never_expires(value: dict[str, Any]) -> None:
    assert expiry_second({"ttl": value}, "ttl") is None


def test_nor_does_what_lacks_the_attribute_or_has_it_deeper_down() -> None:
    assert expiry_second({"pk": {"S": "1"}, "TTL": {"N": "1"}}, "ttl") is None
    assert expiry_second({"pk": {"S": "1"}, "m": {"M": {"ttl": {"N": "1"}}}}, "m.ttl") is None


WRITTEN = 1_700_000_000


def due(expires: int, written: int = WRITTEN) -> int | None:
    """The second that the key of an item's expiry is of."""
    item = {"pk": {"S": "a"}, "ttl": {"N": str(expires)}}
    key = EXPIRIES.key_of_record(key_of(item), pack(encode_item(item), 9, written * 1000 + 999))
    second = None if key is None else int.from_bytes(key[SPACE_BYTES : keys.PLACE_BYTES], "big")
    assert EXPIRIES.due(item, written * 1000) == second
    return second


@pytest.mark.parametrize(
    ("expires", "second"),
    [
        (WRITTEN + 10, WRITTEN + 10),
        (WRITTEN, WRITTEN),
        (WRITTEN - 1, WRITTEN - 1),
        (WRITTEN - 2, WRITTEN - 1),
        (WRITTEN - AGE_SECONDS_MAX, WRITTEN - 1),
        (WRITTEN - AGE_SECONDS_MAX - 1, None),
        (0, None),
        (2**64 - 1, 2**64 - 1),
    ],
)
def test_what_has_expired_when_it_is_written_is_due_at_once_or_never(expires: int, second: int | None) -> None:
    assert due(expires) == second


@given(st.lists(st.tuples(st.integers(1, 2**64 - 2), st.text(max_size=4)), min_size=2, max_size=2, unique=True))
def test_keys_lie_in_the_order_of_seconds_and_lead_back_to_their_items(cases: list[tuple[int, str]]) -> None:
    made = []
    for second, pk in cases:
        item = {"pk": {"S": pk}}
        key = EXPIRIES.key(key_of(item), second)
        assert EXPIRIES.item_key(key) == key_of(item)
        for start, stop in (keys.expiry_bounds(9, 3), keys.expiry_bounds(9, None), EXPIRIES.bounds(second, second + 1)):
            assert start <= key < stop
        made.append(key)
    assert made[0] != made[1]
    if cases[0][0] != cases[1][0]:
        assert (made[0] < made[1]) == (cases[0][0] < cases[1][0])


def test_all_keys_of_one_second_share_what_an_engine_may_place_data_by() -> None:
    first, second = (EXPIRIES.key(key_of({"pk": {"S": pk}}), WRITTEN) for pk in ("a", "b"))
    assert first != second
    assert first[: keys.PLACE_BYTES] == second[: keys.PLACE_BYTES]
    assert first[:SPACE_BYTES] == keys.expiry_space(9, 3)

"""UUIDs of version 7 sort as the times do, as texts too, and ranges of times are ranges of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from uuid import RFC_4122, UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.modeling.conftest import Recorder
from torusdb.modeling import Attr, Entity, InvalidValue, Key, Store, Table, attr
from torusdb.modeling.blocks.uuid7 import first_uuid7, last_uuid7, moment_of, new_uuid7

MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))
RANDOM = st.binary(min_size=10, max_size=10)

events = Table("events", partition_key="pk", sort_key="sk")


class Event(Entity, table=events):
    key = Key("EVENTS#{room}", "{id}")
    room: Attr[str]
    id: Attr[UUID] = attr(default_factory=new_uuid7)


def made(moment: datetime, random: bytes = bytes(10)) -> UUID:
    return new_uuid7(now=lambda: moment, random_bytes=lambda count: random[:count])


def test_the_example_of_the_rfc() -> None:
    """RFC 9562, appendix A.6."""
    moment = datetime(2022, 2, 22, 14, 22, 22, tzinfo=timezone(timedelta(hours=-5)))
    # The 62 bits behind the variant stand lowest, the 12 of rand_a above the 4 of the version and the 2 of the variant.
    random = (0xCC3 << 64 | 0x18C4DC0C0C07398F).to_bytes(10, "big")
    assert made(moment, random) == UUID("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")


@given(MOMENTS, RANDOM)
def test_it_is_one_and_tells_its_time(moment: datetime, random: bytes) -> None:
    uuid = made(moment, random)
    assert (uuid.version, uuid.variant) == (7, RFC_4122)
    assert timedelta(0) <= moment - moment_of(uuid) < timedelta(milliseconds=1)
    assert str(first_uuid7(moment)) <= str(uuid) <= str(last_uuid7(moment))


@given(MOMENTS, MOMENTS, RANDOM, RANDOM)
def test_texts_sort_as_times_do(one: datetime, other: datetime, first: bytes, second: bytes) -> None:
    if one - other >= timedelta(milliseconds=1):
        assert str(made(one, first)) > str(made(other, second))
        assert last_uuid7(other) < first_uuid7(one)


def test_all_random_bits_are_used() -> None:
    ones = made(datetime(2026, 1, 1, tzinfo=UTC), b"\xff" * 10)
    assert bin(ones.int ^ made(datetime(2026, 1, 1, tzinfo=UTC)).int).count("1") == 74
    assert new_uuid7() != new_uuid7()


def test_a_range_of_times_is_a_range_of_ids(client: Recorder) -> None:
    store = Store(events, client)
    store.create_table()
    begin = datetime(2026, 5, 1, 12, tzinfo=UTC)
    ids = [made(begin + timedelta(milliseconds=number), bytes([number] * 10)) for number in (0, 1, 1, 2, 3)]
    ids[2] = made(begin + timedelta(milliseconds=1), b"\xff" * 10)
    store.put_many([Event(room="a", id=each) for each in ids])
    later = begin + timedelta(milliseconds=1)
    found = store.run(Event.key.query(Event.room == "a", Event.id.between(first_uuid7(later), last_uuid7(later))))
    assert [each.id for each in found] == ids[1:3]


def test_what_is_no_time_of_one_is_refused() -> None:
    with pytest.raises(InvalidValue, match="is before 1970"):
        first_uuid7(datetime(1969, 12, 31, tzinfo=UTC))
    with pytest.raises(InvalidValue, match="has no time zone"):
        new_uuid7(now=lambda: datetime(2026, 1, 1))
    with pytest.raises(InvalidValue, match="is a UUID of version 4, and only those of version 7 tell a time"):
        moment_of(uuid4())

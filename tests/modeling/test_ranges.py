"""Conditions on fields select the same keys as on the key's text: held against plain comparisons of the fields."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torusdb.modeling import (
    Attr,
    Entity,
    GlobalIndex,
    InvalidValue,
    Key,
    PlanRefused,
    Put,
    Table,
    binary_key,
    number_key,
)
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.ranges import KeyCondition, select

KEYS = {
    "number": "{number:04}#{city}",
    "day": "{day}#{number:04}",
    "time": "{time}{number:04}",
    "price": "X#{price:08.2}#END",
    "newest": "{number:newest_first:04}#{city}",
    "newest_day": "A#{day:newest_first}",
    "newest_time": "{time:newest_first}#{city}",
    "text": "{text}",
    "text_behind": "L#{city}#{text}",
    "places": "{city}#{number:04}#{day}#{text}",
    "whole": "{number:04}",
}
indexes = {name: GlobalIndex(name, partition_key=f"{name}_pk", sort_key=f"{name}_sk") for name in KEYS}
several = GlobalIndex("several", partition_key=["p", "q"], sort_key=["r", "s"])
numbers = GlobalIndex("numbers", partition_key="n_pk", sort_key=number_key("amount"))
binaries = GlobalIndex("binaries", partition_key="b_pk", sort_key=binary_key("blob"))
table = Table("things", partition_key="pk", indexes=[*indexes.values(), several, numbers, binaries])


class Thing(Entity, table=table):
    key = Key("{id}")
    by_number = Key("P", KEYS["number"], index=indexes["number"])
    by_day = Key("P", KEYS["day"], index=indexes["day"])
    by_time = Key("P", KEYS["time"], index=indexes["time"])
    by_price = Key("P", KEYS["price"], index=indexes["price"])
    by_newest = Key("P", KEYS["newest"], index=indexes["newest"])
    by_newest_day = Key("P", KEYS["newest_day"], index=indexes["newest_day"])
    by_newest_time = Key("P", KEYS["newest_time"], index=indexes["newest_time"])
    by_text = Key("P", KEYS["text"], index=indexes["text"])
    by_text_behind = Key("P", KEYS["text_behind"], index=indexes["text_behind"])
    by_places = Key("P", KEYS["places"], index=indexes["places"])
    by_whole = Key("P", KEYS["whole"], index=indexes["whole"])
    by_several = Key(["{city}", "{text}"], ["{number:04}#{day}", "{time}"], index=several)
    by_amount = Key("P", "{amount}", index=numbers)
    by_blob = Key("P", "{blob}", index=binaries)
    id: Attr[str]
    number: Attr[int]
    day: Attr[date]
    time: Attr[datetime]
    price: Attr[Decimal]
    text: Attr[str]
    city: Attr[str]
    amount: Attr[Decimal]
    blob: Attr[bytes]


TEXT = st.text(st.sampled_from("\0 !#AaZz\x7f\ud7ff\ue000\U0001f600"), min_size=1, max_size=3)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(0, 12) | st.integers(9990, 9999),
    "day": st.dates(date(2024, 1, 1), date(2024, 1, 8)),
    "time": st.integers(0, 60).map(lambda hours: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=hours)),
    "price": st.integers(0, 1200).map(lambda cents: Decimal(cents) / 100),
    "text": TEXT,
    "city": st.sampled_from(["Bath", "Bat", "Bath 2", "York"]),
    "amount": st.decimals(-9, 9, places=1),
    "blob": st.binary(min_size=1, max_size=2),
}


def thing(values: dict[str, Any]) -> Thing:
    return Thing(id="1", **values)


THINGS = st.lists(st.fixed_dictionaries(VALUES).map(thing), min_size=1, max_size=12)


def holds(condition: KeyCondition, stored: Any) -> bool:
    """As the service compares: texts by their UTF-8, numbers by value."""

    def comparable(value: Any) -> Any:
        if condition.kind == "N":
            return Decimal(value)
        return value.encode() if condition.kind == "S" else value

    value, bounds = comparable(stored), [comparable(each) for each in condition.values]
    if condition.operator == "BETWEEN":
        assert bounds[0] <= bounds[1], "the service refuses this"
        return bool(bounds[0] <= value <= bounds[1])
    if condition.operator == "begins_with":
        return bool(value.startswith(bounds[0]))
    return bool(
        {
            "=": value == bounds[0],
            "<": value < bounds[0],
            "<=": value <= bounds[0],
            ">": value > bounds[0],
            ">=": value >= bounds[0],
        }[condition.operator]
    )


def selected(key: BoundKey[Any], things: list[Thing], *conditions: Any) -> list[Thing]:
    selection = select(key, conditions)
    found = []
    for each in things:
        item = Put(each).item
        if all(holds(condition, item[condition.attribute][condition.kind]) for condition in selection.sort):
            found.append(each)
    return found


RANGED = [
    ("by_number", "number"),
    ("by_day", "day"),
    ("by_time", "time"),
    ("by_price", "price"),
    ("by_newest", "number"),
    ("by_newest_day", "day"),
    ("by_newest_time", "time"),
    ("by_text", "text"),
    ("by_whole", "number"),
    ("by_amount", "amount"),
    ("by_blob", "blob"),
]


@settings(max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize(("key_name", "field"), RANGED)
def test_a_range_has_what_is_in_it(key_name: str, field: str, data: st.DataObject) -> None:
    things = data.draw(THINGS)
    low, high = sorted([data.draw(VALUES[field]), data.draw(VALUES[field])])
    key, attribute = getattr(Thing, key_name), getattr(Thing, field)

    def check(*conditions: Any, expected: Any) -> None:
        try:
            found = selected(key, things, *conditions)
        except PlanRefused as refused:
            assert "nothing in it" in str(refused) or "whole key attribute" in str(refused)  # noqa: PT017 - either may be
            if "nothing" in str(refused):
                assert not any(expected(getattr(each, field)) for each in things)
            return
        assert found == [each for each in things if expected(getattr(each, field))]

    check(attribute == low, expected=lambda value: value == low)
    check(attribute < low, expected=lambda value: value < low)
    check(attribute <= low, expected=lambda value: value <= low)
    check(attribute > low, expected=lambda value: value > low)
    check(attribute >= low, expected=lambda value: value >= low)
    check(attribute.between(low, high), expected=lambda value: low <= value <= high)
    check(attribute >= low, attribute < high, expected=lambda value: low <= value < high)
    check((attribute > low) & (attribute <= high), expected=lambda value: low < value <= high)


@settings(max_examples=60)
@given(things=THINGS, city=VALUES["city"], beginning=TEXT, low=TEXT, number=VALUES["number"], day=VALUES["day"])
def test_fields_are_fixed_from_the_left(
    things: list[Thing], city: str, beginning: str, low: str, number: int, day: date
) -> None:
    behind = Thing.by_text_behind
    assert selected(behind, things, Thing.city == city) == [each for each in things if each.city == city]
    assert selected(behind, things, Thing.city == city, Thing.text.begins_with(beginning)) == [
        each for each in things if each.city == city and each.text.startswith(beginning)
    ]
    assert selected(behind, things, Thing.city == city, Thing.text > low) == [
        each for each in things if each.city == city and each.text > low
    ]
    places = Thing.by_places
    assert selected(places, things, Thing.city.begins_with("Ba")) == [
        each for each in things if each.city.startswith("Ba")
    ]
    assert selected(places, things, Thing.city == city, Thing.number >= number) == [
        each for each in things if each.city == city and each.number >= number
    ]
    assert selected(places, things, Thing.city == city, Thing.number == number, Thing.day < day) == [
        each for each in things if each.city == city and each.number == number and each.day < day
    ]


def conditions_of(key: BoundKey[Any], *conditions: Any) -> str:
    selection = select(key, conditions)
    return " AND ".join(map(str, selection.sort))


def test_the_attributes_of_a_key_of_several_are_fixed_from_the_left() -> None:
    partition = [Thing.city == "Bath", Thing.text == "x"]
    key, day, time = Thing.by_several, date(2024, 1, 2), datetime(2024, 1, 2, tzinfo=UTC)
    assert select(key, partition).partition == {"p": {"S": "Bath"}, "q": {"S": "x"}}
    assert conditions_of(key, *partition) == ""
    assert conditions_of(key, *partition, Thing.number == 7) == "begins_with(r, '0007#')"
    assert conditions_of(key, *partition, Thing.number == 7, Thing.day == day) == "r = '0007#2024-01-02'"
    assert conditions_of(key, *partition, Thing.number == 7, Thing.day == day, Thing.time >= time) == (
        "r = '0007#2024-01-02' AND s >= '2024-01-02T00:00:00.000000Z'"
    )
    with pytest.raises(
        PlanRefused, match=r"^Thing\.time comes behind day in Thing\.by_several: give Thing\.day with =="
    ):
        select(key, [*partition, Thing.number == 7, Thing.time >= time])


def test_dates_stand_for_their_days_where_times_are_stored() -> None:
    first, last = date(2024, 1, 2), date(2024, 1, 4)
    times = [datetime(2024, 1, day, hour, tzinfo=UTC) for day in range(1, 6) for hour in (0, 12, 23)]
    things = [
        Thing(
            id="1", number=1, day=first, time=time, price=Decimal(1), text="a", city="a", amount=Decimal(1), blob=b"a"
        )
        for time in times
    ]

    def days(*conditions: Any) -> list[int]:
        return sorted({each.time.day for each in selected(Thing.by_time, things, *conditions)})

    assert days(Thing.time.between(first, last)) == [2, 3, 4]
    assert days(Thing.time > first) == [3, 4, 5]
    assert days(Thing.time >= first) == [2, 3, 4, 5]
    assert days(Thing.time < first) == [1]
    assert days(Thing.time <= first) == [1, 2]
    with pytest.raises(InvalidValue, match=r"^Thing\.by_time\.time: datetime\.date\(2024, 1, 2\) is not a datetime$"):
        days(Thing.time == first)  # type: ignore[comparison-overlap]


BATH = Thing.city == "Bath"


@pytest.mark.parametrize(
    ("key", "conditions", "refusal"),
    [
        (
            Thing.by_places,
            [Thing.number == 1],
            "Thing.number comes behind city in Thing.by_places: give Thing.city with ==, or number to .filter(…)",
        ),
        (
            Thing.by_places,
            [BATH, Thing.number > 1, Thing.day == date(2024, 1, 1)],
            "Thing.day comes behind number in Thing.by_places: give Thing.number with ==, or day to .filter(…)",
        ),
        (
            Thing.by_places,
            [Thing.city > "B"],
            "Thing.city is followed by '#' and does not sort by its values in Thing.by_places: "
            "give the range to .filter(…)",
        ),
        (
            Thing.by_places,
            [BATH, Thing.price == Decimal(1)],
            "Thing.price is not in Thing.by_places (P, {city}#{number:04}#{day}#{text}): give it to .filter(…)",
        ),
        (Thing.by_places, [BATH, BATH], "Thing.city has two values in one query"),
        (
            Thing.by_places,
            [BATH, Thing.city > "B"],
            "Thing.city has a value and a range in one query: leave out the range",
        ),
        (
            Thing.by_number,
            [Thing.number > 1, Thing.number >= 2],
            "Thing.number has two ranges in one query: give one of them, and the rest to .filter(…)",
        ),
        (
            Thing.by_number,
            [Thing.number != 1],
            "Thing.number can have ==, a range or begins_with in a query: give the rest to .filter(…)",
        ),
        (
            Thing.by_number,
            [Thing.number.in_([1, 2])],
            "Thing.by_number takes one value of Thing.number: make a query of each, with ==, or give in_ to .filter(…)",
        ),
        (
            Thing.by_number,
            [~(Thing.number == 1)],
            "Thing.by_number cannot be asked this of Thing.number: give it to .filter(…)",
        ),
        (
            Thing.by_number,
            [Thing.number == Thing.number],
            "Thing.number is compared with Thing.number, which a key cannot be: give it to .filter(…)",
        ),
        (
            Thing.by_number,
            [Thing.number.between(5, 3)],
            "Thing.number has a range with nothing in it: its end is before its beginning",
        ),
        (Thing.by_text, [Thing.text < ""], "Thing.text has a range with nothing in it: no text is before ''"),
        (Thing.by_several, [BATH], "Thing.by_several needs Thing.text == …, which is in its partition key"),
        (
            Thing.by_several,
            [BATH, Thing.text > "a"],
            "Thing.by_several needs Thing.text == …, which is in its partition key",
        ),
        (
            Thing.by_amount,
            [Thing.amount > Decimal(1), Thing.amount < Decimal(2)],
            "Thing.amount is a whole key attribute, whose ranges with two ends are those of between",
        ),
    ],
)
def test_what_is_refused(key: BoundKey[Any], conditions: list[Any], refusal: str) -> None:
    with pytest.raises(PlanRefused) as caught:
        select(key, conditions)
    assert str(caught.value) == refusal


def test_a_beginning_ends_where_its_field_does() -> None:
    with pytest.raises(InvalidValue, match=r"^Thing\.city cannot begin with 'Ba#': '#' ends it in the key$"):
        select(Thing.by_places, [Thing.city.begins_with("Ba#")])


def test_values_out_of_the_format_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"^Thing\.number: 10000 does not fit into 4 digits"):
        select(Thing.by_number, [Thing.number > 10000])

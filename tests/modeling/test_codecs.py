"""Values of every type that can be stored come back equal, through a table; those that would not are refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.modeling.conftest import Recorder
from torusdb.modeling import InvalidValue, ModelError
from torusdb.modeling.codecs import codec_of


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: float = 0.0
    names: set[str] = field(default_factory=set)
    label: str | None = "none"


@dataclass
class Line:
    start: Point
    end: Point | None
    colours: list[Colour]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x or 1e-130 <= abs(x) < 1e126)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=7)
TIMES = st.datetimes(
    datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9))])
)
POINTS = st.builds(Point, st.integers(-9, 9), FLOATS, st.sets(TEXT), st.none() | TEXT)

VALUES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, TEXT),
    (int, st.integers(-(10**38) + 1, 10**38 - 1)),
    (float, FLOATS),
    (Decimal, DECIMALS),
    (bool, st.booleans()),
    (bytes, st.binary()),
    (date, st.dates()),
    (datetime, TIMES),
    (Colour, st.sampled_from(Colour)),
    (Level, st.sampled_from(Level)),
    (UUID, st.uuids()),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (list[int], st.lists(st.integers(-9, 9))),
    (list[str | None], st.lists(TEXT | st.none())),
    (list[list[date]], st.lists(st.lists(st.dates(), max_size=3), max_size=3)),
    (tuple[int, str], st.tuples(st.integers(-9, 9), TEXT)),
    (tuple[Colour, ...], st.lists(st.sampled_from(Colour)).map(tuple)),
    (set[str], st.sets(TEXT)),
    (frozenset[int], st.frozensets(st.integers(-9, 9))),
    (set[bytes], st.sets(st.binary())),
    (set[Decimal], st.sets(DECIMALS)),
    (set[UUID], st.sets(st.uuids(), max_size=3)),
    (set[Colour], st.sets(st.sampled_from(Colour))),
    (dict[str, int], st.dictionaries(TEXT, st.integers(-9, 9))),
    (dict[str, Point], st.dictionaries(TEXT, POINTS, max_size=3)),
    (Point, POINTS),
    (Line, st.builds(Line, POINTS, st.none() | POINTS, st.lists(st.sampled_from(Colour)))),
    (str | None, st.none() | TEXT),
    (str | int, TEXT | st.integers(-9, 9)),
    (Point | list[int] | None, st.none() | POINTS | st.lists(st.integers(-9, 9))),
]


@settings(max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda each: str(each)[:40])
def test_what_is_written_is_read_back(kind: Any, values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    codec, value = codec_of(kind, "x"), data.draw(values)
    wire = codec.encode(value)
    if wire is None:
        assert codec.absent is not None
        found = codec.absent()
    else:
        assert next(iter(wire)) in {*codec.kinds, "NULL"}
        found = codec.decode(wire)
    assert found == value
    assert type(found) is type(value)


def test_what_the_database_makes_of_values_is_read_back(store: Any, client: Recorder) -> None:
    """The service writes numbers its own way, and sorts sets."""
    values: list[tuple[Any, Any]] = [
        (int, 10**37),
        (int, -100),
        (float, 1e-7),
        (float, 1.5e125),
        (float, -0.0),
        (Decimal, Decimal("1.500")),
        (Decimal, Decimal("1E+20")),
        (Decimal, Decimal("-0.00000000000000000001")),
        (set[int], {10, 9, 8, -1}),
        (bytes, b"\x00\xff"),
        (set[bytes], {b"\xff", b"a"}),
        (list[bytes], [b"", b"a"]),
        (Line, Line(Point(1, 2.5, {"a"}), None, [Colour.RED])),
    ]
    key = {"pk": {"S": "1"}, "sk": {"S": "1"}}
    for kind, value in values:
        codec = codec_of(kind, "x")
        client.put_item(TableName="shop", Item={**key, "x": codec.encode(value)})
        assert codec.decode(client.get_item(TableName="shop", Key=key)["Item"]["x"]) == value


def test_how_values_are_stored() -> None:
    def stored(kind: Any, value: Any) -> Any:
        return codec_of(kind, "x").encode(value)

    assert stored(datetime, datetime(2024, 1, 2, 3, tzinfo=timezone(timedelta(hours=1)))) == {
        "S": "2024-01-02T02:00:00.000000Z"
    }
    assert stored(date, date(2024, 1, 2)) == {"S": "2024-01-02"}
    assert stored(float, 1) == {"N": "1.0"}
    assert stored(set[int], {3, 1}) == {"NS": ["1", "3"]}
    assert stored(set[str], set()) is None
    assert stored(str | None, None) is None
    assert stored(list[str | None], [None]) == {"L": [{"NULL": True}]}
    assert stored(Point, Point(1, label=None)) == {"M": {"x": {"N": "1"}, "y": {"N": "0.0"}, "label": {"NULL": True}}}
    assert stored(Line, Line(Point(1), None, [])) == {"M": {"start": stored(Point, Point(1)), "colours": {"L": []}}}
    assert stored(Level, Level.HIGH) == {"N": "2"}


def test_what_was_stored_before_a_member_was_declared_has_its_default() -> None:
    assert codec_of(Point, "x").decode({"M": {"x": {"N": "1"}}}) == Point(1)


@pytest.mark.parametrize(
    ("kind", "value", "refusal"),
    [
        (str, 1, "1 is not a str"),
        (int, True, "True is not an int"),
        (int, 1.0, "1.0 is not an int"),
        (int, 10**38 + 1, f"{10**38 + 1} has 39 significant digits, and 38 can be stored"),
        (int, 10**126, "beyond the numbers that can be stored, 1E-130 to 9.9E+125"),
        (float, "1", "'1' is not a float"),
        (float, math.nan, "NaN is no number that can be stored"),
        (float, -math.inf, "-Infinity is no number that can be stored"),
        (float, 1e-200, "1E-200 is beyond the numbers that can be stored, 1E-130 to 9.9E+125"),
        (Decimal, Decimal("Infinity"), "Infinity is no number that can be stored"),
        (Decimal, Decimal("sNaN"), "sNaN is no number that can be stored"),
        (Decimal, Decimal("1." + "1" * 38), "has 39 significant digits, and 38 can be stored"),
        (Decimal, 1, "1 is not a Decimal"),
        (bool, 1, "1 is not a bool"),
        (bytes, "x", "'x' is not bytes"),
        (date, datetime(2024, 1, 1), "is not a date (call .date() on it)"),
        (datetime, date(2024, 1, 1), "datetime.date(2024, 1, 1) is not a datetime"),
        (datetime, datetime(2024, 1, 1), "has no time zone"),
        (datetime, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "is beyond the years 1 to 9999 in UTC"),
        (Colour, "red", "'red' is not a Colour"),
        (UUID, "1", "'1' is not a UUID"),
        (Literal["a", "b"], "c", "'c' is not one of 'a', 'b'"),
        (Literal["a", "b"], [], "[] is not one of 'a', 'b'"),
        (list[int], (1,), "(1,) is not a list"),
        (list[int], ["a"], "'a' is not an int"),
        (list[int], [None], "None is not an int"),
        (list[set[str]], [set()], "An empty set cannot be stored within a list or a dict"),
        (tuple[int, str], (1,), "(1,) is not a tuple of 2"),
        (tuple[int, ...], [1], "[1] is not a tuple"),
        (set[str], ["a"], "['a'] is not a set"),
        (dict[str, int], {1: 1}, "1 is not a str, as keys of a dict must be"),
        (dict[str, int], [], "[] is not a dict"),
        (Point, {"x": 1}, "{'x': 1} is not a Point"),
        (str | int, 1.0, "1.0 is not str or int"),
    ],
)
def test_values_that_cannot_be_stored(kind: Any, value: Any, refusal: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        codec_of(kind, "x").encode(value)
    assert refusal in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "wire", "refusal"),
    [
        (int, {"N": "1.5"}, "1.5 is stored where an int is expected"),
        (Colour, {"S": "green"}, "'green' is stored where a Colour is expected"),
        (Point, {"M": {}}, "A Point is stored without x"),
    ],
)
def test_what_is_stored_and_cannot_be_read(kind: Any, wire: Any, refusal: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        codec_of(kind, "x").decode(wire)
    assert str(caught.value) == refusal


class Mixed(Enum):
    ONE = 1
    TWO = "two"


@dataclass
class Lost:
    what: Nowhere  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("kind", "refusal"),
    [
        (object, "K.x has the type object, which cannot be stored"),
        (complex, "K.x has the type complex, which cannot be stored"),
        (list, "K.x has the type list, which cannot be stored"),
        (Any, "K.x has the type Any, which cannot be stored"),
        (dict[int, str], "K.x is a dict with keys of int; keys of a dict must be str"),
        (set[bool], "K.x is a set of bool; sets are of texts, numbers or bytes"),
        (set[str | None], "K.x is a set of str | None; sets are of texts, numbers or bytes"),
        (set[str] | None, "K.x may be an empty set or None, which are stored alike: leave out the None"),
        (int | float, "K.x may be int and float, which cannot be told apart once they are stored"),
        (str | Colour, "K.x may be str and Colour, which cannot be told apart once they are stored"),
        (Mixed, "K.x has the type Mixed, whose values are neither all str nor all int"),
        (Literal[1, "a"], "K.x has a Literal type, whose values are neither all str nor all int"),
        (list[object], "K.x has the type object, which cannot be stored"),
        (Lost, "K.x has the type Lost, whose annotations name 'Nowhere', unknown here"),
    ],
)
def test_types_that_cannot_be_stored(kind: Any, refusal: str) -> None:
    with pytest.raises(ModelError) as caught:
        codec_of(kind, "K.x")
    assert str(caught.value) == refusal

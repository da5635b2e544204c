"""Key templates: written, read back, sorted as their fields are, and told apart."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torusdb.modeling import InvalidValue, ModelError
from torusdb.modeling.codecs import codec_of
from torusdb.modeling.templates import Template, can_equal


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Rank(IntEnum):
    LOW = 1
    HIGH = 20


TYPES: dict[str, Any] = {
    "text": str,
    "name": str,
    "number": int,
    "other": int,
    "day": date,
    "time": datetime,
    "price": Decimal,
    "size": Size,
    "rank": Rank,
    "word": Literal["yes", "no"],
    "uid": UUID,
}
CODECS = {name: codec_of(kind, name) for name, kind in TYPES.items()}

TEXT = st.text(st.characters(exclude_characters="#\U0010ffff", exclude_categories=["Cs"]))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXT,
    "name": TEXT,
    "number": st.integers(0, 10**8 - 1),
    "other": st.integers(-(10**6), 10**6),
    "day": st.dates(),
    "time": st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])).filter(
        lambda time: 1 < time.year < 9999
    ),
    "price": st.decimals(0, 999_999, places=2),
    "size": st.sampled_from(Size),
    "rank": st.sampled_from(Rank),
    "word": st.sampled_from(["yes", "no"]),
    "uid": st.uuids(),
}
SORTED = [
    "{number:08}",
    "A#{number:08}#{text}",
    "{day}#{number:08}",
    "{day}{number:08}",
    "{time}#{price:012.2}",
    "{price:012.2}#{day}",
    "{rank:02}#{number:08}#{day}#Z",
    "{uid}#{text}",
    "{text}",
]
"""Templates that sort as their fields: those with a text have it last."""
INVERTED = ["{number:newest_first:08}", "{number:newest_first}", "{day:newest_first}", "{time:newest_first}"]
OTHERS = ["{other}", "{text}#{other}", "{size}#{word}", "U#{text}#{name}#{number:08}", "{text}##{name}#END", "PROFILE"]


def template(source: str) -> Template:
    return Template(source, "S", CODECS, "Thing.key")


def fields(source: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({field: VALUES[field] for field in template(source).fields})


@settings(max_examples=40)
@given(data=st.data())
@pytest.mark.parametrize("source", SORTED + INVERTED + OTHERS)
def test_what_is_written_is_read_back(source: str, data: st.DataObject) -> None:
    made, values = template(source), data.draw(fields(source))
    if source == "{text}" and not values["text"]:
        return  # a key cannot be empty
    assert made.parse(made.text(values)) == values


@settings(max_examples=40)
@given(data=st.data())
@pytest.mark.parametrize("source", [each for each in SORTED if each != "{text}"])
def test_keys_sort_as_their_fields(source: str, data: st.DataObject) -> None:
    made = template(source)
    one, other = data.draw(fields(source)), data.draw(fields(source))
    order = [tuple(values[field] for field in made.fields) for values in (one, other)]
    texts = [made.text(values).encode() for values in (one, other)]
    assert (texts[0] < texts[1]) == (order[0] < order[1])


@settings(max_examples=40)
@given(data=st.data())
@pytest.mark.parametrize("source", INVERTED)
def test_newest_first_sorts_the_other_way_round(source: str, data: st.DataObject) -> None:
    made = template(source)
    (field,) = made.fields
    one, other = data.draw(fields(source)), data.draw(fields(source))
    assert (made.text(one) < made.text(other)) == (one[field] > other[field])


def test_examples() -> None:
    values = {
        "text": "x",
        "number": 42,
        "day": date(2024, 2, 29),
        "time": datetime(2024, 2, 29, 1, tzinfo=timezone(timedelta(hours=2))),
        "price": Decimal("9.5"),
        "rank": Rank.HIGH,
        "size": Size.LARGE,
    }
    assert template("A#{number:05}#{text}").text(values) == "A#00042#x"
    assert template("{number:newest_first:05}").text(values) == "99957"
    assert template("{day}").text(values) == "2024-02-29"
    assert template("{time}").text(values) == "2024-02-28T23:00:00.000000Z"
    assert template("{price:07.2}").text(values) == "0009.50"
    assert template("{rank:03}#{size}").text(values) == "020#l"


def test_a_field_that_is_none_leaves_no_key() -> None:
    assert template("A#{text}#{number:02}").text({"text": None, "number": 1}) is None


@pytest.mark.parametrize(
    ("source", "values", "refusal"),
    [
        ("{text}#{name}", {"text": "a#b", "name": ""}, "Thing.key.text: 'a#b' has '#' in it, which ends it in the key"),
        ("{text}##{name}", {"text": "a#", "name": ""}, "Thing.key.text: 'a#' has '##' in it, which ends it in the key"),
        ("{number:02}", {"number": 100}, "Thing.key.number: 100 does not fit into 2 digits, which hold 0 to 99"),
        ("{number:02}", {"number": -1}, "Thing.key.number: -1 does not fit into 2 digits, which hold 0 to 99"),
        ("{number:02}", {"number": "1"}, "Thing.key.number: '1' is not an int"),
        ("{number:02}", {"number": True}, "Thing.key.number: True is not an int"),
        (
            "{price:05.1}",
            {"price": Decimal("0.25")},
            "Thing.key.price: 0.25 does not fit into the format 05.1, "
            "which has 1 decimal: round it, or give the format more",
        ),
        (
            "{price:05.1}",
            {"price": Decimal(-1)},
            "Thing.key.price: -1 does not fit into the format 05.1, which has no sign",
        ),
        (
            "{price:05.1}",
            {"price": Decimal(1000)},
            "Thing.key.price: 1000 does not fit into the format 05.1, "
            "which has 3 digits before the point: make it wider",
        ),
        (
            "{price:05.1}",
            {"price": Decimal("NaN")},
            "Thing.key.price: Decimal('NaN') is not a Decimal that is a number",
        ),
        ("{day}", {"day": datetime(2024, 1, 1)}, "Thing.key.day: datetime.datetime(2024, 1, 1, 0, 0) is not a date"),
        (
            "{time}",
            {"time": datetime(2024, 1, 1)},
            "Thing.key.time: datetime.datetime(2024, 1, 1, 0, 0) has no time zone: "
            "give it one, as datetime.now(timezone.utc) has",
        ),
        ("{text}", {"text": ""}, "Thing.key: a key cannot be empty"),
        (
            "{text}",
            {"text": "\U0010ffff"},
            "Thing.key.text: '\\U0010ffff' has the character U+10FFFF, which no key can have",
        ),
        ("{text}", {"text": 1}, "Thing.key.text: 1 is not a str"),
        ("{size}", {"size": "s"}, "Thing.key.size: 's' is not a Size"),
        ("{size}", {"size": []}, "Thing.key.size: [] is not a Size"),
    ],
)
def test_values_that_have_no_place(source: str, values: dict[str, Any], refusal: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        template(source).text(values)
    assert str(caught.value) == refusal


@pytest.mark.parametrize("text", ["", "A", "A#1", "A#0000000x#a", "A#00000001", "B#00000001#x", "A#000000011#x"])
def test_texts_that_the_template_has_not_written(text: str) -> None:
    assert template("A#{number:08}#{text}").parse(text) is None


def test_a_template_begins_with_what_is_known() -> None:
    made = template("A#{text}#{number:03}#{name}")
    assert made.begin({}) == ("A#", 0)
    assert made.begin({"text": "x"}) == ("A#x#", 1)
    assert made.begin({"text": "x", "name": "y"}) == ("A#x#", 1)
    assert made.begin({"text": "x", "number": 7}) == ("A#x#007#", 2)


@pytest.mark.parametrize(
    ("source", "refusal"),
    [
        ("", "Thing.key has an empty template"),
        ("A#{nobody}", "Thing.key has {nobody} in its template, and there is no attribute of this name"),
        ("A#{text", "Thing.key has the template 'A#{text', in which a brace has no partner"),
        ("{text}{number:02}", "Thing.key has nothing between {text} and what follows it"),
        ("{other}{text}", "Thing.key has nothing between {other} and what follows it"),
        ("{text:08}", "Thing.key has {text}, which is a text and takes no format, such as '08'"),
        (
            "{number:8}",
            "Thing.key has {number}, which has the format '8'; "
            "numbers take 08 (any width), newest_first or newest_first:08",
        ),
        ("{day:08}", "Thing.key has {day}, which has the format '08'; dates and times take newest_first or none"),
        ("{price}", "Thing.key has {price}, which is a Decimal, and needs a width and decimals, as in {price:012.2}"),
        (
            "{price:02.1}",
            "Thing.key has {price}, which is a Decimal, and needs a width and decimals, as in {price:012.2}",
        ),
    ],
)
def test_templates_that_cannot_be(source: str, refusal: str) -> None:
    with pytest.raises(ModelError) as caught:
        template(source)
    assert str(caught.value) == refusal


@pytest.mark.parametrize("kind", [bool, float, bytes, list[str], set[str]])
def test_types_that_have_no_place_in_a_key(kind: Any) -> None:
    with pytest.raises(ModelError, match=r"^K has \{x\}, which is of the type \w+, which has no place in a key"):
        Template("{x}", "S", {"x": codec_of(kind, "x")}, "K")


@pytest.mark.parametrize(
    ("one", "other", "can"),
    [
        ("A#{text}", "A#{name}", True),
        ("A#{text}", "B#{text}", False),
        ("A#{number:08}", "A#{number:08}#B", False),
        ("A#{number:08}", "A#{day}", False),
        ("A#{text}", "A#{day}", True),
        ("A#{text}", "A#{text}#B#{number:03}", False),
        ("{text}", "PROFILE", True),
        ("{size}", "PROFILE", False),
        ("{other}", "{number:03}", True),
        ("{word}#", "yes#", True),
    ],
)
def test_whether_templates_can_write_the_same(one: str, other: str, can: bool) -> None:
    first, second = template(one), template(other)
    separators = first.separators() | second.separators()
    assert can_equal(first.atoms(separators), second.atoms(separators)) is can
    assert can_equal(second.atoms(separators), first.atoms(separators)) is can


@settings(max_examples=40)
@given(data=st.data())
def test_templates_that_wrote_the_same_can(data: st.DataObject) -> None:
    sources = SORTED + INVERTED + OTHERS
    one = data.draw(st.sampled_from(sources))
    values = data.draw(fields(one))
    try:
        text = template(one).text(values)
    except InvalidValue:
        return
    for other in sources:
        if template(other).parse(text) is not None:
            assert can_equal(template(one).atoms(frozenset()), template(other).atoms(frozenset()))

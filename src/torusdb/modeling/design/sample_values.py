"""Values for sample objects, such as stand in real tables, and always the same.

A value follows from the attribute's type, its name, and a number: the n-th object of an entity has the n-th value. What
an attribute's name says is used where it is plain (an `email` is an address), and nothing more is made up: a `comment`
is "comment 1"."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin

from torusdb.modeling.design.relations import name_tag
from torusdb.modeling.scalars import Codec

FIRST_DAY: Final = date(2025, 1, 6)
FIRST_MOMENT: Final = datetime(2025, 1, 6, 9, 30, tzinfo=UTC)
EXPIRY_DAYS: Final = 365
BIRTH_YEARS: Final = 34
FIRST_PRICE: Final = Decimal("19.90")
PRICE_STEP: Final = Decimal("12.50")
ELEMENTS: Final = 2
"""Of a list, a set or a dict."""

NAMES: Final = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gita", "Hugo", "Ines", "Jan", "Kim", "Leo")
PEOPLE: Final = frozenset({
    "author", "buyer", "client", "contact", "customer", "driver", "employee", "guest", "member", "owner", "patient",
    "person", "player", "seller", "student", "teacher", "tenant", "user", "visitor", "worker",
})  # fmt: skip
BY_NAME: Final[dict[str, tuple[str, ...]]] = {
    "city": ("Oslo", "Lima", "Kyoto", "Porto", "Turin", "Perth"),
    "color": ("red", "blue", "green", "white"),
    "country": ("Norway", "Peru", "Japan", "Portugal", "Italy", "Australia"),
    "currency": ("EUR", "USD", "JPY"),
    "department": ("Sales", "Design", "Finance", "Support"),
    "gender": ("female", "male"),
    "last": ("Berg", "Costa", "Diaz", "Endo", "Fox", "Gray", "Holm", "Ito"),
    "language": ("en", "es", "ja", "pt"),
    "phone": ("+1 202 555 0101", "+1 202 555 0102", "+1 202 555 0103", "+1 202 555 0104"),
    "product": ("Lamp", "Chair", "Desk", "Shelf", "Clock", "Mirror", "Carpet", "Sofa"),
    "quarter": ("2025-Q1", "2025-Q2", "2025-Q3", "2025-Q4"),
    "region": ("North", "South", "East", "West"),
    "street": ("1 Elm Street", "22 High Street", "7 Mill Lane", "14 Park Road"),
    "tag": ("new", "regular", "friend", "press"),
    "unit": ("piece", "box", "kg"),
    "warehouse": ("Harbour", "Airport", "Old Mill", "Station"),
    "zip": ("10115", "15001", "60486", "40100"),
}
SAME_AS: Final = {
    "colour": "color", "first": "person", "forename": "person", "item": "product", "lang": "language", "mail": "email",
    "mobile": "phone", "postal": "zip", "post": "zip", "postcode": "zip", "surname": "last",
}  # fmt: skip
TITLES: Final = ("Engineer", "Clerk", "Manager", "Designer")
WITH_TITLES: Final = PEOPLE | {"assignment", "job", "position", "role"}
AMOUNTS: Final = {
    "age": (24, 7), "budget": (20_000, 5_000), "limit": (1_000, 500), "points": (120, 45), "quota": (20_000, 1_000),
    "salary": (42_000, 1_500), "stock": (10, 5), "weight": (2, 3), "year": (2021, 1),
}  # fmt: skip
"""The first, and what each has more than the one before."""
ENDS: Final = frozenset({"closed", "delivered", "due", "end", "ended", "ends", "returned", "until"})
END_DAYS: Final = 30


class Place:
    """Where a value goes: the entity's tag, the attribute's name, and how many digits and decimals its keys take.
    `plain`: only letters and digits, for keys whose templates have other characters between fields."""

    __slots__ = ("decimals", "digits", "entity", "name", "plain")

    def __init__(self, entity: str, name: str, digits: int | None, decimals: int | None, plain: bool) -> None:
        self.entity = entity
        self.name = name
        self.digits = digits
        self.decimals = decimals
        self.plain = plain

    def within(self, name: str) -> Place:
        return Place(self.entity, name, None, None, self.plain)


def value_for(codec: Codec, place: Place, number: int) -> Any:
    """The value number `number`, from 0."""
    kind = codec.plain
    if kind in _BY_TYPE:
        return _BY_TYPE[kind](place, number)
    if get_origin(kind) is Literal:
        return _cycled(get_args(kind), number)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _cycled(list(kind), number)
    if isinstance(kind, type) and kind.__module__ == "uuid":
        return _uuid(place, number)
    return _composed(codec, place, number)


def _composed(codec: Codec, place: Place, number: int) -> Any:
    kind = codec.plain
    if codec.parts and kind is tuple:
        return tuple(value_for(each, place, number) for each in codec.parts)
    if codec.parts:  # a union: one type after the other
        return value_for(_cycled(codec.parts, number), place, number)
    if codec.members is not None:
        return kind(**{name: value_for(each, place.within(name), number) for name, each in codec.members.items()})
    assert codec.element is not None
    element = codec.element
    values = [value_for(element, place.within(place.name.removesuffix("s")), number + each) for each in range(ELEMENTS)]
    if kind is dict:
        return dict(zip(("first", "second"), values, strict=True))
    return kind(values)


def _cycled(values: Sequence[Any], number: int) -> Any:
    return values[number % len(values)]


def _text(place: Place, number: int) -> str:
    tag = name_tag(place.name)
    said = SAME_AS.get(tag, tag)
    if place.plain:
        return f"{tag or place.entity}{number + 1}"
    if said.endswith("email"):
        return f"{_unique(NAMES, number).lower().replace(' ', '')}@example.com"
    if said in {"", "name"} or said == "fullname":
        pool = NAMES if place.entity in PEOPLE else BY_NAME.get(place.entity)
        return _unique(pool, number) if pool else f"{place.entity.capitalize()} {number + 1}"
    if said == "title":
        return _cycled(TITLES, number) if place.entity in WITH_TITLES else f"Title {number + 1}"
    if said in {"person", *PEOPLE}:
        return _unique(NAMES, number)
    if said in {"url", "link", "website"}:
        return f"https://example.com/{number + 1}"
    pool = BY_NAME.get(said)
    return _cycled(pool, number) if pool else f"{place.name.replace('_', ' ')} {number + 1}"


def _unique(pool: Sequence[str], number: int) -> str:
    again, place = divmod(number, len(pool))
    return pool[place] + (f" {again + 1}" if again else "")


def _int(place: Place, number: int) -> int:
    start, step = _amount(place) or (1, 1)
    return _fitting(start + number * step, place)


def _amount(place: Place) -> tuple[int, int] | None:
    return AMOUNTS.get(place.name.lower().rpartition("_")[2])


def _fitting(value: int, place: Place) -> int:
    return value if place.digits is None else value % 10**place.digits


def _decimal(place: Place, number: int) -> Decimal:
    amount = _amount(place)
    value = Decimal(amount[0] + number * amount[1]) if amount else FIRST_PRICE + number * PRICE_STEP
    if place.digits is not None:
        value %= 10**place.digits
    return value if place.decimals is None else round(value, place.decimals)


def _date(place: Place, number: int) -> date:
    if "birth" in place.name or "born" in place.name:
        return FIRST_DAY.replace(year=FIRST_DAY.year - BIRTH_YEARS - 3 * number % 30)
    return FIRST_DAY + timedelta(days=3 * number + _days_later(place))


def _moment(place: Place, number: int) -> datetime:
    days = 3 * number + _days_later(place)
    return FIRST_MOMENT + timedelta(days=days, hours=number % 7, minutes=11 * number % 60)


def _days_later(place: Place) -> int:
    if "expire" in place.name or "ttl" in place.name:
        return EXPIRY_DAYS
    return END_DAYS if ENDS.intersection(place.name.split("_")) else 0


def _uuid(place: Place, number: int) -> Any:
    from uuid import NAMESPACE_URL, uuid5

    return uuid5(NAMESPACE_URL, f"{place.entity}/{place.name}/{number}")


_BY_TYPE: Final[dict[Any, Any]] = {
    str: _text,
    int: _int,
    float: lambda place, number: 1.5 * (number + 1),
    Decimal: _decimal,
    bool: lambda place, number: number % 2 == 0,
    bytes: lambda place, number: f"{place.name} {number + 1}".encode(),
    date: _date,
    datetime: _moment,
}

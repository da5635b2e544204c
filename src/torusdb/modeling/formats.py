"""How a field stands in a key template: the text of a value, and back.

The order of texts must be the order of values wherever a sort key is concerned. So numbers are padded, times have one
width and are in UTC, and what is to be sorted newest first is counted down from the highest number of its width."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args, get_origin

from torusdb.modeling.errors import InvalidValue, ModelError
from torusdb.modeling.scalars import Codec, datetime_text, in_utc, name_of, not_a_decimal

HIGHEST_CHARACTER: Final = "\U0010ffff"
"""Stands for "behind everything that begins so" in ranges, and is therefore in no text of a key."""

NEWEST_FIRST: Final = "newest_first"
NEWEST_FIRST_DIGITS: Final = 16
"""The width of a number that is to be sorted newest first and has no width of its own."""
DATE_DIGITS: Final = 7
TIME_DIGITS: Final = 18
"""What the days, and the microseconds, from year 1 to 9999 need."""

DIGITS: Final = frozenset("0123456789")
HEX_DIGITS: Final = DIGITS | frozenset("abcdef")
Shape: TypeAlias = tuple[frozenset[str], ...]
"""The characters that may stand at each place of a text of fixed width."""

_NUMBER = re.compile(r"0([1-9]\d?)")
_DECIMAL = re.compile(r"0([1-9]\d?)\.(\d\d?)")
_FIRST_MOMENT = datetime(1, 1, 1, tzinfo=UTC)


class Format(NamedTuple):
    """`shape`: for a fixed width, what may stand where; None for a text of any width, with `characters` in it (None:
    any). `inverted`: texts sort against their values. `ranges`: ranges of values are ranges of texts. `sorts`: has a
    place in a sort key."""

    field: str
    write: Callable[[Any], str]
    read: Callable[[str], Any]
    shape: Shape | None = None
    characters: frozenset[str] | None = None
    inverted: bool = False
    ranges: bool = True
    sorts: bool = True

    @property
    def is_text(self) -> bool:
        """A str, of which a beginning can be asked for."""
        return self.shape is None and self.characters is None


def format_of(field: str, codec: Codec, spec: str, where: str) -> Format:
    """`where` names the class, key and field for a refusal."""
    kind = codec.plain
    _check_not_converted(codec, where)
    if kind is datetime or kind is date:
        return _time_format(field, kind, spec, where)
    if kind is Decimal:
        return _decimal_format(field, spec, where)
    if codec.kinds == ("N",) and (kind is int or _is_choice(kind)):
        return _number_format(field, codec, spec, where)
    if codec.kinds == ("S",):
        return _text_format(field, codec, spec, where)
    hint = f": make it an Attr[Decimal], and write {{{field}:012.2}}" if kind is float else ""
    raise ModelError(f"{where} is of the type {name_of(kind)}, which has no place in a key{hint}")


def bare_format(field: str, codec: Codec, kind: str, where: str) -> Format:
    """Of a field that is all of a key attribute of the type N or B, which holds the value itself."""
    _check_not_converted(codec, where)
    if codec.kinds != (kind,):
        raise ModelError(
            f"{where} is of the type {name_of(codec.plain)}, which a key attribute of the type {kind} does not hold"
        )
    return Format(field, lambda value: _wire_text(codec, value), lambda text: codec.decode({kind: text}))


def _check_not_converted(codec: Codec, where: str) -> None:
    if codec.converted:
        raise ModelError(
            f"{where} is stored by functions of its own, which need not keep its order, and has no place in a key"
        )


def _is_choice(kind: Any) -> bool:
    return get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum))


def _text_format(field: str, codec: Codec, spec: str, where: str) -> Format:
    if spec:
        raise ModelError(f"{where} is a text and takes no format, such as {spec!r}")
    kind = codec.plain
    if _is_choice(kind):
        texts = get_args(kind) or [member.value for member in kind]
        by_value = {value: _wire_text(codec, value) for value in get_args(kind) or kind}

        def write(value: Any) -> str:
            text = by_value.get(value) if isinstance(value, str | Enum) else None
            return text if text is not None else _wire_text(codec, value)

        return Format(
            field,
            write,
            lambda text: codec.decode({"S": text}),
            characters=frozenset("".join(texts)),
            ranges=False,
        )
    if kind is not str:  # a UUID
        shape = _shape("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh")
        return Format(field, lambda value: _wire_text(codec, value), lambda text: codec.decode({"S": text}), shape)
    return Format(field, _checked_text, lambda text: text)


def _checked_text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidValue(f"{value!r} is not a str")
    if HIGHEST_CHARACTER in value:
        raise InvalidValue(f"{value!r} has the character U+10FFFF, which no key can have")
    return value


def _wire_text(codec: Codec, value: Any) -> str:
    wire = codec.encode(value)
    assert wire is not None
    text: str = next(iter(wire.values()))
    return text


def _number_format(field: str, codec: Codec, spec: str, where: str) -> Format:
    inverted, _, width_text = spec.rpartition(":") if ":" in spec else ("", "", spec)
    if spec == NEWEST_FIRST:
        inverted, width_text = spec, f"0{NEWEST_FIRST_DIGITS}"

    def value_of(number: int) -> Any:
        return codec.decode({"N": str(number)})

    if not spec:
        return Format(
            field,
            lambda value: _wire_text(codec, value),
            lambda text: value_of(int(text)),
            characters=DIGITS | {"-"},
            ranges=False,
            sorts=False,
        )
    match = _NUMBER.fullmatch(width_text)
    if match is None or inverted not in {"", NEWEST_FIRST}:
        raise ModelError(
            f"{where} has the format {spec!r}; numbers take 08 (any width), newest_first or newest_first:08"
        )
    width = int(match[1])
    top = 10**width - 1

    def write(value: Any) -> str:
        number: int = value if type(value) is int else int(_wire_text(codec, value))
        if not 0 <= number <= top:
            raise InvalidValue(f"{number} does not fit into {width} digits, which hold 0 to {top}")
        return str(top - number if inverted else number).zfill(width)

    def read(text: str) -> Any:
        return value_of(top - int(text) if inverted else int(text))

    return Format(field, write, read, (DIGITS,) * width, inverted=bool(inverted))


def _decimal_format(field: str, spec: str, where: str) -> Format:
    match = _DECIMAL.fullmatch(spec)
    if match is None or int(match[1]) < int(match[2]) + 2:
        raise ModelError(f"{where} is a Decimal, and needs a width and decimals, as in {{{field}:012.2}}")
    width, decimals = int(match[1]), int(match[2])

    def write(value: Any) -> str:
        if not isinstance(value, Decimal):
            raise not_a_decimal(value)
        if not value.is_finite():
            raise InvalidValue(f"{value!r} is not a Decimal that is a number")
        text = f"{value:0{width}.{decimals}f}"
        if value < 0 or len(text) > width or Decimal(text) != value:
            raise InvalidValue(f"{value} does not fit into the format {spec}, {_misfit(value, width, decimals)}")
        return text.replace("-", "0")

    before = width - decimals - 1
    return Format(field, write, Decimal, _shape("d" * before + "." + "d" * decimals))


def _misfit(value: Decimal, width: int, decimals: int) -> str:
    if value < 0:
        return "which has no sign"
    if value >= 10 ** (width - decimals - 1):
        return f"which has {width - decimals - 1} digits before the point: make it wider"
    return f"which has {decimals} decimal{'s' * (decimals != 1)}: round it, or give the format more"


def _time_format(field: str, kind: Any, spec: str, where: str) -> Format:
    if spec not in {"", NEWEST_FIRST}:
        raise ModelError(f"{where} has the format {spec!r}; dates and times take {NEWEST_FIRST} or none")
    if kind is date:
        if spec:
            return _countdown(field, DATE_DIGITS, lambda day: _a_date(day).toordinal(), date.fromordinal)
        return Format(field, lambda day: _a_date(day).isoformat(), date.fromisoformat, _shape("dddd-dd-dd"))
    if spec:
        return _countdown(field, TIME_DIGITS, _microseconds, _time_after)
    return Format(field, datetime_text, datetime.fromisoformat, _shape("dddd-dd-ddTdd:dd:dd.ddddddZ"))


def _countdown(field: str, width: int, number_of: Callable[[Any], int], value_of: Callable[[int], Any]) -> Format:
    top = 10**width - 1
    return Format(
        field,
        lambda value: f"{top - number_of(value):0{width}}",
        lambda text: value_of(top - int(text)),
        (DIGITS,) * width,
        inverted=True,
    )


def _a_date(value: Any) -> date:
    if type(value) is not date:
        raise InvalidValue(f"{value!r} is not a date")
    return value


def _microseconds(value: Any) -> int:
    if not isinstance(value, datetime):
        raise InvalidValue(f"{value!r} is not a datetime")
    return (in_utc(value) - _FIRST_MOMENT) // timedelta(microseconds=1)


def _time_after(microseconds: int) -> datetime:
    return _FIRST_MOMENT + timedelta(microseconds=microseconds)


def _shape(pattern: str) -> Shape:
    classes = {"d": DIGITS, "h": HEX_DIGITS}
    return tuple(classes.get(letter, frozenset(letter)) for letter in pattern)

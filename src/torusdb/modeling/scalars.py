"""How a value that is one member of the wire is stored: texts, numbers, binaries, times, and enums of them.

A value that cannot be stored so that it comes back equal is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, TypeAlias, get_args

from torusdb.modeling.errors import InvalidValue, ModelError

Wire: TypeAlias = dict[str, Any]
"""An attribute value as a low-level client takes it: `{"N": "1"}`, binaries as bytes."""
Item: TypeAlias = dict[str, Wire]

NUMBER_DIGITS_MAX: Final = 38
NUMBER_EXPONENT_MAX: Final = 125
NUMBER_EXPONENT_MIN: Final = -130
"""Of a number, as the developer guide's "Data types" has it."""
PLAIN_INT_BELOW: Final = 10**NUMBER_DIGITS_MAX


class Codec:
    """`plain`: the type, without Optional. `kinds`: the wire types it writes. `takes`: the Python types it encodes.
    `absent`: makes what is read where nothing is stored; None if something must be. `element`, `members`: the codecs of
    what it holds. `parts`: of the types that it may be, or of the places of a tuple. `converted`: what is stored is
    made by functions of the program's own. `keeps_none`: None is stored where it stands, since what is not there is
    read as something else."""

    __slots__ = (
        "absent",
        "converted",
        "decode",
        "element",
        "encode",
        "keeps_none",
        "kinds",
        "members",
        "parts",
        "plain",
        "takes",
    )

    def __init__(
        self,
        plain: Any,
        kinds: str | tuple[str, ...],
        encode: Callable[[Any], Wire | None],
        decode: Callable[[Wire], Any],
        *,
        takes: tuple[type, ...] = (),
        absent: Callable[[], Any] | None = None,
        element: Codec | None = None,
        members: dict[str, Codec] | None = None,
        parts: tuple[Codec, ...] = (),
        converted: bool = False,
    ) -> None:
        self.plain = plain
        self.kinds = (kinds,) if isinstance(kinds, str) else kinds
        self.encode = encode
        self.decode = decode
        self.takes = takes
        self.absent = absent
        self.element = element
        self.members = members
        self.parts = parts
        self.converted = converted
        self.keeps_none = False

    def keeping_none(self) -> Codec:
        """The same, within what has no absence of its own."""
        kept = copy(self)
        kept.keeps_none = True
        return kept

    def start(self, value: Any) -> Any:
        """The value that a lower bound stands for: a date is the first moment of its day where times are stored."""
        return _day_start(value) if self.plain is datetime and type(value) is date else value

    def end(self, value: Any) -> Any:
        """The value that an upper bound stands for: a date is the last moment of its day where times are stored."""
        return _day_end(value) if self.plain is datetime and type(value) is date else value


def shown(wire: Wire) -> str:
    """A stored value for people: a text has quotes, a number has none."""
    ((kind, value),) = wire.items()
    if kind in {"N", "BOOL", "NULL"}:
        return "null" if kind == "NULL" else str(value).lower()
    if kind == "L":
        return f"[{', '.join(map(shown, value))}]"
    if kind == "M":
        return f"{{{', '.join(f'{name!r}: {shown(each)}' for name, each in value.items())}}}"
    if kind in {"SS", "NS", "BS"}:
        return f"{{{', '.join(shown({kind[0]: each}) for each in value)}}}"
    return repr(value)


def name_of(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind).replace("typing.", "")


def refuse(value: Any, wanted: str) -> InvalidValue:
    return InvalidValue(f"{value!r} is not {wanted}")


def _encode_str(value: Any) -> Wire:
    if not isinstance(value, str):
        raise refuse(value, "a str")
    return {"S": value}


def _encode_int(value: Any) -> Wire:
    if type(value) is not int:
        raise refuse(value, "an int")
    text = str(value)
    if not -PLAIN_INT_BELOW < value < PLAIN_INT_BELOW:
        _check_number(Decimal(text))
    return {"N": text}


def _encode_float(value: Any) -> Wire:
    if type(value) is not float and type(value) is not int:
        raise refuse(value, "a float")
    text = repr(float(value))
    if "e" in text or "n" in text:  # as in inf and nan
        _check_number(Decimal(text))
    return {"N": text}


def _encode_decimal(value: Any) -> Wire:
    if not isinstance(value, Decimal):
        raise not_a_decimal(value)
    text = str(value)
    if len(text) > NUMBER_DIGITS_MAX or "E" in text or not value.is_finite():
        _check_number(value)
    return {"N": text}


def not_a_decimal(value: Any) -> InvalidValue:
    is_number = type(value) is float or type(value) is int
    return refuse(value, "a Decimal" + (f": write Decimal({str(value)!r})" if is_number else ""))


def _check_number(value: Decimal) -> None:
    if not value.is_finite():
        raise InvalidValue(f"{value} is no number that can be stored")
    if not value:
        return
    significant = len("".join(map(str, value.as_tuple().digits)).strip("0"))
    if significant > NUMBER_DIGITS_MAX:
        raise InvalidValue(f"{value} has {significant} significant digits, and {NUMBER_DIGITS_MAX} can be stored")
    if not NUMBER_EXPONENT_MIN <= value.adjusted() <= NUMBER_EXPONENT_MAX:
        raise InvalidValue(
            f"{value} is beyond the numbers that can be stored, 1E{NUMBER_EXPONENT_MIN} to 9.9E+{NUMBER_EXPONENT_MAX}"
        )


def _decode_int(wire: Wire) -> int:
    text = wire["N"]
    try:
        return int(text)
    except ValueError:
        number = Decimal(text)
        if number != number.to_integral_value():
            raise InvalidValue(f"{text} is stored where an int is expected") from None
        return int(number)


def _encode_bool(value: Any) -> Wire:
    if type(value) is not bool:
        raise refuse(value, "a bool")
    return {"BOOL": value}


def _encode_bytes(value: Any) -> Wire:
    if not isinstance(value, bytes):
        raise refuse(value, "bytes")
    return {"B": value}


def _encode_date(value: Any) -> Wire:
    if type(value) is not date:
        raise refuse(value, "a date" + (" (call .date() on it)" if isinstance(value, datetime) else ""))
    return {"S": value.isoformat()}


def datetime_text(value: Any) -> str:
    """UTC, always of one width, so that texts sort as the times do."""
    if not isinstance(value, datetime):
        raise refuse(value, "a datetime")
    if value.tzinfo is not UTC:
        value = in_utc(value)
    text: str = value.isoformat("T", "microseconds")
    return text[:26] + "Z"


def in_utc(value: datetime) -> datetime:
    if value.utcoffset() is None:
        raise InvalidValue(f"{value!r} has no time zone: give it one, as datetime.now(timezone.utc) has")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidValue(f"{value!r} is beyond the years 1 to 9999 in UTC") from None


def _day_start(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _day_end(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 23, 59, 59, 999_999, tzinfo=UTC)


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _encode_epoch_seconds(value: Any) -> Wire:
    if not isinstance(value, datetime):
        raise refuse(value, "a datetime")
    return {"N": str((in_utc(value) - EPOCH) // timedelta(seconds=1))}


EPOCH_SECONDS: Final = Codec(
    datetime,
    "N",
    _encode_epoch_seconds,
    lambda wire: EPOCH + timedelta(seconds=int(wire["N"])),
    takes=(datetime,),
)
"""Times as the service's TTL wants them: whole seconds since 1970, fractions cut off."""

SCALARS: Final[dict[Any, Codec]] = {
    str: Codec(str, "S", _encode_str, lambda wire: wire["S"], takes=(str,)),
    int: Codec(int, "N", _encode_int, _decode_int, takes=(int,)),
    float: Codec(float, "N", _encode_float, lambda wire: float(wire["N"]), takes=(float,)),
    Decimal: Codec(Decimal, "N", _encode_decimal, lambda wire: Decimal(wire["N"]), takes=(Decimal,)),
    bool: Codec(bool, "BOOL", _encode_bool, lambda wire: wire["BOOL"], takes=(bool,)),
    bytes: Codec(bytes, "B", _encode_bytes, lambda wire: bytes(wire["B"]), takes=(bytes,)),
    date: Codec(date, "S", _encode_date, lambda wire: date.fromisoformat(wire["S"]), takes=(date,)),
    datetime: Codec(
        datetime,
        "S",
        lambda value: {"S": datetime_text(value)},
        lambda wire: datetime.fromisoformat(wire["S"]),
        takes=(datetime,),
    ),
}


def uuid_codec(kind: Any) -> Codec:
    def encode(value: Any) -> Wire:
        if not isinstance(value, kind):
            raise refuse(value, "a UUID")
        return {"S": str(value)}

    return Codec(kind, "S", encode, lambda wire: kind(wire["S"]), takes=(kind,))


def enum_codec(kind: type[Enum], where: str) -> Codec:
    inner = _one_scalar([member.value for member in kind], f"{where} has the type {kind.__name__}, whose values")
    wires = {member: inner.encode(member.value) for member in kind}
    by_value = {member.value: member for member in kind}

    def encode(value: Any) -> Wire | None:
        if type(value) is not kind:
            raise refuse(value, f"a {kind.__name__}")
        return wires[value]

    def decode(wire: Wire) -> Any:
        value = inner.decode(wire)
        try:
            return by_value[value]
        except KeyError:
            raise InvalidValue(f"{value!r} is stored where a {kind.__name__} is expected") from None

    return Codec(kind, inner.kinds, encode, decode, takes=(kind,))


def literal_codec(values: tuple[Any, ...], where: str) -> Codec:
    inner = _one_scalar(values, f"{where} has a Literal type, whose values")
    allowed = frozenset(values)
    wanted = "one of " + ", ".join(map(repr, values))

    def encode(value: Any) -> Wire | None:
        if type(value) is not inner.plain or value not in allowed:
            raise refuse(value, wanted)
        return inner.encode(value)

    return Codec(Literal[values], inner.kinds, encode, inner.decode, takes=inner.takes)


def _one_scalar(values: Any, where: str) -> Codec:
    """The codec that all of the values of an Enum or a Literal have: of str or of int."""
    for kind in (str, int):
        if values and all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            return SCALARS[kind]
    raise ModelError(f"{where} are neither all str nor all int")

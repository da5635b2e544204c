"""Numbers, as text in DynamoDB's normal form: decimal, up to 38 significant digits, magnitude 1E-130 to
9.99…E+125.

Theory of operation. A number never becomes a float, and outside arithmetic not even a `Decimal`: the normal
form is text, equal numbers have equal text, and everything else is read off its digits.

- *Normal form*: what the service answers with: digits without exponent, no zeros before or after that do not
  place the point, `0` without sign. `1E100` is a one and a hundred zeros.
- *Digits and point*: a number is `0.DIGITS * 10 ** point`, with DIGITS trimmed of zeros on both ends. All
  checks, the size and the order follow from these two.
- *Sort form*: an exponent byte, then pairs of digits, one byte each. It is the form in which the service
  itself lays out numbers, so the hash of a partition key is taken over it too (see `hash_bytes`).
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from typing import Final

from torusdb.errors import ValidationException

DIGITS_MAX: Final = 38
POINT_MAX: Final = 126
"""9.99…E+125 has 126 digits before the point."""
POINT_MIN: Final = -129
"""1E-130 has 129 zeros between the point and its first digit."""

_EXPONENT_DIGITS_MAX = 18
"""An exponent longer than this cannot be balanced by the zeros that a 16 MB request has room for."""

NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"

# Possessive, since digits that could go to either side of a missing point would be tried in every way.
# The service takes `+5`, `5.`, `.5` and `1e+2`, and neither spaces nor a lone point (measured).
_NUMBER = re.compile(r"([+-]?)([0-9]*+)\.?([0-9]*+)(?:[eE]([+-]?)([0-9]++))?")

# Room for the exact sum of the largest and the smallest number.
_EXACT = Context(prec=POINT_MAX - POINT_MIN + 2 * DIGITS_MAX)

_PAIRS = bytes(10 * (byte >> 4) + (byte & 15) + 1 if byte >> 4 < 10 and byte & 15 < 10 else 0 for byte in range(256))
"""From two digits as hexadecimal would pack them to their value plus one."""
_NEGATIVE_PAIRS = bytes(102 - pair if pair else 0 for pair in _PAIRS)

_EXPONENTS = [bytes([0xC0 + (point + 1) // 2]) for point in range(POINT_MIN, POINT_MAX + 1)]
_NEGATIVE_EXPONENTS = [bytes([exponent[0] ^ 0xFF]) for exponent in _EXPONENTS]
_END = b"\x00"
_NEGATIVE_END = b"\x66"
_ZERO = b"\x80"
_HASHED_MARK_BYTES_MAX = 21


def normalise(text: str) -> str:
    """The normal form of a number as a client wrote it."""
    if text.isdigit() and text.isascii() and text[0] != "0" and len(text) <= DIGITS_MAX:
        return text
    return _normalise(text)


def _is_normal_decimal(text: str) -> bool:
    """Spares most negative numbers and decimals the regular expression."""
    whole, dot, fraction = text.removeprefix("-").partition(".")
    if not whole.isdigit() or len(whole) + len(fraction) > DIGITS_MAX or not text.isascii():
        return False
    if not dot:
        return whole[0] != "0" or text == "0"
    return (whole[0] != "0" or whole == "0") and fraction.isdigit() and fraction[-1] != "0"


def _normalise(text: str) -> str:
    if _is_normal_decimal(text):
        return text
    if not text:
        raise ValidationException(NOT_A_NUMBER)
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise ValidationException(f"{NOT_A_NUMBER}: {text}")
    sign, whole, fraction, exponent_sign, exponent_digits = match.groups()
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction)
    digits = digits.rstrip("0")
    if exponent_digits is not None:
        # Python refuses to read integers of thousands of digits, which a request may well contain.
        exponent_digits = exponent_digits.lstrip("0") or "0"
        if len(exponent_digits) > _EXPONENT_DIGITS_MAX:
            exponent_digits = "9" * _EXPONENT_DIGITS_MAX
        point += int(exponent_sign + exponent_digits)
    return _plain("-" if sign == "-" else "", digits, point)


def _plain(sign: str, digits: str, point: int) -> str:
    """The normal form of `0.DIGITS * 10 ** point`. Range comes before precision in the service's checks."""
    if not digits:
        return "0"
    if point > POINT_MAX:
        raise ValidationException(OVERFLOW)
    if point < POINT_MIN:
        raise ValidationException(UNDERFLOW)
    if len(digits) > DIGITS_MAX:
        raise ValidationException(TOO_PRECISE)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def _digits_and_point(magnitude: str) -> tuple[str, int]:
    """Of a number in normal form without its sign."""
    whole, dot, fraction = magnitude.partition(".")
    if not dot:
        return whole.rstrip("0"), len(whole)
    if whole != "0":
        return whole + fraction, len(whole)
    digits = fraction.lstrip("0")
    return digits, len(digits) - len(fraction)


def number_size(canonical: str) -> int:
    """What the service counts for a number: one byte, one for each two digits before and after the point,
    trimmed of zeros, and one for a minus sign (measured at the 400 KB limit: `-42` costs 3 where `42` costs
    2)."""
    if canonical.isdigit():
        return (len(canonical.rstrip("0")) + 3) >> 1
    negative = canonical[0] == "-"
    digits, point = _digits_and_point(canonical[1:] if negative else canonical)
    whole = min(max(point, 0), len(digits))
    return 1 + (whole + 1) // 2 + (len(digits) - whole + 1) // 2 + negative


def sortable(canonical: str) -> bytes:
    """Bytes in the order of the numbers, none the beginning of another's.

    A pair of digits is stored as 1 to 100, mirrored for negative numbers, so that a zero byte (0x66 for
    negative ones) after the last pair sorts a number before (after) those that go on.
    """
    if canonical[0] == "-":
        digits, point = _digits_and_point(canonical[1:])
        if point & 1:
            digits = "0" + digits
        if len(digits) & 1:
            digits += "0"
        pairs = bytes.fromhex(digits).translate(_NEGATIVE_PAIRS)
        return _NEGATIVE_EXPONENTS[point - POINT_MIN] + pairs + _NEGATIVE_END
    if canonical.isdigit():
        digits, point = canonical.rstrip("0"), len(canonical)
        if not digits:
            return _ZERO + _END
    else:
        digits, point = _digits_and_point(canonical)
    if point & 1:
        digits = "0" + digits
    if len(digits) & 1:
        digits += "0"
    return _EXPONENTS[point - POINT_MIN] + bytes.fromhex(digits).translate(_PAIRS) + _END


def hash_bytes(encoded: bytes) -> bytes:
    """The bytes over which the service takes the hash of a number that is a partition key, from its sort
    form: they end without a mark, but for negative numbers with room for it."""
    if encoded[0] >= _ZERO[0] or len(encoded) > _HASHED_MARK_BYTES_MAX:
        return encoded[:-1]
    return encoded


def add(a: str, b: str) -> str:
    """The sum in normal form; refused where it cannot be stored."""
    return _normalise(str(_EXACT.add(Decimal(a), Decimal(b))))


def subtract(a: str, b: str) -> str:
    return _normalise(str(_EXACT.subtract(Decimal(a), Decimal(b))))


def compare(a: str, b: str) -> int:
    """-1, 0 or 1 as `a` is less than, equal to or greater than `b`, both in normal form."""
    if a == b:
        return 0
    return -1 if Decimal(a) < Decimal(b) else 1

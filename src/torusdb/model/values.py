"""Attribute values: checked, made canonical, measured and compared. One walk does the first three.

Theory of operation. What msgspec has decoded has the right JSON types; here follows what is DynamoDB's own:
exactly one type to a value, numbers, sets, nesting. The walk changes the value in place to its canonical form
(numbers in normal form, sets sorted) and returns its size, so that an item is walked once on its way in. Maps
and items share the loop in `_normalise_members`, which handles strings and plain integers on the spot: they
are most of what there is, and a call costs as much as the work.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from torusdb.errors import RequestFault, ValidationException
from torusdb.model import numbers
from torusdb.model.attributes import AttributeValue, Item
from torusdb.model.numbers import DIGITS_MAX, normalise, number_size

ITEM_BYTES_MAX: Final = 400 * 1024
NESTING_LEVELS_MAX: Final = 32
"""The service stores a scalar inside 31 maps or lists and refuses it inside 32 (measured)."""
NAME_BYTES_MAX: Final = 65535
"""Of an attribute's name, at any depth (measured)."""
CONTAINER_BYTES: Final = 3
"""Of a list or a map, besides one byte for each element (developer guide, "Item sizes and formats")."""

NO_TYPE = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL_TYPES = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
NO_NAME = "Empty attribute name"
NAME_TOO_LONG = "Attribute name is too large, must be less than 65536 bytes"
_INVALID = "One or more parameter values were invalid: "
NULL_IS_FALSE = f"{_INVALID}Null attribute value types must have the value of true"


def normalise_item(item: Item) -> int:
    """Checks an item, makes it canonical in place, and returns its size in bytes: names and values."""
    size = _normalise_members(item, 0)
    if size > NAME_BYTES_MAX:
        _check_names({"M": item})
    return size


def normalise_value(value: AttributeValue) -> int:
    """Checks a value, makes it canonical in place, and returns its size in bytes."""
    size = _normalise(value, 0)
    if size > NAME_BYTES_MAX:
        _check_names(value)
    return size


def check_name(name: str) -> None:
    """The name of an attribute, or of a member of a map."""
    if not name:
        raise RequestFault(NO_NAME)
    if len(name) > NAME_BYTES_MAX or (not name.isascii() and len(name.encode()) > NAME_BYTES_MAX):
        raise RequestFault(NAME_TOO_LONG)


def _check_names(value: AttributeValue) -> None:
    """A walk of its own for the names, which only a large value can have too long. Its depth has been checked."""
    for name, member in value.get("M", {}).items():
        check_name(name)
        _check_names(member)
    for element in value.get("L", ()):
        _check_names(element)


def _normalise_members(members: dict[str, AttributeValue], depth: int) -> int:
    if "" in members:
        raise RequestFault(NO_NAME)
    size = 0
    for name, value in members.items():
        size += len(name) if name.isascii() else len(name.encode())
        if len(value) != 1:
            _refuse_types(value, depth)
        if "S" in value:
            text = value["S"]
            size += len(text) if text.isascii() else len(text.encode())
        elif "N" in value:
            text = value["N"]
            # As in `numbers.normalise`, and a size that needs no trimming.
            if text.isdigit() and text.isascii() and text[0] != "0" and text[-1] != "0" and len(text) <= DIGITS_MAX:
                size += (len(text) + 3) >> 1
            else:
                value["N"] = text = normalise(text)
                size += number_size(text)
        elif "BOOL" in value:
            size += 1
        else:
            size += _normalise(value, depth)
    return size


def _normalise(value: AttributeValue, depth: int) -> int:
    if len(value) != 1:
        _refuse_types(value, depth)
    for kind in value:
        return _NORMALISERS[kind](value, depth)
    raise AssertionError("a value without a type has been refused")


def _refuse_types(value: AttributeValue, depth: int) -> None:
    """Refuses a value that has no type or several. What the types hold is checked first, in the service's
    order."""
    if not value:
        raise ValidationException(NO_TYPE)
    for kind, normaliser in _NORMALISERS.items():
        if kind in value:
            normaliser(value, depth)
    raise ValidationException(SEVERAL_TYPES)


def _normalise_string(value: AttributeValue, depth: int) -> int:
    return len(value["S"].encode())


def _normalise_binary(value: AttributeValue, depth: int) -> int:
    return len(value["B"])


def _normalise_number(value: AttributeValue, depth: int) -> int:
    value["N"] = text = normalise(value["N"])
    return number_size(text)


def _normalise_bool(value: AttributeValue, depth: int) -> int:
    return 1


def _normalise_null(value: AttributeValue, depth: int) -> int:
    if value["NULL"] is not True:
        raise RequestFault(NULL_IS_FALSE)
    return 1


def _normalise_binary_set(value: AttributeValue, depth: int) -> int:
    members: list[bytes] = value["BS"]
    if not members:
        raise RequestFault(f"{_INVALID}Binary sets should not be empty")
    if len(set(members)) != len(members):
        shown = ", ".join(b64encode(member).decode() for member in members)
        raise RequestFault(f"{_INVALID}Input collection [{shown}]of type BS contains duplicates.")
    members.sort()
    return sum(map(len, members))


def _normalise_number_set(value: AttributeValue, depth: int) -> int:
    if not value["NS"]:
        raise RequestFault(f"{_INVALID}An number set  may not be empty")
    members = [normalise(member) for member in value["NS"]]
    if len(set(members)) != len(members):
        raise RequestFault("Input collection contains duplicates")
    if len(members) <= ITEM_BYTES_MAX:  # a larger set is in no item: it is refused by its size, and equals none
        members.sort(key=Decimal)
    value["NS"] = members
    return sum(map(number_size, members))


def _normalise_string_set(value: AttributeValue, depth: int) -> int:
    members: list[str] = value["SS"]
    if not members:
        raise RequestFault(f"{_INVALID}An string set  may not be empty")
    if len(set(members)) != len(members):
        raise RequestFault(f"{_INVALID}Input collection [{', '.join(members)}] contains duplicates.")
    members.sort()  # by code points, which is the order of UTF-8 bytes
    return sum(len(member.encode()) for member in members)


def _normalise_list(value: AttributeValue, depth: int) -> int:
    elements: list[AttributeValue] = value["L"]
    if elements and depth + 1 >= NESTING_LEVELS_MAX:
        raise ValidationException(TOO_DEEP)
    size = CONTAINER_BYTES + len(elements)
    for element in elements:
        size += _normalise(element, depth + 1)
    return size


def _normalise_map(value: AttributeValue, depth: int) -> int:
    members: dict[str, AttributeValue] = value["M"]
    if members and depth + 1 >= NESTING_LEVELS_MAX:
        raise ValidationException(TOO_DEEP)
    return CONTAINER_BYTES + len(members) + _normalise_members(members, depth + 1)


_NORMALISERS: dict[str, Callable[[AttributeValue, int], int]] = {
    "S": _normalise_string,
    "B": _normalise_binary,
    "N": _normalise_number,
    "BOOL": _normalise_bool,
    "NULL": _normalise_null,
    "BS": _normalise_binary_set,
    "NS": _normalise_number_set,
    "SS": _normalise_string_set,
    "L": _normalise_list,
    "M": _normalise_map,
}


def _string_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


_SIZES: dict[str, Callable[[Any], int]] = {
    "S": _string_size,
    "B": len,
    "N": number_size,
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
    "BS": lambda members: sum(map(len, members)),
    "NS": lambda members: sum(map(number_size, members)),
    "SS": lambda members: sum(map(_string_size, members)),
    "L": lambda elements: CONTAINER_BYTES + len(elements) + sum(map(value_size, elements)),
    "M": lambda members: CONTAINER_BYTES + len(members) + item_size(members),
}


def value_size(value: AttributeValue) -> int:
    """The size in bytes of a canonical value."""
    ((kind, content),) = value.items()
    return _SIZES[kind](content)


def item_size(item: Item) -> int:
    """The size in bytes of a canonical item: names and values."""
    size = 0
    for name, value in item.items():
        size += len(name) if name.isascii() else len(name.encode())
        for kind in value:
            size += _SIZES[kind](value[kind])
    return size


def compare(a: AttributeValue, b: AttributeValue) -> int:
    """-1, 0 or 1 as `a` is less than, equal to or greater than `b`; both S, both N or both B. Python orders
    strings by code points, which is the order of their UTF-8 bytes."""
    if "N" in a:
        return numbers.compare(a["N"], b["N"])
    kind = "S" if "S" in a else "B"
    if a[kind] == b[kind]:
        return 0
    return -1 if a[kind] < b[kind] else 1

"""The first stage of the slow path: JSON of the wrong type, with the service's words for it.

The service reads a body member by member into Java objects; its messages name the parser's tokens and Java's
types (measured). It is lenient in places, and so is this: fractions are cut from numbers where an integer is
due, booleans may be written as text, nulls count as absent, unknown members are passed over.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from typing import Any

from torusdb.api.shapes import ATTRIBUTE_VALUE, SHAPES, Shape
from torusdb.errors import SerializationException, ValidationException

_BOOLEANS = {"TRUE": True, "1": True, "YES": True, "FALSE": False, "0": False, "NO": False}

_INTEGER_LIMITS = {"integer": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}

ELEMENTS_BEYOND_MAX = 1000
"""Of a list or map that is longer than the model allows, as many elements more are looked at and shown. The refusal
stands by then; that the service would find JSON of a wrong type further behind, and say that instead, is given up:
16 MB hold millions of elements. Whether the service has such a bound is not known."""

_UNEXPECTED_MAP = "Start of structure or map found where not expected"

_UNEXPECTED_ELEMENT = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
    "java.lang.Class are in module java.base of loader 'bootstrap')"
)
"""For a scalar where a list holds maps, or a map holds lists."""

_NULL_IN_SET = {
    "StringAttributeValue": "An string set may not have a null string as a member",
    "NumberAttributeValue": "An number set may not have a null string as a member",
    "BinaryAttributeValue": "Binary sets may not contain null values",
}
"""By the shape of the set's elements."""


def coerce(value: Any, name: str, nested: bool) -> Any:
    """`value` as the shape `name` has it. `nested` says that a list or map holds it, not a structure."""
    shape = SHAPES[name]
    return _COERCIONS[shape.type](value, shape, nested)


def _structure(value: Any, shape: Shape, nested: bool) -> dict[str, Any]:
    if isinstance(value, list | tuple):
        raise SerializationException(f"Unrecognized collection type class {shape.java}")
    if not isinstance(value, dict):
        raise SerializationException("Unexpected value type in payload" if nested else "Unexpected field type")
    if not value:
        return {}
    known = shape.members_by_name
    return {
        name: coerce(given, known[name].shape, False)
        for name, given in value.items()
        if given is not None and name in known
    }


def _list(value: Any, shape: Shape, nested: bool) -> list[Any]:
    if isinstance(value, dict):
        raise SerializationException(_UNEXPECTED_MAP)
    if not isinstance(value, list | tuple):
        raise SerializationException(_UNEXPECTED_ELEMENT if nested else "Unexpected field type")
    if shape.member in _NULL_IN_SET and None in value:
        raise ValidationException(f"One or more parameter values were invalid: {_NULL_IN_SET[shape.member]}")
    if shape.max is not None:
        value = value[: shape.max + ELEMENTS_BEYOND_MAX]
    if shape.member == ATTRIBUTE_VALUE:
        return list(map(_attribute_value, value))
    if SHAPES[shape.member].type == "string" and set(map(type, value)) == {str}:
        return list(value)
    return [_element(element, shape.member) for element in value]


def _map(value: Any, shape: Shape, nested: bool) -> dict[str, Any]:
    if isinstance(value, list | tuple):
        raise SerializationException(f"Unrecognized collection type {shape.java}")
    if not isinstance(value, dict):
        raise SerializationException(_UNEXPECTED_ELEMENT if nested else "Unexpected field type")
    entries: Iterable[tuple[str, Any]] = value.items()
    if shape.max is not None:
        entries = islice(entries, shape.max + ELEMENTS_BEYOND_MAX)
    if shape.value == ATTRIBUTE_VALUE:
        return {key: _attribute_value(element) for key, element in entries}
    return {key: _element(element, shape.value) for key, element in entries}


def _element(value: Any, name: str) -> Any:
    """What a list or map holds. A null there stays for the next stage."""
    return None if value is None else coerce(value, name, True)


def _attribute_value(value: Any) -> dict[str, Any]:
    """An attribute value in a list or map: those that are right already, at a fraction of the cost of the general
    way, since they are what large requests are made of. The checks of values know one without a type."""
    if not value and (value is None or type(value) is dict):
        return {}
    if type(value) is dict and len(value) == 1:
        for kind, content in value.items():
            if type(content) is _SIMPLE.get(kind):
                return value
            if kind == "L" and type(content) is list:
                return {"L": list(map(_attribute_value, content))}
            if kind == "M" and type(content) is dict:
                return {"M": {name: _attribute_value(element) for name, element in content.items()}}
    coerced: dict[str, Any] = coerce(value, ATTRIBUTE_VALUE, True)
    return coerced


_SIMPLE: dict[str, type] = {"S": str, "N": str, "BOOL": bool, "NULL": bool}
"""Types that an attribute value has as it has them in JSON."""


def _string(value: Any, shape: Shape, nested: bool) -> str:
    if not isinstance(value, str):
        raise _wrong_scalar(value, shape)
    return value


def _boolean(value: Any, shape: Shape, nested: bool) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise _wrong_scalar(value, shape)
    if value.upper() not in _BOOLEANS:
        raise SerializationException("Unexpected token received from parser")
    return _BOOLEANS[value.upper()]


def _integer(value: Any, shape: Shape, nested: bool) -> int:
    """Java's narrowing: fractions are cut, what is out of range becomes the nearest number in it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_scalar(value, shape)
    low, high = _INTEGER_LIMITS[shape.type]
    return int(max(low, min(high, value)))


def _timestamp(value: Any, shape: Shape, nested: bool) -> float:
    """Seconds since 1970, with a fraction. In the process, boto3's users give a date."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_scalar(value, shape)
    return float(value)


def _blob(value: Any, shape: Shape, nested: bool) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple | dict):
        raise _wrong_scalar(value, shape)
    if not isinstance(value, str):
        raise SerializationException("only base-64-encoded strings are convertible to bytes")
    if len(value) % 4:
        raise SerializationException(f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(value)}")
    try:
        decoded = b64decode(value, validate=True)
    except ValueError:
        decoded = None
    if decoded is None or b64encode(decoded).decode() != value:
        raise SerializationException("Invalid last non-pad Base64 character dectected")
    return decoded


def _wrong_scalar(value: Any, shape: Shape) -> SerializationException:
    if isinstance(value, list | tuple):
        return SerializationException(f"Unrecognized collection type class {shape.java}")
    if isinstance(value, dict):
        return SerializationException(_UNEXPECTED_MAP)
    return SerializationException(f"{_token(value)} cannot be converted to {shape.java.rpartition('.')[2]}")


def _token(value: Any) -> str:
    """The name of the JSON parser's token."""
    if isinstance(value, bool):
        return "TRUE_VALUE" if value else "FALSE_VALUE"
    if isinstance(value, int):
        return "NUMBER_VALUE"
    return "STRING_VALUE" if isinstance(value, str) else "DECIMAL_VALUE"


_COERCIONS: dict[str, Callable[[Any, Shape, bool], Any]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "boolean": _boolean,
    "integer": _integer,
    "long": _integer,
    "timestamp": _timestamp,
    "blob": _blob,
}

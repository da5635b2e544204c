"""What items weigh, as the service counts it (developer guide, "DynamoDB item sizes and formats")."""

from __future__ import annotations

from decimal import Decimal
from math import ceil
from typing import Final

from torusdb.modeling.scalars import Item, Wire

CONTAINER_BYTES: Final = 3
WRITE_UNIT_BYTES: Final = 1024


def write_units(*items: Item) -> int:
    """Of a write, by the larger of the item before and after it."""
    return max(1, ceil(max(map(item_bytes, items), default=0) / WRITE_UNIT_BYTES))


def item_bytes(item: Item) -> int:
    return sum(len(name.encode()) + _value_bytes(wire) for name, wire in item.items())


def _value_bytes(wire: Wire) -> int:
    ((kind, content),) = wire.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return _number_bytes(content)
    if kind == "B":
        return len(content)
    if kind in ("SS", "NS", "BS"):
        return sum(_value_bytes({kind[0]: each}) for each in content)
    if kind == "L":
        return CONTAINER_BYTES + sum(1 + _value_bytes(each) for each in content)
    if kind == "M":
        return CONTAINER_BYTES + len(content) + item_bytes(content)
    return 1


def _number_bytes(text: str) -> int:
    """One, a byte for each two digits before and after the point, and one for a minus sign; zeros at the ends are not
    counted."""
    sign, digits, exponent = Decimal(text).normalize().as_tuple()
    if not any(digits):
        return 1
    assert isinstance(exponent, int)  # it is a number
    before = min(len(digits), max(0, len(digits) + exponent))
    return 1 + ceil(before / 2) + ceil((len(digits) - before) / 2) + sign

"""How large items are, by the service's rules: names and values.

The size of an entity comes from its `Volume`, where it says so, or is measured on a sample: the author's own
(`Volume(Order, sample=Order(…))`, or the first in `Samples`), or one made from the types, which knows nothing of the
length of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin

from torusdb.modeling.model import EntityModel
from torusdb.modeling.patterns import sample
from torusdb.modeling.scalars import Codec, Item, Wire
from torusdb.modeling.table import Index

CONTAINER_BYTES: Final = 3
"""Of a list or a map, besides one byte for each element (developer guide, "Item sizes and formats")."""
SAMPLE_ELEMENTS: Final = 3
"""Of a list, a set or a map in a sample that is made from types."""


def item_bytes(item: Item) -> int:
    return sum(len(name.encode()) + value_bytes(wire) for name, wire in item.items())


def value_bytes(wire: Wire) -> int:
    ((kind, content),) = wire.items()
    return _SIZES[kind](content)


def number_bytes(text: str) -> int:
    """One byte, one for each two digits before and after the point, trimmed of zeros, and one for a minus sign
    (measured on the service)."""
    mantissa, _, exponent = text.lower().lstrip("+-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or 0)
    digits = digits.rstrip("0")
    if not digits:
        return 1
    before = min(max(point, 0), len(digits))
    return 1 + (before + 1) // 2 + (len(digits) - before + 1) // 2 + text.startswith("-")


def _list_bytes(elements: Iterable[Wire]) -> int:
    return CONTAINER_BYTES + sum(1 + value_bytes(each) for each in elements)


_SIZES: Final[dict[str, Callable[[Any], int]]] = {
    "S": lambda text: len(text.encode()),
    "N": number_bytes,
    "B": len,
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
    "SS": lambda members: sum(len(each.encode()) for each in members),
    "NS": lambda members: sum(map(number_bytes, members)),
    "BS": lambda members: sum(map(len, members)),
    "L": _list_bytes,
    "M": lambda members: CONTAINER_BYTES + len(members) + item_bytes(members),
}


def projected(item: Item, model: EntityModel[Any], index: Index | None) -> Item:
    """What an index holds of an item."""
    if index is None or index.include is None:
        return item
    held = {*index.include, *model.table.key_names(index)}
    return {name: wire for name, wire in item.items() if name in held}


def sample_item(model: EntityModel[Any]) -> Item:
    """An item made from the types of an entity's attributes. Raises whatever its computed attributes raise."""
    values = {name: sample_value(model.codecs[name], f"{model.name}.{name}") for name in model.parameters}
    return model.encode(model.kind(**values))


def sample_value(codec: Codec, where: str) -> Any:
    kind = codec.plain
    if codec.element is not None:
        one = sample_value(codec.element, where)
        if kind is dict:
            return {f"sample{number}": one for number in range(SAMPLE_ELEMENTS)}
        return kind([one] * SAMPLE_ELEMENTS)
    if codec.members is not None:
        return kind(**{name: sample_value(member, f"{where}.{name}") for name, member in codec.members.items()})
    return sample(kind, where)


def choices(codec: Codec) -> int | None:
    """How many values an attribute can have; None for any number."""
    kind = codec.plain
    if kind is bool:
        return 2
    if get_origin(kind) is Literal:
        return len(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return len(kind)
    return None

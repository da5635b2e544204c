"""Values as the service's messages show them: Java's own texts of lists, maps and objects (measured).

A structure shows all its members, those that are absent as `null`; an attribute value shows an address, not
its content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import msgspec

from torusdb.api.shapes import ATTRIBUTE_VALUE, SHAPES

VALUE_CHARACTERS_MAX = 256 * 1024
"""Of a value in a message; a request of 16 MB could make one of 60 MB otherwise. Room for a hundred items of a
batch; where the service cuts, if it does, is not known."""
KEY_CHARACTERS_MAX = 1024
"""Of a map's key in a path: four times the longest table name."""
CUT = "..."


def rendered(value: Any, name: str) -> str:
    """`value` of the shape `name` as text; no more of it is looked at than is shown."""
    pieces: list[str] = []
    room = VALUE_CHARACTERS_MAX
    for piece in _pieces(value, name):
        if len(piece) > room:
            return "".join([*pieces, piece[:room], CUT])
        pieces.append(piece)
        room -= len(piece)
    return "".join(pieces)


def shown_key(key: str) -> str:
    """A map's key as paths show it."""
    return key if len(key) <= KEY_CHARACTERS_MAX else key[:KEY_CHARACTERS_MAX] + CUT


def _pieces(value: Any, name: str) -> Iterator[str]:
    shape = SHAPES[name]
    if value is None:
        yield "null"
    elif name == ATTRIBUTE_VALUE:
        yield f"{shape.java}@{crc32(msgspec.json.encode(value)):x}"
    elif shape.type == "structure":
        yield f"{shape.java.rpartition('.')[2]}("
        for number, member in enumerate(shape.members):
            yield f"{', ' if number else ''}{lower_first(member.name)}="
            yield from _pieces(value.get(member.name), member.shape)
        yield ")"
    elif shape.type == "list":
        yield "["
        for number, element in enumerate(value):
            if number:
                yield ", "
            yield from _pieces(element, shape.member)
        yield "]"
    elif shape.type == "map":
        yield "{"
        for number, (key, element) in enumerate(value.items()):
            yield f"{', ' if number else ''}{key}="
            yield from _pieces(element, shape.value)
        yield "}"
    elif isinstance(value, bool):
        yield "true" if value else "false"
    else:
        yield str(value)


def lower_first(name: str) -> str:
    """A member's name as Java has it."""
    return name[:1].lower() + name[1:]

"""Values as the service's messages show them: Java's own texts of lists, maps and objects (measured).

A structure shows all its members, those that are absent as `null`; an attribute value shows an address, not
its content.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import msgspec

from torusdb.api.shapes import ATTRIBUTE_VALUE, SHAPES


def rendered(value: Any, name: str) -> str:
    """`value` of the shape `name` as text."""
    if value is None:
        return "null"
    shape = SHAPES[name]
    if name == ATTRIBUTE_VALUE:
        return f"{shape.java}@{crc32(msgspec.json.encode(value)):x}"
    if shape.type == "structure":
        members = ", ".join(
            f"{lower_first(member.name)}={rendered(value.get(member.name), member.shape)}" for member in shape.members
        )
        return f"{shape.java.rpartition('.')[2]}({members})"
    if shape.type == "list":
        return f"[{', '.join(rendered(element, shape.member) for element in value)}]"
    if shape.type == "map":
        return f"{{{', '.join(f'{key}={rendered(element, shape.value)}' for key, element in value.items())}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def lower_first(name: str) -> str:
    """A member's name as Java has it."""
    return name[:1].lower() + name[1:]

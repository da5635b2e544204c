"""Bodies of answers. Stored items go into them as the JSON they are, without being decoded."""

from __future__ import annotations

from typing import Any

import msgspec

encode = msgspec.json.Encoder().encode

EMPTY = b"{}"


def answer(**members: Any) -> bytes:
    """The body with the members that are there: the service leaves out what is absent."""
    present = {name: value for name, value in members.items() if value is not None}
    return encode(present) if present else EMPTY


def items_json(items: list[bytes]) -> msgspec.Raw:
    return msgspec.Raw(b"[" + b",".join(items) + b"]")

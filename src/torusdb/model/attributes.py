"""An attribute value as the wire writes it: a dict of one member, the type's letter, with the value in it.

Items stay in this form from request to record to response. Binary values are `bytes` in memory and base64 on
the wire and on disk; msgspec turns one into the other while it decodes and encodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import msgspec

AttributeValue: TypeAlias = dict[str, Any]
"""A value of one member that has passed `model.values`: canonical."""

if TYPE_CHECKING:
    # A TypedDict is no dict to a type checker, and would have to be cast wherever it is handled as one.
    WireValue: TypeAlias = AttributeValue
else:

    class WireValue(TypedDict, total=False):
        """The types msgspec checks while it decodes. That exactly one member is present is checked in
        `model.values`."""

        S: str
        N: str
        B: bytes
        SS: list[str]
        NS: list[str]
        BS: list[bytes]
        M: dict[str, WireValue]
        L: list[WireValue]
        BOOL: bool
        NULL: bool


Item: TypeAlias = dict[str, AttributeValue]

encode_item = msgspec.json.Encoder().encode
decode_item = msgspec.json.Decoder(dict[str, WireValue]).decode

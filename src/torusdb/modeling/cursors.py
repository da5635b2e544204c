"""Cursors: where results stood, as a text that can go into a URL.

A cursor carries a fingerprint of the read that it is of, and for each of its lanes the key behind which it goes on. It
is opaque, but no secret, and not signed: who changes one reads from elsewhere in what the query reads anyway."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from torusdb.modeling.errors import CursorRefused
from torusdb.modeling.expiry import NOW, OLDEST
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Request

FINGERPRINT_BYTES: Final = 9
FORMAT: Final = "1"

Position: TypeAlias = Item | bool
"""Of a lane: behind this key, or one of these two."""
BEGINNING: Final = True
END: Final = False

_PAGING: Final = frozenset(["Limit", "ExclusiveStartKey", "ConsistentRead", "ProjectionExpression"])
"""Parameters that change how results are read, not which they are, nor their order. (The names of a projection are in
ExpressionAttributeNames, which is why that is left out of fingerprints: names are in them by what they stand for.)"""


_PASSING: Final = frozenset([NOW, OLDEST])
"""Values that say what time it is, which it no longer is when the cursor comes back."""


def write_cursor(requests: list[Request], positions: list[Position]) -> str:
    import json
    from base64 import urlsafe_b64encode

    lanes = [position if isinstance(position, bool) else plain_key(position) for position in positions]
    content = json.dumps(lanes, separators=(",", ":"), ensure_ascii=False).encode()
    return FORMAT + urlsafe_b64encode(_fingerprint(requests) + content).decode().rstrip("=")


def read_cursor(requests: list[Request], cursor: str) -> list[Position]:
    import json
    from base64 import urlsafe_b64decode

    encoded = cursor[1:]
    try:
        if cursor[:1] != FORMAT:
            raise ValueError(cursor)
        content = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        lanes = json.loads(content[FINGERPRINT_BYTES:])
        positions = [lane if isinstance(lane, bool) else key_of_plain(lane) for lane in lanes]
    except (ValueError, TypeError, AttributeError, KeyError):
        raise CursorRefused("This is not a cursor, or it is damaged") from None
    if content[:FINGERPRINT_BYTES] != _fingerprint(requests) or len(positions) != len(requests):
        raise CursorRefused("This cursor is of another query")
    return positions


def _fingerprint(requests: list[Request]) -> bytes:
    import hashlib
    import json

    described = [
        {name: value for name, value in _spelled_out(each.parameters).items() if name not in _PAGING}
        for each in requests
    ]
    text = json.dumps(described, sort_keys=True, default=lambda value: f"bytes {value.hex()}")
    return hashlib.sha256(text.encode()).digest()[:FINGERPRINT_BYTES]


def _spelled_out(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters with names in the place of their placeholders, since a projection numbers them otherwise."""
    names = parameters.get("ExpressionAttributeNames", {})
    spelled = {name: value for name, value in parameters.items() if name != "ExpressionAttributeNames"}
    for member in ("KeyConditionExpression", "FilterExpression"):
        text = spelled.get(member)
        if text:
            for alias in sorted(names, key=len, reverse=True):
                text = text.replace(alias, f"<{names[alias]}>")
            spelled[member] = text
    values = spelled.get("ExpressionAttributeValues", {})
    spelled["ExpressionAttributeValues"] = {alias: wire for alias, wire in values.items() if alias not in _PASSING}
    return spelled


def plain_key(key: Item) -> dict[str, dict[str, str]]:
    """The key as JSON takes it."""
    return {
        name: {kind: value.hex() if isinstance(value, bytes) else value for kind, value in wire.items()}
        for name, wire in key.items()
    }


def key_of_plain(plain: dict[str, dict[str, str]]) -> Item:
    return {
        name: {kind: bytes.fromhex(value) if kind == "B" else value for kind, value in wire.items()}
        for name, wire in plain.items()
    }

"""From a body's bytes to a typed request, or to the error the service would give.

The fast path is msgspec's decoder for the operation's type, which admits nothing but valid requests. What it
refuses, and what it might have taken too leniently, goes the slow path (`explain`), which decides and words
the error. What the fast path accepts, the slow path accepts too, and as the same request.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from torusdb.api.explain import accept, explain
from torusdb.api.requests import REQUESTS, Request

_DECODERS = {name: msgspec.json.Decoder(request).decode for name, request in REQUESTS.items()}

_suspect_base64 = re.compile(rb'[^AEIMQUYcgkosw048=]="|[^AQgw]=="|\\u00[2-7]').search
"""msgspec ignores the bits that base64 leaves over at the end; the service refuses them if they are set. So
before one `=` only every fourth letter is right, before two only every sixteenth. Escaped letters could hide
it."""


def decode(operation: str, body: bytes) -> Request:
    """The request in `body`, valid by shapes and generic constraints."""
    try:
        request = _DECODERS[operation](body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return explain(operation, body)
    if (b'"B"' in body or b'"BS"' in body) and _suspect_base64(body):
        return explain(operation, body)
    return request


def from_python(operation: str, params: dict[str, Any]) -> Request:
    """The request in `params`: the wire's structure in Python's types, with binary values as `bytes`."""
    try:
        return msgspec.convert(params, REQUESTS[operation])
    except (msgspec.MsgspecError, RecursionError, TypeError):
        return accept(operation, params)

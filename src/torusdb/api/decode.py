"""From a body's bytes to a typed request, or to the error the service would give.

The fast path is msgspec's decoder for the operation's type, which admits nothing but valid requests. What it
refuses, and what it might have taken too leniently, goes the slow path (`explain`), which decides and words
the error. What the fast path accepts, the slow path accepts too, and as the same request. The slow path is
imported when it is first taken: with the table of shapes it is a tenth of what a server imports to start.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from torusdb.api.names import is_data_name
from torusdb.api.requests import REQUESTS, Request

_DECODERS = {name: msgspec.json.Decoder(request).decode for name, request in REQUESTS.items()}

_EQUALS_SIGN, _BACKSLASH = b"=\\"

_suspect_base64 = re.compile(rb'="(?:(?<![AEIMQUYcgkosw048=]=")|(?<=[^AQgw]=="))').search
"""msgspec ignores the bits that base64 leaves over at the end; the service refuses them if they are set. So
before one `=` only every fourth letter is right, before two only every sixteenth."""

_escaped_padding = re.compile(rb'\\u003[dD]"').search
"""Some clients escape `=` wherever it stands."""


def decode(operation: str, body: bytes) -> Request:
    """The request in `body`, valid by shapes and generic constraints."""
    try:
        request = _DECODERS[operation](body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _explain(operation, body)
    table_name = getattr(request, "table_name", None)
    if table_name is not None and not is_data_name(table_name):
        return _explain(operation, body)
    # Most bodies have neither character, and a search for a byte costs a fraction of any other.
    if (_EQUALS_SIGN in body and _suspect_base64(body)) or (_BACKSLASH in body and _escaped_padding(body)):
        return _explain(operation, body)
    return request


def from_python(operation: str, params: dict[str, Any]) -> Request:
    """The request in `params`: the wire's structure in Python's types, with binary values as `bytes`."""
    try:
        request = msgspec.convert(params, REQUESTS[operation])
    except (msgspec.MsgspecError, RecursionError, TypeError):
        return _accept(operation, params)
    table_name = getattr(request, "table_name", None)
    if table_name is not None and not is_data_name(table_name):
        return _accept(operation, params)
    return request


def _explain(operation: str, body: bytes) -> Request:
    from torusdb.api.explain import explain

    return explain(operation, body)


def _accept(operation: str, params: dict[str, Any]) -> Request:
    from torusdb.api.explain import accept

    return accept(operation, params)

"""From a body's bytes to a typed request, or to the error the service would give."""

from __future__ import annotations

from typing import Any

import msgspec

from torusdb.api.requests import REQUESTS, Request
from torusdb.errors import SerializationException, ValidationException

_DECODERS = {name: msgspec.json.Decoder(request).decode for name, request in REQUESTS.items()}


def decode(operation: str, body: bytes) -> Request:
    """The request in `body`, which holds for shapes and generic constraints."""
    try:
        return _DECODERS[operation](body)
    except msgspec.ValidationError as error:
        raise ValidationException(str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise SerializationException() from None


def from_python(operation: str, params: dict[str, Any]) -> Request:
    """The request in `params`, given as Python values: binary as `bytes`."""
    try:
        return msgspec.convert(params, REQUESTS[operation], builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise ValidationException(str(error)) from None

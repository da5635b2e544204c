"""The slow path: a request that the typed decoder refused, taken step by step as the service takes it.

    bytes ─ parse ─▶ plain JSON ─ coerce ─▶ right types ─ check ─▶ within constraints ─ msgspec ─▶ request

Each step raises what the service says at that point. A request that passes them all is valid after all: the
service is more lenient than the typed decoder in places (see `coercion`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from torusdb.api.coercion import coerce
from torusdb.api.constraints import check
from torusdb.api.plain import parse
from torusdb.api.requests import REQUESTS, Request
from torusdb.api.shapes import INPUT_SHAPES
from torusdb.errors import SerializationException


def explain(operation: str, body: bytes) -> Request:
    return accept(operation, parse(body))


def accept(operation: str, params: dict[str, Any]) -> Request:
    """The request in `params`: plain JSON, or the same with binary values as `bytes`."""
    shape = INPUT_SHAPES[operation]
    try:
        request = coerce(params, shape, False)
        check(shape, request)
        return msgspec.convert(request, REQUESTS[operation])
    except RecursionError:
        raise SerializationException() from None
    except msgspec.ValidationError as error:
        # Python's dicts can hold what JSON cannot, such as keys that are no text.
        raise SerializationException(str(error)) from None

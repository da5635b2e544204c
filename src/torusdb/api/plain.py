"""Plain JSON for the slow path: any body becomes a dict, or a SerializationException without a message.

The standard library's parser is used, since it takes what msgspec's refuses for its own reasons (numbers of
any size, say) and leaves the judgement to the stages that follow. Nesting is bounded by the interpreter's recursion
limit, here as in the typed decoder: the parser stops at the first bracket too many. A look at every bracket
beforehand took longer than all else for 16 MB of them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from torusdb.errors import SerializationException

INTEGER_DIGITS_MAX = 30
"""Beyond every integer type. Longer ones are cut to a number that is out of range as well, at no cost."""

_surrogate = re.compile(r"\\u[dD][89a-fA-F]").search


def parse(body: bytes) -> dict[str, Any]:
    try:
        text = body.decode()
        value = _decoder.decode(text)
        if _surrogate(text):
            # Half of a surrogate pair is no text: there is no UTF-8 for it.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise SerializationException() from None
    if not isinstance(value, dict):
        raise SerializationException()
    return value


def _integer(digits: str) -> int:
    if len(digits) <= INTEGER_DIGITS_MAX:
        return int(digits)
    return int(digits[:INTEGER_DIGITS_MAX])


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_int=_integer, parse_constant=_constant)

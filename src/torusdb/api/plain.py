"""Plain JSON for the slow path: any body becomes a dict, or a SerializationException without a message.

The standard library's parser is used, since it takes what msgspec's refuses for its own reasons (numbers of
any size, say) and leaves the judgement to the stages that follow.
"""

from __future__ import annotations

import json
import re
from typing import Any

from torusdb.errors import SerializationException

JSON_DEPTH_MAX = 256
"""Items nest 32 levels deep, at two levels of JSON each; this leaves room to say so, and bounds our
recursion."""

INTEGER_DIGITS_MAX = 30
"""Beyond every integer type. Longer ones are cut to a number that is out of range as well, at no cost."""

_brackets = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[{]|[\]}]', re.DOTALL).finditer
_surrogate = re.compile(r"\\u[dD][89a-fA-F]").search


def parse(body: bytes) -> dict[str, Any]:
    try:
        text = body.decode()
        if text.count("[") + text.count("{") > JSON_DEPTH_MAX and _is_too_deep(text):
            raise SerializationException()
        value = _decoder.decode(text)
        if _surrogate(text):
            # Half of a surrogate pair is no text: there is no UTF-8 for it.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise SerializationException() from None
    if not isinstance(value, dict):
        raise SerializationException()
    return value


def _is_too_deep(text: str) -> bool:
    """Whether the brackets nest deeper than they may, found without recursion. The first one too many ends it:
    16 MB of nothing but brackets would hold up the server for seconds otherwise."""
    depth = 0
    for match in _brackets(text):
        bracket = match[0]
        if bracket in "[{":
            depth += 1
            if depth > JSON_DEPTH_MAX:
                return True
        elif bracket in "]}":
            depth -= 1
    return False


def _integer(digits: str) -> int:
    if len(digits) <= INTEGER_DIGITS_MAX:
        return int(digits)
    return int(digits[:INTEGER_DIGITS_MAX])


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_int=_integer, parse_constant=_constant)

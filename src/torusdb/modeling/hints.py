"""What a message says besides, to someone who has misspelt a name or has another library's habits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

RESOURCE_MODULES: Final = frozenset({"boto3.resources.base", "aioboto3.resources.base"})


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ ": did you mean status?", or nothing where no known name is like it."""
    from difflib import get_close_matches

    found = get_close_matches(name, sorted(known), n=1)
    return f": did you mean {found[0]}?" if found else ""


def is_resource(client: Any) -> bool:
    """Whether it is boto3's other interface, which has methods of other names and takes other values. (It is told by
    its class's module, since the kit imports no client.)"""
    return any(each.__module__ in RESOURCE_MODULES for each in type(client).__mro__)

"""Names of tables: what is accepted where, and what is said of the others.

CreateTable takes a name. The other operations on tables, and those on items, take an ARN as well; what they
accept of a name and what they say of a wrong one differs (measured on the service; the model has one shape
for them all).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["create", "control", "data", "alone", "member", "arn"]
"""Operations that create a table, other operations on tables, operations on items, those of them that report a wrong
name alone, and members of a list, each with a name of its own; operations on resources, which take an ARN only."""

NAME_PATTERN = "[a-zA-Z0-9_.-]+"
NAME_LENGTH_MIN = 3
NAME_LENGTH_MAX = 255
DATA_NAME_LENGTH_MIN = 1
"""Operations on items let shorter names pass: there is no such table, which is what they say (measured)."""

_ARN = "arn:aws[a-z-]*:dynamodb:[^:]*:[^:]*:table/[a-zA-Z0-9_.-]{3,255}"

NewTableName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[a-zA-Z0-9_.-]{3,255}\Z")]
ControlTableName: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"\A(?:[a-zA-Z0-9_.-]{{3,255}}|{_ARN})\Z")]
DataTableName: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
"""The rest is left to `is_data_name`: msgspec would look for the pattern anew in every request, which takes
longer than all else in a GetItem's body."""

MapTableName: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"\A(?:[a-zA-Z0-9_.-]{{1,255}}|{_ARN})\Z")]

ARN_LENGTH_MAX = 1283
ResourceArn: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=ARN_LENGTH_MAX)]
"""Of what, is for the operation to say."""

NAMES_CACHED_MAX = 1024

_is_arn = re.compile(_ARN).fullmatch
_is_name = re.compile(NAME_PATTERN).fullmatch


@lru_cache(NAMES_CACHED_MAX)
def is_data_name(name: str) -> bool:
    """Whether operations on items accept `name`."""
    return not broken_rules("data", name)


WRONG_LENGTH = "TableName must be at least 3 characters long and at most 255 characters long"
MISSING = "The parameter 'TableName' is required but was not present in the request"
NO_ARN = "Invalid TableArn"


def table_of(name_or_arn: str) -> str:
    """The table's name, from a name or an ARN that has been accepted."""
    return name_or_arn.rpartition(":table/")[2]


def refusal(kind: Kind, name: str | None) -> str | None:
    """What operations on tables say of a missing name or one of a wrong length, before anything else."""
    if kind == "arn":
        return None if name else NO_ARN
    if kind in ("create", "control") and name is None:
        return MISSING
    if kind == "control" and name is not None and not _is_arn(name):
        return None if NAME_LENGTH_MIN <= len(name) <= NAME_LENGTH_MAX else WRONG_LENGTH
    return None


def map_key_rules(kind: Kind) -> str:
    """The rules for names that are the keys of a map, which are reported all together."""
    return (
        f"Member must have length less than or equal to {NAME_LENGTH_MAX}, "
        f"Member must have length greater than or equal to {_shortest(kind)}, "
        f"Member must satisfy regular expression pattern: {NAME_PATTERN}"
    )


def _shortest(kind: Kind) -> int:
    return NAME_LENGTH_MIN if kind == "create" else DATA_NAME_LENGTH_MIN


def broken_rules(kind: Kind, name: str) -> list[str]:
    """The rules that a name breaks, as the generic messages word them."""
    if kind == "arn":
        too_long = len(name) > ARN_LENGTH_MAX
        return [f"Member must have length less than or equal to {ARN_LENGTH_MAX}"] if too_long else []
    if kind != "create" and _is_arn(name):
        return []
    shortest = _shortest(kind)
    broken = []
    # Of an empty name, operations on items say that it is too short and leave it at that.
    if not _is_name(name) and (name or kind == "create"):
        broken.append(f"Member must satisfy regular expression pattern: {NAME_PATTERN}")
    if len(name) < shortest:
        broken.append(f"Member must have length greater than or equal to {shortest}")
    if len(name) > NAME_LENGTH_MAX:
        broken.append(f"Member must have length less than or equal to {NAME_LENGTH_MAX}")
    return broken

"""NextToken: where a statement goes on, in a form that is the service's own affair.

It is bound to the statement and its parameters, which alone decide what is read; Limit and ConsistentRead may change
from page to page (seen by others in 2026).
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Sequence

import msgspec

from torusdb.errors import ValidationException
from torusdb.model.attributes import AttributeValue, WireValue
from torusdb.model.values import normalise_item
from torusdb.operations.key_bounds import keys_of
from torusdb.operations.key_checks import check_key_value
from torusdb.operations.partiql_reads import Position, Reads


class _Token(msgspec.Struct):
    statement: str
    """A digest of the statement and its parameters."""
    range: int
    key: dict[str, WireValue] | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Token).decode


def digest_of(statement: str, parameters: Sequence[AttributeValue]) -> str:
    return hashlib.sha256(_encode([statement, parameters])).hexdigest()


def token_of(position: Position, digest: str) -> str:
    return b64encode(_encode(_Token(digest, position.range, position.key))).decode()


def position_of(token: str, digest: str, reads: Reads) -> Position:
    """Where the token says that the statement goes on. A token is only what we have made: what else it may hold is
    refused like one that is none."""
    try:
        found = _decode(b64decode(token, validate=True))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise _invalid() from None
    if found.statement != digest:
        raise ValidationException("NextToken does not match request")
    if not 0 <= found.range < len(reads.ranges):
        raise _invalid()
    if found.key is not None:
        try:
            _check_position(reads, found.key)
        except ValidationException:
            raise _invalid() from None
    return Position(found.range, found.key)


def _check_position(reads: Reads, key: dict[str, WireValue]) -> None:
    normalise_item(key)
    hash_keys, _ = keys_of(reads.table, reads.index)
    for attribute in (*reads.table.keys, *([] if reads.index is None else reads.index.keys)):
        check_key_value(attribute, key.get(attribute.name), is_hash=attribute in hash_keys)


def _invalid() -> ValidationException:
    return ValidationException("Invalid NextToken")

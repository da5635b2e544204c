"""The tokens that make a repeated transaction a single one: ClientRequestToken, good for ten minutes.

Theory of operation. The record of a token is written by the commit of its transaction, so there is one if and only if
the transaction has landed. It says what the request was, as a digest, and what a repetition costs. Tokens lie in the
store by periods as long as a token is good, hence a good one is in this period or in the one before it: a transaction
looks there, and whole periods that nobody looks into any more are cleared as a range (`jobs.tokens`). The first token
of a period writes a marker with it, and wakes the job.

The clock is the database's. Should it be set back by more than a period, tokens are not found for that long.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from torusdb.errors import IdempotentParameterMismatchException
from torusdb.model import keys
from torusdb.operations.context import Context

TOKEN_SECONDS: Final = 600
"""How long a token is good (API reference, TransactWriteItems, ClientRequestToken)."""

_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class Token(msgspec.Struct, frozen=True):
    """A token that a request gives. Each operation has tokens of its own (seen by others on the service in 2026)."""

    operation: str
    text: str
    digest: bytes
    """Of what must be the same in a repetition."""


class Used(msgspec.Struct, frozen=True):
    """The record of a token."""

    at: float
    digest: bytes
    read_units: dict[str, float]
    """What a repetition is charged, by the table's name as the request gave it."""


_encode_used = msgspec.json.Encoder().encode
_decode_used = msgspec.json.Decoder(Used).decode


def token_of(operation: str, text: str | None, content: Any) -> Token | None:
    """The token of a request that does `content`. Members of maps count in any order: Go's SDK writes a repetition in
    another one (aws-sdk-go-v2 #1900)."""
    if text is None:
        return None
    return Token(operation, text, hashlib.sha256(_encode_sorted(content)).digest())


def period_of(seconds: float) -> int:
    """Counted from one, so that there is always one before."""
    return int(max(seconds, 0.0) // TOKEN_SECONDS) + 1


def over_at(period: int) -> float:
    """When the last token of a period is good no longer."""
    return float((period + 1) * TOKEN_SECONDS)


class Lookup:
    """Where a token is looked for, and put. `keys` are to be read with a guard, and `take` their records."""

    def __init__(self, ctx: Context, token: Token) -> None:
        self._token = token
        self._now = ctx.now()
        account, region, period = ctx.catalog.account, ctx.catalog.region, period_of(self._now)
        self._marker = keys.token_prefix(account, region, period)
        self._key = keys.token_key(account, region, period, token.operation, token.text)
        before = keys.token_key(account, region, period - 1, token.operation, token.text)
        self.keys = [self._marker, self._key, before]
        self.opens_period = False
        """Whether the token is the first of its period."""

    def take(self, records: list[bytes | None]) -> Used | None:
        """What is known of the token, where it is good. Refuses one that was used for something else."""
        marker, *found = records
        self.opens_period = marker is None
        for record in found:
            used = None if record is None else _decode_used(record)
            if used is not None and self._now < used.at + TOKEN_SECONDS:
                if used.digest != self._token.digest:
                    # The words of the service are not known; these are the model's.
                    raise IdempotentParameterMismatchException(
                        "DynamoDB rejected the request because you retried a request with a different payload but "
                        "with an idempotent token that was already used."
                    )
                return used
        return None

    def records(self, read_units: dict[str, float]) -> list[tuple[bytes, bytes]]:
        """What the transaction's commit is to write."""
        used = Used(self._now, self._token.digest, read_units)
        records = [(self._key, _encode_used(used))]
        if self.opens_period:
            records.append((self._marker, b""))
        return records

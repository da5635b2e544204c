"""Tokens of transactions that are good no longer: cleared period by period (see `operations.tokens`).

It can be cut off anywhere: what is to be done follows from what lies in the store.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from torusdb.jobs.tables import until_all_is_durable
from torusdb.model import keys
from torusdb.operations.context import Context
from torusdb.operations.tokens import over_at
from torusdb.storage.commands import Clear, Command, Page, Range

_WHOLE_RECORD = 1
"""A range gives at least one record, whatever its size."""


def clear_tokens(ctx: Context) -> Generator[Generator[Command, Any, Any], Any, float | None]:
    """Clears every period that is over. Due again when the oldest of the others is."""
    yield until_all_is_durable()  # the commit that has woken the job among it: ranges show what is durable
    while True:
        period: int | None = yield _oldest_period(ctx)
        if period is None:
            return None
        if ctx.now() < over_at(period):
            return over_at(period)
        yield _clear(ctx, period)


def _prefix(ctx: Context, period: int | None = None) -> bytes:
    return keys.token_prefix(ctx.catalog.account, ctx.catalog.region, period)


def _oldest_period(ctx: Context) -> Generator[Command, Any, int | None]:
    prefix = _prefix(ctx)
    page: Page = yield Range(prefix, keys.after_prefix(prefix), False, 1, _WHOLE_RECORD)
    return keys.token_period(prefix, page.records[0][0]) if page.records else None


def _clear(ctx: Context, period: int) -> Generator[Command, Any, None]:
    prefix = _prefix(ctx, period)
    yield Clear(prefix, keys.after_prefix(prefix))

"""How a change of several items lands: read, decide, one transaction; and again, if someone else was faster.

Each write of the transaction has a condition: that the item is as it was read, or that there is enough of something. If
one does not hold, nothing is written, and either the write says what that means ("out of stock"), or something was
changed between reading and writing, and the change is tried again from its beginning."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import random
from typing import Any, Final, TypeVar

from order_entry.errors import ChangedMeanwhile
from torusdb.modeling import Store, Transaction, TransactionFailed

T = TypeVar("T")

ATTEMPTS_MAX: Final = 8
FIRST_PAUSE_SECONDS: Final = 0.01
CONDITION_FAILED: Final = "ConditionalCheckFailed"
TRANSIENT: Final = frozenset({CONDITION_FAILED, "TransactionConflict"})
"""Reasons for which the next attempt may succeed."""


class Landing:
    """`transaction`, and for some of its writes, what is raised if it cannot be done."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self._refusals: dict[int, Callable[[Any], Exception]] = {}

    def otherwise(self, refusal: Callable[[Any], Exception]) -> None:
        """Of the write that was added last. `refusal` gets the entity that is stored, or None."""
        self._refusals[len(self.transaction.writes) - 1] = refusal

    def raise_refusal(self, failed: TransactionFailed) -> None:
        """Returns if another attempt may succeed."""
        for number, reason in enumerate(failed.reasons):
            if reason is not None and reason.code == CONDITION_FAILED and number in self._refusals:
                raise self._refusals[number](reason.entity) from failed
        if not all(reason is None or reason.code in TRANSIENT for reason in failed.reasons):
            raise failed


def land(store: Store, work: Callable[[Landing], T], *, pause: Callable[[float], Any] = time.sleep) -> T:
    """`work` reads, decides and adds writes; what it gives is given once they are all done."""
    for attempt in range(ATTEMPTS_MAX):
        if attempt:
            pause(FIRST_PAUSE_SECONDS * 2**attempt * random())
        transaction = store.transaction()
        landing = Landing(transaction)
        try:
            with transaction:
                return work(landing)
        except TransactionFailed as failed:
            landing.raise_refusal(failed)
    raise ChangedMeanwhile(f"Others changed the same items {ATTEMPTS_MAX} times in a row: try again")

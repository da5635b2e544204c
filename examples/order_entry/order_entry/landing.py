"""How a change of several items lands: read, decide, one transaction; and again, if someone else was faster.

Each write of the transaction has a condition: that the item is as it was read, or that there is enough of something. If
one does not hold, nothing is written, and either the write says what that means (`otherwise=OutOfStock(…)`), or
something was changed between reading and writing, and the store calls `work` again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from order_entry.errors import ChangedMeanwhile
from torusdb.modeling import Contention, Store, TransactionWrites

T = TypeVar("T")

ATTEMPTS_MAX: Final = 8


def land(store: Store, work: Callable[[TransactionWrites], T]) -> T:
    """`work` reads, decides and adds writes; what it gives is given once they are all done."""
    try:
        return store.transact(work, attempts_max=ATTEMPTS_MAX)
    except Contention as failed:
        raise ChangedMeanwhile(f"Others changed the same items {ATTEMPTS_MAX} times in a row: try again") from failed

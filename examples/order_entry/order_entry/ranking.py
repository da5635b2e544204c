"""The ranking of representatives, kept by a consumer of the table's stream.

For each order there is a `Credit`: whom it counts for, with how much, and as of which revision of the order. For each
representative and quarter there is a `Sales`: the sum of the credits. Both change in one transaction, and a credit only
if the record is of a later revision than the one it knows. So a record may come again, late, or to two workers at once:
it counts once, and what has come to be stays.

Writes are few: of a batch of records only the last of each order matters, and what the orders of a batch change for one
representative is one write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias

from order_entry.landing import land
from order_entry.model import Credit, Order, Sales, Status, quarter_of, table
from torusdb.modeling import Change, Ref, Store, TransactionWrites, changes

Record: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str, str]
"""A representative and a quarter."""

ORDERS_PER_TRANSACTION_MAX: Final = 33
"""Of 100 writes: for each order its credit, and the sales of two places if it has gone from one to the other."""

NO_CHANGE: Final = (Decimal(0), 0)


def rank(store: Store) -> Callable[[str, Sequence[Record]], None]:
    """The handler for a `torusdb.streams.Consumer`."""

    def handle(_: str, records: Sequence[Record]) -> None:
        credits_ = list(latest_credits(records).values())
        for start in range(0, len(credits_), ORDERS_PER_TRANSACTION_MAX):
            chunk = credits_[start : start + ORDERS_PER_TRANSACTION_MAX]
            land(store, partial(_credit, store, chunk))

    return handle


def latest_credits(records: Iterable[Record]) -> dict[str, Credit]:
    """What each order in these records counts for, after the last of its changes."""
    latest: dict[str, Credit] = {}
    for each in changes(table, records, unknown="skip"):
        change = each.of(Order)
        if change is not None:
            credit = _credit_after(change)
            if credit.order not in latest or latest[credit.order].revision < credit.revision:
                latest[credit.order] = credit
    return latest


def _credit_after(change: Change[Order]) -> Credit:
    if change.new is not None:
        return credit_of(change.new)
    assert change.old is not None  # the stream has both images
    credit = credit_of(change.old)
    credit.counts, credit.revision = False, credit.revision + 1
    return credit


def credit_of(order: Order) -> Credit:
    return Credit(
        order=order.number,
        revision=order.revision,
        representative=order.representative,
        quarter=quarter_of(order.placed),
        total=order.total,
        counts=order.status is not Status.CANCELLED,
    )


def _credit(store: Store, new: Sequence[Credit], transaction: TransactionWrites) -> None:
    differences: dict[Place, tuple[Decimal, int]] = defaultdict(lambda: NO_CHANGE)
    old = store.get_many([Ref(Credit, order=each.order) for each in new], consistent=True)
    for before, after in zip(old, new, strict=True):
        if before is None:
            transaction.insert(after)
        elif before.revision < after.revision:
            transaction.put(after, when=Credit.revision == before.revision)
        else:
            continue
        for credit, sign in ((before, -1), (after, 1)):
            if credit is not None and credit.counts:
                place = (credit.representative, credit.quarter)
                total, orders = differences[place]
                differences[place] = (total + sign * credit.total, orders + sign)
    _add_up(store, transaction, {place: change for place, change in differences.items() if change != NO_CHANGE})


def _add_up(store: Store, transaction: TransactionWrites, differences: dict[Place, tuple[Decimal, int]]) -> None:
    places = list(differences)
    sums = store.get_many([Ref(Sales, employee=one, quarter=quarter) for one, quarter in places], consistent=True)
    for (representative, quarter), before in zip(places, sums, strict=True):
        total, orders = differences[representative, quarter]
        if before is None:
            transaction.insert(Sales(employee=representative, quarter=quarter, total=total, orders=orders))
            continue
        as_read = (Sales.total == before.total) & (Sales.orders == before.orders)
        if before.orders + orders == 0:
            transaction.delete(before, when=as_read)
            continue
        after = Sales(
            employee=representative, quarter=quarter, total=before.total + total, orders=before.orders + orders
        )
        transaction.put(after, when=as_read)

"""A change that meets another one is tried again from its beginning, for a while."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from order_entry.errors import ChangedMeanwhile
from order_entry.landing import ATTEMPTS_MAX, land
from order_entry.model import Product
from torusdb.modeling import Ref, Store, TransactionFailed, TransactionWrites


class Conflicts:
    """A client whose transactions fail so many times with a reason, as the service's may."""

    class Canceled(Exception):
        def __init__(self, code: str) -> None:
            super().__init__(code)
            self.response = {
                "Error": {"Code": "TransactionCanceledException"},
                "CancellationReasons": [{"Code": code, "Message": "told so"}],
            }

    def __init__(self, client: Any, times: int, code: str = "TransactionConflict") -> None:
        self.client, self.times, self.code = client, times, code

    def __getattr__(self, method: str) -> Any:
        if method == "transact_write_items" and self.times:
            self.times -= 1
            return self._fail
        return getattr(self.client, method)

    def _fail(self, **_: Any) -> Any:
        raise self.Canceled(self.code)


def add_one(transaction: TransactionWrites) -> str:
    transaction.update(Ref(Product, id="P1"), Product.stock.add(1))
    return "done"


def test_a_conflict_is_tried_again_after_a_pause_that_grows(store: Store) -> None:
    pauses: list[float] = []
    assert land(Store(store.table, Conflicts(store._client, 3), sleep=pauses.append), add_one) == "done"
    assert len(pauses) == 3
    product = store.get(Product, id="P1")
    assert product is not None
    assert product.stock == 16


def test_it_is_given_up_after_a_while(store: Store) -> None:
    pauses: list[float] = []
    client = Conflicts(store._client, ATTEMPTS_MAX)
    with pytest.raises(ChangedMeanwhile, match="8 times in a row: try again"):
        land(Store(store.table, client, sleep=pauses.append), add_one)
    assert (client.times, len(pauses)) == (0, ATTEMPTS_MAX - 1)
    assert max(pauses) < 4


def test_what_another_attempt_would_not_mend_is_raised(store: Store) -> None:
    client = Conflicts(store._client, 1, "ValidationError")
    with pytest.raises(TransactionFailed, match="ValidationError, told so"):
        land(Store(store.table, client, sleep=lambda _: pytest.fail("there was a pause")), add_one)


def test_what_a_write_says_is_raised_with_what_is_stored(store: Store) -> None:
    def work(transaction: TransactionWrites) -> None:
        transaction.update(
            Ref(Product, id="P1"),
            Product.stock.add(1),
            when=Product.list_price == Decimal(1),
            otherwise=lambda stored: RuntimeError(f"it costs {stored.list_price}"),
        )

    with pytest.raises(RuntimeError, match=r"it costs 9\.99"):
        land(store, work)

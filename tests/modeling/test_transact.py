"""Read, decide, write, and again: what a transaction's failure means to a program."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.modeling.shop import Customer, Product, shop
from tests.modeling.test_transactions import ServiceError
from torusdb.modeling import AsyncStore, Contention, PlanRefused, Ref, Store, TransactionFailed, TransactionWrites


class OutOfStock(Exception):
    def __init__(self, stored: Product | None) -> None:
        super().__init__(f"there are {0 if stored is None else stored.stock}")


class Conflicts:
    """A client whose transactions fail so many times with these codes."""

    def __init__(self, client: Any, times: int, *codes: str) -> None:
        self.client, self.times, self.codes = client, times, codes or ("TransactionConflict",)
        self.asked = 0

    def __getattr__(self, method: str) -> Any:
        if method == "transact_write_items":
            self.asked += 1
            if self.asked <= self.times:
                return self._fail
        return getattr(self.client, method)

    def _fail(self, **_: Any) -> Any:
        raise ServiceError("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in self.codes])


def take(transaction: TransactionWrites) -> str:
    book = Ref(Product, code="b")
    transaction.update(book, Product.stock.add(-2), when=Product.stock >= 2, otherwise=OutOfStock)
    return "taken"


@pytest.fixture
def stocked(store: Store) -> Store:
    store.insert(Product(code="b", name="Book", shelf=3, stock=3))
    return store


def test_a_write_says_what_its_failure_means(stocked: Store) -> None:
    assert stocked.transact(take) == "taken"
    with pytest.raises(OutOfStock, match="there are 1") as caught:
        stocked.transact(take)
    assert isinstance(caught.value.__cause__, TransactionFailed)

    def take_one_by_one() -> None:
        with stocked.transaction() as transaction:
            take(transaction)

    with pytest.raises(OutOfStock, match="there are 1"):
        take_one_by_one()
    gone = LookupError("no such customer")

    def greet(transaction: TransactionWrites) -> None:
        transaction.put(Customer(id="1"))
        transaction.check(Ref(Customer, id="2"), Customer.id.exists(), otherwise=gone)

    with pytest.raises(LookupError) as found:
        stocked.transact(greet)
    assert found.value is gone
    assert stocked.get(Customer, id="1") is None


def test_of_several_failures_the_first_that_says_something_speaks(stocked: Store) -> None:
    stocked.put(Customer(id="1"))

    def change(transaction: TransactionWrites) -> None:
        transaction.insert(Customer(id="1"))
        transaction.check(Ref(Customer, id="2"), Customer.id.exists(), otherwise=ValueError("second"))
        transaction.update(Ref(Customer, id="3"), Customer.name.set("x"), otherwise=ValueError("third"))

    with pytest.raises(ValueError, match="second"):
        stocked.transact(change)


@pytest.mark.parametrize("code", ["TransactionConflict", "ConditionalCheckFailed"])
def test_what_may_pass_is_tried_again_after_longer_and_longer_pauses(stocked: Store, code: str) -> None:
    pauses: list[float] = []
    client = Conflicts(stocked._client, 3, "None", code)
    store = Store(shop, client, sleep=pauses.append, random=lambda: 1.0)
    read = []

    def rename(transaction: TransactionWrites) -> Product | None:
        book = store.get(Product, code="b", consistent=True)
        read.append(book)
        assert book is not None
        transaction.check(Ref(Customer, id="1"), Customer.id.missing())
        transaction.update(book, Product.name.set("Novel"))
        return book

    assert store.transact(rename) is read[-1]
    assert (len(read), client.asked, pauses) == (4, 4, [0.05, 0.1, 0.2])
    assert stocked.get(Product, code="b").name == "Novel"  # type: ignore[union-attr]


def test_it_is_given_up_after_a_while(stocked: Store) -> None:
    client = Conflicts(stocked._client, 99)
    store = Store(shop, client, sleep=lambda _: None)
    with pytest.raises(Contention, match=r"^In 3 attempts others were faster, the last time: .*TransactionConflict"):
        store.transact(take, attempts_max=3)
    assert client.asked == 3
    with pytest.raises(PlanRefused, match="needs 1 attempt at least, not 0"):
        store.transact(take, attempts_max=0)


def test_what_another_attempt_would_not_mend_is_raised_at_once(stocked: Store) -> None:
    def take_and_greet(transaction: TransactionWrites) -> None:
        take(transaction)
        transaction.put(Customer(id="1"))

    for codes in (["ValidationError"], ["ThrottlingError"], ["TransactionConflict", "ItemCollectionSizeLimitExceeded"]):
        client = Conflicts(stocked._client, 99, *codes)
        with pytest.raises(TransactionFailed) as caught:
            Store(shop, client, sleep=lambda _: pytest.fail("there was a pause")).transact(take_and_greet)
        assert (type(caught.value), client.asked) == (TransactionFailed, 1)

    def refuse(transaction: TransactionWrites) -> None:
        take(transaction)
        raise LookupError("nothing to do")

    client = Conflicts(stocked._client, 99)
    with pytest.raises(LookupError):
        Store(shop, client).transact(refuse)
    assert client.asked == 0


def test_asynchronous_changes() -> None:
    asked: list[dict[str, Any]] = []

    class Client:
        async def get_item(self, **_: Any) -> dict[str, Any]:
            return {}

        async def transact_write_items(self, **parameters: Any) -> dict[str, Any]:
            asked.append(parameters)
            if len(asked) < 3:
                raise ServiceError(
                    "TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}]
                )
            return {}

    async def no_pause(_: float) -> None:
        pass

    async def run() -> str:
        store = AsyncStore(shop, Client(), sleep=no_pause)

        async def join(transaction: TransactionWrites) -> str:
            assert await store.get(Customer, id="1") is None
            transaction.insert(Customer(id="1"))
            return "joined"

        return await store.transact(join)

    assert asyncio.run(run()) == "joined"
    assert len(asked) == 3

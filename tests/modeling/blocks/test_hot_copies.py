"""Copies of one item for many readers: alike at any moment, and any of them is read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.modeling.blocks.test_sharded_counters import Chance
from tests.modeling.conftest import Recorder
from tests.modeling.test_async import Async
from tests.modeling.test_transactions import ServiceError
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    Entity,
    Key,
    ModelError,
    Scan,
    Store,
    Table,
    TransactionFailed,
    attr,
    version,
)
from torusdb.modeling.blocks.hot_copies import HotCopies

shop = Table("hot-shop", partition_key="pk")


class Prices(Entity, table=shop):
    key = Key("PRICES#{region}#{copy:02}")
    region: Attr[str]
    copy: Attr[int] = attr(default=0)
    tax: Attr[int] = attr(default=0)


@pytest.fixture
def store(direct: Recorder) -> Store:
    made = Store(shop, direct)
    made.create_table()
    return made


def prices(copies: int, *drawn: float) -> HotCopies[Prices]:
    return HotCopies(Prices, Prices.copy, copies=copies, random=Chance(*drawn or (0.0, 0.5, 0.99)))


def stored(store: Store) -> list[tuple[int, int]]:
    return sorted((each.copy, each.tax) for each in store.run(Scan(Prices)))


def test_all_are_written_and_one_is_read(store: Store, direct: Recorder) -> None:
    given = Prices(region="eu", tax=19)
    store.run(prices(4).put(given))
    assert [method for method, _ in direct.requests] == ["transact_write_items"]
    assert stored(store) == [(0, 19), (1, 19), (2, 19), (3, 19)]
    assert given.copy == 0, "what was given is left as it was"
    direct.requests.clear()
    hot = prices(4)
    assert [store.run(hot.get(region="eu")) for _ in range(3)] == [
        Prices(region="eu", tax=19, copy=number) for number in (0, 2, 3)
    ]
    assert [parameters["Key"]["pk"]["S"] for _, parameters in direct.requests] == [
        "PRICES#eu#00",
        "PRICES#eu#02",
        "PRICES#eu#03",
    ]


def test_any_copy_can_be_written_back(store: Store) -> None:
    hot = prices(3)
    store.run(hot.put(Prices(region="eu", copy=2, tax=7)))
    assert stored(store) == [(0, 7), (1, 7), (2, 7)]


def test_all_are_changed_and_deleted(store: Store) -> None:
    hot = prices(3)
    store.run(hot.put(Prices(region="eu")))
    store.run(hot.update(Prices.tax.set(5), region="eu", when=Prices.tax == 0))
    assert stored(store) == [(0, 5), (1, 5), (2, 5)]
    with pytest.raises(TransactionFailed):
        store.run(hot.update(Prices.tax.set(6), region="eu", when=Prices.tax == 0))
    with pytest.raises(TransactionFailed):
        store.run(hot.put(Prices(region="eu", tax=6), when=Prices.tax == 0))
    assert stored(store) == [(0, 5), (1, 5), (2, 5)]
    store.run(hot.delete(region="eu"))
    assert stored(store) == []
    assert store.run(hot.get(region="eu")) is None


def test_there_may_be_more_copies_later(store: Store, direct: Recorder) -> None:
    store.run(prices(2).put(Prices(region="eu", tax=1)))
    more = prices(10, 0.99)
    direct.requests.clear()
    assert store.run(more.get(region="eu")) == Prices(region="eu", tax=1, copy=0)
    assert len(direct.requests) == 2
    with pytest.raises(TransactionFailed):
        store.run(more.update(Prices.tax.set(2), region="eu"))
    store.run(more.put(Prices(region="eu", tax=2)))
    assert len(stored(store)) == 10
    assert store.run(more.get(region="eu")) == Prices(region="eu", tax=2, copy=9)


def test_a_write_that_meets_another_is_attempted_again(direct: Recorder, store: Store) -> None:
    class Meeting:
        left = 0

        def transact_write_items(self, **parameters: Any) -> Any:
            if self.left:
                self.left -= 1
                reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
                raise ServiceError("TransactionCanceledException", CancellationReasons=reasons)
            return direct.transact_write_items(**parameters)

    pauses: list[float] = []
    client = Meeting()
    meeting = Store(shop, client, sleep=pauses.append)
    for task in (
        prices(2).put(Prices(region="eu", tax=1)),
        prices(2).update(Prices.tax.set(2), region="eu"),
    ):
        client.left = 2
        meeting.run(task)
    assert len(pauses) == 4
    assert stored(store) == [(0, 2), (1, 2)]


def test_an_asynchronous_store_does_the_same(db: Database, store: Store) -> None:
    async def run() -> Prices | None:
        asynchronous = AsyncStore(shop, Async(db))
        await asynchronous.run(prices(2).put(Prices(region="eu", tax=3)))
        return await asynchronous.run(prices(2, 0.9).get(region="eu"))

    assert asyncio.run(run()) == Prices(region="eu", tax=3, copy=1)


def test_what_cannot_work_is_refused() -> None:
    class Versioned(Entity, table=shop):
        key = Key("VERSIONED#{copy}")
        copy: Attr[int]
        revision: Attr[int] = version()

    with pytest.raises(ModelError, match=r"^Versioned has a version, which each copy would count for itself: leave"):
        HotCopies(Versioned, Versioned.copy, copies=2)
    with pytest.raises(ModelError, match=r"^Prices takes 2 to 100 copies, not 101$"):
        prices(101)

"""An item that is kept for a while, and writes that hold only with the version that was read."""

from __future__ import annotations

import asyncio

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.test_async import Async
from torusdb import Database
from torusdb.modeling import AsyncStore, Attr, Entity, Key, ModelError, Store, Table, TransactionFailed, attr, version
from torusdb.modeling.blocks.cached_items import CachedItem

shop = Table("settings-shop", partition_key="pk")


class Settings(Entity, table=shop):
    key = Key("SETTINGS")
    discount: Attr[int] = attr(default=0)
    revision: Attr[int] = version()


class Order(Entity, table=shop):
    key = Key("ORDER#{id}")
    id: Attr[str]


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def store(direct: Recorder) -> Store:
    made = Store(shop, direct)
    made.create_table()
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(clock: Clock) -> CachedItem[Settings]:
    return CachedItem(Settings, seconds=30, clock=clock)


def discount(store: Store, settings: CachedItem[Settings]) -> int | None:
    found = store.run(settings.get())
    return None if found is None else found.discount


def test_it_is_read_once_within_its_age(
    store: Store, direct: Recorder, settings: CachedItem[Settings], clock: Clock
) -> None:
    kept = Settings(discount=5)
    store.put(kept)
    direct.requests.clear()
    assert [discount(store, settings) for _ in range(3)] == [5, 5, 5]
    assert len(direct.requests) == 1
    assert direct.requests[0][1]["ConsistentRead"]
    store.update(kept, Settings.discount.set(6))
    clock.seconds += 29.9
    assert discount(store, settings) == 5
    clock.seconds += 0.1
    assert discount(store, settings) == 6


def test_that_there_is_none_is_kept_too(store: Store, settings: CachedItem[Settings]) -> None:
    assert discount(store, settings) is None
    store.put(Settings(discount=5))
    assert discount(store, settings) is None
    settings.forget()
    assert discount(store, settings) == 5


def test_a_clock_that_goes_back_has_it_read_again(
    store: Store, direct: Recorder, settings: CachedItem[Settings], clock: Clock
) -> None:
    discount(store, settings)
    clock.seconds -= 1
    discount(store, settings)
    assert len(direct.requests) == 2


def test_what_it_gives_is_a_copy(store: Store, settings: CachedItem[Settings]) -> None:
    store.put(Settings(discount=5))
    mine = store.run(settings.get())
    assert mine is not None
    mine.discount = 99
    assert discount(store, settings) == 5


def test_a_write_that_relies_on_it_is_refused_once_it_has_changed(store: Store, settings: CachedItem[Settings]) -> None:
    store.put(Settings(discount=5))
    read = store.run(settings.get())
    assert read is not None

    def order(name: str) -> None:
        with store.transaction() as transaction:
            transaction.insert(Order(id=name))
            transaction.add(settings.unchanged(read))

    order("1")
    current = store.get(Settings)
    assert current is not None
    store.update(current, Settings.discount.set(6))
    with pytest.raises(TransactionFailed):
        order("2")
    assert store.get(Order, id="2") is None


def test_an_asynchronous_store_does_the_same(db: Database, store: Store, settings: CachedItem[Settings]) -> None:
    store.put(Settings(discount=5))
    asked = Async(db)

    async def run() -> list[Settings | None]:
        asynchronous = AsyncStore(shop, asked)
        return [await asynchronous.run(settings.get()) for _ in range(2)]

    first, second = asyncio.run(run())
    assert first == second == store.get(Settings)
    assert len(asked.requests) == 1


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(ModelError, match=r"^Settings would be kept for 0 seconds: give more than none$"):
        CachedItem(Settings, seconds=0)
    with pytest.raises(ModelError, match=r"^Order has no version to ask for: declare an Attr\[int\] = version\(\)$"):
        CachedItem(Order, seconds=1, id="1").unchanged(Order(id="1"))

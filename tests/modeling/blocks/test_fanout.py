"""Several handlers behind one reader: each gets everything, and no other one's failures."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from tests.modeling.blocks.orders import TIME, Noting, Order, Reader, change, market, notes
from tests.modeling.blocks.schedules import Awaited, Running
from tests.modeling.conftest import Recorder
from torusdb.modeling import AsyncStore, Change, ModelError, Store
from torusdb.modeling.blocks.fanout import PROGRESS_KEPT, FanOut
from torusdb.modeling.plans import ref_of

broken: set[int] = set()
"""Orders that the handler "mail" cannot handle."""

both = FanOut(
    Reader,
    {
        "mail": lambda changes: Noting("mail", changes, broken),
        "search": lambda changes: Noting("search", changes),
    },
)


@pytest.fixture
def market_store(client: Recorder) -> Store:
    broken.clear()
    made = Store(market, client, now=lambda: TIME)
    made.create_table()
    client.requests.clear()
    return made


def batch(*positions: int) -> list[Change[Any]]:
    """In which each change is of an order of its own."""
    return [change(each, each, Order(number=each, seller="a", total=1)) for each in positions]


def test_each_handler_is_given_everything_once(market_store: Store) -> None:
    assert market_store.run(both.deliver("s", batch(1, 2))) == {"mail": 2, "search": 2}
    assert market_store.run(both.deliver("s", batch(1, 2))) == {"mail": 0, "search": 0}
    assert market_store.run(both.deliver("s", batch(2, 3))) == {"mail": 1, "search": 1}
    assert notes(market_store, "mail") == notes(market_store, "search") == {1: 1, 2: 1, 3: 1}


def test_one_that_fails_holds_no_other_back_and_goes_on_alone(market_store: Store) -> None:
    broken.add(2)
    with pytest.raises(ExceptionGroup, match="mail failed with a batch") as caught:
        market_store.run(both.deliver("s", batch(1, 2)))
    (failure,) = caught.value.exceptions
    assert str(failure) == "no 2 here"
    assert failure.__notes__ == ["(in the handler 'mail', in the shard s)"]
    assert notes(market_store, "search") == {1: 1, 2: 1}
    broken.clear()
    assert market_store.run(both.deliver("s", batch(1, 2, 3))) == {"mail": 3, "search": 1}
    assert notes(market_store, "search") == {1: 1, 2: 1, 3: 1}
    assert notes(market_store, "mail") == {1: 2, 2: 1, 3: 1}  # the first had been handled when the second failed


def test_shards_are_apart(market_store: Store) -> None:
    """A number of one shard says nothing of another, whichever is read first."""
    market_store.run(both.deliver("s", batch(5)))
    assert market_store.run(both.deliver("t", batch(3))) == {"mail": 1, "search": 1}


@pytest.mark.parametrize("seed", range(20))
def test_workers_that_die_anywhere_leave_nothing_out(market_store: Store, seed: int) -> None:
    random = Random(seed)
    batches = [batch(1, 2, 3), batch(4), batch(5, 6)]
    while batches:
        now = Running(market_store, both.deliver("s", batches[0]))
        while not now.over and random.random() > 0.1:
            now.advance()
        if now.over:
            assert now.error is None
            batches.pop(0)
        else:
            now.crash(done=random.random() < 0.5)
    for handler in ("mail", "search"):
        assert notes(market_store, handler).keys() == {1, 2, 3, 4, 5, 6}


def test_one_that_stood_still_puts_no_progress_back(market_store: Store) -> None:
    slow = Running(market_store, both.deliver("s", batch(1, 2)))
    slow.advance()  # it has read that nobody has had anything yet
    market_store.run(both.deliver("s", batch(1, 2, 3)))
    assert slow.finish().result == {"mail": 2, "search": 2}
    assert market_store.run(both.deliver("s", batch(1, 2, 3))) == {"mail": 0, "search": 0}


def test_its_own_records_and_empty_batches_ask_for_nothing(market_store: Store, client: Recorder) -> None:
    own = Reader(handler="mail", shard="s", position="1", until=None)
    record = Change("modify", ref_of(own), None, own, False, "7", "7", None)
    assert market_store.run(both.deliver("s", [record])) == market_store.run(both.deliver("s", [])) == {}
    assert client.requests == []


def test_progress_expires_after_its_shard(market_store: Store) -> None:
    market_store.run(both.deliver("s", batch(1)))
    progress = market_store.get(Reader, handler="mail", shard="s")
    assert progress is not None
    assert progress.until == TIME + PROGRESS_KEPT
    assert timedelta(days=1) < PROGRESS_KEPT


def test_an_asynchronous_store_does_the_same(market_store: Store, client: Recorder) -> None:
    async def run() -> dict[str, int]:
        return await AsyncStore(market, Awaited(client), now=lambda: TIME).run(both.deliver("s", batch(1)))

    assert asyncio.run(run()) == {"mail": 1, "search": 1}
    assert notes(market_store, "mail") == {1: 1}
    assert market_store.get(Reader, handler="search", shard="s") is not None


def test_a_fan_out_without_handlers_is_refused() -> None:
    with pytest.raises(ModelError, match="A fan-out has one handler at least"):
        FanOut(Reader, {})

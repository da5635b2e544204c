"""One leads at a time, each time for a higher term; who leads is known to others. That no two lead is the lock's."""

from __future__ import annotations

import asyncio

import pytest

from tests.modeling.blocks.locks.simulation import Effect, jobs
from tests.modeling.blocks.locks.support import Clock, locks
from tests.modeling.test_async import Async
from torusdb import Database
from torusdb.modeling import AsyncStore, Store, TransactionFailed
from torusdb.modeling.blocks.elections import Election, Leader
from torusdb.modeling.blocks.holding import hold
from torusdb.modeling.blocks.locks import Held, LockBusy


def candidate(name: str, clock: Clock) -> Election:
    return Election(locks(name, clock), "scheduler")


@pytest.fixture
def ann(clock: Clock) -> Election:
    return candidate("ann", clock)


@pytest.fixture
def bob(clock: Clock) -> Election:
    return candidate("bob", clock)


def write(store: Store, term: Held) -> None:
    with store.transaction() as transaction:
        transaction.add(term.check())
        transaction.put(Effect(name="x", number=1, token=term.token))


def test_one_leads_and_another_after_it_has_resigned(store: Store, ann: Election, bob: Election) -> None:
    observer = candidate("nobody", Clock())
    assert store.run(observer.leader()) is None
    with hold(store, ann.stand()) as term:
        assert store.run(observer.leader()) == Leader("ann", 1, False)
        assert store.run(bob.try_to_lead()) is None
        with pytest.raises(LockBusy):
            store.run(bob.stand(wait_seconds=3))
        write(store, term)
    assert store.run(observer.leader()) is None
    with hold(store, bob.stand()) as term:
        assert term.token == 2
        assert store.run(observer.leader()) == Leader("bob", 2, False)


def test_a_leader_that_died_is_seen_to_be_silent_and_followed(
    store: Store, clock: Clock, ann: Election, bob: Election
) -> None:
    late = store.run(ann.stand())
    observer = candidate("nobody", clock)
    assert store.run(observer.leader()) == Leader("ann", 1, False)
    check = late.check()
    assert store.run(bob.stand()).token == 2
    clock.seconds += 30
    assert store.run(observer.leader()) == Leader("bob", 2, False)  # first seen just now
    clock.seconds += 30
    assert store.run(observer.leader()) == Leader("bob", 2, True)
    with pytest.raises(TransactionFailed), store.transaction() as transaction:
        transaction.add(check)


def test_a_leader_with_heartbeats_is_not_silent(store: Store, clock: Clock, ann: Election) -> None:
    term = store.run(ann.stand())
    observer = candidate("nobody", clock)
    for _ in range(9):
        assert store.run(observer.leader()) == Leader("ann", 1, False)
        clock.seconds += 10
        assert store.run(term.beat())


def test_offices_are_apart(store: Store, clock: Clock, ann: Election) -> None:
    assert store.run(ann.stand()).token == 1
    assert store.run(Election(locks("ann", clock), "other").stand()).token == 1


def test_an_asynchronous_store_does_the_same(db: Database, store: Store, ann: Election, bob: Election) -> None:
    async def run() -> Leader | None:
        other = AsyncStore(jobs, Async(db))
        async with hold(other, ann.stand()):
            return await other.run(bob.leader())

    assert asyncio.run(run()) == Leader("ann", 1, False)

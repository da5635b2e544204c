"""Locks held for as long as a block runs: heartbeats beside it, which end with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import Queue
from typing import Any

import pytest

from tests.modeling.blocks.locks.simulation import Lock, jobs
from tests.modeling.blocks.locks.support import Clock, Flaky, locks, taken
from tests.modeling.test_async import Async
from torusdb import Database
from torusdb.modeling import AsyncStore, Ref, Store
from torusdb.modeling.blocks.holding import hold
from torusdb.modeling.blocks.locks import LockLost, Locks

SECONDS_MAX = 10
"""For what another thread does at once."""


class Waits:
    """How the heartbeats wait: so many times not at all, then until the block ends. `before` is called each time."""

    def __init__(self, beats: int, before: Callable[[], None] = lambda: None) -> None:
        self.left = beats
        self.before = before
        self.asked: Queue[float] = Queue()

    def __call__(self, stop: threading.Event, seconds: float) -> bool:
        self.before()
        self.left -= 1
        self.asked.put(seconds)
        return stop.wait(SECONDS_MAX) if self.left < 0 else stop.is_set()

    def until(self, times: int) -> list[float]:
        return [self.asked.get(timeout=SECONDS_MAX) for _ in range(times)]


def stored(store: Store) -> Lock:
    item = store.get(Lock, name="r")
    assert item is not None
    return item


def beating() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "heartbeats of the lock r"]


def test_it_is_held_with_heartbeats_and_let_go_of(store: Store, ann: Locks) -> None:
    waits = Waits(3)
    with hold(store, ann.acquire("r"), wait=waits) as held:
        assert waits.until(4) == [10] * 4
        assert held.is_held
        assert (stored(store).beats, stored(store).claim) == (3, held.claim)
        assert len(beating()) == 1
    assert not held.is_held
    assert stored(store).claim is None
    assert beating() == []


def test_others_do_not_get_it_meanwhile_and_then_do(store: Store, clock: Clock, ann: Locks) -> None:
    bob = locks("bob", clock)
    with hold(store, ann.acquire("r")), hold(store, bob.try_acquire("r")) as other:
        assert other is None
    with hold(store, bob.try_acquire("r")) as other:
        assert other is not None
        assert other.token == 2
    assert beating() == []


def test_one_can_be_used_again(store: Store, ann: Locks) -> None:
    waits = Waits(1)
    holding = hold(store, ann.acquire("r"), wait=waits)
    for token in (1, 2):
        with holding as held:
            assert held.token == token
            waits.until(2)
            assert stored(store).beats == 1
        waits.left = 1


def test_what_the_block_raises_is_raised_and_it_is_let_go_of(store: Store, ann: Locks) -> None:
    with pytest.raises(ZeroDivisionError), hold(store, ann.acquire("r")):
        1 / 0  # noqa: B018
    assert stored(store).claim is None
    assert beating() == []


def test_heartbeats_that_get_through_no_more_are_told(store: Store, clock: Clock, flaky: Flaky, ann: Locks) -> None:
    told: list[Exception] = []
    ann.on_failure = told.append

    def before() -> None:
        flaky.lose = "request"
        clock.seconds += 10

    holding = hold(store, ann.acquire("r"), wait=Waits(99, before))
    with pytest.raises(LockLost, match="its lease has ended") as caught, holding as held:  # noqa: PT012
        for thread in beating():
            thread.join(SECONDS_MAX)  # they end by themselves
        assert not held.is_held
        flaky.lose = None
    assert [type(each) for each in told] == [ConnectionError, ConnectionError, LockLost]
    assert caught.value is told[-1]
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert stored(store).claim is None  # nobody else had taken it


def test_who_has_taken_it_keeps_it(store: Store, ann: Locks) -> None:
    holding = hold(store, ann.acquire("r"))
    with pytest.raises(LockLost, match=r"is lost: bob has it, with token 2$"), holding as held:  # noqa: PT012
        own = Clock()
        bob = locks("bob", own)
        store.run(bob.try_acquire("r"))
        own.seconds += 30
        other = taken(store, bob)
        assert held.is_held
    assert stored(store).claim == other.claim


def test_a_block_that_fails_with_its_lock_lost_tells_what_it_failed_of(
    store: Store, clock: Clock, ann: Locks, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ZeroDivisionError), hold(store, ann.acquire("r")):  # noqa: PT012
        clock.seconds += 29
        1 / 0  # noqa: B018
    assert "its lease has ended" in caplog.text


@pytest.mark.parametrize("fails", [False, True])
def test_a_release_that_fails_is_told(
    store: Store, flaky: Flaky, ann: Locks, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    with pytest.raises(ZeroDivisionError if fails else ConnectionError), hold(store, ann.acquire("r")) as held:  # noqa: PT012
        flaky.lose = "request"
        if fails:
            1 / 0  # noqa: B018
    assert ("The lock 'r' could not be let go of: ConnectionError('lost')" in caplog.text) == fails
    assert not held.is_held
    assert beating() == []


def test_a_lock_that_is_not_got_leaves_no_thread(store: Store, flaky: Flaky, ann: Locks) -> None:
    flaky.lose = "request"
    with pytest.raises(ConnectionError), hold(store, ann.acquire("r")):
        pass
    assert beating() == []


def test_many_threads_want_one_lock(db: Database, store: Store) -> None:
    """On real clocks: each has it in turn, and none beside another."""
    store = Store(jobs, db.direct_client())
    inside = []
    tokens = []

    def work(number: int) -> None:
        own = Locks(Lock, holder=str(number), lease_seconds=60, poll_seconds=0.001)
        with hold(store, own.acquire("r")) as held:
            inside.append(number)
            tokens.append(held.token)
            assert inside == [number]
            inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS_MAX)
    assert tokens == list(range(1, 9))


# -- the same without threads


async def ready() -> None:
    """Lets all that can go on do so."""
    for _ in range(20):
        await asyncio.sleep(0)


class Sleeps:
    def __init__(self, times: int, before: Callable[[], None] = lambda: None) -> None:
        self.left = times
        self.before = before

    async def __call__(self, seconds: float) -> None:
        self.before()
        self.left -= 1
        await asyncio.sleep(0 if self.left >= 0 else 3600)


def run(db: Database, test: Callable[[AsyncStore], Any]) -> None:
    async def outer() -> None:
        await test(AsyncStore(jobs, Async(db)))
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(outer())


def test_async_it_is_held_with_heartbeats_and_let_go_of(db: Database, store: Store, ann: Locks) -> None:
    async def test(other: AsyncStore) -> None:
        async with hold(other, ann.acquire("r"), sleep=Sleeps(3)) as held:
            await ready()
            assert held.is_held
            assert (stored(store).beats, stored(store).claim) == (3, held.claim)
            async with hold(other, ann.try_acquire("r")) as second:
                assert second is None
        assert not held.is_held
        assert stored(store).claim is None

    run(db, test)


def test_async_a_lost_lock_is_told(db: Database, store: Store, clock: Clock, ann: Locks) -> None:
    told: list[Exception] = []
    ann.on_failure = told.append

    def before() -> None:
        store.delete(Ref(Lock, name="r"))

    async def test(other: AsyncStore) -> None:
        with pytest.raises(LockLost, match="is lost: its item is gone"):  # noqa: PT012
            async with hold(other, ann.acquire("r"), sleep=Sleeps(3, before)) as held:
                await ready()
                assert not held.is_held
        assert [type(each) for each in told] == [LockLost]

    run(db, test)


def test_async_a_block_that_is_cancelled_lets_go(db: Database, store: Store, ann: Locks) -> None:
    async def work(other: AsyncStore) -> None:
        async with hold(other, ann.acquire("r")):
            await asyncio.sleep(3600)

    async def test(other: AsyncStore) -> None:
        task = asyncio.create_task(work(other))
        await ready()
        assert stored(store).claim is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert stored(store).claim is None

    run(db, test)

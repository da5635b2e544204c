"""Requests of locks that are lost, late or done twice, and answers that never come."""

from __future__ import annotations

import pytest

from tests.modeling.blocks.locks.simulation import Effect
from tests.modeling.blocks.locks.support import Clock, Flaky, Writes, finished, taken, write
from torusdb.errors import ServiceError
from torusdb.modeling import (
    Put,
    Store,
    TransactionFailed,
)
from torusdb.modeling.blocks.locks import (
    LockLost,
    Locks,
)


def test_a_claim_whose_answer_was_lost_frees_itself(store: Store, clock: Clock, flaky: Flaky, ann: Locks) -> None:
    flaky.lose = "answer"
    with pytest.raises(ConnectionError):
        store.run(ann.acquire("r"))
    begun = clock.seconds
    assert store.run(ann.acquire("r")).token == 2
    assert clock.seconds - begun == 30


def test_a_claim_that_is_sent_twice_is_ours(store: Store, ann: Locks) -> None:
    """As by a client that tries again, and is refused for what it has done."""
    work = ann.try_acquire("r").work(store._context)
    step = next(work)
    store._do(step)
    with pytest.raises(ServiceError) as refused:
        store._do(step)
    held = finished(store, work, work.throw(refused.value))
    assert (held.token, held.is_held) == (2, True)
    write(store, held)


def test_a_claim_that_arrives_late_gives_nobody_a_second_lock(store: Store, ann: Locks, bob: Locks) -> None:
    work = ann.try_acquire("r").work(store._context)
    claim = next(work)
    held = finished(store, work, claim)
    check = held.check()
    store.run(held.release())
    store._do(claim)  # again
    assert store.run(bob.try_acquire("r")) is None
    with pytest.raises(TransactionFailed):
        store.run(Writes([check, Put(Effect(name="r", number=1, token=1))]))


def test_a_release_that_is_done_twice_is_done(store: Store, flaky: Flaky, ann: Locks, bob: Locks) -> None:
    held = taken(store, ann)
    flaky.lose = "answer"
    with pytest.raises(ConnectionError):
        store.run(held.release())
    store.run(held.release())
    other = taken(store, bob)
    with pytest.raises(LockLost, match=r"is lost: bob has it, with token 2$"):
        store.run(held.release())
    assert other.is_held
    write(store, other)


def test_a_lost_lock_is_let_go_of_and_told_as_lost(store: Store, clock: Clock, ann: Locks, bob: Locks) -> None:
    held = taken(store, ann)
    clock.seconds += 29
    with pytest.raises(LockLost, match="its lease has ended before it was renewed"):
        store.run(held.release())
    assert taken(store, bob).token == 2
    with pytest.raises(LockLost, match="its lease has ended before it was renewed"):
        store.run(held.release())


def test_a_lost_lock_that_cannot_be_let_go_of_is_told_as_lost(
    store: Store, clock: Clock, flaky: Flaky, ann: Locks
) -> None:
    held = taken(store, ann)
    clock.seconds += 29
    flaky.lose = "request"
    with pytest.raises(LockLost, match="its lease has ended before it was renewed") as caught:
        store.run(held.release())
    assert caught.value.__notes__ == ["It could not be let go of either: ConnectionError('lost')"]


def test_a_heartbeat_under_way_when_it_is_let_go_of_tells_nothing(store: Store, ann: Locks) -> None:
    told: list[Exception] = []
    ann.on_failure = told.append
    held = taken(store, ann)
    beating = held.beat().work(store._context)
    step = next(beating)
    store.run(held.release())
    with pytest.raises(ServiceError) as refused:
        store._do(step)
    with pytest.raises(StopIteration) as end:
        beating.throw(refused.value)
    assert (end.value.value, told) == (False, [])

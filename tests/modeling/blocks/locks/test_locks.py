"""Locks: taken, kept, lost and taken over, whatever becomes of requests and clocks. See also the simulation."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest

from tests.modeling.blocks.locks.simulation import Effect, Lock, Report, jobs
from tests.modeling.blocks.locks.support import Clock, Flaky, Writes, finished, locks, taken, write
from tests.modeling.test_async import Async
from tests.modeling.test_transactions import ServiceError as ClientError
from torusdb import Database
from torusdb.errors import ServiceError
from torusdb.modeling import (
    AsyncStore,
    Attr,
    ConditionFailed,
    Key,
    ModelError,
    Put,
    Ref,
    Store,
    Table,
    TransactionFailed,
    ttl,
)
from torusdb.modeling.blocks.locks import (
    SIGHTINGS_MAX,
    Held,
    LockBusy,
    LockItem,
    LockLost,
    Locks,
    Seen,
    Sightings,
)
from torusdb.modeling.steps import Pause


def test_one_has_it_and_others_do_not(store: Store, flaky: Flaky, ann: Locks, bob: Locks) -> None:
    held = taken(store, ann)
    assert (held.name, held.token, held.is_held) == ("r", 1, True)
    assert store.run(bob.try_acquire("r")) is None
    assert taken(store, bob, "other").token == 1
    assert flaky.requests == ["update_item"] * 3
    assert repr(held) == "<lock 'r', token 1, held>"


def test_even_who_has_it_does_not_get_it_again(store: Store, ann: Locks) -> None:
    taken(store, ann)
    assert store.run(ann.try_acquire("r")) is None


def test_what_is_let_go_of_is_free_and_tokens_go_on(store: Store, ann: Locks, bob: Locks) -> None:
    held = taken(store, ann)
    store.run(held.release())
    assert not held.is_held
    assert store.run(bob.look("r")) is None
    other = taken(store, bob)
    assert other.token == 2
    store.run(other.release())
    assert taken(store, ann).token == 3


def test_who_waits_gets_it_after_a_lease_with_no_heartbeat(store: Store, clock: Clock, ann: Locks, bob: Locks) -> None:
    taken(store, ann)
    clock.seconds += 25  # nobody has looked yet: of these, bob knows nothing
    begun = clock.seconds
    other = store.run(bob.acquire("r"))
    assert (other.token, clock.seconds - begun) == (2, 30)


def test_a_heartbeat_makes_who_waits_begin_again(store: Store, clock: Clock, ann: Locks, bob: Locks) -> None:
    held = taken(store, ann)
    assert store.run(bob.try_acquire("r")) is None
    for _ in range(10):
        assert held.seconds_to_beat() == 10
        clock.seconds += 10
        assert store.run(held.beat())
        assert store.run(bob.try_acquire("r")) is None
    clock.seconds += 29.9
    assert store.run(bob.try_acquire("r")) is None
    clock.seconds += 0.1
    assert taken(store, bob).token == 2


def test_tries_far_apart_take_over(store: Store, clock: Clock, ann: Locks, bob: Locks) -> None:
    taken(store, ann)
    assert store.run(bob.try_acquire("r")) is None
    clock.seconds += 3600
    assert taken(store, bob).token == 2


def test_it_is_the_holders_lease_that_is_waited_for(store: Store, clock: Clock, bob: Locks) -> None:
    taken(store, Locks(Lock, lease_seconds=100, now=clock))
    begun = clock.seconds
    store.run(bob.acquire("r"))
    assert clock.seconds - begun == 100


def test_who_waits_has_enough_of_it(store: Store, clock: Clock, flaky: Flaky, ann: Locks, bob: Locks) -> None:
    taken(store, ann)
    begun = clock.seconds
    with pytest.raises(LockBusy, match=r"^The lock 'r' was held by ann for 2\.5 s$") as caught:
        store.run(bob.acquire("r", wait_seconds=2.5))
    assert clock.seconds - begun == 2.5
    assert caught.value.seen == Seen("r", "ann", 1, 2.5, False)
    assert flaky.requests == ["update_item"] * 2 + ["get_item"] * 3


def test_what_is_let_go_of_meanwhile_is_got(store: Store, clock: Clock, ann: Locks, bob: Locks) -> None:
    held = taken(store, ann)
    work = bob.acquire("r").work(store._context)
    step = next(work)
    with pytest.raises(ServiceError) as refused:
        store._do(step)
    assert work.throw(refused.value) == Pause(1)
    store.run(held.release())
    assert finished(store, work, work.send(None)).token == 2


def test_a_try_that_meets_a_transaction_finds_it_busy(store: Store, flaky: Flaky, ann: Locks, bob: Locks) -> None:
    held = taken(store, ann)
    flaky.conflicts = 1
    assert store.run(bob.try_acquire("r")) is None
    flaky.conflicts = 1
    assert store.run(held.beat())
    assert isinstance(held.last_failure, ClientError)
    store.run(held.release())
    flaky.conflicts = 1
    assert store.run(bob.acquire("r", wait_seconds=5)).token == 2


# -- what a holder knows


def test_it_is_not_held_from_before_the_lease_ends(store: Store, clock: Clock, ann: Locks, bob: Locks) -> None:
    told: list[Exception] = []
    ann.on_failure = told.append
    held = taken(store, ann)
    assert store.run(bob.try_acquire("r")) is None
    clock.seconds += 28.4
    assert held.is_held
    assert 0 < held.seconds_left < 0.2
    clock.seconds += 0.2
    assert store.run(bob.try_acquire("r")) is None
    assert (held.is_held, held.seconds_left) == (False, 0)
    message = "The lock 'r', token 1, is lost: its lease has ended before it was renewed"
    assert [str(each) for each in told] == [message]
    for use in (held.require, held.check, lambda: held.fence(Report.fence)):
        with pytest.raises(LockLost, match=f"^{message}$"):
            use()
    assert not store.run(held.beat())
    assert len(told) == 1


def test_a_lease_counts_from_before_its_request(store: Store, clock: Clock, ann: Locks) -> None:
    work = ann.try_acquire("r").work(store._context)
    step = next(work)
    clock.seconds += 20  # the request takes its time
    held = finished(store, work, step)
    assert held.seconds_left == pytest.approx(8.5)
    beating = held.beat().work(store._context)
    step = next(beating)
    clock.seconds += 8
    assert finished(store, beating, step)
    assert held.seconds_left == pytest.approx(20.5)


@pytest.mark.parametrize("lose", ["request", "answer"])
def test_failed_heartbeats_are_told_and_sent_again_sooner(
    store: Store, clock: Clock, flaky: Flaky, ann: Locks, lose: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Exception] = []
    ann.on_failure = told.append
    held = taken(store, ann)
    clock.seconds += 10
    flaky.lose = lose
    assert store.run(held.beat())
    assert [type(each) for each in told] == [ConnectionError]
    assert held.last_failure is told[0]
    assert "A heartbeat of the lock 'r' failed: ConnectionError('lost')" in caplog.text
    assert held.seconds_to_beat() == pytest.approx(30 / 9)
    clock.seconds += 4
    assert store.run(held.beat())
    assert held.last_failure is None
    assert held.seconds_left == pytest.approx(28.5)


def test_heartbeats_that_fail_to_the_end_are_the_cause_of_the_loss(
    store: Store, clock: Clock, flaky: Flaky, ann: Locks
) -> None:
    held = taken(store, ann)
    while held.is_held:
        flaky.lose = "request"
        store.run(held.beat())
        clock.seconds += held.seconds_to_beat()
    with pytest.raises(LockLost) as caught:
        held.require()
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_callback_that_fails_stops_no_heartbeats(
    store: Store, clock: Clock, flaky: Flaky, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Exception) -> None:
        raise RuntimeError("so what")

    held = taken(store, locks("ann", clock, on_failure=fail))
    flaky.lose = "request"
    assert store.run(held.beat())
    assert "so what" in caplog.text


def test_a_heartbeat_hears_of_who_has_taken_over(store: Store, clock: Clock, ann: Locks, bob: Locks) -> None:
    held = taken(store, ann)
    clock_of_bob = Clock()
    hasty = locks("bob", clock_of_bob)
    assert store.run(hasty.try_acquire("r")) is None
    clock_of_bob.seconds += 30  # while ann's clock stands still, as it does when a machine is suspended
    taken(store, hasty)
    assert held.is_held
    assert not store.run(held.beat())
    with pytest.raises(LockLost, match=r"is lost: bob has it, with token 2$"):
        held.require()


# -- what the database knows


def stalled(store: Store, ann: Locks) -> tuple[Held, Held]:
    """Ann's clock stands still, and bob has taken over."""
    held = taken(store, ann)
    clock = Clock()
    bob = locks("bob", clock)
    store.run(bob.try_acquire("r"))
    clock.seconds += 30
    return held, taken(store, bob)


def test_the_write_of_a_stalled_holder_is_refused(store: Store, ann: Locks) -> None:
    late, held = stalled(store, ann)
    assert late.is_held
    with pytest.raises(
        TransactionFailed, match=r"ConditionCheck of Ref\(Lock, name='r'\): it is not as the condition wants it"
    ):
        write(store, late)
    assert store.get(Effect, name="r", number=1) is None
    write(store, held)
    assert store.get(Effect, name="r", number=1) == Effect(name="r", number=1, token=2)


def test_a_fence_refuses_who_is_behind_the_last_writer(store: Store, ann: Locks) -> None:
    late, held = stalled(store, ann)
    for each in (late, held, held):  # late is first: what nobody else has written yet, it may write
        store.update(Ref(Report, name="r"), Report.fence.set(each.token), when=each.fence(Report.fence))
    with pytest.raises(ConditionFailed):
        store.update(Ref(Report, name="r"), Report.fence.set(late.token), when=late.fence(Report.fence))
    assert store.get(Report, name="r") == Report(name="r", fence=2)


def test_a_check_fails_once_it_is_let_go_of(store: Store, ann: Locks) -> None:
    held = taken(store, ann)
    check = held.check()
    store.run(held.release())
    with pytest.raises(TransactionFailed):
        store.run(Writes([check, Put(Effect(name="r", number=1, token=1))]))
    with pytest.raises(LockLost, match=r"^The lock 'r' was let go of$"):
        held.check()


def test_with_its_item_deleted_a_stalled_holder_still_does_nothing(store: Store, ann: Locks, bob: Locks) -> None:
    late = taken(store, ann)
    store.delete(Ref(Lock, name="r"))
    assert taken(store, bob).token == late.token  # which is why no item is to be deleted
    with pytest.raises(TransactionFailed):
        write(store, late)
    assert not store.run(late.beat())
    with pytest.raises(LockLost):
        store.run(late.release())


# -- looking, and what is refused


def test_others_see_who_has_it(store: Store, clock: Clock, ann: Locks, bob: Locks) -> None:
    assert store.run(bob.look("r")) is None
    taken(store, ann)
    assert store.run(bob.look("r")) == Seen("r", "ann", 1, 0, False)
    clock.seconds += 30
    assert store.run(bob.look("r")) == Seen("r", "ann", 1, 30, True)


def test_what_was_seen_is_bounded() -> None:
    clock = Clock()
    sightings = Sightings(clock)
    for number in range(SIGHTINGS_MAX + 1):
        assert sightings.still_seconds(Lock(name=str(number), claim="1")) == 0
    clock.seconds += 5
    assert sightings.still_seconds(Lock(name="1", claim="1")) == 5
    assert sightings.still_seconds(Lock(name="0", claim="1")) == 0


def test_an_asynchronous_store_does_the_same(db: Database, store: Store, clock: Clock, ann: Locks, bob: Locks) -> None:
    async def run() -> tuple[bool, Held]:
        async def sleep(seconds: float) -> None:
            clock.seconds += seconds

        other = AsyncStore(jobs, Async(db), sleep=sleep, random=lambda: 1.0)
        held = await other.run(ann.acquire("r"))
        beaten = await other.run(held.beat())
        await other.run(held.release())
        taken(store, ann)
        return beaten, await other.run(bob.acquire("r"))

    beaten, held = asyncio.run(run())
    assert (beaten, held.token) == (True, 3)


def test_what_is_no_lock_is_refused() -> None:
    table = Table("things", partition_key="pk")

    class Other(LockItem, table=table):
        key = Key("LOCK#{name}#{token}")

    class Expiring(LockItem, table=table):
        key = Key("LEASE#{name}")
        until: Attr[datetime] = ttl()

    class Good(LockItem, table=table):
        key = Key("GOOD#{name}")

    with pytest.raises(ModelError, match=r"^Other\.key must be made of name and of nothing else$"):
        Locks(Other)
    with pytest.raises(ModelError, match=r"^Expiring\.until is a TTL: tokens would begin again, so have none$"):
        Locks(Expiring)
    with pytest.raises(ModelError, match=r"^LockItem is in no table: declare class LockItem"):
        Locks(LockItem)
    with pytest.raises(ValueError, match=r"^lease_seconds and poll_seconds are more than 0$"):
        Locks(Good, lease_seconds=0)
    assert Locks(Good).holder


def test_something_else_at_the_key_of_a_lock_is_left(db: Database, store: Store, ann: Locks) -> None:
    key = {"pk": {"S": "LOCK#r"}, "sk": {"S": "LOCK"}}
    db.direct_client().put_item(TableName="jobs", Item={**key, "claim": {"S": "x"}})
    with pytest.raises(ConditionFailed):
        store.run(ann.acquire("r"))

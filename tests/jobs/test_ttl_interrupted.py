"""Time to live while expiring_things happen: between the steps of back-fill and sweep, and where they are cut off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jobs.by_hand import ByHand, JobRun
from tests.jobs.expiring import (
    ITEMS_A_STEP,
    NOW,
    expiries,
    key,
    make_table,
    numbers,
    put,
    require_exact,
    stage,
    switch,
)
from tests.storage.consistency import check_nothing_else
from tests.storage.model_engine import ModelEngine
from torusdb.jobs import tables
from torusdb.jobs.ttl import fill_expiries, sweep
from torusdb.model import keys
from torusdb.storage import driver

pytestmark = pytest.mark.usefixtures("short_steps")


# Back-fill.


def test_items_from_before_expire_as_well(hand: ByHand) -> None:
    make_table(hand)
    for number in range(7):
        put(hand, number, NOW - 1 if number < 5 else NOW + 10)
    switch(hand, True)
    require_exact(hand)
    JobRun(hand, fill_expiries).finish()
    assert len(expiries(hand)) == 7
    require_exact(hand)
    hand.run_jobs()
    assert numbers(hand) == [5, 6]
    require_exact(hand)


@pytest.mark.parametrize("cut_after", range(7))
def test_a_crash_at_every_step_of_the_back_fill_loses_nothing(hand: ByHand, cut_after: int) -> None:
    make_table(hand)
    for number in range(7):
        put(hand, number, NOW + number)
    switch(hand, True)
    run = JobRun(hand, fill_expiries)
    for _ in range(cut_after):
        run.step()
        require_exact(hand)
    hand.reopen()
    require_exact(hand)
    JobRun(hand, fill_expiries).finish()
    require_exact(hand)
    table = hand.table("Things")
    assert table.ttl is not None
    assert not table.ttl.filling
    assert len(expiries(hand)) == 7
    check_nothing_else([table], dict(hand.stored()))


def test_a_back_fill_goes_on_where_it_was(hand: ByHand) -> None:
    make_table(hand)
    for number in range(7):
        put(hand, number, NOW + number)
    switch(hand, True)
    steps = 0
    while len(expiries(hand)) < 7:
        run = JobRun(hand, fill_expiries)
        for _ in range(2):
            steps += run.step()
        hand.reopen()
    # A wait and a page each time.
    assert steps == 2 * 4


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.parametrize("then", ["disabled", "another attribute", "table deleted", "table made anew"])
def test_a_back_fill_that_is_not_wanted_any_more_leaves_nothing(hand: ByHand, steps: int, then: str) -> None:
    make_table(hand)
    for number in range(7):
        put(hand, number, NOW + number, other={"N": str(NOW + 100)})
    switch(hand, True)
    run = JobRun(hand, fill_expiries)
    for _ in range(steps):
        run.step()
    if then in ("disabled", "another attribute"):
        switch(hand, False)
        if then == "another attribute":
            switch(hand, True, "other")
    else:
        hand.call("DeleteTable", TableName="Things")
        if then == "table made anew":
            make_table(hand)
            put(hand, 1, NOW + 1)
            switch(hand, True)
    run.finish()
    for _ in range(steps):
        run.step()
    hand.run_jobs()
    check_nothing_else(list(hand.ctx.catalog), dict(hand.stored()))
    left = {"disabled": 0, "another attribute": 7, "table deleted": 0, "table made anew": 1}
    assert len(expiries(hand)) == left[then]
    for table in hand.ctx.catalog:
        require_exact(hand, table.name)


def test_disabling_clears_all_there_is(expiring_things: ByHand) -> None:
    for number in range(7):
        put(expiring_things, number, NOW - 1)
    before = [stored for stored, _ in expiring_things.stored() if not stored.startswith(keys.EXPIRY_SPACE)]
    switch(expiring_things, False)
    expiring_things.run_jobs()
    assert [stored for stored, _ in expiring_things.stored()] == before
    assert numbers(expiring_things) == list(range(7))
    put(expiring_things, 8, NOW - 1)
    assert expiries(expiring_things) == []


# Between the steps of a sweep.


def changes(hand: ByHand, number: int) -> Iterator[None]:
    """What may happen to an item that has expired."""
    put(hand, number, NOW + 1000)
    yield
    put(hand, number)
    yield
    hand.call("DeleteItem", TableName="Things", Key=key(number))
    yield
    put(hand, number, NOW + 5)
    yield


@pytest.mark.parametrize("steps_before", range(6))
@pytest.mark.parametrize("changes_done", range(1, 5))
@pytest.mark.parametrize("number", [0, 3, 6])
def test_what_is_changed_between_its_steps_counts_as_it_is_then(
    expiring_things: ByHand, number: int, changes_done: int, steps_before: int
) -> None:
    for other in range(7):
        put(expiring_things, other, NOW - 1)
    run = JobRun(expiring_things, sweep)
    for _ in range(steps_before):
        run.step()
    for _ in zip(range(changes_done), changes(expiring_things, number), strict=False):
        pass
    run.finish()
    assert numbers(expiring_things) == ([] if changes_done == 3 else [number])
    require_exact(expiring_things)


@pytest.mark.parametrize("staged", ["moved", "deleted", "written anew"])
def test_a_back_fill_sees_a_change_that_is_not_yet_durable(staged: str) -> None:
    hand = ByHand(engine=ModelEngine())
    make_table(hand)
    put(hand, 1, NOW - 1)
    switch(hand, True)
    run = JobRun(hand, fill_expiries)
    run.step()
    engine = stage(hand, staged)
    driver.run(engine, run.next_step())
    engine.settle()
    require_exact(hand)


@pytest.mark.parametrize("staged", ["moved", "deleted", "written anew"])
def test_a_sweep_sees_a_change_that_is_not_yet_durable(staged: str) -> None:
    hand = ByHand(engine=ModelEngine())
    make_table(hand)
    switch(hand, True)
    hand.run_jobs()
    put(hand, 1, NOW - 1)
    run = JobRun(hand, sweep)
    run.step()
    engine = stage(hand, staged)
    # What its range shows is the expiry from before.
    driver.run(engine, run.next_step())
    engine.settle()
    require_exact(hand)
    # Written anew, it has expired again.
    assert numbers(hand) == ([1] if staged == "moved" else [])


@pytest.mark.parametrize("cut_after", range(7))
def test_a_crash_at_every_step_of_a_sweep_loses_nothing(expiring_things: ByHand, cut_after: int) -> None:
    for number in range(7):
        put(expiring_things, number, NOW - 1)
    put(expiring_things, 8, NOW + 1)
    run = JobRun(expiring_things, sweep)
    for _ in range(cut_after):
        run.step()
        require_exact(expiring_things)
    # The first step only waits.
    assert len(numbers(expiring_things)) == max(1, 8 - ITEMS_A_STEP * max(0, cut_after - 1))
    expiring_things.reopen()
    require_exact(expiring_things)
    expiring_things.run_jobs()
    assert numbers(expiring_things) == [8]
    require_exact(expiring_things)


@pytest.mark.parametrize("steps", range(1, 5))
@pytest.mark.parametrize("then", ["disabled", "deleted", "made anew"])
def test_a_sweep_ends_when_it_is_not_wanted_any_more(expiring_things: ByHand, steps: int, then: str) -> None:
    for number in range(7):
        put(expiring_things, number, NOW - 1)
    run = JobRun(expiring_things, sweep)
    for _ in range(steps):
        run.step()
    left = numbers(expiring_things)
    if then == "disabled":
        switch(expiring_things, False)
    else:
        expiring_things.call("DeleteTable", TableName="Things")
        if then == "made anew":
            make_table(expiring_things)
            switch(expiring_things, True)
            put(expiring_things, 3, NOW - 1)
            left = [3]
    run.finish()
    if then != "deleted":
        assert numbers(expiring_things) == left
        require_exact(expiring_things)


def test_an_index_may_be_added_meanwhile(expiring_things: ByHand) -> None:
    for number in range(9):
        put(expiring_things, number, NOW - 1 if number % 2 else NOW + 100, city={"S": "Napier"})
    create = {
        "IndexName": "by_city",
        "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    expiring_things.call(
        "UpdateTable",
        TableName="Things",
        AttributeDefinitions=[{"AttributeName": "city", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": create}],
    )
    filling, sweeping = JobRun(expiring_things, tables.backfill), JobRun(expiring_things, sweep)
    while any([filling.step(), sweeping.step()]):
        require_exact(expiring_things)
    assert numbers(expiring_things, index="by_city") == [0, 2, 4, 6, 8]

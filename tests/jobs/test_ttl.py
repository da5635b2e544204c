"""Time to live: what has expired goes, out of everything, and nothing else does; and what that costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.by_hand import NOON, ByHand, JobRun
from tests.jobs.expiring import (
    NOW,
    expiries,
    item,
    key,
    make_table,
    numbers,
    put,
    require_exact,
    stage,
    switch,
)
from tests.storage.model_engine import ModelEngine
from torusdb.jobs import ttl
from torusdb.jobs.runner import Job, Step
from torusdb.jobs.ttl import fill_expiries, sweep
from torusdb.model import keys
from torusdb.model.expiry import AGE_SECONDS_MAX
from torusdb.storage import driver
from torusdb.storage.commands import Command, Get, Range

pytestmark = pytest.mark.usefixtures("short_steps")


# What expires.


def test_what_has_expired_goes_out_of_everything(expiring_things: ByHand) -> None:
    for number in range(7):
        put(expiring_things, number, NOW + 10)
    put(expiring_things, 7, NOW + 100)
    put(expiring_things, 8)
    put(expiring_things, 9)
    # An item expires when the current second is past its own.
    expiring_things.advance(10)
    assert numbers(expiring_things) == list(range(10))
    expiring_things.advance(1)
    assert numbers(expiring_things) == [7, 8, 9]
    assert numbers(expiring_things, index="by_owner") == numbers(expiring_things, index="by_rank") == [7, 9]
    described = expiring_things.call("DescribeTable", TableName="Things")
    assert described["ItemCount"] == 3
    require_exact(expiring_things)
    assert len(expiries(expiring_things)) == 1


def test_until_it_is_swept_it_can_be_read_and_written(expiring_things: ByHand) -> None:
    for number in (1, 3):
        put(expiring_things, number, NOW + 10)
    expiring_things.clock += 1000
    assert expiring_things.call("GetItem", TableName="Things", Key=key(1)) == item(1, NOW + 10)
    assert numbers(expiring_things) == numbers(expiring_things, index="by_owner") == [1, 3]
    values = {":later": {"N": str(NOW + 5000)}}
    update = {"UpdateExpression": "SET #t = :later", "ExpressionAttributeNames": {"#t": "ttl"}}
    expiring_things.call("UpdateItem", TableName="Things", Key=key(3), ExpressionAttributeValues=values, **update)
    expiring_things.run_jobs()
    assert numbers(expiring_things) == [3]
    require_exact(expiring_things)


@pytest.mark.parametrize(
    ("expires", "goes"),
    [
        (NOW - 1, True),
        (NOW, False),
        (f"{NOW - 1}.999", True),
        (f"{NOW}.5", False),
        (f"{NOW - 1}e0", True),
        (NOW - AGE_SECONDS_MAX, True),
        (NOW - AGE_SECONDS_MAX - 1, False),
        (0, False),
        (-1, False),
        (-NOW, False),
        (NOW * 1000, False),
        ("1e100", False),
        ({"S": str(NOW - 1)}, False),
        ({"NS": [str(NOW - 1)]}, False),
        ({"M": {"ttl": {"N": str(NOW - 1)}}}, False),
        (None, False),
    ],
    ids=str,
)
def test_odd_values(expiring_things: ByHand, expires: Any, goes: bool) -> None:
    put(expiring_things, 1, expires)
    require_exact(expiring_things)
    expiring_things.run_jobs()
    assert numbers(expiring_things) == ([] if goes else [1])
    require_exact(expiring_things)


def test_what_is_older_than_five_years_stays_for_good(expiring_things: ByHand) -> None:
    put(expiring_things, 1, NOW - AGE_SECONDS_MAX - 1)
    expiring_things.advance(1000)
    assert numbers(expiring_things) == [1]


def test_expired_items_may_be_kept_a_while_as_the_service_does() -> None:
    hand = ByHand(ttl_delay_seconds=3600)
    make_table(hand)
    switch(hand, True)
    put(hand, 1, NOW + 10)
    hand.advance(3610)
    assert numbers(hand) == [1]
    hand.advance(1)
    assert numbers(hand) == []
    hand.close()


def test_every_kind_of_write_keeps_the_expiry(expiring_things: ByHand) -> None:
    put(expiring_things, 1, NOW + 10)
    put(expiring_things, 1, NOW + 20)
    put(expiring_things, 2, NOW + 10)
    put(expiring_things, 2)
    members = [{"PutRequest": {"Item": item(3, NOW + 10)}}, {"PutRequest": {"Item": item(4, NOW + 10)}}]
    expiring_things.call("BatchWriteItem", RequestItems={"Things": members})
    expiring_things.call("DeleteItem", TableName="Things", Key=key(3))
    expiring_things.call("ExecuteStatement", Statement="UPDATE Things SET \"ttl\" = 5 WHERE pk = 'p1' AND sk = 4")
    expiring_things.call("UpdateItem", TableName="Things", Key=key(5), UpdateExpression="SET n = sk")
    add = {"ExpressionAttributeNames": {"#t": "ttl"}, "ExpressionAttributeValues": {":t": {"N": str(NOW + 30)}}}
    expiring_things.call("UpdateItem", TableName="Things", Key=key(5), UpdateExpression="ADD #t :t", **add)
    require_exact(expiring_things)
    # One item has expired so long ago that it stays.
    assert len(expiries(expiring_things)) == 2
    for seconds, left in ((11, [1, 2, 4, 5]), (10, [2, 4, 5]), (10, [2, 4])):
        expiring_things.advance(seconds)
        assert numbers(expiring_things) == left


def test_other_tables_and_attributes_are_left_alone(expiring_things: ByHand) -> None:
    make_table(expiring_things, "Others")
    put(expiring_things, 1, NOW - 1, name="Others")
    put(expiring_things, 2, TTL={"N": str(NOW - 1)})
    expiring_things.advance(100)
    assert (numbers(expiring_things, "Others"), numbers(expiring_things)) == ([1], [2])


def test_it_may_be_a_key_that_says_when(hand: ByHand) -> None:
    make_table(hand)
    switch(hand, True, "sk")
    put(hand, NOW - 1)
    put(hand, NOW + 1)
    hand.run_jobs()
    assert numbers(hand) == [NOW + 1]
    require_exact(hand)


def test_the_service_is_told_as_the_one_who_deletes(expiring_things: ByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    by_service = []
    original = ttl.change

    def change(*args: Any, **more: Any) -> Any:
        by_service.append(more)
        return original(*args, **more)

    monkeypatch.setattr(ttl, "change", change)
    put(expiring_things, 1, NOW - 1)
    expiring_things.run_jobs()
    assert by_service == [{"by_service": True}]


# When the sweep comes again.


def test_it_comes_again_after_its_period_while_a_table_needs_it(hand: ByHand) -> None:
    make_table(hand)
    assert JobRun(hand, sweep).finish() is None
    switch(hand, True)
    assert JobRun(hand, sweep).finish() == NOON + 1
    switch(hand, False)
    assert JobRun(hand, sweep).finish() is None


def test_it_waits_until_time_to_live_is_enabled(hand: ByHand) -> None:
    slow = ByHand(table_delay_seconds=10)
    make_table(slow)
    slow.advance(10)
    put(slow, 1, NOW - 1)
    switch(slow, True)
    slow.advance(9)
    assert numbers(slow) == [1]
    slow.advance(1)
    assert numbers(slow) == []
    put(slow, 2, NOW + 30)
    switch(slow, False)
    slow.clock += 100
    JobRun(slow, sweep).finish()
    assert numbers(slow) == [2]
    slow.close()


# What a sweep costs.


class Watched(JobRun):
    """Keeps the commands of a job, and counts the records they give."""

    def __init__(self, database: ByHand, job: Job) -> None:
        super().__init__(database, job)
        self.commands: list[Command] = []
        self.records = 0

    def next_step(self) -> Step:
        return self._watching(super().next_step())

    def _watching(self, step: Step) -> Step:
        result: Any = None
        while True:
            try:
                command = step.send(result)
            except StopIteration as stop:
                return stop.value
            result = yield command
            self.commands.append(command)
            if isinstance(command, Range):
                self.records += len(result.records)
            elif isinstance(command, Get):
                self.records += len(result)


@pytest.mark.parametrize("expired", [0, 1, 5])
def test_a_sweep_reads_what_it_deletes_however_much_there_is(expiring_things: ByHand, expired: int) -> None:
    costs = []
    for more in (3, 60):
        for number in range(more):
            put(expiring_things, 1000 + number, NOW + 10_000 + number)
            put(expiring_things, 2000 + number, NOW - AGE_SECONDS_MAX - 10_000)
            put(expiring_things, 3000 + number)
        for number in range(expired):
            put(expiring_things, number, NOW - 1)
        run = Watched(expiring_things, sweep)
        run.finish()
        costs.append((len(run.commands), run.records))
    assert costs[0] == costs[1]
    # An expiry and an item for each that goes.
    assert costs[0][1] == 2 * expired
    assert numbers(expiring_things)[0] == 1000


def begins(hand: ByHand) -> int:
    """The second from which a sweep reads."""
    run = Watched(hand, sweep)
    run.finish()
    start = next(command.start for command in run.commands if isinstance(command, Range))
    return int.from_bytes(start[keys.PARTITION_PREFIX_BYTES : keys.PLACE_BYTES], "big")


def test_a_sweep_begins_where_the_last_one_has_deleted_everything(expiring_things: ByHand) -> None:
    put(expiring_things, 1, NOW - 100)
    put(expiring_things, 2, NOW + 5)
    expiring_things.clock += 1
    begins(expiring_things)
    assert begins(expiring_things) == NOW + 1 - ttl.CLOCK_SECONDS_MAX
    assert numbers(expiring_things) == [2]
    expiring_things.advance(10)
    assert begins(expiring_things) == NOW + 11 - ttl.CLOCK_SECONDS_MAX
    assert numbers(expiring_things) == []


def test_it_begins_anew_when_a_database_is_opened_and_when_the_clock_is_set_back(expiring_things: ByHand) -> None:
    expiring_things.clock += 2000
    put(expiring_things, 1, NOW - 100)
    begins(expiring_things)
    expiring_things.reopen()
    assert begins(expiring_things) == 0
    expiring_things.clock -= 1000
    put(expiring_things, 2, NOW - 100)
    assert begins(expiring_things) == 0
    assert numbers(expiring_things) == []


def test_what_a_back_fill_still_has_to_write_is_not_behind_it(hand: ByHand) -> None:
    make_table(hand)
    for number in range(7):
        put(hand, number, NOW - 1)
    switch(hand, True)
    hand.clock += 1000
    filling = JobRun(hand, fill_expiries)
    while filling.step():
        JobRun(hand, sweep).finish()
    JobRun(hand, sweep).finish()
    assert numbers(hand) == []


def test_a_write_that_becomes_durable_late_is_not_behind_it() -> None:
    engine = ModelEngine()
    hand = ByHand(engine=engine)
    make_table(hand)
    switch(hand, True)
    hand.run_jobs()
    stage(hand, "moved", NOW - 1)
    hand.clock += 60
    run = JobRun(hand, sweep)
    outcome = driver.run(engine, run.next_step())
    # The runner waits for it, and with it for the write.
    assert outcome.ticket is not None
    engine.settle()
    assert outcome.ticket.done
    engine.stages = False
    run.finish()
    assert numbers(hand) == []
    require_exact(hand)

"""The pace, under a clock of its own; and what happens when the service refuses for a while."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.modeling.migrations.conftest import Stage, in_turns, thing, things
from tests.streams.conftest import ClientError
from torusdb.modeling.migrations import MigrationError, NoState, Run, in_place
from torusdb.modeling.migrations.pacing import Bucket, Pacer, rates
from torusdb.modeling.migrations.retries import ATTEMPTS_MAX


class Clock:
    def __init__(self) -> None:
        self.time = 100.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.waits.append(seconds)
        self.time += seconds


@settings(max_examples=50)
@given(rate=st.floats(1, 500), costs=st.lists(st.floats(0, 130), min_size=1, max_size=60))
def test_over_any_time_no_more_is_used_than_was_asked_for(rate: float, costs: list[float]) -> None:
    """Besides a second's worth, and one request."""
    clock = Clock()
    pacer = Pacer(rate, None, now=clock.now, sleep=clock.sleep)
    used: list[tuple[float, float]] = []
    for cost in costs:
        reserved = pacer.before("scan")
        used.append((clock.time, cost))
        pacer.after("scan", reserved, {"ConsumedCapacity": {"CapacityUnits": cost}})
    for first in range(len(used)):
        for last in range(first, len(used)):
            units = sum(cost for _, cost in used[first : last + 1])
            assert units <= rate * (used[last][0] - used[first][0]) + rate + 2 * max(costs) + 1
    assert pacer.reads.used == pytest.approx(sum(costs))


def test_reads_and_writes_have_buckets_of_their_own_and_no_limit_is_none() -> None:
    clock = Clock()
    pacer = Pacer(None, 10, now=clock.now, sleep=clock.sleep)
    for _ in range(100):
        pacer.after("scan", pacer.before("scan"), {"ConsumedCapacity": {"CapacityUnits": 128.0}})
    assert clock.waits == []
    for _ in range(100):
        told = [{"CapacityUnits": 2.0}, {"CapacityUnits": 3.0}]  # of a transaction, by table
        pacer.after("transact_write_items", pacer.before("transact_write_items"), {"ConsumedCapacity": told})
    assert clock.time - 100 == pytest.approx(49, abs=1)


def test_what_was_refused_costs_nothing() -> None:
    clock = Clock()
    pacer = Pacer(10, 10, now=clock.now, sleep=clock.sleep)
    for _ in range(100):
        pacer.after("put_item", pacer.before("put_item"), None)
    assert (clock.waits, pacer.writes.used) == ([], 0)


def test_throttling_halves_the_rate_which_comes_back_bit_by_bit() -> None:
    clock = Clock()
    bucket = Bucket(100, clock.now)
    bucket.throttled()
    bucket.throttled()
    assert bucket.factor == 0.25
    bucket.settle(0, 100)
    clock.time += 10
    bucket.reserve(1)
    assert bucket.factor == pytest.approx(0.45)
    for _ in range(20):
        bucket.throttled()
    assert bucket.factor == 1 / 64


@pytest.mark.parametrize(
    ("described", "units"),
    [
        ({"ProvisionedThroughput": {"ReadCapacityUnits": 100, "WriteCapacityUnits": 40}}, (25, 10)),
        ({"OnDemandThroughput": {"MaxReadRequestUnits": 400, "MaxWriteRequestUnits": 80}}, (100, 20)),
        ({"WarmThroughput": {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000}}, (3000, 1000)),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 80}}
            | {"WarmThroughput": {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000}},
            (3000, 20),
        ),
    ],
)
def test_a_share_is_of_what_the_table_has(described: dict[str, Any], units: tuple[float, float]) -> None:
    table = {"TableName": "t", **described}
    assert rates(table, table, 0.25, None) == units


def test_a_pace_that_cannot_be_is_refused() -> None:
    table: dict[str, Any] = {"TableName": "t"}
    for capacity, units, message in [
        (0.5, 1.0, "not both"),
        (0.5, None, "The table t is paid by request and has no capacity to take a share of: give a number"),
        (1.5, None, "capacity is a share, above 0 and up to 1, not 1.5"),
        (0.0, None, "above 0"),
        (None, 0.0, "units must be above 0, not 0"),
    ]:
        with pytest.raises(MigrationError, match=message):
            rates(table, table, capacity, units)
    assert rates(table, table, None, None) == (None, None)
    assert rates(table, table, None, 7.0) == (7.0, 7.0)


# Whole runs

migration = in_place(things, version=1, marker="_v")(lambda item: item)


def test_a_run_keeps_to_its_pace(stage: Stage) -> None:
    stage.put(things, *(thing(f"thing {number}", x=number) for number in range(60)))
    since = stage.now()
    progress = Run(migration, stage.means(), NoState(), segments=3, units=2, runner=in_turns()).migrate()
    assert progress.write_units == 60
    assert 27 <= stage.now() - since <= 31  # 60 units at 2 a second, of which a second's worth is there from the start
    assert progress.seconds == stage.now() - since


def test_a_run_takes_a_share_of_a_provisioned_table(stage: Stage) -> None:
    units = {"ReadCapacityUnits": 40, "WriteCapacityUnits": 20}
    stage.hand.call("UpdateTable", TableName="things", BillingMode="PROVISIONED", ProvisionedThroughput=units)
    stage.hand.run_jobs()
    driver = Run(migration, stage.means(), NoState(), capacity=0.25).driver()
    assert (driver.pacer.reads.units_per_second, driver.pacer.writes.units_per_second) == (10, 5)


REFUSALS = [
    ClientError("ProvisionedThroughputExceededException"),
    ClientError("ThrottlingException"),
    ClientError("InternalServerError"),
    ClientError("TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}]),
    ClientError("TransactionCanceledException", CancellationReasons=[{"Code": "None"}, {"Code": "ThrottlingError"}]),
    ClientError("TransactionConflictException"),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_what_is_refused_for_a_while_is_tried_again(stage: Stage, refusal: ClientError) -> None:
    stage.put(things, thing("a", x=1))
    refused = dict.fromkeys(["Scan", "UpdateItem"], 3)

    def refuse(operation: str) -> None:
        if refused.get(operation, 0):
            refused[operation] -= 1
            raise refusal

    since = stage.now()
    run = Run(migration, stage.means(refuse), NoState(), segments=1, units=10, runner=in_turns())
    assert run.migrate().counts == {"read": 1, "converted": 1}
    waited = 2 * 0.5 * (0.1 + 0.2 + 0.4)  # half of what it may be: see Stage.means
    assert stage.now() - since == pytest.approx(waited)


def test_a_service_that_refuses_for_good_ends_the_run(stage: Stage) -> None:
    calls = []

    def refuse(operation: str) -> None:
        if operation == "Scan":
            calls.append(operation)
            raise ClientError("ThrottlingException")

    run = Run(migration, stage.means(refuse), NoState(), segments=1, units=10, runner=in_turns())
    with pytest.raises(ClientError, match="ThrottlingException"):
        run.migrate()
    assert len(calls) == ATTEMPTS_MAX


def test_throttling_slows_a_run_down(stage: Stage) -> None:
    """Two times 25 units at 10 a second take 5 s; with throttling on the way it takes longer."""
    stage.put(things, *(thing(f"thing {number}", x=number) for number in range(50)))
    calls = []

    def refuse(operation: str) -> None:
        calls.append(operation)
        if operation == "UpdateItem" and len(calls) in (10, 12, 14):
            raise ClientError("ThrottlingException")

    since = stage.now()
    Run(migration, stage.means(refuse), NoState(), segments=1, units=10, runner=in_turns()).migrate()
    assert stage.now() - since > 8

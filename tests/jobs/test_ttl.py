"""Time to live: what has expired goes, out of everything, and nothing else does; whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobs.by_hand import NOON, ByHand, JobRun
from tests.operations.conftest import table_request
from tests.storage.consistency import check_nothing_else, check_table, items_of
from tests.storage.model_engine import ModelEngine
from torusdb.api.decode import from_python
from torusdb.jobs import tables, ttl
from torusdb.jobs.runner import Job
from torusdb.jobs.ttl import TTL_JOBS, fill_expiries, sweep
from torusdb.model import keys
from torusdb.model.attributes import Item
from torusdb.model.expiry import AGE_SECONDS_MAX
from torusdb.operations.registry import OPERATIONS
from torusdb.storage import driver
from torusdb.storage.commands import Command, Get, Range

ITEMS_A_STEP = 2
NOW = int(NOON)
INDEXES: dict[str, Any] = {"globally": {"by_owner": ("owner:S", "ALL")}, "locally": {"by_rank": ("pk:S rank:N", ["n"])}}


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BACKFILL_ITEMS_MAX", ITEMS_A_STEP)
    monkeypatch.setattr(ttl, "SWEEP_ITEMS_MAX", ITEMS_A_STEP)


def make_table(hand: ByHand, name: str = "Things") -> None:
    hand.call("CreateTable", **table_request("pk:S sk:N", name, INDEXES["globally"], INDEXES["locally"], {}))


def switch(hand: ByHand, enabled: bool, attribute: str = "ttl", name: str = "Things") -> None:
    specification = {"Enabled": enabled, "AttributeName": attribute}
    hand.call("UpdateTimeToLive", TableName=name, TimeToLiveSpecification=specification)


def item(number: int, expires: Any = None, **more: Any) -> Item:
    made: Item = {"pk": {"S": f"p{number % 3}"}, "sk": {"N": str(number)}, "n": {"N": str(number)}, **more}
    if number % 2:
        made |= {"owner": {"S": "ann"}, "rank": {"N": str(number)}}
    if expires is not None:
        made["ttl"] = expires if isinstance(expires, dict) else {"N": str(expires)}
    return made


def key(number: int) -> Item:
    return {name: value for name, value in item(number).items() if name in ("pk", "sk")}


def put(hand: ByHand, number: int, expires: Any = None, name: str = "Things", **more: Any) -> None:
    hand.call("PutItem", TableName=name, Item=item(number, expires, **more))


def numbers(hand: ByHand, name: str = "Things", index: str | None = None) -> list[int]:
    """Of the items that a Scan finds."""
    found = hand.call("Scan", TableName=name, **({} if index is None else {"IndexName": index}))
    return sorted(int(one["n"]["N"]) for one in found["Items"])


def require_exact(hand: ByHand, name: str = "Things") -> None:
    check_table(hand.table(name), dict(hand.stored()), lambda counter: hand.engine.tally([counter])[0])


def expiries(hand: ByHand) -> list[bytes]:
    return [stored for stored, _ in hand.stored() if stored.startswith(keys.EXPIRY_SPACE)]


@pytest.fixture
def things(hand: ByHand) -> ByHand:
    """A table with both kinds of indexes and time to live."""
    make_table(hand)
    switch(hand, True)
    hand.run_jobs()
    return hand


# What expires.


def test_what_has_expired_goes_out_of_everything(things: ByHand) -> None:
    for number in range(7):
        put(things, number, NOW + 10)
    put(things, 7, NOW + 100)
    put(things, 8)
    put(things, 9)
    # An item expires when the current second is past its own.
    things.advance(10)
    assert numbers(things) == list(range(10))
    things.advance(1)
    assert numbers(things) == [7, 8, 9]
    assert numbers(things, index="by_owner") == numbers(things, index="by_rank") == [7, 9]
    described = things.call("DescribeTable", TableName="Things")
    assert described["ItemCount"] == 3
    require_exact(things)
    assert len(expiries(things)) == 1


def test_until_it_is_swept_it_can_be_read_and_written(things: ByHand) -> None:
    for number in (1, 3):
        put(things, number, NOW + 10)
    things.clock += 1000
    assert things.call("GetItem", TableName="Things", Key=key(1)) == item(1, NOW + 10)
    assert numbers(things) == numbers(things, index="by_owner") == [1, 3]
    values = {":later": {"N": str(NOW + 5000)}}
    update = {"UpdateExpression": "SET #t = :later", "ExpressionAttributeNames": {"#t": "ttl"}}
    things.call("UpdateItem", TableName="Things", Key=key(3), ExpressionAttributeValues=values, **update)
    things.run_jobs()
    assert numbers(things) == [3]
    require_exact(things)


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
def test_odd_values(things: ByHand, expires: Any, goes: bool) -> None:
    put(things, 1, expires)
    require_exact(things)
    things.run_jobs()
    assert numbers(things) == ([] if goes else [1])
    require_exact(things)


def test_what_is_older_than_five_years_stays_for_good(things: ByHand) -> None:
    put(things, 1, NOW - AGE_SECONDS_MAX - 1)
    things.advance(1000)
    assert numbers(things) == [1]


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


def test_every_kind_of_write_keeps_the_expiry(things: ByHand) -> None:
    put(things, 1, NOW + 10)
    put(things, 1, NOW + 20)
    put(things, 2, NOW + 10)
    put(things, 2)
    members = [{"PutRequest": {"Item": item(3, NOW + 10)}}, {"PutRequest": {"Item": item(4, NOW + 10)}}]
    things.call("BatchWriteItem", RequestItems={"Things": members})
    things.call("DeleteItem", TableName="Things", Key=key(3))
    things.call("ExecuteStatement", Statement="UPDATE Things SET \"ttl\" = 5 WHERE pk = 'p1' AND sk = 4")
    things.call("UpdateItem", TableName="Things", Key=key(5), UpdateExpression="SET n = sk")
    add = {"ExpressionAttributeNames": {"#t": "ttl"}, "ExpressionAttributeValues": {":t": {"N": str(NOW + 30)}}}
    things.call("UpdateItem", TableName="Things", Key=key(5), UpdateExpression="ADD #t :t", **add)
    require_exact(things)
    # One item has expired so long ago that it stays.
    assert len(expiries(things)) == 2
    for seconds, left in ((11, [1, 2, 4, 5]), (10, [2, 4, 5]), (10, [2, 4])):
        things.advance(seconds)
        assert numbers(things) == left


def test_other_tables_and_attributes_are_left_alone(things: ByHand) -> None:
    make_table(things, "Others")
    put(things, 1, NOW - 1, name="Others")
    put(things, 2, TTL={"N": str(NOW - 1)})
    things.advance(100)
    assert (numbers(things, "Others"), numbers(things)) == ([1], [2])


def test_it_may_be_a_key_that_says_when(hand: ByHand) -> None:
    make_table(hand)
    switch(hand, True, "sk")
    put(hand, NOW - 1)
    put(hand, NOW + 1)
    hand.run_jobs()
    assert numbers(hand) == [NOW + 1]
    require_exact(hand)


def test_the_service_is_told_as_the_one_who_deletes(things: ByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    by_service = []
    original = ttl.change

    def change(*args: Any, **more: Any) -> Any:
        by_service.append(more)
        return original(*args, **more)

    monkeypatch.setattr(ttl, "change", change)
    put(things, 1, NOW - 1)
    things.run_jobs()
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


class Counted(JobRun):
    """Counts the commands of a job and the records they give."""

    commands = 0
    records = 0

    def step(self) -> bool:
        try:
            step = self.next_step()
        except StopIteration as stop:
            self.due = stop.value
            return False
        self._result = driver.complete(self._engine, self._counting(step))
        return True

    def _counting(self, step: Generator[Command, Any, Any]) -> Generator[Command, Any, Any]:
        result: Any = None
        while True:
            try:
                command = step.send(result)
            except StopIteration as stop:
                return stop.value
            result = yield command
            self.commands += 1
            if isinstance(command, Range):
                self.records += len(result.records)
            elif isinstance(command, Get):
                self.records += len(result)


@pytest.mark.parametrize("expired", [0, 1, 5])
def test_a_sweep_reads_what_it_deletes_however_much_there_is(things: ByHand, expired: int) -> None:
    costs = []
    for more in (3, 60):
        for number in range(more):
            put(things, 1000 + number, NOW + 10_000 + number)
            put(things, 2000 + number, NOW - AGE_SECONDS_MAX - 10_000)
            put(things, 3000 + number)
        for number in range(expired):
            put(things, number, NOW - 1)
        run = Counted(things, sweep)
        run.finish()
        costs.append((run.commands, run.records))
    assert costs[0] == costs[1]
    # An expiry and an item for each that goes.
    assert costs[0][1] == 2 * expired
    assert numbers(things)[0] == 1000


class Reading(Counted):
    """Remembers where ranges start, as seconds."""

    def __init__(self, database: ByHand, job: Job) -> None:
        super().__init__(database, job)
        self.starts: list[int] = []

    def _counting(self, step: Generator[Command, Any, Any]) -> Generator[Command, Any, Any]:
        counting = super()._counting(step)
        result: Any = None
        while True:
            try:
                command = counting.send(result)
            except StopIteration as stop:
                return stop.value
            if isinstance(command, Range):
                self.starts.append(int.from_bytes(command.start[7:15], "big"))
            result = yield command


def begins(hand: ByHand) -> int:
    """The second from which a sweep reads."""
    run = Reading(hand, sweep)
    run.finish()
    return run.starts[0]


def test_a_sweep_begins_where_the_last_one_has_deleted_everything(things: ByHand) -> None:
    put(things, 1, NOW - 100)
    put(things, 2, NOW + 5)
    things.clock += 1
    begins(things)
    assert begins(things) == NOW + 1 - ttl.CLOCK_SECONDS_MAX
    assert numbers(things) == [2]
    things.advance(10)
    assert begins(things) == NOW + 11 - ttl.CLOCK_SECONDS_MAX
    assert numbers(things) == []


def test_it_begins_anew_when_a_database_is_opened_and_when_the_clock_is_set_back(things: ByHand) -> None:
    things.clock += 2000
    put(things, 1, NOW - 100)
    begins(things)
    things.reopen()
    assert begins(things) == 0
    things.clock -= 1000
    put(things, 2, NOW - 100)
    assert begins(things) == 0
    assert numbers(things) == []


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


def test_disabling_clears_all_there_is(things: ByHand) -> None:
    for number in range(7):
        put(things, number, NOW - 1)
    before = [stored for stored, _ in things.stored() if not stored.startswith(keys.EXPIRY_SPACE)]
    switch(things, False)
    things.run_jobs()
    assert [stored for stored, _ in things.stored()] == before
    assert numbers(things) == list(range(7))
    put(things, 8, NOW - 1)
    assert expiries(things) == []


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
    things: ByHand, number: int, changes_done: int, steps_before: int
) -> None:
    for other in range(7):
        put(things, other, NOW - 1)
    run = JobRun(things, sweep)
    for _ in range(steps_before):
        run.step()
    for _ in zip(range(changes_done), changes(things, number), strict=False):
        pass
    run.finish()
    assert numbers(things) == ([] if changes_done == 3 else [number])
    require_exact(things)


def stage(hand: ByHand, change: str, expires: int = NOW + 1000) -> ModelEngine:
    """Changes an item; only guarded reads see it yet."""
    engine = hand.engine
    assert isinstance(engine, ModelEngine)
    engine.stages = True
    if change == "deleted":
        operation, params = "DeleteItem", {"TableName": "Things", "Key": key(1)}
    else:
        operation = "PutItem"
        params = {"TableName": "Things", "Item": item(1, expires if change == "moved" else NOW - 2)}
    driver.run(engine, OPERATIONS[operation](hand.ctx, from_python(operation, params)))
    return engine


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
def test_a_crash_at_every_step_of_a_sweep_loses_nothing(things: ByHand, cut_after: int) -> None:
    for number in range(7):
        put(things, number, NOW - 1)
    put(things, 8, NOW + 1)
    run = JobRun(things, sweep)
    for _ in range(cut_after):
        run.step()
        require_exact(things)
    # The first step only waits.
    assert len(numbers(things)) == max(1, 8 - ITEMS_A_STEP * max(0, cut_after - 1))
    things.reopen()
    require_exact(things)
    things.run_jobs()
    assert numbers(things) == [8]
    require_exact(things)


@pytest.mark.parametrize("steps", range(1, 5))
@pytest.mark.parametrize("then", ["disabled", "deleted", "made anew"])
def test_a_sweep_ends_when_it_is_not_wanted_any_more(things: ByHand, steps: int, then: str) -> None:
    for number in range(7):
        put(things, number, NOW - 1)
    run = JobRun(things, sweep)
    for _ in range(steps):
        run.step()
    left = numbers(things)
    if then == "disabled":
        switch(things, False)
    else:
        things.call("DeleteTable", TableName="Things")
        if then == "made anew":
            make_table(things)
            switch(things, True)
            put(things, 3, NOW - 1)
            left = [3]
    run.finish()
    if then != "deleted":
        assert numbers(things) == left
        require_exact(things)


def test_an_index_may_be_added_meanwhile(things: ByHand) -> None:
    for number in range(9):
        put(things, number, NOW - 1 if number % 2 else NOW + 100, city={"S": "Napier"})
    create = {
        "IndexName": "by_city",
        "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    things.call(
        "UpdateTable",
        TableName="Things",
        AttributeDefinitions=[{"AttributeName": "city", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": create}],
    )
    filling, sweeping = JobRun(things, tables.backfill), JobRun(things, sweep)
    while any([filling.step(), sweeping.step()]):
        require_exact(things)
    assert numbers(things, index="by_city") == [0, 2, 4, 6, 8]


# Anything at all.

Action = tuple[str, int, str]

VALUES = ["", "-5", "0", str(NOW - AGE_SECONDS_MAX - 3), str(NOW - AGE_SECONDS_MAX + 3), str(NOW - 3), str(NOW),
          f"{NOW + 2}.5", str(NOW + 4), str(NOW + 9), "1e30", "S"]  # fmt: skip
KINDS = ["put", "put", "put", "update", "delete", "batch", "enable", "disable", "advance", "step", "step", "step",
         "run", "reopen"]  # fmt: skip
ACTIONS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.sampled_from(VALUES)), min_size=10, max_size=60
)


def expiring(number: int, attribute: str, value: str) -> Item:
    """Of two attributes that may say when; of `value` in one of them."""
    if not value:
        return item(number)
    return item(number, **{attribute: {"S": str(NOW - 1)} if value == "S" else {"N": value}})


class Reference:
    """What must be there, in the plainest terms: a dict of items, and a rule for each of them."""

    def __init__(self) -> None:
        self.items: dict[int, Item] = {}
        self.attribute: str | None = None

    def has_expired(self, number: int, now: float) -> bool:
        value = self.items[number].get(self.attribute or "", {}).get("N")
        if value is None:
            return False
        second = Decimal(value).to_integral_value("ROUND_FLOOR")
        return int(now) - AGE_SECONDS_MAX <= second < int(now)


class Machine:
    def __init__(self) -> None:
        self.hand = ByHand()
        make_table(self.hand)
        self.reference = Reference()
        self.runs: dict[Job, JobRun] = {}

    def act(self, action: Action) -> None:
        kind, number, value = action
        hand, reference = self.hand, self.reference
        attribute = "ttl" if number % 2 else "other"
        match kind:
            case "put":
                reference.items[number] = expiring(number, attribute, value)
                hand.call("PutItem", TableName="Things", Item=reference.items[number])
            case "update" if number in reference.items:
                reference.items[number].pop(attribute, None)
                names = {"ExpressionAttributeNames": {"#t": attribute}}
                update: dict[str, Any] = {"UpdateExpression": "REMOVE #t", **names}
                if value:
                    new = expiring(number, attribute, value)[attribute]
                    reference.items[number][attribute] = new
                    update = {"UpdateExpression": "SET #t = :t", "ExpressionAttributeValues": {":t": new}, **names}
                hand.call("UpdateItem", TableName="Things", Key=key(number), **update)
            case "delete":
                reference.items.pop(number, None)
                hand.call("DeleteItem", TableName="Things", Key=key(number))
            case "batch":
                other = (number + 1) % 10
                reference.items[number] = expiring(number, attribute, value)
                reference.items.pop(other, None)
                members = [
                    {"PutRequest": {"Item": reference.items[number]}},
                    {"DeleteRequest": {"Key": key(other)}},
                ]
                hand.call("BatchWriteItem", RequestItems={"Things": members})
            case "enable" if reference.attribute is None:
                reference.attribute = attribute
                switch(hand, True, attribute)
            case "disable" if reference.attribute is not None:
                switch(hand, False, reference.attribute)
                reference.attribute = None
            case "advance":
                hand.clock += number
            case "step":
                self._step([*TTL_JOBS, tables.clear_leftovers][number % 3])
            case "run":
                hand.run_jobs()
            case "reopen":
                hand.reopen()
                self.runs.clear()

    def _step(self, job: Job) -> None:
        run = self.runs.setdefault(job, JobRun(self.hand, job))
        if not run.step():
            del self.runs[job]

    def check(self, swept: bool) -> None:
        hand, reference = self.hand, self.reference
        stored = items_of(hand.table("Things"), dict(hand.stored())).values()
        found = {int(one["n"]["N"]): one for one in stored}
        for number in reference.items.keys() - found.keys():
            assert reference.has_expired(number, hand.clock), "deleted before its time"
            del reference.items[number]
        plain = {number: normal(one) for number, one in reference.items.items()}
        assert found == plain
        assert not swept or not any(reference.has_expired(number, hand.clock) for number in found)
        require_exact(hand)


def normal(one: Item) -> Item:
    """With numbers as they are stored."""
    return {name: {"N": f"{Decimal(value['N']):f}"} if "N" in value else value for name, value in one.items()}


@settings(max_examples=200)
@given(ACTIONS)
def test_after_a_sweep_exactly_what_has_not_expired_is_there(actions: list[Action]) -> None:
    machine = Machine()
    for action in actions:
        machine.act(action)
        machine.check(swept=action[0] == "run")
    machine.hand.run_jobs()
    machine.check(swept=True)
    check_nothing_else(list(machine.hand.ctx.catalog), dict(machine.hand.stored()))
    machine.hand.close()

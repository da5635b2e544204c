"""The thread that runs jobs: whose turn it is, when it is called again, what failures do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.jobs.by_hand import ACCOUNT, REGION
from torusdb import Database
from torusdb.jobs.runner import RETRY_SECONDS, Job, JobRunner, Running, Step
from torusdb.operations.catalog import Catalog
from torusdb.operations.context import Context
from torusdb.storage.commands import Commit, Get
from torusdb.storage.embedded import EmbeddedEngine
from torusdb.storage.failures import StorageFailed

WAIT_SECONDS_MAX = 30
TICK_SECONDS = 0.25
KEY = b"\xf0key"


def step(result: Any = None) -> Step:
    """A step that asks for nothing."""
    yield from ()
    return result


class Runners:
    """Starts runners over an engine in memory, and stops them. Their clock moves on whenever it is read, so that
    nobody has to wait for it."""

    def __init__(self) -> None:
        self.engine = EmbeddedEngine.open(None)
        self.now = count(1000.0, TICK_SECONDS).__next__
        self.contexts = [self.context(ACCOUNT)]
        self._runners: list[JobRunner] = []

    def context(self, account: str) -> Context:
        return Context(Catalog(account, REGION), self.now, str, lambda: None)

    def start(self, *jobs: Job) -> JobRunner:
        runner = JobRunner(self.engine, lambda: self.contexts, self.now, jobs)
        self._runners.append(runner)
        runner.start()
        return runner

    def close(self) -> None:
        for runner in self._runners:
            runner.stop()
        self.engine.close()


@pytest.fixture
def runners() -> Iterator[Runners]:
    runners = Runners()
    yield runners
    runners.close()


class Calls:
    """Waits until something has been called so many times."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self._changed = threading.Condition()

    def add(self, what: Any) -> int:
        with self._changed:
            self.made.append(what)
            self._changed.notify_all()
            return len(self.made)

    def wait_for(self, times: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.made) >= times, WAIT_SECONDS_MAX)


def test_every_job_runs_when_the_runner_starts_and_when_it_is_woken(runners: Runners) -> None:
    calls = Calls()

    def job(name: str) -> Job:
        def run(context: Context) -> Running:
            calls.add(name)
            yield step()
            return None

        return run

    runner = runners.start(job("first"), job("second"))
    calls.wait_for(2)
    runner.wake()
    calls.wait_for(4)
    assert calls.made == ["first", "second"] * 2


def test_a_job_is_sent_the_result_of_each_step(runners: Runners) -> None:
    calls = Calls()

    def run(context: Context) -> Running:
        calls.add((yield step("one")))
        calls.add((yield step("two")))
        return None

    runners.start(run)
    calls.wait_for(2)
    assert calls.made == ["one", "two"]


def test_jobs_of_all_namespaces_take_turns_step_by_step(runners: Runners) -> None:
    runners.contexts.append(runners.context("111111111111"))
    calls = Calls()

    def run(context: Context) -> Running:
        for number in range(3):
            yield step(calls.add((context.catalog.account, number)))
        return None

    runners.start(run)
    calls.wait_for(6)
    assert calls.made == [(account, number) for number in range(3) for account in (ACCOUNT, "111111111111")]


def test_a_job_that_names_a_moment_is_called_then_and_not_before(runners: Runners) -> None:
    called = Calls()

    def run(context: Context) -> Running:
        now = context.now()
        return now + 2 * TICK_SECONDS if called.add(now) == 1 else None
        yield

    runners.start(run)
    called.wait_for(2)
    assert called.made[1] >= called.made[0] + 2 * TICK_SECONDS


def test_steps_wait_for_what_they_reveal_to_be_durable(runners: Runners) -> None:
    calls = Calls()

    def write() -> Step:
        yield Commit([(KEY, b"value")])

    def read() -> Step:
        records = yield Get([KEY])
        return records[0]

    def run(context: Context) -> Running:
        yield write()
        calls.add((yield read()))
        return None

    runners.start(run)
    calls.wait_for(1)
    assert calls.made == [b"value"]


@pytest.mark.parametrize("failure", [StorageFailed("the disk is full"), ZeroDivisionError()], ids=repr)
def test_a_job_that_fails_is_begun_again_a_little_later(
    runners: Runners, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    begun, other = Calls(), Calls()

    def broken() -> Step:
        yield from ()
        raise failure

    def run(context: Context) -> Running:
        begun.add(context.now())
        if len(begun.made) == 1:
            yield broken()
        return None

    def bystander(context: Context) -> Running:
        yield step(other.add("ran"))
        return None

    runners.start(run, bystander)
    begun.wait_for(2)
    other.wait_for(1)
    assert begun.made[1] >= begun.made[0] + RETRY_SECONDS
    assert "tried again" in caplog.text


def test_being_woken_while_it_runs_makes_a_job_run_again(runners: Runners) -> None:
    calls = Calls()
    runner: JobRunner

    def run(context: Context) -> Running:
        if calls.add("begun") == 1:
            ready.wait(WAIT_SECONDS_MAX)
            runner.wake()
            yield step()
            yield step()
        return None

    ready = threading.Event()
    runner = runners.start(run)
    ready.set()
    calls.wait_for(2)


def test_stopping_returns_after_the_step_under_way(runners: Runners) -> None:
    calls = Calls()

    def run(context: Context) -> Running:
        while True:
            yield step(calls.add("step"))

    runner = runners.start(run)
    calls.wait_for(3)
    runner.stop()
    made = len(calls.made)
    runner.wake()
    assert len(calls.made) == made


def test_a_runner_that_never_started_can_be_stopped(runners: Runners) -> None:
    JobRunner(runners.engine, list, lambda: 0.0, []).stop()


def wait_until(condition: Callable[[], bool]) -> None:
    """For what the threads of a real database do in their own time: bounded, and as quick as they are."""
    pause = threading.Event()
    for _ in range(WAIT_SECONDS_MAX * 100):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("It never came to be")


def test_a_database_fills_its_indexes_and_clears_up_by_itself(db: Database) -> None:
    attributes = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "owner")]
    db.call(
        "CreateTable",
        {
            "TableName": "orders",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": attributes[:1],
        },
    )
    db.call("PutItem", {"TableName": "orders", "Item": {"pk": {"S": "1"}, "owner": {"S": "ann"}}})
    create = {
        "IndexName": "by-owner",
        "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    db.call(
        "UpdateTable",
        {
            "TableName": "orders",
            "AttributeDefinitions": attributes,
            "GlobalSecondaryIndexUpdates": [{"Create": create}],
        },
    )

    def index_status() -> str:
        described = db.call("DescribeTable", {"TableName": "orders"})["Table"]
        status: str = described["GlobalSecondaryIndexes"][0]["IndexStatus"]
        return status

    wait_until(lambda: index_status() == "ACTIVE")
    assert db.call("Scan", {"TableName": "orders", "IndexName": "by-owner"})["Count"] == 1
    db.call("DeleteTable", {"TableName": "orders"})
    wait_until(lambda: not db._home.catalog.leftovers)

"""Runs as they are outside of tests: boto3's clients, workers in threads."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from tests.modeling.migrations.conftest import new_things, thing, things
from tests.modeling.migrations.test_ledgers import parts
from torusdb import Database
from torusdb.modeling.migrations import DONE, Means, MigrationError, NoState, Run, Stopped, in_place, into_table
from torusdb.modeling.scalars import Item

pytest.importorskip("boto3", reason="these are tests of boto3")

WAIT_SECONDS_MAX = 30
"""Never waited for, unless a run doesn't stop."""


@pytest.fixture
def means(db: Database) -> Means:
    client = db.client()
    client.create_table(**things.create_parameters())
    for number in range(300):
        client.put_item(TableName="things", Item=thing(f"thing {number}", x=number))
    return Means(client, db.client("dynamodbstreams"))


def items(means: Means, table: str) -> list[Item]:
    return sorted(means.client.scan(TableName=table)["Items"], key=repr)


def test_items_are_converted_in_place(means: Means) -> None:
    migration = in_place(things, version=2, marker="_v")(lambda item: {**item, "y": item["x"]})
    run = Run(migration, means, NoState(), segments=4)
    progress = run.migrate()
    assert (progress.phase, progress.counts["converted"], progress.write_units) == (DONE, 300, 300)
    assert run.verify().is_right
    assert items(means, "things") == sorted(
        [thing(f"thing {number}", x=number, y=number, _v=2) for number in range(300)], key=repr
    )


def test_another_table_is_filled_while_others_write(means: Means) -> None:
    migration = into_table(new_things, source=things)(parts)
    written = 0

    def write(progress: Any) -> None:
        nonlocal written
        written += 1
        if written < 5:
            means.client.put_item(TableName="things", Item=thing(f"thing {written}", x=written + 2))
            means.client.delete_item(TableName="things", Key={"pk": {"S": f"thing {written + 100}"}})

    run = Run(migration, means, NoState(), segments=4, quiet_seconds=0.1, watch=write)
    run.migrate()
    expected = [each for item in items(means, "things") for each in migration.outcome(item).items]
    assert items(means, "new-things") == sorted(expected, key=repr)
    assert run.verify().is_right


def test_what_ends_one_worker_ends_all_and_is_told(means: Means) -> None:
    first = threading.Lock()

    def fails(item: Item) -> Item:
        if first.acquire(blocking=False):
            raise ValueError("the first of all")
        assert means.stopping.wait(WAIT_SECONDS_MAX)
        return item

    migration = in_place(things, version=2, marker="_v")(fails)
    with pytest.raises(MigrationError, match="the first of all"):
        Run(migration, means, NoState(), segments=4, on_error="stop").migrate()
    assert not any("_v" in item for item in items(means, "things"))


def interrupted_wait(monkeypatch: pytest.MonkeyPatch, begun: threading.Event) -> None:
    """Where the main thread is nearly all the time."""
    wait, calls = concurrent.futures.wait, count()

    def interrupted(*args: Any, **options: Any) -> Any:
        if next(calls) == 0:
            assert begun.wait(WAIT_SECONDS_MAX)
            raise KeyboardInterrupt
        return wait(*args, **options)

    monkeypatch.setattr(concurrent.futures, "wait", interrupted)


def interrupted_start(monkeypatch: pytest.MonkeyPatch, begun: threading.Event) -> None:
    """Where a worker has begun that the main thread has not been told of."""
    submit = ThreadPoolExecutor.submit

    def interrupted(self: ThreadPoolExecutor, *args: Any) -> Any:
        submit(self, *args)
        assert begun.wait(WAIT_SECONDS_MAX)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)


@pytest.mark.parametrize("interrupt", [interrupted_wait, interrupted_start])
def test_an_interrupt_ends_all_workers(
    means: Means, monkeypatch: pytest.MonkeyPatch, interrupt: Callable[[pytest.MonkeyPatch, threading.Event], None]
) -> None:
    """As Ctrl-C does: the main thread waits for them, and no request is cut off."""
    begun = threading.Event()

    def converted(item: Item) -> Item:
        begun.set()
        assert means.stopping.wait(WAIT_SECONDS_MAX)
        return item

    interrupt(monkeypatch, begun)
    threads = threading.active_count()
    migration = in_place(things, version=2, marker="_v")(converted)
    with pytest.raises(KeyboardInterrupt):
        Run(migration, means, NoState(), segments=4).migrate()
    assert threading.active_count() == threads
    assert not any("_v" in item for item in items(means, "things"))
    with pytest.raises(Stopped):
        means.check()

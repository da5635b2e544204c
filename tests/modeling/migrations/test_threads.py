"""Runs as they are outside of tests: boto3's clients, workers in threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

from tests.modeling.migrations.conftest import new_things, thing, things
from tests.modeling.migrations.test_ledgers import parts
from torusdb import Database
from torusdb.modeling.migrations import DONE, Means, MigrationError, NoState, Run, in_place, into_table
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


INTERRUPTED = """
import os, signal
import torusdb
from tests.modeling.migrations.conftest import thing, things
from torusdb.modeling.migrations import Means, NoState, Run, Stopped, in_place

with torusdb.open() as db:
    client = db.client()
    client.create_table(**things.create_parameters())
    for number in range(300):
        client.put_item(TableName="things", Item=thing(f"thing {number}", x=number))
    means = Means(client)

    def interrupted(item):
        if item["pk"]["S"] == "thing 7":
            os.kill(os.getpid(), signal.SIGINT)
            assert means.stopping.wait(30)
        return item

    migration = in_place(things, version=2, marker="_v")(interrupted)
    try:
        Run(migration, means, NoState(), segments=4).migrate()
    except KeyboardInterrupt:
        print("interrupted")
    print(sum("_v" in item for item in client.scan(TableName="things")["Items"]) < 300)
    try:
        Run(migration, means, NoState()).migrate()
    except Stopped:
        print("stopped")
"""


def test_an_interrupt_ends_all_workers() -> None:
    """As Ctrl-C does: the main thread waits for them, and no request is cut off. In a process of its own, whose main
    thread is nobody else's."""
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=WAIT_SECONDS_MAX * 2, check=False
    )
    # Python itself may grumble on stderr where an interrupt finds it starting a thread.
    assert ran.stdout.split() == ["interrupted", "True", "stopped"], ran.stderr

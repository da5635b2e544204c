"""A server is killed at any moment: all that it has acknowledged is there, and all there is agrees."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import torusdb
from tests.storage import crash_writers
from tests.storage.consistency import check_nothing_else, check_stream, check_table, items_of
from tests.storage.crash_writers import COUNTERS, TABLE, WRITERS, Counters, Key, Writer, key_of
from tests.storage.server_process import Refused, ServerGone, ServerProcess
from torusdb.model.schema import Table
from torusdb.operations.catalog import load_catalogs
from torusdb.storage import driver
from torusdb.storage.commands import Range
from torusdb.storage.embedded import EmbeddedEngine

OPEN_SECONDS_MAX = 10.0
"""Far more than it takes: opening must not depend on how much was written."""
JOBS_SECONDS_MAX = 30.0
LOAD_SECONDS_MAX = 0.5
EVERYTHING = Range(b"", b"\xff", False, 1 << 40, 1 << 40)

MANY_ITEMS = 1500
ADD_INDEX: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("p", "s", "l")],
    "GlobalSecondaryIndexUpdates": [
        {
            "Create": {
                "IndexName": "added",
                "KeySchema": [{"AttributeName": "l", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
    ],
}


@contextmanager
def reopened(directory: Path) -> Iterator[EmbeddedEngine]:
    """The store alone, without the jobs that would go on at once."""
    begun = time.monotonic()
    engine = EmbeddedEngine.open(directory)
    try:
        assert time.monotonic() - begun < OPEN_SECONDS_MAX
        yield engine
    finally:
        engine.close()


def check(directory: Path, at_rest: bool = False) -> dict[Key, Any] | None:
    """All records agree with one another, and, `at_rest`, there are no others. Gives the items of `TABLE`."""
    with reopened(directory) as engine:
        catalogs = driver.complete(engine, load_catalogs())
        records = dict(engine.range(EVERYTHING).records)
        tables = [table for catalog in catalogs.values() for table in catalog]
        for table in tables:
            check_table(table, records, lambda key: engine.tally([key])[0])
        for catalog in catalogs.values():
            for stream in catalog.streams.values():
                own = [table for table in catalog if table.table_id == stream.table_id]
                check_stream(stream, own[0] if own else None, records)
    if at_rest:
        check_nothing_else(tables, records)
    crashing = [table for table in tables if table.name == TABLE]
    return {key_of(item): item for item in items_of(crashing[0], records).values()} if crashing else None


def let_jobs_finish(directory: Path) -> None:
    """Until every index is filled and every dropped space is cleared."""
    with torusdb.open(directory) as database:
        catalog = database._home.catalog
        give_up = time.monotonic() + JOBS_SECONDS_MAX
        while catalog.leftovers or any(map(is_filling, catalog)):
            assert time.monotonic() < give_up, "the jobs do not come to an end"
            time.sleep(0.002)  # they run in a thread of their own, and tell nobody
        for table in catalog:
            answer = database.call("DescribeTable", {"TableName": table.name})["Table"]
            counted = database.call("Scan", {"TableName": table.name, "Select": "COUNT"})
            assert "LastEvaluatedKey" in counted or answer["ItemCount"] == counted["Count"]


def is_filling(table: Table) -> bool:
    return any(index.status != "ACTIVE" for index in table.indexes) or bool(table.ttl and table.ttl.filling)


class Crashes:
    """A directory whose server is killed again and again."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory = directory
        self.random = Random(seed)
        self._counters = Counters()
        self._writers = [Writer(number, Random(f"{seed} {number}"), self._counters) for number in range(WRITERS)]
        create(directory)

    @property
    def acknowledged_count(self) -> int:
        return sum(writer.acknowledged_count for writer in self._writers)

    def round(self, disturb: Callable[[ServerProcess], None] | None = None) -> None:
        """Writers write, `disturb` does what it does, and at some moment the server is killed."""
        with ServerProcess(self.directory) as server:
            threads = [threading.Thread(target=writer.write_until_gone, args=[server]) for writer in self._writers]
            for thread in threads:
                thread.start()
            if disturb is not None:
                disturb(server)
            time.sleep(self.random.uniform(0, LOAD_SECONDS_MAX))  # the moment of the crash is what varies
            server.kill()
            for thread in threads:
                thread.join()
        items = check(self.directory)
        assert items is not None
        self._counters.found([_count(items, number) for number in range(COUNTERS)])
        for writer in self._writers:
            writer.found(items)
        let_jobs_finish(self.directory)
        assert check(self.directory, at_rest=True) == items


def test_what_was_acknowledged_outlives_a_killed_server(tmp_path: Path) -> None:
    crashes = Crashes(tmp_path / "data", seed=1)
    for _ in range(3):
        crashes.round()
    assert crashes.acknowledged_count > 20


@pytest.mark.slow
def test_what_was_acknowledged_outlives_many_kills(tmp_path: Path) -> None:
    crashes = Crashes(tmp_path / "data", seed=3)
    for _ in range(50):
        crashes.round()


def _count(items: dict[Any, Any], number: int) -> int:
    counter = items.get(("counter", str(number)))
    return 0 if counter is None else int(counter["n"]["N"])


def create(directory: Path) -> None:
    with torusdb.open(directory) as database:
        database.call("CreateTable", crash_writers.CREATE)
        database.call("UpdateTimeToLive", crash_writers.ENABLE_TIME_TO_LIVE)


def fill(directory: Path) -> None:
    with torusdb.open(directory, durability="relaxed") as database:
        for start in range(0, MANY_ITEMS, 25):
            members = [
                {"PutRequest": {"Item": {"p": {"S": f"many{n % 10}"}, "s": {"S": str(n)}, "l": {"S": str(n % 7)}}}}
                for n in range(start, start + 25)
            ]
            database.call("BatchWriteItem", {"RequestItems": {TABLE: members}})


@pytest.mark.parametrize(
    ("seed", "rounds"), [(4, 2), pytest.param(5, 20, marks=pytest.mark.slow)], ids=["quick", "long"]
)
def test_a_back_fill_goes_on_after_a_crash(tmp_path: Path, seed: int, rounds: int) -> None:
    crashes = Crashes(tmp_path / "data", seed)
    fill(crashes.directory)

    def add_or_drop_index(server: ServerProcess) -> None:
        connection = server.connect()
        with_index = any(index["IndexName"] == "added" for index in described(connection)["GlobalSecondaryIndexes"])
        if with_index:
            drop = {"TableName": TABLE, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "added"}}]}
            connection.call("UpdateTable", drop)
        connection.call("UpdateTable", ADD_INDEX)
        time.sleep(crashes.random.uniform(0, 0.05))
        server.kill()
        connection.close()

    for _ in range(rounds):
        crashes.round(add_or_drop_index)
    with torusdb.open(crashes.directory) as database:
        table = database.call("DescribeTable", {"TableName": TABLE})["Table"]
        added = next(index for index in table["GlobalSecondaryIndexes"] if index["IndexName"] == "added")
        assert added["IndexStatus"] == "ACTIVE"
        assert added["ItemCount"] >= MANY_ITEMS


def described(connection: Any) -> dict[str, Any]:
    table: dict[str, Any] = connection.call("DescribeTable", {"TableName": TABLE})["Table"]
    return table


@pytest.mark.parametrize(
    ("seed", "rounds"), [(6, 2), pytest.param(7, 20, marks=pytest.mark.slow)], ids=["quick", "long"]
)
def test_a_dropped_table_is_gone_as_a_whole_after_a_crash_or_not_at_all(tmp_path: Path, seed: int, rounds: int) -> None:
    directory = tmp_path / "data"
    random = Random(seed)
    create(directory)
    fill(directory)
    for _ in range(rounds):
        with ServerProcess(directory) as server:
            answered = threading.Event()
            dropping = threading.Thread(target=drop, args=[server, answered])
            dropping.start()
            time.sleep(random.uniform(0, 0.01))
            server.kill()
            dropping.join()
        items = check(directory)
        assert len(items or ()) == (0 if items is None else MANY_ITEMS)
        assert items is None or not answered.is_set()
        let_jobs_finish(directory)
        assert check(directory, at_rest=True) == items
        if items is None:
            create(directory)
            fill(directory)


def drop(server: ServerProcess, answered: threading.Event) -> None:
    connection = server.connect()
    try:
        connection.call("DeleteTable", {"TableName": TABLE})
        answered.set()
    except (ServerGone, Refused):
        pass
    finally:
        connection.close()

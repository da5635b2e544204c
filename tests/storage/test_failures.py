"""When the disk fails: what was acknowledged stays, what was not is answered with one sentence, and it goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torusdb
from tests.storage.full_disk import CREATE
from tests.storage.harness import FsyncGate
from torusdb import Database
from torusdb.storage import embedded
from torusdb.storage.commands import Clear, Commit, Range
from torusdb.storage.embedded import EmbeddedEngine
from torusdb.storage.failures import StorageDamaged, StorageFailed
from torusdb.storage.tickets import Ticket

CHILD_SECONDS_MAX = 120
ALL = Range(b"a", b"z", False, 1 << 40, 1 << 40)
FAILED = "The disk has lost its mind."


# A full disk


def unshare_refused() -> str | None:
    """Why this system gives no mount namespace to this user; None if it does."""
    try:
        mount = ["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        tried = subprocess.run(mount, check=False, capture_output=True)
    except FileNotFoundError:
        return "there is no unshare command"
    return tried.stderr.decode().strip() if tried.returncode else None


@pytest.fixture(scope="module", params=["tmpfs", "limit"])
def full_disk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a server told whose disk filled up."""
    command = [sys.executable, "-m", "tests.storage.full_disk", request.param]
    if request.param == "tmpfs":
        refused = unshare_refused()
        if refused is not None:
            pytest.skip(f"a small disk cannot be mounted: {refused}")
        command = ["unshare", "-Urm", *command]
    directory = tmp_path_factory.mktemp("disk")
    done = subprocess.run([*command, str(directory)], check=False, capture_output=True, timeout=CHILD_SECONDS_MAX)
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, Any] = json.loads(done.stdout)
    told["kind"] = request.param
    return told


def test_a_full_disk_is_told_in_one_sentence(full_disk: dict[str, Any]) -> None:
    status, type_, message = full_disk["refusal"]
    assert (status, type_) == (500, "InternalServerError")
    if full_disk["kind"] == "tmpfs":
        assert message.startswith("The disk that holds ")
        assert message.endswith(" is full; free space on it, and writes will work again.")
        assert full_disk["refused again"] == 500
    else:
        assert "File too large" in message


def test_what_was_acknowledged_can_be_read_while_the_disk_is_full(full_disk: dict[str, Any]) -> None:
    acknowledged = full_disk["acknowledged"]
    assert len(acknowledged) > 1
    assert full_disk["read while full"] == acknowledged
    assert full_disk["read while still full"][: len(acknowledged)] == acknowledged


def test_writes_work_again_when_space_is_freed(full_disk: dict[str, Any]) -> None:
    assert full_disk["written when freed"] is True
    there = full_disk["read when freed"]
    assert set(full_disk["read while still full"]) < set(there)
    assert full_disk["counted"] == len(there)
    assert full_disk["read when opened again"] == there


# A failing fsync, where the engine may not know what has reached the disk


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine.open(tmp_path / "data")
    yield engine
    engine.close()


def commit(engine: EmbeddedEngine, *pairs: tuple[bytes, bytes], **counts: int) -> Ticket:
    with engine.lock:
        ticket = engine.commit(Commit(list(pairs), [], [(name.encode(), n, 10 * n) for name, n in counts.items()]))
    assert ticket is not None
    return ticket


def records(engine: EmbeddedEngine) -> dict[bytes, bytes]:
    with engine.lock:
        found = dict(engine.range(ALL).records)
        assert engine.get(list(found)) == list(found.values())
        assert engine.get_guarded(list(found))[0] == list(found.values())
        backwards = engine.range(Range(ALL.start, ALL.stop, True, ALL.items_max, ALL.bytes_max)).records
        assert dict(backwards) == found
    return {key: value for key, value in found.items() if not key.startswith(b"count")}


def test_a_failed_group_takes_what_was_staged_on_top_of_it_along(engine: EmbeddedEngine) -> None:
    gate = FsyncGate(engine)
    commit(engine, (b"k", b"before"), counter=1).wait()
    gate.close()
    first = commit(engine, (b"k", b"first"), (b"new", b"first"), counter=1)
    gate.wait_until_reached()
    second = commit(engine, (b"l", b"second"), counter=1)
    assert first is not second
    assert engine.get_guarded([b"k", b"l"]) == ([b"first", b"second"], second)
    gate.failure = StorageFailed(FAILED)
    gate.open()

    for ticket in (first, second):
        with pytest.raises(StorageFailed, match=FAILED):
            ticket.wait()
    assert records(engine) == {b"k": b"before"}
    assert engine.get_guarded([b"k", b"l"]) == ([b"before", None], None)
    assert engine.tally([b"counter"]) == [(1, 10)]


def test_a_failed_group_does_not_come_back(engine: EmbeddedEngine, tmp_path: Path) -> None:
    gate = FsyncGate(engine)
    commit(engine, (b"changed", b"before"), (b"kept", b"before"), counter=1).wait()
    gate.failure = StorageFailed(FAILED)
    with pytest.raises(StorageFailed):
        commit(engine, (b"changed", b"lost"), (b"new", b"lost"), counter=1).wait()
    gate.failure = None
    # Written to the log as it is, the failed group would be there now.
    commit(engine, (b"other", b"after")).wait()
    expected = {b"changed": b"before", b"kept": b"before", b"other": b"after"}
    assert records(engine) == expected
    assert engine.tally([b"counter"]) == [(1, 10)]
    engine.close()
    with_fresh_eyes = EmbeddedEngine.open(tmp_path / "data")
    try:
        assert records(with_fresh_eyes) == expected
        assert with_fresh_eyes.tally([b"counter"]) == [(1, 10)]
    finally:
        with_fresh_eyes.close()


def test_counters_go_on_from_what_is_durable(engine: EmbeddedEngine) -> None:
    gate = FsyncGate(engine)
    commit(engine, counter=5).wait()
    gate.failure = StorageFailed(FAILED)
    for _ in range(3):
        with pytest.raises(StorageFailed):
            commit(engine, counter=1).wait()
    gate.failure = None
    commit(engine, counter=1).wait()
    assert engine.tally([b"counter"]) == [(6, 60)]


def test_a_log_is_numbered_on_from_what_is_durable(engine: EmbeddedEngine, tmp_path: Path) -> None:
    def append(*texts: bytes) -> Ticket:
        with engine.lock:
            ticket = engine.commit(Commit([], appends=[(b"log", text) for text in texts]))
        assert ticket is not None
        return ticket

    def numbers() -> dict[int, bytes]:
        with engine.lock:
            page = engine.range(Range(b"log\x00", b"log\xff", False, 1 << 40, 1 << 40))
        return {int.from_bytes(key[3:], "big"): text for key, text in page.records}

    gate = FsyncGate(engine)
    append(b"a", b"b").wait()
    gate.close()
    gate.failure = StorageFailed(FAILED)
    failing = [append(b"lost")]
    gate.wait_until_reached()
    failing.append(append(b"lost too"))
    gate.open()
    for ticket in failing:
        with pytest.raises(StorageFailed, match=FAILED):
            ticket.wait()
    gate.failure = None
    assert numbers() == {1: b"a", 2: b"b"}
    append(b"c").wait()
    engine.close()
    engine = EmbeddedEngine.open(tmp_path / "data")
    append(b"d").wait()
    assert numbers() == {1: b"a", 2: b"b", 3: b"c", 4: b"d"}
    engine.close()


def test_whoever_comes_next_opens_the_store_if_the_last_one_could_not(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = FsyncGate(engine)
    commit(engine, (b"k", b"before"), counter=5).wait()
    gate.failure = StorageFailed(FAILED)
    with pytest.raises(StorageFailed):
        commit(engine, (b"k", b"lost"), counter=1).wait()
    gate.failure = None
    rolled_back: list[dict[bytes, bytes]] = []
    engine.on_rollback = lambda: rolled_back.append(records(engine))

    def refuse(*_: object) -> None:
        raise StorageDamaged(FAILED)

    with monkeypatch.context() as broken:
        broken.setattr(embedded, "open_on_disk", refuse)
        with pytest.raises(StorageFailed, match=FAILED):
            commit(engine, (b"k", b"lost as well")).wait()
        for use in (lambda: engine.get([b"k"]), lambda: engine.range(ALL), lambda: commit(engine, (b"k", b"no"))):
            with pytest.raises(StorageFailed, match=FAILED):
                use()
        assert rolled_back == []
    assert engine.get([b"k"]) == [b"before"]
    # Who keeps copies could not read them when their commit failed, and does so now.
    assert rolled_back == [{b"k": b"before"}]
    commit(engine, counter=1).wait()
    assert engine.tally([b"counter"]) == [(6, 60)]


def test_an_engine_that_could_not_be_opened_again_can_be_closed(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gate = FsyncGate(engine)
    gate.failure = StorageFailed(FAILED)
    for _ in range(2):
        with pytest.raises(StorageFailed):
            commit(engine, (b"k", b"lost")).wait()
    engine.close()
    with pytest.raises(StorageFailed, match="The database is closed"):
        engine.get([b"k"])
    EmbeddedEngine.open(tmp_path / "data").close()


def test_a_write_that_fails_is_as_if_it_had_not_been(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(engine, (b"k", b"before")).wait()

    def refuse(group: object) -> None:
        raise StorageFailed(FAILED)

    with monkeypatch.context() as broken:
        broken.setattr(engine, "_write", refuse)
        with pytest.raises(StorageFailed, match=FAILED):
            commit(engine, (b"k", b"lost")).wait()
        assert records(engine) == {b"k": b"before"}
    commit(engine, (b"l", b"after")).wait()
    assert records(engine) == {b"k": b"before", b"l": b"after"}


def test_a_commit_whose_counter_cannot_be_read_stages_nothing(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(key: bytes) -> tuple[int, int]:
        raise StorageFailed(FAILED)

    with monkeypatch.context() as broken:
        broken.setattr(engine, "_tally", refuse)
        with pytest.raises(StorageFailed, match=FAILED):
            commit(engine, (b"k", b"half"), counter=1)
    commit(engine, (b"l", b"after")).wait()
    assert records(engine) == {b"l": b"after"}


class Stalled:
    """A RocksDB whose compactions have come to a halt."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def write(self, *_: object) -> None:
        raise OSError("Operation incomplete: Write stall")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


def test_a_write_does_not_wait_for_compactions_for_ever(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "STALL_SECONDS_MAX", 0.01)
    monkeypatch.setattr(engine, "_db", Stalled(engine._db))
    with pytest.raises(StorageFailed, match="Write stall"):
        commit(engine, (b"k", b"v")).wait()
    monkeypatch.undo()
    commit(engine, (b"k", b"v")).wait()
    assert records(engine) == {b"k": b"v"}


def test_who_keeps_copies_reads_them_again_before_anyone_hears_of_the_failure(engine: EmbeddedEngine) -> None:
    seen: list[dict[bytes, bytes]] = []
    engine.on_rollback = lambda: seen.append(records(engine))
    gate = FsyncGate(engine)
    gate.failure = StorageFailed(FAILED)
    ticket = commit(engine, (b"k", b"lost"))
    ticket.add_done_callback(lambda _: seen.append({b"told": b""}))
    with pytest.raises(StorageFailed):
        ticket.wait()
    assert seen == [{}, {b"told": b""}]


def test_an_engine_stops_when_copies_cannot_be_read_again(engine: EmbeddedEngine, tmp_path: Path) -> None:
    def unreadable() -> None:
        raise StorageFailed("A read failed.")

    commit(engine, (b"k", b"v")).wait()
    engine.on_rollback = unreadable
    gate = FsyncGate(engine)
    gate.failure = StorageFailed(FAILED)
    with pytest.raises(StorageFailed, match=FAILED):
        commit(engine, (b"k", b"lost")).wait()
    with pytest.raises(StorageFailed, match=r"The database has stopped \(A read failed\.\); start it again\."):
        commit(engine, (b"k", b"refused"))
    assert records(engine) == {b"k": b"v"}
    engine.close()
    EmbeddedEngine.open(tmp_path / "data").close()


def test_nobody_waits_for_ever_for_a_committer_that_broke(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(group: object) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr("threading.excepthook", lambda _: None)
    monkeypatch.setattr(engine, "_write", break_down)
    with pytest.raises(StorageFailed, match="The database has stopped"):
        commit(engine, (b"k", b"lost")).wait()
    with pytest.raises(StorageFailed, match="The database has stopped"):
        commit(engine, (b"k", b"refused"))


def test_a_closed_engine_says_so(engine: EmbeddedEngine) -> None:
    commit(engine, (b"k", b"v")).wait()
    engine.close()
    engine.close()
    for use in (
        lambda: engine.get([b"k"]),
        lambda: engine.get_guarded([b"k"]),
        lambda: engine.range(ALL),
        lambda: engine.tally([b"k"]),
        lambda: engine.commit(Commit([(b"k", b"v")])),
        lambda: engine.clear(Clear(b"a", b"b")),
    ):
        with pytest.raises(StorageFailed, match=r"^The database is closed\.$"):
            use()


def test_closing_waits_for_what_is_staged(engine: EmbeddedEngine, tmp_path: Path) -> None:
    tickets = [commit(engine, (b"k%d" % n, b"v")) for n in range(50)]
    engine.close()
    assert all(ticket.done and ticket.error is None for ticket in tickets)
    again = EmbeddedEngine.open(tmp_path / "data")
    assert len(records(again)) == 50
    again.close()


# The database on an engine that fails


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with torusdb.open(tmp_path / "data") as database:
        yield database


def test_a_table_whose_creation_failed_is_not_there(database: Database) -> None:
    gate = FsyncGate(database._engine)
    gate.failure = StorageFailed(FAILED)
    with pytest.raises(StorageFailed, match=FAILED):
        database.call("CreateTable", CREATE)
    assert database.call("ListTables")["TableNames"] == []
    gate.failure = None
    database.call("CreateTable", CREATE)
    assert database.call("ListTables")["TableNames"] == ["items"]


def test_a_table_whose_deletion_failed_is_there_with_all_it_holds(database: Database) -> None:
    database.call("CreateTable", CREATE)
    item = {"p": {"S": "1"}}
    database.call("PutItem", {"TableName": "items", "Item": item})
    gate = FsyncGate(database._engine)
    gate.failure = StorageFailed(FAILED)
    with pytest.raises(StorageFailed, match=FAILED):
        database.call("DeleteTable", {"TableName": "items"})
    gate.failure = None
    # The jobs go on as well: neither they nor a later write may clear what was to be dropped.
    database.call("PutItem", {"TableName": "items", "Item": {"p": {"S": "2"}}})
    assert database.call("GetItem", {"TableName": "items", "Key": item})["Item"] == item
    table = database.call("DescribeTable", {"TableName": "items"})["Table"]
    assert (table["TableStatus"], table["ItemCount"]) == ("ACTIVE", 2)


def test_a_failed_write_leaves_items_indexes_and_sizes_alone(database: Database) -> None:
    index = {
        "IndexName": "by_g",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    types = [*CREATE["AttributeDefinitions"], {"AttributeName": "g", "AttributeType": "S"}]
    database.call("CreateTable", {**CREATE, "AttributeDefinitions": types, "GlobalSecondaryIndexes": [index]})
    item = {"p": {"S": "1"}, "g": {"S": "before"}}
    database.call("PutItem", {"TableName": "items", "Item": item})
    before = told(database)
    gate = FsyncGate(database._engine)
    gate.failure = StorageFailed(FAILED)
    with pytest.raises(StorageFailed, match=FAILED):
        database.call("PutItem", {"TableName": "items", "Item": {"p": {"S": "1"}, "g": {"S": "lost"}}})
    assert told(database) == before
    gate.failure = None
    database.call("PutItem", {"TableName": "items", "Item": {"p": {"S": "2"}}})
    database.call("DeleteItem", {"TableName": "items", "Key": {"p": {"S": "2"}}})
    assert told(database) == before


def told(database: Database) -> Any:
    table = database.call("DescribeTable", {"TableName": "items"})["Table"]
    return (
        database.call("Scan", {"TableName": "items"})["Items"],
        database.call("Scan", {"TableName": "items", "IndexName": "by_g"})["Items"],
        [
            (one["ItemCount"], one.get("TableSizeBytes", one.get("IndexSizeBytes")))
            for one in (table, *table["GlobalSecondaryIndexes"])
        ],
    )

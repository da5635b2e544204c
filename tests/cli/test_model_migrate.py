"""`torusdb model migrate` on a server of its own, as a person runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import COMMAND, DEADLINE_SECONDS, ENVIRONMENT, ServerProcess, serving
from torusdb.cli import main
from torusdb.modeling.migrations import Run

pytest.importorskip("boto3", reason="the command's client is boto3's")

IN_PLACE = """
from torusdb.modeling import Table
from torusdb.modeling.migrations import in_place

things = Table("things", partition_key="pk")

@in_place(things, version=2, marker="_v")
def added(item):
    if item["pk"]["S"] == "bad":
        raise ValueError("bad")
    return {**item, "x": {"N": str(int(item["x"]["N"]) + 1000)}}
"""

INTO_TABLE = """
from torusdb.modeling import Table
from torusdb.modeling.migrations import into_table

@into_table(Table("new-things", partition_key="id"), source=Table("things", partition_key="pk"))
def renamed(item):
    return {"id": item["pk"], "x": item["x"]}
"""

TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerProcess]:
    for name, value in credentials().items():
        monkeypatch.setenv(name, value)
    with serving("--in-memory") as running:
        running.call("CreateTable", TABLE)
        yield running


def credentials() -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


def put(server: ServerProcess, *keys: str) -> None:
    for number, key in enumerate(keys):
        item = {"pk": {"S": key}, "x": {"N": str(number)}}
        assert server.call("PutItem", {"TableName": "things", "Item": item}) == {}


def items(server: ServerProcess, table: str = "things") -> list[Any]:
    return sorted(server.call("Scan", {"TableName": table})["Items"], key=repr)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"migration_{time.monotonic_ns()}.py"  # a module of its own
    path.write_text(IN_PLACE)
    return path


def migrate(server: ServerProcess, file: Path, *options: str) -> int:
    return main(["model", "migrate", str(file), "--endpoint-url", server.endpoint, *options])


def test_items_are_converted_in_place(server: ServerProcess, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(server, "a", "b", "c")
    assert migrate(server, file, "--resume") == 1
    assert "There is no run to go on with" in capsys.readouterr().err
    assert migrate(server, file, "--dry-run", "--units", "10") == 0
    dry = capsys.readouterr().out
    assert "3 items looked at, nothing written\n3 converted\n" in dry
    assert "- x: {'N': '0'}\n+ x: {'N': '1000'}" in dry
    assert "about 1 read and 3 write units, 0 of them for indexes;" in dry
    assert [item["x"] for item in items(server)] == [{"N": str(number)} for number in range(3)]
    assert migrate(server, file, "--verify") == 1
    assert "is not converted" in capsys.readouterr().out
    assert migrate(server, file, "--segments", "2") == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[0] == "added: 3 read, 3 converted"
    assert told.out.splitlines()[-1] == "Done."
    assert re.match(r"added \(scanning\): \d of 3  ", told.err)
    assert [item["x"] for item in items(server)] == [{"N": str(1000 + number)} for number in range(3)]
    assert migrate(server, file, "--verify") == 0
    assert file.with_name("added.state.json").exists()
    assert migrate(server, file, "--restart", "--capacity", "1.5") == 1
    assert "capacity is a share, above 0 and up to 1, not 1.5" in capsys.readouterr().err
    assert migrate(server, file, "--restart") == 0
    assert "3 already" in capsys.readouterr().out


def test_refused_items_are_named(server: ServerProcess, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(server, "a", "bad")
    assert migrate(server, file) == 1
    out = capsys.readouterr().out
    assert 'refused {"pk":{"S":"bad"}}: The conversion raised ValueError: bad\n' in out
    assert "Not done: mend the conversion or the items, and run it again" in out
    assert migrate(server, file, "--restart", "--on-error", "stop") == 1
    assert 'The item {"pk":{"S":"bad"}} was refused' in capsys.readouterr().err


def test_what_is_done_on_one_server_is_not_done_on_another(
    server: ServerProcess, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(server, "a", "b")
    assert migrate(server, file) == 0
    with serving("--in-memory") as other:
        other.call("CreateTable", TABLE)
        put(other, "a", "b", "c")
        assert migrate(other, file) == 1
        told = capsys.readouterr()
        assert "state of a run on another table things" in told.err
        assert "Give this run a state of its own (--state OTHER)" in told.err
        assert not any("_v" in item for item in items(other))
        assert migrate(other, file, "--state", str(file.with_name("other.json"))) == 0
        assert all("_v" in item for item in items(other))
    assert migrate(server, file) == 0, "its own state is as it was"


def test_what_is_wrong_is_counted_where_it_is_not_shown(
    server: ServerProcess, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(server, *(f"thing {number}" for number in range(23)))
    assert migrate(server, file, "--verify") == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "and 3 more wrong",
        "23 wrong: it is not as it should be.",
    ]


def test_a_server_of_ones_own_asks_for_no_credentials(
    server: ServerProcess, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(server, "a")
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert migrate(server, file) == 0
    assert "_v" in items(server)[0]
    file.write_text(INTO_TABLE)
    assert migrate(server, file.rename(tmp_path / "copying.py"), "--quiet-seconds", "0.1") == 0


def test_a_clean_up_in_place_says_what_it_removed(
    server: ServerProcess, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert migrate(server, file) == 0
    state = file.with_name("added.state.json")
    assert state.exists()
    capsys.readouterr()
    assert migrate(server, file, "--clean-up") == 0
    assert capsys.readouterr().out == f"Removed the state, {state}.\n"
    assert [each for each in file.parent.iterdir() if each.is_file()] == [file]


def test_what_writes_nothing_makes_no_table_of_states(server: ServerProcess, file: Path) -> None:
    put(server, "a")
    assert migrate(server, file, "--dry-run", "--state-table", "states") == 0
    assert migrate(server, file, "--verify", "--state-table", "states") == 1
    assert server.call("ListTables", {})["TableNames"] == ["things"]


def test_another_table_is_filled_followed_and_switched_to(
    server: ServerProcess, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--state-table", "migrations", "--quiet-seconds", "0.1"]
    file.write_text(INTO_TABLE)
    put(server, "a", "b", "c")
    assert migrate(server, file, *options) == 0
    assert "new-things is current. Stop what writes to things, then say --switch." in capsys.readouterr().out
    put(server, "d")
    assert migrate(server, file, "--clean-up", *options) == 1
    assert migrate(server, file, "--switch", *options) == 0
    assert "4 items, 4 compared; 4 expected, 4 found\nAll is as it should be." in capsys.readouterr().out
    assert [item["id"]["S"] for item in items(server, "new-things")] == ["a", "b", "c", "d"]
    capsys.readouterr()
    assert migrate(server, file, "--clean-up", *options) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Removed the table new-things-ledger, the table new-things-leases.",
        "The state stays, the item {'migration': {'S': 'renamed'}} of migrations: "
        "it keeps new-things from being written to again.",
    ]
    assert server.call("ListTables", {})["TableNames"] == ["migrations", "new-things", "things"]


def test_a_run_that_is_killed_goes_on_where_it_stood(server: ServerProcess, file: Path, tmp_path: Path) -> None:
    put(server, *(f"thing {each}" for each in range(150)))
    gate = tmp_path / "gate"
    waiting = f"    while len(seen) > 100 and not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
    counting = IN_PLACE.replace("def added(item):\n", "def added(item):\n    seen.append(1)\n" + waiting)
    file.write_text("import os, time\nseen = []\n" + counting)
    command = [*COMMAND, "model", "migrate", str(file), "--endpoint-url", server.endpoint, "--segments", "1"]
    with subprocess.Popen(command, env={**ENVIRONMENT, **credentials()}) as process:
        give_up = time.monotonic() + DEADLINE_SECONDS
        while not file.with_name("added.state.json").exists():  # after the first hundred
            assert time.monotonic() < give_up
            assert process.poll() is None
        process.kill()
    assert sum("_v" in item for item in items(server)) == 100
    gate.touch()
    assert migrate(server, file) == 0
    assert sorted(int(item["x"]["N"]) for item in items(server)) == list(range(1000, 1150))


def test_a_run_that_is_interrupted_says_how_to_go_on(
    server: ServerProcess, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(run: Run, restart: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "migrate", interrupt)
    assert migrate(server, file) == 130
    assert capsys.readouterr().err == "torusdb: stopped; the same command goes on where it stands\n"


def test_what_cannot_be_run_is_told_in_a_line(
    server: ServerProcess,
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    empty = tmp_path / "empty_migration.py"
    empty.write_text("")
    two = tmp_path / "two_migrations.py"
    two.write_text(IN_PLACE + INTO_TABLE)
    for path, options, told in [
        (empty, [], "declares no migration: write a function with @in_place(…) or @into_table(…)"),
        (two, [], "declares added, renamed: say which with --migration"),
        (two, ["--migration", "other"], "declares no migration other, but added, renamed"),
        (tmp_path / "none.py", [], "There is no file"),
        (file, ["--switch"], "is in place: there is nothing to switch to"),
        (file, ["--endpoint-url", "nonsense"], "nvalid endpoint: nonsense"),
        (file, ["--endpoint-url", "http://127.0.0.1:1"], "Could not connect to the endpoint"),
        (file, ["--segments", "0"], "A migration has 1 to 256 segments, not 0"),
    ]:
        assert migrate(server, path, *options) == 1
        said = capsys.readouterr().err
        assert told in said
        assert said.startswith("torusdb: ")
    assert sorted(each.suffix for each in tmp_path.iterdir() if each.is_file()) == [".py"] * 3, "nothing is left"
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert migrate(server, file) == 1
    assert "boto3 is needed: pip install 'torusdb[aws]'" in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["model", "migrate", "--help"])
    out = capsys.readouterr().out
    assert "torusdb model migrate split_names.py --dry-run --sample 1000" in out
    for option in ("--dry-run", "--segments", "--capacity", "--units", "--resume", "--restart", "--verify", "--switch"):
        assert option in out

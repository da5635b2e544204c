"""`torusdb serve` as a person starts it: what it says, what it refuses, what it keeps."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import torusdb as package
from tests.processes import DEADLINE_SECONDS, serving, torusdb
from torusdb import database
from torusdb.cli.main import main
from torusdb.operations.context import Settings
from torusdb.storage.failures import StorageError

README = Path(__file__).parents[2] / "README.md"
TABLE = {
    "TableName": "Music",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
SONG = {"pk": {"S": "Sinnerman"}}


def refusal(*options: str, cwd: Path | None = None) -> str:
    """The one line in which `serve` says why it does not start."""
    ended = torusdb("serve", "--port", "0", *options, cwd=cwd)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("torusdb: ")
    assert ended.stderr.count("\n") == 1, ended.stderr
    return ended.stderr.removeprefix("torusdb: ").rstrip("\n")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that was used and closed."""
    with package.open(tmp_path / "data") as db:
        db.call("CreateTable", TABLE)
    return tmp_path / "data"


# What it says


def test_the_start_says_where_it_listens_and_where_the_data_is(tmp_path: Path) -> None:
    with serving("--data-dir", "somewhere/below", cwd=tmp_path) as server:
        assert server.announced == (
            f"TorusDB {package.__version__} at http://127.0.0.1:{server.port}\n"
            f"Data: {tmp_path}/somewhere/below (fsync)\n"
            "Ctrl-C stops it.\n"
        )
        assert server.call("ListTables", {}) == {"TableNames": []}
        assert server.end() == (0, "")
    assert (tmp_path / "somewhere/below/TORUSDB").exists()


def test_the_default_data_directory_is_below_the_working_directory(tmp_path: Path) -> None:
    with serving("--durability", "relaxed", cwd=tmp_path) as server:
        assert f"Data: {tmp_path}/torusdb-data (relaxed)\n" in server.announced


def test_a_server_in_memory_says_that_it_forgets_and_leaves_no_files(tmp_path: Path) -> None:
    with serving("--in-memory", cwd=tmp_path) as server:
        assert "Data: in memory, gone at the end\n" in server.announced
        server.call("CreateTable", TABLE)
        assert server.end()[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_it_like_sigterm() -> None:
    with serving("--in-memory") as server:
        assert server.end(signal.SIGINT)[0] == 0


def test_the_version_is_the_packages() -> None:
    assert torusdb("--version").stdout == f"torusdb {package.__version__}\n"


def test_no_command_is_wrong_usage_and_shows_the_commands() -> None:
    ended = torusdb()
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "serve" in ended.stderr


def options_of_help() -> set[str]:
    return set(re.findall(r"^  (--[a-z-]+)", torusdb("serve", "--help").stdout, re.MULTILINE))


def test_the_help_has_examples_and_explains_every_option() -> None:
    text = torusdb("serve", "--help").stdout
    assert "\n  torusdb serve --in-memory --port 0 " in text
    usage, _, explained = text.partition("\n\n")
    named = set(re.findall(r"--[a-z-]+", usage))
    assert named
    assert named == options_of_help()
    for option in named:
        assert re.search(rf"^  {option}\b[^\n]*?(\n {{10,}}|  +)[A-Z]", explained, re.MULTILINE), option


def test_every_option_stands_in_the_readme_and_no_other() -> None:
    table = README.read_text().split("| `torusdb serve` |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (`--[^|]+) \|", table, re.MULTILINE)
    assert set(re.findall(r"--[a-z-]+", " ".join(rows))) == options_of_help()


def test_the_defaults_in_the_readme_are_those_of_the_help() -> None:
    table = README.read_text().split("| `torusdb serve` |")[1].split("\n\n")[0]
    told = dict(re.findall(r"^\| `(--[a-z-]+)` \| `([^`]+)`", table, re.MULTILINE))
    text = re.sub(r"\s+", " ", torusdb("serve", "--help").stdout.partition("options:")[2])
    for option, default in told.items():
        shown = re.search(rf" {option} .*?\[([^\]]+)\]", text)
        assert shown is not None, option
        assert shown[1].removesuffix(".0") == default


# What it refuses


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_taken_port_is_told_in_one_line(tmp_path: Path, taken_port: int) -> None:
    said = refusal("--port", str(taken_port), "--data-dir", str(tmp_path / "data"))
    assert said == f"Port {taken_port} on 127.0.0.1 is taken: address already in use"


def test_an_unknown_host_is_told_in_one_line() -> None:
    assert refusal("--in-memory", "--host", "no.such.host.invalid").startswith(
        "Cannot listen on no.such.host.invalid: "
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_listening_beyond_this_machine_wants_to_be_meant(host: str) -> None:
    assert refusal("--in-memory", "--host", host) == (
        f"Refusing to listen on {host}: it is reachable from other machines, and requests are not authenticated. "
        "Name a file of access keys with --auth, listen on 127.0.0.1, or say --insecure."
    )


def test_listening_beyond_this_machine_is_possible_when_meant() -> None:
    with serving("--in-memory", "--host", "0.0.0.0", "--insecure") as server:
        assert server.endpoint == f"http://0.0.0.0:{server.port}"
        assert server.call("ListTables", {}) == {"TableNames": []}


@pytest.mark.parametrize(
    "options",
    [
        ["--port", "65536"],
        ["--port", "-1"],
        ["--port", "http"],
        ["--table-delay", "-1"],
        ["--table-delay", "nan"],
        ["--table-delay", "soon"],
        ["--ttl-period", "often"],
        ["--ttl-delay", "-1"],
        ["--durability", "some"],
        ["--region", ""],
        ["--region", "eu:west"],
        ["--data-dir", "data"],
        ["--dat", "x"],
        ["--nonsense"],
        ["extra"],
    ],
)
def test_a_wrong_option_is_wrong_usage(options: list[str]) -> None:
    ended = torusdb("serve", "--in-memory", *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "usage: torusdb serve " in ended.stderr
    assert "error: " in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_wrong_option_before_the_command_is_wrong_usage() -> None:
    ended = torusdb("--nonsense")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.endswith("torusdb: error: unrecognized arguments: --nonsense\n")


def test_a_directory_is_served_by_one_process(data: Path) -> None:
    with serving("--data-dir", str(data)) as server:
        assert refusal("--data-dir", str(data)) == (
            f"The database in {data} is open in another process (pid {server.process.pid}); "
            "close it there first, or choose another directory."
        )
        assert server.call("ListTables", {}) == {"TableNames": ["Music"]}


def test_a_directory_of_a_newer_version_is_left_alone(data: Path) -> None:
    (data / "TORUSDB").write_text("TorusDB data directory, format 99\n")
    said = refusal("--data-dir", str(data))
    assert said.startswith(f"The database in {data} was written by a newer version of TorusDB (format 99")


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    said = refusal("--data-dir", str(tmp_path))
    assert said == f"The directory {tmp_path} is not empty and holds no TorusDB database; choose another one."
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("damaged", ["TORUSDB", "rocksdb/CURRENT"])
def test_a_damaged_directory_is_told_in_one_line(data: Path, damaged: str) -> None:
    (data / damaged).write_text("nonsense\n")
    said = refusal("--data-dir", str(data))
    assert said.startswith(f"The database in {data} is damaged")
    assert "restore the directory from a backup" in said


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    for path in (tmp_path / "data", tmp_path / "data" / "below"):
        assert refusal("--data-dir", str(path)).startswith(f"The data directory {path} cannot be used: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_told_in_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    said = refusal("--data-dir", str(tmp_path / "data"))
    assert said.startswith(f"The data directory {tmp_path / 'data'} cannot be used: permission denied")


def test_a_place_that_takes_no_directory_is_told_in_one_line() -> None:
    assert refusal("--data-dir", "/proc/torusdb-data").startswith(
        "The data directory /proc/torusdb-data cannot be used"
    )


# What it keeps


def test_data_is_there_again_after_a_restart(tmp_path: Path) -> None:
    options = ["--data-dir", str(tmp_path / "data")]
    with serving(*options) as server:
        server.call("CreateTable", TABLE)
        assert server.call("PutItem", {"TableName": "Music", "Item": SONG}) == {}
        server.end()
    with serving(*options) as server:
        assert server.call("GetItem", {"TableName": "Music", "Key": SONG}) == {"Item": SONG}


def test_data_is_there_again_after_a_kill(tmp_path: Path) -> None:
    options = ["--data-dir", str(tmp_path / "data")]
    with serving(*options) as server:
        server.call("CreateTable", TABLE)
        assert server.call("PutItem", {"TableName": "Music", "Item": SONG}) == {}
        server.end(signal.SIGKILL)
    with serving(*options) as server:
        assert server.call("GetItem", {"TableName": "Music", "Key": SONG}) == {"Item": SONG}


# What else its options do


def test_tables_are_in_the_region_that_is_named() -> None:
    with serving("--in-memory", "--region", "eu-west-2") as server:
        arn = server.call("CreateTable", TABLE)["TableDescription"]["TableArn"]
        assert arn == "arn:aws:dynamodb:eu-west-2:000000000000:table/Music"


def test_tables_take_their_time_where_a_delay_is_named() -> None:
    with serving("--in-memory", "--table-delay", "1000") as server:
        server.call("CreateTable", TABLE)
        assert server.call("DescribeTable", {"TableName": "Music"})["Table"]["TableStatus"] == "CREATING"


TIME_TO_LIVE = {"TableName": "Music", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"}}


def test_expired_items_go_by_themselves() -> None:
    with serving("--in-memory", "--ttl-period", "0.01") as server:
        server.call("CreateTable", TABLE)
        server.call("UpdateTimeToLive", TIME_TO_LIVE)
        server.call("PutItem", {"TableName": "Music", "Item": {**SONG, "expires": {"N": str(int(time.time()) - 60)}}})
        give_up = time.monotonic() + DEADLINE_SECONDS
        while server.call("GetItem", {"TableName": "Music", "Key": SONG}):
            assert time.monotonic() < give_up


def test_options_of_time_are_the_databases_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[Settings] = []

    def stop(*_: Any, **more: Any) -> None:
        settings.append(more["settings"])
        raise StorageError("seen")

    monkeypatch.setattr(database, "Database", stop)
    options = ["--table-delay", "2", "--ttl-period", "3", "--ttl-delay", "4"]
    assert main(["serve", "--in-memory", *options]) == 1
    assert settings == [Settings(table_delay_seconds=2, ttl_period_seconds=3, ttl_delay_seconds=4)]


def test_accounts_are_told_apart_where_that_is_asked_for() -> None:
    with serving("--in-memory", "--by-credentials") as server:
        arn = server.call("CreateTable", TABLE)["TableDescription"]["TableArn"]
        assert re.fullmatch(r"arn:aws:dynamodb:us-east-1:(?!000000000000)\d{12}:table/Music", arn)


# Authentication


def test_keys_are_made_used_and_taken_away(tmp_path: Path) -> None:
    import boto3
    from botocore.exceptions import ClientError

    keys = tmp_path / "keys.json"
    made = torusdb("keys", "add", str(keys), "--user", "alice", "--account", "123456789012", "--full-access").stdout
    given = dict(line.split(" = ", 1) for line in made.splitlines()[1:])
    with serving("--in-memory", "--auth", str(keys), "--host", "0.0.0.0") as server:
        client = boto3.client(
            "dynamodb", endpoint_url=f"http://127.0.0.1:{server.port}", region_name="us-east-1", **given
        )
        arn = client.create_table(**TABLE)["TableDescription"]["TableArn"]
        assert arn == "arn:aws:dynamodb:us-east-1:123456789012:table/Music"
        assert server.call("ListTables", {})["__type"].endswith("#InvalidSignatureException")
        assert torusdb("keys", "remove", str(keys), given["aws_access_key_id"]).returncode == 0
        with pytest.raises(ClientError, match="UnrecognizedClientException"):
            _without_end(client.list_tables)  # the change is seen within a second
        client.close()


def _without_end(call: Callable[[], object]) -> None:
    while True:
        call()


def test_a_bad_file_of_keys_is_told_in_one_line(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    assert refusal("--in-memory", "--auth", str(keys)) == f"Cannot read {keys}: no such file or directory"
    keys.write_text("[]")
    assert refusal("--in-memory", "--auth", str(keys)) == (f"{keys} is no file of keys: expected `object`, got `array`")


def test_bad_files_for_tls_are_told_in_one_line(tmp_path: Path) -> None:
    assert refusal("--in-memory", "--tls-cert", "cert.pem") == "--tls-cert and --tls-key go together."
    said = refusal("--in-memory", "--tls-cert", "cert.pem", "--tls-key", "key.pem", cwd=tmp_path)
    assert said == "Cannot read cert.pem: no such file or directory"

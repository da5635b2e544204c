"""`torusdb keys` as a person uses it."""

from __future__ import annotations

import json
import re
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.processes import torusdb
from torusdb.access.keyring import read_key_file
from torusdb.cli import main

README = Path(__file__).parents[2] / "README.md"


class Keys:
    """The command, run in this process on one file."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._capsys = capsys

    def __call__(self, command: str, *arguments: str) -> str:
        """What a command that succeeds writes to stdout."""
        assert main(["keys", command, str(self.path), *arguments]) == 0
        out, self.said = self._capsys.readouterr()
        return out

    def refusal(self, command: str, *arguments: str) -> str:
        assert main(["keys", command, str(self.path), *arguments]) == 1
        out, said = self._capsys.readouterr()
        assert out == ""
        assert said.startswith("torusdb: ")
        assert said.count("\n") == 1
        return said.removeprefix("torusdb: ").rstrip("\n").replace(str(self.path), "FILE")

    def add(self, *arguments: str) -> dict[str, str]:
        return dict(line.split(" = ", 1) for line in self("add", *arguments).splitlines()[1:])


@pytest.fixture
def keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Keys:
    return Keys(tmp_path / "keys.json", capsys)


def test_the_first_key_of_a_user_makes_the_user_and_the_file(keys: Keys) -> None:
    out = keys("add", "--user", "alice", "--full-access")
    assert re.fullmatch(
        r"\[alice\]\naws_access_key_id = AKIA[A-Z2-7]{16}\naws_secret_access_key = [A-Za-z0-9+/]{40}\n", out
    )
    assert keys.said == "The secret is not shown again.\n"
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    (user,) = read_key_file(keys.path).users
    assert (user.name, user.account, len(user.keys)) == ("alice", "000000000000", 1)
    statement = {"Effect": "Allow", "Action": ["dynamodb:*"], "Resource": "*"}
    assert user.policies == [{"Version": "2012-10-17", "Statement": [statement]}]


def test_another_key_leaves_the_first(keys: Keys) -> None:
    first, second = keys.add("--user", "alice", "--full-access"), keys.add("--user", "alice")
    (user,) = read_key_file(keys.path).users
    assert [key.access_key_id for key in user.keys] == [first["aws_access_key_id"], second["aws_access_key_id"]]
    assert user.keys[1].secret_access_key == second["aws_secret_access_key"]


def test_a_new_user_needs_a_policy_and_an_old_one_keeps_its_own(keys: Keys) -> None:
    assert keys.refusal("add", "--user", "alice") == (
        "There is no user 'alice' yet: say --full-access, --read-only or --policy PATH"
    )
    assert not keys.path.exists()
    keys.add("--user", "alice", "--read-only")
    assert keys.refusal("add", "--user", "alice", "--full-access") == (
        "The user 'alice' is there already: its policies stand in FILE"
    )


def test_policies_come_from_files(keys: Keys, tmp_path: Path) -> None:
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}]}
    good, bad, no_json = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "none.json"
    good.write_text(json.dumps(policy))
    bad.write_text(json.dumps({"Statement": [{"Effect": "Perhaps"}]}))
    no_json.write_text("{")
    keys.add("--user", "app", "--policy", str(good), "--policy", str(good))
    assert read_key_file(keys.path).users[0].policies == [policy, policy]
    assert keys.refusal("add", "--user", "b", "--policy", str(bad)) == (
        f"{bad}: a policy of the new user cannot be used: the Effect of a Statement is neither Allow nor Deny"
    )
    assert keys.refusal("add", "--user", "b", "--policy", str(no_json)) == f"{no_json} is no JSON"
    assert keys.refusal("add", "--user", "b", "--policy", "/no/where") == (
        "Cannot read /no/where: No such file or directory"
    )
    assert len(read_key_file(keys.path).users) == 1


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65])
def test_names_and_accounts_have_their_form(keys: Keys, name: str) -> None:
    assert "is no name of a user" in keys.refusal("add", "--user", name, "--full-access")
    assert "is no account" in keys.refusal("add", "--user", "alice", "--full-access", "--account", "1")


def test_a_temporary_key_has_a_token_and_an_end(keys: Keys) -> None:
    made = keys.add("--user", "alice", "--full-access", "--valid-for", "12h")
    assert made["aws_access_key_id"].startswith("ASIA")
    key = read_key_file(keys.path).users[0].keys[0]
    assert key.session_token == made["aws_session_token"]
    assert key.created is not None
    assert key.expires is not None
    assert (key.expires - key.created).total_seconds() == 12 * 3600
    assert "is a temporary one" in keys.refusal("rotate", key.access_key_id)


def test_the_list_shows_no_secrets(keys: Keys) -> None:
    made = keys.add("--user", "alice", "--full-access", "--account", "123456789012")
    temporary = keys.add("--user", "alice", "--account", "123456789012", "--valid-for", "1h")
    keys.add("--user", "bob", "--full-access")
    keys("remove", read_key_file(keys.path).users[1].keys[0].access_key_id)
    out = keys("list")
    rows = [re.split("  +", line) for line in out.splitlines()]
    assert rows[0] == ["KEY", "USER", "ACCOUNT", "CREATED", "VALID"]
    assert rows[1][:3] == [made["aws_access_key_id"], "alice", "123456789012"]
    assert rows[1][4] == "until removed"
    assert re.fullmatch(r"until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", rows[2][4])
    assert rows[3] == ["-", "bob", "000000000000", "-", "no key"]
    for secret in (made["aws_secret_access_key"], temporary["aws_secret_access_key"], temporary["aws_session_token"]):
        assert secret not in out


def test_rotating_keeps_the_old_key_until_it_is_removed(keys: Keys) -> None:
    old = keys.add("--user", "alice", "--full-access")["aws_access_key_id"]
    keys("rotate", old)
    assert f"{old} is valid until removed." in keys.said
    first, second = read_key_file(keys.path).users[0].keys
    assert (first.access_key_id, first.expires, second.expires) == (old, None, None)
    keys("remove", old)
    assert read_key_file(keys.path).users[0].keys == [second]


def test_rotating_with_grace_gives_the_old_key_an_end(keys: Keys) -> None:
    old = keys.add("--user", "alice", "--full-access")["aws_access_key_id"]
    keys("rotate", old, "--grace", "24h")
    first, second = read_key_file(keys.path).users[0].keys
    assert first.expires is not None
    assert second.created is not None
    assert (first.expires - second.created).total_seconds() == 86400
    keys("rotate", old, "--grace", "7d")
    assert read_key_file(keys.path).users[0].keys[0].expires == first.expires  # never later than it was
    keys("rotate", old, "--grace", "0s")
    assert "has ended: add a new one" in keys.refusal("rotate", old)


def test_a_new_key_is_as_narrow_as_the_old(keys: Keys) -> None:
    old = keys.add("--user", "alice", "--full-access")["aws_access_key_id"]
    content: dict[str, Any] = json.loads(keys.path.read_text())
    narrow = [{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]}]
    content["Users"][0]["Keys"][0]["Policies"] = narrow
    keys.path.write_text(json.dumps(content))
    keys("rotate", old)
    assert [key.policies for key in read_key_file(keys.path).users[0].keys] == [narrow, narrow]


def test_a_user_is_removed_with_all_keys(keys: Keys) -> None:
    keys.add("--user", "alice", "--full-access")
    assert keys.refusal("remove", "--user", "bob") == "FILE has no user 'bob' of account 000000000000"
    keys("remove", "--user", "alice")
    assert read_key_file(keys.path).users == []


@pytest.mark.parametrize("command", ["rotate", "remove"])
def test_an_unknown_key_is_told(keys: Keys, command: str) -> None:
    keys.add("--user", "alice", "--full-access")
    assert keys.refusal(command, "AKIANOBODY") == "FILE has no key AKIANOBODY"


@pytest.mark.parametrize("command", [("list",), ("rotate", "AKIA"), ("remove", "AKIA")])
def test_a_missing_file_is_told(keys: Keys, command: tuple[str, ...]) -> None:
    assert keys.refusal(*command) == "Cannot read FILE: no such file or directory"


def test_a_missing_directory_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = Keys(tmp_path / "no" / "keys.json", capsys)
    assert there.refusal("add", "--user", "a", "--full-access").endswith("no: no such file or directory")


@pytest.mark.parametrize("duration", ["", "1", "1w", "-1h", "1.5h", "١h"])
def test_durations_have_a_unit(keys: Keys, duration: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["keys", "add", str(keys.path), "--user", "a", f"--valid-for={duration}"])
    assert "is no duration: 90s, 30m, 24h and 7d are" in capsys.readouterr().err


def test_commands_at_the_same_time_lose_nothing(keys: Keys) -> None:
    keys.add("--user", "alice", "--full-access")

    def add(_: int) -> subprocess.CompletedProcess[str]:
        return torusdb("keys", "add", str(keys.path), "--user", "alice")

    with ThreadPoolExecutor() as pool:
        assert {ended.returncode for ended in pool.map(add, range(6))} == {0}
    assert len(read_key_file(keys.path).users[0].keys) == 7


@pytest.mark.parametrize("command", ["add", "list", "rotate", "remove"])
def test_the_help_explains_every_option_and_the_readme_has_every_command(command: str) -> None:
    text = torusdb("keys", command, "--help").stdout
    usage, _, explained = text.partition("\n\n")
    for option in set(re.findall(r"--[a-z-]+", usage)):
        assert re.search(rf"^  (-h, )?{option}\b[^\n]*?(\n {{10,}}|  +)[A-Za-z]", explained, re.MULTILINE), option
    assert f"\n  torusdb keys {command} " in torusdb("keys", "--help").stdout
    assert f"torusdb keys {command} " in README.read_text()

"""The file of keys: what it holds, how it is written, and what is said of a bad one."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.access.conftest import ACCOUNT, ALLOW_ALL
from torusdb.access.keyring import Key, KeyFile, KeyFileError, User, has_expired, read_key_file, utc, write_key_file

KEY = {"AccessKeyId": "AKIAALICE", "SecretAccessKey": "secret"}
USER = {"Name": "alice", "Account": ACCOUNT, "Keys": [KEY]}


def refusal(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(KeyFileError) as caught:
        read_key_file(path)
    said = str(caught.value)
    assert "\n" not in said
    assert "secret" not in said
    return said.replace(str(path), "FILE")


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    at = datetime(2026, 11, 19, 6, 0, 0, tzinfo=UTC)
    key = Key("AKIAALICE", "secret", at, at, "token", [ALLOW_ALL])
    keys = KeyFile(users=[User("alice", ACCOUNT, [ALLOW_ALL], [key]), User("bob", ACCOUNT)])
    write_key_file(tmp_path / "keys.json", keys)
    assert read_key_file(tmp_path / "keys.json") == keys


def test_the_file_is_as_it_is_documented(tmp_path: Path) -> None:
    key = Key("AKIAALICE", "secret", utc(1795068000.9))
    write_key_file(tmp_path / "keys.json", KeyFile(users=[User("alice", ACCOUNT, [ALLOW_ALL], [key])]))
    assert json.loads((tmp_path / "keys.json").read_text()) == {
        "Version": 1,
        "Users": [{**USER, "Policies": [ALLOW_ALL], "Keys": [{**KEY, "Created": "2026-11-19T06:00:00Z"}]}],
    }
    documented = {"Version": 1, "Users": [{**USER, "Keys": [{**KEY, "Expires": "2026-11-20T07:00:00+01:00"}]}]}
    (tmp_path / "keys.json").write_text(json.dumps(documented))
    (user,) = read_key_file(tmp_path / "keys.json").users
    ends = datetime(2026, 11, 20, 6, tzinfo=UTC).timestamp()
    assert [has_expired(user.keys[0], now) for now in (ends - 1, ends)] == [False, True]


def test_only_the_owner_may_read_it_and_a_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "keys.json", tmp_path / "link.json"
    path.write_text("{}")
    path.chmod(0o644)
    link.symlink_to(path)
    write_key_file(link, KeyFile())
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(tmp_path.iterdir()) == [path, link]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys.json"
    write_key_file(path, KeyFile(users=[User("alice", ACCOUNT)]))
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyFileError, match=r"Cannot write .*: no space left on device"):
        write_key_file(path, KeyFile())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "FILE is no file of keys: input data was truncated"),
        ("[]", "FILE is no file of keys: expected `object`, got `array`"),
        ("{\n\n}}", "FILE is no file of keys: JSON is malformed: trailing characters (byte 5)"),
        ("[" * 100000, "FILE is no file of keys: "),
        ({"Version": 2}, "FILE is of version 2: this TorusDB reads version 1"),
        ({"Users": [{**USER, "Secret": 1}]}, "FILE is no file of keys: object contains unknown field `Secret`"),
        ({"Users": [{"Name": "alice"}]}, "FILE is no file of keys: object missing required field `Account`"),
        ({"Users": [{**USER, "Account": "1"}]}, "FILE is no file of keys: expected `str` matching regex"),
        ({"Users": [{**USER, "Name": "a b"}]}, "FILE is no file of keys: expected `str` matching regex"),
        ({"Users": [{**USER, "Keys": [{**KEY, "AccessKeyId": "a/b"}]}]}, "FILE is no file of keys: expected `str`"),
        ({"Users": [{**USER, "Keys": [{**KEY, "SecretAccessKey": ""}]}]}, "FILE is no file of keys: expected `str`"),
        ({"Users": [{**USER, "Keys": [{**KEY, "Expires": "soon"}]}]}, "FILE is no file of keys: invalid RFC3339"),
        (
            {"Users": [{**USER, "Keys": [{**KEY, "Expires": "2026-11-19T06:00:00"}]}]},
            "FILE: a date of the key AKIAALICE has no time zone, such as Z",
        ),
        ({"Users": [USER, USER]}, f"FILE has the user 'alice' of account {ACCOUNT} twice"),
        ({"Users": [USER, {**USER, "Name": "bob"}]}, "FILE has the key AKIAALICE twice"),
        (
            {"Users": [{**USER, "Policies": [{}]}]},
            "FILE: a policy of user 'alice' cannot be used: a policy has no Statement",
        ),
        (
            {"Users": [{**USER, "Keys": [{**KEY, "Policies": [{"Statement": [{"Effect": "Maybe"}]}]}]}]},
            "FILE: a policy of key AKIAALICE cannot be used: the Effect of a Statement is neither Allow nor Deny",
        ),
    ],
)
def test_a_bad_file_is_told_in_a_line(tmp_path: Path, content: Any, said: str) -> None:
    assert refusal(tmp_path / "keys.json", content).startswith(said)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"Cannot read .*/keys.json: no such file or directory"):
        read_key_file(tmp_path / "keys.json")


def test_one_name_in_two_accounts_is_two_users(tmp_path: Path) -> None:
    write_key_file(tmp_path / "keys.json", KeyFile(users=[User("alice", ACCOUNT), User("alice", "1" * 12)]))
    keys = read_key_file(tmp_path / "keys.json")
    assert [user.account for user in keys.users] == [ACCOUNT, "1" * 12]
    assert keys.user("alice", "1" * 12) is keys.users[1]
    assert keys.user("bob", ACCOUNT) is None


def test_a_secret_is_in_no_representation() -> None:
    assert "secret" not in repr(User("alice", ACCOUNT, [], [Key("AKIAALICE", "secret", session_token="secret")]))

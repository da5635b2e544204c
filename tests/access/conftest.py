"""A gate on a file of keys, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.access.signing import ACCESS_KEY, NOW, SECRET, Sent
from torusdb.access.gate import Caller, Gate
from torusdb.access.keyring import Key, KeyFile, User, write_key_file

ALLOW_ALL: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
}
ACCOUNT = "123456789012"


class Clock:
    """Both the time and what measures when to look at the file again."""

    def __init__(self) -> None:
        self.now = NOW.timestamp()

    def __call__(self) -> float:
        return self.now


class Door:
    """A gate, its file and its clock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = Clock()
        self.keys = KeyFile(users=[User("alice", ACCOUNT, [ALLOW_ALL], [Key(ACCESS_KEY, SECRET)])])
        self.write()
        self.gate = Gate(path, now=self.clock, ticks=self.clock)

    def write(self) -> None:
        write_key_file(self.path, self.keys)

    def admit(self, sent: Sent) -> Caller:
        return self.gate.admit(sent.method, sent.target, sent.headers, sent.body)


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path / "keys.json")


Refused = Callable[[Sent], tuple[str, str | None]]


@pytest.fixture
def refused(door: Door) -> Refused:
    """The code and the message with which a request is not let in."""
    from torusdb.errors import ServiceError

    def ask(sent: Sent) -> tuple[str, str | None]:
        with pytest.raises(ServiceError) as caught:
            door.admit(sent)
        assert caught.value.namespace == "com.amazon.coral.service"
        assert caught.value.status == 400
        return caught.value.code, caught.value.message

    return ask

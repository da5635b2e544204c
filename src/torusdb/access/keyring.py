"""The file of access keys: users, their policies, their keys. `torusdb keys` writes it, a server with `--auth` reads
it.

It is JSON:

    {
      "Version": 1,
      "Users": [
        {
          "Name": "alice",
          "Account": "123456789012",
          "Policies": [{"Version": "2012-10-17", "Statement": [...]}],
          "Keys": [
            {
              "AccessKeyId": "AKIA...",
              "SecretAccessKey": "...",
              "Created": "2026-11-19T06:00:00Z",
              "Expires": "2026-11-20T06:00:00Z",  optional
              "SessionToken": "...",              optional: requests must carry it
              "Policies": [...]                   optional: narrow what the user may do, as session policies do
            }
          ]
        }
      ]
    }

It is written to a new file beside it which then takes its place, readable by its owner only.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from torusdb.access.conditions import PolicyError
from torusdb.access.policies import Policy, read_policy

FILE_VERSION: Final = 1
FILE_BYTES_MAX: Final = 16 * 1024 * 1024

USER_NAME_PATTERN: Final = r"^[\w+=,.@-]{1,64}$"
"""As IAM has it (API reference, CreateUser)."""
ACCOUNT_PATTERN: Final = r"^[0-9]{12}$"
KEY_ID_PATTERN: Final = r"^[A-Za-z0-9_]{3,128}$"
"""IAM's are 16 to 128 of these; short ones do for tests."""


class KeyFileError(Exception):
    """A file of keys that cannot be used; the message is one line for the person who named it."""


class _Member(msgspec.Struct, rename="pascal", omit_defaults=True, forbid_unknown_fields=True):
    pass


class Key(_Member):
    access_key_id: Annotated[str, msgspec.Meta(pattern=KEY_ID_PATTERN)]
    secret_access_key: Annotated[str, msgspec.Meta(min_length=1)]
    created: datetime | None = None
    expires: datetime | None = None
    session_token: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    policies: list[dict[str, Any]] | None = None

    def __repr__(self) -> str:  # a secret belongs in no log
        return f"Key({self.access_key_id})"


class User(_Member):
    name: Annotated[str, msgspec.Meta(pattern=USER_NAME_PATTERN)]
    account: Annotated[str, msgspec.Meta(pattern=ACCOUNT_PATTERN)]
    policies: list[dict[str, Any]] = []
    keys: list[Key] = []


class KeyFile(_Member):
    version: int = FILE_VERSION
    users: list[User] = []

    def user(self, name: str, account: str) -> User | None:
        return next((user for user in self.users if user.name == name and user.account == account), None)

    def owner(self, access_key_id: str) -> tuple[User, Key] | None:
        for user in self.users:
            for key in user.keys:
                if key.access_key_id == access_key_id:
                    return user, key
        return None


_decode = msgspec.json.Decoder(KeyFile).decode


def read_key_file(path: Path) -> KeyFile:
    try:
        with path.open("rb") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise KeyFileError(f"Cannot read {path}: {_reason(error)}") from None
    if len(text) > FILE_BYTES_MAX:
        raise KeyFileError(f"{path} is no file of keys: it is larger than {FILE_BYTES_MAX} bytes")
    try:
        keys = _decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise KeyFileError(f"{path} is no file of keys: {_place(error)}") from None
    _check(path, keys)
    return keys


def _place(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if text.startswith("JSON") else text[:1].lower() + text[1:]


def _check(path: Path, keys: KeyFile) -> None:
    if keys.version != FILE_VERSION:
        raise KeyFileError(f"{path} is of version {keys.version}: this TorusDB reads version {FILE_VERSION}")
    users: set[tuple[str, str]] = set()
    ids: set[str] = set()
    for user in keys.users:
        if (user.name, user.account) in users:
            raise KeyFileError(f"{path} has the user '{user.name}' of account {user.account} twice")
        users.add((user.name, user.account))
        policies_of(path, f"user '{user.name}'", user.policies)
        for key in user.keys:
            if key.access_key_id in ids:
                raise KeyFileError(f"{path} has the key {key.access_key_id} twice")
            ids.add(key.access_key_id)
            policies_of(path, f"key {key.access_key_id}", key.policies or [])
            for at in (key.created, key.expires):
                if at is not None and at.tzinfo is None:
                    raise KeyFileError(f"{path}: a date of the key {key.access_key_id} has no time zone, such as Z")


def policies_of(path: Path, owner: str, documents: list[dict[str, Any]]) -> list[Policy]:
    try:
        return [read_policy(document) for document in documents]
    except PolicyError as error:
        raise KeyFileError(f"{path}: a policy of {owner} cannot be used: {error}") from None


def write_key_file(path: Path, keys: KeyFile) -> None:
    """All or nothing, and readable by its owner only."""
    content = {"Version": keys.version, **msgspec.to_builtins(keys)}
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    target = path.resolve()  # of a link, what it leads to is replaced
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # with mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise KeyFileError(f"Cannot write {path}: {_reason(error)}") from None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One command at a time changes the files of a directory: what another has added is not lost."""
    directory = path.resolve().parent
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows has none
        yield
        return
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise KeyFileError(f"Cannot open {directory}: {_reason(error)}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def has_expired(key: Key, now: float) -> bool:
    return key.expires is not None and key.expires.timestamp() <= now


def utc(now: float) -> datetime:
    """The time, to the second, as the file writes it."""
    return datetime.fromtimestamp(int(now), UTC)


def is_user_name(text: str) -> bool:
    return re.search(USER_NAME_PATTERN, text, re.ASCII) is not None


def is_account(text: str) -> bool:
    return re.search(ACCOUNT_PATTERN, text, re.ASCII) is not None


def _reason(error: OSError) -> str:
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]

"""Where progress is kept between runs: a file, or an item of a table.

A state is held by one run at a time. (Two that hold different states of one migration do no harm, since items are
written on conditions; they only do the same work.)"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from torusdb.modeling.migrations.errors import MigrationError
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import error_code
from torusdb.modeling.table import Table
from torusdb.modeling.writes import CONDITION_FAILED
from torusdb.streams.calls import attempt

LEASE_SECONDS: Final = 60.0
"""A run that hasn't kept its state for so long, by the clock of who waits for it, counts as dead."""
LOOKS_PER_LEASE: Final = 12


class State(Protocol):
    @property
    def where(self) -> str:
        """As messages name it."""

    def take(self) -> str | None:
        """What was kept, None if there is nothing; nobody else has the state from now on. Raises MigrationError where
        another run has it."""

    def keep(self, text: str) -> None:
        """All or nothing. Raises MigrationError where another run has taken the state."""

    def release(self) -> None: ...

    def is_own(self, table: str, item: Item) -> bool:
        """Whether an item of the table is this state, and no item to convert."""


class FileState:
    """A file, which is replaced as a whole; beside it, one that is locked while a run has the state."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._lock: int | None = None

    @property
    def where(self) -> str:
        return str(self._path)

    def take(self) -> str | None:
        try:
            self._take_lock()
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            self.release()
            raise MigrationError(f"The state {self._path} cannot be read: {error}") from error

    def _take_lock(self) -> None:
        try:
            import fcntl
        except ModuleNotFoundError:  # Windows has none
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise MigrationError(f"Another run has the state {self._path}: wait for it to end, or stop it") from None
        self._lock = handle

    def keep(self, text: str) -> None:
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path)
        except BaseException:
            os.unlink(name)
            raise

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def is_own(self, table: str, item: Item) -> bool:
        return False


class TableState:
    """An item of any table with these keys: that of the migration, or one of its own. `key`: the item's key.

    Each write moves a counter, on condition that it is where this run has left it: a run that was taken for dead, and
    was not, ends when it next keeps its state."""

    def __init__(
        self,
        table: Table,
        key: Item,
        client: Any,
        *,
        lease_seconds: float = LEASE_SECONDS,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Any] = time.sleep,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._table = table.name
        self._key = key
        self._client = client
        self._lease_seconds = lease_seconds
        self._now = now
        self._sleep = sleep
        self._owner = new_id()
        self._counter = 0
        self._text: str | None = None

    @property
    def where(self) -> str:
        return f"The item {self._key} of {self._table}"

    def take(self) -> str | None:
        since = self._now()
        seen = self._read()
        while seen is not None and "owner" in seen:
            if self._now() - since >= self._lease_seconds:
                break
            self._sleep(self._lease_seconds / LOOKS_PER_LEASE)
            latest = self._read()
            if latest is not None and latest["counter"] != seen["counter"]:
                raise MigrationError(f"{self.where} is the state of a run that is going on: wait for it to end")
            seen = latest
        self._counter = 0 if seen is None else int(seen["counter"]["N"])
        self._text = None if seen is None or "state" not in seen else seen["state"]["S"]
        self._write(self._text, self._owner)
        return self._text

    def keep(self, text: str) -> None:
        self._text = text
        self._write(text, self._owner)

    def release(self) -> None:
        self._write(self._text, None)

    def is_own(self, table: str, item: Item) -> bool:
        return table == self._table and all(item.get(name) == wire for name, wire in self._key.items())

    def _read(self) -> dict[str, Any] | None:
        answer = attempt(self._sleep, self._client.get_item, TableName=self._table, Key=self._key, ConsistentRead=True)
        item: dict[str, Any] | None = answer.get("Item")
        return item

    def _write(self, text: str | None, owner: str | None) -> None:
        item = {**self._key, "counter": {"N": str(self._counter + 1)}}
        if text is not None:
            item["state"] = {"S": text}
        if owner is not None:
            item["owner"] = {"S": owner}
        try:
            attempt(
                self._sleep,
                self._client.put_item,
                TableName=self._table,
                Item=item,
                ConditionExpression="#counter = :counter" if self._counter else "attribute_not_exists(#counter)",
                ExpressionAttributeNames={"#counter": "counter"},
                **({"ExpressionAttributeValues": {":counter": {"N": str(self._counter)}}} if self._counter else {}),
            )
        except Exception as error:
            if error_code(error) != CONDITION_FAILED:
                raise
            kept = self._read()
            if kept is None or kept != item:  # else it was written by an attempt whose answer was lost
                raise MigrationError(f"{self.where} was taken by another run; this one ends") from error
        self._counter += 1


class NoState:
    """Nothing is kept: a run that is cut off begins again, and passes by what is converted."""

    where = "nowhere"

    def take(self) -> str | None:
        return None

    def keep(self, text: str) -> None: ...

    def release(self) -> None: ...

    def is_own(self, table: str, item: Item) -> bool:
        return False

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

from torusdb.modeling.design.sizes import item_bytes
from torusdb.modeling.design.units import ITEM_BYTES_MAX
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

    def remove(self) -> None:
        """For who has it: there is none any more."""

    def is_own(self, table: str, item: Item) -> bool:
        """Whether an item of the table is this state, and no item to convert."""


class FileState:
    """A file, which is replaced as a whole; beside it, one that is locked while a run has the state."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._lock_path = Path(f"{path}.lock")
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
        while self._lock is None:
            handle = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                raise MigrationError(
                    f"Another run has the state {self._path}: wait for it to end, or stop it"
                ) from None
            if _is_at(handle, self._lock_path):
                self._lock = handle
            else:  # who had it has removed it in between
                os.close(handle)

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
            self._lock_path.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

    def is_own(self, table: str, item: Item) -> bool:
        return False


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


class TableState:
    """An item of any table with these keys: that of the migration, or one of its own. `key`: the item's key. `tell` is
    given a line where a run has to wait for another's state.

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
        tell: Callable[[str], Any] = lambda text: None,
    ) -> None:
        self._table = table.name
        self._key = key
        self._client = client
        self._lease_seconds = lease_seconds
        self._now = now
        self._sleep = sleep
        self._tell = tell
        self._owner = new_id()
        self._item: Item | None = None
        """As it was last seen, or written."""
        self._is_held = False

    @property
    def where(self) -> str:
        return f"the item {self._key} of {self._table}"

    def take(self) -> str | None:
        self._item = self._left_by_others()
        text = self._text()
        self._write(text, self._owner)
        self._is_held = True
        return text

    def keep(self, text: str) -> None:
        self._write(text, self._owner)

    def release(self) -> None:
        """A run that has kept nothing leaves nothing."""
        if not self._is_held:
            return
        if self._text() is None:
            self.remove()
        else:
            self._write(self._text(), None)
        self._is_held = False

    def remove(self) -> None:
        try:
            attempt(self._sleep, self._client.delete_item, TableName=self._table, Key=self._key, **self._as_it_was())
        except Exception as error:
            if error_code(error) != CONDITION_FAILED:
                raise
            if self._read() is not None:  # else it was removed by an attempt whose answer was lost
                raise self._taken() from error
        self._item = None
        self._is_held = False

    def is_own(self, table: str, item: Item) -> bool:
        return table == self._table and all(item.get(name) == wire for name, wire in self._key.items())

    def _left_by_others(self) -> Item | None:
        """The item, once no run that is alive has it."""
        since = self._now()
        seen = self._read()
        if seen is not None and "owner" in seen:
            self._tell(
                f"{self.where} is the state of a run that has not ended: waiting {self._lease_seconds:.0f} seconds, "
                "after which it counts as dead if it has not moved"
            )
        while seen is not None and "owner" in seen:
            if self._now() - since >= self._lease_seconds:
                break
            self._sleep(self._lease_seconds / LOOKS_PER_LEASE)
            latest = self._read()
            if latest is not None and "owner" in latest and latest["counter"] != seen["counter"]:
                raise MigrationError(f"{self.where} is the state of a run that is going on: wait for it to end")
            seen = latest
        return seen

    def _text(self) -> str | None:
        return None if self._item is None or "state" not in self._item else str(self._item["state"]["S"])

    def _read(self) -> Item | None:
        answer = attempt(self._sleep, self._client.get_item, TableName=self._table, Key=self._key, ConsistentRead=True)
        item: Item | None = answer.get("Item")
        return item

    def _write(self, text: str | None, owner: str | None) -> None:
        count = 0 if self._item is None else int(self._item["counter"]["N"])
        item: Item = {**self._key, "counter": {"N": str(count + 1)}}
        if text is not None:
            item["state"] = {"S": text}
        if owner is not None:
            item["owner"] = {"S": owner}
        if item_bytes(item) > ITEM_BYTES_MAX:
            raise MigrationError(
                f"{self.where} would have {item_bytes(item):,} bytes, more than the {ITEM_BYTES_MAX:,} of an item, as "
                "keys are long: keep the state in a file (--state PATH), or begin again (--restart) with fewer segments"
            )
        try:
            attempt(self._sleep, self._client.put_item, TableName=self._table, Item=item, **self._as_it_was())
        except Exception as error:
            if error_code(error) != CONDITION_FAILED:
                raise
            kept = self._read()
            if kept is None or kept != item:  # else it was written by an attempt whose answer was lost
                raise self._taken() from error
        self._item = item

    def _as_it_was(self) -> dict[str, Any]:
        """The condition that nobody has written the item since. A removed one counts from the beginning again, so its
        owner is asked for as well."""
        names = {"#counter": "counter"}
        if self._item is None:
            return {"ConditionExpression": "attribute_not_exists(#counter)", "ExpressionAttributeNames": names}
        values = {":counter": self._item["counter"]}
        owner = "attribute_not_exists(#owner)"
        if "owner" in self._item:
            values[":owner"] = self._item["owner"]
            owner = "#owner = :owner"
        return {
            "ConditionExpression": f"#counter = :counter AND {owner}",
            "ExpressionAttributeNames": {**names, "#owner": "owner"},
            "ExpressionAttributeValues": values,
        }

    def _taken(self) -> MigrationError:
        return MigrationError(f"{self.where} was taken by another run; this one ends")


class NoState:
    """Nothing is kept: a run that is cut off begins again, and passes by what is converted."""

    where = "nowhere"

    def take(self) -> str | None:
        return None

    def keep(self, text: str) -> None: ...

    def release(self) -> None: ...

    def remove(self) -> None: ...

    def is_own(self, table: str, item: Item) -> bool:
        return False

"""A database whose clock and jobs move by hand: what runs behind requests in a thread, here takes its steps when a test
says so. Every interleaving of steps and requests can be had, and each runs the same way every time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from torusdb.api.answers import decode_answer
from torusdb.api.decode import from_python
from torusdb.database import JOBS
from torusdb.errors import ServiceError
from torusdb.jobs.runner import Job
from torusdb.model.attributes import Item
from torusdb.model.records import unpack
from torusdb.model.schema import Index, Table
from torusdb.operations.catalog import Catalog, load_catalogs
from torusdb.operations.changes import index_entry
from torusdb.operations.context import Context, Settings
from torusdb.operations.registry import OPERATIONS
from torusdb.storage import driver
from torusdb.storage.commands import Range
from torusdb.storage.embedded import EmbeddedEngine

ACCOUNT, REGION = "000000000000", "eu-west-2"
NOON = 1_800_014_400.0
"""2027-01-15T12:00:00Z, when every clock here starts."""

UNLIMITED = 1 << 40
ROUNDS_MAX = 100


class JobRun:
    """A job on its way, one step at a time."""

    def __init__(self, database: ByHand, job: Job) -> None:
        self._engine = database.engine
        self._running = job(database.ctx)
        self._result: Any = None
        self.due: float | None = None
        """When it wants to be called again; known once it has returned."""

    def step(self) -> bool:
        """Whether there was a step to take."""
        try:
            self._result = driver.complete(self._engine, self._running.send(self._result))
        except StopIteration as stop:
            self.due = stop.value
            return False
        return True

    def finish(self) -> float | None:
        while self.step():
            pass
        return self.due


class ByHand:
    def __init__(self, table_delay_seconds: float = 0.0) -> None:
        self.clock = NOON
        self.engine = EmbeddedEngine.open(None)
        self._settings = Settings(table_delay_seconds)
        self._ids = 0
        self.ctx = self._context(Catalog(ACCOUNT, REGION))

    def call(self, operation: str, **params: Any) -> Any:
        """The answer without the member around it, where there is just one: `TableDescription`, `Table`, `Item`."""
        request = from_python(operation, params)
        answer = decode_answer(driver.complete(self.engine, OPERATIONS[operation](self.ctx, request)))
        return next(iter(answer.values())) if list(answer) in (["TableDescription"], ["Table"], ["Item"]) else answer

    def refused(self, operation: str, **params: Any) -> tuple[str, str | None]:
        with pytest.raises(ServiceError) as caught:
            self.call(operation, **params)
        return caught.value.code, caught.value.message

    def run_jobs(self) -> None:
        """Has the jobs do everything that is due now."""
        for _ in range(ROUNDS_MAX):
            before = self.stored()
            for job in JOBS:
                JobRun(self, job).finish()
            if self.stored() == before:
                return
        raise AssertionError("The jobs never come to an end")

    def advance(self, seconds: float) -> None:
        self.clock += seconds
        self.run_jobs()

    def reopen(self) -> None:
        """Forgets all that is not in the engine, as a crash does."""
        catalogs = driver.complete(self.engine, load_catalogs())
        self.ctx = self._context(catalogs.get((ACCOUNT, REGION), Catalog(ACCOUNT, REGION)))

    def close(self) -> None:
        self.engine.close()

    # What is in the engine.

    def stored(self) -> list[tuple[bytes, bytes]]:
        return self._range(b"", b"\xff" * 16)

    def table(self, name: str) -> Table:
        table = self.ctx.catalog.find(name)
        assert table is not None
        return table

    def entries(self, name: str, index_name: str) -> dict[bytes, Item]:
        """What an index holds, by storage key."""
        table, index = self._index(name, index_name)
        prefix = table.index_partition(index)
        return {key: unpack(record) for key, record in self._range(prefix, prefix + b"\xff" * 16)}

    def entries_of_items(self, name: str, index_name: str) -> dict[bytes, Item]:
        """What the index ought to hold, from the items there are."""
        table, index = self._index(name, index_name)
        prefix = table.base_partition
        items = [unpack(record) for _, record in self._range(prefix, prefix + b"\xff" * 16)]
        entries = [entry for item in items if (entry := index_entry(table, index, item))]
        return {entry.key: entry.item for entry in entries}

    def counted(self, name: str, index_name: str) -> tuple[int, int]:
        table, index = self._index(name, index_name)
        return self.engine.tally([table.tally_key(index)])[0]

    def _index(self, name: str, index_name: str) -> tuple[Table, Index]:
        table = self.table(name)
        return table, table.index_by_name[index_name]

    def _range(self, start: bytes, stop: bytes) -> list[tuple[bytes, bytes]]:
        with self.engine.lock:
            return self.engine.range(Range(start, stop, False, UNLIMITED, UNLIMITED)).records

    def _context(self, catalog: Catalog) -> Context:
        return Context(catalog, lambda: self.clock, self._new_uuid, lambda: None, self._settings)

    def _new_uuid(self) -> str:
        self._ids += 1
        return f"00000000-0000-4000-8000-{self._ids:012}"


@pytest.fixture
def hand() -> Iterator[ByHand]:
    database = ByHand()
    yield database
    database.close()

"""An engine in a sorted list of keys and a dict: the oracle of the contract tests, and an engine for simulations.

It implements the contract in the plainest way. With `stages`, commits wait until `settle` makes them durable or
`roll_back` loses them, both called by the test, so that every moment in between can be looked at.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Callable

from torusdb.storage.commands import Clear, Commit, Page, Range
from torusdb.storage.failures import StorageFailed
from torusdb.storage.tickets import Ticket


class _State:
    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.records: dict[bytes, bytes] = {}
        self.tallies: dict[bytes, tuple[int, int]] = {}

    def copy(self) -> _State:
        copy = _State()
        copy.keys, copy.records, copy.tallies = self.keys[:], dict(self.records), dict(self.tallies)
        return copy

    def put(self, key: bytes, value: bytes) -> None:
        if key not in self.records:
            insort(self.keys, key)
        self.records[key] = value

    def delete(self, key: bytes) -> None:
        if self.records.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]

    def commit(self, commit: Commit) -> None:
        for key in commit.deletes:
            self.delete(key)
        for key, value in commit.puts:
            self.put(key, value)
        for key, items, size in commit.tallies:
            had_items, had_size = self.tallies.get(key, (0, 0))
            self.tallies[key] = (had_items + items, had_size + size)

    def clear(self, clear: Clear) -> None:
        for key in self.keys[bisect_left(self.keys, clear.start) : bisect_left(self.keys, clear.stop)]:
            self.delete(key)
        for key in [key for key in self.tallies if clear.start <= key < clear.stop]:
            del self.tallies[key]


class ModelEngine:
    def __init__(self, stages: bool = False) -> None:
        self.lock = threading.RLock()
        self.on_rollback: Callable[[], None] | None = None
        self._stages = stages
        self._durable = _State()
        self._latest = self._durable
        self._staged_keys: set[bytes] = set()
        self._ticket: Ticket | None = None

    def get(self, keys: list[bytes]) -> list[bytes | None]:
        return [self._durable.records.get(key) for key in keys]

    def get_guarded(self, keys: list[bytes]) -> tuple[list[bytes | None], Ticket | None]:
        records = [self._latest.records.get(key) for key in keys]
        return records, None if self._staged_keys.isdisjoint(keys) else self._ticket

    def range(self, query: Range) -> Page:
        keys = self._durable.keys
        keys = keys[bisect_left(keys, query.start) : bisect_left(keys, query.stop)]
        if query.reverse:
            keys.reverse()
        taken: list[tuple[bytes, bytes]] = []
        size = 0
        for key in keys:
            if len(taken) >= query.items_max or size >= query.bytes_max:
                return Page(taken, True)
            record = self._durable.records[key]
            taken.append((key, record))
            size += len(record)
        return Page(taken, False)

    def tally(self, keys: list[bytes]) -> list[tuple[int, int]]:
        return [self._latest.tallies.get(key, (0, 0)) for key in keys]

    def commit(self, commit: Commit) -> Ticket | None:
        ticket = self._stage()
        self._latest.commit(commit)
        if self._stages:
            self._staged_keys.update(commit.deletes, (key for key, _ in commit.puts))
        return ticket

    def clear(self, clear: Clear) -> Ticket | None:
        ticket = self._stage()
        self._latest.clear(clear)
        return ticket

    def close(self) -> None:
        self.settle()

    def _stage(self) -> Ticket | None:
        if self._stages and self._ticket is None:
            self._ticket = Ticket()
            self._latest = self._durable.copy()
        return self._ticket

    def settle(self) -> None:
        """What is staged becomes durable."""
        self._durable = self._latest
        self._finish(None)

    def roll_back(self, error: StorageFailed) -> None:
        """What is staged is lost."""
        self._latest = self._durable
        if self.on_rollback is not None:
            self.on_rollback()
        self._finish(error)

    def _finish(self, error: StorageFailed | None) -> None:
        ticket, self._ticket = self._ticket, None
        self._staged_keys.clear()
        if ticket is not None:
            ticket.complete(error)

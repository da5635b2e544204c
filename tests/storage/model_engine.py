"""An engine in a sorted list of keys and a dict: the oracle of the contract tests, and an engine for simulations.

It implements the contract in the plainest way. With `stages`, commits wait in groups until the test has them
become durable (`land`, `settle`), fail (`roll_back`) or disappear (`crash`), so that every moment in between can be
looked at.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Callable

from torusdb.storage.commands import NOTHING, NUMBER_BYTES, Clear, Commit, Page, Range
from torusdb.storage.failures import StorageFailed
from torusdb.storage.tickets import Ticket


class State:
    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.records: dict[bytes, bytes] = {}
        self.tallies: dict[bytes, tuple[int, int]] = {}

    def copy(self) -> State:
        copy = State()
        copy.keys, copy.records, copy.tallies = self.keys[:], dict(self.records), dict(self.tallies)
        return copy

    def put(self, key: bytes, value: bytes) -> None:
        if key not in self.records:
            insort(self.keys, key)
        self.records[key] = value

    def delete(self, key: bytes) -> None:
        if self.records.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]

    def commit(self, commit: Commit) -> set[bytes]:
        """Gives the keys that were written."""
        written = {*commit.deletes, *(key for key, _ in commit.puts)}
        for key in commit.deletes:
            self.delete(key)
        for key, value in commit.puts:
            self.put(key, value)
        for prefix, record in commit.appends:
            last = int.from_bytes(self.records.get(prefix, b""), "big")
            number = (last + 1).to_bytes(NUMBER_BYTES, "big")
            self.put(prefix, number)
            self.put(prefix + number, record)
            written |= {prefix, prefix + number}
        for key, items, size in commit.tallies:
            had_items, had_size = self.tallies.get(key, (0, 0))
            self.tallies[key] = (had_items + items, had_size + size)
        return written

    def clear(self, clear: Clear) -> None:
        for key in self.keys[bisect_left(self.keys, clear.start) : bisect_left(self.keys, clear.stop)]:
            self.delete(key)
        for key in [key for key in self.tallies if clear.start <= key < clear.stop]:
            del self.tallies[key]

    def range(self, query: Range) -> Page:
        keys = self.keys[bisect_left(self.keys, query.start) : bisect_left(self.keys, query.stop)]
        if query.reverse:
            keys.reverse()
        taken: list[tuple[bytes, bytes]] = []
        size = 0
        for key in keys:
            if len(taken) >= query.items_max or size >= query.bytes_max:
                return Page(taken, True)
            record = self.records[key]
            taken.append((key, record))
            size += len(record)
        return Page(taken, False)


class _Group:
    """Commits that become durable together, and the state with them."""

    def __init__(self, before: State) -> None:
        self.state = before.copy()
        self.keys: set[bytes] = set()
        self.clears: list[Clear] = []
        self.ticket = Ticket()


class ModelEngine:
    def __init__(self, stages: bool = False) -> None:
        self.lock = threading.RLock()
        self.on_rollback: Callable[[], None] | None = None
        self.refuses_commits = False
        """Commits fail where they stand, as those of an engine do that cannot read its counters."""
        self.durable = State()
        self.stages = stages
        self._groups: list[_Group] = []
        self._open = False
        """Whether the last group takes more commits."""

    @property
    def latest(self) -> State:
        return self._groups[-1].state if self._groups else self.durable

    @property
    def group_count(self) -> int:
        return len(self._groups)

    def get(self, keys: list[bytes]) -> list[bytes | None]:
        return [self.durable.records.get(key) for key in keys]

    def get_guarded(self, keys: list[bytes]) -> tuple[list[bytes | None], Ticket | None]:
        records = [self.latest.records.get(key) for key in keys]
        revealed = any(not group.keys.isdisjoint(keys) for group in self._groups)
        return records, self._groups[-1].ticket if revealed else None

    def range(self, query: Range) -> Page:
        return self.durable.range(query)

    def tally(self, keys: list[bytes]) -> list[tuple[int, int]]:
        return [self.latest.tallies.get(key, (0, 0)) for key in keys]

    def commit(self, commit: Commit) -> Ticket | None:
        if self.refuses_commits:
            raise StorageFailed("The commit is refused.")
        if commit == NOTHING:
            return self._groups[-1].ticket if self._groups else None
        group = self._group()
        written = self.latest.commit(commit)
        if group is None:
            return None
        group.keys |= written
        return group.ticket

    def clear(self, clear: Clear) -> Ticket | None:
        group = self._group()
        self.latest.clear(clear)
        if group is None:
            return None
        group.clears.append(clear)
        return group.ticket

    def close(self) -> None:
        self.settle()

    def _group(self) -> _Group | None:
        """The open group, made if there is none; None for an engine that doesn't stage."""
        if not self.stages:
            return None
        if not self._open:
            self._groups.append(_Group(self.latest))
            self._open = True
        return self._groups[-1]

    def close_group(self) -> None:
        """What is staged from now on becomes durable later than what was staged before."""
        self._open = False

    def settle(self) -> None:
        """What is staged becomes durable."""
        while self._groups:
            self.land()

    def land(self) -> Ticket:
        """The oldest group becomes durable."""
        group = self._groups.pop(0)
        self._open = self._open and bool(self._groups)
        self.durable = group.state
        group.ticket.complete()
        return group.ticket

    def roll_back(self, error: StorageFailed, keeps_clears: bool = False) -> None:
        """The oldest group fails, and with it all that was staged on top of it. What it cleared may be gone all the
        same: an engine need not put that back."""
        lost, self._groups, self._open = self._groups, [], False
        if keeps_clears and lost:
            self.durable = self.durable.copy()
            for clear in lost[0].clears:
                self.durable.clear(clear)
        if self.on_rollback is not None:
            self.on_rollback()
        for group in lost:
            group.ticket.complete(error)

    def crash(self, survivors: int) -> list[Ticket]:
        """The process ends and another one opens the store. Nobody hears of what was staged any more, but the
        oldest groups, `survivors` of them, had reached the disk. Gives their tickets."""
        if survivors:
            self.durable = self._groups[survivors - 1].state
        tickets = [group.ticket for group in self._groups[:survivors]]
        self._groups, self._open = [], False
        return tickets

"""The embedded engine: RocksDB in this process, on disk or in memory.

Theory of operation
-------------------
Operations run one after another under `lock`, up to their commit. With durability "fsync" a commit does not
write: it is *staged* in the open group, a dict, and the operation is done but for its ticket. A thread, the
committer, turns groups into durable data, one at a time:

    open group ──close──▶ group in flight ──write──▶ RocksDB, not durable ──fsync──▶ retired, ticket done
       ▲ commits             (one batch)        hidden from plain reads

- *Guarded reads* look into the open group, then into the one in flight, then into RocksDB. A group is retired by
  dropping its dict, so a key staged again in the newer group stays staged, and hot keys cost nothing extra.
- *Plain reads* never show what is not durable. Between write and fsync RocksDB already has the group in flight: then
  plain reads that touch its keys go through a cursor made before the write, which sees the moment it was made.
  (rocksdict's snapshots do not do: as of 0.3.29 their iterators forget the snapshot.)
- Write and fsync are two calls, since rocksdict's `write` keeps the interpreter's lock (measured: another thread
  gets no step during 200 synchronous writes) and `flush_wal` lets it go: while the disk works, requests run. For
  the same reason a write never waits for compactions inside RocksDB (`no_slowdown`) but here.
- *Tallies* are added up in the group; its batch has each touched counter's new value, so that a counter is as
  atomic as the records it counts, and a thousand additions are one put.
- *Logs* are numbered when they are staged, out of the last number as a guarded read sees it, and are from there on
  records like all others: a group that fails takes its numbers back with it.

A group that fails takes the open one with it, which was staged on top of it. Reads go on through the cursor.
RocksDB refuses further writes after a failed one, so the next group first opens RocksDB again; if that fails too,
whoever reads or writes next tries again. As an fsync
that failed may have written all the same, reopening may bring the failed group back: the values it replaced are
put back before anything else is written. (A crash in between leaves the group as a whole or not at all; its
operations were answered with an error that leaves this open, as an InternalServerError of the service does.)

Durability "relaxed" and memory need none of this: commits are written where they stand.
"""

from __future__ import annotations

import contextlib
import logging
import os
import struct
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Final, Literal, TypeAlias, cast

from rocksdict import Rdict, RdictIter, WriteBatch, WriteOptions

from torusdb.storage.commands import NOTHING, NUMBER_BYTES, Clear, Commit, Page, Range
from torusdb.storage.directory import DataDirectory, directory_unusable, disk_full
from torusdb.storage.failures import StorageError, StorageFailed
from torusdb.storage.ranges import read_backwards, read_forwards, read_one, read_through_cursor
from torusdb.storage.rocks import close_quietly, open_in_memory, open_on_disk, read_failed, write_failed
from torusdb.storage.tickets import Ticket

Durability: TypeAlias = Literal["fsync", "relaxed"]

_log = logging.getLogger("torusdb.storage")

STALL_WAIT_SECONDS: Final = 0.001
STALL_SECONDS_MAX: Final = 60.0
"""How long a write waits for compactions. Beyond that they are not slow but stuck, and the write fails."""

RECOVERY_BYTES_MIN: Final = 8 * 1024 * 1024
"""Free space without which RocksDB is not opened again after a failed write: it needs some to open, and while
it stays as it is, reads go on."""

_TALLY = struct.Struct("<qq")
_NO_TALLY: Final = (0, 0)


class _Group:
    """Commits that become durable together. `writes` holds None for a key that is deleted."""

    __slots__ = ("clears", "queued", "tallies", "ticket", "writes")

    def __init__(self) -> None:
        self.writes: dict[bytes, bytes | None] = {}
        self.tallies: dict[bytes, tuple[int, int]] = {}
        self.clears: list[tuple[bytes, bytes]] = []
        self.ticket = Ticket()
        self.queued = False

    def batch(self) -> WriteBatch:
        batch = WriteBatch(raw_mode=True)
        for start, stop in self.clears:
            batch.delete_range(start, stop)
        put, delete = batch.put, batch.delete
        for key, value in self.writes.items():
            if value is None:
                delete(key)
            else:
                put(key, value)
        for key, counts in self.tallies.items():
            if counts == _NO_TALLY:
                delete(key)
            else:
                put(key, _TALLY.pack(*counts))
        return batch


class EmbeddedEngine:
    """An engine on RocksDB in this process. Made by `open`; every method but `close` is called with `lock` held."""

    def __init__(self, db: Rdict, directory: DataDirectory | None, durability: Durability) -> None:
        self.lock = threading.RLock()
        self.on_rollback: Callable[[], None] | None = None
        """Called with the lock held when staged commits are lost: who keeps copies of records reads them again."""
        self._db = db
        self._directory = directory
        self._closed = False
        self._refusal: StorageFailed | None = None
        """Why no commit is taken any more, once the database is closed or has stopped."""
        self._inline = directory is None or durability == "relaxed"
        self._write_options = WriteOptions()
        self._write_options.no_slowdown = True
        if directory is None:
            # A property, which rocksdict's type stub has as a method.
            self._write_options.disable_wal = True  # type: ignore[method-assign, assignment]
        self._open = _Group()
        self._flying = _Group()
        self._hidden: Mapping[bytes, object] = {}
        """Keys whose value in RocksDB may not be durable: plain reads see them through `_frozen`."""
        self._hidden_sorted: list[bytes] | None = None
        """The same in order, made when a range first asks."""
        self._frozen: RdictIter | None = None
        self._replaced: dict[bytes, bytes | None] | None = None
        """After a failed write, until RocksDB is open again: the values to put back."""
        self._broken = False
        """RocksDB could not be opened again so far: whoever needs it tries."""
        self._stale = False
        """Somebody's copies could not be read again so far."""
        self._work: SimpleQueue[_Group | None] = SimpleQueue()
        self._committer: threading.Thread | None = None
        if not self._inline:
            self._committer = threading.Thread(target=self._commit_groups, name="torusdb-committer", daemon=True)
            self._committer.start()

    @classmethod
    def open(cls, path: Path | None, durability: Durability = "fsync") -> EmbeddedEngine:
        """Opens the database in the directory `path`, creating it if need be; a fresh one in memory for None.
        Raises a StorageError that says in one sentence why it cannot be opened."""
        if path is None:
            return cls(open_in_memory(), None, "relaxed")
        directory = DataDirectory.acquire(path)
        try:
            return cls(open_on_disk(directory.rocksdb, path), directory, durability)
        except StorageError:
            directory.release()
            raise

    def close(self) -> None:
        """Writes what is staged and closes the database. May be called twice."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
            self._refusal = _closed()
        if self._committer is not None:
            self._work.put(None)
            self._committer.join()
        with self.lock:
            self._frozen = None
            # RocksDB empties its memory to disk to open faster next time; what is acknowledged is in its log.
            if not self._broken:
                close_quietly(self._db)
            self._broken = False
            if self._directory is not None:
                self._directory.release()

    # Reading

    def get(self, keys: list[bytes]) -> list[bytes | None]:
        if self._hidden or self._broken:
            return [self._durable(key) for key in keys]
        get = self._db.get
        try:
            # One by one is as fast as rocksdict's get of a list, and keeps the interpreter's lock (measured).
            return [get(key) for key in keys]
        except Exception as error:
            raise self._read_failed(error) from error

    def get_guarded(self, keys: list[bytes]) -> tuple[list[bytes | None], Ticket | None]:
        staged, flying = self._open.writes, self._flying.writes
        if not staged and not flying:
            return self.get(keys), None
        records: list[bytes | None] = []
        revealed = False
        for key in keys:
            if key in staged:
                records.append(staged[key])
                revealed = True
            elif key in flying:
                records.append(flying[key])
                revealed = True
            else:
                records.append(self._durable(key))
        if not revealed:
            return records, None
        # An operation that may have staged something in the newer of two groups already must not end up with the
        # ticket of the older one.
        return records, self._newest_ticket()

    def _newest_ticket(self) -> Ticket | None:
        """Of the groups that are not durable; None if there are none."""
        return next((group.ticket for group in (self._open, self._flying) if group.queued), None)

    def _durable(self, key: bytes) -> bytes | None:
        if self._broken:
            self._recover()
        try:
            if self._frozen is not None and key in self._hidden:
                return read_one(self._frozen, key)
            value: bytes | None = self._db.get(key)
            return value
        except Exception as error:
            raise self._read_failed(error) from error

    def range(self, query: Range) -> Page:
        start, stop = query.start, query.stop
        if start >= stop:
            return Page([], False)
        if self._broken:
            self._recover()
        try:
            if self._frozen is not None and self._hides_any(start, stop):
                return read_through_cursor(self._frozen, query)
            return read_backwards(self._db, query) if query.reverse else read_forwards(self._db, query)
        except Exception as error:
            raise self._read_failed(error) from error

    def _read_failed(self, error: Exception) -> StorageFailed:
        return _closed() if self._closed else read_failed(self._path, error)

    def _hides_any(self, start: bytes, stop: bytes) -> bool:
        keys = self._hidden_sorted
        if keys is None:
            keys = self._hidden_sorted = sorted(self._hidden)
        first = bisect_left(keys, start)
        return first < len(keys) and keys[first] < stop

    def tally(self, keys: list[bytes]) -> list[tuple[int, int]]:
        return [self._tally(key) for key in keys]

    def _tally(self, key: bytes) -> tuple[int, int]:
        counts = self._open.tallies.get(key) or self._flying.tallies.get(key)
        if counts is not None:
            return counts
        stored = self._durable(key)
        return _NO_TALLY if stored is None else cast("tuple[int, int]", _TALLY.unpack(stored))

    @property
    def _path(self) -> Path | None:
        return None if self._directory is None else self._directory.path

    # Staging

    def commit(self, commit: Commit) -> Ticket | None:
        """A key that is both deleted and put is put."""
        self._require_taking()
        if not commit.puts and commit == NOTHING:
            return self._newest_ticket()
        group = self._open
        # Before anything is staged: they may have to be read, and a read may fail.
        tallies = self._added(commit.tallies) if commit.tallies else {}
        numbered = self._numbered(commit.appends) if commit.appends else {}
        writes = group.writes
        for key in commit.deletes:
            writes[key] = None
        writes.update(commit.puts)
        writes.update(numbered)
        group.tallies.update(tallies)
        return self._staged(group)

    def _added(self, additions: list[tuple[bytes, int, int]]) -> dict[bytes, tuple[int, int]]:
        """What the counters come to."""
        tallies: dict[bytes, tuple[int, int]] = {}
        for key, items, size in additions:
            had_items, had_size = tallies.get(key) or self._tally(key)
            tallies[key] = (had_items + items, had_size + size)
        return tallies

    def _numbered(self, appends: list[tuple[bytes, bytes]]) -> dict[bytes, bytes | None]:
        """The records under the keys they get, and the last number of each log."""
        writes: dict[bytes, bytes | None] = {}
        staged, flying = self._open.writes, self._flying.writes
        for prefix, record in appends:
            for group in (writes, staged, flying):
                if prefix in group:
                    last = group[prefix]
                    break
            else:
                last = self._durable(prefix)
            number = (int.from_bytes(last or b"", "big") + 1).to_bytes(NUMBER_BYTES, "big")
            writes[prefix] = number
            writes[prefix + number] = record
        return writes

    def _require_taking(self) -> None:
        if self._refusal is not None:
            raise StorageFailed(str(self._refusal))
        if self._broken:
            self._recover()

    def clear(self, clear: Clear) -> Ticket | None:
        """Guarded reads may see what is cleared until it is durable; nobody reads a dropped space with a guard."""
        self._require_taking()
        start, stop = clear.start, clear.stop
        group = self._open
        group.clears.append((start, stop))
        for earlier in (group, self._flying):
            for key in [key for key in earlier.writes if start <= key < stop]:
                group.writes[key] = None
            for key in [key for key in earlier.tallies if start <= key < stop]:
                group.tallies[key] = _NO_TALLY
        return self._staged(group)

    def _staged(self, group: _Group) -> Ticket | None:
        if self._inline:
            self._write_through(group)
            return None
        if not group.queued:
            group.queued = True
            self._work.put(group)
        return group.ticket

    def _write_through(self, group: _Group) -> None:
        self._open = _Group()
        try:
            if self._replaced is not None:
                self._recover()
            self._write(group)
        except StorageFailed:
            if self._replaced is None:
                self._replaced = self._values_before(group)
            self._rolled_back()
            raise

    # Committing: on the committer's thread

    def _commit_groups(self) -> None:
        try:
            while (group := self._work.get()) is not None:
                # A group that was staged on top of one that failed has failed with it.
                if not group.ticket.done:
                    self._commit_group(group)
        except BaseException as error:
            # A mistake in this class: nobody shall wait for ever.
            with self.lock:
                refusal = self._stop(error)
                lost = (self._flying, self._open)
            for group in lost:
                group.ticket.complete(refusal)
            raise

    def _stop(self, error: BaseException) -> StorageFailed:
        """Takes no commits any more; what is durable can still be read."""
        self._refusal = StorageFailed(f"The database has stopped ({error}); start it again.")
        _log.critical("%s", self._refusal)
        return self._refusal

    def _commit_group(self, group: _Group) -> None:
        try:
            with self.lock:
                if self._replaced is not None:
                    self._recover()
                self._freeze()
                self._hide(group.writes)
                self._flying, self._open = group, _Group()
            self._write(group)
            self._sync()
        except StorageFailed as error:
            self._fail(group, error)
            return
        with self.lock:
            self._land()
        group.ticket.complete()

    def _land(self) -> None:
        self._flying = _Group()
        self._hide({})
        self._frozen = None

    def _freeze(self) -> None:
        try:
            self._frozen = self._db.iter()
        except Exception as error:
            raise write_failed(self._path, error) from error

    def _hide(self, keys: Mapping[bytes, object]) -> None:
        self._hidden = keys
        self._hidden_sorted = None

    def _write(self, group: _Group) -> None:
        give_up = None
        while True:
            try:
                self._db.write(group.batch(), self._write_options)
                return
            except Exception as error:
                give_up = give_up or time.monotonic() + STALL_SECONDS_MAX
                if "Write stall" not in str(error) or time.monotonic() > give_up:
                    raise write_failed(self._path, error) from error
            # Compactions are behind.
            time.sleep(STALL_WAIT_SECONDS)

    def _sync(self) -> None:
        try:
            self._db.flush_wal(True)
        except Exception as error:
            raise write_failed(self._path, error) from error

    # Failing and recovering

    def _fail(self, group: _Group, error: StorageFailed) -> None:
        """Takes back the group in flight, if it is that far, and the one staged on top of it."""
        with self.lock:
            lost = self._open
            self._open = _Group()
            try:
                if self._flying is group:
                    self._take_back(group)
                self._rolled_back()
            finally:
                group.ticket.complete(error)
                if lost is not group:
                    lost.ticket.complete(error)

    def _take_back(self, group: _Group) -> None:
        self._flying = _Group()
        # From here on the counters need hiding as well: nothing staged stands before them any more.
        self._hide({**group.writes, **group.tallies})
        self._replaced = self._values_before(group)

    def _rolled_back(self) -> None:
        if self.on_rollback is None:
            return
        try:
            self.on_rollback()
            self._stale = False
        except Exception as error:
            # Somebody has copies of records that never were. Nothing can be staged until RocksDB is open again.
            self._stale = True
            if not self._broken:
                self._stop(error)

    def _values_before(self, group: _Group) -> dict[bytes, bytes | None]:
        values: dict[bytes, bytes | None] = {}
        for key in (*group.writes, *group.tallies):
            # What cannot be read cannot be put back either; the damage is told when it is read.
            with contextlib.suppress(StorageFailed):
                values[key] = self._durable(key)
        return values

    def _recover(self) -> None:
        """Opens RocksDB again after a failed write, which it does not survive, and puts back what it replaced. Called
        with the lock held and nothing in flight."""
        directory, replaced = self._directory, self._replaced
        assert replaced is not None
        if directory is None:
            self._replaced = None
            return
        _require_space(directory.path)
        self._frozen = None
        self._hide({})
        if not self._broken:
            close_quietly(self._db)
        self._broken = True
        try:
            self._db = open_on_disk(directory.rocksdb, directory.path)
        except StorageError as error:
            raise StorageFailed(str(error)) from error
        undo = _Group()
        undo.writes = replaced
        try:
            self._write(undo)
            self._sync()
        except StorageFailed:
            # Rather no reads than reads of what was answered with an error.
            close_quietly(self._db)
            raise
        self._replaced = None
        self._broken = False
        self._land()
        if self._stale:
            self._rolled_back()


def _require_space(path: Path) -> None:
    try:
        space = os.statvfs(path)
    except OSError as error:
        raise StorageFailed(str(directory_unusable(path, error))) from error
    if space.f_bavail * space.f_frsize < RECOVERY_BYTES_MIN:
        raise StorageFailed(disk_full(path))


def _closed() -> StorageFailed:
    return StorageFailed("The database is closed.")

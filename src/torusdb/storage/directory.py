"""The data directory of an embedded database: what is in it, whose it is, and that one engine at a time has it.

    DIR/TORUSDB     "TorusDB data directory, format N": tells the directory from others, and old from new
    DIR/LOCK        held (flock) while the database is open; its text is the pid of the holder
    DIR/rocksdb/    RocksDB's own files

The format number rises when an older version would misread what a newer one writes. It is checked before RocksDB
sees the directory, so that a newer RocksDB format is told in the same words.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from pathlib import Path
from typing import Final

from torusdb.storage.failures import (
    DirectoryForeign,
    DirectoryInUse,
    DirectoryUnusable,
    FormatNewer,
    StorageDamaged,
    StorageError,
)

FORMAT_VERSION: Final = 1
FORMAT_FILE: Final = "TORUSDB"
LOCK_FILE: Final = "LOCK"
ROCKSDB_DIRECTORY: Final = "rocksdb"
_FORMAT_LINE = re.compile(r"TorusDB data directory, format ([0-9]{1,9})\n")
_NOT_FOREIGN = {LOCK_FILE, FORMAT_FILE + ".new", "lost+found"}
"""What an otherwise empty directory may hold: traces of a creation cut short, and the root of a mounted disk."""


class DataDirectory:
    """A data directory that this engine holds until `release`."""

    def __init__(self, path: Path, lock_descriptor: int) -> None:
        self.path = path
        self.rocksdb = path / ROCKSDB_DIRECTORY
        self._lock_descriptor: int | None = lock_descriptor

    @classmethod
    def acquire(cls, path: Path) -> DataDirectory:
        """Creates the directory if need be, checks that it is ours to use, and holds it."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            _require_ours(path)
            directory = cls(path, _lock(path))
        except OSError as error:
            raise directory_unusable(path, error) from error
        try:
            directory._prepare()
        except OSError as error:
            directory.release()
            raise directory_unusable(path, error) from error
        except StorageError:
            directory.release()
            raise
        return directory

    def _prepare(self) -> None:
        if not (self.path / FORMAT_FILE).exists():
            _write_format(self.path)
        self.rocksdb.mkdir(exist_ok=True)
        # The names themselves must outlive a power failure; RocksDB sees to its own directory only.
        _sync_directory(self.path)
        _sync_directory(self.path.parent)
        missing = _missing_file(self.rocksdb)
        if missing is not None:
            raise StorageDamaged(
                f"The database in {self.path} is damaged: {self.rocksdb / missing} is missing; "
                "restore the directory from a backup."
            )

    def release(self) -> None:
        if self._lock_descriptor is not None:
            descriptor, self._lock_descriptor = self._lock_descriptor, None
            # The file stays: removing it would let two processes hold a lock on two files of one name.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)


def _missing_file(rocksdb: Path) -> str | None:
    """A file without which RocksDB would open an empty or a shorter database, and not say so."""
    # It takes a directory without CURRENT for a new one and deletes the data files it finds there.
    if not (rocksdb / "CURRENT").exists() and any(rocksdb.glob("*.sst")):
        return "CURRENT"
    # It always has a log. When it opens it makes one before its OPTIONS file, so only a creation that was cut short,
    # before anything was written, leaves neither.
    if any(rocksdb.glob("OPTIONS-*")) and not any(rocksdb.glob("*.log")):
        return "*.log"
    return None


def _require_ours(path: Path) -> None:
    try:
        line = (path / FORMAT_FILE).read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        if any(entry.name not in _NOT_FOREIGN for entry in path.iterdir()):
            raise DirectoryForeign(
                f"The directory {path} is not empty and holds no TorusDB database; choose another one."
            ) from None
        return
    match = _FORMAT_LINE.fullmatch(line)
    if match is None:
        raise StorageDamaged(
            f"The database in {path} is damaged: {path / FORMAT_FILE} has no format number; "
            "restore the directory from a backup."
        )
    if int(match[1]) > FORMAT_VERSION:
        raise FormatNewer(
            f"The database in {path} was written by a newer version of TorusDB (format {int(match[1])}, this version "
            f"reads up to format {FORMAT_VERSION}); install that version or a newer one to open it."
        )


def _lock(path: Path) -> int:
    descriptor = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.read(descriptor, 32).decode("ascii", "replace").strip()
        os.close(descriptor)
        if pid == str(os.getpid()):
            holder = "this process already"
        else:
            holder = f"another process (pid {pid})" if pid else "another process"
        raise DirectoryInUse(
            f"The database in {path} is open in {holder}; close it there first, or choose another directory."
        ) from None
    os.ftruncate(descriptor, 0)
    try:
        os.write(descriptor, f"{os.getpid()}\n".encode())
    except OSError as error:
        # On a full disk the lock is held all the same; only the pid is missing from it.
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            os.close(descriptor)
            raise
    return descriptor


def _write_format(path: Path) -> None:
    """Written aside and renamed, so that a crash leaves the whole line or none."""
    new = path / (FORMAT_FILE + ".new")
    with new.open("w", encoding="ascii") as file:
        file.write(f"TorusDB data directory, format {FORMAT_VERSION}\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path / FORMAT_FILE)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def directory_unusable(path: Path, error: OSError) -> StorageError:
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return DirectoryUnusable(f"The data directory {path} cannot be used: it is a file or lies below one.")
    if isinstance(error, PermissionError):
        return DirectoryUnusable(
            f"The data directory {path} cannot be used: permission denied; "
            "change its owner or mode, or choose another directory."
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DirectoryUnusable(disk_full(path))
    return DirectoryUnusable(f"The data directory {path} cannot be used: {error.strerror or error}.")


def disk_full(path: Path) -> str:
    return f"The disk that holds {path} is full; free space on it, and writes will work again."

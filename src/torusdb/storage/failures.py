"""What can go wrong beneath an engine, each told in one sentence that says what to do about it."""

from __future__ import annotations


class StorageError(Exception):
    """The storage cannot be used. The message is one sentence for the person who runs the database."""


class DirectoryUnusable(StorageError):
    """The data directory cannot be created, read or written, or is not a directory."""


class DirectoryForeign(StorageError):
    """The data directory holds files, and they are not those of a database."""


class DirectoryInUse(StorageError):
    """Another process, or another engine of this one, has the data directory open."""


class FormatNewer(StorageError):
    """A newer version wrote the data directory."""


class StorageDamaged(StorageError):
    """Files of the database are missing or their checksums do not match."""


class StorageFailed(StorageError):
    """A read or a write failed while the database was running; what failed to be written is not there."""

"""Reading records out of RocksDB, as it is or as it was when a cursor was made.

rocksdict's iterators over records are the fastest way to many of them, but end in silence when RocksDB meets damage.
So whoever comes to the end of a range asks a cursor, which does know, whether it is the end. And its lower bound
does nothing (`set_iterate_lower_bound` sets the upper one, as of 0.3.29), so backwards the start is looked for here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias, cast

from rocksdict import Rdict, RdictIter, ReadOptions

from torusdb.storage.commands import Page, Range

CHUNK_RECORDS_FIRST: Final = 16
"""Forwards, records are taken in chunks, which may read ahead of the budget of bytes: the first chunk is small, and
the next ones follow from the size of the records seen."""
CHUNK_RECORDS_MAX: Final = 1024

_Records: TypeAlias = "Iterator[tuple[bytes, bytes]]"


def read_forwards(db: Rdict, query: Range) -> Page:
    options = ReadOptions()
    options.set_iterate_upper_bound(query.stop)
    stored = cast(_Records, db.items(from_key=query.start, read_opt=options))
    taken: list[tuple[bytes, bytes]] = []
    items_left, bytes_left = query.items_max, query.bytes_max
    chunk_max = CHUNK_RECORDS_FIRST
    while True:
        # One more than the budget, to know whether there are more.
        wanted = min(items_left + 1, chunk_max)
        chunk = list(islice(stored, wanted))
        size = sum([len(value) for _, value in chunk])
        over = size >= bytes_left
        if over:
            fits = _records_within(chunk, bytes_left)
            if fits < len(chunk):
                del chunk[min(fits, items_left) :]
                return Page(taken + chunk, True)
        if len(chunk) > items_left:
            del chunk[items_left:]
            return Page(taken + chunk, True)
        taken += chunk
        if len(chunk) < wanted:
            _require_end(db, options, taken[-1][0] + b"\x00" if taken else query.start)
            return Page(taken, False)
        if over:
            return _peek(db, options, stored, taken)
        items_left -= len(chunk)
        bytes_left -= size
        chunk_max = min(CHUNK_RECORDS_MAX, 1 + bytes_left * len(chunk) // (size + 1))


def _records_within(chunk: list[tuple[bytes, bytes]], bytes_max: int) -> int:
    """How many records there are up to the one that brings their bytes to `bytes_max`."""
    total = 0
    for count, (_, value) in enumerate(chunk, start=1):
        total += len(value)
        if total >= bytes_max:
            return count
    return len(chunk)


def _peek(db: Rdict, options: ReadOptions, stored: _Records, taken: list[tuple[bytes, bytes]]) -> Page:
    more = next(stored, None) is not None
    if not more:
        _require_end(db, options, taken[-1][0] + b"\x00")
    return Page(taken, more)


def _require_end(db: Rdict, options: ReadOptions, position: bytes) -> None:
    """Raises what ended an iterator, if it was not the end of the range."""
    cursor = db.iter(options)
    cursor.seek(position)
    if cursor.valid():
        raise OSError("an iterator ended early")
    cursor.status()


def read_backwards(db: Rdict, query: Range) -> Page:
    options = ReadOptions()
    options.set_iterate_upper_bound(query.stop)
    start, items_left, bytes_left = query.start, query.items_max, query.bytes_max
    taken: list[tuple[bytes, bytes]] = []
    # The upper bound keeps a record at `stop` itself out.
    stored = cast(_Records, db.items(backwards=True, from_key=query.stop, read_opt=options))
    for record in stored:
        if record[0] < start:
            return Page(taken, False)
        if items_left <= 0 or bytes_left <= 0:
            return Page(taken, True)
        taken.append(record)
        items_left -= 1
        bytes_left -= len(record[1])
    _require_beginning(db, options, taken[-1][0] if taken else query.stop)
    return Page(taken, False)


def _require_beginning(db: Rdict, options: ReadOptions, position: bytes) -> None:
    cursor = db.iter(options)
    cursor.seek_for_prev(position)
    if cursor.valid():
        cursor.prev()
        if cursor.valid():
            raise OSError("an iterator ended early")
    cursor.status()


def read_one(cursor: RdictIter, key: bytes) -> bytes | None:
    cursor.seek(key)
    if cursor.valid() and cursor.key() == key:
        return cast(bytes, cursor.value())
    cursor.status()
    return None


def read_through_cursor(cursor: RdictIter, query: Range) -> Page:
    """Slower than the iterators by half, but of the moment the cursor was made."""
    start, stop, items_left, bytes_left = query.start, query.stop, query.items_max, query.bytes_max
    if query.reverse:
        step = cursor.prev
        cursor.seek_for_prev(stop)
        if cursor.valid() and cursor.key() == stop:
            step()
    else:
        step = cursor.next
        cursor.seek(start)
    taken: list[tuple[bytes, bytes]] = []
    while cursor.valid():
        key = cursor.key()
        if not start <= key < stop:
            return Page(taken, False)
        if items_left <= 0 or bytes_left <= 0:
            return Page(taken, True)
        record = cursor.value()
        taken.append((key, record))
        items_left -= 1
        bytes_left -= len(record)
        step()
    cursor.status()
    return Page(taken, False)

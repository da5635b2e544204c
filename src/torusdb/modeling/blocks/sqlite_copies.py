"""Entities of one kind as rows of an SQLite database, kept by the stream of their table.

Theory of operation. Each row has the position in the stream of the change that it is as of, and a change is written
where the row is as of an earlier one, by one statement that compares and writes. An item that is removed leaves a row
without values, a *tombstone*, so that an older change that comes later does not make it again. A batch is one
transaction, and the consumer's checkpoint is written after it: who dies in between writes the same again, which changes
nothing. What was in the table before there was a stream is loaded as of a position before all others, and so takes the
place of nothing that the stream has told."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeAlias, TypeVar

from torusdb.modeling.blocks.following import FIRST_POSITION, image_of, latest_of, name_of_item, position_of
from torusdb.modeling.changes import Change
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ModelError
from torusdb.modeling.plans import model_of, ref_of

E = TypeVar("E", bound=Entity)

Value: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = tuple[str, str, float | None, Sequence[Value] | None]
"""The item's name, its position, when it changed, and its values: None for a tombstone."""

SQL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
OWN_COLUMNS: Final = ("item_key", "stream_position", "changed_at", "is_removed")


class SqliteCopies(Generic[E]):
    """`orders.apply(changes)` in a consumer's handler; then `SELECT … FROM orders`, a view without tombstones.

    `columns`: what the view's columns are called. `values`: what an entity has in them, in their order. Another worker
    or thread has a connection of its own. (This is SQLite's own work and no task: call it by `asyncio.to_thread` where
    nothing must wait.)"""

    def __init__(
        self,
        connection: sqlite3.Connection,
        name: str,
        kind: type[E],
        *,
        columns: Sequence[str],
        values: Callable[[E], Sequence[Value]],
    ) -> None:
        model_of(kind)  # refuses what is in no table
        for each in (name, *columns):
            if not SQL_NAME.fullmatch(each) or each.lower() in OWN_COLUMNS:
                raise ModelError(f"{each!r} cannot be a name here: take letters, digits and _, and not {OWN_COLUMNS}")
        if not columns:
            raise ModelError(f"The copy {name} has no columns: name one at least")
        self.connection = connection
        self.kind = kind
        self.columns = list(columns)
        self.values = values
        self.name = name
        self._table = _quoted(f"{name}_rows")
        self._write = self._write_statement()
        self._create()

    def apply(self, changes: Iterable[Change[Any]]) -> int:
        """Writes what these changes say, all or nothing, and gives how many rows that has changed. The stream has to
        keep new images."""
        return self._apply([self._row(change) for change in latest_of(self.kind, changes)])

    def load(self, entities: Iterable[E]) -> int:
        """Writes what was there before the stream: read it, by a scan, *after* the stream was made. It takes the place
        of nothing, and may be done again."""
        return self._apply(
            [(name_of_item(ref_of(each)), FIRST_POSITION, None, self._values(each)) for each in entities]
        )

    def drop_tombstones(self, before: datetime) -> int:
        """Of what was removed before this time: longer ago than a record can come again, which is a day, and than a
        `load` takes."""
        gone = f"DELETE FROM {self._table} WHERE is_removed AND changed_at < ?"  # noqa: S608  # a name like SQL_NAME
        with self.connection:
            return self.connection.execute(gone, (before.timestamp(),)).rowcount

    def _row(self, change: Change[E]) -> Row:
        item = image_of(change)
        at = None if change.time is None else change.time.timestamp()
        return name_of_item(change.ref), position_of(change), at, None if item is None else self._values(item)

    def _values(self, entity: E) -> Sequence[Value]:
        values = self.values(entity)
        if len(values) != len(self.columns):
            raise ModelError(
                f"{self.name} has the columns {', '.join(self.columns)}, and {entity!r} gives {len(values)} values"
            )
        return values

    def _apply(self, rows: Sequence[Row]) -> int:
        nothing: Sequence[Value] = [None] * len(self.columns)
        with self.connection:
            return sum(
                self.connection.execute(
                    self._write, [key, position, at, values is None, *(nothing if values is None else values)]
                ).rowcount
                for key, position, at, values in rows
            )

    def _write_statement(self) -> str:
        names = [*OWN_COLUMNS, *map(_quoted, self.columns)]
        news = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
        return (  # of names like SQL_NAME
            f"INSERT INTO {self._table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "  # noqa: S608
            f"ON CONFLICT (item_key) DO UPDATE SET {news} WHERE excluded.stream_position > stream_position"
        )

    def _create(self) -> None:
        own = "item_key TEXT PRIMARY KEY, stream_position TEXT NOT NULL, changed_at REAL, is_removed INTEGER NOT NULL"
        shown = ", ".join(map(_quoted, self.columns))
        with self.connection:
            self.connection.execute(f"CREATE TABLE IF NOT EXISTS {self._table} ({own}, {shown}) WITHOUT ROWID")
            rows = f"SELECT {shown} FROM {self._table} WHERE NOT is_removed"  # noqa: S608  # names like SQL_NAME
            self.connection.execute(f"CREATE VIEW IF NOT EXISTS {_quoted(self.name)} AS {rows}")


def _quoted(name: str) -> str:
    """So that a name may be a word of SQL."""
    return f'"{name}"'

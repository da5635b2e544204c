"""Results of queries and scans: objects as they are read, page by page, and where the program stands among them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from torusdb.modeling.context import Context
from torusdb.modeling.pages import Pages, Row
from torusdb.modeling.reads import Read
from torusdb.modeling.steps import Work

T = TypeVar("T")


class _Results(Generic[T]):
    """Objects as they are read. Iterating goes on where it stood."""

    def __init__(self, read: Read[T], context: Context) -> None:
        self._pages = Pages(read, context)
        self._decode: Callable[[Any], T] = read.decoder()
        self._left = read.limit_items
        self._over = False
        """Nothing more is to be given out; `_finished`: nor would there be anything."""
        self._finished = False

    if not TYPE_CHECKING:  # to a checker they have none of these

        def __len__(self) -> NoReturn:
            raise TypeError(
                "Results are read page by page, and their number is not known: make a list with .all(), "
                "ask for .first(), or run query.count()"
            )

        def __getitem__(self, place: Any) -> NoReturn:
            raise TypeError(
                "Results are read page by page, and have no places: make a list with .all(), or ask for .first()"
            )

    @property
    def cursor(self) -> str | None:
        """Goes on behind the last object that was given out: `query.after(cursor)`. None at the end."""
        return None if self._finished else self._pages.cursor()

    def _admit(self, rows: list[Row] | None) -> list[Row]:
        """The rows that are within the limit."""
        if rows is None:
            self._over = self._finished = True
            return []
        if self._left is None:
            return rows
        admitted = rows[: self._left]
        self._left -= len(admitted)
        self._over = self._left == 0
        self._more = len(admitted) < len(rows)
        return admitted

    def _given(self) -> None:
        """All that was admitted was given out."""
        if self._over and not self._finished:
            self._finished = not self._more and self._pages.exhausted


class Results(_Results[T]):
    def __init__(self, read: Read[T], context: Context, run: Callable[[Work[Any]], Any]) -> None:
        super().__init__(read, context)
        self._run = run
        self._objects = self._iterate()

    def __iter__(self) -> Iterator[T]:
        return self._objects

    def __next__(self) -> T:
        return next(self._objects)

    def all(self) -> list[T]:
        return list(self._objects)

    def first(self) -> T | None:
        """The next, or None."""
        return next(self._objects, None)

    def _iterate(self) -> Iterator[T]:
        decode, last = self._decode, self._pages.last
        while not self._over:
            for lane, item in self._admit(self._run(self._pages.next_rows())):
                last[lane] = item
                yield decode(item)
            self._given()


class AsyncResults(_Results[T]):
    def __init__(self, read: Read[T], context: Context, run: Callable[[Work[Any]], Awaitable[Any]]) -> None:
        super().__init__(read, context)
        self._run = run
        self._objects = self._iterate()

    def __aiter__(self) -> AsyncIterator[T]:
        return self._objects

    async def all(self) -> list[T]:
        return [each async for each in self._objects]

    async def first(self) -> T | None:
        """The next, or None."""
        return await anext(self._objects, None)

    async def _iterate(self) -> AsyncIterator[T]:
        decode, last = self._decode, self._pages.last
        while not self._over:
            for lane, item in self._admit(await self._run(self._pages.next_rows())):
                last[lane] = item
                yield decode(item)
            self._given()

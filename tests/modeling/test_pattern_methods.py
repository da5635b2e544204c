"""Patterns as methods of stores: on the class a pattern, on a store what running its plan gives."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.shop import Customer, Order, Status, order, orders_by_status, shop
from tests.modeling.test_async import Async, Sync
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    BatchGet,
    Count,
    Entity,
    Get,
    Key,
    ModelError,
    PlanRefused,
    Query,
    Ref,
    Store,
    Table,
    pattern,
)

diary = Table("diary", partition_key="pk", sort_key="sk")


class Note(Entity, table=diary):
    key = Key("NOTE#{author}", "{number:04}")
    author: Attr[str]
    number: Attr[int]


class DiaryReads:
    @pattern("An author's notes")
    @staticmethod
    def notes_of(author: str, limit: int = 10) -> Query[Note]:
        return Note.key.query(Note.author == author).limit(limit)

    @pattern("One note")
    @staticmethod
    def note(author: str, number: int) -> Get[Note]:
        return Get(Note, author=author, number=number)

    @pattern("Some notes of an author")
    @staticmethod
    def some(author: str, numbers: list[int]) -> BatchGet[Note]:
        return BatchGet([Ref(Note, author=author, number=number) for number in numbers])

    @pattern("How many notes an author has")
    @staticmethod
    def count_of(author: str) -> Count[Note]:
        return Note.key.query(Note.author == author).count()


class Diary(DiaryReads, Store): ...


class AsyncDiary(DiaryReads, AsyncStore): ...


NOTES = [Note(author="ann", number=number) for number in range(4)]


def test_a_store_runs_its_patterns(client: Recorder) -> None:
    mine = Diary(diary, client)
    mine.create_table()
    mine.put_many(NOTES)
    assert mine.notes_of("ann").all() == NOTES
    assert mine.notes_of("ann", limit=2).all() == NOTES[:2]
    assert mine.note("ann", number=3) == NOTES[3]
    assert mine.note("ann", 7) is None
    assert mine.some("ann", [2, 9]) == [NOTES[2], None]
    assert mine.count_of("ann") == 4
    assert mine.note.__doc__ == "One note"
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        mine.note("ann")  # type: ignore[call-arg]


def test_an_asynchronous_store_does_the_same(db: Database) -> None:
    Diary(diary, db.client()).create_table()
    Diary(diary, Sync(db)).put_many(NOTES)

    async def run() -> None:
        mine = AsyncDiary(diary, Async(db))
        assert [each async for each in mine.notes_of("ann")] == NOTES
        assert await mine.note("ann", 3) == NOTES[3]
        assert await mine.some("ann", [2, 9]) == [NOTES[2], None]
        assert await mine.count_of("ann") == 4

    asyncio.run(run())


def test_on_the_class_it_is_the_pattern() -> None:
    assert DiaryReads.notes_of is Diary.notes_of is AsyncDiary.notes_of
    assert diary.patterns["notes_of"] is DiaryReads.notes_of
    assert DiaryReads.notes_of.explanation.key_condition == "pk = 'NOTE#sample'"
    assert DiaryReads.notes_of("ann").requests() == Note.key.query(Note.author == "ann").limit(10).requests()


def test_a_pattern_of_a_module_is_named_in_a_class(store: Store) -> None:
    class Reads:
        by_status = orders_by_status

    class Shop(Reads, Store): ...

    store.put_many([order(1), Customer(id="1")])
    mine = Shop(shop, store._client)
    days = date(2024, 3, 1), date(2024, 3, 2)
    assert mine.by_status(Status.OPEN, *days).all() == [order(1)]
    assert store.run(orders_by_status(Status.OPEN, *days)).all() == [order(1)]


def test_a_pattern_of_another_table_is_refused(client: Recorder) -> None:
    class Wrong(DiaryReads, Store): ...

    with pytest.raises(PlanRefused, match=r"^This is of the table diary, and the store is of shop$"):
        Wrong(shop, client).notes_of("ann")


def test_a_class_that_is_no_store_runs_nothing() -> None:
    with pytest.raises(PlanRefused, match=r"^DiaryReads\.note is run by a store: mix DiaryReads into one$"):
        DiaryReads().note("ann", 3)  # type: ignore[call-overload]


def test_a_pattern_in_a_class_is_tried_as_any_other() -> None:
    with pytest.raises(ModelError, match=r"^The pattern wrong cannot be made: Order\.key needs Order\.customer == …"):

        class Reads:
            @pattern("Cannot be")
            @staticmethod
            def wrong(number: int) -> Query[Order]:
                return Order.key.query(Order.number == number)

"""Numbers without gaps and without any twice, in whatever order writers come and wherever they stop."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torusdb
from tests.modeling.blocks.schedules import Awaited, Running, interleaved
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    ConditionFailed,
    Entity,
    GlobalIndex,
    Key,
    PlanRefused,
    Query,
    Store,
    Table,
)
from torusdb.modeling.blocks.numbering import InsertNext

by_customer = GlobalIndex("by_customer", partition_key="cpk", sort_key="csk")
books = Table("books", partition_key="pk", sort_key="sk", indexes=[by_customer])


class Invoice(Entity, table=books):
    key = Key("YEAR#{year}", "INVOICE#{number:06}")
    by_customer = Key("CUSTOMER#{customer}", "{number:06}", index=by_customer)
    year: Attr[int]
    number: Attr[int]
    customer: Attr[str]


class Copy(Entity, table=books):
    key = Key("BOOK#{book}", "{shelf}#{number:06}")
    book: Attr[str]
    shelf: Attr[str]
    number: Attr[int]


def of(year: int) -> Query[Invoice]:
    return Invoice.key.query(Invoice.year == year)


def next_for(customer: str, year: int = 2026, attempts_max: int = 20) -> InsertNext[Invoice]:
    def make(number: int) -> Invoice:
        return Invoice(year=year, number=number, customer=customer)

    return InsertNext(of(year), Invoice.number, make, attempts_max=attempts_max)


def new_store(db: Database) -> Store:
    made = Store(books, db.direct_client(), sleep=lambda seconds: None)
    made.create_table()
    return made


@pytest.fixture
def store(db: Database) -> Store:
    return new_store(db)


def numbers(store: Store, year: int = 2026) -> list[int]:
    return [each.number for each in store.run(of(year))]


def test_each_gets_the_next_in_its_own_collection(store: Store) -> None:
    assert store.run(next_for("a")) == Invoice(year=2026, number=1, customer="a")
    assert store.run(next_for("b")).number == 2
    assert store.run(next_for("a", year=2027)).number == 1
    assert (numbers(store), numbers(store, 2027)) == ([1, 2], [1])


@settings(max_examples=60)
@given(st.lists(st.integers(0, 3), max_size=30), st.sets(st.integers(0, 3), max_size=2))
def test_there_is_no_gap_in_any_order(turns: list[int], stopping: set[int]) -> None:
    """Some stop once their turns are over, with a request on its way."""
    with torusdb.open() as db:
        store = new_store(db)
        running = [Running(store, next_for(f"{number}")) for number in range(4)]
        for turn in turns:
            if not running[turn].over:
                running[turn].advance()
        for number, each in enumerate(running):
            if number in stopping:
                each.crash(done=number % 2 == 1)
            assert each.finish().error is None
        found = numbers(store)
        assert found == list(range(1, len(found) + 1))
        assert {each.result.number for each in running if each.result} <= set(found)
        assert len(found) >= 4 - len(stopping)


def test_threads_that_want_the_next_at_once(store: Store) -> None:
    with ThreadPoolExecutor(6) as threads:
        made = list(threads.map(lambda number: store.run(next_for(f"{number}", attempts_max=100)), range(24)))
    assert sorted(each.number for each in made) == numbers(store) == list(range(1, 25))
    assert {each.customer: each.number for each in made} == {each.customer: each.number for each in store.run(of(2026))}


def test_who_never_gets_through_says_so(store: Store) -> None:
    first, second = interleaved(store, [next_for("a"), next_for("b", attempts_max=1)], [0, 1, 0, 1])
    assert first.result.number == 1
    assert isinstance(second.error, ConditionFailed)
    assert second.error.entity == first.result


def test_an_asynchronous_store_does_the_same(db: Database, store: Store) -> None:
    async def run() -> list[Invoice]:
        others = AsyncStore(books, Awaited(db.direct_client()))
        return list(await asyncio.gather(*(others.run(next_for("a")) for _ in range(3))))

    assert sorted(each.number for each in asyncio.run(run())) == numbers(store) == [1, 2, 3]


def test_what_cannot_be_numbered_is_refused(store: Store) -> None:
    late = Invoice.by_customer.query(Invoice.customer == "a")
    with pytest.raises(
        PlanRefused, match=r"^InsertNext asks for the last number by the table's key, not by Invoice\.by_"
    ):
        InsertNext(late, Invoice.number, lambda number: Invoice(year=1, number=number, customer="a"))
    with pytest.raises(
        PlanRefused, match=r"^Invoice\.customer is not in Invoice\.key, by which the last number is asked"
    ):
        InsertNext(of(1), Invoice.customer, lambda number: Invoice(year=1, number=number, customer="a"))  # type: ignore[arg-type]
    with pytest.raises(PlanRefused, match=r"number=7, customer='a'\) was to have the number 1$"):
        store.run(InsertNext(of(1), Invoice.number, lambda _: Invoice(year=1, number=7, customer="a")))
    with pytest.raises(PlanRefused, match=r"^Invoice\(year=2, .*\) is not among those by which it is numbered$"):
        store.run(InsertNext(of(1), Invoice.number, lambda number: Invoice(year=2, number=number, customer="a")))


def test_a_number_behind_what_is_not_given_is_refused(store: Store) -> None:
    """The last of a shelf that sorts last is not the last of mine."""

    def on(shelf: str) -> InsertNext[Copy]:
        return InsertNext(
            Copy.key.query(Copy.book == "b"), Copy.number, lambda number: Copy(book="b", shelf=shelf, number=number)
        )

    assert store.run(on("a")).number == 1
    assert store.run(on("a")).number == 2
    with pytest.raises(PlanRefused, match=r"^Copy\(book='b', shelf='c', number=3\) is not among those"):
        store.run(on("c"))
    query = Copy.key.query(Copy.book == "b", Copy.shelf == "c")
    made = store.run(InsertNext(query, Copy.number, lambda number: Copy(book="b", shelf="c", number=number)))
    assert made.number == 1

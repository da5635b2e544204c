"""Versions of many items: readers never see half of one, and what nobody reads is cleaned up, in any order of requests
and wherever a writer stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torusdb
from tests.modeling.blocks.schedules import Awaited, Running
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    ConditionFailed,
    Entity,
    Key,
    ModelError,
    PlanRefused,
    Ref,
    Scan,
    Store,
    Table,
)
from torusdb.modeling.blocks.releases import Incomplete, Pointer, Record, Releases, State

prices = Table("prices", partition_key="pk", sort_key="sk")


class PriceList(Pointer, table=prices):
    key = Key("LIST#{name}", "CURRENT")
    name: Attr[str]


class Release(Record, table=prices):
    key = Key("LIST#{name}", "VERSION#{number:06}")
    name: Attr[str]


class Price(Entity, table=prices):
    key = Key("LIST#{list}#{release:06}", "{product:04}")
    list: Attr[str]
    release: Attr[int]
    product: Attr[int]
    writer: Attr[int]


releases = Releases(
    pointer=PriceList,
    record=Release,
    find=lambda ref, number: Price.key.query(Price.list == ref.values["name"], Price.release == number),
)
LIST = Ref(PriceList, name="a")
MONDAY = datetime(2026, 5, 4, tzinfo=UTC)
TUESDAY = MONDAY + timedelta(days=1)


def of(writer: int, count: int) -> Callable[[int], Iterable[Price]]:
    return lambda number: [Price(list="a", release=number, product=each, writer=writer) for each in range(count)]


def save(base: int, writer: int = 0, count: int = 30, now: datetime = MONDAY) -> Any:
    return releases.save(LIST, base=base, parts=of(writer, count), now=now)


def new_store(db: Database) -> Store:
    made = Store(prices, db.direct_client(), sleep=lambda seconds: None)
    made.create_table()
    return made


@pytest.fixture
def store(db: Database) -> Store:
    return new_store(db)


def stored(store: Store) -> dict[int, int]:
    """How many parts there are of each version."""
    counts: dict[int, int] = {}
    for price in store.run(Scan(Price)):
        counts[price.release] = counts.get(price.release, 0) + 1
    return counts


def states(store: Store) -> dict[int, State]:
    return {each.number: each.state for each in store.run(releases.records(LIST))}


def test_there_is_none_before_the_first(store: Store) -> None:
    assert store.run(releases.read(LIST)) == (0, [])
    assert store.run(releases.clean(LIST, begun_before=TUESDAY)) == 0
    Running(store, save(0)).crash(done=True)
    assert store.run(releases.read(LIST)) == (0, [])


def test_a_version_of_more_than_a_transaction_takes(store: Store) -> None:
    assert store.run(save(0, writer=1, count=230)) == 1
    number, parts = store.run(releases.read(LIST))
    assert (number, parts) == (1, of(1, 230)(1))
    assert store.run(save(1, writer=2, count=110)) == 2
    assert store.run(releases.read(LIST)) == (2, of(2, 110)(2))


def test_a_version_can_be_of_nothing(store: Store) -> None:
    store.run(save(0, count=3))
    store.run(save(1, count=0))
    assert store.run(releases.read(LIST)) == (2, [])


def test_who_was_overtaken_is_told_and_changes_nothing(store: Store) -> None:
    slow = Running(store, save(0, writer=1))
    slow.advance()
    store.run(save(0, writer=2))
    error = slow.finish().error
    assert isinstance(error, ConditionFailed)
    assert str(error) == "Version 1 of Ref(PriceList, name='a') was made from 0, which is not the current one"
    assert error.entity.current == 2
    assert store.run(releases.read(LIST)) == (2, of(2, 30)(2))


def test_what_a_writer_that_stopped_has_left_is_cleaned_up(store: Store) -> None:
    store.run(save(0))
    stopping = Running(store, save(1))
    for _ in range(3):
        stopping.advance()
    stopping.crash(done=True)
    assert stored(store) == {1: 30, 2: 30}
    assert store.run(releases.clean(LIST, begun_before=MONDAY)) == 0
    assert store.run(releases.clean(LIST, begun_before=TUESDAY)) == 30
    assert (stored(store), states(store)) == ({1: 30}, {1: State.PUBLISHED, 2: State.ABANDONED})
    store.run(releases.clean(LIST, begun_before=TUESDAY))
    assert states(store) == {1: State.PUBLISHED}
    assert store.run(releases.read(LIST)) == (1, of(0, 30)(1))


def test_replaced_versions_are_cleaned_up_and_later_ones_stay(store: Store) -> None:
    store.run(save(0))
    store.run(save(1))
    store.run(save(2, now=TUESDAY))
    assert store.run(releases.clean(LIST, begun_before=TUESDAY)) == 60
    assert (stored(store), states(store)) == ({3: 30}, {3: State.PUBLISHED})


def test_a_slow_writer_does_not_bring_back_what_is_cleared_away(store: Store) -> None:
    """It writes parts after they were deleted, too, and deletes them when it is told."""
    slow = Running(store, save(0))
    for _ in range(3):  # the number, the record, and 25 parts
        slow.advance()
    assert store.run(releases.clean(LIST, begun_before=TUESDAY)) == 25
    error = slow.finish().error
    assert isinstance(error, ConditionFailed)
    assert str(error) == "Version 1 of Ref(PriceList, name='a') was taken for abandoned before it was finished"
    assert stored(store) == {}
    assert store.run(releases.read(LIST)) == (0, [])


def test_what_a_slow_writer_that_stops_has_written_the_next_clean_finds(store: Store) -> None:
    slow = Running(store, save(0))
    for _ in range(3):
        slow.advance()
    store.run(releases.clean(LIST, begun_before=TUESDAY))
    slow.crash(done=True)
    assert stored(store) == {1: 5}
    assert store.run(releases.clean(LIST, begun_before=TUESDAY)) == 5
    assert (stored(store), states(store)) == ({}, {})


def test_a_publication_that_is_sent_again_is_one(store: Store) -> None:
    """By a client that has heard no answer, and sends no token."""
    writing = Running(store, save(0))
    for _ in range(5):
        writing.advance()
    assert writing.step is not None
    store._do(writing.step)
    assert writing.finish().result == 1
    assert store.run(releases.read(LIST)) == (1, of(0, 30)(1))


def test_a_slow_writer_that_had_written_all_is_told(store: Store) -> None:
    slow = Running(store, save(0))
    for _ in range(5):
        slow.advance()
    store.run(releases.clean(LIST, begun_before=TUESDAY))
    error = slow.finish().error
    assert isinstance(error, ConditionFailed)
    assert str(error) == "Version 1 of Ref(PriceList, name='a') was taken for abandoned before it was finished"
    assert stored(store) == {}


def test_what_is_finished_while_it_is_looked_at_stays(store: Store) -> None:
    """`clean` has read the pointer and the records, and then the draft becomes the current version."""
    store.run(save(0))
    writing = Running(store, save(1))
    cleaning = Running(store, releases.clean(LIST, begun_before=TUESDAY))
    for _ in range(3):
        writing.advance()
    cleaning.advance()
    cleaning.advance()
    assert writing.finish().result == 2
    assert cleaning.finish().error is None
    assert store.run(releases.read(LIST)) == (2, of(0, 30)(2))


def test_a_reader_begins_again_when_its_version_is_cleared_away(store: Store) -> None:
    store.run(save(0, writer=1))
    reading = Running(store, releases.read(LIST))
    reading.advance()
    store.run(save(1, writer=2))
    store.run(releases.clean(LIST, begun_before=TUESDAY))
    assert reading.finish().result == (2, of(2, 30)(2))


def test_parts_that_someone_has_deleted_are_told(store: Store) -> None:
    store.run(save(0))
    store.delete(Ref(Price, list="a", release=1, product=7))
    with pytest.raises(Incomplete, match=r"^Ref\(PriceList, name='a'\) was not found whole in 10 attempts$"):
        store.run(releases.read(LIST))


def test_parts_that_readers_would_not_find_are_refused(store: Store) -> None:
    def elsewhere(number: int) -> list[Price]:
        return [*of(0, 3)(number), Price(list="b", release=number, product=1, writer=0)]

    with pytest.raises(PlanRefused, match=r"^Of 4 parts of version 1 of .*, 3 are found by `find`$"):
        store.run(releases.save(LIST, base=0, parts=elsewhere, now=MONDAY))
    with pytest.raises(PlanRefused, match=r"^Version 2 of .* is the base of version 2, and was never given out$"):
        store.run(save(2))
    assert store.run(releases.read(LIST)) == (0, [])


@pytest.fixture(scope="module")
def many() -> Iterator[Store]:
    with torusdb.open() as db:
        yield new_store(db)


TURNS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 8), st.integers(0, 19)), min_size=15, max_size=60)
"""Whose turn it is, for how many requests at most, and how it ends."""


@settings(max_examples=80)
@given(TURNS)
def test_in_any_order_of_requests_readers_see_all_of_one_version(
    many: Store, turns: list[tuple[int, int, int]]
) -> None:
    """Two writers, two readers and a cleaner that takes every draft for abandoned; each begins again when it is over,
    and one turn in ten stops one, before its request or after. Only a writer that another clean has begun beside is not
    stopped: what it writes after that one nobody would find."""
    many.delete_many([Ref.of(each) for kind in (PriceList, Release, Price) for each in many.run(Scan(kind))])
    count = {1: 27, 2: 31}

    begun_beside: set[int] = set()

    def begin(who: int) -> Running:
        if who == 0:
            begun_beside.update(count)
        begun_beside.discard(who)
        if who in count:
            pointer = many.get(PriceList, name="a")
            return Running(many, save(pointer.current if pointer else 0, writer=who, count=count[who]))
        return Running(many, releases.clean(LIST, begun_before=TUESDAY) if who == 0 else releases.read(LIST))

    running = [begin(who) for who in range(5)]
    for who, requests, end in turns:
        each = running[who]
        for _ in range(requests):
            if not each.over:
                each.advance()
        if end < 2 and who not in begun_beside and not each.over:
            each.crash(done=end == 1)
        if not each.over:
            continue
        assert each.error is None or isinstance(each.error, ConditionFailed)
        if who > 2 and each.result is not None:
            number, parts = each.result
            if number:
                assert parts == of(parts[0].writer, count[parts[0].writer])(number)
        running[who] = begin(who)
    for who in begun_beside:
        running[who].finish()
    for each in running:
        each.crash()
    number, parts = many.run(releases.read(LIST))
    assert number == 0 or len(parts) == count[parts[0].writer]
    for _ in range(2):
        many.run(releases.clean(LIST, begun_before=TUESDAY))
    assert stored(many) == ({number: len(parts)} if number else {})
    assert states(many) == ({number: State.PUBLISHED} if number else {})


def test_threads_that_write_read_and_clean(store: Store) -> None:
    store.run(save(0, writer=1, count=27))

    def write(writer: int) -> None:
        for _ in range(6):
            try:
                store.run(save(store.run(releases.read(LIST)).number, writer=writer, count=26 + writer))
            except ConditionFailed:
                continue

    def read(_: int) -> None:
        for _ in range(20):
            _, parts = store.run(releases.read(LIST))
            assert {part.writer + 26 for part in parts} == {len(parts)}

    def clean(_: int) -> None:
        for _ in range(10):
            store.run(releases.clean(LIST, begun_before=TUESDAY))

    with ThreadPoolExecutor(5) as threads:
        for done in [
            *[threads.submit(write, each) for each in (1, 2)],
            threads.submit(read, 0),
            threads.submit(clean, 0),
        ]:
            done.result()
    for _ in range(2):
        clean(0)
    number, parts = store.run(releases.read(LIST))
    assert stored(store) == {number: len(parts)}


def test_an_asynchronous_store_does_the_same(db: Database, store: Store) -> None:
    async def run() -> Any:
        others = AsyncStore(prices, Awaited(db.direct_client()))
        await others.run(save(0, writer=1))
        await others.run(save(1, writer=2))
        assert await others.run(releases.clean(LIST, begun_before=TUESDAY)) == 30
        return await others.run(releases.read(LIST))

    assert asyncio.run(run()) == store.run(releases.read(LIST)) == (2, of(2, 30)(2))


def test_a_record_that_is_not_the_pointers_is_refused() -> None:
    class Other(Record, table=prices):
        key = Key("OTHER#{kind}", "VERSION#{number:06}")
        kind: Attr[str]

    with pytest.raises(ModelError, match=r"^Other\.key has to be made of name, as PriceList\.key is, and of number$"):
        Releases(pointer=PriceList, record=Other, find=lambda ref, number: Price.key.query())

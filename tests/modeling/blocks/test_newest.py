"""Lists that keep the newest elements: as many as they should, in whatever order they come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torusdb
from tests.modeling.blocks.schedules import Awaited, Running
from torusdb import Database
from torusdb.modeling import AsyncStore, Attr, ConditionFailed, Entity, Key, PlanRefused, Ref, Store, Table, attr
from torusdb.modeling.blocks.newest import KeepNewest

shop = Table("shop", partition_key="pk")


class Customer(Entity, table=shop):
    key = Key("CUSTOMER#{id}")
    id: Attr[str]
    seen: Attr[list[int]] = attr(default_factory=list)


def new_store(db: Database) -> Store:
    made = Store(shop, db.direct_client())
    made.create_table()
    return made


@pytest.fixture
def store(db: Database) -> Store:
    made = new_store(db)
    made.insert(Customer(id="1"))
    return made


def keep(*elements: int, count: int = 3) -> KeepNewest[Customer]:
    return KeepNewest(Ref(Customer, id="1"), Customer.seen, elements, count=count)


def seen(store: Store) -> list[int]:
    customer = store.get(Customer, id="1")
    assert customer is not None
    return customer.seen


def test_the_oldest_go(store: Store) -> None:
    for number in range(1, 4):
        assert store.run(keep(number)).seen == list(range(number, 0, -1))
    assert store.run(keep(4)) == store.get(Customer, id="1") == Customer(id="1", seen=[4, 3, 2])
    assert store.run(keep(7, 6, 5)).seen == [7, 6, 5]
    assert store.run(keep(8, count=1)).seen == [8]


def test_who_stops_half_way_leaves_a_list_that_the_next_shortens(store: Store) -> None:
    store.run(keep(3, 2, 1))
    stopping = Running(store, keep(4))
    stopping.advance()
    stopping.crash()
    assert seen(store) == [4, 3, 2, 1]
    store.run(keep(5))
    assert seen(store) == [5, 4, 3]


@pytest.fixture(scope="module")
def many() -> Iterator[Store]:
    with torusdb.open() as db:
        yield new_store(db)


@settings(max_examples=150)
@given(st.integers(0, 4), st.lists(st.integers(0, 4), max_size=12), st.permutations(range(5)))
def test_those_that_came_last_stay_in_any_order(many: Store, before: int, turns: list[int], rest: list[int]) -> None:
    many.put(Customer(id="1", seen=[-1 - number for number in range(before)]))
    running = [Running(many, keep(2 * number, 2 * number + 1)) for number in range(5)]
    came: list[int] = [-1 - number for number in range(before)]
    first = set(range(5))
    for turn in [*turns, *rest, *rest]:
        if turn in first:
            came = [2 * turn, 2 * turn + 1, *came]
            first.remove(turn)
        if not running[turn].over:
            running[turn].advance()
        assert seen(many)[:3] == came[:3]
    assert [each.error for each in running if each.error or not each.over] == []
    assert seen(many) == came[:3]


def test_what_is_not_there_is_not_made(store: Store) -> None:
    with pytest.raises(ConditionFailed):
        store.run(KeepNewest(Ref(Customer, id="2"), Customer.seen, [1], count=3))


def test_an_asynchronous_store_does_the_same(db: Database, store: Store) -> None:
    others = AsyncStore(shop, Awaited(db.direct_client()))
    others_result = asyncio.run(_last(others))
    assert others_result == store.get(Customer, id="1") == Customer(id="1", seen=[4, 3, 2])


async def _last(store: AsyncStore) -> Customer:
    await store.run(keep(3, 2, 1))
    return await store.run(keep(4))


@pytest.mark.parametrize("elements", [(), (1, 2, 3, 4)])
def test_more_than_are_kept_or_none_are_refused(elements: tuple[int, ...]) -> None:
    with pytest.raises(
        PlanRefused, match=rf"Customer\.seen keeps 3 elements: give it 1 to 3 new ones, not {len(elements)}"
    ):
        keep(*elements)
    with pytest.raises(PlanRefused, match=r"count\(0\): at least 1 is needed"):
        keep(1, count=0)

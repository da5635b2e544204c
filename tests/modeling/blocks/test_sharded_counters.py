"""A counter in several items: each addition goes to one of them, and the total is of all."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.test_async import Async
from torusdb import Database
from torusdb.modeling import AsyncStore, Attr, Entity, Key, ModelError, PlanRefused, Store, Table, attr
from torusdb.modeling.blocks.sharded_counters import ShardedCounter

posts = Table("posts", partition_key="pk")


class Likes(Entity, table=posts):
    key = Key("LIKES#{post}#{shard:02}")
    post: Attr[str]
    shard: Attr[int]
    count: Attr[int] = attr(default=0)
    word: Attr[str] = attr(default="")


class Chance:
    """Draws these, one after the other, and again."""

    def __init__(self, *drawn: float) -> None:
        self.drawn = drawn
        self.calls = 0

    def __call__(self) -> float:
        self.calls += 1
        return self.drawn[(self.calls - 1) % len(self.drawn)]


@pytest.fixture
def store(direct: Recorder) -> Store:
    made = Store(posts, direct)
    made.create_table()
    return made


def counter(shards: int, *drawn: float) -> ShardedCounter[Likes]:
    return ShardedCounter(Likes, Likes.count, Likes.shard, shards=shards, random=Chance(*drawn or (0.0, 0.3, 0.999)))


def test_additions_are_spread_and_summed(store: Store, direct: Recorder) -> None:
    likes = counter(10)
    for amount in (1, 20, 300, 4000):
        store.run(likes.add(amount, post="a"))
    store.run(likes.add(5, post="b"))
    keys = [parameters["Key"]["pk"]["S"] for method, parameters in direct.requests if method == "update_item"]
    assert keys == ["LIKES#a#00", "LIKES#a#03", "LIKES#a#09", "LIKES#a#00", "LIKES#b#03"]
    direct.requests.clear()
    assert store.run(likes.total(post="a")) == 4321
    ((method, parameters),) = direct.requests
    assert method == "batch_get_item"
    assert len(parameters["RequestItems"]["posts"]["Keys"]) == 10
    assert "ConsistentRead" not in parameters["RequestItems"]["posts"]
    assert store.run(likes.total(post="c")) == 0


def test_a_consistent_total_is_asked_for_as_such(store: Store, direct: Recorder) -> None:
    store.run(counter(2).total(post="a", consistent=True))
    assert direct.requests[-1][1]["RequestItems"]["posts"]["ConsistentRead"]


def test_there_may_be_more_shards_later(store: Store) -> None:
    store.run(counter(2, 0.9).add(1, post="a"))
    store.run(counter(50, 0.9).add(10, post="a"))
    assert store.run(counter(50).total(post="a")) == 11
    assert store.run(counter(2).total(post="a")) == 1, "fewer leave out what the others have"


def test_many_at_once_lose_nothing(store: Store) -> None:
    likes = ShardedCounter(Likes, Likes.count, Likes.shard, shards=3)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: store.run(likes.add(1, post="a")), range(100)))
    assert store.run(likes.total(post="a", consistent=True)) == 100


def test_an_asynchronous_store_does_the_same(db: Database, store: Store) -> None:
    async def run() -> int:
        asynchronous = AsyncStore(posts, Async(db))
        await asynchronous.run(counter(4).add(7, post="a"))
        return await asynchronous.run(counter(4).total(post="a"))

    assert asyncio.run(run()) == 7


def test_what_cannot_work_is_refused(store: Store) -> None:
    class Fixed(Entity, table=posts):
        key = Key("FIXED#{post}")
        post: Attr[str]
        shard: Attr[int]

    def declared(kind: type[Any], count: Any, shard: Any, shards: int = 3) -> ShardedCounter[Any]:
        return ShardedCounter(kind, count, shard, shards=shards)

    for kind, count, shard, message in [
        (
            Fixed,
            Likes.count,
            Fixed.shard,
            r"^Fixed\.shard has to be in the partition key of Fixed, to spread its",
        ),
        (Fixed, Likes.count, Likes.shard, r"^Likes\.shard is no attribute of Fixed that holds an int$"),
        (Likes, Likes.word, Likes.shard, r"^Likes\.word is no attribute of Likes that holds an int$"),
    ]:
        with pytest.raises(ModelError, match=message):
            declared(kind, count, shard)
    for shards in (1, 101):
        with pytest.raises(ModelError, match=rf"^Likes takes 2 to 100 shards, not {shards}$"):
            declared(Likes, Likes.count, Likes.shard, shards)
    with pytest.raises(PlanRefused, match=r"^Likes\.shard is not for you to choose: leave it out$"):
        store.run(counter(3).add(1, post="a", shard=1))

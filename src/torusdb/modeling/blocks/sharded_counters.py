"""A counter in several items, since one item takes no more than 1,000 writes a second.

Each addition goes to one of the items, by chance; the total is the sum of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.blocks.numbered import check_int, check_numbered, numbered_ref
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.plans import BatchGet
from torusdb.modeling.shards import random_float
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, work_of
from torusdb.modeling.upserts import Upsert

E = TypeVar("E", bound=Entity)


class ShardedCounter(Generic[E]):
    """`likes.add(1, post="7")` and `likes.total(post="7")` are tasks.

    `count`: the attribute that is added to. `shard`: the one in the key that numbers the items, from 0 on. There may be
    more shards later; fewer would leave out what the others have. `random` is for tests."""

    def __init__(
        self,
        kind: type[E],
        count: Attribute[int],
        shard: Attribute[int],
        *,
        shards: int,
        random: Callable[[], float] = random_float,
    ) -> None:
        check_numbered(kind, shard, "shards", shards)
        check_int(kind, count)
        self.kind = kind
        self.count = count
        self.shard = shard
        self.shards = shards
        self.random = random

    def add(self, amount: int, **key: Any) -> Task[None]:
        """`key`: the rest of the key. One write; who repeats it adds twice."""
        return _Add(self, amount, key)

    def total(self, *, consistent: bool = False, **key: Any) -> Task[int]:
        """Of all shards, read in one batch; 0 where nothing was added. Each shard is read at a moment of its own: what
        is added meanwhile may be in it or not. If consistent, all that was added before is."""
        return _Total(self, consistent, key)


class _Add(Task[None], Generic[E]):
    def __init__(self, counter: ShardedCounter[E], amount: int, key: dict[str, Any]) -> None:
        self.counter = counter
        self.amount = amount
        self.key = key

    def work(self, context: Context) -> Work[None]:
        counter = self.counter
        shard = int(counter.random() * counter.shards)
        ref = numbered_ref(counter.kind, counter.shard, shard, self.key)
        yield from work_of(Upsert(ref, counter.count.add(self.amount)), context)


class _Total(Task[int], Generic[E]):
    def __init__(self, counter: ShardedCounter[E], consistent: bool, key: dict[str, Any]) -> None:
        self.counter = counter
        self.consistent = consistent
        self.key = key

    def work(self, context: Context) -> Work[int]:
        counter = self.counter
        refs = [numbered_ref(counter.kind, counter.shard, shard, self.key) for shard in range(counter.shards)]
        found = yield from work_of(BatchGet(refs, consistent=self.consistent), context)
        return sum(getattr(each, counter.count._field) for each in found if each is not None)

"""Random shards: what is written to one partition is spread over several, by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from torusdb.modeling.errors import InvalidValue, ModelError

SHARDS_MAX: Final = 1000
"""A query of a sharded key is a request to each; beyond this a mistake is more likely than a purpose."""


def random_float() -> float:
    from random import random

    return random()  # noqa: S311 - it spreads load


class RandomShard:
    """What makes the default of an attribute that holds an entity's shard."""

    __slots__ = ("_random", "shards")

    def __init__(self, shards: int, random: Callable[[], float]) -> None:
        self.shards = shards
        self._random = random

    def __call__(self) -> int:
        return int(self._random() * self.shards)

    def checked(self, value: object, label: str) -> int:
        if type(value) is not int or not 0 <= value < self.shards:
            raise InvalidValue(f"{label}: {value!r} is no shard, which are 0 to {self.shards - 1}")
        return value


def random_shard(shards: int, *, random: Callable[[], float] = random_float) -> Callable[[], int]:
    """The default of an attribute that says in which shard of a key the entity is:

        shard: Attr[int] = attr(default_factory=random_shard(15))
        by_day = Key("EVENTS#{day}", "{time}", index=by_day, shard_by="shard")

    It is drawn when the object is made and is stored with it, so that the entity stays in its shard whatever is done
    with it, and several keys can have the same. In the table's own key it is a part of the key like any other: who gets
    the item has to know it, and of two objects that differ in their shards alone both are stored. Where the rest of the
    key has to find the item, shard by one of its attributes instead.

    There may be more shards later, since what is stored has its own; fewer only when none is left in those beyond.
    `random` is for tests."""
    if not 2 <= shards <= SHARDS_MAX:
        raise ModelError(f"random_shard takes 2 to {SHARDS_MAX} shards, not {shards}")
    return RandomShard(shards, random)

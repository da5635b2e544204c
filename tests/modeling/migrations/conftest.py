"""A database by hand, clients of it that tests may interrupt, and works that take turns in one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from tests.jobs.by_hand import ByHand
from tests.streams.conftest import Client, Hook, nothing
from torusdb.modeling import Table
from torusdb.modeling.migrations import Means
from torusdb.modeling.migrations.driving import Driver, Runner
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Work

things = Table("things", partition_key="pk")
new_things = Table("new-things", partition_key="pk")


class Stage:
    """A table with things in it, and whoever works on it. Time passes only when somebody waits."""

    def __init__(self, *tables: Table) -> None:
        self.hand = ByHand()
        for table in tables:
            self.hand.call("CreateTable", **table.create_parameters())

    def client(self, before: Hook = nothing, after: Hook = nothing) -> Client:
        return Client(self.hand, before, after)

    def means(self, before: Hook = nothing, after: Hook = nothing) -> Means:
        client = self.client(before, after)
        return Means(client, client, now=self.now, wall=self.now, sleep=self.sleep, random=lambda: 0.5)

    def now(self) -> float:
        return self.hand.clock

    def sleep(self, seconds: float) -> None:
        self.hand.clock += seconds

    def put(self, table: Table, *items: Item) -> None:
        for item in items:
            self.hand.call("PutItem", TableName=table.name, Item=item)

    def items(self, table: Table) -> list[Item]:
        """In no order that matters."""
        found: list[Item] = self.hand.call("Scan", TableName=table.name)["Items"]
        return sorted(found, key=repr)

    def close(self) -> None:
        self.hand.close()


class Turn:
    """Work that takes one step when it is its turn."""

    def __init__(self, work: Work[Any], do: Callable[[Any], Any]) -> None:
        self._work = work
        self._do = do
        self._answer: Any = None
        self.is_over = False
        self.result: Any = None

    def take(self) -> None:
        try:
            step = self._work.send(self._answer)
            while True:
                try:
                    self._answer = self._do(step)
                    return
                except Exception as error:
                    step = self._work.throw(error)
        except StopIteration as end:
            self.is_over, self.result = True, end.value


def in_turns(random: Random | None = None) -> Runner:
    """One after another, or as chance has it; who follows has a turn behind each round."""
    chance = random or Random(0)

    def run(works: Sequence[Work[None]], driver: Driver, beside: Callable[[], bool] | None) -> None:
        turns = [Turn(work, driver.do) for work in works]
        while turns:
            turn = chance.choice(turns)
            turn.take()
            if turn.is_over:
                turns.remove(turn)
            if beside is not None and chance.random() < 1 / len(works):
                beside()

    return run


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage(things)
    yield made
    made.close()


def thing(key: str, **attributes: str | int) -> Item:
    wires = {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in attributes.items()}
    return {"pk": {"S": key}, **wires}

"""Into another table: copies of the scan and what the stream brings, in any order, against the plain conversion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.modeling.migrations.conftest import Stage, Turn, new_things, thing, things
from torusdb.modeling import Table
from torusdb.modeling.migrations import ItemRefused, into_table
from torusdb.modeling.migrations.ledgers import copy_work, entry_key, follow_work, ledger_of
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Work, drive

into_new_things = into_table(new_things, source=things)


def same(item: Item) -> Item:
    return {**item, "new": {"BOOL": True}}


def parts(item: Item) -> list[Item]:
    """None to three, by what is in the item."""
    return [thing(f"{item['pk']['S']}/{part}", of=item["x"]["N"]) for part in range(int(item["x"]["N"]) % 4)]


def keyed_by_value(item: Item) -> Item:
    return {**item, "pk": {"S": f"{item['pk']['S']}:{int(item['x']['N']) % 3}"}}


def gone_if_odd(item: Item) -> Item | None:
    return None if int(item["x"]["N"]) % 2 else item


CONVERSIONS = [same, parts, keyed_by_value, gone_if_odd]


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = staged()
    yield made
    made.close()


def staged() -> Stage:
    return Stage(things, new_things, ledger_of(into_new_things(same)))


def run(stage: Stage, work: Work[Any]) -> Any:
    client = stage.client()
    return drive(work, lambda step: getattr(client, step.method)(**step.parameters))


KEY: Item = {"pk": {"S": "a"}}


def test_a_copy_is_made_once(stage: Stage) -> None:
    migration = into_new_things(same)
    assert run(stage, copy_work(migration, thing("a", x=1))) == "converted"
    assert run(stage, copy_work(migration, thing("a", x=2))) == "already"
    assert stage.items(new_things) == [same(thing("a", x=1))]


def test_a_late_copy_does_not_bring_back_what_is_removed(stage: Stage) -> None:
    migration = into_new_things(same)
    assert run(stage, follow_work(migration, KEY)) == "removed"
    assert run(stage, copy_work(migration, thing("a", x=1))) == "already"
    assert stage.items(new_things) == []


def test_a_copy_that_falls_between_reading_and_writing_is_not_undone(stage: Stage) -> None:
    """The follower finds that the entry has moved on, and reads again."""
    migration = into_new_things(same)
    stage.put(things, thing("a", x=1))
    client = stage.client()
    following = Turn(follow_work(migration, KEY), lambda step: getattr(client, step.method)(**step.parameters))
    following.take()  # the entry: there is none
    following.take()  # the item: 1
    stage.put(things, thing("a", x=2))
    assert run(stage, follow_work(migration, KEY)) == "converted"
    while not following.is_over:
        following.take()
    assert following.result == "converted"
    assert stage.items(new_things) == [same(thing("a", x=2))]


def test_an_item_in_the_target_that_is_not_of_the_migration_is_left_alone(stage: Stage) -> None:
    stage.put(new_things, thing("a", x=7))
    stage.put(things, thing("a", x=1))
    for work in (copy_work(into_new_things(same), thing("a", x=1)), follow_work(into_new_things(same), KEY)):
        with pytest.raises(ItemRefused, match="gave an item whose key another has already"):
            run(stage, work)
    assert stage.items(new_things) == [thing("a", x=7)]


def test_items_that_become_one_are_refused(stage: Stage) -> None:
    one = into_new_things(lambda item: thing("one"))
    assert run(stage, copy_work(one, thing("a"))) == "converted"
    with pytest.raises(ItemRefused, match="whose key another has already"):
        run(stage, copy_work(one, thing("b")))


def test_an_item_that_comes_to_anothers_key_later_is_refused_as_well(stage: Stage) -> None:
    by_value = into_new_things(lambda item: {"pk": {"S": item["x"]["N"]}, "of": item["pk"]})
    for key, value in (("a", 1), ("b", 2)):
        assert run(stage, copy_work(by_value, thing(key, x=value))) == "converted"
    stage.put(things, thing("b", x=1))
    with pytest.raises(ItemRefused, match="whose key another has already"):
        run(stage, follow_work(by_value, {"pk": {"S": "b"}}))
    assert stage.items(new_things) == [thing("1", of="a"), thing("2", of="b")]


def test_long_keys_stand_in_the_ledger_by_their_hash() -> None:
    long = {"pk": {"S": "k" * 1100}}
    assert len(entry_key(long)) == 64
    assert entry_key(long) != entry_key({"pk": {"S": "k" * 1101}})
    assert entry_key({"sk": {"B": b"\x01"}, "pk": {"S": "k"}}) == '{"pk":{"S":"k"},"sk":{"B":"01"}}'


@pytest.mark.parametrize("copied_before", [False, True])
@pytest.mark.parametrize("last", ["put", "delete"])
def test_every_interleaving_of_two_who_follow_with_a_write(stage: Stage, copied_before: bool, last: str) -> None:
    """One has begun before the last write, the other follows it: nothing more comes that could mend what they do."""
    migration = into_new_things(same)
    client = stage.client()

    def follow(key: Item) -> Turn:
        return Turn(follow_work(migration, key), lambda step: getattr(client, step.method)(**step.parameters))

    expected = []
    for number, (steps_before, *schedule) in enumerate(product(range(4), *[range(2)] * 6)):
        name = f"thing {number}"
        key: Item = {"pk": {"S": name}}
        stage.put(things, thing(name, x=1))
        if copied_before:
            run(stage, copy_work(migration, thing(name, x=0)))
        first = follow(key)
        for _ in range(steps_before):
            first.take()
            if first.is_over:
                break
        if last == "put":
            stage.put(things, thing(name, x=2))
            expected.append(same(thing(name, x=2)))
        else:
            stage.hand.call("DeleteItem", TableName="things", Key=key)
        pair = (first, follow(key))
        for which in [*schedule, *[1] * 9, *[0] * 9]:
            if not pair[which].is_over:
                pair[which].take()
        assert all(turn.is_over for turn in pair)
    assert stage.items(new_things) == sorted(expected, key=repr)


class World:
    """A program that writes, a scan that reads each key at some moment, a stream that tells of each write, and workers
    of both who are slow, or killed."""

    def __init__(self, convert: Callable[[Item], Any], random: Random) -> None:
        self.stage = staged()
        self.migration = into_new_things(convert)
        self.random = random
        self.told: list[str] = []
        """Keys of records that nobody has handled to the end."""
        self.unscanned = list("abc")
        self.copying: list[Turn] = []
        self.following: list[tuple[str, Turn]] = []

    def do(self, step: Any) -> Any:
        return getattr(self.stage.client(), step.method)(**step.parameters)

    def write(self) -> None:
        key = self.random.choice("abc")
        if self.random.random() < 0.3:
            self.stage.hand.call("DeleteItem", TableName="things", Key={"pk": {"S": key}})
        else:
            self.stage.put(things, thing(key, x=self.random.randrange(12)))
        self.told.append(key)

    def scan(self) -> None:
        """Reads a key now; what it has read may be written much later. Some pages are scanned again after a crash."""
        if not self.unscanned:
            return
        key = self.random.choice(self.unscanned)
        found = [item for item in self.stage.items(things) if item["pk"]["S"] == key]
        self.copying += [Turn(copy_work(self.migration, item), self.do) for item in found]
        if self.random.random() < 0.7:
            self.unscanned.remove(key)

    def follow(self) -> None:
        if self.told:
            key = self.random.choice(self.told)
            self.following.append((key, Turn(follow_work(self.migration, {"pk": {"S": key}}), self.do)))
            if self.random.random() < 0.7:
                self.told.remove(key)  # else it is told again

    def step(self) -> None:
        turns = [*self.copying, *(turn for _, turn in self.following)]
        if turns:
            self.random.choice(turns).take()
        self.copying = [turn for turn in self.copying if not turn.is_over]
        self.following = [(key, turn) for key, turn in self.following if not turn.is_over]

    def kill(self) -> None:
        """Those who follow; what they had not handled is told again. A copy that is killed is made again."""
        killed, self.following = self.following, []
        self.told += [key for key, _ in killed]

    def finish(self) -> None:
        """All that was told is handled, one at a time; late copies come in between."""
        while self.unscanned or self.told or self.following or self.copying:
            self.random.choice([self.scan, self.follow, self.step, self.step])()

    def check(self) -> None:
        expected = [each for item in self.stage.items(things) for each in self.migration.outcome(item).items]
        assert self.stage.items(new_things) == sorted(expected, key=repr)
        self.stage.close()


@pytest.mark.parametrize("convert", CONVERSIONS)
@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32))
def test_copies_and_records_in_any_order_come_to_what_the_source_is(convert: Callable[[Item], Any], seed: int) -> None:
    random = Random(seed)
    world = World(convert, random)
    actions = [world.write, world.write, world.scan, world.follow, world.follow, *[world.step] * 8, world.kill]
    for _ in range(random.randrange(20, 70)):
        random.choice(actions)()
    world.finish()
    world.check()


def test_the_ledger_has_a_table_of_its_own() -> None:
    assert (
        ledger_of(into_new_things(same)).create_parameters()
        == Table("new-things-ledger", partition_key="source").create_parameters()
    )

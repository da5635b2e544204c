"""Random shards: an entity keeps the one that it was drawn, and queries read them all."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from torusdb.modeling import (
    Attr,
    Entity,
    GlobalIndex,
    InvalidValue,
    Key,
    ModelError,
    PlanRefused,
    Put,
    Query,
    Ref,
    Store,
    Table,
    Upsert,
    attr,
    pattern,
    random_shard,
)

START = datetime(2024, 3, 1, tzinfo=UTC)
by_level = GlobalIndex("levels", partition_key="lpk", sort_key="lsk")
log = Table("log", partition_key="pk", sort_key="sk", indexes=[by_level])
drawn = random.Random(3)


class Event(Entity, table=log):
    """Spread over twelve shards by one drawn number, in the table and in the index."""

    key = Key("DAY#{day}", "{time}", shard_by="shard")
    by_level = Key("LEVEL#{level}", "{time}", index=by_level, shard_by="shard")
    day: Attr[date]
    time: Attr[datetime]
    level: Attr[str] = attr(default="info")
    shard: Attr[int] = attr(default_factory=random_shard(12, random=drawn.random))


@pattern("The events of a day")
def events_of(day: date) -> Query[Event]:
    return Event.key.query(Event.day == day)


@pytest.fixture
def events(client: Recorder) -> Store:
    made = Store(log, client)
    made.create_table()
    return made


def event(minute: int, **values: Any) -> Event:
    return Event(day=START.date(), time=START + timedelta(minutes=minute), **values)


def test_shards_are_drawn_evenly_and_stored() -> None:
    counts = [0] * 12
    for _ in range(1200):
        counts[event(0).shard] += 1
    assert min(counts) > 60
    item = Put(event(0, shard=7)).item
    assert item["pk"] == {"S": "DAY#2024-03-01#07"}
    assert item["lpk"] == {"S": "LEVEL#info#07"}
    assert item["shard"] == {"N": "7"}


def test_a_query_reads_all_shards_at_once_in_order(events: Store, client: Recorder) -> None:
    everything = [event(minute) for minute in range(60)]
    events.put_many(everything)
    assert len({each.shard for each in everything}) > 6
    client.requests.clear()
    assert events.run(events_of(START.date())).all() == everything
    assert len(client.requests) == 12
    assert events.run(events_of(START.date()).newest_first().page_size(2).limit(9)).all() == everything[:-10:-1]
    assert events.run(Event.by_level.query(Event.level == "info").count()) == 60
    client.requests.clear()
    one = [each for each in everything if each.shard == 5]
    assert events.run(Event.key.query(Event.day == START.date(), Event.shard == 5)).all() == one
    assert len(client.requests) == 1
    assert events_of.explanation.requests == 12
    assert "(shards of shard)" in str(events_of.explanation)


def test_an_item_is_got_by_its_shard_too(events: Store) -> None:
    one = event(1)
    events.put(one)
    key = {"day": one.day, "time": one.time}
    assert events.get(Event, **key, shard=one.shard) == one
    assert events.get(Event, **key, shard=(one.shard + 1) % 12) is None
    with pytest.raises(
        PlanRefused, match=r"^The key of Event is made of day and time and shard: give these, and no others$"
    ):
        events.get(Event, **key)
    events.put(one)
    assert events.run(events_of(START.date())).all() == [one], "an object stays in its shard"
    events.delete(one)
    assert events.run(events_of(START.date())).all() == []


def test_updates_keep_an_entity_in_its_shard(events: Store) -> None:
    one = event(1, shard=4)
    events.put(one)
    changed = events.update(one, Event.level.set("error"))
    assert events.run(Event.by_level.query(Event.level == "error", Event.shard == 4)).all() == [changed]
    ref = Ref(Event, day=one.day, time=one.time, shard=4)
    assert events.update(ref, Event.level.set("debug")).shard == 4
    assert Upsert(ref).requests()[0].parameters["Key"]["pk"] == {"S": "DAY#2024-03-01#04"}


@pytest.mark.parametrize("shard", [-1, 12, True, "3"])
def test_what_is_no_shard_is_refused(shard: Any) -> None:
    uses: list[Callable[[], Any]] = [
        lambda: Put(event(1, shard=shard)),
        lambda: Event.key.query(Event.day == START.date(), Event.shard == shard),
    ]
    for use in uses:
        with pytest.raises(InvalidValue, match=r"Event\.shard: .* (is no shard, which are 0 to 11|is not an int)$"):
            use()


def declare(table: Table, **body: Any) -> type[Entity]:
    annotations = {"id": Attr[str], "shard": Attr[body.pop("kind", int)]}
    return type("Wrong", (Entity,), {"__annotations__": annotations, **body}, table=table)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (lambda _: random_shard(1), "random_shard takes 2 to 1000 shards, not 1"),
        (lambda _: random_shard(1001), "random_shard takes 2 to 1000 shards, not 1001"),
        (
            lambda table: declare(
                table,
                key=Key("W#{id}", "A", shards=3, shard_by="shard"),
                shard=attr(default_factory=random_shard(4)),
            ),
            "Wrong.key takes shards=3, and Wrong.shard is drawn from 4: leave out shards=",
        ),
        (
            lambda table: declare(
                table, kind=str, key=Key("W#{id}", "A", shard_by="shard"), shard=attr(default_factory=random_shard(4))
            ),
            "Wrong.key is sharded by shard, whose shard is drawn: make it an Attr[int]",
        ),
        (
            lambda table: declare(table, key=Key("W#{id}", "A", shard_by="shard"), shard=attr(default=1)),
            "Wrong.key takes shards= (2 to 1000) and shard_by= together",
        ),
    ],
)
def test_shards_that_cannot_be(make: Callable[[Table], Any], refusal: str) -> None:
    with pytest.raises(ModelError) as caught:
        make(Table("wrong", partition_key="pk", sort_key="sk"))
    assert str(caught.value) == refusal


def test_the_numbers_of_shards_are_part_of_what_keys_can_be() -> None:
    """`DAY#x#07` may be a shard of one or the seventh hour of another."""
    table = Table("things", partition_key="pk")

    class Daily(Entity, table=table):
        key = Key("DAY#{day}", shard_by="shard")
        day: Attr[date]
        shard: Attr[int] = attr(default_factory=random_shard(12))

    class Apart(Entity, table=table):
        key = Key("DAY#{day}")
        day: Attr[date]

    with pytest.raises(ModelError, match=r"^Hourly\.key \(.*\) and Daily\.key \(.*\) can be the same key of"):

        class Hourly(Entity, table=table):
            key = Key("DAY#{day}#{hour:02}")
            day: Attr[date]
            hour: Attr[int]

    class Longer(Entity, table=table):
        key = Key("DAY#{day}#{hour:03}")
        day: Attr[date]
        hour: Attr[int]

    assert sorted(table.entities) == ["Apart", "Daily", "Longer"]


def test_texts_before_the_shard_are_told_apart_from_others() -> None:
    table = Table("things", partition_key="pk")

    class Page(Entity, table=table):
        key = Key("P#{path}", shard_by="shard")
        path: Attr[str]
        shard: Attr[int] = attr(default_factory=random_shard(3))

    class Part(Entity, table=table):
        key = Key("P#{path}#PART#{name}")
        path: Attr[str]
        name: Attr[str]

    with pytest.raises(InvalidValue, match="would have the key of a Part: a text in it looks like more fields"):
        Put(Page(path="a#PART#b", shard=0))
    assert Put(Page(path="a#b", shard=0)).item["pk"] == {"S": "P#a#b#0"}
    assert Put(Part(path="a", name="b#0")).item["pk"] == {"S": "P#a#PART#b#0"}

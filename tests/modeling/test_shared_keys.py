"""Indexes on attributes that another key writes as well: inverted indexes, and those that share an attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from torusdb.modeling import (
    Attr,
    Entity,
    GlobalIndex,
    InvalidValue,
    Key,
    LocalIndex,
    ModelError,
    PlanRefused,
    Put,
    Ref,
    Store,
    Table,
    Upsert,
    attr,
    binary_key,
    collection,
)

inverted = GlobalIndex("inverted", partition_key="sk", sort_key="pk")
slim = GlobalIndex("slim", partition_key="sk", sort_key="pk", include=[])
by_rank = LocalIndex("ranks", sort_key="rank_sk")
by_group = GlobalIndex("groups", partition_key="group_pk", sort_key="rank_sk")
by_team = GlobalIndex("teams", partition_key="team_pk", sort_key="pk")
club = Table("club", partition_key="pk", sort_key="sk", indexes=[inverted, by_rank, by_group, by_team])


class Person(Entity, table=club):
    key = Key("PERSON#{id}", "PROFILE")
    id: Attr[str]


class Membership(Entity, table=club):
    key = Key("PERSON#{person}", "CLUB#{club}")
    members = Key(index=inverted)
    by_rank = Key(sort="{rank:03}", index=by_rank)
    by_group = Key("GROUP#{group}", "{rank:03}", index=by_group)
    by_team = Key("TEAM#{team}", "PERSON#{person}", index=by_team)
    person: Attr[str]
    club: Attr[str]
    rank: Attr[int | None] = attr(default=None)
    group: Attr[str | None] = attr(default=None)
    team: Attr[str | None] = attr(default=None)


class Club(Entity, table=club):
    """In the inverted index by its own key, though no key of it says so."""

    key = Key("ABOUT", "CLUB#{id}")
    id: Attr[str]


@pytest.fixture
def members(client: Recorder) -> Store:
    made = Store(club, client)
    made.create_table()
    return made


def everything() -> list[Membership]:
    return [Membership(person=person, club=each) for each in ("chess", "go") for person in ("1", "2", "3")]


def test_an_entity_is_in_an_inverted_index_by_its_key(members: Store) -> None:
    item = Put(Membership(person="1", club="chess")).item
    assert (item["pk"], item["sk"]) == ({"S": "PERSON#1"}, {"S": "CLUB#chess"})
    members.put_many([*everything(), Club(id="chess"), Person(id="1")])
    chess = everything()[:3]
    assert members.get(Membership, person="1", club="chess") == chess[0]
    assert members.run(Membership.members.query(Membership.club == "chess")).all() == chess
    assert members.run(Membership.members.query(Membership.club == "chess").newest_first().limit(1)).all() == chess[2:]
    one = Membership.members.query(Membership.club == "chess", Membership.person == "2")
    assert members.run(one).all() == [chess[1]]
    results = members.run(Membership.members.query(Membership.club == "chess").limit(2))
    assert results.all() == chess[:2]
    assert members.run(Membership.members.query(Membership.club == "chess").after(results.cursor)).all() == chess[2:]


def test_queries_know_who_is_in_an_index_without_a_key_of_it(members: Store) -> None:
    whole = Membership.members.query(Membership.club == "chess")
    assert whole.explain().filter is None, "its range is that of the templates: PERSON# does not hold ABOUT"
    assert str(whole.explain().key_condition) == "sk = 'CLUB#chess' AND begins_with(pk, 'PERSON#')"

    table = Table("things", partition_key="pk", sort_key="sk", indexes=[inverted, slim])

    class Follow(Entity, table=table):
        key = Key("{follower}", "USER#{followed}")
        followers = Key(index=inverted)
        keys_only = Key(index=slim)
        follower: Attr[str] = attr(in_key=True)
        followed: Attr[str] = attr(in_key=True)

    assert Follow.followers.query(Follow.followed == "1").explain().filter is None
    assert Follow.keys_only.query(Follow.followed == "1").requests(), "which holds no type, and needs none so far"

    class Settings(Entity, table=table):
        key = Key("SETTINGS", "USER#{user}#SETTINGS")
        user: Attr[str]

    assert Follow.followers.query(Follow.followed == "1").explain().filter is None, "USER#1 is none of its keys"
    odd = Follow.followers.query(Follow.followed == "1#SETTINGS")
    assert odd.explain().filter == "_type is Follow"
    with pytest.raises(PlanRefused, match=r"The index slim does not hold"):
        Follow.keys_only.query(Follow.followed == "1#SETTINGS").requests()
    assert [key.label for key in Settings.__model__.keys.values()] == [
        "Settings.key",
        "Settings in inverted",
        "Settings in slim",
    ]


def test_a_collection_of_an_inverted_index(client: Recorder) -> None:
    table = Table("things", partition_key="pk", sort_key="sk", indexes=[inverted])

    class Team(Entity, table=table):
        key = Key("ABOUT", "TEAM#{id}")
        back = Key(index=inverted)
        id: Attr[str]

    class Player(Entity, table=table):
        key = Key("PLAYER#{name}", "TEAM#{team}")
        back = Key("TEAM#{team}", "PLAYER#{name}", index=inverted)
        name: Attr[str]
        team: Attr[str]

    store = Store(table, client)
    store.create_table()
    made = [Team(id="1"), Player(name="Ann", team="1"), Player(name="Bob", team="1")]
    store.put_many([*made, Player(name="Cy", team="2")])
    assert store.run(collection(Team.back, Player.back).query(Team.id == "1")).all() == made


def test_what_several_indexes_share_is_written_where_its_fields_are_there(members: Store) -> None:
    """The rank is in the sort key of two indexes; a group alone, or a rank alone, brings it into none or one."""
    one = Membership(person="1", club="chess", rank=7)
    members.put(one)
    assert {name for name in Put(one).item if name.endswith(("_pk", "_sk"))} == {"rank_sk"}
    ranks = Membership.by_rank.query(Membership.person == "1")
    group = Membership.by_group.query(Membership.group == "a")
    assert (members.run(ranks).all(), members.run(group).all()) == ([one], [])
    one = members.update(one, Membership.group.set("a"))
    assert (members.run(ranks).all(), members.run(group).all()) == ([one], [one])
    one = members.update(Ref(Membership, person="1", club="chess"), Membership.rank.set(8))
    assert members.run(Membership.by_group.query(Membership.group == "a", Membership.rank == 8)).all() == [one]
    one = members.update(one, Membership.rank.set(None))
    assert (members.run(ranks).all(), members.run(group).all()) == ([], [])
    one = members.update(one, Membership.rank.set(3), Membership.group.set(None))
    assert (members.run(ranks).all(), members.run(group).all()) == ([one], [])


def test_updates_and_upserts_leave_the_tables_key_alone(members: Store) -> None:
    ref = Ref(Membership, person="1", club="chess")
    made = members.run(Upsert(ref, Membership.team.set("red")))
    assert members.run(Membership.by_team.query(Membership.team == "red")).all() == [made]
    made = members.update(ref, Membership.team.set("blue"))
    assert members.run(Membership.by_team.query(Membership.team == "red")).all() == []
    assert members.run(Membership.by_team.query(Membership.team == "blue")).all() == [made]
    assert members.run(Membership.members.query(Membership.club == "chess")).all() == [made]


def contradiction() -> Any:
    class Thing(Entity, table=Table("things", partition_key="pk", sort_key="sk", indexes=[inverted])):
        key = Key("A#{a}", "B#{b}")
        back = Key("X#{b}", "A#{a}", index=inverted)
        a: Attr[str]
        b: Attr[str]


def two_ways() -> Any:
    one = GlobalIndex("one", partition_key="x", sort_key="y")
    other = GlobalIndex("other", partition_key="x", sort_key="z")

    class Thing(Entity, table=Table("things", partition_key="pk", indexes=[one, other])):
        key = Key("A#{a}")
        first = Key("X#{a}", "Y", index=one)
        second = Key("XX#{a}", "Z", index=other)
        a: Attr[str]


def shards_of_two_sizes() -> Any:
    one = GlobalIndex("one", partition_key="x", sort_key="y")
    other = GlobalIndex("other", partition_key="x", sort_key="z")

    class Thing(Entity, table=Table("things", partition_key="pk", indexes=[one, other])):
        key = Key("A#{a}")
        first = Key("X", "Y", index=one, shards=3, shard_by="a")
        second = Key("X", "Z", index=other, shards=4, shard_by="a")
        a: Attr[str]


def sorted_by_shards() -> Any:
    class Thing(Entity, table=Table("things", partition_key="pk", sort_key="sk", indexes=[inverted])):
        key = Key("A", "B#{b}", shards=3, shard_by="b")
        b: Attr[str]


def spread_again() -> Any:
    one = GlobalIndex("one", partition_key="pk", sort_key="y")

    class Thing(Entity, table=Table("things", partition_key="pk", sort_key="sk", indexes=[one])):
        key = Key("A", "B#{b}")
        by = Key("A", "{b}", index=one, shards=3, shard_by="b")
        b: Attr[str]


@pytest.mark.parametrize(
    ("declare", "refusal"),
    [
        (
            contradiction,
            "Thing.back has the template 'X#{b}' for sk, where Thing.key writes 'B#{b}': leave out the partition key's",
        ),
        (
            two_ways,
            "Thing.second writes 'XX#{a}' to x, and Thing.first 'X#{a}': "
            "give both one template, or the indexes attributes of their own",
        ),
        (
            shards_of_two_sizes,
            "Thing.second and Thing.first both write x, and spread it in different ways: "
            "give both the same shards= and shard_by=",
        ),
        (
            sorted_by_shards,
            "Thing in inverted would sort by pk, which Thing.key spreads over shards: "
            "give the index attributes of its own",
        ),
        (spread_again, "Thing.by has the partition key of Thing.key: leave out shards= and shard_by="),
    ],
)
def test_contradictions(declare: Callable[[], Any], refusal: str) -> None:
    with pytest.raises(ModelError) as caught:
        declare()
    assert str(caught.value) == refusal


def test_an_index_on_a_sharded_partition_is_sharded_with_it(client: Recorder) -> None:
    by_size = GlobalIndex("sizes", partition_key="pk", sort_key="size_sk")
    table = Table("things", partition_key="pk", sort_key="sk", indexes=[by_size])

    class Box(Entity, table=table):
        key = Key("BOXES", "{id}", shards=3, shard_by="id")
        sized = Key((), "{size:04}", index=by_size)
        id: Attr[str]
        size: Attr[int]

    store = Store(table, client)
    store.create_table()
    boxes = [Box(id=str(number), size=number) for number in range(9)]
    store.put_many(boxes)
    assert store.run(Box.sized.query(Box.size >= 4)).all() == boxes[4:]


def test_keys_have_a_length(members: Store) -> None:
    Put(Membership(person="p" * 1017, club="c"))
    with pytest.raises(
        InvalidValue, match=r"^Membership\.key: a key of 1,025 bytes, of which it can have 1,024$"
    ):  # as the sort key of the inverted index
        Put(Membership(person="p" * 1018, club="c"))
    with pytest.raises(InvalidValue, match=r"^Membership\.key: a key of 1,027 bytes"):
        Ref(Membership, person="1", club="\u20ac" * 340 + "zz")
    Put(Membership(person="1", club="\u20ac" * 339 + "zz"))
    table = Table("things", partition_key="pk", sort_key=binary_key("sk"))

    class Blob(Entity, table=table):
        key = Key("B", "{bytes}", shards=100, shard_by="name")
        name: Attr[str]
        bytes: Attr[bytes]

    Put(Blob(name="", bytes=b"x" * 1024))
    for value, refusal in ((b"", "a key cannot be empty"), (b"x" * 1025, "a key of 1,025 bytes")):
        with pytest.raises(InvalidValue, match=rf"^Blob\.key\.bytes: .*{refusal}"):
            Put(Blob(name="", bytes=value))


def test_the_number_of_a_shard_is_part_of_a_keys_length() -> None:
    class Long(Entity, table=Table("things", partition_key="pk")):
        key = Key("{text}", shards=100, shard_by="text")
        text: Attr[str]

    assert len(Put(Long(text="x" * 2045)).item["pk"]["S"]) == 2048
    with pytest.raises(InvalidValue, match=r"^Long\.key: a key of 2,046 bytes, of which it can have 2,045$"):
        Put(Long(text="x" * 2046))

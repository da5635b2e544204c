"""One item in place, with others that write to it at any moment: it is as if each conversion had happened at once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.modeling.migrations.conftest import Stage, Turn, thing, things
from torusdb.modeling import Attr, Entity, Key, ModelError, Table, attr
from torusdb.modeling.migrations import LEAVE, ItemRefused, Migration, MigrationError, in_place, into_table
from torusdb.modeling.migrations.converting import CONVERSIONS_MAX, convert_work
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import drive

in_version_2 = in_place(things, version=2, marker="_v")


def added(item: Item) -> Item:
    """Done twice, it would be seen."""
    return {**item, "x": {"N": str(int(item["x"]["N"]) + 1000)}}


def moved(item: Item) -> Item:
    return {**added(item), "pk": {"S": "moved " + item["pk"]["S"]}}


def split(item: Item) -> list[Item]:
    return [added(item), {"pk": {"S": "part of " + item["pk"]["S"]}, "x": item["x"]}]


def removed(item: Item) -> Any:
    return None if int(item["x"]["N"]) % 2 else added(item)


def run(stage: Stage, migration: Migration, item: Item) -> str:
    client = stage.client()
    return drive(convert_work(migration, item), lambda step: getattr(client, step.method)(**step.parameters))


def test_an_item_is_converted_and_marked(stage: Stage) -> None:
    stage.put(things, thing("a", x=1, other="o"))
    assert run(stage, in_version_2(added), thing("a", x=1, other="o")) == "converted"
    assert stage.items(things) == [thing("a", x=1001, other="o", _v=2)]


@pytest.mark.parametrize("marked", [2, 3])
def test_what_is_marked_is_passed_by(stage: Stage, marked: int) -> None:
    stage.put(things, thing("a", x=1, _v=marked))
    assert run(stage, in_version_2(added), thing("a", x=1, _v=marked)) == "already"
    # Also where the scan has read it before it was.
    assert run(stage, in_version_2(added), thing("a", x=1)) == "already"
    assert stage.items(things) == [thing("a", x=1, _v=marked)]


def test_an_earlier_version_is_converted(stage: Stage) -> None:
    stage.put(things, thing("a", x=1, _v=1))
    assert run(stage, in_version_2(added), thing("a", x=1, _v=1)) == "converted"
    assert stage.items(things) == [thing("a", x=1001, _v=2)]


def test_an_item_moves_splits_and_goes(stage: Stage) -> None:
    stage.put(things, thing("a", x=1), thing("b", x=2), thing("c", x=3))
    assert run(stage, in_version_2(moved), thing("a", x=1)) == "converted"
    assert run(stage, in_version_2(split), thing("b", x=2)) == "converted"
    assert run(stage, in_version_2(removed), thing("c", x=3)) == "converted"
    expected = [thing("b", x=1002, _v=2), thing("moved a", x=1001, _v=2), thing("part of b", x=2, _v=2)]
    assert stage.items(things) == sorted(expected, key=repr)


def test_an_item_that_is_gone_is_gone(stage: Stage) -> None:
    assert run(stage, in_version_2(added), thing("a", x=1)) == "gone"
    assert stage.items(things) == []


def test_an_item_may_be_left_as_it_is(stage: Stage) -> None:
    stage.put(things, thing("a", x=1))
    assert run(stage, in_version_2(lambda item: LEAVE), thing("a", x=1)) == "left"
    assert stage.items(things) == [thing("a", x=1)]


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (lambda item: item["y"], "The conversion raised KeyError: 'y'"),
        (lambda item: "text", "gave a str: give an item, an entity, a list, None or LEAVE"),
        (lambda item: {**item, "x": 1}, "gave x as 1, which is no attribute value"),
        (lambda item: {"x": item["x"]}, "an item without the key attribute pk, of type S"),
        (lambda item: {**item, "pk": {"N": "1"}}, r"gave the key attribute pk as {'N': '1'}: its type is S"),
        (lambda item: [item, item], "gave two items with the key"),
        (lambda item: {**item, "pk": {"S": "taken"}}, "gave an item whose key another has already"),
        (lambda item: {**item, "pk": {"S": ""}}, "empty string value"),
        (lambda item: [thing(str(each)) for each in range(100)], "makes 101 writes of one item.*takes 100"),
        (lambda item: {**item, "x": {"S": "s" * 500_000}}, "(?i)size"),
    ],
)
def test_what_a_conversion_cannot_give_is_refused_and_nothing_is_changed(
    stage: Stage, convert: Callable[[Item], Any], message: str
) -> None:
    before = [thing("a", x=1), thing("taken", x=2)]
    stage.put(things, *before)
    with pytest.raises(ItemRefused, match=message):
        run(stage, in_version_2(convert), thing("a", x=1))
    assert stage.items(things) == before


def test_a_marker_that_is_no_number_is_refused(stage: Stage) -> None:
    stage.put(things, thing("a", x=1, _v="two"))
    with pytest.raises(ItemRefused, match=r"_v is .* marks no version: choose another marker"):
        run(stage, in_version_2(added), thing("a", x=1, _v="two"))


def test_more_attributes_than_a_condition_takes_want_one_to_compare(stage: Stage) -> None:
    wide = thing("a", x=1, rev=7, **{f"a{number}": number for number in range(200)})
    stage.put(things, wide)
    with pytest.raises(ItemRefused, match="name those that change with every write in compare="):
        run(stage, in_version_2(added), wide)
    by_revision = in_place(things, version=2, marker="_v", compare=["rev"])(added)
    assert run(stage, by_revision, {**wide, "rev": {"N": "6"}}) == "converted"  # once it was read again
    assert stage.items(things) == [{**wide, "x": {"N": "1001"}, "_v": {"N": "2"}}]


def test_an_item_that_changes_all_the_time_is_refused(stage: Stage) -> None:
    stage.put(things, thing("a", x=1))
    count = 0

    def disturb(operation: str) -> None:
        nonlocal count
        if operation == "UpdateItem":
            count += 1
            stage.put(things, thing("a", x=1 + count))

    client = stage.client(before=disturb)
    with pytest.raises(ItemRefused, match=f"changed by others {CONVERSIONS_MAX} times"):
        drive(convert_work(in_version_2(added), thing("a", x=1)), lambda step: _call(client, step))


def _call(client: Any, step: Any) -> Any:
    return getattr(client, step.method)(**step.parameters)


# Entities

old_table = Table("things", partition_key="pk")
new_table = Table("things", partition_key="pk")


class OldPerson(Entity, table=old_table, type_name="Person"):
    key = Key("PERSON#{id}")
    id: Attr[str]
    name: Attr[str]
    nick: Attr[str | None] = attr(default=None)


class Person(Entity, table=new_table):
    key = Key("PERSON#{id}")
    id: Attr[str]
    first: Attr[str]
    last: Attr[str]


@in_place(old_table, version=1, marker="_v", reads=[OldPerson])
def names(old: OldPerson) -> Person:
    first, _, last = old.name.partition(" ")
    return Person(id=old.id, first=first, last=last)


def test_entities_are_converted_and_other_items_left(stage: Stage) -> None:
    ann = {"pk": {"S": "PERSON#1"}, "_type": {"S": "Person"}, "id": {"S": "1"}, "name": {"S": "Ann Lee"}}
    stage.put(things, ann, thing("other", x=1))
    assert run(stage, names, ann) == "converted"
    assert run(stage, names, thing("other", x=1)) == "left"
    last = {"first": {"S": "Ann"}, "last": {"S": "Lee"}, "_v": {"N": "1"}}
    kept = {name: wire for name, wire in ann.items() if name != "name"}
    assert stage.items(things) == sorted([{**kept, **last}, thing("other", x=1)], key=repr)


def test_a_stages_table_is_called_otherwise(stage: Stage) -> None:
    prod = Table("people-prod", partition_key="pk")
    stage.hand.call("CreateTable", **prod.create_parameters())
    ann = {"pk": {"S": "PERSON#1"}, "_type": {"S": "Person"}, "id": {"S": "1"}, "name": {"S": "Ann Lee"}}
    stage.put(prod, ann)
    assert run(stage, names.called("people-prod"), ann) == "converted"
    assert stage.items(prod)[0]["first"] == {"S": "Ann"}
    assert (names.source.name, names.called().source.name) == ("things", "things")
    with pytest.raises(ModelError, match="is in place: there is no target to be called elsewhere"):
        names.called("people-prod", "elsewhere")
    into = into_table(Table("new", partition_key="pk"), source=things)(added).called("old-prod", "new-prod")
    assert (into.source.name, into.target.name, into.form) == ("old-prod", "new-prod", "into a table")
    with pytest.raises(ModelError, match="is from same into the same table"):
        into.called("same", "same")


def test_an_attribute_that_was_looked_for_must_not_come_in_between(stage: Stage) -> None:
    """`nick` isn't there when the item is read, and the conversion rests on that."""
    ann = {"pk": {"S": "PERSON#1"}, "_type": {"S": "Person"}, "id": {"S": "1"}, "name": {"S": "Ann Lee"}}
    stage.put(things, {**ann, "nick": {"S": "Annie"}})
    given_nicks = []

    @in_place(old_table, version=1, marker="_v", reads=[OldPerson])
    def watched(old: OldPerson) -> Person:
        given_nicks.append(old.nick)
        return Person(id=old.id, first=old.nick or old.name, last="")

    assert run(stage, watched, ann) == "converted"
    assert given_nicks == [None, "Annie"]
    assert stage.items(things)[0]["first"] == {"S": "Annie"}


def test_an_entity_of_another_table_is_refused(stage: Stage) -> None:
    elsewhere = Table("elsewhere", partition_key="pk")

    class Stranger(Entity, table=elsewhere):
        key = Key("S#{id}")
        id: Attr[str]

    with pytest.raises(ItemRefused, match="gave a Stranger, which is of the table elsewhere: it must be of things"):
        run(stage, in_version_2(lambda item: Stranger(id="1")), thing("a", x=1))


# Attributes that nobody has heard of come in between


def renamed(item: Item) -> Item:
    """Goes through all attributes: it rests on those that nobody knows."""
    return {name.upper() if name != "pk" else name: wire for name, wire in item.items() if name != "_v"}


def test_an_attribute_that_comes_in_between_is_converted_as_well(stage: Stage) -> None:
    stage.put(things, thing("a", x=1, late="l"))
    assert run(stage, in_version_2(renamed), thing("a", x=1)) == "converted"
    assert stage.items(things) == [thing("a", X=1, LATE="l", _v=2)]


def test_an_item_that_is_removed_with_an_attribute_that_came_in_between_is_looked_at_again(stage: Stage) -> None:
    stage.put(things, thing("a", x=1, keep="k"))

    def unless_kept(item: Item) -> Item | None:
        return item if any(name == "keep" for name in item) else None

    assert run(stage, in_version_2(unless_kept), thing("a", x=1)) == "converted"
    assert stage.items(things) == [thing("a", x=1, keep="k", _v=2)]
    assert run(stage, in_version_2(unless_kept), thing("a", x=1)) == "already"
    stage.put(things, thing("b", x=1, other="o"))
    assert run(stage, in_version_2(unless_kept), thing("b", x=1)) == "converted"
    assert len(stage.items(things)) == 1  # what came to the other makes no difference


def test_an_item_that_cannot_be_put_back_is_told_in_full(stage: Stage) -> None:
    stage.put(things, thing("a", x=1, keep="k"))

    def unless_kept(item: Item) -> Item | None:
        return item if any(name == "keep" for name in item) else None

    def refuse(operation: str) -> None:
        if operation == "PutItem":
            raise ConnectionError("the cable is out")

    client = stage.client(refuse)
    with pytest.raises(MigrationError, match=r"is to stay, and could not be put back: .*'keep': {'S': 'k'}"):
        drive(convert_work(in_version_2(unless_kept), thing("a", x=1)), lambda step: _call(client, step))


def test_what_may_appear_is_not_lost_by_a_move(stage: Stage) -> None:
    stage.put(things, thing("a", x=1, late="l"))
    moves = in_place(things, version=2, marker="_v", may_appear=["late"])(moved)
    assert run(stage, moves, thing("a", x=1)) == "converted"
    assert stage.items(things) == [thing("moved a", x=1001, late="l", _v=2)]


# All interleavings with writers, and with a second run


class Reference:
    """What has to be in the table: each conversion happens at the moment of its write."""

    def __init__(self, stage: Stage, migration: Migration) -> None:
        self.stage = stage
        self.migration = migration
        self.items: dict[str, Item] = {}

    def write(self, operation: str, key: str, **more: Any) -> None:
        self.stage.hand.call(operation, TableName="things", **more)
        self.items = {item["pk"]["S"]: item for item in self.stage.items(things)}

    def landed(self, request: dict[str, Any]) -> None:
        first = next(iter(request["TransactItems"][0].values())) if "TransactItems" in request else request
        key = first["Key"]["pk"]["S"]
        item = self.items.pop(key)
        assert "_v" not in item, "converted twice"
        for each in self.migration.outcome(item).items:
            self.items[each["pk"]["S"]] = each
        self.check()

    def check(self) -> None:
        assert {item["pk"]["S"]: item for item in self.stage.items(things)} == self.items


def write_at_random(reference: Reference, random: Random) -> None:
    key = random.choice("abc")
    value = {":v": {"N": str(random.randrange(1000))}}
    where: dict[str, Any] = {"Key": {"pk": {"S": key}}}
    kind = random.choice(["put", "put", "set", "set", "new", "drop", "delete"])
    if kind == "put":
        reference.write("PutItem", key, Item=thing(key, x=random.randrange(1000)))
    elif kind == "delete":
        reference.write("DeleteItem", key, **where)
    elif key in reference.items:
        update = {"set": "SET x = :v", "new": "SET fresh = :v", "drop": "REMOVE fresh"}[kind]
        values = {} if kind == "drop" else {"ExpressionAttributeValues": value}
        reference.write("UpdateItem", key, UpdateExpression=update, **where, **values)


@pytest.mark.parametrize("convert", [added, moved, split, removed])
@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32))
def test_conversions_and_writes_are_as_if_one_after_another(convert: Callable[[Item], Any], seed: int) -> None:
    """Two runs and a program of the old model, whose steps come in any order: after each the table is what it would be
    if every conversion had happened at the moment of its write, and no item is converted twice."""
    random = Random(seed)
    stage = Stage(things)
    # A move takes with it what it doesn't know of, so what the program may add has to be named.
    may_appear = ["fresh"] if convert is moved else []
    migration = in_place(things, version=2, marker="_v", may_appear=may_appear)(convert)
    reference = Reference(stage, migration)
    client = stage.client()

    def do(step: Any) -> Any:
        answer = _call(client, step)
        if step.method != "get_item":
            reference.landed(step.parameters)
        return answer

    turns: list[Turn] = []
    for _ in range(40):
        if random.random() < 0.4 or not turns:
            write_at_random(reference, random)
            unconverted = [item for item in stage.items(things) if random.random() < 0.7]
            turns += [Turn(convert_work(migration, item), do) for item in unconverted if len(turns) < 4]
            continue
        turn = random.choice(turns)
        _take(turn)
        if turn.is_over:
            turns.remove(turn)
    for turn in turns:
        while not turn.is_over:
            _take(turn)
    reference.check()
    stage.close()


def _take(turn: Turn) -> None:
    try:
        turn.take()
    except ItemRefused:  # where a part of an item is there already: it was written anew since it was split
        turn.is_over = True


# Declarations that cannot be


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: in_place(things, version=0, marker="_v")(added), "has the version 0: versions begin with 1"),
        (lambda: in_place(things, version=1, marker="pk")(added), "marks items by pk, which is a key attribute"),
        (lambda: into_table(things, source=things)(added), "is from things into the same table: declare it with in_p"),
        (
            lambda: in_place(Table("elsewhere", partition_key="pk"), version=1, marker="_v", reads=[Person])(added),
            "reads Person, which is not of the table elsewhere",
        ),
        (lambda: in_place(things, version=1, marker="_v", reads=[Entity])(added), "reads Entity, which is not of the"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(declare: Callable[[], Migration], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        declare()

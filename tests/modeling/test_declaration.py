"""A model that cannot work fails where it is declared, with a sentence that names the class and what is wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from torusdb.modeling import (
    Attr,
    Entity,
    GlobalIndex,
    Key,
    LocalIndex,
    ModelError,
    PlanRefused,
    Put,
    Query,
    Scan,
    Table,
    attr,
    binary_key,
    collection,
    computed,
    number_key,
    pattern,
    ttl,
    version,
)

one = GlobalIndex("one", partition_key="gpk", sort_key="gsk")
local = LocalIndex("local", sort_key="lsk")
elsewhere = GlobalIndex("elsewhere", partition_key="a")


@pytest.fixture
def table() -> Table:
    return Table("things", partition_key="pk", sort_key="sk", indexes=[one, local])


def no_key(table: Table) -> Any:
    class Thing(Entity, table=table):
        id: Attr[str]


def key_of_an_index_only(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A", index=one)
        id: Attr[str]


def no_sort_template(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}")
        id: Attr[str]


def too_many_templates(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key(["A#{id}", "B#{id}"], "X")
        id: Attr[str]


def unknown_field(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{ident}", "A")
        id: Attr[str]


def number_without_width(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{number}", "N#{number}")
        number: Attr[int]


def bool_in_key(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{on}", "A")
        on: Attr[bool]


def optional_in_key(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str | None]


def unknown_index(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        by = Key("A#{id}", index=elsewhere)
        id: Attr[str]


def second_key(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        other = Key("B#{id}", "B")
        id: Attr[str]


def index_twice(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        by = Key("A#{id}", "A", index=one)
        also_by = Key("B#{id}", "B", index=one)
        id: Attr[str]


def partition_of_a_local_index(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        by = Key("B#{id}", "B", index=local)
        id: Attr[str]


def same_key(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]

    class Other(Entity, table=table):
        key = Key("A#{name}", "A")
        name: Attr[str]


def same_key_in_disguise(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "{kind}")
        id: Attr[str]
        kind: Attr[str]

    class Other(Entity, table=table):
        key = Key("A#{name}", "PROFILE")
        name: Attr[str]


def same_type_name(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]

    class Other(Entity, table=table, type_name="Thing"):
        key = Key("B#{id}", "B")
        id: Attr[str]


def not_an_attr(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: str


def unknown_name(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[Nothing]  # type: ignore[name-defined]  # noqa: F821


def unsupported(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        what: Attr[complex]


def no_annotation(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        what = attr(default=1)


def shared_default(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        names: Attr[list[str]] = attr(default=[])


def stored_as_the_type(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        _type: Attr[str]


def stored_alike(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        other: Attr[str] = attr(name="id")


def stored_in_the_key(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{pk}", "A")
        pk: Attr[str]


def number_stored_in_a_text_key(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("{pk}", "A")
        pk: Attr[int]


def stored_in_the_key_of_an_index(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        gpk: Attr[str]


def two_versions(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        one: Attr[int] = version()
        two: Attr[int] = version()


def version_of_text(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        one: Attr[str] = version()


def ttl_of_number(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        until: Attr[int] = ttl()


def computed_from_nothing(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        label: Attr[str] = computed(lambda thing: thing.name, needs=["name"])


def shards_of_nothing(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        by = Key("A", "{id}", index=one, shards=4)
        id: Attr[str]


def shards_by_unknown(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        by = Key("A", "{id}", index=one, shards=4, shard_by="name")
        id: Attr[str]


def shards_by_decimal(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        by = Key("A", "{id}", index=one, shards=4, shard_by="price")
        id: Attr[str]
        price: Attr[Decimal]


def inherits_from_an_entity(table: Table) -> Any:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]

    class Other(Thing, table=table):
        key = Key("B#{id}", "A")


def template_for_a_number_key(table: Table) -> Any:
    class Thing(Entity, table=Table("numbers", partition_key=number_key("pk"))):
        key = Key("A#{id}")
        id: Attr[int]


def text_for_a_number_key(table: Table) -> Any:
    class Thing(Entity, table=Table("numbers", partition_key=number_key("pk"))):
        key = Key("{id}")
        id: Attr[str]


REFUSALS: list[tuple[Callable[[Table], Any], str]] = [
    (no_key, "Thing has no key of the table: key = Key(…), without an index"),
    (key_of_an_index_only, "Thing has no key of the table: key = Key(…), without an index"),
    (no_sort_template, "Thing.key has no templates for the sort key, whose attributes are sk"),
    (too_many_templates, "Thing.key has 2 templates for the partition key, whose attributes are pk"),
    (unknown_field, "Thing.key has {ident} in its template, and there is no attribute of this name"),
    (
        number_without_width,
        "Thing.key has the number {number} in a sort key, where it needs a width to sort by its value, "
        "as in {number:08}",
    ),
    (bool_in_key, "Thing.key has {on}, which is of the type bool, which has no place in a key"),
    (optional_in_key, "Thing.key has {id} in it, which can be None, and an item needs its key"),
    (unknown_index, "Thing.by is of GlobalIndex('elsewhere'), and the table things has none such"),
    (second_key, "Thing.other is of no index, and the table things has none such"),
    (
        index_twice,
        "Thing.also_by and Thing.by are of one index, one, which an item is in once: "
        "give one of them an index of its own, or an item",
    ),
    (partition_of_a_local_index, "Thing.by is of a local index, whose partition key is the table's: give sort= only"),
    (
        same_key,
        "Other.key ('A#{name}', 'A') and Thing.key ('A#{id}', 'A') can be the same key of the table things: "
        "begin one with another word",
    ),
    (
        same_key_in_disguise,
        "Other.key ('A#{name}', 'PROFILE') and Thing.key ('A#{id}', '{kind}') can be the same key of the table things: "
        "begin one with another word",
    ),
    (same_type_name, "Other has the type name 'Thing', which Thing has in the table things"),
    (not_an_attr, "Thing.id is annotated with str: write Attr[str]"),
    (unknown_name, "Thing.id is annotated with Attr[Nothing], and Nothing is not known where the class is declared"),
    (unsupported, "Thing.what has the type complex, which cannot be stored"),
    (no_annotation, "Thing.what has no type: write what: Attr[…] = …"),
    (shared_default, "Thing.names has a default that all objects would share: write default_factory=list"),
    (stored_as_the_type, "Thing._type is stored as _type, where the table keeps the entity's name"),
    (stored_alike, "Thing.other is stored as id, as Thing.id is"),
    (
        stored_in_the_key,
        "Thing.pk is stored as pk, where Thing.key writes 'A#{pk}': name it otherwise, or make the template {pk}",
    ),
    (
        number_stored_in_a_text_key,
        "Thing.pk is stored as pk, where Thing.key writes '{pk}': name it otherwise, or make the template {pk}",
    ),
    (
        stored_in_the_key_of_an_index,
        "Thing.gpk is stored as gpk, the key attribute of an index that Thing has no key for",
    ),
    (two_versions, "Thing has two attributes that are its version: one and two"),
    (version_of_text, "Thing.one is a version, and must be an Attr[int]"),
    (ttl_of_number, "Thing.until is a TTL, and must be an Attr[datetime]"),
    (computed_from_nothing, "Thing.label is computed from name, which is no stored attribute of Thing"),
    (shards_of_nothing, "Thing.by takes shards= (2 to 1000) and shard_by= together"),
    (shards_by_unknown, "Thing.by is sharded by name, and there is no attribute of this name"),
    (shards_by_decimal, "Thing.by is sharded by price, which is no text, int or binary"),
    (inherits_from_an_entity, "Other inherits from Thing, which is in a table: inherit from what is in none"),
    (
        template_for_a_number_key,
        "Thing.key is for a key attribute of the type N, and takes a single field, as in '{field}'",
    ),
    (
        text_for_a_number_key,
        "Thing.key has {id}, which is of the type str, which a key attribute of the type N does not hold",
    ),
]


@pytest.mark.parametrize(("declare", "refusal"), REFUSALS, ids=lambda each: getattr(each, "__name__", ""))
def test_what_is_refused(declare: Callable[[Table], Any], refusal: str, table: Table) -> None:
    with pytest.raises(ModelError) as caught:
        declare(table)
    assert str(caught.value) == refusal


def test_a_refused_entity_is_not_in_its_table(table: Table) -> None:
    with pytest.raises(ModelError):
        same_key(table)
    assert list(table.entities) == ["Thing"]
    assert table.entities["Thing"].rivals == []


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (
            lambda: Table("things", partition_key="a", indexes=[GlobalIndex("wide", partition_key=number_key("a"))]),
            "Table things has the key attribute a with two types, S and N",
        ),
        (
            lambda: Table("things", partition_key="_type"),
            "Table things has the key attribute _type, which names the entity: choose another",
        ),
        (
            lambda: GlobalIndex("wide", partition_key=["a", "b", "c", "d", "e"]),
            "The index wide needs 1 to 4 attributes of the partition key, and up to as many of the sort key",
        ),
    ],
)
def test_tables_that_cannot_be(make: Callable[[], Any], refusal: str) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == refusal


def test_a_table_is_made_as_declared() -> None:
    table = Table(
        "things",
        partition_key=binary_key("b"),
        sort_key=number_key("n"),
        indexes=[
            GlobalIndex("many", partition_key=["p", "q"], sort_key=["r", "s"], include=["x"]),
            GlobalIndex("few", partition_key="p", include=()),
            LocalIndex("lsi", sort_key="ls"),
        ],
    )
    assert table.create_parameters() == {
        "TableName": "things",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "SBN"["bn".find(name) + 1]} for name in "bnpqrs"
        ]
        + [{"AttributeName": "ls", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "many",
                "KeySchema": [
                    {"AttributeName": name, "KeyType": kind}
                    for name, kind in zip("pqrs", ["HASH"] * 2 + ["RANGE"] * 2, strict=True)
                ],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
            },
            {
                "IndexName": "few",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            },
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": "lsi",
                "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}, {"AttributeName": "ls", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }


def test_attributes_and_keys_are_inherited_from_what_is_in_no_table(table: Table) -> None:
    class Named(Entity):
        key = Key("{name}", "N")
        name: Attr[str] = attr(name="n")

    class Thing(Named, table=table):
        size: Attr[int] = 1  # type: ignore[assignment]

    thing = Thing(name="a")
    assert repr(thing) == "Thing(name='a', size=1)"
    assert repr(Thing.name) == "Thing.name"
    assert Put(thing).item["n"] == {"S": "a"}
    with pytest.raises(
        TypeError, match=r"^Named is in no table, and has no objects: declare class Named\(Entity, table=…\)$"
    ):
        Named(name="a")


def test_objects_are_made_from_their_attributes(table: Table) -> None:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        when: Attr[datetime | None] = ttl(default=None)
        names: Attr[list[str]] = attr(default_factory=list)
        secret: Attr[str] = attr(default="x", hidden=True)

    assert repr(Thing(id="1")) == "Thing(id='1', when=None, names=[])"
    assert Thing(id="1") == Thing(id="1", names=[])
    assert Thing(id="1") != Thing(id="1", secret="y")
    assert Thing(id="1").names is not Thing(id="1").names
    with pytest.raises(TypeError, match=r"^Thing needs id$"):
        Thing()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Thing has no attribute name that could be given: did you mean names\?$"):
        Thing(id="1", name="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        hash(Thing(id="1"))


def test_patterns_are_tried_when_they_are_declared(table: Table) -> None:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "{day}")
        id: Attr[str]
        day: Attr[str]
        size: Attr[int]

    @pattern("Things of a day")
    def things(thing: str, day: str) -> Query[Thing]:
        return Thing.key.query(Thing.id == thing, Thing.day == day)

    assert table.patterns == {"things": things}
    assert things.explanation.key_condition == "pk = 'A#sample' AND sk = 'sample'"
    assert things(thing="1", day="x").requests()[0].parameters["ExpressionAttributeValues"] == {
        ":v0": {"S": "A#1"},
        ":v1": {"S": "x"},
    }

    def refused(description: str, make: Callable[..., Any], **options: Any) -> str:
        with pytest.raises(ModelError) as caught:
            pattern(description, **options)(make)
        return str(caught.value)

    def gap(day: str) -> Query[Thing]:
        return Thing.key.query(Thing.day == day)

    assert (
        refused("", gap)
        == "The pattern gap cannot be made: Thing.key needs Thing.id == …, which is in its partition key"
    )

    def everything() -> Scan[Thing]:
        return Scan(Thing)

    assert refused("", everything) == (
        "The pattern everything reads the whole table things: say allow_scan=True if that is meant"
    )
    assert pattern("All", allow_scan=True)(everything).operation == "Scan"

    def large(thing: str) -> Query[Thing]:
        return Thing.key.query(Thing.id == thing).filter(Thing.size > 3)

    assert refused("", large) == (
        "The pattern large filters what it has read: say how much of it is kept, as in filter_keeps=0.3"
    )
    assert pattern("Large things", filter_keeps=0.3)(large).filter_keeps == 0.3
    assert refused("", large, filter_keeps=0.3) == "The table things has the pattern large twice"
    assert refused("", large, filter_keeps=3) == ("filter_keeps is the part that is kept, above 0 and up to 1, not 3")

    def untyped(thing) -> Query[Thing]:  # type: ignore[no-untyped-def]
        return Thing.key.query(Thing.id == thing)

    assert refused("", untyped) == "The pattern untyped takes thing, which has no type"

    def strange(thing: complex) -> Query[Thing]:
        return Thing.key.query(Thing.id == str(thing))

    assert (
        refused("", strange)
        == "The pattern strange takes thing, which is of the type complex, of which no sample can be made"
    )

    def nothing() -> int:
        return 1

    assert refused("", nothing) == "The pattern nothing makes 1, which is no Get, BatchGet, Query or Scan"


def test_collections_are_of_one_partition(table: Table) -> None:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "T")
        id: Attr[str]

    class Part(Entity, table=table):
        key = Key("A#{thing}", "P#{number:02}")
        by = Key("A#{thing}", "P#{number:02}", index=one)
        thing: Attr[str]
        number: Attr[int]

    class Other(Entity, table=table):
        key = Key("B#{id}", "B")
        id: Attr[str]

    def refused(*keys: Any) -> str:
        with pytest.raises(ModelError) as caught:
            collection(*keys)
        return str(caught.value)

    assert refused(Thing.key) == "A collection is of two entities at least"
    assert refused(Thing.key, Thing.key) == "A collection has Thing twice"
    assert refused(Thing.key, Part.by) == "Thing.key and Part.by are not of the same table or index"
    assert refused(Thing.key, Other.key) == "Thing.key and Other.key have partition keys of different templates"
    with pytest.raises(PlanRefused, match="whole partition"):
        collection(Part.key, Thing.key).query(Part.thing == "1", Part.number == 1)

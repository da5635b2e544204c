from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Literal
from uuid import UUID

import pytest

from tests.modeling import shop as shop_model
from tests.modeling.design.designs import design_from
from tests.modeling.shop import Customer, Order, Product, Status, shop
from torusdb.modeling import (
    Attr,
    Entity,
    GlobalIndex,
    Key,
    ModelError,
    Table,
    attr,
    number_key,
    random_shard,
    ttl,
    version,
)
from torusdb.modeling.design import Design, Samples, Workload, design_of, samples_of

SHOP = design_of(shop_model)


def test_they_belong_together() -> None:
    samples = samples_of(SHOP)
    customers, orders = samples.of(Customer), samples.of(Order)
    assert [len(samples.of(kind)) for kind in (Customer, Order, Product)] == [4, 4, 4]
    assert [order.customer for order in orders] == [customers[0].id] * 3 + [customers[1].id]
    assert [order.placed for order in orders] == sorted(order.placed for order in orders)
    assert {order.status for order in orders} == set(Status)


def test_what_is_optional_is_sometimes_absent_and_so_out_of_its_index() -> None:
    samples = samples_of(SHOP)
    assert 0 < sum(customer.email is None for customer in samples.of(Customer)) < 4
    items = [item for model, item in samples.items(shop) if model.name == "Customer"]
    assert sorted("email_pk" in item for item in items) == [False, True, True, True]


def test_they_are_always_the_same() -> None:
    program = (
        "from tests.modeling import shop; from torusdb.modeling.design import design_of, samples_of\n"
        "print(samples_of(design_of(shop)).items(shop.shop))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]


def test_items_are_what_a_store_would_write() -> None:
    for model, item in samples_of(SHOP).items(shop):
        assert model.encode(model.decode(item)) == item
        assert {"pk", "sk", "_type"} <= item.keys()


def test_given_ones_win_and_the_others_refer_to_them() -> None:
    given = Samples(Customer(id="ann", name="Ann"), Customer(id="bob"))
    samples = samples_of(SHOP._replace(samples=given), 5)
    assert samples.of(Customer) == given.of(Customer)
    assert [order.customer for order in samples.of(Order)] == ["ann"] * 3 + ["bob"] * 2
    assert len(samples.of(Product)) == 5


def test_a_module_names_them() -> None:
    source = """
t = Table("things", partition_key="pk")
class Note(Entity, table=t):
    key = Key("NOTE#{id}")
    id: Attr[str]
first = Samples(Note(id="a"))
more = Samples(Note(id="b"))
"""
    assert [note.id for note in samples_of(design_from(source))] == ["a", "b"]
    with pytest.raises(ModelError, match=r"one key twice: Note\(id='a'\) and Note\(id='a'\)"):
        design_from(source.replace("'b'", "'a'").replace('"b"', '"a"'))


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


@dataclass
class Part:
    name: str
    amounts: list[Decimal]
    limits: tuple[int, float]
    inner: dict[str, bytes | None] = field(default_factory=dict)


def everything() -> tuple[Design, type[Entity]]:
    table = Table("everything", partition_key="pk", sort_key=number_key("sk"))

    class Thing(Entity, table=table):
        key = Key("{uuid}#{colour}#{size:02}#{day}#{at}#{price:06.2}", "{rank}")
        uuid: Attr[UUID]
        colour: Attr[Colour]
        size: Attr[Size]
        day: Attr[date]
        at: Attr[datetime]
        price: Attr[Decimal]
        rank: Attr[float]
        text: Attr[str]
        whole: Attr[int]
        blob: Attr[bytes]
        yes: Attr[bool]
        letter: Attr[Literal["a", "b"]]
        either: Attr[str | int | list[str]]
        perhaps: Attr[str | int | None]
        part: Attr[Part]
        parts: Attr[list[Part]]
        texts: Attr[set[str]]
        numbers: Attr[frozenset[int]]
        blobs: Attr[set[bytes]]
        pair: Attr[tuple[str, Part]]
        many: Attr[tuple[int, ...]]
        names: Attr[dict[str, dict[str, list[int | None]]]]
        revision: Attr[int] = version()
        expires: Attr[datetime] = ttl()
        currency: Attr[str] = attr(default="EUR")

    return Design("everything", [table], Workload()), Thing


def test_everything_that_can_be_stored_has_samples() -> None:
    design, kind = everything()
    samples = samples_of(design, 7).of(kind)
    assert len(samples) == 7
    for sample in samples:
        assert kind.__model__.decode(kind.__model__.encode(sample)) == sample
    first = vars(samples[0])
    assert all(values for name, values in first.items()), "the first lacks nothing"
    assert {type(sample.either) for sample in samples} == {str, int, list}  # type: ignore[attr-defined]
    assert {sample.currency for sample in samples} == {"EUR"}  # type: ignore[attr-defined]
    assert all(sample.expires > datetime(2025, 6, 1, tzinfo=UTC) for sample in samples)  # type: ignore[attr-defined]


@pytest.mark.parametrize("wanted", [1, 2, 30, 100])
def test_numbers_fit_the_width_that_keys_have_for_them(wanted: int) -> None:
    design = design_from("""
t = Table("things", partition_key="pk", sort_key="sk")
class Line(Entity, table=t):
    key = Key("ORDER#{order}", "{line:03}#{price:05.1}")
    order: Attr[str]
    line: Attr[int]
    price: Attr[__import__("decimal").Decimal]
""")
    (table,) = design.tables
    assert len(samples_of(design, wanted).items(table)) == wanted


def test_texts_that_would_end_a_field_are_made_plainer() -> None:
    design = design_from("""
t = Table("things", partition_key="pk", sort_key="sk")
class Shop(Entity, table=t):
    key = Key("{country} {city}", "{street} {email}")
    country: Attr[str]
    city: Attr[str]
    street: Attr[str]
    email: Attr[str]
""")
    assert [vars(each)["street"] for each in samples_of(design)] == ["street1", "street2", "street3", "street4"]


def test_where_there_cannot_be_so_many_there_are_fewer() -> None:
    design = design_from("""
from typing import Literal
t = Table("things", partition_key="pk", sort_key="sk")
class State(Entity, table=t):
    key = Key("STATE#{on}", "STATE")
    on: Attr[Literal["on", "off"]]
class Counter(Entity, table=t):
    key = Key("COUNTER", "COUNTER")
    value: Attr[int]
""")
    assert [type(each).__name__ for each in samples_of(design)] == ["State", "State", "Counter"]


def test_entities_that_refer_to_each_other() -> None:
    design = design_from("""
t = Table("things", partition_key="pk", sort_key="sk")
class Team(Entity, table=t):
    key = Key("TEAM#{id}", "TEAM")
    id: Attr[str]
    person: Attr[str]
class Person(Entity, table=t):
    key = Key("PERSON#{id}", "PERSON")
    id: Attr[str]
    team: Attr[str]
class Desk(Entity, table=t):
    key = Key("DESK#{team}", "DESK#{person}")
    team: Attr[str]
    person: Attr[str]
    person_team: Attr[str]
""")
    samples = list(samples_of(design))
    teams, people, desks = ([vars(each) for each in group] for group in (samples[:4], samples[4:8], samples[8:]))
    assert teams[0] == {"id": "101", "person": "201"}
    assert people[0] == {"id": "201", "team": "101"}
    assert {desk["team"] for desk in desks} <= {team["id"] for team in teams}
    by_id = {person["id"]: person for person in people}
    assert [desk["person_team"] for desk in desks] == [by_id[desk["person"]]["team"] for desk in desks], "a copy"


def test_texts_that_are_called_as_the_parents_are_copies_too() -> None:
    design = design_from("""
t = Table("things", partition_key="pk", sort_key="sk")
class Book(Entity, table=t):
    key = Key("BOOK#{isbn}", "BOOK")
    isbn: Attr[str]
    title: Attr[str]
    status: Attr[str]
class Loan(Entity, table=t):
    key = Key("LOAN#{number}", "BOOK#{isbn}")
    number: Attr[int]
    isbn: Attr[str]
    title: Attr[str]
    status: Attr[str]
""")
    samples = [vars(each) for each in samples_of(design)]
    titles = {book["isbn"]: book["title"] for book in samples[:4]}
    assert [loan["title"] for loan in samples[4:]] == [titles[loan["isbn"]] for loan in samples[4:]]
    assert [loan["status"] for loan in samples[4:]] == [f"status {number}" for number in (1, 2, 3, 4)]


def test_the_first_of_a_tree_has_no_parent() -> None:
    design = design_from("""
t = Table("things", partition_key="pk")
class Category(Entity, table=t):
    key = Key("CATEGORY#{id}")
    id: Attr[str]
    parent: Attr[str | None] = None
""")
    categories = {vars(each)["id"]: vars(each)["parent"] for each in samples_of(design)}
    assert next(iter(categories.values())) is None
    assert set(categories.values()) - {None} <= categories.keys()


def test_of_what_no_sample_can_be_made_the_author_is_asked_for_some() -> None:
    source = """
import dataclasses
@dataclasses.dataclass
class Even:
    number: int
    def __post_init__(self):
        if self.number % 2:
            raise ValueError("odd")
t = Table("things", partition_key="pk")
class Pair(Entity, table=t):
    key = Key("PAIR#{id}")
    id: Attr[str]
    even: Attr[Even]
"""
    with pytest.raises(
        ModelError, match=r"No sample of Pair can be made \(odd\): give some, as in samples = Samples\("
    ):
        samples_of(design_from(source))
    given = design_from(source + 'samples = Samples(Pair(id="1", even=Even(2)))')
    assert [vars(each)["id"] for each in samples_of(given)] == ["1"]


def test_values_that_are_converted_are_made_as_the_program_has_them() -> None:
    source = """
import fractions
t = Table("things", partition_key="pk")
class Note(Entity, table=t):
    key = Key("NOTE#{id}")
    id: Attr[str]
    body: Attr[str] = attr(stored_as=StoredAs(bytes, write=str.encode, read=bytes.decode))
"""
    design = design_from(source)
    assert [item["body"] for _, item in samples_of(design, 2).items(design.tables[0])] == [
        {"B": b"body 1"},
        {"B": b"body 2"},
    ]
    own = (
        source
        + "    part: Attr[fractions.Fraction] = attr(stored_as=StoredAs(str, write=str, read=fractions.Fraction))\n"
    )
    with pytest.raises(
        ModelError, match=r"No sample of Note can be made \(part is of the type Fraction, which only the program"
    ):
        samples_of(design_from(own))


def test_what_is_given_must_be_what_can_be_stored() -> None:
    for wrong, message in [
        (lambda: Samples("ann"), "Samples are objects of entities, not 'ann'"),  # type: ignore[arg-type]
        (lambda: Samples(Customer(id=1)), "A sample cannot be stored: Customer.id: 1 is not a str"),  # type: ignore[arg-type]
        (lambda: samples_of(SHOP, 0), "1 to 100 samples of each entity, not 0"),
        (lambda: samples_of(SHOP, 101), "1 to 100 samples of each entity, not 101"),
    ]:
        with pytest.raises(ModelError, match=message):
            wrong()


def test_sparse_indexes_and_shards_are_those_of_the_kit() -> None:
    by_mail = GlobalIndex("mails", partition_key="mail_pk", sort_key="mail_sk")
    table = Table("sharded", partition_key="pk", sort_key="sk", indexes=[by_mail])

    class Mail(Entity, table=table):
        key = Key("MAIL#{number}", "MAIL")
        all_mails = Key("MAILS", "{number:04}", index=by_mail, shards=3, shard_by="number")
        number: Attr[int]

    class Event(Entity, table=table):
        key = Key("EVENT#{number}", "EVENT")
        events = Key("EVENTS", "{number:04}", index=by_mail, shard_by="shard")
        number: Attr[int]
        shard: Attr[int] = attr(default_factory=random_shard(2))

    items = samples_of(Design("sharded", [table], Workload()), 3).items(table)
    partitions = [item["mail_pk"]["S"] for _, item in items]
    assert partitions[3:] == ["EVENTS#0", "EVENTS#1", "EVENTS#0"], "not drawn: samples are always the same"
    assert set(partitions[:3]) <= {"MAILS#0", "MAILS#1", "MAILS#2"}
    assert (Mail.all_mails.shards, Event.events.shards) == (3, 2)

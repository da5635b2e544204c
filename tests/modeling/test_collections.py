"""A query whose range holds nothing else of its partition needs no filter, and reads no more than its limit."""

from __future__ import annotations

import pytest

from torusdb.modeling import Attr, Entity, Key, Query, Table, attr, collection

house = Table("house", partition_key="pk", sort_key="sk")


class Room(Entity, table=house):
    key = Key("HOUSE#{house}", "#ROOM#{number:03}")
    house: Attr[str]
    number: Attr[int]


class House(Entity, table=house):
    key = Key("HOUSE#{id}", "HOUSE")
    id: Attr[str]


class Lamp(Entity, table=house):
    key = Key("HOUSE#{house}", "LAMP#{number:03}")
    house: Attr[str]
    number: Attr[int]


class Tenant(Entity, table=house):
    key = Key("HOUSE#{house}", "TENANT#{name}")
    house: Attr[str]
    name: Attr[str] = attr(default="")


@pytest.mark.parametrize(
    ("query", "mixed"),
    [
        (collection(House.key, Room.key).query(House.id == "1"), False),
        (collection(House.key, Lamp.key).query(House.id == "1"), False),
        (collection(Lamp.key, Tenant.key).query(Lamp.house == "1"), False),
        (collection(House.key, Tenant.key).query(House.id == "1"), True),  # lamps lie between them
        (collection(House.key, Lamp.key, Tenant.key).query(House.id == "1"), False),
        (collection(Room.key, Lamp.key).query(Room.house == "1"), True),  # the house does
        (Room.key.query(Room.house == "1", Room.number.between(1, 5)), False),
        (Tenant.key.query(Tenant.house == "1", Tenant.name >= "b"), False),
        (Tenant.key.query(Tenant.house == "1"), False),
    ],
)
def test_what_lies_between(query: Query[Entity], mixed: bool) -> None:
    assert query.mixed is mixed
    assert ("FilterExpression" in query.requests()[0].parameters) is mixed


open_end = Table("open", partition_key="pk", sort_key="sk")


class Word(Entity, table=open_end):
    key = Key("BOOK#{book}", "{word}")
    book: Attr[str]
    word: Attr[str]


class Page(Entity, table=open_end):
    key = Key("BOOK#{book}", "p#{number:03}!")
    book: Attr[str]
    number: Attr[int]


@pytest.mark.parametrize(
    ("query", "mixed"),
    [
        (Word.key.query(Word.book == "1", Word.word <= "o"), False),
        (Word.key.query(Word.book == "1", Word.word <= "p"), False),
        (Word.key.query(Word.book == "1", Word.word <= "p#"), True),
        (Word.key.query(Word.book == "1", Word.word >= "p#002!"), True),
        (Word.key.query(Word.book == "1", Word.word >= "q"), False),
        (Word.key.query(Word.book == "1", Word.word.between("a", "b")), False),
        (Word.key.query(Word.book == "1", Word.word.between("a", "z")), True),
        (Word.key.query(Word.book == "1", Word.word.begins_with("pa")), False),
        (Word.key.query(Word.book == "1", Word.word.begins_with("p")), True),
    ],
)
def test_ranges_with_one_end(query: Query[Entity], mixed: bool) -> None:
    assert query.mixed is mixed

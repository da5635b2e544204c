"""Attributes whose values are stored as others: compressed texts, types of the program's own."""

from __future__ import annotations

import zlib
from fractions import Fraction
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from torusdb.modeling import Attr, Entity, InvalidValue, Key, ModelError, Ref, Store, StoredAs, Table, attr

library = Table("library", partition_key="pk")


def compressed(text: str) -> bytes:
    return zlib.compress(text.encode())


def decompressed(stored: bytes) -> str:
    return zlib.decompress(stored).decode()


def as_text(value: Fraction) -> str:
    return str(value)


class Book(Entity, table=library):
    key = Key("BOOK#{id}")
    id: Attr[str]
    body: Attr[str] = attr(stored_as=StoredAs(bytes, write=compressed, read=decompressed))
    share: Attr[Fraction | None] = attr(default=None, stored_as=StoredAs(str, write=as_text, read=Fraction))


@pytest.fixture
def books(client: Recorder) -> Store:
    made = Store(library, client)
    made.create_table()
    return made


def test_values_are_stored_as_the_functions_make_them(books: Store, client: Recorder) -> None:
    book = Book(id="1", body="call me " * 1000, share=Fraction(1, 3))
    books.put(book)
    item = client.requests[-1][1]["Item"]
    assert item["body"] == {"B": compressed(book.body)}
    assert len(item["body"]["B"]) < 100
    assert item["share"] == {"S": "1/3"}
    assert books.get(Book, id="1") == book
    books.put(Book(id="2", body=""))
    assert "share" not in client.requests[-1][1]["Item"]
    assert books.get(Book, id="2") == Book(id="2", body="")


def test_updates_and_conditions_store_and_compare_them_too(books: Store) -> None:
    one = Book(id="1", body="a", share=Fraction(1, 3))
    books.put(one)
    assert Ref.of(one) == Ref(Book, id="1")
    changed = books.update(Ref.of(one), Book.body.set("b"), Book.share.set(None), when=Book.share == Fraction(2, 6))
    assert changed == Book(id="1", body="b")


def test_what_cannot_be_read_back_says_so(books: Store, client: Recorder) -> None:
    item = {"pk": {"S": "BOOK#1"}, "id": {"S": "1"}, "body": {"B": compressed("a")}, "share": {"S": "much"}}
    client.put_item(TableName="library", Item=item)
    with pytest.raises(InvalidValue, match=r"^Book\.share cannot be read from \{'S': 'much'\}: "):
        books.get(Book, id="1")


@pytest.mark.parametrize(
    ("key", "kind", "refusal"),
    [
        (
            "W#{share}",
            str,
            "Wrong.key has {share}, which is stored by functions of its own, "
            "which need not keep its order, and has no place in a key",
        ),
        ("W", set[str], "Wrong.share is stored as set[str], which may be nothing: store something else"),
        ("W", list[complex], "Wrong.share has the type complex, which cannot be stored"),
    ],
)
def test_what_is_refused(key: str, kind: Any, refusal: str) -> None:
    stored_as: StoredAs[Any, Any] = StoredAs(kind, write=as_text, read=Fraction)
    body = {"__annotations__": {"share": Attr[Fraction]}, "share": attr(stored_as=stored_as), "key": Key(key)}
    with pytest.raises(ModelError) as caught:
        type("Wrong", (Entity,), body, table=Table("things", partition_key="pk"))  # type: ignore[call-arg]
    assert str(caught.value) == refusal

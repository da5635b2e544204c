"""Copies of an author's name in their posts: kept up, whatever comes twice, late, out of order or at the same time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.test_async import Async
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    Change,
    Entity,
    GlobalIndex,
    Key,
    ModelError,
    Ref,
    Store,
    Table,
    attr,
    version,
)
from torusdb.modeling.blocks.copies import Copies
from torusdb.modeling.plans import ref_of

by_author = GlobalIndex("by_author", partition_key="apk", sort_key="ask")
forum = Table("forum", partition_key="pk", sort_key="sk", indexes=[by_author])


class Author(Entity, table=forum):
    key = Key("AUTHOR#{id}", "AUTHOR")
    id: Attr[str]
    name: Attr[str]
    city: Attr[str] = attr(default="")
    revision: Attr[int] = version()


class Post(Entity, table=forum):
    key = Key("POST#{number:04}", "POST")
    by_author = Key("AUTHOR#{author}", "POST#{number:04}", index=by_author)
    number: Attr[int]
    author: Attr[str]
    author_name: Attr[str]
    author_revision: Attr[int] = attr(default=0)


class Badge(Entity, table=forum):
    """A copy in the collection of its source, which can be read consistently."""

    key = Key("AUTHOR#{author}", "BADGE#{title}")
    author: Attr[str]
    title: Attr[str]
    name: Attr[str]
    author_revision: Attr[int] = attr(default=0)


names = Copies(
    Author,
    Post,
    fields=[(Author.name, Post.author_name)],
    version=Post.author_revision,
    find=lambda author: Post.by_author.query(Post.author == author.id).page_size(2),
    source_of=lambda post: Ref(Author, id=post.author),
)
badges = Copies(
    Author,
    Badge,
    fields=[(Author.name, Badge.name)],
    version=Badge.author_revision,
    find=lambda author: Badge.key.query(Badge.author == author.id),
    source_of=lambda badge: Ref(Author, id=badge.author),
)


def change(old: Entity | None, new: Entity | None) -> Change[Any]:
    kind = "insert" if old is None else "remove" if new is None else "modify"
    known = old if new is None else new
    assert known is not None
    return Change(kind, ref_of(known), old, new, False, "1", "1", None)  # type: ignore[arg-type]


def author(name: str, revision: int, city: str = "") -> Author:
    made = Author(id="a", name=name, city=city)
    made.revision = revision
    return made


def post(number: int, name: str, revision: int) -> Post:
    return Post(number=number, author="a", author_name=name, author_revision=revision)


ANN, ANNA, ANJA = author("Ann", 1), author("Anna", 2), author("Anja", 3)


@pytest.fixture
def forum_store(client: Recorder) -> Store:
    made = Store(forum, client)
    made.create_table()
    made.put_many([*(post(number, "Ann", 1) for number in range(5)), Post(number=9, author="b", author_name="Bob")])
    client.requests.clear()
    return made


def write_renamed(store: Store) -> None:
    """The author has the name Anna, in version 2."""
    ann = Author(id="a", name="Ann")
    store.put(ann)
    ann.name = "Anna"
    store.put(ann)


def names_in(store: Store) -> list[tuple[str, int]]:
    posts = store.run(Post.by_author.query(Post.author == "a"))
    return [(each.author_name, each.author_revision) for each in posts]


def test_a_change_reaches_all_copies_and_no_others(forum_store: Store) -> None:
    assert forum_store.run(names.follow(change(ANN, ANNA))) == 5
    assert names_in(forum_store) == [("Anna", 2)] * 5
    assert forum_store.get(Post, number=9) == Post(number=9, author="b", author_name="Bob")


def test_a_change_that_comes_again_writes_nothing(forum_store: Store) -> None:
    forum_store.run(names.follow(change(ANN, ANNA)))
    assert forum_store.run(names.follow(change(ANN, ANNA))) == 0
    assert names_in(forum_store) == [("Anna", 2)] * 5


def test_an_older_change_that_comes_later_writes_nothing(forum_store: Store) -> None:
    """As of a worker that had stood still while another took over."""
    forum_store.run(names.follow(change(ANNA, ANJA)))
    assert forum_store.run(names.follow(change(ANN, ANNA))) == 0
    assert names_in(forum_store) == [("Anja", 3)] * 5


def test_one_that_was_killed_half_way_goes_on(forum_store: Store) -> None:
    work = names.follow(change(ANN, ANNA)).work(forum_store._context)
    step = next(work)
    for _ in range(3):  # a page, and two of its copies
        step = work.send(forum_store._do(step))
    work.close()
    assert names_in(forum_store) == [("Anna", 2)] * 2 + [("Ann", 1)] * 3
    assert forum_store.run(names.follow(change(ANN, ANNA))) == 3
    assert names_in(forum_store) == [("Anna", 2)] * 5


def test_what_is_not_copied_is_of_no_matter(forum_store: Store, client: Recorder) -> None:
    moved = author("Ann", 2, city="Ulm")
    assert forum_store.run(names.follow(change(ANN, moved))) == 0
    assert forum_store.run(names.follow(change(ANN, None))) == 0
    assert forum_store.run(names.follow(change(post(1, "Ann", 1), post(1, "Anna", 2)))) == 0
    assert client.requests == []
    assert forum_store.run(names.refresh(moved)) == 5


def test_a_stream_without_old_images_takes_every_change_for_one(forum_store: Store) -> None:
    assert forum_store.run(names.follow(change(None, ANNA))) == 5


def test_a_copy_of_what_was_read_before_a_change_is_mended(forum_store: Store) -> None:
    """The change found the other posts; this one was written later, with the name read before."""
    write_renamed(forum_store)
    late = post(6, "Ann", 1)
    forum_store.put(late)
    assert forum_store.run(names.follow(change(None, late))) == 1
    assert forum_store.get(Post, number=6) == post(6, "Anna", 2)
    assert forum_store.run(names.follow(change(None, late))) == 0


@pytest.mark.parametrize("is_there", [True, False], ids=["as new as its source", "without a source"])
def test_a_copy_that_needs_nothing_is_left(forum_store: Store, client: Recorder, is_there: bool) -> None:
    if is_there:
        write_renamed(forum_store)
    client.requests.clear()
    assert forum_store.run(names.follow(change(None, post(6, "Anna", 2)))) == 0
    ((method, parameters),) = client.requests
    assert method == "get_item"
    assert parameters["ConsistentRead"]


def test_a_copy_that_is_deleted_meanwhile_is_not_made_again(forum_store: Store) -> None:
    work = names.follow(change(ANN, ANNA)).work(forum_store._context)
    step = next(work)
    page = forum_store._do(step)
    forum_store.delete(Ref(Post, number=0))
    with pytest.raises(StopIteration) as end:
        _go_on(forum_store, work, work.send(page))
    assert end.value.value == 4
    assert forum_store.get(Post, number=0) is None


def _go_on(store: Store, work: Any, step: Any) -> None:
    while True:
        try:
            answer = store._do(step)
        except Exception as error:
            step = work.throw(error)
        else:
            step = work.send(answer)


def test_copies_in_the_table_are_read_consistently(forum_store: Store, client: Recorder) -> None:
    forum_store.put(Badge(author="a", title="10 posts", name="Ann", author_revision=1))
    client.requests.clear()
    assert forum_store.run(badges.follow(change(ANN, ANNA))) == 1
    assert client.requests[0][1]["ConsistentRead"]


def test_an_asynchronous_store_does_the_same(db: Database, forum_store: Store) -> None:
    async def run() -> int:
        return await AsyncStore(forum, Async(db)).run(names.follow(change(ANN, ANNA)))

    assert asyncio.run(run()) == 5
    assert names_in(forum_store) == [("Anna", 2)] * 5


def test_a_source_without_a_version_and_attributes_of_others_are_refused() -> None:
    def find(_: Any) -> Any: ...

    with pytest.raises(ModelError, match=r"^Post has no version, by which it is known which copy is older: declare an"):
        Copies(Post, Badge, fields=[], version=Badge.author_revision, find=find, source_of=find)
    with pytest.raises(ModelError, match=r"^Badge\.author_revision is no attribute of Post$"):
        Copies(Author, Post, fields=[], version=Badge.author_revision, find=find, source_of=find)
    fields = [(Post.author_name, Post.author_name)]
    with pytest.raises(ModelError, match=r"^Post\.author_name is no attribute of Author$"):
        Copies(Author, Post, fields=fields, version=Post.author_revision, find=find, source_of=find)

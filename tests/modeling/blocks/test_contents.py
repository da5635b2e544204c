"""Contents in an object store: killed before and after every call, too slow, at the same time; nothing stays behind."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.modeling.blocks.schedules import Running
from tests.modeling.test_async import Async
from tests.modeling.test_transactions import ServiceError
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    Entity,
    InvalidValue,
    Key,
    ModelError,
    Store,
    Table,
    Task,
    TransactionFailed,
    attr,
    version,
)
from torusdb.modeling.blocks.contents import Content, ContentLost, Contents, LooseObject, new_name
from torusdb.modeling.blocks.objects import FolderObjects, Objects
from torusdb.modeling.steps import Pause, Step, drive

files = Table("files", partition_key="pk", sort_key="sk")
HOUR = timedelta(hours=1)


class File(Entity, table=files):
    key = Key("FILE#{path}", "FILE")
    path: Attr[str]
    title: Attr[str] = attr(default="")
    object: Attr[str] = attr(default="")


class Draft(Entity, table=files):
    key = Key("DRAFT#{path}", "DRAFT")
    path: Attr[str]
    object: Attr[str] = attr(default="")
    revision: Attr[int] = version()


class Note(Entity, table=files):
    key = Key("NOTE#{id}", "NOTE")
    id: Attr[str]


class Loose(LooseObject, table=files):
    key = Key("LOOSE", "{object}", shards=3, shard_by="object")


class Memory(Objects):
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def write(self, name: str, content: bytes) -> None:
        assert name not in self.objects
        self.objects[name] = content

    def read(self, name: str) -> bytes | None:
        return self.objects.get(name)

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


class Killed(BaseException):
    """No exception that work could catch: the process is gone."""


class World:
    """A store, an object store, and a clock for both."""

    def __init__(self, client: Any) -> None:
        self.clock = Clock()
        self.store = Store(files, client, now=self.clock)
        self.objects = Memory()
        numbers = iter(range(1000))
        self.contents = Contents(File, File.object, Loose, self.objects, new_name=lambda: f"object-{next(numbers)}")

    def write(self, content: bytes) -> File:
        file = File(path="a")
        self.store.run(self.contents.put(file, content))
        return file

    def read(self) -> bytes | None:
        found = self.store.run(self.contents.get(path="a"))
        return None if found is None else found.content

    def file(self) -> File:
        found = self.store.get(File, path="a")
        assert found is not None
        return found

    def sweep_later(self) -> int:
        """Until nothing can be on its way any more."""
        swept = 0
        for _ in range(2):
            self.clock.time += 2 * HOUR
            swept += self.store.run(self.contents.sweep(HOUR))
        return swept

    def loose(self) -> list[Loose]:
        return self.store.run(Loose.key.query()).all()

    def assert_clean(self) -> None:
        """Each object is an item's, and each item has its object."""
        file = self.store.get(File, path="a")
        assert sorted(self.objects.objects) == ([] if file is None else [file.object])
        assert self.loose() == []


@pytest.fixture
def world(db: Database) -> World:
    made = World(db.direct_client())
    made.store.create_table()
    return made


def steps_of(task: Task[Any], store: Store, before: Callable[[int, Step], None]) -> int:
    """Runs a task, calls `before` each of its steps, and says how many there were."""
    numbers = itertools.count()

    def do(step: Step) -> Any:
        before(next(numbers), step)
        return store._do(step)

    drive(task.work(store._context), do)
    return next(numbers)


def killing(at: int) -> Callable[[int, Step], None]:
    def before(number: int, step: Step) -> None:
        assert not isinstance(step, Pause)
        if number == at:
            raise Killed

    return before


def test_what_is_written_is_read(world: World) -> None:
    file = world.write(b"one")
    assert file.object == "object-0"
    assert world.store.run(world.contents.get(path="a")) == Content(file, b"one")
    assert world.store.run(world.contents.get(path="b")) is None
    world.assert_clean()


def test_another_content_takes_the_place_of_the_first(world: World) -> None:
    file = world.write(b"one")
    file.title = "A"
    world.store.run(world.contents.put(file, b"two"))
    assert (world.read(), world.file()) == (b"two", file)
    assert (file.title, file.object) == ("A", "object-1")
    world.assert_clean()


def test_a_version_counts_on_and_is_asked_for(world: World) -> None:
    drafts = Contents(Draft, Draft.object, Loose, world.objects)
    draft = Draft(path="a")
    world.store.run(drafts.put(draft, b"one"))
    world.store.run(drafts.put(draft, b"two"))
    assert draft.revision == 2
    assert world.store.get(Draft, path="a") == draft
    stale = Draft(path="a", object=draft.object)
    with pytest.raises(TransactionFailed):
        world.store.run(drafts.put(stale, b"three"))
    assert len(world.objects.objects) == 1


def test_both_are_deleted(world: World) -> None:
    world.store.run(world.contents.delete(world.write(b"one")))
    assert world.read() is None
    world.assert_clean()


@pytest.mark.parametrize("task", ["insert", "replace", "delete"])
def test_whoever_is_killed_leaves_nothing_for_good(world: World, task: str) -> None:
    """Before each call, and after the last one."""
    outcomes = []
    for at in range(100):
        if task == "insert":
            doing: Task[None] = world.contents.put(File(path="a"), b"new")
        else:
            old = world.write(b"old")
            doing = world.contents.put(old, b"new") if task == "replace" else world.contents.delete(old)
        try:
            ended = steps_of(doing, world.store, killing(at)) == at
        except Killed:
            ended = False
        outcomes.append(world.read())
        world.sweep_later()
        assert world.read() == outcomes[-1], "a sweep changes nothing that can be seen"
        world.assert_clean()
        if outcomes[-1] is not None:
            world.store.run(world.contents.delete(world.file()))
        if ended:
            break
    before, after = {"insert": (None, b"new"), "replace": (b"old", b"new"), "delete": (b"old", None)}[task]
    assert at == {"insert": 3, "replace": 5, "delete": 3}[task]
    assert outcomes == [before] * outcomes.count(before) + [after] * outcomes.count(after), "it changes at one moment"
    assert {before, after} == set(outcomes)


@pytest.mark.parametrize("at", range(5))
def test_a_sweep_that_is_killed_is_ended_by_the_next(world: World, at: int) -> None:
    for _ in range(2):
        with pytest.raises(Killed):
            steps_of(world.contents.put(File(path="a"), b"new"), world.store, killing(2))
    world.clock.time += 2 * HOUR
    with pytest.raises(Killed):
        steps_of(world.contents.sweep(HOUR), world.store, killing(at))
    world.sweep_later()
    world.assert_clean()


@pytest.mark.parametrize("at", range(3))
def test_a_slow_writer_that_was_swept_is_refused_or_had_not_begun(world: World, at: int) -> None:
    """A sweep before each of its calls, hours late: what it refers to in the end is there."""

    def before(number: int, step: Step) -> None:
        if number == at:
            world.clock.time += 2 * HOUR
            assert world.store.run(world.contents.sweep(HOUR)) == (1 if at else 0)

    task = world.contents.put(File(path="a"), b"new")
    if at == 0:
        steps_of(task, world.store, before)
        assert world.read() == b"new"
    else:
        with pytest.raises(TransactionFailed):
            steps_of(task, world.store, before)
        assert world.read() is None
        assert world.objects.objects == {}, "also one that was uploaded after it was swept"
    world.sweep_later()
    world.assert_clean()


def test_an_upload_that_ends_after_its_sweep_is_deleted_by_a_later_one(world: World) -> None:
    def before(number: int, step: Step) -> None:
        if number == 1:
            world.clock.time += 2 * HOUR
            world.store.run(world.contents.sweep(HOUR))
        if number == 2:
            raise Killed

    with pytest.raises(Killed):
        steps_of(world.contents.put(File(path="a"), b"late"), world.store, before)
    assert list(world.objects.objects.values()) == [b"late"]
    world.sweep_later()
    world.assert_clean()


def test_a_sweep_leaves_what_is_young(world: World) -> None:
    with pytest.raises(Killed):
        steps_of(world.contents.put(File(path="a"), b"new"), world.store, killing(2))
    world.clock.time += HOUR
    assert world.store.run(world.contents.sweep(HOUR)) == 0
    assert len(world.objects.objects) == 1
    assert world.sweep_later() == 1


def test_a_sweep_that_comes_too_late_leaves_what_a_writer_has_referred_to(world: World) -> None:
    """It has read that an object is loose; then the writer comes to its end."""
    writing = world.contents.put(File(path="a"), b"new").work(world.store._context)
    step = next(writing)
    for _ in range(2):  # the loose item, and the object
        step = writing.send(world.store._do(step))
    world.clock.time += 2 * HOUR

    def before(number: int, _: Step) -> None:
        if number == 1:
            with pytest.raises(StopIteration):
                writing.send(world.store._do(step))

    assert steps_of(world.contents.sweep(HOUR), world.store, before) == 2
    assert world.read() == b"new"
    world.assert_clean()


def test_of_two_that_write_at_once_one_is_refused_and_leaves_nothing(world: World) -> None:
    world.write(b"old")
    mine, theirs = world.file(), world.file()

    def before(number: int, _: Step) -> None:
        if number == 2:
            world.store.run(world.contents.put(theirs, b"theirs"))

    with pytest.raises(TransactionFailed):
        steps_of(world.contents.put(mine, b"mine"), world.store, before)
    assert world.read() == b"theirs"
    assert mine.object == "object-0", "as it was read"
    world.assert_clean()
    for refused in (world.contents.delete(mine), world.contents.put(File(path="a"), b"new")):
        with pytest.raises(TransactionFailed):
            world.store.run(refused)
    assert world.read() == b"theirs"
    world.assert_clean()


def test_a_transaction_whose_answer_was_lost_keeps_its_object(world: World) -> None:
    """The client asks once more, long after: the transaction is refused, since the first was done."""

    def losing(number: int, step: Step) -> None:
        if number == 2:
            world.store._do(step)
            raise ServiceError("TransactionCanceledException")

    with pytest.raises(TransactionFailed):
        steps_of(world.contents.put(File(path="a"), b"new"), world.store, losing)
    assert world.read() == b"new"
    world.assert_clean()


@pytest.mark.parametrize("late", [0, 2])
def test_a_request_that_is_delivered_once_more_and_late_does_no_harm(world: World, late: int) -> None:
    """As the client sends it when it has waited too long for the answer to the first."""
    steps: list[Step] = []
    steps_of(world.contents.put(File(path="a"), b"new"), world.store, lambda number, step: steps.append(step))
    world.store._do(steps[late])
    world.sweep_later()
    assert world.read() == b"new"
    world.assert_clean()


@pytest.mark.parametrize("other", ["put", "delete", "sweep"])
def test_any_order_of_the_calls_of_two_is_right(world: World, other: str) -> None:
    """A writer beside another, beside one who deletes, and beside a sweep for which all is too old."""
    seen = set()
    for turns_of_mine in itertools.combinations(range(9), 4):  # it has so many steps left, and the other five at most
        world.write(b"old")
        mine = Running(world.store, world.contents.put(world.file(), b"mine"))
        others: dict[str, Task[Any]] = {
            "put": world.contents.put(world.file(), b"theirs"),
            "delete": world.contents.delete(world.file()),
            "sweep": world.contents.sweep(HOUR),
        }
        mine.advance()
        world.clock.time += 2 * HOUR
        both = [mine, Running(world.store, others[other])]
        for turn in range(9):
            next_one = both[turn not in turns_of_mine]
            if not next_one.over:
                next_one.advance()
        for each in both:
            assert isinstance(each.finish().error, TransactionFailed | None)
        content = world.read()
        seen.add((content, *(each.error is not None for each in both)))
        world.sweep_later()
        assert world.read() == content
        world.assert_clean()
        if content is not None:
            world.store.run(world.contents.delete(world.file()))
    assert (
        seen
        == {
            "put": {(b"mine", False, True), (b"theirs", True, False)},
            "delete": {(b"mine", False, True), (None, True, False)},
            "sweep": {(b"mine", False, False), (b"old", True, False)},
        }[other]
    )


def test_a_reader_whose_content_was_replaced_meanwhile_reads_the_new_one(world: World) -> None:
    world.write(b"old")

    def before(number: int, _: Step) -> None:
        if number == 1:
            world.store.run(world.contents.put(world.file(), b"new"))

    assert steps_of(world.contents.get(path="a"), world.store, before) == 4

    def deleting(number: int, _: Step) -> None:
        if number == 1:
            world.store.run(world.contents.delete(world.file()))

    assert steps_of(world.contents.get(path="a"), world.store, deleting) == 3


def test_an_object_that_somebody_else_has_deleted_is_told(world: World) -> None:
    world.write(b"old")
    world.objects.objects.clear()
    with pytest.raises(ContentLost, match=r"^Ref\(File, path='a'\) refers to the object 'object-0', which is not ther"):
        world.read()


def test_an_asynchronous_store_does_the_same(db: Database, world: World, tmp_path: Path) -> None:
    """With a folder, whose calls run in a thread."""
    contents = Contents(File, File.object, Loose, FolderObjects(tmp_path))
    store = AsyncStore(files, Async(db))

    async def run() -> bytes | None:
        file = File(path="a")
        await store.run(contents.put(file, b"one"))
        await store.run(contents.put(file, b"two"))
        found = await store.run(contents.get(path="a"))
        return None if found is None else found.content

    assert asyncio.run(run()) == b"two"
    assert len(list(tmp_path.iterdir())) == 1


def test_names_are_never_the_same_twice() -> None:
    assert len({new_name() for _ in range(100)}) == 100


def test_what_cannot_work_is_refused(world: World) -> None:
    other = Table("other", partition_key="pk", sort_key="sk")

    class Elsewhere(LooseObject, table=other):
        key = Key("LOOSE", "{object}")

    class Scattered(LooseObject, table=files):
        key = Key("SCATTERED#{object}", "LOOSE")

    objects = world.objects
    with pytest.raises(ModelError, match=r"^File\.object is no attribute of Note$"):
        Contents(Note, File.object, Loose, objects)
    with pytest.raises(ModelError, match=r"^Elsewhere has to be a LooseObject in the table files$"):
        Contents(File, File.object, Elsewhere, objects)
    with pytest.raises(ModelError, match=r"^Scattered\.key has to be of one partition: Key\("):
        Contents(File, File.object, Scattered, objects)
    with pytest.raises(ModelError, match=r"^An age of 0:00:00 would sweep what is being written: let it be hours$"):
        world.contents.sweep(timedelta(0))
    with pytest.raises(InvalidValue, match=r"^'' is no name of an object"):
        world.store.run(world.contents.delete(File(path="a")))
    with pytest.raises(InvalidValue, match=r"^'\.\./a' is no name of an object"):
        world.store.run(Contents(File, File.object, Loose, objects, new_name=lambda: "../a").put(File(path="a"), b""))
    assert world.loose() == []

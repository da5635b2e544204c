"""No two entities share a value, and no marker is left behind: at every moment, in any order of requests, wherever a
program stops."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torusdb
from tests.modeling.blocks.schedules import Awaited, Running
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    ConditionFailed,
    Entity,
    InvalidValue,
    Key,
    ModelError,
    PlanRefused,
    Ref,
    Scan,
    Store,
    Table,
    Task,
    attr,
    binary_key,
    computed,
    version,
)
from torusdb.modeling.blocks.unique import Unique, UniqueValue, ValueTaken

people = Table("people", partition_key="pk", sort_key="sk")


class Person(Entity, table=people):
    key = Key("PERSON#{id}", "PERSON")
    id: Attr[int]
    email: Attr[str]
    phone: Attr[str | None] = attr(default=None)
    age: Attr[int] = attr(default=0)
    revision: Attr[int] = version()
    email_key: Attr[str] = computed(lambda person: person.email.lower(), needs=["email"])


class Taken(UniqueValue, table=people):
    key = Key("UNIQUE#{attribute}#{value}", "UNIQUE")


unique = Unique(Person, [Person.email_key, Person.phone], markers=Taken)


@pytest.fixture
def store(db: Database) -> Store:
    return new_store(db)


def new_store(db: Database) -> Store:
    made = Store(people, db.direct_client(), sleep=lambda seconds: None)
    made.create_table()
    return made


def ref(number: int) -> Ref[Person]:
    return Ref(Person, id=number)


def markers(store: Store) -> dict[tuple[str, str], str]:
    """The owner of each value."""
    return {(each.attribute, each.value): each.owner["pk"] for each in store.run(Scan(Taken))}


def expected(store: Store) -> dict[tuple[str, str], str]:
    """As the people that there are say."""
    found: dict[tuple[str, str], str] = {}
    for person in store.run(Scan(Person)):
        for value in unique.values(person):
            assert value not in found, f"{person!r} has {value}, which {found[value]} has"
            found[value] = f"PERSON#{person.id}"
    return found


def set_to(**values: Any) -> Any:
    def change(person: Person) -> None:
        for name, value in values.items():
            setattr(person, name, value)

    return change


def test_a_value_is_had_by_one(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="ann@x", phone="1")))
    with pytest.raises(ValueTaken, match=r"^Person\.email_key 'ann@x': another Person has it$") as taken:
        store.run(unique.insert(Person(id=2, email="Ann@x", phone="2")))
    assert taken.value.attributes == [Person.email_key]
    with pytest.raises(ValueTaken) as taken:
        store.run(unique.insert(Person(id=2, email="ANN@X", phone="1")))
    assert taken.value.attributes == [Person.email_key, Person.phone]
    store.run(unique.insert(Person(id=2, email="bob@x")))
    store.run(unique.insert(Person(id=3, email="cat@x")))  # None is no value
    assert markers(store) == expected(store)
    assert len(markers(store)) == 4


def test_a_key_that_is_there_is_no_value_that_is_taken(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="ann@x")))
    with pytest.raises(ConditionFailed) as failed:
        store.run(unique.insert(Person(id=1, email="bob@x")))
    assert not isinstance(failed.value, ValueTaken)
    assert failed.value.entity.email == "ann@x"
    assert markers(store) == expected(store)


def test_a_changed_value_frees_the_old_one(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="ann@x", phone="1")))
    changed = store.run(unique.change(ref(1), set_to(email="anna@x", phone=None)))
    assert (changed.email, changed.revision) == ("anna@x", 2)
    assert markers(store) == expected(store) == {("Person.email_key", "anna@x"): "PERSON#1"}
    store.run(unique.insert(Person(id=2, email="ann@x", phone="1")))


def test_what_is_not_unique_changes_no_marker(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="ann@x")))
    store.run(unique.change(ref(1), set_to(age=30, email="ANN@x")))
    assert store.get(Person, id=1) == store.run(unique.find(Person.email_key, "ann@x"))
    assert markers(store) == expected(store)


def test_a_change_to_what_another_has_changes_nothing(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="ann@x")))
    store.run(unique.insert(Person(id=2, email="bob@x")))
    with pytest.raises(ValueTaken):
        store.run(unique.change(ref(2), set_to(email="ann@x", age=9)))
    bob = store.get(Person, id=2)
    assert bob is not None
    assert (bob.email, bob.age, bob.revision) == ("bob@x", 0, 1)
    assert markers(store) == expected(store)


def test_what_is_deleted_frees_its_values(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="ann@x", phone="1")))
    deleted = store.run(unique.delete(ref(1)))
    assert deleted is not None
    assert deleted.phone == "1"
    assert store.run(unique.delete(ref(1))) is None
    assert list(store.run(Scan(Person))) == []
    assert markers(store) == {}


def test_one_is_found_by_a_value(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="ann@x", phone="#1")))
    found = store.run(unique.find(Person.phone, "#1"))
    assert found == store.get(Person, id=1)
    assert store.run(unique.find(Person.phone, "2")) is None


def test_a_value_that_moves_while_it_is_looked_for(store: Store) -> None:
    """Between the marker and its owner, Ann gives the number up and Bob takes it."""
    store.run(unique.insert(Person(id=1, email="ann@x", phone="1")))
    store.run(unique.insert(Person(id=2, email="bob@x")))
    looking = Running(store, unique.find(Person.phone, "1"))
    looking.advance()
    store.run(unique.change(ref(1), set_to(phone=None)))
    store.run(unique.change(ref(2), set_to(phone="1")))
    assert looking.finish().result == store.get(Person, id=2)


def test_a_marker_without_its_value_is_nobody(store: Store) -> None:
    """As of one who has written the person past the block."""
    store.run(unique.insert(Person(id=1, email="ann@x", phone="1")))
    person = store.get(Person, id=1)
    assert person is not None
    person.phone = None
    store.put(person)
    assert store.run(unique.find(Person.phone, "1")) is None


def test_those_from_before_are_adopted(store: Store) -> None:
    store.insert(Person(id=1, email="ann@x", phone="1"))
    store.insert(Person(id=2, email="bob@x", phone="1"))
    for _ in range(2):
        assert store.run(unique.adopt(ref(1))) == store.get(Person, id=1)
        assert set(markers(store).values()) == {"PERSON#1"}
    with pytest.raises(ValueTaken):
        store.run(unique.adopt(ref(2)))
    store.run(unique.change(ref(1), set_to(phone=None)))
    store.run(unique.adopt(ref(2)))
    assert markers(store) == expected(store)
    assert len(markers(store)) == 3


def test_what_is_changed_meanwhile_is_changed_from_there(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="a@x")))
    changing = Running(store, unique.change(ref(1), set_to(age=3)))
    changing.advance()
    store.run(unique.change(ref(1), set_to(email="b@x")))
    assert changing.finish().error is None
    assert (changing.result.email, changing.result.age) == ("b@x", 3)
    assert markers(store) == expected(store) == {("Person.email_key", "b@x"): "PERSON#1"}


def test_what_is_deleted_meanwhile_is_not_there_to_be_changed(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="a@x")))
    running = [Running(store, task) for task in (unique.change(ref(1), set_to(age=3)), unique.delete(ref(1)))]
    for each in running:
        each.advance()
    store.run(unique.delete(ref(1)))
    changing, deleting = [each.finish() for each in running]
    assert isinstance(changing.error, ConditionFailed)
    assert (deleting.error, deleting.result) == (None, None)
    with pytest.raises(ConditionFailed, match=r"Ref\(Person, id=1\) is to be changed, and there is none"):
        store.run(unique.change(ref(1), set_to(age=3)))
    assert markers(store) == {}


IDS = st.integers(1, 2)
EMAILS = st.sampled_from(["a", "A", "b"])
PHONES = st.sampled_from([None, "1", "2"])
TASKS = st.one_of(
    st.tuples(st.sampled_from(["insert", "change"]), IDS, EMAILS, PHONES),
    st.tuples(st.just("delete"), IDS, st.just(""), st.none()),
)


def task_of(what: tuple[str, int, str, str | None]) -> Task[Any]:
    verb, number, email, phone = what
    if verb == "insert":
        return unique.insert(Person(id=number, email=email, phone=phone))
    return (
        unique.change(ref(number), set_to(email=email, phone=phone)) if verb == "change" else unique.delete(ref(number))
    )


@pytest.fixture(scope="module")
def many() -> Iterator[Store]:
    with torusdb.open() as db:
        yield new_store(db)


@settings(max_examples=150)
@given(st.lists(TASKS, min_size=4, max_size=10), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=40))
def test_in_any_order_of_requests_no_value_is_shared_and_no_marker_left(
    many: Store, kinds: list[tuple[str, int, str, str | None]], turns: list[tuple[int, int]]
) -> None:
    """Four at a time; one turn in five stops the one whose turn it is, before its request or after."""
    many.delete_many([*many.run(Scan(Taken)), *(Ref.of(each) for each in many.run(Scan(Person)))])
    left = [task_of(kind) for kind in kinds]
    running: list[Running] = []
    for who, what in [*turns, *[(0, 9)] * 200]:
        while left and len(running) < 4:
            running.append(Running(many, left.pop()))
        if not running:
            return
        each = running[who % len(running)]
        if what < 2:
            each.crash(done=what == 1)
        else:
            each.advance()
        if each.over:
            assert each.error is None or isinstance(each.error, ConditionFailed)
            running.remove(each)
        assert markers(many) == expected(many)
    raise AssertionError("They do not come to an end")


def test_threads_that_want_one_value(store: Store) -> None:
    """One has it, whoever comes first; then each of them takes another's, round and round."""

    def join(number: int) -> bool:
        try:
            store.run(unique.insert(Person(id=number, email="a@x", phone=f"{number}")))
        except ValueTaken:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(join, range(8))) == 1
    assert markers(store) == expected(store)
    assert len(markers(store)) == 2


def test_an_asynchronous_store_does_the_same(db: Database, store: Store) -> None:
    async def run() -> Person | None:
        others = AsyncStore(people, Awaited(db.direct_client()))
        await others.run(unique.insert(Person(id=1, email="a@x")))
        await others.run(unique.change(ref(1), set_to(phone="1")))
        with pytest.raises(ValueTaken):
            await others.run(unique.insert(Person(id=2, email="A@x")))
        return await others.run(unique.find(Person.phone, "1"))

    assert asyncio.run(run()) == store.get(Person, id=1)
    assert markers(store) == expected(store)


def test_a_key_is_not_changed(store: Store) -> None:
    store.run(unique.insert(Person(id=1, email="a@x")))
    with pytest.raises(PlanRefused, match=r"Ref\(Person, id=1\) was changed into Ref\(Person, id=2\): a key cannot be"):
        store.run(unique.change(ref(1), set_to(id=2)))
    assert markers(store) == expected(store)


def test_what_cannot_be_unique_is_refused() -> None:
    other = Table("other", partition_key="pk")
    binary = Table("binary", partition_key=binary_key("pk"))

    class Plain(Entity, table=other):
        key = Key("PLAIN#{id}")
        id: Attr[str]

    class Number(UniqueValue, table=other):
        key = Key("NUMBER#{value}")

    class Marker(UniqueValue, table=other):
        key = Key("UNIQUE#{attribute}#{value}")

    class File(Entity, table=binary):
        key = Key("{id}")
        id: Attr[bytes]
        name: Attr[str]
        revision: Attr[int] = version()

    with pytest.raises(ModelError, match=r"^Plain has no version, by which it is known whether someone else"):
        Unique(Plain, [Plain.id], markers=Marker)
    with pytest.raises(ModelError, match=r"^Plain\.id is no attribute of Person$"):
        Unique(Person, [Plain.id], markers=Taken)
    with pytest.raises(ModelError, match=r"^Person\.age is not stored as a text, and markers are keys that are texts$"):
        Unique(Person, [Person.age], markers=Taken)
    with pytest.raises(ModelError, match=r"^Number\.key is made of value: a marker's is made of attribute and value$"):
        Unique(Person, [Person.email], markers=Number)
    with pytest.raises(ModelError, match=r"^Person and Marker are not of one table whose keys are texts$"):
        Unique(Person, [Person.email], markers=Marker)
    with pytest.raises(ModelError, match=r"^File and Taken are not of one table whose keys are texts$"):
        Unique(File, [File.name], markers=Taken)
    with pytest.raises(ModelError, match=r"^Person\.email is none of Person\.email_key, Person\.phone$"):
        unique.find(Person.email, "a")
    with pytest.raises(InvalidValue, match=r"^Person\.phone: None is no value, and any number may have it$"):
        unique.find(Person.phone, None)

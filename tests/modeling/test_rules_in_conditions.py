"""Rules that conditions keep, as docs/patterns shows them, with many writers at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from torusdb import Database
from torusdb.modeling import Attr, ConditionFailed, Entity, Key, Ref, Store, Table, attr

club = Table("club", partition_key="pk")


@dataclass
class Section:
    text: str
    revision: int = 1


class Team(Entity, table=club):
    key = Key("TEAM#{name}")
    name: Attr[str]
    players: Attr[set[str]] = attr(default_factory=set)
    count: Attr[int] = attr(default=0)
    waiting: Attr[list[str]] = attr(default_factory=list)
    sections: Attr[dict[str, Section]] = attr(default_factory=dict)


CATS = Ref(Team, name="cats")


@pytest.fixture
def store(db: Database) -> Store:
    made = Store(club, db.direct_client())
    made.create_table()
    made.insert(Team(name="cats", sections={"a": Section("0"), "b": Section("0")}))
    return made


def cats(store: Store) -> Team:
    team = store.get(Team, name="cats")
    assert team is not None
    return team


def was_done(write: Callable[[str], object], name: str) -> bool:
    try:
        write(name)
    except ConditionFailed:
        return False
    return True


def at_once(write: Callable[[str], object], names: list[str]) -> list[str]:
    """Those who were not refused."""
    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(lambda name: was_done(write, name), names))
    return [name for name, is_done in zip(names, done, strict=True) if is_done]


def test_a_set_stays_within_its_bound(store: Store) -> None:
    def join(name: str) -> None:
        has_room = Team.players.missing() | (Team.players.size() < 3) | Team.players.contains(name)
        store.update(CATS, Team.players.add_to({name}), when=has_room)

    joined = at_once(join, [f"{number}" for number in range(10)] * 3)
    assert len(cats(store).players) == 3
    assert cats(store).players == set(joined)


def test_a_list_stays_within_its_bound(store: Store) -> None:
    def wait(name: str) -> None:
        store.update(CATS, Team.waiting.append([name]), when=Team.waiting.missing() | (Team.waiting.size() < 3))

    waiting = at_once(wait, [f"{number}" for number in range(20)])
    assert len(waiting) == 3
    assert sorted(cats(store).waiting) == sorted(waiting)


def test_an_element_of_a_list_goes_only_if_it_is_still_there(store: Store) -> None:
    store.update(CATS, Team.waiting.append(["ann", "bob", "cat"]))
    gone = at_once(lambda name: store.update(CATS, Team.waiting[1].remove(), when=Team.waiting[1] == name), ["bob"] * 9)
    assert gone == ["bob"]
    assert cats(store).waiting == ["ann", "cat"]


def test_what_is_in_a_set_is_counted_once(store: Store) -> None:
    def join(name: str) -> None:
        store.update(CATS, Team.players.add_to({name}), Team.count.add(1), when=~Team.players.contains(name))

    assert sorted(at_once(join, ["ann", "bob", "cat"] * 6)) == ["ann", "bob", "cat"]
    assert (cats(store).players, cats(store).count) == ({"ann", "bob", "cat"}, 3)


def test_a_counter_gives_each_number_once(store: Store) -> None:
    with ThreadPoolExecutor(8) as threads:
        numbers = list(threads.map(lambda _: store.upsert(CATS, Team.count.add(1)).count, range(40)))
    assert sorted(numbers) == list(range(1, 41))


def test_sections_have_versions_of_their_own(store: Store) -> None:
    """Each text is put behind the one that was read, by two writers of each section, who begin again when refused."""

    def write_one(name: str) -> None:
        place, seen = Team.sections[name], cats(store).sections[name]
        new = Section(seen.text + "x", seen.revision + 1)
        store.update(CATS, place.set(new), when=place.revision == seen.revision)

    def write(name: str) -> None:
        for _ in range(10):
            while not was_done(write_one, name):
                pass

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(write, name) for name in ("a", "a", "b", "b")]:
            done.result()
    assert cats(store).sections == {name: Section("0" + "x" * 20, 21) for name in ("a", "b")}


def test_a_section_that_is_gone_is_not_brought_back(store: Store) -> None:
    place = Team.sections["a"]
    store.update(CATS, place.remove())
    with pytest.raises(ConditionFailed):
        store.update(CATS, place.set(Section("1", 2)), when=place.revision == 1)
    store.update(CATS, place.set(Section("new")), when=place.missing())
    with pytest.raises(ConditionFailed):
        store.update(CATS, place.set(Section("newer")), when=place.missing())
    assert cats(store).sections == {"a": Section("new"), "b": Section("0")}

"""All versions stay, numbers have no gaps, and nobody's change is lost."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from tests.modeling.blocks.schedules import Awaited, Running
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    ConditionFailed,
    Entity,
    Key,
    ModelError,
    PlanRefused,
    Ref,
    Store,
    Table,
    attr,
    version,
)
from torusdb.modeling.blocks.history import History

wiki = Table("wiki", partition_key="pk", sort_key="sk")


class Page(Entity, table=wiki):
    key = Key("PAGE#{name}", "v{slot:06}")
    name: Attr[str]
    slot: Attr[int] = attr(default=0)
    number: Attr[int] = attr(default=0)
    text: Attr[str]


history = History(Page, slot=Page.slot, number=Page.number)


@pytest.fixture
def store(db: Database) -> Store:
    made = Store(wiki, db.direct_client(), sleep=lambda seconds: None)
    made.create_table()
    return made


def latest(store: Store) -> Page:
    page = store.get(Page, name="a", slot=0)
    assert page is not None
    return page


def check(store: Store, *texts: str) -> None:
    """The latest stands in slot 0, and all versions in those of their numbers."""
    pages = list(store.run(Page.key.query(Page.name == "a")))
    assert [(each.slot, each.number, each.text) for each in pages] == [
        (0, len(texts), texts[-1]),
        *((number, number, text) for number, text in enumerate(texts, 1)),
    ]


def test_every_version_stays(store: Store) -> None:
    page = store.run(history.save(Page(name="a", text="one")))
    assert page == latest(store) == Page(name="a", text="one", slot=0, number=1)
    page.text = "two"
    saved = store.run(history.save(page))
    assert (page.number, saved.number) == (1, 2)
    saved.text = "three"
    store.run(history.save(saved))
    check(store, "one", "two", "three")


def test_an_old_version_becomes_the_latest_again(store: Store) -> None:
    store.run(history.save(store.run(history.save(Page(name="a", text="one")))))
    old = store.get(Page, name="a", slot=1)
    assert old is not None
    with pytest.raises(ConditionFailed):
        store.run(history.save(old))
    old.number = latest(store).number
    store.run(history.save(old))
    check(store, "one", "one", "one")


def test_who_has_not_the_latest_is_told(store: Store) -> None:
    first = store.run(history.save(Page(name="a", text="one")))
    store.run(history.save(first))
    with pytest.raises(ConditionFailed, match=r"is not the latest, and has not become another version$") as failed:
        store.run(history.save(first))
    assert failed.value.entity == latest(store)
    with pytest.raises(ConditionFailed):
        store.run(history.save(Page(name="a", text="new")))
    check(store, "one", "one")


def test_old_versions_can_go_and_the_first_is_not_made_again(store: Store) -> None:
    store.run(history.save(store.run(history.save(Page(name="a", text="one")))))
    store.delete(Ref(Page, name="a", slot=1))
    with pytest.raises(ConditionFailed) as failed:
        store.run(history.save(Page(name="a", text="new")))
    assert failed.value.entity == latest(store)
    assert latest(store).number == 2


def test_who_stops_leaves_a_whole_version_or_none(store: Store) -> None:
    page = store.run(history.save(Page(name="a", text="one")))
    page.text = "two"
    Running(store, history.save(page)).crash()
    check(store, "one")
    Running(store, history.save(page)).crash(done=True)
    check(store, "one", "two")


def test_threads_that_change_one_page(store: Store) -> None:
    store.run(history.save(Page(name="a", text="0")))

    def write(number: int) -> None:
        while True:
            page = latest(store)
            page.text += f",{number}"
            try:
                store.run(history.save(page))
            except ConditionFailed:
                continue
            return

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(1, 13)))
    pages = list(store.run(Page.key.query(Page.name == "a")))
    texts = [each.text for each in pages[1:]]
    check(store, *texts)
    assert all(later.startswith(earlier + ",") for earlier, later in pairwise(texts))
    assert sorted(texts[-1].split(",")) == sorted(f"{number}" for number in range(13))


def test_an_asynchronous_store_does_the_same(db: Database, store: Store) -> None:
    async def run() -> Page:
        others = AsyncStore(wiki, Awaited(db.direct_client()))
        return await others.run(history.save(await others.run(history.save(Page(name="a", text="one")))))

    assert asyncio.run(run()) == latest(store)
    check(store, "one", "one")


def test_what_can_have_no_history_is_refused() -> None:
    class Draft(Entity, table=wiki):
        key = Key("DRAFT#{name}", "v{slot:06}")
        name: Attr[str]
        slot: Attr[int] = attr(default=0)
        number: Attr[int] = attr(default=0)
        begin: Attr[int] = attr(default=1)
        revision: Attr[int] = version()

    with pytest.raises(
        ModelError, match=r"^Draft\.revision would count besides Draft\.number, which is the version here$"
    ):
        History(Draft, slot=Draft.slot, number=Draft.number)
    with pytest.raises(ModelError, match=r"^Draft\.begin is no attribute of Draft with the default 0$"):
        History(Draft, slot=Draft.slot, number=Draft.begin)
    with pytest.raises(ModelError, match=r"^Page\.number is no attribute of Draft with the default 0$"):
        History(Draft, slot=Draft.slot, number=Page.number)
    with pytest.raises(ModelError, match=r"^Page\.number has to be in Page\.key, and Page\.slot must not be$"):
        History(Page, slot=Page.number, number=Page.slot)
    with pytest.raises(PlanRefused, match=r"is no Page$"):
        history.save(Draft(name="a"))  # type: ignore[arg-type]

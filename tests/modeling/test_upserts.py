"""Upserts: the entity is there afterwards, as an insert or an update would have made it; or nothing is sent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torusdb
from tests.modeling.conftest import Recorder
from tests.modeling.shop import Address, Customer, Order, Product
from torusdb.modeling import (
    Action,
    Attr,
    ConditionFailed,
    Entity,
    GlobalIndex,
    InvalidValue,
    Key,
    LocalIndex,
    PlanRefused,
    Put,
    Ref,
    Store,
    Table,
    Upsert,
    attr,
    computed,
    version,
)

ranking = GlobalIndex("ranking", partition_key="rpk", sort_key="rsk")
by_tag = GlobalIndex("tags", partition_key="tpk")
by_rank = LocalIndex("ranks", sort_key="lsk")
site = Table("site", partition_key="pk", sort_key="sk", indexes=[ranking, by_tag, by_rank])


class Page(Entity, table=site):
    key = Key("PAGE#{path}", "PAGE")
    ranked = Key("PAGES#{section}", "{rank:04}#{path}", index=ranking)
    tagged = Key("TAG#{tag}#{label}", index=by_tag)
    local = Key(sort="{rank:04}", index=by_rank)
    path: Attr[str]
    section: Attr[str] = attr(default="main")
    rank: Attr[int] = attr(default=1)
    tag: Attr[str | None] = attr(default=None)
    visits: Attr[int] = attr(default=100)
    seen: Attr[set[str]] = attr(default_factory=set)
    label: Attr[str] = computed(lambda page: f"{page.section}/{page.rank}", needs=["section", "rank"])
    revision: Attr[int] = version()


HOME = Ref(Page, path="/")


@pytest.fixture
def pages(client: Recorder) -> Store:
    made = Store(site, client)
    made.create_table()
    client.requests.clear()
    return made


def stored(client: Recorder, ref: Ref[Any]) -> dict[str, Any]:
    item: dict[str, Any] = client.get_item(TableName=ref.model.table.name, Key=ref.key)["Item"]
    return item


def test_one_request_makes_or_changes_it(pages: Store, client: Recorder) -> None:
    first = pages.upsert(HOME, Page.visits.add(1), Page.seen.add_to({"ann"}))
    assert first.visits == 101
    assert first.revision == 1
    assert pages.upsert(HOME, Page.visits.add(1)).visits == 102
    assert [method for method, _ in client.requests] == ["update_item", "update_item"]
    assert "ConditionExpression" not in client.requests[0][1]
    found = pages.get(Page, path="/")
    assert found is not None
    assert (found.seen, found.revision) == ({"ann"}, 2)


def test_a_new_one_is_stored_as_an_insert_would_have_stored_it(pages: Store, client: Recorder) -> None:
    for actions, values in [
        ([], {}),
        ([Page.visits.set(3)], {"visits": 3}),
        ([Page.section.set("a"), Page.rank.set(7), Page.tag.remove()], {"section": "a", "rank": 7}),
        ([Page.section.set_if_missing("a"), Page.rank.set_if_missing(7)], {"section": "a", "rank": 7}),
        (
            [Page.section.set("a"), Page.rank.set(7), Page.tag.set("t")],
            {"section": "a", "rank": 7, "tag": "t"},
        ),
    ]:
        pages.delete(HOME)
        pages.upsert(HOME, *actions)
        assert stored(client, HOME) == {**Put(Page(path="/", **values)).item, "revision": {"N": "1"}}


def test_what_is_stored_stays_and_its_keys_with_it(pages: Store, client: Recorder) -> None:
    page = Page(path="/", section="a", rank=7, tag="t", visits=5)
    pages.put(page)
    before = stored(client, HOME)
    pages.upsert(HOME, Page.section.set_if_missing("z"), Page.seen.add_to({"x"}))
    assert stored(client, HOME) == {**before, "seen": {"SS": ["x"]}, "revision": {"N": "2"}}
    pages.upsert(HOME, Page.section.set("b"), Page.rank.set(8), Page.tag.set(None))
    found = pages.get(Page, path="/")
    assert found is not None
    assert stored(client, HOME) == {**Put(found).item, "revision": {"N": "3"}}
    assert "tpk" not in stored(client, HOME)


@st.composite
def actions(draw: st.DrawFn) -> list[Action]:
    values = {
        Page.section: st.sampled_from(["a", "b"]),
        Page.rank: st.integers(0, 9),
        Page.tag: st.sampled_from(["s", "t"]),
        Page.visits: st.integers(0, 9),
    }
    chosen = []
    for place, strategy in values.items():
        verb = draw(st.sampled_from(["none", "set", "set_if_missing", "remove"]))
        if verb == "set":
            chosen.append(place.set(draw(strategy)))
        elif verb == "set_if_missing":
            chosen.append(place.set_if_missing(draw(strategy)))
        elif verb == "remove" and place is Page.tag:
            chosen.append(place.remove())
    return chosen


@pytest.fixture(scope="module")
def lasting() -> Any:
    with torusdb.open() as db:
        store = Store(site, Recorder(db.client()))
        store.create_table()
        yield store


@settings(max_examples=200)
@given(steps=st.lists(actions(), min_size=1, max_size=4))
def test_whatever_is_upserted_has_the_keys_that_its_attributes_say(lasting: Store, steps: list[list[Action]]) -> None:
    """After each, the item is what a put of the object that is read would write."""
    lasting.delete(HOME)
    for step in steps:
        try:
            plan = Upsert(HOME, *step)
        except PlanRefused:
            continue
        found = lasting.run(plan)
        expected = {**Put(found).item, "revision": {"N": str(found.revision)}}
        assert stored(lasting._client, HOME) == expected


@pytest.mark.parametrize(
    ("ref", "actions", "refusal"),
    [
        (
            Ref(Product, code="b"),
            [Product.name.set("Book")],
            "An upsert makes the Product where there is none, and needs Product.shelf: set it, or set_if_missing",
        ),
        (HOME, [Page.section.set("a")], "Page.label changes with this, and needs Page.rank as well: set that too"),
        (
            HOME,
            [Page.section.set_if_missing("a"), Page.rank.set(1)],
            "Page.label changes with this, and needs Page.section as well: set that too",
        ),
        (HOME, [Page.tag.set("t")], "Page.tagged changes with this, and needs Page.label as well: set that too"),
        (
            HOME,
            [Page.rank.add(1)],
            "Page.rank.add(1) changes Page.label, which needs to know what becomes of it: "
            "use .set(value), on condition that it is as it was read",
        ),
        (
            Ref(Customer, id="1"),
            [Customer.address.city.set("Bath")],
            "Customer.address.city is part of what may not be there: an upsert sets it as a whole",
        ),
        (
            Ref(Customer, id="1"),
            [Customer.name.set(Customer.id)],
            "Customer.name.set(Customer.id) takes a value that may not be there: "
            "an upsert sets values that it is given",
        ),
        (HOME, [Page.revision.add(1)], "Page.revision is the version, which counts by itself"),
        (
            HOME,
            [Page.path.set("x")],
            "Page.path is in the key of Page, which cannot be updated: delete it and put another",
        ),
        (HOME, [Order.total.remove()], "Order.total is no attribute of Page"),
    ],
)
def test_what_is_refused(ref: Any, actions: list[Action], refusal: str) -> None:
    with pytest.raises(PlanRefused) as caught:
        Upsert(ref, *actions)
    assert str(caught.value) == refusal


def test_an_upsert_under_a_condition(pages: Store) -> None:
    low = Page.visits < 102
    with pytest.raises(ConditionFailed, match="there is none"):
        pages.upsert(HOME, Page.visits.add(1), when=low)
    pages.upsert(HOME, Page.visits.add(1), when=low | Page.path.missing())
    pages.upsert(HOME, Page.visits.add(1), when=low | Page.path.missing())
    with pytest.raises(ConditionFailed):
        pages.upsert(HOME, Page.visits.add(1), when=low | Page.path.missing())


def test_within_a_transaction(pages: Store) -> None:
    with pages.transaction() as transaction:
        transaction.upsert(HOME, Page.visits.add(1))
        transaction.upsert(Ref(Page, path="/b"), Page.visits.set(1))
    assert [each and each.visits for each in pages.get_many([HOME, Ref(Page, path="/b")])] == [101, 1]


def test_sets_addresses_and_the_rest_have_their_defaults(store: Store) -> None:
    made = store.upsert(Ref(Customer, id="1"), Customer.address.set(Address("High St", "Bath")))
    assert made == Customer(id="1", address=Address("High St", "Bath"))


def test_a_text_that_makes_a_key_look_like_anothers_is_refused() -> None:
    table = Table("things", partition_key="pk", sort_key="sk")

    class Machine(Entity, table=table):
        key = Key("M#{id}", "E#{part}")
        id: Attr[str]
        part: Attr[str]

    class Event(Entity, table=table):
        key = Key("M#{machine}", "E#{part}#AT#{time}")
        machine: Attr[str]
        part: Attr[str]
        time: Attr[datetime]

    with pytest.raises(InvalidValue, match="would have the key of a Event"):
        Upsert(Ref(Machine, id="1", part="a#AT#2024-01-01T00:00:00.000000Z"))
    Upsert(Ref(Event, machine="1", part="a", time=datetime(2024, 1, 1, tzinfo=UTC)))

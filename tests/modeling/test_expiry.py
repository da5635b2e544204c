"""Expired entities are hidden from reads, and from reads only; requests, pages and limits come out right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from torusdb.modeling import (
    Attr,
    ConditionFailed,
    Entity,
    GlobalIndex,
    Key,
    ModelError,
    PlanRefused,
    Ref,
    Scan,
    Store,
    Table,
    attr,
    collection,
    ttl,
)

START = datetime(2024, 3, 1, tzinfo=UTC)
by_device = GlobalIndex("devices", partition_key="dpk", sort_key="dsk")
slim = GlobalIndex("slim", partition_key="spk", include=["user", "number"])
sessions = Table("sessions", partition_key="pk", sort_key="sk", indexes=[by_device, slim])


class User(Entity, table=sessions):
    key = Key("USER#{id}", "A")
    id: Attr[str]
    ends: Attr[datetime | None] = ttl(default=None)


class Session(Entity, table=sessions):
    key = Key("USER#{user}", "S#{number:04}")
    by_device = Key("DEVICE#{device}", "{number:04}", index=by_device)
    in_slim = Key("USERS#{user}", index=slim)
    user: Attr[str]
    number: Attr[int]
    device: Attr[str] = attr(default="d")
    ends: Attr[datetime | None] = ttl(default=None, hide_expired=True)


class Clock:
    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(client: Recorder, clock: Clock) -> Store:
    made = Store(sessions, client, now=clock)
    made.create_table()
    return made


def session(number: int, hours: float | None) -> Session:
    ends = None if hours is None else START + timedelta(hours=hours)
    return Session(user="1", number=number, ends=ends)


def test_a_get_gives_none_from_the_second_that_is_stored_on(store: Store, clock: Clock) -> None:
    kept, never = session(1, 1), session(2, None)
    store.put_many([kept, never])
    both: list[Ref[Session]] = [Ref(Session, user="1", number=1), Ref(Session, user="1", number=2)]
    clock.time = START + timedelta(hours=1, milliseconds=-1)
    assert store.get(Session, user="1", number=1) == kept
    assert store.get_many(both) == [kept, never]
    assert store.run(Session.key.query(Session.user == "1")).all() == [kept, never]
    clock.time += timedelta(milliseconds=1)
    assert store.run(Session.key.query(Session.user == "1")).all() == [never]
    assert store.get(Session, user="1", number=1) is None
    assert store.get_many(both) == [None, never]


def test_what_the_service_never_drops_is_shown(store: Store, clock: Clock, client: Recorder) -> None:
    """More than five years back, or no number."""
    store.put(session(1, -1))
    clock.time = START + timedelta(days=5 * 365.2425, seconds=-3600)
    assert store.get(Session, user="1", number=1) is None
    assert store.run(Session.key.query(Session.user == "1")).all() == []
    clock.time += timedelta(seconds=1)
    assert store.get(Session, user="1", number=1) is not None
    assert len(store.run(Session.key.query(Session.user == "1")).all()) == 1


def test_queries_scans_counts_and_collections_leave_them_out(store: Store, clock: Clock, client: Recorder) -> None:
    """Every other session expires; users may expire, and are shown."""
    everyone = [session(number, -1 if number % 2 else 1) for number in range(20)]
    store.put_many([*everyone, User(id="1", ends=START - timedelta(hours=1))])
    shown = everyone[::2]
    query = Session.key.query(Session.user == "1")
    client.requests.clear()
    assert store.run(query).all() == shown
    assert client.requests[-1][1]["FilterExpression"] == "NOT (#n2 >= :oldest AND #n2 <= :now)"
    assert store.run(query.page_size(3)).all() == shown
    assert store.run(query.limit(7)).all() == shown[:7]
    assert store.run(query.limit(3).filter(Session.number.in_([6, 8, 10]))).all() == shown[3:6]
    assert store.run(query.only(Session.number)).all() == [(each.number,) for each in shown]
    assert store.run(query.count()) == 10
    assert store.run(Session.by_device.query(Session.device == "d")).all() == shown
    assert sorted(each.number for each in store.run(Scan(Session).segments(2))) == [each.number for each in shown]
    together = collection(User.key, Session.key).query(User.id == "1")
    assert [type(each).__name__ for each in store.run(together)] == ["User"] + ["Session"] * 10
    clock.time += timedelta(hours=2)
    assert store.run(query.count()) == 0
    assert [type(each).__name__ for each in store.run(together)] == ["User"]
    assert query.explain().filter == "Session.ends is not past"


def test_a_cursor_outlives_the_moment_it_was_made_in(store: Store, clock: Clock) -> None:
    everyone = [session(number, number + 1) for number in range(10)]
    store.put_many(everyone)
    query = Session.key.query(Session.user == "1")
    results = store.run(query.limit(3))
    assert results.all() == everyone[:3]
    clock.time += timedelta(hours=5)
    assert store.run(query.after(results.cursor)).all() == everyone[5:]


def test_writes_see_what_is_stored(store: Store) -> None:
    gone = session(1, -1)
    store.insert(gone)
    with pytest.raises(ConditionFailed) as caught:
        store.insert(session(1, 1))
    assert caught.value.entity == gone
    store.put(session(1, 1), when=Session.ends < START)
    assert store.get(Session, user="1", number=1) == session(1, 1)


def test_the_table_is_made_with_its_ttl(store: Store, client: Recorder) -> None:
    described = client.describe_time_to_live(TableName="sessions")["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ends"}


def test_an_index_without_the_ttl_cannot_be_read_so() -> None:
    with pytest.raises(PlanRefused, match=r"^The index slim does not hold Session\.ends: "):
        Session.in_slim.query(Session.user == "1").only(Session.number).requests()


@pytest.mark.parametrize(
    ("declare", "refusal"),
    [
        (
            lambda table: type(
                "Two",
                (Entity,),
                {
                    "__annotations__": {"id": Attr[str], "a": Attr[datetime], "b": Attr[datetime]},
                    "key": Key("TWO#{id}", "A"),
                    "a": ttl(),
                    "b": ttl(),
                },
                table=table,
            ),
            "Two has two attributes that are its ttl: a and b",
        ),
        (
            lambda table: type(
                "Other",
                (Entity,),
                {
                    "__annotations__": {"id": Attr[str], "until": Attr[datetime]},
                    "key": Key("OTHER#{id}", "A"),
                    "until": ttl(),
                },
                table=table,
            ),
            "Other.until is stored as until, and User.ends as ends: "
            "a table has one TTL attribute, so give both one name",
        ),
    ],
)
def test_a_table_has_one_ttl_attribute(declare: Any, refusal: str) -> None:
    with pytest.raises(ModelError) as caught:
        declare(sessions)
    assert str(caught.value) == refusal

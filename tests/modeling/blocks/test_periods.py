"""Tables by period: made ahead, stepped down, deleted in the end; read as if they were one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.test_async import Async
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    Entity,
    GlobalIndex,
    InvalidValue,
    Key,
    ModelError,
    PlanRefused,
    Query,
    Store,
    Table,
    TableOptions,
    Throughput,
    attr,
    ttl,
)
from torusdb.modeling.blocks.periods import Periods, Stage

by_level = GlobalIndex("by_level", partition_key="lpk", sort_key="lsk")
readings = Table("readings", partition_key="pk", sort_key="sk", indexes=[by_level])


class Reading(Entity, table=readings):
    key = Key("SENSOR#{sensor}", "{time}")
    by_level = Key("LEVEL#{level}", "{time:newest_first}", index=by_level)
    sensor: Attr[str]
    time: Attr[datetime]
    level: Attr[str] = attr(default="ok")
    expires: Attr[datetime | None] = ttl(default=None)


STAGES = [
    Stage(0, TableOptions(deletion_protection=True)),
    Stage(1, TableOptions(provisioned=Throughput(50, 5), deletion_protection=True)),
    Stage(2, TableOptions(provisioned=Throughput(5, 1), table_class="STANDARD_INFREQUENT_ACCESS")),
]
MAY = date(2026, 5, 20)


def periods(**changed: Any) -> Periods:
    given: dict[str, Any] = {"every": "month", "stages": STAGES, "since": date(2026, 3, 1), "kept": 3}
    return Periods(readings, **(given | changed))


def month(year: int, number: int) -> date:
    return date(year, number, 15)


@pytest.fixture
def client(db: Database) -> Recorder:
    return Recorder(db.client())  # boto3's, for operations that TorusDB has not


def keep_up(client: Any, today: date, of: Periods | None = None) -> list[str]:
    def never(_: float) -> None:
        raise AssertionError("everything is done at once here")

    return list(map(str, (of or periods()).keep_up(client, today, sleep=never)))


def tables(client: Any) -> list[str]:
    names: list[str] = client.list_tables()["TableNames"]
    return names


def described(client: Any, name: str) -> tuple[str, int, str, bool]:
    table = client.describe_table(TableName=name)["Table"]
    units = table["ProvisionedThroughput"]["WriteCapacityUnits"]
    (index,) = table["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"]["WriteCapacityUnits"] == units
    return (
        table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
        units,
        table.get("TableClassSummary", {}).get("TableClass", "STANDARD"),
        table["DeletionProtectionEnabled"],
    )


def test_tables_are_made_ahead_and_once(client: Recorder) -> None:
    done = keep_up(client, month(2026, 3))
    assert done == ["readings-2026-04: is to be made", "readings-2026-03: is to be made"]
    assert tables(client) == ["readings-2026-03", "readings-2026-04"]
    answer = client.describe_time_to_live(TableName="readings-2026-04")
    assert answer["TimeToLiveDescription"]["AttributeName"] == "expires"
    assert keep_up(client, month(2026, 3)) == []


def test_capacity_is_stepped_down_with_age_and_the_oldest_goes(client: Recorder) -> None:
    for number in range(3, 8):
        keep_up(client, month(2026, number))
    assert tables(client) == [f"readings-2026-0{number}" for number in range(3, 9)]
    assert [described(client, name) for name in tables(client)] == [
        *[("PROVISIONED", 1, "STANDARD_INFREQUENT_ACCESS", False)] * 3,
        ("PROVISIONED", 5, "STANDARD", True),
        *[("PAY_PER_REQUEST", 0, "STANDARD", True)] * 2,
    ]
    assert periods().names_of(date.min, date.max, month(2026, 7)) == tables(client)[1:-1], "kept, but no longer read"
    done = keep_up(client, month(2026, 8))
    assert done[-1] == "readings-2026-03: is to be deleted, with all that is in it"
    assert tables(client)[0] == "readings-2026-04"


def test_weeks_without_upkeep_are_made_up_for(client: Recorder) -> None:
    keep_up(client, month(2026, 3))
    keep_up(client, month(2026, 12))
    assert tables(client) == [
        "readings-2026-09",
        "readings-2026-10",
        "readings-2026-11",
        "readings-2026-12",
        "readings-2027-01",
    ]
    assert described(client, "readings-2026-09")[1] == 1


def test_nothing_else_is_deleted_or_changed(client: Recorder) -> None:
    others = [
        *["readings", "readings-2020-1", "readings-2020-13", "readings-20200101", "readings-2020-01-01"],
        *["readings-2020-01-old", "old-readings-2020-01", "reading-2020-01", "readings-2020W01", "2020-01"],
    ]
    for name in others:
        Store(readings, client, table_name=name).create_table()
    Store(readings, client, table_name="readings-2020-01").create_table()
    keep_up(client, MAY)
    assert set(others) < set(tables(client))
    assert "readings-2020-01" not in tables(client)


def test_chores_only_say_what_would_be_done(client: Recorder) -> None:
    told = [str(chore) for chore in periods().chores(client, month(2026, 3))]
    assert told == ["readings-2026-04: is to be made", "readings-2026-03: is to be made"]
    assert tables(client) == []


def test_what_another_run_has_done_meanwhile_is_no_error(client: Recorder) -> None:
    first, second = periods(), periods()
    told: list[str] = []

    def overtaken(text: str) -> None:
        if not told:
            second.keep_up(client, month(2026, 3))
        told.append(text)

    assert first.keep_up(client, month(2026, 3), progress=overtaken) == []
    assert len(told) == 2
    told.clear()
    keep_up(client, month(2026, 9))
    Store(readings, client, table_name="readings-2026-04").create_table()

    def overtaken_too(text: str) -> None:
        client.delete_table(TableName="readings-2026-04")

    assert first.keep_up(client, month(2026, 9), progress=overtaken_too) == []


@pytest.mark.parametrize("at", range(27))
def test_a_killed_upkeep_is_ended_by_the_next(client: Recorder, at: int) -> None:
    class Killed(BaseException): ...

    class Killing:
        def __init__(self) -> None:
            self.left = at

        def __getattr__(self, method: str) -> Callable[..., Any]:
            def call(**parameters: Any) -> Any:
                if self.left == 0:
                    raise Killed
                self.left -= 1
                return getattr(client, method)(**parameters)

            return call

    keep_up(client, month(2026, 3))
    with pytest.raises(Killed):
        keep_up(Killing(), month(2026, 5))
    keep_up(client, month(2026, 5))
    assert tables(client) == [f"readings-2026-0{number}" for number in range(3, 7)]
    assert [described(client, name)[1] for name in tables(client)] == [1, 5, 0, 0]
    assert keep_up(client, month(2026, 5)) == []


# -- reading


def at(day: int, number: int = 5) -> datetime:
    return datetime(2026, number, day, tzinfo=UTC)


def filled(client: Any, now: datetime) -> Store:
    keep_up(client, now)
    for number in range(3, 7):
        store = Store(readings, client, table_name=periods().name_of(at(1, number)))
        store.put_many([Reading(sensor="a", time=at(day, number)) for day in (1, 2, 3)])
    return Store(readings, client, now=lambda: now)


def read(store: Store, query: Query[Reading], start: date, end: date) -> list[tuple[int, int]]:
    return [(each.time.month, each.time.day) for each in store.run(periods().query(query, start, end))]


OF_A = Reading.key.query(Reading.sensor == "a")


def test_a_query_goes_through_the_periods_in_order(client: Recorder) -> None:
    store = filled(client, at(20))
    between = OF_A
    assert read(store, between, date(2026, 4, 2), date(2026, 5, 31)) == [
        *[(4, 1), (4, 2), (4, 3)],
        *[(5, 1), (5, 2), (5, 3)],
    ], "whole periods: what is asked of the time is the query's"
    bounded = Reading.key.query(Reading.sensor == "a", Reading.time.between(at(3, 3), at(1, 5)))
    assert read(store, bounded, at(3, 3), at(1, 5)) == [(3, 3), (4, 1), (4, 2), (4, 3), (5, 1)]


def test_the_newest_come_first_and_older_tables_are_left_alone(client: Recorder) -> None:
    store = filled(client, at(20))
    client.requests.clear()
    assert read(store, OF_A.newest_first().limit(4), date(2026, 3, 1), at(20)) == [(5, 3), (5, 2), (5, 1), (4, 3)]
    assert [parameters["TableName"] for _, parameters in client.requests] == ["readings-2026-05", "readings-2026-04"]
    client.requests.clear()
    assert read(store, OF_A.newest_first().limit(3), date(2026, 3, 1), at(20)) == [(5, 3), (5, 2), (5, 1)]
    assert len(client.requests) == 1


def test_inverted_keys_have_the_newest_first_when_they_are_read_forward(client: Recorder) -> None:
    store = filled(client, at(20))
    of_level = Reading.by_level.query(Reading.level == "ok")
    newest = [(month, day) for month in (5, 4, 3) for day in (3, 2, 1)]
    assert read(store, of_level, date(2026, 3, 1), at(20)) == newest
    assert read(store, of_level.reverse(), date(2026, 3, 1), at(20)) == newest[::-1]


def test_what_has_not_begun_or_is_no_longer_kept_is_not_asked_for(client: Recorder) -> None:
    store = filled(client, at(20))
    client.requests.clear()
    assert len(read(store, OF_A, date(1999, 1, 1), date(2999, 1, 1))) == 9
    assert [parameters["TableName"] for _, parameters in client.requests] == [
        f"readings-2026-0{number}" for number in (3, 4, 5)
    ]
    assert read(store, OF_A, date(1999, 1, 1), date(2001, 1, 1)) == []


def test_an_asynchronous_store_does_the_same(db: Database, client: Recorder) -> None:
    filled(client, at(20))

    async def run() -> list[Reading]:
        store = AsyncStore(readings, Async(db), now=lambda: at(20))
        return await store.run(periods().query(OF_A, date(2026, 4, 1), at(20)))

    assert len(asyncio.run(run())) == 6


def test_a_cursor_is_refused(client: Recorder) -> None:
    store = filled(client, at(20))
    results = Store(readings, client, table_name="readings-2026-05").run(OF_A)
    results.first()
    cursor = results.cursor
    assert cursor is not None
    with pytest.raises(PlanRefused, match=r"^A query of several periods has no cursor: ask again from the time of the"):
        store.run(periods().query(OF_A.after(cursor), date(2026, 4, 1), at(20)))


# -- names, and what cannot work


@pytest.mark.parametrize(
    ("every", "moment", "name"),
    [
        ("month", date(2026, 5, 31), "readings-2026-05"),
        ("month", datetime(2026, 6, 1, 1, tzinfo=UTC) - timedelta(hours=2), "readings-2026-05"),
        ("month", datetime.fromisoformat("2027-01-01T01:00+02:00"), "readings-2026-12"),
        ("day", datetime.fromisoformat("2027-01-01T01:00+02:00"), "readings-2026-12-31"),
        ("day", date(2028, 2, 29), "readings-2028-02-29"),
    ],
)
def test_a_moment_belongs_to_the_period_that_it_has_in_utc(every: str, moment: date, name: str) -> None:
    assert periods(every=every).name_of(moment) == name
    assert periods(every=every, prefix="prod.readings").name_of(moment) == f"prod.{name}"


def test_a_time_without_a_zone_belongs_nowhere() -> None:
    with pytest.raises(InvalidValue, match=r"has no time zone"):
        periods().name_of(datetime(2026, 5, 1))


def test_tables_of_days_are_kept_alike(client: Recorder) -> None:
    daily = periods(every="day", since=date(2026, 12, 30), kept=2)
    for day in (date(2026, 12, 31), date(2027, 1, 1), date(2027, 1, 3)):
        keep_up(client, day, daily)
    assert tables(client) == [
        *["readings-2026-12-31", "readings-2027-01-01", "readings-2027-01-02"],
        *["readings-2027-01-03", "readings-2027-01-04"],
    ]


def test_what_cannot_work_is_refused() -> None:
    own = GlobalIndex("own", partition_key="opk", throughput=Throughput(1, 1))
    indexed = Table("indexed", partition_key="pk", indexes=[own])
    plain = TableOptions()
    for changed, message in [
        ({"stages": []}, r"^The stages of readings begin at the ages \[\]: from 0 on, rising, up to 3$"),
        ({"stages": STAGES[1:]}, r"begin at the ages \[1, 2\]"),
        ({"stages": [STAGES[0], STAGES[2], STAGES[1]]}, r"begin at the ages \[0, 2, 1\]"),
        ({"stages": [*STAGES, Stage(4, plain)]}, r"begin at the ages \[0, 1, 2, 4\]"),
        ({"stages": STAGES[:2]}, r"^The last stage of readings is protected from deletion, which follows it$"),
        (
            {"kept": 0, "stages": [Stage(0, plain)]},
            r"^Of readings at least 1 table is kept and 1 is ahead, not 0 ",
        ),
        ({"ahead": 0}, r"not 3 and 0$"),
        (
            {"stages": [Stage(0, TableOptions(provisioned=Throughput(0, 1)))]},
            r"^The table readings from the age 0 on has a throughput whose read is 0",
        ),
    ]:
        with pytest.raises(ModelError, match=message):
            periods(**changed)
    with pytest.raises(ModelError, match=r"^An index of indexed has a throughput of its own, beside the stages'"):
        Periods(indexed, every="month", stages=[Stage(0, plain)], since=MAY, kept=1)

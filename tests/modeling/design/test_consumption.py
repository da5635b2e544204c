"""Capacity units of a plan are those that the database charges."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.modeling.design.ordering import (
    Customer,
    Order,
    Status,
    all_orders,
    customer,
    customer_now,
    first_of_status,
    how_many,
    large_orders,
    last_orders,
    of_day,
    of_size,
    of_status,
    orders,
    orders_by_three,
    orders_now,
    planned,
    shard_of_status,
    shop,
    some_orders,
    with_orders,
)
from torusdb import Database
from torusdb.modeling import Attr, BatchGet, Count, Entity, Get, Key, Query, Store, Table, attr, pattern, ttl
from torusdb.modeling.design import Design, Rate, Volume, Workload, lint, plan
from torusdb.modeling.design.sizes import item_bytes
from torusdb.operations.capacity import write_units


class Meter:
    """A client that asks what each request costs, and adds it up."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.table = 0.0
        self.indexes: dict[str, float] = {}

    def __getattr__(self, method: str) -> Any:
        call = getattr(self.client, method)
        if method in {"get_waiter", "create_table", "update_time_to_live"}:
            return call

        def metered(**parameters: Any) -> Any:
            answer = call(**parameters, ReturnConsumedCapacity="INDEXES")
            consumed = answer["ConsumedCapacity"]
            for each in consumed if isinstance(consumed, list) else [consumed]:
                self._add(each)
            return answer

        return metered

    @property
    def total(self) -> float:
        return self.table + sum(self.indexes.values())

    def _add(self, consumed: dict[str, Any]) -> None:
        self.table += consumed["Table"]["CapacityUnits"]
        for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            for name, units in consumed.get(member, {}).items():
                self.indexes[name] = self.indexes.get(name, 0.0) + units["CapacityUnits"]


@pytest.fixture
def meter(db: Database) -> Meter:
    return Meter(db.client())


@pytest.fixture
def store(meter: Meter) -> Store:
    made = Store(shop, meter)
    made.create_table()
    return made


def read_units_of(pattern_: Any, items: Any, *volumes: Volume) -> float:
    made = planned(*volumes, Rate(pattern_, per_second=10, items=items))
    (load,) = [each for each in made.patterns if each.access.pattern is pattern_]
    assert load.units_each is not None
    assert load.units_per_second == 10 * load.units_each == made.read_units
    return load.units_each


TEXTS = [0, 300, 700, 3000, 9000]
"""Lengths of a text of each item: several share a unit, or one has many."""


@pytest.mark.parametrize("length", TEXTS)
def test_reads_cost_what_the_plan_says(store: Store, meter: Meter, length: int) -> None:
    stored = [Order(customer="1", number=number, text="x" * length) for number in range(20)]
    store.put(Customer(id="1", text="x" * length))
    for each in stored:
        store.put(each)
    volumes = (
        Volume(Customer, items=1, sample=Customer(id="1", text="x" * length)),
        Volume(Order, items=20, sample=stored[8]),
    )
    used: list[tuple[Any, Any]] = [
        (customer, 1),
        (customer_now, 1),
        (some_orders, 7),
        (orders, 20),
        (orders_now, 20),
        (last_orders, 5),
        (orders_by_three, 20),
        (with_orders, {Customer: 1, Order: 20}),
        (of_day, 20),
        (of_size, 20),
        (how_many, 20),
        (all_orders, 20),
    ]
    for used_pattern, items in used:
        before = meter.total
        result = store.run(used_pattern())
        if not isinstance(used_pattern(), Get | BatchGet | Count):
            result.all()
        assert meter.total - before == read_units_of(used_pattern, items, *volumes), used_pattern.name


@pytest.mark.parametrize("length", TEXTS)
def test_each_request_of_a_sharded_query_is_rounded_up(store: Store, meter: Meter, length: int) -> None:
    """With as many orders in each shard, as the plan takes it."""
    by_shard: dict[int, list[Order]] = {0: [], 1: [], 2: [], 3: []}
    for number in range(1000, 2000):
        by_shard[Order.by_status.shard_of(number)].append(Order(customer="1", number=number, text="x" * length))
    assert min(map(len, by_shard.values())) >= 6
    for shard in by_shard.values():
        for each in shard[:6]:
            store.put(each)
    volume = Volume(Order, items=24, sample=by_shard[0][0])
    for used, items in ((of_status, 24), (first_of_status, 2)):
        before = meter.total
        store.run(used()).all()
        assert meter.total - before == read_units_of(used, items, volume), used.name


def test_a_query_that_knows_its_shard_reads_one(store: Store, meter: Meter) -> None:
    store.put(Order(customer="1", number=3, text="x" * 5000))
    before = meter.total
    assert len(store.run(shard_of_status()).all()) == 1
    volume = Volume(Order, items=1, sample=Order(customer="1", number=3, text="x" * 5000))
    assert meter.total - before == read_units_of(shard_of_status, 1, volume) == 1.0


def test_what_has_expired_is_hidden_by_a_filter_and_costs_what_it_reads(db: Database) -> None:
    """A limit then is not sent, since it would count what is hidden: the whole partition is read."""
    sessions = Table("sessions", partition_key="pk", sort_key="sk")

    class Session(Entity, table=sessions):
        key = Key("USER#{user}", "{id}")
        user: Attr[str]
        id: Attr[str]
        ends: Attr[datetime] = ttl(hide_expired=True)
        text: Attr[str] = attr(default="x" * 2000)

    @pattern("The first session of a user")
    def first_session() -> Query[Session]:
        return Session.key.query(Session.user == "1").limit(1)

    meter = Meter(db.client())
    store = Store(sessions, meter)
    store.create_table()
    ends = datetime(2999, 1, 1, tzinfo=UTC)
    for number in range(9):
        store.put(Session(user="1", id=str(number), ends=ends))
    before = meter.total
    assert len(store.run(first_session()).all()) == 1
    volume = Volume(Session, items=9, sample=Session(user="1", id="1", ends=ends))
    made = plan(Design("sessions", [sessions], Workload(volume, Rate(first_session, per_second=1, items=9))))
    assert meter.total - before == made.read_units
    assert [each.subject for each in lint(made.design) if each.rule == "limits-behind-filters"] == ["first_session"]


def test_a_filter_costs_what_it_reads(store: Store, meter: Meter) -> None:
    for number in range(40):
        status = Status.OPEN if number % 2 else Status.SENT
        store.put(Order(customer="1", number=number, status=status, text="x" * 700))
    before = meter.total
    assert len(store.run(large_orders()).all()) == 20
    sample = Order(customer="1", number=11, text="x" * 700)
    assert meter.total - before == read_units_of(large_orders, 20, Volume(Order, items=40, sample=sample))


def test_pages_are_rounded_up_one_by_one(store: Store, meter: Meter) -> None:
    """Seven times 312 KB: a page ends with the item that takes it over 1 MB."""
    sample = Order(customer="1", number=9, text="x" * 312_000)
    for number in range(1, 8):
        store.put(Order(customer="1", number=number, text="x" * 312_000))
    before = meter.total
    assert len(store.run(orders()).all()) == 7
    assert meter.total - before == read_units_of(orders, 7, Volume(Order, items=7, sample=sample))


def write_units_of(volume: Volume) -> dict[str, float]:
    made = planned(volume)
    (load,) = [each for each in made.entities if each.model.kind is volume.entity]
    return {repr(key): units for key, units in load.units_each.items()}


@pytest.mark.parametrize("length", TEXTS)
def test_writes_cost_what_the_plan_says(store: Store, meter: Meter, length: int) -> None:
    order = Order(customer="1", number=11, text="x" * length)
    store.put(order)
    units = write_units_of(Volume(Order, items=1, sample=order, writes_per_second=1))
    assert units == {
        "Order.key": meter.table,
        "Order.by_status": meter.indexes["by_status"],
        "Order.by_day": meter.indexes["by_day"],
        "Order.by_size": meter.indexes["by_size"],
    }
    assert sum(units.values()) == meter.total


@pytest.mark.parametrize("length", TEXTS)
def test_a_move_in_an_index_costs_two_writes_and_a_view_unchanged_none(store: Store, meter: Meter, length: int) -> None:
    order = Order(customer="1", number=11, text="x" * length)
    store.put(order)
    before = dict(meter.indexes)
    store.update(order, Order.status.set(Status.SENT))
    writes = {Order.by_status: 2, Order.by_day: 0, Order.by_size: 1}
    units = write_units_of(Volume(Order, items=1, sample=order, writes_per_second=1, index_writes=writes))
    assert {name: meter.indexes[name] - before[name] for name in before} == {
        "by_status": units["Order.by_status"],
        "by_day": units["Order.by_day"],
        "by_size": units["Order.by_size"],
    }


def test_what_is_not_in_an_index_costs_nothing_there(store: Store, meter: Meter) -> None:
    order = Order(customer="1", number=11, day=None)
    store.put(order)
    units = write_units_of(Volume(Order, items=1, sample=order, writes_per_second=1, in_index={Order.by_day: 0}))
    assert units["Order.by_day"] == 0 == meter.indexes.get("by_day", 0)
    assert sum(units.values()) == meter.total


@pytest.mark.parametrize("length", TEXTS)
def test_transactions_cost_the_table_twice(store: Store, meter: Meter, length: int) -> None:
    order = Order(customer="1", number=11, text="x" * length)
    with store.transaction() as transaction:
        transaction.put(order)
    units = write_units_of(Volume(Order, items=1, sample=order, writes_per_second=1, in_transactions=1))
    assert units["Order.key"] == meter.table == 2 * write_units(item_bytes(Order.key.model.encode(order)))
    assert sum(units.values()) == meter.total


def test_reads_of_transactions_cost_twice_a_consistent_read() -> None:
    volume = Volume(Customer, items=1, item_bytes=5000)

    def units(part: float) -> float | None:
        rate = Rate(customer, per_second=1, in_transactions=part)
        return planned(volume, rate).patterns[0].units_each

    assert [units(0), units(0.5), units(1)] == [1, 2.5, 4]

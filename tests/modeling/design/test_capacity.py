"""Capacity units of the plan are those that the database charges; partitions and shards are by the formulas."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torusdb import Database
from torusdb.model.values import item_size, normalise_item
from torusdb.modeling import (
    Attr,
    BatchGet,
    Count,
    Entity,
    Get,
    GlobalIndex,
    Key,
    LocalIndex,
    ModelError,
    Query,
    Ref,
    Scan,
    Store,
    Table,
    attr,
    collection,
    pattern,
)
from torusdb.modeling.design import Design, Rate, Volume, Workload, plan
from torusdb.modeling.design.capacity import Plan, grown
from torusdb.modeling.design.sizes import item_bytes
from torusdb.modeling.design.units import (
    partitions,
    range_read_units,
    shards_for_reads,
    shards_for_writes,
)
from torusdb.operations.capacity import read_units, write_units


class Status(Enum):
    OPEN = "open"
    SENT = "sent"


by_status = GlobalIndex("by_status", partition_key="gsi1pk", sort_key="gsi1sk")
by_day = GlobalIndex("by_day", partition_key="gsi2pk", sort_key="gsi2sk", include=["number"])
by_size = LocalIndex("by_size", sort_key="lsi1sk")
shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[by_status, by_day, by_size])


class Customer(Entity, table=shop):
    key = Key("CUSTOMER#{id}", "A")
    id: Attr[str]
    text: Attr[str] = attr(default="")


class Order(Entity, table=shop):
    key = Key("CUSTOMER#{customer}", "ORDER#{number:08}")
    by_status = Key("ORDERS#{status}", "{number:08}", index=by_status, shards=4, shard_by="number")
    by_day = Key("DAY#{day}", "{number:08}", index=by_day)
    by_size = Key(sort="{size:08}", index=by_size)
    customer: Attr[str]
    number: Attr[int]
    status: Attr[Status] = attr(default=Status.OPEN)
    day: Attr[str | None] = attr(default="MONDAY")
    size: Attr[int] = attr(default=7)
    text: Attr[str] = attr(default="")


@pattern("A customer")
def customer() -> Get[Customer]:
    return Get(Customer, id="1")


@pattern("A customer, as just written")
def customer_now() -> Get[Customer]:
    return Get(Customer, id="1").consistent()


@pattern("Orders by their keys")
def some_orders() -> BatchGet[Order]:
    return BatchGet([Ref(Order, customer="1", number=number) for number in range(7)])


@pattern("Orders of a customer")
def orders() -> Query[Order]:
    return Order.key.query(Order.customer == "1")


@pattern("Orders of a customer, as just written")
def orders_now() -> Query[Order]:
    return Order.key.query(Order.customer == "1").consistent()


@pattern("The last orders of a customer")
def last_orders() -> Query[Order]:
    return Order.key.query(Order.customer == "1").newest_first().limit(5)


@pattern("Orders of a customer, three at a time")
def orders_by_three() -> Query[Order]:
    return Order.key.query(Order.customer == "1").page_size(3)


@pattern("A customer with orders")
def with_orders() -> Query[Customer | Order]:
    return collection(Customer.key, Order.key).query(Customer.id == "1")


@pattern("Large orders of a customer", filter_keeps=0.5)
def large_orders() -> Query[Order]:
    return Order.key.query(Order.customer == "1").filter(Order.status == Status.OPEN)


@pattern("Orders of a status")
def of_status() -> Query[Order]:
    return Order.by_status.query(Order.status == Status.OPEN)


@pattern("The first orders of a status")
def first_of_status() -> Query[Order]:
    return Order.by_status.query(Order.status == Status.OPEN).limit(2)


@pattern("An order's shard of a status")
def shard_of_status() -> Query[Order]:
    return Order.by_status.query(Order.status == Status.OPEN, Order.number == 3)


@pattern("Numbers of a day")
def of_day() -> Query[Any]:
    return Order.by_day.query(Order.day == "MONDAY").only(Order.number)  # type: ignore[return-value]


@pattern("Orders of a customer by size")
def of_size() -> Query[Order]:
    return Order.by_size.query(Order.customer == "1")


@pattern("How many orders a customer has")
def how_many() -> Count[Order]:
    return Order.key.query(Order.customer == "1").count()


@pattern("All orders", allow_scan=True)
def all_orders() -> Scan[Order]:
    return Scan(Order)


class Meter:
    """A client that asks what each request costs, and adds it up."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.table = 0.0
        self.indexes: dict[str, float] = {}

    def __getattr__(self, method: str) -> Any:
        call = getattr(self.client, method)
        if method in {"get_waiter", "create_table"}:
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


def planned(*expectations: Any, **options: Any) -> Plan:
    return plan(Design("shop", [shop], Workload(*expectations, **options)))


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


def test_a_filter_costs_what_it_reads(store: Store, meter: Meter) -> None:
    for number in range(40):
        status = Status.OPEN if number % 2 else Status.SENT
        store.put(Order(customer="1", number=number, status=status, text="x" * 700))
    before = meter.total
    assert len(store.run(large_orders()).all()) == 20
    sample = Order(customer="1", number=11, text="x" * 700)
    assert meter.total - before == read_units_of(large_orders, 20, Volume(Order, items=40, sample=sample))


def test_pages_are_rounded_up_one_by_one(store: Store, meter: Meter) -> None:
    """Seven times 300 KB: a page ends with the item that takes it over 1 MB."""
    sample = Order(customer="1", number=9, text="x" * 300_000)
    for number in range(1, 8):
        store.put(Order(customer="1", number=number, text="x" * 300_000))
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


# -- sizes and formulas

NUMBERS = st.integers(-(10**30), 10**30).map(str) | st.decimals(
    allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9
).map(str)
SCALARS = st.one_of(
    st.builds(lambda text: {"S": text}, st.text()),
    st.builds(lambda text: {"N": text}, NUMBERS),
    st.builds(lambda data: {"B": data}, st.binary()),
    st.builds(lambda flag: {"BOOL": flag}, st.booleans()),
    st.just({"NULL": True}),
    st.builds(lambda texts: {"SS": texts}, st.lists(st.text(), min_size=1, unique=True)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda elements: {"L": elements}, st.lists(inner, max_size=3)),
        st.builds(lambda members: {"M": members}, st.dictionaries(st.text(min_size=1), inner, max_size=3)),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1), VALUES, min_size=1, max_size=5))
def test_items_are_measured_as_the_database_measures_them(item: dict[str, Any]) -> None:
    measured = item_bytes(item)
    assert measured == normalise_item(item) == item_size(item)


@given(st.integers(0, 10**6), st.booleans())
def test_units_of_one_page_are_those_of_the_database(size: int, consistent: bool) -> None:
    assert range_read_units(1, size, consistent=consistent) == read_units(size, consistent)


@pytest.mark.parametrize(
    ("reads", "writes", "gigabytes", "count"),
    [
        (0, 0, 0, 1),
        (3000, 0, 0, 1),
        (3001, 0, 0, 2),
        (1500, 500, 0, 1),
        (3000, 1000, 0, 2),
        (5000, 500, 0, 3),
        (100, 100, 10, 1),
        (100, 100, 11, 2),
        (100, 100, 95, 10),
        (24_000, 2000, 45, 10),
    ],
)
def test_partitions_are_by_the_greater_of_load_and_size(
    reads: float, writes: float, gigabytes: float, count: int
) -> None:
    assert partitions(reads, writes, gigabytes * 10**9) == count


def test_shards_of_the_known_example() -> None:
    """One unit reads 16 items of 250 bytes, one partition 48,000 of them a second."""
    assert shards_for_reads(600_000, 250) == 13
    assert shards_for_reads(600_000, 250, consistent=False) == 7
    assert shards_for_reads(48_000, 250) == 1
    assert shards_for_reads(48_001, 250) == 2
    assert shards_for_reads(100, 10**5) == 1
    assert [shards_for_writes(units) for units in (0, 1000, 1001, 12_500)] == [1, 1, 2, 13]


# -- the plan


def shop_plan(**options: Any) -> Plan:
    return planned(
        Volume(Customer, items=10**7, item_bytes=400, writes_per_second=100),
        Volume(Order, items=10**8, item_bytes=600, writes_per_second=1000, hottest_writes=0.1),
        Rate(customer, per_second=5000, hottest_reads=0.5),
        Rate(of_status, per_second=100, items=64),
        **options,
    )


def test_tables_and_global_indexes_have_partitions_of_their_own() -> None:
    table, status, day = shop_plan().resources
    assert (table.name, table.read_units) == ("shop", 2500)
    assert table.write_units == 100 + 1000 + 1000, "with its local index"
    assert table.stored_bytes == 10**7 * 400 + 10**8 * 1200
    assert (table.partitions_by_throughput, table.partitions_by_size, table.partitions) == (3, 13, 13)
    assert table.share.write_units == pytest.approx(2100 / 13)
    assert (status.name, status.read_units, status.write_units) == ("shop.by_status", 100 * 4 * 1.5, 1000)
    assert day.read_units == 0
    assert day.stored_bytes < status.stored_bytes, "it holds a part of each item"


def test_hottest_keys_gather_all_that_shares_them() -> None:
    heats = {repr(heat.key): heat for heat in shop_plan().heats}
    assert heats["Customer.key"].read_units == 2500 * 0.5
    assert heats["Customer.key"].write_units == 2000 * 0.1, "orders and their local index"
    assert heats["Order.by_status"].read_units == 100 * 0.5 * 1.5
    assert heats["Order.by_status"].write_units == 1000 / 2 / 4
    assert heats["Order.by_status"].shards == 1


def test_what_is_missing_is_named_and_in_no_sum() -> None:
    made = planned(Volume(Customer, items=10, item_bytes=400, writes_per_second=2), Rate(orders, per_second=4))
    assert "Rate(customer, per_second=…)" in made.missing
    assert "Volume(Order, items=…, writes_per_second=…)" in made.missing
    assert made.write_units == 2
    assert made.read_units == 4 * 0.5, "its size is that of a sample, which is told"
    scanned = planned(Rate(all_orders, per_second=1))
    assert "Volume(Customer, items=…), since all_orders reads the whole table" in scanned.missing
    assert scanned.read_units == 0


def test_what_is_taken_to_be_so_is_told() -> None:
    made = planned(Volume(Customer, items=10, writes_per_second=2), Rate(customer, per_second=4))
    assert [each.split(":")[0] for each in made.assumed] == [
        "the busiest time lasts all month",
        "an item of Customer has 51 bytes, as a sample made from its types has",
        "reads of customer spread over its keys",
        "writes of Customer spread over its keys",
    ]
    known = planned(
        Volume(Customer, items=10, item_bytes=60, writes_per_second=2, hottest_writes=0.1),
        Rate(customer, per_second=4, hottest_reads=0.1),
        average_load=0.5,
    )
    assert known.assumed == []


def test_entries_and_mixtures_that_are_taken_to_be_so_are_told() -> None:
    def made(**options: Any) -> list[str]:
        volume = Volume(Order, items=10, item_bytes=600, **options)
        return planned(volume, Rate(with_orders, per_second=1, hottest_reads=1), average_load=1).assumed

    entry, mixture = made()
    assert entry.startswith("an entry of Order in by_day has 71 bytes, as a sample made from its types has")
    told, say = mixture.split(": say ")
    assert told == "with_orders gives entities in proportion to their volumes"
    assert say == "Rate(with_orders, items={Customer: …, Order: …})"
    assert made(sample=Order(customer="1", number=1)) == [mixture]


def test_an_entity_of_which_no_sample_can_be_made_needs_its_size() -> None:
    from torusdb.modeling import computed

    things = Table("things", partition_key="pk")

    class Thing(Entity, table=things):
        key = Key("T#{id}")
        id: Attr[str]
        half: Attr[int] = computed(lambda thing: 1 // int(thing.id == ""), needs=["id"])

    @pattern("A thing")
    def thing() -> Get[Thing]:
        return Get(Thing, id="1")

    def made(volume: Volume) -> Plan:
        return plan(Design("things", [things], Workload(volume, Rate(thing, per_second=1))))

    without = made(Volume(Thing, items=1, writes_per_second=1))
    assert without.missing == ["item_bytes of Volume(Thing): no sample of it can be made"]
    assert (without.read_units, without.write_units) == (0, 0)
    assert made(Volume(Thing, items=1, writes_per_second=1, item_bytes=10)).missing == []


def test_growth_scales_load_and_data() -> None:
    made = shop_plan()
    tenth, once, tenfold = grown(made, [0.1, 1, 10])
    assert once.plan.read_units == made.read_units
    assert tenfold.plan.read_units == pytest.approx(10 * made.read_units)
    assert tenfold.plan.write_units == pytest.approx(10 * made.write_units)
    assert tenth.plan.resources[0].stored_bytes == pytest.approx(made.resources[0].stored_bytes / 10)
    assert [point.plan.partitions for point in (tenth, once, tenfold)] == [2 + 1 + 1, 13 + 6 + 1, 124 + 60 + 10]


def test_a_scan_grows_with_data_and_use() -> None:
    made = planned(
        Volume(Customer, items=0), Volume(Order, items=10**4, item_bytes=4096), Rate(all_orders, per_second=1)
    )
    (point,) = grown(made, [10])
    assert point.plan.read_units == pytest.approx(100 * made.read_units)


@pytest.mark.parametrize("options", [{"utilisation": 0}, {"utilisation": 1.5}, {"average_load": -1}])
def test_parts_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(ModelError, match="is a part, above 0 and up to 1"):
        plan(Design("shop", [shop], Workload()), **options)


@pytest.fixture(autouse=True)
def _workloads_are_made_anew() -> Iterator[None]:
    patterns = dict(shop.patterns)
    yield
    assert shop.patterns == patterns


def test_moments_have_a_size() -> None:
    when = Table("when", partition_key="pk")

    class Event(Entity, table=when):
        key = Key("E#{id}")
        id: Attr[str]
        at: Attr[datetime]

    sample = Event(id="1", at=datetime(2024, 1, 1, tzinfo=UTC))
    made = plan(Design("when", [when], Workload(Volume(Event, items=1, sample=sample))))
    assert made.resources[0].stored_bytes == len("pkE#1id1_typeEventat2024-01-01T00:00:00.000000Z")

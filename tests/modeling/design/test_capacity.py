"""The plan: sizes, partitions, shards, hot keys, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.modeling.design.ordering import (
    Customer,
    Order,
    all_orders,
    customer,
    first_of_status,
    of_status,
    orders,
    planned,
    shop,
    with_orders,
)
from torusdb.model.values import item_size, normalise_item
from torusdb.modeling import (
    Attr,
    Entity,
    Get,
    Key,
    ModelError,
    Query,
    Table,
    pattern,
)
from torusdb.modeling.design import Design, Rate, Samples, Volume, Workload, plan
from torusdb.modeling.design.capacity import Plan, grown
from torusdb.modeling.design.facts import Facts, Size
from torusdb.modeling.design.loads import items_read
from torusdb.modeling.design.sizes import item_bytes
from torusdb.modeling.design.units import (
    partitions,
    range_read_units,
    shards_for_reads,
    shards_for_writes,
)
from torusdb.operations.capacity import read_units

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


def test_the_plan_of_the_known_example_says_the_same() -> None:
    """One use a second that reads all of them, as just written."""
    things = Table("things", partition_key="pk", sort_key="sk")

    class Thing(Entity, table=things):
        key = Key("THINGS", "{id}")
        id: Attr[str]

    @pattern("All things")
    def all_things() -> Query[Thing]:
        return Thing.key.query().consistent()

    volume = Volume(Thing, items=600_000, item_bytes=250, writes_per_second=0)
    made = plan(Design("things", [things], Workload(volume, Rate(all_things, per_second=1, items=600_000))))
    (heat,) = made.heats
    assert (heat.shards, heat.even) == (13, False)
    assert heat.read_units == pytest.approx(600_000 * 250 / 4096, rel=0.01), "pages are rounded up"


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
    unsaid = planned(Volume(Order, items=10, item_bytes=400))
    assert "writes_per_second of Volume(Order)" in unsaid.missing
    assert (unsaid.write_units, unsaid.resources[0].stored_bytes) == (0, 10 * 800)
    scanned = planned(Rate(all_orders, per_second=1))
    assert "Volume(Customer, items=…), since all_orders reads the whole table" in scanned.missing
    assert scanned.read_units == 0


def test_what_is_taken_to_be_so_is_told() -> None:
    made = planned(Volume(Customer, items=10, writes_per_second=2), Rate(customer, per_second=4))
    assert [each.split(":")[0] for each in made.assumed] == [
        "the busiest time lasts all month",
        "an item of Customer has 51 bytes, as a sample made from its types has",
        "nothing is written by transactions, which cost twice",
        "reads of customer spread over its keys",
        "writes of Customer spread over its keys",
    ]
    known = planned(
        Volume(Customer, items=10, item_bytes=60, writes_per_second=2, hottest_writes=0.1, in_transactions=0),
        Rate(customer, per_second=4, hottest_reads=0.1),
        average_load=0.5,
    )
    assert known.assumed == []


def test_entries_and_mixtures_that_are_taken_to_be_so_are_told() -> None:
    def made(**options: Any) -> list[str]:
        volume = Volume(Order, items=10, item_bytes=600, **{"in_index": {Order.by_day: 1}, **options})
        return planned(volume, Rate(with_orders, per_second=1, hottest_reads=1), average_load=1).assumed

    entry, mixture = made()
    assert entry.startswith("an entry of Order in by_day has 71 bytes, as a sample made from its types has")
    told, say = mixture.split(": say ")
    assert told == "with_orders gives entities in proportion to their volumes"
    assert say == "Rate(with_orders, items={Customer: …, Order: …})"
    sample = Order(customer="1", number=1)
    assert made(sample=sample) == [mixture]


def test_sparse_indexes_that_are_taken_to_be_full_or_quiet_are_told() -> None:
    def made(**options: Any) -> Plan:
        return planned(Volume(Order, items=10, item_bytes=600, writes_per_second=100, **options))

    def of_day(plan: Plan) -> list[str]:
        return [each for each in plan.assumed if "by_day" in each and "bytes" not in each]

    def writes(plan: Plan) -> float:
        return next(each.write_units for each in plan.resources if each.name == "shop.by_day")

    full = made()
    assert of_day(full) == [
        "all Order entities are in by_day: say Volume(Order, in_index={Order.by_day: …}) if some are not"
    ]
    a_tenth = made(in_index={Order.by_day: 0.1})
    assert of_day(a_tenth) == [
        "as many writes of Order reach by_day as entities are in it: say Volume(Order, index_writes={Order.by_day: …}) "
        "if they come and go"
    ]
    queue = made(in_index={Order.by_day: 0.1}, index_writes={Order.by_day: 2})
    assert of_day(queue) == []
    assert [writes(each) for each in (full, a_tenth, queue)] == [100, 10, 200]


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


def test_items_are_measured_on_the_designs_own_samples() -> None:
    when = Table("when", partition_key="pk")

    class Event(Entity, table=when):
        key = Key("{id}")
        id: Attr[str]
        text: Attr[str]

    def measured(text: str, workload: Workload) -> Size:
        samples = Samples(Event(id="1", text=text), Event(id="2", text=""))
        size = Facts(Design("when", [when], workload, samples)).size(Event.__model__)
        assert size is not None
        return size

    short, long = measured("x", Workload()), measured("x" * 1001, Workload())
    assert (long.bytes - short.bytes, long.source) == (1000, "its sample")
    of_volume = Workload(Volume(Event, items=1, sample=Event(id="1", text="x")))
    assert measured("x" * 1001, of_volume) == short, "the volume's own goes before"


def test_shards_of_a_limited_query_read_their_first_page() -> None:
    """The one that the kit asks for, and not the whole limit."""
    (access,) = [
        replace(each, limit=20)
        for pattern, each in Facts(Design("shop", [shop], Workload())).accesses.items()
        if pattern is first_of_status
    ]
    rate = Rate(first_of_status, per_second=1, items=20)
    assert items_read(access, rate, 15) == 5
    assert items_read(access, rate, 1) == 20

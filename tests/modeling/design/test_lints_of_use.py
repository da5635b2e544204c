"""The rules on patterns, sizes and heat: a design that has the fault, and the same one mended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tests.modeling.design.faults import (
    Status,
    found,
    one,
    shop_and_customers,
    shop_by_status,
    table,
    things_with,
)
from torusdb.modeling import (
    Attr,
    Entity,
    Get,
    Key,
    LocalIndex,
    Query,
    Scan,
    Table,
    attr,
    pattern,
)
from torusdb.modeling.design import Finding, Rate, Volume, Workload

# -- patterns


def test_scans() -> None:
    finding = one("scans", shop_and_customers(lambda customer, order: Scan(order), allow_scan=True).table)
    assert (finding.severity, finding.subject) == ("warning", "read")
    assert found("scans", shop_and_customers().table) == []


def test_a_scan_says_how_much_it_reads() -> None:
    shop = shop_and_customers(lambda customer, order: Scan(order), allow_scan=True)
    customer = shop.table.entities["Customer"].kind
    sizes = Workload(Volume(shop.order, items=1024, item_bytes=1000), Volume(customer, items=1024, item_bytes=24))
    assert "all of the table things (1 MB)" in one("scans", shop.table, workload=sizes).message


def test_wasteful_filters() -> None:
    def filtering(keeps: float) -> Table:
        return shop_and_customers(
            lambda customer, order: order.key.query(order.customer == "1").filter(order.total > 5), filter_keeps=keeps
        ).table

    finding = one("wasteful-filters", filtering(0.1))
    assert "keeps 10% of what it reads, so that it costs 10 times" in finding.message
    assert found("wasteful-filters", filtering(0.9)) == []


def test_filters_for_keys() -> None:
    def filtering(condition: Callable[[Any], Any]) -> Table:
        return shop_and_customers(
            lambda customer, order: order.key.query(order.customer == "1").filter(condition(order)), filter_keeps=0.9
        ).table

    assert (
        "filters by Order.status =="
        in one("filters-for-keys", filtering(lambda order: (order.total > 5) & (order.status == Status.OPEN))).message
    )
    assert found("filters-for-keys", filtering(lambda order: order.total > 5)) == []


def orders_of_a_customer(prefix: str) -> Table:
    shop = table()

    class Customer(Entity, table=shop):
        key = Key("C#{id}", "{name}")
        id: Attr[str]
        name: Attr[UUID]

    class Order(Entity, table=shop):
        key = Key("C#{customer}", prefix + "{number:08}")
        customer: Attr[str]
        number: Attr[int]

    @pattern("Their orders, ten of them")
    def orders(customer: str) -> Query[Order]:
        return Order.key.query(Order.customer == customer).limit(10)

    return shop


def test_mixed_partitions() -> None:
    assert "can hold other entities than Order" in one("mixed-partitions", orders_of_a_customer("")).message
    assert found("mixed-partitions", orders_of_a_customer("ORDER#")) == []


def test_limits_behind_filters() -> None:
    assert "it wants 10 items and filters" in one("limits-behind-filters", orders_of_a_customer("")).message
    assert found("limits-behind-filters", orders_of_a_customer("ORDER#")) == []


def test_long_answers() -> None:
    shop = shop_and_customers()
    large = Workload(Volume(shop.order, items=10**6, item_bytes=1024, largest_collection=5 * 1024))
    assert "has 5.0 MB, which is 5 requests" in one("long-answers", shop.table, workload=large).message
    small = Workload(Volume(shop.order, items=10**6, item_bytes=1024, largest_collection=100))
    assert found("long-answers", shop.table, workload=small) == []


def test_unread_entities() -> None:
    unread = one("unread-entities", shop_and_customers(lambda c, o: Get(c, id="1")).table)
    assert unread.subject == "Order"
    assert unread.message.endswith('say so in the Workload: Accepted("unread-entities", Order, "its reason")')
    assert found("unread-entities", shop_and_customers().table) == []


# -- sizes


@pytest.mark.parametrize("kind", [list[str], set[int], dict[str, int], tuple[int, ...]])
def test_item_growth(kind: Any) -> None:
    things, thing = things_with(kind)
    finding = one("item-growth", things)
    assert (finding.severity, finding.subject) == ("note", "Thing.values")

    def growing(to_bytes: int) -> list[Finding]:
        return found("item-growth", things, workload=Workload(Volume(thing, items=1, largest_item_bytes=to_bytes)))

    assert [each.severity for each in growing(500_000)] == ["error"]
    assert [each.severity for each in growing(300_000)] == ["warning"]
    assert growing(20_000) == []


def test_what_has_an_end_does_not_grow() -> None:
    assert found("item-growth", things_with(tuple[int, int])[0]) == []


def test_collection_growth() -> None:
    local = LocalIndex("lsi1", sort_key="lsi1sk")
    things, thing = things_with(int, local)
    assert "say how many share a partition" in one("collection-growth", things).message

    def of(collection: int) -> list[Finding]:
        volume = Volume(thing, items=10**8, item_bytes=1000, largest_collection=collection)
        return found("collection-growth", things, workload=Workload(volume))

    (error,) = of(11 * 10**6)
    assert (error.severity, "has 11.0 GB" in error.message) == ("error", True)
    assert [each.severity for each in of(6 * 10**6)] == ["warning"]
    assert of(1000) == []
    without, _ = things_with(int)
    assert found("collection-growth", without) == [], "only a local index ends it"


def test_entries_of_local_indexes_count_in_a_collection() -> None:
    local = LocalIndex("lsi1", sort_key="lsi1sk")
    things = table(local)

    class Thing(Entity, table=things):
        key = Key("T#{id}", "{part:08}")
        by_size = Key(sort="{size:08}", index=local)
        id: Attr[str]
        part: Attr[int]
        size: Attr[int]

    volume = Volume(Thing, items=10**8, item_bytes=1000, largest_collection=6 * 10**6)
    assert "has 12.0 GB" in one("collection-growth", things, workload=Workload(volume)).message


def test_long_names() -> None:
    def named(name: str) -> tuple[Table, Any]:
        things = table()

        class Thing(Entity, table=things):
            key = Key("T#{id}", "THING")
            id: Attr[str]
            text: Attr[str] = attr(name=name)

        return things, Thing

    long, thing = named("the_description_of_what_it_is")
    assert one("long-names", long).subject == "Thing.text"
    many = Workload(Volume(thing, items=10**8))
    assert "take 3.1 GB in 100,000,000 items" in one("long-names", long, workload=many).message
    assert found("long-names", long, workload=Workload(Volume(thing, items=10**6))) == []
    assert found("long-names", named("text")[0]) == []


# -- heat


def test_hot_keys() -> None:
    shop = shop_by_status()

    def writing(per_second: float) -> Workload:
        volume = Volume(shop.order, items=10**6, item_bytes=200, writes_per_second=per_second)
        return Workload(volume, Rate(shop.of_status, per_second=1, items=10))

    finding = one("hot-keys", shop.table, workload=writing(5000))
    assert (finding.severity, finding.subject) == ("error", "Order.by_status")
    assert "read and 2,500 write units a second" in finding.message
    assert "an index that throttles holds up the table's writes" in finding.message
    assert "spread it with shards=3" in finding.message
    assert one("hot-keys", shop.table, workload=writing(1200)).severity == "warning"
    assert found("hot-keys", shop.table, workload=writing(100)) == []


def test_hot_keys_of_the_table_are_those_that_are_said() -> None:
    shop = shop_by_status()
    hot = Volume(shop.order, items=9, item_bytes=200, writes_per_second=3000, hottest_writes=0.5)
    findings = found("hot-keys", shop.table, workload=Workload(hot))
    assert {each.subject: "1,500 write units" in each.message for each in findings} == {
        "Order.key": True,
        "Order.by_status": True,
    }


def test_needless_shards() -> None:
    def reading(shards: int, writes: float) -> list[Finding]:
        shop = shop_by_status(shards)
        volume = Volume(shop.order, items=9, item_bytes=200, writes_per_second=writes)
        expected = Workload(volume, Rate(shop.of_status, per_second=1, items=10))
        return found("needless-shards", shop.table, workload=expected)

    (finding,) = reading(shards=8, writes=10)
    assert "over 8 shards, of which the expected load needs 1, and each use of of_status" in finding.message
    assert reading(shards=8, writes=6000) == [], "it needs three"
    assert reading(shards=4, writes=10) == []


def test_shards_do_not_help_where_each_request_reads_a_unit() -> None:
    shop = shop_by_status()
    read = Workload(Volume(shop.order, items=9, item_bytes=200), Rate(shop.of_status, per_second=20_000, items=1))
    assert "shards do not help" in one("hot-keys", shop.table, workload=read).message

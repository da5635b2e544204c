"""Each rule of the lints: a design that has the fault, and the same one mended."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest

from torusdb.modeling import (
    Attr,
    Entity,
    Get,
    GlobalIndex,
    Key,
    LocalIndex,
    ModelError,
    Query,
    Scan,
    Table,
    attr,
    collection,
    pattern,
    ttl,
    version,
)
from torusdb.modeling.design import Accepted, Design, Finding, Rate, Volume, Workload, lint
from torusdb.modeling.design.lints import NOTHING_ACCEPTED, RULES
from torusdb.modeling.table import Index
from torusdb.modeling.updates import Place

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "modeling" / "capacity.md"


class Status(Enum):
    OPEN = "open"
    SENT = "sent"


def table(*indexes: Index, name: str = "t") -> Table:
    return Table(name, partition_key="pk", sort_key="sk", indexes=indexes)


def design(*tables: Table, workload: Workload | None = None) -> Design:
    return Design("design", list(tables), workload or Workload())


def found(rule: str, *tables: Table, workload: Workload | None = None) -> list[Finding]:
    return [each for each in lint(design(*tables, workload=workload)) if each.rule == rule]


def one(rule: str, *tables: Table, workload: Workload | None = None) -> Finding:
    (finding,) = found(rule, *tables, workload=workload)
    return finding


def gsi(name: str = "gsi1", **options: Any) -> GlobalIndex:
    return GlobalIndex(name, partition_key=f"{name}pk", sort_key=f"{name}sk", **options)


# -- keys


@dataclass
class Shop:
    table: Table
    order: Any
    of_status: Any
    index: GlobalIndex


def shop_by_status(shards: int = 1) -> Shop:
    """Orders that an index finds by their status."""
    index = gsi()
    shop = table(index)
    sharding: dict[str, Any] = {"shards": shards, "shard_by": "number"} if shards > 1 else {}

    class Order(Entity, table=shop):
        key = Key("ORDER#{number}", "ORDER")
        by_status = Key("ORDERS#{status}", "{placed}", index=index, **sharding)
        number: Attr[int]
        status: Attr[Status]
        placed: Attr[datetime]

    @pattern("Orders of a status")
    def of_status(status: Status) -> Query[Order]:
        return Order.by_status.query(Order.status == status).limit(10)

    return Shop(shop, Order, of_status, index)


def test_low_cardinality() -> None:
    shop = shop_by_status()
    finding = one("low-cardinality", shop.table)
    assert (finding.severity, finding.subject) == ("warning", "Order.by_status")
    assert "share 2 partition keys at most ('ORDERS#{status}')" in finding.message
    volume = Volume(shop.order, items=1000, item_bytes=200, writes_per_second=5)
    judged = Workload(volume, Rate(shop.of_status, per_second=20, items=10))
    assert found("low-cardinality", shop.table, workload=judged) == [], "5 writes a second are no matter"
    assert found("low-cardinality", shop.table, workload=Workload(volume)), "no rate says how often it is read"


@pytest.mark.parametrize(("kind", "spread"), [(Literal["a", "b", "c"], 3), (Status, 2)])
def test_what_partition_keys_can_be_is_counted(kind: Any, spread: int) -> None:
    things = table()

    class Thing(Entity, table=things):
        key = Key("{kind}", "{id}")
        kind: Attr[kind]
        id: Attr[str]

    assert f"share {spread} partition keys" in one("low-cardinality", things).message


def test_a_constant_partition_key_is_one() -> None:
    things = table()

    class Thing(Entity, table=things):
        key = Key("THINGS", "{id}")
        id: Attr[str]

    assert "share one partition key ('THINGS')" in one("low-cardinality", things).message


def test_shards_count_as_partition_keys() -> None:
    assert "share 16 partition keys" in one("low-cardinality", shop_by_status(shards=8).table).message


def events(**sharding: Any) -> tuple[Table, Any]:
    log = table()

    class Event(Entity, table=log):
        key = Key("DAY#{day}", "{id}", **sharding)
        day: Attr[date]
        id: Attr[str]

    return log, Event


def test_date_partitions() -> None:
    log, event = events()
    assert "grows by date only" in one("date-partitions", log).message
    given = Workload(Volume(event, items=9, writes_per_second=9, hottest_writes=1.0))
    assert found("date-partitions", log, workload=given) == []
    assert found("date-partitions", events(shards=4, shard_by="id")[0]) == []


def test_a_date_beside_another_field_is_no_series() -> None:
    log = table()

    class Event(Entity, table=log):
        key = Key("DEVICE#{device}#{day}", "{id}")
        device: Attr[str]
        day: Attr[date]
        id: Attr[str]

    assert found("date-partitions", log) == []


def test_texts_before_separators() -> None:
    def with_id(kind: Any) -> Table:
        things = table()

        class Thing(Entity, table=things):
            key = Key("T#{owner}#{number:04}", "THING")
            owner: Attr[kind]
            number: Attr[int]

        return things

    finding = one("texts-before-separators", with_id(str))
    assert (finding.severity, finding.subject) == ("note", "Thing.key")
    assert "{owner} is free text before '#' in 'T#{owner}#{number:04}'" in finding.message
    assert found("texts-before-separators", with_id(UUID)) == []


def test_confusable_keys() -> None:
    def with_prefix(prefix: str) -> Table:
        things = table()

        class Folder(Entity, table=things):
            key = Key("F#{path}", "X")
            path: Attr[str]

        class File(Entity, table=things):
            key = Key(prefix + "#{folder}#{name}", "X")
            folder: Attr[str]
            name: Attr[str]

        return things

    finding = one("confusable-keys", with_prefix("F"))
    assert "can be the same key as Folder.key ('F#{path}', 'X')" in finding.message
    assert finding.subject == "File.key"
    assert found("confusable-keys", with_prefix("G")) == []


def test_changing_keys() -> None:
    def indexed_by(field: str) -> Table:
        index = gsi()
        things = table(index)

        class Thing(Entity, table=things):
            key = Key("T#{id}", "THING")
            by = Key("T#{id}", f"{{{field}:08}}" if field == "number" else f"{{{field}}}", index=index)
            id: Attr[str]
            number: Attr[int] = version()
            expires: Attr[datetime] = ttl()
            made: Attr[datetime]

        return things

    assert (
        "{number} is a version, and every write moves its entry" in one("changing-keys", indexed_by("number")).message
    )
    assert "{expires} is a time to live" in one("changing-keys", indexed_by("expires")).message
    assert found("changing-keys", indexed_by("made")) == []


def test_one_entity_tables() -> None:
    def alone(name: str) -> Table:
        made = table(name=name)

        class Thing(Entity, table=made):
            key = Key("T#{id}", "THING")
            id: Attr[str]

        return made

    findings = found("one-entity-tables", alone("a"), alone("b"))
    assert [each.subject for each in findings] == ["a", "b"]
    assert found("one-entity-tables", alone("a"), shop_and_customers().table) == []


# -- indexes


def test_too_many_indexes() -> None:
    assert (
        "21 global indexes, and the service takes 20"
        in one("too-many-indexes", table(*[gsi(f"g{number}") for number in range(21)])).message
    )
    local = [LocalIndex(f"l{number}", sort_key=f"s{number}") for number in range(6)]
    finding = one("too-many-indexes", table(*local))
    assert (finding.severity, "6 local indexes" in finding.message) == ("error", True)
    assert found("too-many-indexes", table(*local[:5], *[gsi(f"g{number}") for number in range(20)])) == []


def test_unused_indexes() -> None:
    index, empty = gsi(), gsi("gsi2")
    things = table(index, empty)

    class Thing(Entity, table=things):
        key = Key("T#{id}", "THING")
        by_name = Key("N#{name}", "{id}", index=index)
        id: Attr[str]
        name: Attr[str]

    unread, without = found("unused-indexes", things)
    assert (unread.severity, unread.subject) == ("warning", "t.gsi1")
    assert "every write of Thing pays for it" in unread.message
    assert (without.severity, without.subject) == ("note", "t.gsi2")

    @pattern("By name")
    def by_name(name: str) -> Query[Thing]:
        return Thing.by_name.query(Thing.name == name)

    assert [each.subject for each in found("unused-indexes", things)] == ["t.gsi2"]


def test_needless_projections() -> None:
    def reading(*, whole: bool) -> Table:
        index = gsi()
        things = table(index)

        class Thing(Entity, table=things):
            key = Key("T#{id}", "THING")
            by_name = Key("N#{name}", "{id}", index=index)
            id: Attr[str]
            name: Attr[str]
            price: Attr[int]
            text: Attr[str]

        @pattern("Prices by name")
        def prices(name: str) -> Query[Any]:
            query = Thing.by_name.query(Thing.name == name)
            return query if whole else query.only(Thing.price)  # type: ignore[return-value]

        return things

    assert "include=('price',)" in one("needless-projections", reading(whole=False)).message
    assert found("needless-projections", reading(whole=True)) == []


def test_moving_entries() -> None:
    shop = shop_by_status()

    def writing(index_writes: float) -> Workload:
        writes = {shop.order.by_status: index_writes}
        return Workload(Volume(shop.order, items=9, writes_per_second=5, index_writes=writes))

    finding = one("moving-entries", shop.table, workload=writing(2))
    assert "most of the 5 writes a second of Order move its entry in gsi1" in finding.message
    assert found("moving-entries", shop.table, workload=writing(0.5)) == []


def test_costly_indexes() -> None:
    shop = shop_by_status()

    def reading(per_second: float) -> Workload:
        return Workload(
            Volume(shop.order, items=9, writes_per_second=50), Rate(shop.of_status, per_second=per_second, items=10)
        )

    finding = one("costly-indexes", shop.table, workload=reading(1))
    assert (finding.subject, "50 write units a second to keep, for 0.5 read units" in finding.message) == (
        "t.gsi1",
        True,
    )
    assert found("costly-indexes", shop.table, workload=reading(100)) == []


# -- patterns


def shop_and_customers(reads: Callable[[Any, Any], Any] | None = None, **options: Any) -> Shop:
    """Customers with their orders; `reads` makes a pattern of them."""
    shop = table()

    class Customer(Entity, table=shop):
        key = Key("C#{id}", "PROFILE")
        id: Attr[str]

    class Order(Entity, table=shop):
        key = Key("C#{customer}", "ORDER#{number:08}")
        customer: Attr[str]
        number: Attr[int]
        status: Attr[Status]
        total: Attr[int]

    def both() -> Any:
        return collection(Customer.key, Order.key).query(Customer.id == "1")

    def read() -> Any:
        return both() if reads is None else reads(Customer, Order)

    made = pattern("It", **options)(read)
    return Shop(shop, Order, made, gsi())


def test_scans() -> None:
    finding = one("scans", shop_and_customers(lambda customer, order: Scan(order), allow_scan=True).table)
    assert (finding.severity, finding.subject) == ("warning", "read")
    assert found("scans", shop_and_customers().table) == []


def test_a_scan_says_how_much_it_reads() -> None:
    shop = shop_and_customers(lambda customer, order: Scan(order), allow_scan=True)
    customer = shop.table.entities["Customer"].kind
    sizes = Workload(Volume(shop.order, items=1024, item_bytes=1000), Volume(customer, items=1024, item_bytes=24))
    assert "all of the table t (1 MB)" in one("scans", shop.table, workload=sizes).message


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
    assert one("unread-entities", shop_and_customers(lambda c, o: Get(c, id="1")).table).subject == "Order"
    assert found("unread-entities", shop_and_customers().table) == []


# -- sizes


def things_with(kind: Any, *indexes: Index, **key: Any) -> tuple[Table, Any]:
    things = table(*indexes)

    class Thing(Entity, table=things):
        key = Key("T#{id}", "THING#{part:08}")
        id: Attr[str]
        part: Attr[int]
        values: Attr[kind]

    return things, Thing


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


def test_shards_do_not_help_where_each_request_reads_a_unit() -> None:
    shop = shop_by_status()
    read = Workload(Volume(shop.order, items=9, item_bytes=200), Rate(shop.of_status, per_second=20_000, items=1))
    assert "shards do not help" in one("hot-keys", shop.table, workload=read).message


# -- what is accepted


def test_what_is_accepted_has_its_reason() -> None:
    shop = shop_by_status()
    accepted = Workload(Accepted("low-cardinality", shop.order.by_status, "a dozen orders a day"))
    findings = lint(design(shop.table, workload=accepted))
    assert findings[-1].rule == "low-cardinality"
    assert findings[-1].accepted == "a dozen orders a day"
    assert str(findings[-1]).endswith("[low-cardinality] (accepted: a dozen orders a day)")
    assert [each.rule for each in findings if each.accepted is None and each.rule == "low-cardinality"] == []


def about_entity(shop: Shop) -> object:
    return shop.order


def test_an_entity_a_pattern_an_index_and_an_attribute_can_be_accepted() -> None:
    shop = shop_and_customers(lambda customer, order: Scan(customer), allow_scan=True)
    accepted = Workload(
        Accepted("unread-entities", shop.order, "written for another team"), Accepted("scans", shop.of_status, "small")
    )
    findings = lint(design(shop.table, workload=accepted))
    assert {each.rule for each in findings if each.accepted} == {"unread-entities", "scans"}
    index = gsi()
    accepted = Workload(Accepted("unused-indexes", index, "soon"))
    assert one("unused-indexes", table(index), workload=accepted).accepted == "soon"
    things, thing = things_with(list[str])
    values: Place[Any] = thing.values
    accepted = Workload(Accepted("item-growth", values, "ten at most"))
    assert one("item-growth", things, workload=accepted).accepted == "ten at most"


def test_accepting_what_is_not_found_is_told() -> None:
    shop = shop_and_customers()
    accepted = Workload(Accepted("scans", shop.of_status, "small"))
    finding = one(NOTHING_ACCEPTED, shop.table, workload=accepted)
    assert (finding.severity, finding.subject) == ("note", "read")


def test_only_rules_that_exist_can_be_accepted_and_with_a_reason() -> None:
    shop = shop_and_customers()
    with pytest.raises(ModelError, match="there is no such rule; there are low-cardinality, "):
        lint(design(shop.table, workload=Workload(Accepted("scan", shop.of_status, "small"))))
    with pytest.raises(ModelError, match="has no reason"):
        Accepted("scans", shop.of_status, " ")


def test_the_worst_comes_first() -> None:
    shop = shop_by_status()
    volume = Volume(shop.order, items=10**6, item_bytes=200, writes_per_second=5000)
    severities = [each.severity for each in lint(design(shop.table, workload=Workload(volume)))]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert severities[0] == "error"


def test_each_rule_is_documented_and_tested() -> None:
    guide = GUIDE.read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \|", guide, re.MULTILINE)
    assert [name for name in RULES if name not in rows] == []
    tests = Path(__file__).read_text()
    assert [name for name in RULES if f"def test_{name.replace('-', '_')}(" not in tests] == []

"""The rules on keys and indexes: a design that has the fault, and the same one mended."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

import pytest

from tests.modeling.design.faults import (
    Status,
    found,
    gsi,
    one,
    shop_and_customers,
    shop_by_status,
    table,
)
from torusdb.modeling import (
    Attr,
    Entity,
    Key,
    LocalIndex,
    Query,
    Table,
    pattern,
    ttl,
    version,
)
from torusdb.modeling.design import Rate, Volume, Workload

# -- keys


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
    message = one("low-cardinality", shop_by_status(shards=8).table).message
    assert "share 16 partition keys" in message
    assert message.endswith("or raise the number of its shards")


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

    findings = found("one-entity-tables", alone("one"), alone("two"))
    assert [each.subject for each in findings] == ["one", "two"]
    assert found("one-entity-tables", alone("one"), shop_and_customers().table) == []


# -- indexes


def test_too_many_indexes() -> None:
    assert (
        "21 global indexes, and the service takes 20"
        in one("too-many-indexes", table(*[gsi(f"gsi{number}") for number in range(21)])).message
    )
    local = [LocalIndex(f"lsi{number}", sort_key=f"s{number}") for number in range(6)]
    finding = one("too-many-indexes", table(*local))
    assert (finding.severity, "6 local indexes" in finding.message) == ("error", True)
    assert found("too-many-indexes", table(*local[:5], *[gsi(f"gsi{number}") for number in range(20)])) == []


def test_unused_indexes() -> None:
    index, empty = gsi(), gsi("gsi2")
    things = table(index, empty)

    class Thing(Entity, table=things):
        key = Key("T#{id}", "THING")
        by_name = Key("N#{name}", "{id}", index=index)
        id: Attr[str]
        name: Attr[str]

    unread, without = found("unused-indexes", things)
    assert (unread.severity, unread.subject) == ("warning", "things.gsi1")
    assert "every write of Thing pays for it" in unread.message
    assert (without.severity, without.subject) == ("note", "things.gsi2")

    @pattern("By name")
    def by_name(name: str) -> Query[Thing]:
        return Thing.by_name.query(Thing.name == name)

    assert [each.subject for each in found("unused-indexes", things)] == ["things.gsi2"]


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
        "things.gsi1",
        True,
    )
    assert found("costly-indexes", shop.table, workload=reading(100)) == []

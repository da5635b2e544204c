"""What a store tells of its requests, and how little a limited query of many shards reads."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

from tests.modeling.conftest import Recorder
from tests.modeling.shop import Customer, Order, Product, Status, order, shop
from torusdb.modeling import (
    AsyncStore,
    Attr,
    Call,
    Entity,
    Key,
    Meter,
    Ref,
    Scan,
    Store,
    Table,
)

SHARDS = 15
spread = Table("spread", partition_key="pk", sort_key="sk")


class Reading(Entity, table=spread):
    key = Key("READINGS", "{number:06}", shards=SHARDS, shard_by="number")
    number: Attr[int]
    text: Attr[str]


def test_a_meter_adds_up_what_each_request_used(store: Store, client: Recorder) -> None:
    meter = Meter()
    metered = Store(shop, client, observe=meter)
    metered.put(order(1))
    assert [(call.method, call.items_read, call.capacity_units) for call in meter.calls] == [("put_item", 0, 4.0)]
    assert "ReturnConsumedCapacity" not in meter.calls[0].parameters
    meter.calls.clear()
    metered.put_many(order(number) for number in range(2, 11))
    ref = Ref(Order, customer="1", number=1)
    assert metered.get(Order, customer="1", number=1, consistent=True) == order(1)
    assert metered.get(Order, customer="1", number=99) is None
    assert len(metered.get_many([ref, Ref(Order, customer="1", number=2)])) == 2
    assert metered.transact_get(ref, Ref(Customer, id="none")) == (order(1), None)
    filtered = Order.key.query(Order.customer == "1").filter(Order.total > Decimal(8))
    assert len(metered.run(filtered).all()) == 2
    assert metered.run(Order.key.query(Order.customer == "1").count()) == 10
    assert [(call.method, call.items_read, call.capacity_units) for call in meter.calls] == [
        ("batch_write_item", 0, 36.0),
        ("get_item", 1, 1.0),
        ("get_item", 0, 0.5),
        ("batch_get_item", 2, 1.0),
        ("transact_get_items", 1, 4.0),
        ("query", 10, 0.5),
        ("query", 10, 0.5),
    ]
    assert (meter.items_read, meter.capacity_units) == (24, 43.5)


def test_requests_of_one_that_is_not_observed_ask_for_nothing(store: Store, client: Recorder) -> None:
    store.put(order(1))
    assert all("ReturnConsumedCapacity" not in parameters for _, parameters in client.requests)


def test_asynchronous_stores_are_observed_too() -> None:
    class Client:
        async def get_item(self, **parameters: Any) -> dict[str, Any]:
            assert parameters["ReturnConsumedCapacity"] == "TOTAL"
            return {"ConsumedCapacity": {"CapacityUnits": 0.5}}

    calls: list[Call] = []
    asynchronous = AsyncStore(shop, Client(), observe=calls.append)
    assert asyncio.run(asynchronous.get(Customer, id="1")) is None
    assert [(call.method, call.capacity_units) for call in calls] == [("get_item", 0.5)]


def readings(client: Recorder, count: int, meter: Meter) -> Store:
    made = Store(spread, client)
    made.create_table()
    made.put_many(Reading(number=number, text="x" * 3900) for number in range(count))
    return Store(spread, client, observe=meter)


def test_a_limit_reads_little_more_of_many_shards_than_it_gives(client: Recorder) -> None:
    """Items of 4 KB, half a unit each: twenty of each shard would be 300 items and 150 units."""
    meter = Meter()
    store = readings(client, 600, meter)
    query = Reading.key.query().limit(20)
    for each in (query, query.reverse()):
        meter.calls.clear()
        numbers = [reading.number for reading in store.run(each)]
        assert numbers == (list(range(20)) if each is query else list(range(599, 579, -1)))
        assert meter.items_read <= 95
        assert meter.capacity_units <= 47.5
        assert len(meter.calls) <= SHARDS + 3


def test_what_falls_to_one_shard_is_read_on_in_growing_pages(client: Recorder) -> None:
    """The worst case: all of what the limit takes is in one shard, and the others only have what comes behind it."""
    meter = Meter()
    made = Store(spread, client)
    made.create_table()
    shard_of = Reading.key.shard_of
    mine = [number for number in range(3000) if shard_of(number) == 4][:100]
    others = [number for number in range(5000, 6000) if shard_of(number) != 4]
    made.put_many(Reading(number=number, text="") for number in [*mine, *others])
    store = Store(spread, client, observe=meter)
    results = store.run(Reading.key.query().limit(90))
    assert [reading.number for reading in results] == mine[:90]
    assert [call.parameters["Limit"] for call in meter.calls[:SHARDS]] == [14] * SHARDS
    assert [call.parameters["Limit"] for call in meter.calls[SHARDS:]] == [28, 56]
    following = store.run(Reading.key.query().after(results.cursor))
    assert [reading.number for reading in following] == [*mine[90:], *others]


def test_cursors_are_right_wherever_a_limited_query_of_shards_stops(client: Recorder) -> None:
    store = readings(client, 100, Meter())
    numbers: list[int] = []
    cursor = None
    while True:
        results = store.run(Reading.key.query().limit(7).after(cursor))
        numbers += [reading.number for reading in results]
        cursor = results.cursor
        if cursor is None:
            break
    assert numbers == list(range(100))


def test_a_page_size_holds_for_every_page(client: Recorder) -> None:
    meter = Meter()
    store = readings(client, 100, meter)
    assert len(store.run(Reading.key.query().page_size(2).limit(60)).all()) == 60
    assert {call.parameters["Limit"] for call in meter.calls} == {2}
    meter.calls.clear()
    assert len(store.run(Scan(Reading).segments(4).limit(10)).all()) == 10
    assert meter.calls[0].parameters["Limit"] == 8
    meter.calls.clear()
    filtered = Reading.key.query().filter(Reading.text.begins_with("x")).limit(10)
    assert len(store.run(filtered).all()) == 10
    assert all("Limit" not in call.parameters for call in meter.calls)


def test_versions_can_be_loaded_in_batches(store: Store) -> None:
    """The objects have the version that is stored, so that they can be written on."""
    books = [Product(code=str(number), name="Book", shelf=number) for number in range(30)]
    store.put_many(books, overwrite=True)
    assert {book.revision for book in books} == {1}
    assert store.get(Product, code="7") == books[7]
    store.put(books[7])
    assert books[7].revision == 2
    assert store.run(Order.by_status.query(Order.status == Status.OPEN)).all() == []

"""The ranking follows the orders, however often and in whatever order their records come."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from order_entry.errors import ChangedMeanwhile
from order_entry.model import Customer, Employee, Order, OrderItem, Sales, Status, quarter_of, ranking, table
from order_entry.orders import NEXT, Line, advance_order, cancel_order, place_order
from order_entry.ranking import ORDERS_PER_TRANSACTION_MAX, credit_of, rank
from order_entry.reference import Reference, rows_of
from order_entry.stock import receive_goods
from order_entry.system import System
from tests.examples.order_entry.business import Interrupted, entities
from torusdb.modeling import Ref, Scan, Store

PLACED = datetime(2026, 1, 1, tzinfo=UTC)
QUARTER = "2026-Q1"
Record = dict[str, Any]


def records_of(system: System) -> list[Record]:
    """All that the table's stream has, shard by shard."""
    arn = system.dynamodb.describe_table(TableName=table.name)["Table"]["LatestStreamArn"]
    found: list[Record] = []
    for shard in system.streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        iterator = system.streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while page := system.streams.get_records(ShardIterator=iterator):
            found += page["Records"]
            if not page["Records"] or "NextShardIterator" not in page:
                break
            iterator = page["NextShardIterator"]
    return found


def sell(store: Store, customer: str, quantity: int, placed: datetime = PLACED, number: str | None = None) -> Order:
    return place_order(store, customer, [Line("P1", "W1", quantity)], placed=placed, number=number)


def standings(store: Store, quarter: str = QUARTER) -> list[tuple[str, int, Decimal]]:
    return [(each.employee, each.orders, each.total) for each in store.run(ranking(quarter))]


def business_of_orders(system: System, count: int, seed: int) -> list[Order]:
    """Orders by three representatives' customers in three quarters; some advanced, some cancelled."""
    store, rng = system.store, random.Random(seed)
    receive_goods(store, "W1", "P1", 10_000)
    for customer, representative in (("C1", "E1"), ("C2", "E2"), ("C3", "E3")):
        store.put(
            Customer(
                id=customer,
                name=customer,
                email=f"{customer}@example.com",
                country="FR",
                credit_limit=Decimal(1),
                representative=representative,
            )
        )
    for n in range(count):
        placed = PLACED + timedelta(days=rng.randrange(270))
        order = sell(store, rng.choice(("C1", "C2", "C3")), rng.randint(1, 9), placed, f"N{n}")
        if rng.random() < 0.2:
            cancel_order(store, order.number)
        while rng.random() < 0.4 and (current := store.get(Order, number=order.number)) and current.status in NEXT:
            advance_order(store, order.number, NEXT[current.status])
    return store.run(Scan(Order)).all()


def expected(orders: list[Order], quarter: str) -> list[tuple[str, int, Decimal]]:
    sums: dict[str, tuple[int, Decimal]] = {}
    for order in orders:
        if order.status is not Status.CANCELLED and quarter_of(order.placed) == quarter:
            count, total = sums.get(order.representative, (0, Decimal(0)))
            sums[order.representative] = (count + 1, total + order.total)
    found = [(representative, count, total) for representative, (count, total) in sums.items()]
    return sorted(found, key=lambda each: (each[2], each[0]), reverse=True)


def assert_right(store: Store, orders: list[Order]) -> None:
    for quarter in ("2026-Q1", "2026-Q2", "2026-Q3", "2026-Q4"):
        assert standings(store, quarter) == expected(orders, quarter)


def test_the_consumer_keeps_the_ranking(system: System) -> None:
    consumer = system.ranking_consumer()
    orders = business_of_orders(system, 80, seed=1)
    while consumer.step():
        pass
    assert_right(system.store, orders)
    assert len({each[0] for each in standings(system.store)}) == 3
    consumer.close()


def test_highest_first_and_by_one_query(system: System) -> None:
    store = system.store
    for employee, total in (("E1", "9.50"), ("E2", "100.00"), ("E3", "20.00"), ("E4", "0.05")):
        store.put(Sales(employee=employee, quarter=QUARTER, total=Decimal(total), orders=1))
    assert [each.employee for each in store.run(ranking(QUARTER))] == ["E2", "E3", "E1", "E4"]
    assert [each.employee for each in store.run(ranking(QUARTER).limit(2))] == ["E2", "E3"]


def test_a_record_that_comes_again_counts_once(system: System) -> None:
    orders = business_of_orders(system, 40, seed=2)
    records, handle = records_of(system), rank(system.store)
    for _ in range(3):
        handle("shard", records)
        assert_right(system.store, orders)


@pytest.mark.parametrize("seed", range(5))
def test_records_that_come_again_late_and_out_of_order_come_to_the_same(system: System, seed: int) -> None:
    """More than a stream does: batches of any records, in any order, some of them many times."""
    orders = business_of_orders(system, 25, seed=10 + seed)
    records, handle, rng = records_of(system), rank(system.store), random.Random(seed)
    coming = records * 2 + rng.choices(records, k=len(records))
    rng.shuffle(coming)
    while coming:
        size = rng.randint(1, 30)
        batch, coming = coming[:size], coming[size:]
        handle("shard", batch)
    assert_right(system.store, orders)


def test_an_old_record_does_not_bring_a_cancelled_order_back(system: System) -> None:
    sell(system.store, "C1", 3, number="N1")
    old = records_of(system)
    cancel_order(system.store, "N1")
    handle = rank(system.store)
    handle("shard", records_of(system))
    assert standings(system.store) == []
    handle("another worker that was asleep", old)
    assert standings(system.store) == []


def test_an_order_that_is_deleted_counts_no_more(system: System) -> None:
    sell(system.store, "C1", 3, number="N1")
    sell(system.store, "C1", 2, number="N2")
    system.store.delete(Ref(Order, number="N1"))
    for _ in range(2):
        rank(system.store)("shard", records_of(system))
        assert standings(system.store) == [("E1", 1, Decimal("19.98"))]


def test_more_orders_than_a_transaction_holds(system: System) -> None:
    for n in range(2 * ORDERS_PER_TRANSACTION_MAX + 1):
        receive_goods(system.store, "W1", "P1", 1)
        sell(system.store, "C1", 1, number=f"N{n}")
    rank(system.store)("shard", records_of(system))
    assert standings(system.store) == [("E1", 67, Decimal("9.99") * 67)]


class Stumbling:
    """A client on which every third write fails, before it is done or after."""

    class Broken(Exception):
        pass

    def __init__(self, client: Any, seed: int) -> None:
        self.client, self.random = client, random.Random(seed)

    def __getattr__(self, method: str) -> Any:
        call = getattr(self.client, method)
        if method != "transact_write_items" or self.random.random() > 1 / 3:
            return call

        def broken(**parameters: Any) -> Any:
            if self.random.random() < 0.5:
                call(**parameters)
            raise self.Broken

        return broken


@pytest.mark.parametrize("seed", range(3))
def test_a_consumer_whose_writes_fail_half_way_ends_with_the_same(system: System, seed: int) -> None:
    """An answer that is lost looks like a write that failed: the batch comes again."""
    orders = business_of_orders(system, 40, seed=20 + seed)
    records = records_of(system)
    handle = rank(Store(table, Stumbling(system.dynamodb, seed)))
    failures = 0
    for start in range(0, len(records), 25):
        while True:
            try:
                handle("shard", records[start : start + 25])
                break
            except Stumbling.Broken:
                failures += 1
    assert failures > 0
    assert_right(system.store, orders)


def test_two_workers_with_the_same_records_at_once(system: System) -> None:
    orders = business_of_orders(system, 60, seed=3)
    records = records_of(system)

    def work(_: int) -> None:
        handle = rank(system.store)
        for start in range(0, len(records), 20):
            for _ in range(3):
                try:
                    handle("shard", records[start : start + 20])
                    break
                except ChangedMeanwhile:  # the consumer gives the batch again
                    continue
            else:
                pytest.fail("The others were always faster")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert_right(system.store, orders)


def is_of_an_order(record: Record) -> bool:
    return bool(record["dynamodb"]["Keys"]["sk"]["S"] == "ORDER")


def test_a_worker_that_another_overtakes_begins_again(system: System) -> None:
    """Once with other orders of the same representative, once with the very same change."""
    store, handle = system.store, rank(system.store)
    sell(store, "C1", 1, number="N1")
    sell(store, "C1", 1, number="N2")
    handle("shard", records_of(system))

    def interrupted(between: Callable[[], Any], records: list[Record]) -> None:
        client = Interrupted(system.dynamodb, between)
        rank(Store(table, client))("shard", records)
        assert client.interrupted

    sell(store, "C1", 1, number="N3")
    sell(store, "C1", 1, number="N4")
    orders = {each["dynamodb"]["Keys"]["pk"]["S"]: each for each in records_of(system) if is_of_an_order(each)}
    third, fourth = orders["ORDER#N3"], orders["ORDER#N4"]
    interrupted(lambda: handle("shard", [third]), [fourth])
    assert standings(store) == [("E1", 4, Decimal("39.96"))]

    cancel_order(store, "N1")
    cancelled = records_of(system)
    interrupted(lambda: handle("shard", cancelled), cancelled)
    assert standings(store) == [("E1", 3, Decimal("29.97"))]

    advance_order(store, "N2", Status.PACKED)
    store.delete(Ref(Order, number="N2"))
    records = [each for each in records_of(system) if each["dynamodb"]["Keys"]["pk"]["S"] == "ORDER#N2"]
    packed, deleted = (each for each in records if is_of_an_order(each) and each["eventName"] != "INSERT")
    interrupted(lambda: handle("shard", [packed, deleted]), [packed])
    handle("shard", [deleted])
    assert standings(store) == [("E1", 2, Decimal("19.98"))]


def test_the_ranking_is_that_of_sql(system: System) -> None:
    """After orders that were really placed, beside a database that sums them up."""
    orders = business_of_orders(system, 50, seed=4)
    rank(system.store)("shard", records_of(system))
    reference = Reference()
    reference.load([*entities(), *orders])
    reference.load(system.store.run(Scan(OrderItem)))
    for quarter in ("2026-Q1", "2026-Q2", "2026-Q3"):
        answer = system.store.run(ranking(quarter)).all()
        assert rows_of("ranking", answer) == reference.ask("ranking", quarter=quarter)
    reference.close()


def test_what_is_no_order_is_passed_over(system: System) -> None:
    system.store.delete(Ref(Employee, id="E2"))
    before = len(system.store.run(Scan(Sales)).all())
    rank(system.store)("shard", records_of(system))
    assert len(system.store.run(Scan(Sales)).all()) == before == 0


def test_a_quarter_is_three_months() -> None:
    assert [quarter_of(datetime(2026, month, 1)) for month in (1, 3, 4, 6, 7, 9, 10, 12)] == [
        f"2026-Q{quarter}" for quarter in (1, 1, 2, 2, 3, 3, 4, 4)
    ]


def test_what_an_order_counts_for() -> None:
    order = Order(
        number="N1",
        customer="C1",
        representative="E1",
        placed=PLACED,
        status=Status.CANCELLED,
        total=Decimal(5),
        revision=2,
    )
    credit = credit_of(order)
    assert (credit.representative, credit.quarter, credit.total, credit.counts, credit.revision) == (
        "E1",
        "2026-Q1",
        Decimal(5),
        False,
        2,
    )

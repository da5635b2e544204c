"""Sums kept by a stream: each item counts once, whatever comes twice, late, to two at once, or to one who stops."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from tests.modeling.blocks.orders import (
    Order,
    OrderCredit,
    Sales,
    change,
    expected_sales,
    history,
    market,
    sales,
    sales_in,
)
from tests.modeling.blocks.schedules import Awaited, Running
from tests.modeling.conftest import Recorder
from torusdb import Database
from torusdb.modeling import AsyncStore, Change, Key, ModelError, PlanRefused, Ref, Store, changes
from torusdb.modeling.blocks.tallies import ITEMS_PER_TRANSACTION_MAX, Credit, Tally
from torusdb.streams import Consumer

SEEDS = range(25)


@pytest.fixture
def market_store(client: Recorder) -> Store:
    made = Store(market, client, sleep=lambda _: None)
    made.create_table()
    return made


def order(number: int, seller: str = "a", total: int = 5) -> Order:
    return Order(number=number, seller=seller, total=total)


def batches(random: Random, made: list[Change[Any]]) -> list[list[Change[Any]]]:
    cuts = sorted(random.sample(range(1, len(made)), 3))
    return [made[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(made)], strict=True)]


def test_orders_are_counted_moved_and_taken_off(market_store: Store) -> None:
    assert market_store.run(sales.follow([change(1, 1, order(1)), change(2, 2, order(2, total=7))])) == 2
    assert sales_in(market_store) == {"a": (12, 2)}
    market_store.run(sales.follow([change(3, 2, order(2, "b", 8))]))
    assert sales_in(market_store) == {"a": (5, 1), "b": (8, 1)}
    market_store.run(sales.follow([change(4, 1, None)]))
    assert sales_in(market_store) == {"b": (8, 1)}


def test_of_a_batch_only_the_last_change_of_an_item_is_counted(market_store: Store, client: Recorder) -> None:
    client.requests.clear()
    assert market_store.run(sales.follow([change(2, 1, order(1, total=9)), change(1, 1, order(1, total=5))])) == 1
    assert [method for method, _ in client.requests] == ["batch_get_item", "transact_write_items"]
    assert sales_in(market_store) == {"a": (9, 1)}


def test_what_comes_again_writes_nothing(market_store: Store, client: Recorder) -> None:
    batch = [change(1, 1, order(1)), change(2, 2, order(2))]
    market_store.run(sales.follow(batch))
    client.requests.clear()
    assert market_store.run(sales.follow(batch)) == 0
    assert [method for method, _ in client.requests] == ["batch_get_item"]
    assert sales_in(market_store) == {"a": (10, 2)}


def test_what_is_removed_is_not_made_again_by_what_is_late(market_store: Store) -> None:
    market_store.run(sales.follow([change(2, 1, None)]))
    assert market_store.run(sales.follow([change(1, 1, order(1))])) == 0
    assert sales_in(market_store) == {}
    market_store.run(sales.follow([change(3, 1, order(1, total=4))]))  # it is made again
    assert sales_in(market_store) == {"a": (4, 1)}


@pytest.mark.parametrize("seed", SEEDS)
def test_any_order_and_any_number_of_times(market_store: Store, seed: int) -> None:
    random = Random(seed)
    made = history(random, 20)
    deliveries = [*batches(random, made), *batches(random, made)]
    random.shuffle(deliveries)
    for batch in deliveries:
        market_store.run(sales.follow(batch))
    assert sales_in(market_store) == expected_sales(made)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_workers_at_once_of_which_any_may_die(market_store: Store, seed: int) -> None:
    """Each has the same batches; one that has died at any request is followed by another that begins anew."""
    random = Random(seed)
    made = history(random, 20)
    todo = [batches(random, made) for _ in range(2)]
    running: list[Running | None] = [None, None]
    while any(todo) or any(running):
        worker = random.randrange(2)
        now = running[worker]
        if now is None:
            if todo[worker]:
                running[worker] = Running(market_store, sales.follow(todo[worker][0]))
        elif now.over:
            assert now.error is None
            todo[worker].pop(0)
            running[worker] = None
        elif random.random() < 0.1:
            now.crash(done=random.random() < 0.5)
            running[worker] = None
        else:
            now.advance()
    assert sales_in(market_store) == expected_sales(made)


def test_one_that_was_overtaken_reads_again(market_store: Store) -> None:
    slow = Running(market_store, sales.follow([change(1, 1, order(1)), change(2, 2, order(2))]))
    slow.advance()  # it has read that nothing is counted yet
    market_store.run(sales.follow([change(1, 1, order(1))]))
    assert slow.finish().result == 1
    assert sales_in(market_store) == {"a": (10, 2)}


def test_a_transaction_has_as_many_items_as_it_holds(market_store: Store, client: Recorder) -> None:
    many = [change(number, number, order(number)) for number in range(1, ITEMS_PER_TRANSACTION_MAX + 2)]
    client.requests.clear()
    assert market_store.run(sales.follow(many)) == len(many)
    written = [parameters["TransactItems"] for method, parameters in client.requests if "transact" in method]
    assert [len(items) for items in written] == [ITEMS_PER_TRANSACTION_MAX + 1, 2]
    assert sales_in(market_store) == {"a": (5 * len(many), len(many))}


def test_its_own_records_mean_nothing(market_store: Store, client: Recorder) -> None:
    own = Change("insert", Ref(Sales, group="a"), None, None, False, "1", "1", None)
    client.requests.clear()
    assert market_store.run(sales.follow([own])) == 0
    assert client.requests == []


def test_an_asynchronous_store_does_the_same(market_store: Store, client: Recorder) -> None:
    async def run() -> int:
        return await AsyncStore(market, Awaited(client)).run(sales.follow([change(1, 1, order(1))]))

    assert asyncio.run(run()) == 1
    assert sales_in(market_store) == {"a": (5, 1)}


def test_a_stream_without_images_and_classes_without_a_table_are_refused() -> None:
    with pytest.raises(PlanRefused, match=r"^The change of Ref\(Order, number=1\) does not say what is new: make a"):
        sales.follow([change(1, 1, None)._replace(kind="modify")])

    class Nowhere(Credit):
        key = Key("CREDIT#{item}", "CREDIT")

    with pytest.raises(ModelError, match="Nowhere is in no table"):
        Tally(Order, credit=Nowhere, total=Sales, share=lambda _: None)
    assert OrderCredit.__model__ is not None


def test_a_consumer_whose_handler_fails_after_it_has_counted(market_store: Store, db: Database) -> None:
    """As one that was killed before its checkpoint: the batch comes again, to another worker."""
    market_store.put_many([order(1), order(2), order(3, "b")])
    client = db.client()
    arn = client.update_table(
        TableName="market", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    )["TableDescription"]["LatestStreamArn"]
    market_store.put_many([order(1, total=6), order(2, "b"), order(3, "b", 9)])
    failures = iter([True, False, False])
    seen: list[int] = []

    def handle(_: str, records: Sequence[dict[str, Any]]) -> None:
        seen.append(market_store.run(sales.follow(changes(market, records, unknown="skip"))))
        if next(failures, False):
            raise ConnectionError("the worker is gone")

    consumer = Consumer(
        arn,
        handle,
        dynamodb=client,
        streams=db.client("dynamodbstreams"),
        lease_table="market-sales",
        sleep=lambda _: None,
    )
    while consumer.step():
        pass
    assert seen[:2] == [3, 0]
    assert sales_in(market_store) == {"a": (6, 1), "b": (14, 2)}

"""Queries in a table, against plain lists: ranges, order, limits, cursors, shards, collections."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torusdb
from tests.modeling.conftest import Recorder
from tests.modeling.shop import (
    MIDNIGHT,
    Customer,
    Order,
    Product,
    Status,
    customer_with_orders,
    order,
    orders_by_status,
    shop,
)
from torusdb.modeling import (
    Attr,
    CursorRefused,
    Entity,
    GlobalIndex,
    InvalidValue,
    Key,
    PlanRefused,
    Put,
    Scan,
    Store,
    Table,
    attr,
    pattern,
)

STATUSES = list(Status)
ROUNDS_MAX = 200


def fill(store: Store, count: int) -> list[Order]:
    """Orders of three customers, in all statuses."""
    orders = [
        order(number, customer=str(number % 3), status=STATUSES[number % 2], total=Decimal(number * 37 % 50))
        for number in range(count)
    ]
    shuffled = list(orders)
    random.Random(1).shuffle(shuffled)
    store.put_many(shuffled)
    return orders


def test_a_query_is_one_request_that_says_what_it_reads(store: Store, client: Recorder) -> None:
    orders = fill(store, 20)
    client.requests.clear()
    found = store.run(orders_by_status(Status.OPEN, date(2024, 3, 1), date(2024, 3, 1))).all()
    assert found == [each for each in orders if each.status is Status.OPEN]
    assert client.requests == [
        (
            "query",
            {
                "TableName": "shop",
                "IndexName": "gsi1",
                "KeyConditionExpression": "#n0 = :v0 AND #n1 BETWEEN :v1 AND :v2",
                "ExpressionAttributeNames": {"#n0": "gsi1pk", "#n1": "gsi1sk"},
                "ExpressionAttributeValues": {
                    ":v0": {"S": "ORDERS#open"},
                    ":v1": {"S": "2024-03-01T00:00:00.000000Z"},
                    ":v2": {"S": "2024-03-01T23:59:59.999999Z#\U0010ffff"},
                },
            },
        )
    ]


def test_order_and_direction(store: Store) -> None:
    orders = [each for each in fill(store, 20) if each.customer == "1"]
    of_one = Order.key.query(Order.customer == "1")
    assert store.run(of_one).all() == orders[::-1], "the template is newest first"
    assert store.run(of_one.newest_first()).all() == orders[::-1]
    assert store.run(of_one.reverse()).all() == orders
    assert store.run(of_one.reverse().reverse()).all() == orders[::-1]
    opened = Order.by_status.query(Order.status == Status.OPEN)
    forward = [each for each in fill(store, 20) if each.status is Status.OPEN]
    assert store.run(opened).all() == forward
    assert store.run(opened.newest_first()).all() == forward[::-1]


def test_a_local_index_has_the_tables_partition(store: Store) -> None:
    orders = [each for each in fill(store, 30) if each.customer == "2"]
    query = Order.by_total.query(Order.customer == "2", Order.total >= Decimal(20))
    expected = sorted((each for each in orders if each.total >= 20), key=lambda each: each.total)
    assert [each.total for each in store.run(query.consistent())] == [each.total for each in expected]


def test_limits_pages_and_counts(store: Store, client: Recorder) -> None:
    orders = [each for each in fill(store, 30) if each.customer == "0"][::-1]
    query = Order.key.query(Order.customer == "0")
    client.requests.clear()
    assert store.run(query.page_size(4)).all() == orders
    assert [each["Limit"] for _, each in client.requests] == [4, 4, 4]
    client.requests.clear()
    assert store.run(query.limit(3)).all() == orders[:3]
    assert [each["Limit"] for _, each in client.requests] == [3]
    assert store.run(query.limit(3)).first() == orders[0]
    assert store.run(query.count()) == len(orders)
    assert store.run(query.page_size(3).count()) == len(orders)
    assert (
        store.run(query.filter(Order.total > Decimal(10)).limit(2)).all()
        == [each for each in orders if each.total > 10][:2]
    )
    assert "answers their number" in query.count().explain().reads


def test_results_can_be_taken_one_after_another(store: Store) -> None:
    orders = [each for each in fill(store, 9) if each.customer == "0"][::-1]
    results = store.run(Order.key.query(Order.customer == "0"))
    assert next(results) == orders[0]
    assert results.all() == orders[1:]
    assert results.first() is None


def test_chosen_attributes_come_as_tuples(store: Store, client: Recorder) -> None:
    fill(store, 4)
    store.put(Customer(id="1"))
    numbers = store.run(Order.key.query(Order.customer == "1").only(Order.number, Order.comment).limit(1))
    assert numbers.all() == [(1, None)]
    assert client.requests[-1][1]["ProjectionExpression"] == "#n2, #n3, #n0, #n1"
    book = Product(code="b", name="Book", shelf=3)
    store.put(book)
    assert store.run(Product.by_shelf.query(Product.shelf == 3).only(Product.label)).all() == [("Book (3)",)]
    with pytest.raises(PlanRefused, match=r"^Customer\.id is no attribute of Order$"):
        Order.key.query(Order.customer == "1").only(Customer.id)
    with pytest.raises(PlanRefused, match=r"^only\(\) needs at least one attribute$"):
        Order.key.query(Order.customer == "1").only()
    with pytest.raises(PlanRefused, match=r"^Of several entities no attributes can be chosen$"):
        customer_with_orders("1").only(Customer.id)


QUERIES: list[Callable[[], Any]] = [
    lambda: Order.key.query(Order.customer == "1"),
    lambda: Order.by_status.query(Order.status == Status.PAID).newest_first(),
    Order.all_by_day.query,
    lambda: Order.all_by_day.query().newest_first(),
    lambda: Order.all_by_day.query(Order.placed.between(MIDNIGHT, MIDNIGHT + timedelta(hours=15))),
    lambda: Order.by_status.query(Order.status == Status.OPEN).filter(Order.total > Decimal(20)),
    lambda: Order.by_total.query(Order.customer == "2"),
    lambda: Scan(Order).segments(2),
    lambda: customer_with_orders("1"),
    lambda: Order.key.query(Order.customer == "1").only(Order.number),
]


@pytest.fixture(scope="module")
def filled() -> Any:
    with torusdb.open() as db:
        store = Store(shop, db.client())
        store.create_table()
        store.put(Customer(id="1"))
        fill(store, 40)
        yield store


@settings(max_examples=8)
@given(data=st.data())
@pytest.mark.parametrize("make", QUERIES)
def test_cursors_go_on_where_results_stood(make: Callable[[], Any], data: st.DataObject, filled: Store) -> None:
    """Wherever they stood, in the middle of a page or at its end, and in any number of lanes."""
    query = make()
    everything = filled.run(query).all()
    found: list[Any] = []
    cursor = None
    for _ in range(ROUNDS_MAX):
        step = data.draw(st.integers(1, 15))
        pages = query.after(cursor).page_size(data.draw(st.integers(1, 9)))
        results = filled.run(pages.limit(step) if data.draw(st.booleans()) else pages)
        found += islice(results, step)
        cursor = results.cursor
        if cursor is None:
            break
    assert cursor is None
    assert sorted(map(repr, found)) == sorted(map(repr, everything))
    if not isinstance(query, Scan):
        assert found == everything


def test_a_cursor_is_none_at_the_end_only(filled: Store) -> None:
    query = Order.key.query(Order.customer == "1")
    results = filled.run(query)
    assert results.cursor is not None
    everything = results.all()
    assert results.cursor is None
    some = filled.run(query.limit(3))
    assert some.all() == everything[:3]
    assert filled.run(query.after(some.cursor)).all() == everything[3:]
    assert all(letter.isalnum() or letter in "-_" for letter in some.cursor or "")


def test_another_querys_cursor_is_refused(filled: Store) -> None:
    def cursor_of(query: Any) -> str:
        results = filled.run(query.limit(1))
        results.all()
        assert results.cursor is not None
        return str(results.cursor)

    query = Order.key.query(Order.customer == "1")
    cursor = cursor_of(query)
    others = [
        Order.key.query(Order.customer == "2"),
        query.reverse(),
        query.filter(Order.total > Decimal(1)),
        Order.by_status.query(Order.status == Status.OPEN),
        Order.all_by_day.query(),
        Scan(Order),
    ]
    for other in others:
        with pytest.raises(CursorRefused, match=r"^This cursor is of another query$"):
            filled.run(other.after(cursor))
    for same in (query.limit(7), query.page_size(2), query.consistent(), query.only(Order.number)):
        assert len(filled.run(same.after(cursor).limit(1)).all()) == 1
    for damaged in ("", "x", cursor[:-3], "2" + cursor[1:], cursor[:20], "1" + "A" * 40, "1\u00e9"):
        with pytest.raises(CursorRefused, match=r"^This is not a cursor, or it is damaged$"):
            filled.run(query.after(damaged))


def test_a_sharded_key_is_read_from_all_shards_and_merged(store: Store, client: Recorder) -> None:
    orders = fill(store, 40)
    client.requests.clear()
    query = Order.all_by_day.query()
    by_day = sorted(orders, key=lambda each: (each.placed, each.customer))
    assert store.run(query).all() == by_day
    assert sorted(each["ExpressionAttributeValues"][":v0"]["S"] for _, each in client.requests) == [
        f"ORDERS#{shard}" for shard in range(4)
    ]
    assert store.run(query.newest_first().page_size(3)).all() == by_day[::-1]
    assert store.run(query.count()) == 40
    client.requests.clear()
    assert store.run(Order.all_by_day.query(Order.number == 7)).all() == [
        each for each in by_day if Order.all_by_day.shard_of(each.number) == Order.all_by_day.shard_of(7)
    ]
    assert len(client.requests) == 1
    assert query.explain().requests == 4
    assert "4, in parallel" in str(query.explain())


def test_a_collection_is_one_query_that_gives_several_classes(store: Store, client: Recorder) -> None:
    orders = [each for each in fill(store, 40) if each.customer == "1"]
    ann = Customer(id="1", name="Ann")
    store.put(ann)
    client.requests.clear()
    assert store.run(customer_with_orders("1").reverse().limit(4)).all() == [ann, *orders[:3]]
    assert store.run(customer_with_orders("1")).all() == [*orders[::-1], ann]
    assert len(client.requests) == 2
    assert client.requests[0][1]["ExpressionAttributeValues"] == {
        ":v0": {"S": "CUSTOMER#1"},
        ":v1": {"S": "#ORDER#"},
        ":v2": {"S": "PROFILE"},
    }


def test_consistent_reads_are_refused_of_global_indexes() -> None:
    assert Order.key.query(Order.customer == "1").consistent().requests()[0].parameters["ConsistentRead"] is True
    with pytest.raises(PlanRefused, match=r"^The global index gsi1 has no consistent reads$"):
        Order.by_status.query(Order.status == Status.OPEN).consistent()


@pytest.mark.parametrize("make", [lambda query: query.limit(0), lambda query: query.page_size(-1)])
def test_less_than_one_is_no_limit(make: Callable[[Any], Any]) -> None:
    with pytest.raises(PlanRefused, match="at least 1 is needed"):
        make(Order.key.query(Order.customer == "1"))


def test_a_count_is_of_everything() -> None:
    query = Order.key.query(Order.customer == "1")
    for part in (query.limit(1), query.after("x")):
        with pytest.raises(
            PlanRefused, match=r"^count\(\) is of all that a query has: leave out limit, only and after$"
        ):
            part.count()


def test_a_plan_never_changes() -> None:
    query = Order.key.query(Order.customer == "1")
    before = query.requests()
    query.limit(1).reverse().filter(Order.total > Decimal(1)).only(Order.number)
    query.consistent().page_size(2).after("x")
    assert query.requests() == before


# -- entities that are in each other's way

events_by = GlobalIndex("by_part", partition_key="gpk", sort_key="gsk")
some_by = GlobalIndex("some", partition_key="hpk", include=["size"])
events = Table("events", partition_key="pk", sort_key="sk", indexes=[events_by, some_by])


class Machine(Entity, table=events):
    key = Key("M#{id}", "E#{part}")
    by = Key("ALL", "{part}", index=events_by)
    by_size = Key("SIZE#{size}", index=some_by)
    id: Attr[str]
    part: Attr[str]
    size: Attr[int] = attr(default=1)


class Event(Entity, table=events):
    key = Key("M#{machine}", "E#{part}#AT#{time}")
    by = Key("ALL", "{time}#{part}", index=events_by)
    machine: Attr[str]
    part: Attr[str]
    time: Attr[datetime]


@pytest.fixture
def machines(client: Recorder) -> Store:
    made = Store(events, client)
    made.create_table()
    for part in ("axle", "bolt"):
        made.put(Machine(id="1", part=part))
        made.put_many(Event(machine="1", part=part, time=datetime(2024, 1, day, tzinfo=UTC)) for day in (1, 2, 3))
    return made


def test_others_in_the_same_range_are_left_out(machines: Store, client: Recorder) -> None:
    query = Machine.key.query(Machine.id == "1")
    assert [each.part for each in machines.run(query)] == ["axle", "bolt"]
    assert client.requests[-1][1]["FilterExpression"] == "#n2 = :v2"
    assert [each.part for each in machines.run(query.limit(2).filter(Machine.size >= 1))] == ["axle", "bolt"]
    assert client.requests[-1][1]["FilterExpression"] == "#n2 = :v2 AND #n3 >= :v3"
    assert machines.run(query.count()) == 2
    assert query.explain().filter == "_type is Machine"
    assert machines.run(Event.by.query()).all()[0].machine == "1"


def test_nothing_is_filtered_where_no_other_can_be(machines: Store, client: Recorder) -> None:
    assert len(machines.run(Event.key.query(Event.machine == "1", Event.part == "bolt")).all()) == 3
    assert "FilterExpression" in client.requests[-1][1], "a Machine's part may be 'bolt#AT#once'"
    assert machines.run(Machine.key.query(Machine.id == "1", Machine.part == "bolt")).first() is not None
    assert "FilterExpression" not in client.requests[-1][1]


def test_a_text_that_makes_a_key_look_like_anothers_is_refused() -> None:
    with pytest.raises(InvalidValue, match="would have the key of a Event: a text in it looks like more fields"):
        Put(Machine(id="1", part="a#AT#2024-01-01T00:00:00.000000Z"))
    assert Put(Machine(id="1", part="a#AT#2024")).item["sk"] == {"S": "E#a#AT#2024"}
    event = Event(machine="1", part="a#b", time=datetime(2024, 1, 1, tzinfo=UTC))
    assert Put(event).item["sk"] == {"S": "E#a#b#AT#2024-01-01T00:00:00.000000Z"}


def test_what_an_index_does_not_hold_cannot_be_asked_of_it(machines: Store) -> None:
    query = Machine.by_size.query(Machine.size == 1)
    assert sorted(machines.run(query.only(Machine.size))) == [(1,), (1,)]
    with pytest.raises(PlanRefused, match=r"^The index some does not hold Machine\.id: ask for what it holds, with "):
        query.requests()


def test_key_attributes_are_not_filtered_by() -> None:
    table = Table("plain", partition_key="id", sort_key="at")

    class Reading(Entity, table=table):
        key = Key("{id}", "{at}")
        id: Attr[str]
        at: Attr[date]
        value: Attr[float]

    assert Put(Reading(id="1", at=date(2024, 1, 1), value=1.5)).item == {
        "_type": {"S": "Reading"},
        "id": {"S": "1"},
        "at": {"S": "2024-01-01"},
        "value": {"N": "1.5"},
    }
    query = Reading.key.query(Reading.id == "1")
    with pytest.raises(PlanRefused, match=r"^Reading\.at is a key attribute itself, and cannot be filtered by$"):
        query.filter(Reading.at > date(2024, 1, 1))
    assert query.filter(Reading.value > 1).requests()[0].parameters["FilterExpression"] == "#n1 > :v1"


def test_conditions_are_on_attributes_of_what_is_read(store: Store) -> None:
    refusal = r"^Customer\.orders is no attribute of Order$"
    with pytest.raises(PlanRefused, match=refusal):
        Order.key.query(Order.customer == "1").filter((Order.number > 1) & (Customer.orders > 1))
    with pytest.raises(PlanRefused, match=refusal):
        store.put(order(1), when=Customer.orders > 1)
    with pytest.raises(PlanRefused, match=r"^Customer\.address\.city is no attribute of Order$"):
        store.delete(order(1), when=Customer.address.city == "Bath")
    assert customer_with_orders("1").filter(Customer.orders > 1).requests()


def test_a_collection_meets_what_is_none_of_it(store: Store, client: Recorder) -> None:
    client.put_item(TableName="shop", Item={"pk": {"S": "CUSTOMER#1"}, "sk": {"S": "#ORDER#1"}})
    with pytest.raises(InvalidValue, match=r"^An item has None as its _type, which is none of Customer, Order$"):
        store.run(customer_with_orders("1")).all()


def test_shards_and_what_only_looks_like_them() -> None:
    by_name = GlobalIndex("by_name", partition_key="gpk", sort_key="gsk")
    table = Table("things", partition_key="pk", indexes=[by_name])

    class Sharded(Entity, table=table):
        key = Key("S#{id}")
        by = Key("ALL", "{id}", index=by_name, shards=3, shard_by="id")
        id: Attr[str]

    class Plain(Entity, table=table):
        key = Key("P#{id}")
        by = Key("ALL#{place}", "{id}", index=by_name)
        id: Attr[str]
        place: Attr[str]

    assert Sharded.by.query().mixed
    assert Plain.by.query(Plain.place == "1").mixed
    assert not Plain.by.query(Plain.place == "x#1").mixed


def test_patterns_are_listed_by_their_table() -> None:
    assert shop.patterns == {"customer_with_orders": customer_with_orders, "orders_by_status": orders_by_status}
    assert repr(orders_by_status) == "<pattern orders_by_status: Orders of a status in a range of days>"
    assert orders_by_status.operation == "Query"
    assert orders_by_status.explanation.index_name == "gsi1"
    assert pattern  # declared in shop.py

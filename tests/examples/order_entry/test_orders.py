"""Orders are placed, moved on and cancelled, and goods received: each as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from order_entry.errors import AlreadyThere, Conflict, InvalidInput, NotFound, OrderEntryError, OutOfStock, WrongStatus
from order_entry.model import (
    Customer,
    Order,
    OrderItem,
    Product,
    Status,
    order_with_items,
    orders_by_status,
    orders_of_customer,
    orders_of_representative,
    product_demand_and_supply,
)
from order_entry.orders import LINES_MAX, Line, advance_order, cancel_order, place_order
from order_entry.stock import receive_goods
from tests.examples.order_entry.business import Interrupted, assert_refused, contents, outcomes, quantity, total
from torusdb.modeling import Ref, Store

PLACED = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
DAY = PLACED.date()
THREE_LINES = [Line("P1", "W1", 2), Line("P1", "W2", 1), Line("P2", "W1", 3)]


def test_an_order_is_its_items_and_what_it_takes_from_each_warehouse(store: Store) -> None:
    order = place_order(store, "C1", THREE_LINES, number="N1", placed=PLACED)
    assert order == Order(
        number="N1", customer="C1", representative="E1", placed=PLACED, status=Status.OPEN, total=Decimal("89.97")
    )
    prices = (Decimal("9.99"), Decimal("9.99"), Decimal("20.00"))
    items = [
        OrderItem(order="N1", line=count, unit_price=price, **line._asdict())
        for count, (line, price) in enumerate(zip(THREE_LINES, prices, strict=True), start=1)
    ]
    assert store.run(order_with_items("N1")).all() == [*items, order]
    assert [quantity(store, *place) for place in (("P1", "W1"), ("P1", "W2"), ("P2", "W1"))] == [8, 4, 4]
    assert (total(store, "P1"), total(store, "P2")) == (12, 4)


def test_a_placed_order_is_found_by_each_pattern_of_orders(store: Store) -> None:
    order = place_order(store, "C1", THREE_LINES, placed=PLACED)
    for plan in (
        orders_of_customer("C1", Status.OPEN, DAY, DAY),
        orders_by_status(Status.OPEN, DAY, DAY),
        orders_of_representative("E1", DAY, DAY),
    ):
        assert store.run(plan).all() == [order]
    demand = [each for each in store.run(product_demand_and_supply("P2")) if isinstance(each, OrderItem)]
    assert [(each.order, each.line) for each in demand] == [(order.number, 3)]


def test_numbers_that_are_not_given_are_unique_and_sort_by_time(store: Store) -> None:
    placed = [place_order(store, "C1", [Line("P1", "W1", 1)], placed=PLACED) for _ in range(5)]
    assert len({each.number for each in placed}) == 5
    assert all(each.number.startswith("20260203-040506-") for each in placed)


REFUSED: dict[str, tuple[Callable[[Store], Any], type[OrderEntryError], str]] = {
    "no lines": (lambda store: place_order(store, "C1", []), InvalidInput, "lines: must be 1 to 30, not 0"),
    "too many lines": (
        lambda store: place_order(store, "C1", [Line(f"P{n}", "W1", 1) for n in range(LINES_MAX + 1)]),
        InvalidInput,
        "lines: must be 1 to 30, not 31",
    ),
    "nothing of a product": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", 0)]),
        InvalidInput,
        "quantity: must be a whole number from 1 to 1000000, not 0",
    ),
    "less than nothing": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", -3)]),
        InvalidInput,
        "quantity: must be a whole number from 1 to 1000000, not -3",
    ),
    "a text for a quantity": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", "3")]),  # type: ignore[arg-type]
        InvalidInput,
        "quantity: must be a whole number from 1 to 1000000, not '3'",
    ),
    "a place twice": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", 1), Line("P1", "W1", 2)]),
        InvalidInput,
        "lines: name product P1 in warehouse W1 twice: put them together",
    ),
    "a number that would be another key": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", 1)], number="N#1"),
        InvalidInput,
        "number: must not have a # or control characters in it",
    ),
    "a time without a zone": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", 1)], placed=datetime(2026, 1, 1)),
        InvalidInput,
        "placed: must be a time with a time zone, not datetime.datetime(2026, 1, 1, 0, 0)",
    ),
    "a time that is none": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", 1)], placed=datetime.min.replace(tzinfo=UTC)),
        InvalidInput,
        "placed: must be in the years 1900 to 2999, not 0001-01-01",
    ),
    "more than the ranking can count": (
        lambda store: place_order(store, "C1", [Line("P2", "W1", 500_001)]),
        InvalidInput,
        "lines: come to 10000020, and an order is of 10000000 at most",
    ),
    "no such customer": (
        lambda store: place_order(store, "C9", [Line("P1", "W1", 1)]),
        NotFound,
        "There is no customer C9",
    ),
    "no such product": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", 1), Line("P9", "W1", 1)]),
        NotFound,
        "There is no product P9",
    ),
    "a product that the warehouse does not have": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", 1), Line("P2", "W2", 1)]),
        OutOfStock,
        "Warehouse W2 has 0 of product P2, and 1 are wanted",
    ),
    "more than there is, in the last line": (
        lambda store: place_order(store, "C1", [Line("P1", "W1", 10), Line("P1", "W2", 6)]),
        OutOfStock,
        "Warehouse W2 has 5 of product P1, and 6 are wanted",
    ),
    "no such order to advance": (
        lambda store: advance_order(store, "N9", Status.PACKED),
        NotFound,
        "There is no order N9",
    ),
    "no such order to cancel": (lambda store: cancel_order(store, "N9"), NotFound, "There is no order N9"),
    "goods without a quantity": (
        lambda store: receive_goods(store, "W1", "P1", 0),
        InvalidInput,
        "quantity: must be a whole number from 1 to 1000000, not 0",
    ),
    "goods for no warehouse": (
        lambda store: receive_goods(store, "W9", "P1", 1),
        NotFound,
        "There is no warehouse W9",
    ),
    "goods that nobody knows": (
        lambda store: receive_goods(store, "W1", "P9", 1),
        NotFound,
        "There is no product P9",
    ),
}


@pytest.mark.parametrize(("request_", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_told_and_changes_nothing(
    store: Store, request_: Callable[[Store], Any], kind: type[OrderEntryError], message: str
) -> None:
    assert_refused(store, request_, kind, message)


def test_an_order_number_is_taken_once(store: Store) -> None:
    place_order(store, "C1", [Line("P1", "W1", 1)], number="N1")
    before = contents(store)
    with pytest.raises(AlreadyThere, match="Order N1 is there already"):
        place_order(store, "C2", [Line("P2", "W1", 1)], number="N1")
    assert contents(store) == before


def test_an_order_of_as_many_lines_as_it_may_have_is_placed(store: Store) -> None:
    for n in range(LINES_MAX):
        store.put(Product(id=f"Q{n}", name="Tin Gear", category="Tools", list_price=Decimal("0.01")))
        receive_goods(store, "W1", f"Q{n}", 1)
    order = place_order(store, "C1", [Line(f"Q{n}", "W1", 1) for n in range(LINES_MAX)])
    assert order.total == Decimal("0.30")


def test_an_order_goes_its_way_one_step_at_a_time_and_is_found_by_where_it_is(store: Store) -> None:
    order = place_order(store, "C1", [Line("P1", "W1", 1)], number="N1", placed=PLACED)
    with pytest.raises(WrongStatus, match="Order N1 is OPEN, and becomes PACKED next"):
        advance_order(store, "N1", Status.SHIPPED)
    for status in (Status.PACKED, Status.SHIPPED, Status.DELIVERED):
        order = advance_order(store, "N1", status)
        assert order.status is status
        for each in Status:
            expected = [order] if each is status else []
            assert store.run(orders_by_status(each, DAY, DAY)).all() == expected
            assert store.run(orders_of_customer("C1", each, DAY, DAY)).all() == expected
    assert order.revision == 4
    before = contents(store)
    with pytest.raises(WrongStatus, match="Order N1 is DELIVERED, which is the end of its way"):
        advance_order(store, "N1", Status.DELIVERED)
    with pytest.raises(WrongStatus, match="Order N1 is DELIVERED, and only an OPEN one can be cancelled"):
        cancel_order(store, "N1")
    assert contents(store) == before


def test_a_cancelled_order_gives_back_what_it_took_and_once(store: Store) -> None:
    place_order(store, "C1", THREE_LINES, number="N1")
    assert cancel_order(store, "N1").status is Status.CANCELLED
    with pytest.raises(WrongStatus):
        cancel_order(store, "N1")
    assert [quantity(store, *place) for place in (("P1", "W1"), ("P1", "W2"), ("P2", "W1"))] == [10, 5, 7]
    assert (total(store, "P1"), total(store, "P2")) == (15, 7)


def test_goods_are_added_to_the_warehouse_and_to_the_total(store: Store) -> None:
    assert receive_goods(store, "W1", "P1", 5).quantity == 15
    assert receive_goods(store, "W2", "P2", 4).quantity == 4  # where there were none
    assert (total(store, "P1"), total(store, "P2")) == (20, 11)


def test_what_changes_while_an_order_is_placed_is_as_it_is_when_it_lands(store: Store) -> None:
    """Not as it was when the order was begun."""

    def other_terms() -> None:
        store.update(Ref(Customer, id="C1"), Customer.representative.set("E2"))

    def other_price() -> None:
        store.update(Ref(Product, id="P1"), Product.list_price.set(Decimal("12.00")))

    def sold_out() -> None:
        place_order(store, "C2", [Line("P1", "W1", 8)])

    def place(between: Callable[[], Any]) -> Order:
        client = Interrupted(store._client, between)
        try:
            return place_order(Store(store.table, client), "C1", [Line("P1", "W1", 1)])
        finally:
            assert client.interrupted

    assert (place(other_terms).representative, total(store, "P1")) == ("E2", 14)
    assert (place(other_price).total, total(store, "P1")) == (Decimal(12), 13)
    with pytest.raises(OutOfStock, match="Warehouse W1 has 0 of product P1, and 1 are wanted"):
        place(sold_out)
    assert total(store, "P1") == 5


def test_an_order_that_is_packed_while_it_is_cancelled_is_not_cancelled(store: Store) -> None:
    place_order(store, "C1", [Line("P1", "W1", 1)], number="N1")
    client = Interrupted(store._client, lambda: advance_order(store, "N1", Status.PACKED))
    with pytest.raises(WrongStatus, match="Order N1 is PACKED"):
        cancel_order(Store(store.table, client), "N1")
    assert client.interrupted
    assert total(store, "P1") == 14


# At once


def test_of_many_orders_for_the_last_piece_one_wins(store: Store) -> None:
    place_order(store, "C1", [Line("P1", "W1", 9)])
    found = outcomes([lambda: place_order(store, "C2", [Line("P1", "W1", 1)])] * 16)
    assert len([each for each in found if isinstance(each, Order)]) == 1
    assert len([each for each in found if isinstance(each, OutOfStock)]) == 15
    assert (quantity(store, "P1", "W1"), total(store, "P1")) == (0, 5)


def test_many_orders_at_once_take_what_there_is_and_not_more(store: Store) -> None:
    """Each wants a different number, from one warehouse or from both: what is left is what was not sold."""
    lines = [[Line("P1", "W1", 1 + n % 3)] + ([Line("P1", "W2", 1 + n % 2)] if n % 4 == 0 else []) for n in range(16)]
    found = outcomes([lambda wanted=wanted: place_order(store, "C1", wanted) for wanted in lines])  # type: ignore[misc]
    sold = [wanted for wanted, each in zip(lines, found, strict=True) if isinstance(each, Order)]
    taken = {place: sum(x.quantity for w in sold for x in w if x.warehouse == place) for place in ("W1", "W2")}
    assert quantity(store, "P1", "W1") == 10 - taken["W1"] >= 0
    assert quantity(store, "P1", "W2") == 5 - taken["W2"] >= 0
    assert total(store, "P1") == 15 - taken["W1"] - taken["W2"]
    assert all(isinstance(each, Order | OutOfStock) for each in found)
    stored = store.run(orders_by_status(Status.OPEN, date(2020, 1, 1), date(2100, 1, 1))).all()
    assert len(stored) == len(sold)


def test_of_many_who_send_the_same_order_one_does(store: Store) -> None:
    found = outcomes([lambda: place_order(store, "C1", [Line("P1", "W1", 1)], number="N1")] * 8)
    assert [type(each) for each in found].count(AlreadyThere) == 7
    assert quantity(store, "P1", "W1") == 9


def test_of_many_who_take_the_same_step_one_does(store: Store) -> None:
    place_order(store, "C1", [Line("P1", "W1", 1)], number="N1")
    found = outcomes([lambda: advance_order(store, "N1", Status.PACKED)] * 8)
    assert len([each for each in found if isinstance(each, Order)]) == 1
    assert len([each for each in found if isinstance(each, Conflict)]) == 7
    found = outcomes([lambda: cancel_order(store, "N1"), lambda: advance_order(store, "N1", Status.SHIPPED)])
    assert isinstance(found[0], WrongStatus)
    assert isinstance(found[1], Order)


def test_goods_that_come_at_once_all_count(store: Store) -> None:
    """Also where the warehouse had none of them before."""
    outcomes([lambda: receive_goods(store, "W2", "P2", 3)] * 8)
    assert (quantity(store, "P2", "W2"), total(store, "P2")) == (24, 31)

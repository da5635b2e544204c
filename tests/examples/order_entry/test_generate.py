"""The same seed gives the same data; what belongs together agrees; what cannot be written is told."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import pytest

from order_entry.generate import ORDER_DAYS, QUARTERS, generate, load
from order_entry.model import (
    Assignment,
    Customer,
    Employee,
    Inventory,
    Order,
    OrderItem,
    Product,
    Sales,
    Status,
    quarter_of,
    table,
)
from order_entry.system import in_this_process
from tests.examples.order_entry.conftest import World
from torusdb.modeling import Entity, Scan


def test_the_same_seed_gives_the_same_and_another_gives_another() -> None:
    first = [repr(each) for each in generate(30, seed=1)]
    assert [repr(each) for each in generate(30, seed=1)] == first
    assert [repr(each) for each in generate(30, seed=2)] != first


def test_what_it_gives_does_not_change_from_one_release_to_the_next() -> None:
    """Figures and documentation rest on it."""
    entities = list(generate(100))
    orders = [each for each in entities if isinstance(each, Order)]
    assert (len(entities), len(orders)) == (1913, 315)
    assert (orders[0].number, orders[0].total) == ("20250822-224410-00000001", Decimal("17822.88"))


def test_ten_times_the_customers_are_ten_times_the_rest() -> None:
    one, ten = (Counter(type(each) for each in generate(count)) for count in (500, 5000))
    for kind in (Customer, Employee, Order, OrderItem, Product, Inventory, Assignment):
        assert ten[kind] / one[kind] == pytest.approx(10, rel=0.15), kind


def test_all_is_one_of_a_kind_and_what_is_referred_to_is_there(small: World) -> None:
    found = small.reference.connection.execute("PRAGMA foreign_key_check").fetchall()
    assert found == []
    made = {_identity(each): each for each in small.entities}
    assert len(made) == len(small.entities)
    stored = [each for kind in {type(each) for each in small.entities} for each in small.store.run(Scan(kind))]
    assert {_identity(each): each for each in stored} == made


def _identity(entity: Entity) -> str:
    return str(type(entity).__model__.key_of(entity))


def test_totals_are_the_sums_of_what_they_are_of(small: World) -> None:
    stocks: dict[str, int] = defaultdict(int)
    sold: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    lines: dict[str, Decimal] = defaultdict(Decimal)
    for each in small.entities:
        if isinstance(each, Inventory):
            stocks[each.product] += each.quantity
        elif isinstance(each, OrderItem):
            lines[each.order] += each.quantity * each.unit_price
        elif isinstance(each, Order) and each.status is not Status.CANCELLED:
            sold[each.representative, quarter_of(each.placed)] += each.total
    assert {each.id: each.stock for each in small.entities if isinstance(each, Product)} == stocks
    assert {each.number: each.total for each in small.entities if isinstance(each, Order)} == lines
    assert {(each.employee, each.quarter): each.total for each in small.entities if isinstance(each, Sales)} == sold


def test_the_quarters_are_those_of_two_years() -> None:
    assert ORDER_DAYS == 720
    assert [f"{y}-Q{q}" for y, q in ((2024, 2), (2024, 3), (2024, 4))] + [f"2025-Q{q}" for q in (1, 2, 3, 4)] + [
        "2026-Q1"
    ] == QUARTERS


def test_no_customers_are_refused() -> None:
    with pytest.raises(ValueError, match="At least one customer is needed, not 0"):
        next(generate(0))


@pytest.mark.parametrize("workers", [1, 5])
def test_a_load_tells_of_every_batch(workers: int) -> None:
    entities = list(generate(60))
    seen: list[Entity] = []
    with in_this_process() as system:
        system.create_table(stream=False)
        assert load(system.store, entities, workers=workers, advance=seen.extend) == len(entities) == len(seen)
        assert system.dynamodb.scan(TableName=table.name, Select="COUNT")["Count"] == len(entities)


def test_a_load_that_fails_says_so() -> None:
    class Failing:
        def __getattr__(self, method: str) -> Any:
            raise RuntimeError("the disk is full")

    with in_this_process() as system:
        system.store._client = Failing()
        with pytest.raises(RuntimeError, match="the disk is full"):
            load(system.store, generate(60))

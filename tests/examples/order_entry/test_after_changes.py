"""After any number of changes, good ones and refused ones, alone and at once, the fourteen patterns still give what SQL
gives on what is stored, and the totals are the sums of what they are of."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from order_entry.customers import change_representative
from order_entry.employees import hire, promote, transfer
from order_entry.errors import OrderEntryError
from order_entry.model import FOURTEEN, Inventory, Product, table
from order_entry.orders import NEXT, Line, advance_order, cancel_order, place_order
from order_entry.reference import Reference, rows_of
from order_entry.sampling import sample
from order_entry.stock import receive_goods
from order_entry.system import System
from tests.examples.order_entry.business import outcomes
from torusdb.modeling import Entity, Read, Scan, Store

OPERATIONS = 120
AT_ONCE = 6
FIRST_DAY = date(2024, 1, 1)


class Anything:
    """Random requests, of which a part is refused."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.random = random.Random(seed)
        self.numbers: list[str] = []
        self.people = ["E1", "E2", "nobody"]
        self.days = 0

    def next(self) -> Callable[[], Any]:
        kinds = [self.order] * 4 + [self.advance] * 3 + [self.cancel, self.receive, self.receive]
        return self.random.choice([*kinds, self.hire, self.promote, self.transfer, self.represent])()

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def day(self) -> date:
        self.days += 1
        return FIRST_DAY + timedelta(days=self.days)

    def order(self) -> Callable[[], Any]:
        number = f"N{self.random.randrange(100)}"
        self.numbers.append(number)
        places = [("P1", "W1"), ("P1", "W2"), ("P2", "W1"), ("P2", "W2"), ("P9", "W1")]
        wanted = self.random.sample(places[: 4 if self.random.random() < 0.9 else 5], self.random.randint(1, 3))
        lines = [Line(product, warehouse, self.random.randint(1, 5)) for product, warehouse in wanted]
        placed = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=self.random.randrange(8000))
        customer = self.one("C1", "C2", "C2", "C9")
        return lambda: place_order(self.store, customer, lines, number=number, placed=placed)

    def advance(self) -> Callable[[], Any]:
        number, to = self.one("N0", *self.numbers), self.random.choice(list(NEXT.values()))
        return lambda: advance_order(self.store, number, to)

    def cancel(self) -> Callable[[], Any]:
        number = self.one("N0", *self.numbers)
        return lambda: cancel_order(self.store, number)

    def receive(self) -> Callable[[], Any]:
        warehouse, product, quantity = self.one("W1", "W2", "W9"), self.one("P1", "P2"), self.random.randint(0, 9)
        return lambda: receive_goods(self.store, warehouse, product, quantity)

    def hire(self) -> Callable[[], Any]:
        number = len(self.people)
        self.people.append(f"E{number}")
        job, warehouse = self.one("SA_REP", "SA_MAN", "ST_CLERK"), self.random.choice(["W1", "W2", None])
        hired, salary = self.day(), Decimal(self.random.choice([500, 1500, 2500]))
        return lambda: hire(
            self.store,
            id=f"E{number}",
            first_name=("Ash", "Elm")[number % 2],
            last_name=("Opal-Tern", "Jade-Kite")[number // 2 % 2],
            email="someone@example.com",
            phone="+00 000 0000000",
            job=job,
            department="D1",
            salary=salary,
            hired=hired,
            warehouse=warehouse,
        )

    def promote(self) -> Callable[[], Any]:
        employee, job, since = self.one(*self.people), self.one("SA_REP", "SA_MAN", "ST_CLERK"), self.day()
        return lambda: promote(self.store, employee, job=job, salary=Decimal(2000), since=since)

    def transfer(self) -> Callable[[], Any]:
        employee, warehouse, since = self.one(*self.people), self.random.choice(["W1", "W2", "W9", None]), self.day()
        return lambda: transfer(self.store, employee, department="D2", warehouse=warehouse, since=since)

    def represent(self) -> Callable[[], Any]:
        customer, representative = self.one("C1", "C2", "C9"), self.one(*self.people)
        return lambda: change_representative(self.store, customer, representative)


@pytest.mark.parametrize("seed", range(3))
def test_patterns_and_totals_are_right_after_anything(system: System, seed: int) -> None:
    anything = Anything(system.store, seed)
    found = [
        outcome
        for _ in range(0, OPERATIONS, AT_ONCE)
        for outcome in outcomes([anything.next() for _ in range(AT_ONCE)])
    ]
    refused = sum(isinstance(each, OrderEntryError) for each in found)
    assert OPERATIONS / 5 < refused < OPERATIONS * 4 / 5
    consumer = system.ranking_consumer()
    while consumer.step():
        pass
    consumer.close()
    everything = [each for model in table.entities.values() for each in system.store.run(Scan(model.kind))]
    assert_totals_are_sums(everything)
    assert_patterns_agree_with_sql(system.store, everything)


def assert_totals_are_sums(everything: list[Entity]) -> None:
    stocks: Counter[str] = Counter()
    for each in everything:
        if isinstance(each, Inventory):
            assert each.quantity >= 0
            stocks[each.product] += each.quantity
    assert {each.id: each.stock for each in everything if isinstance(each, Product)} == stocks


def assert_patterns_agree_with_sql(store: Store, everything: list[Entity]) -> None:
    reference = Reference()
    reference.load(everything)
    assert reference.connection.execute("PRAGMA foreign_key_check(orders)").fetchall() == []
    answers = 0
    for pattern in FOURTEEN.values():
        for values in sample(reference, pattern.name, 20, days=200):
            plan = pattern(**values)
            answer = store.run(plan).all() if isinstance(plan, Read) else store.run(plan)
            expected = reference.ask(pattern.name, **values)
            assert rows_of(pattern.name, answer) == expected, (pattern.name, values)
            answers += len(expected)
    assert answers > 100
    reference.close()

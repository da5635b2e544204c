"""A business that fits on a page, for the tests of what changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from order_entry.errors import OrderEntryError
from order_entry.model import (
    Assignment,
    Customer,
    Department,
    Employee,
    Inventory,
    Job,
    Product,
    Warehouse,
    inventory,
    table,
    total_inventory,
)
from order_entry.system import System, in_this_process
from torusdb.modeling import Entity, Store

HIRED = date(2020, 5, 1)


@contextmanager
def business(*, stream: bool = False) -> Iterator[System]:
    with in_this_process() as system:
        system.create_table(stream=stream)
        system.store.put_many(entities())
        yield system


def entities() -> Iterator[Entity]:
    for job, title in (("SA_REP", "Sales Representative"), ("SA_MAN", "Sales Manager"), ("ST_CLERK", "Stock Clerk")):
        yield Job(id=job, title=title, min_salary=Decimal(1000), max_salary=Decimal(9000))
    for department in ("D1", "D2"):
        yield Department(id=department, name=f"Department {department}", location="L1")
    for employee, job, title in (("E1", "SA_REP", "Sales Representative"), ("E2", "ST_CLERK", "Stock Clerk")):
        yield Employee(
            id=employee,
            first_name="Ash",
            last_name=f"Quartz-{employee}",
            email=f"{employee}@example.com",
            phone="+00 000 0000000",
            hired=HIRED,
            salary=Decimal(2000),
            warehouse="W1" if employee == "E2" else None,
        )
        yield Assignment(
            employee=employee, since=HIRED, job=job, title=title, department="D1", name=f"Quartz-{employee}, Ash"
        )
    for customer in ("C1", "C2"):
        yield Customer(
            id=customer,
            name=f"Company {customer}",
            email=f"{customer}@example.com",
            country="FR",
            credit_limit=Decimal(1000),
            representative="E1",
        )
    for warehouse in ("W1", "W2"):
        yield Warehouse(id=warehouse, name=f"Warehouse {warehouse}", location="L1")
    yield Product(id="P1", name="Copper Kettle", category="Household", list_price=Decimal("9.99"), stock=15)
    yield Product(id="P2", name="Brass Lamp", category="Lighting", list_price=Decimal("20.00"), stock=7)
    yield Inventory(warehouse="W1", product="P1", quantity=10)
    yield Inventory(warehouse="W2", product="P1", quantity=5)
    yield Inventory(warehouse="W1", product="P2", quantity=7)


def contents(store: Store) -> list[tuple[str, dict[str, Any]]]:
    """All that the table holds: what must be the same when something was refused."""
    found = store._client.scan(TableName=table.name, ConsistentRead=True)
    assert "LastEvaluatedKey" not in found
    return sorted((f"{item['pk']['S']} {item['sk']['S']}", item) for item in found["Items"])


def quantity(store: Store, product: str, warehouse: str) -> int:
    found = store.run(inventory(product, warehouse))
    assert found is not None
    return found.quantity


def total(store: Store, product: str) -> int:
    found = store.run(total_inventory(product))
    assert found is not None
    return found.stock


def assert_refused(store: Store, request: Callable[[Store], Any], kind: type[OrderEntryError], message: str) -> None:
    """It is told so, and nothing has changed."""
    before = contents(store)
    with pytest.raises(kind) as caught:
        request(store)
    assert str(caught.value) == message
    assert contents(store) == before


def outcomes(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each gave or raised, all at once."""

    def one(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except OrderEntryError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(one, calls))


class Interrupted:
    """A client on which something else happens between what was read and what is written."""

    def __init__(self, client: Any, between: Callable[[], Any]) -> None:
        self.client, self.between = client, between
        self.interrupted = False

    def __getattr__(self, method: str) -> Any:
        if method == "transact_write_items" and not self.interrupted:
            self.interrupted = True
            self.between()
        return getattr(self.client, method)

"""Values that forms offer: such as occur in the table, whatever is in it.

They are found with the patterns themselves, from the second index on, which has all people and all orders by date: a
few of the newest, and what they lead to. There is no Scan, and nothing is assumed about ids."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from threading import Lock
from typing import Final

from order_entry.model import (
    Inventory,
    Order,
    OrderItem,
    Status,
    current_job,
    employees_hired_since,
    order_with_items,
    orders_by_status,
    quarter_of,
)
from order_entry.web.shown import form_text
from torusdb.modeling import Store

ENTITIES_MAX: Final = 12
"""Of each kind that is looked at."""
PERIOD: Final = timedelta(days=30)
BEGINNING: Final = date(1970, 1, 1)
END: Final = date(2999, 12, 31)

Found = dict[str, list[str]]
"""By the name of a field. The first values of all fields belong together: a product that is in the warehouse."""


class Offers:
    """Looked up when they are first asked for, and again for as long as there are none."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._found: Found = {}

    def all(self) -> Found:
        with self._lock:
            if not self._found:
                for field, value in _found(self._store):
                    values = self._found.setdefault(field, [])
                    if value is not None and form_text(value) not in values:
                        values.append(form_text(value))
            return self._found

    def first(self, field: str) -> str:
        return next(iter(self.all().get(field, ())), "")


def _found(store: Store) -> Iterator[tuple[str, object]]:
    orders = _newest_orders(store)
    for order in orders:
        yield from (("customer", order.customer), ("employee", order.representative))
        yield from (("representative", order.representative), ("quarter", quarter_of(order.placed)))
    if orders:
        yield "status", orders[0].status
        day = orders[0].placed.date()
        yield from (("until", day), ("since", day - PERIOD))
        for item in store.run(order_with_items(orders[0].number)):
            if isinstance(item, OrderItem):
                yield from (("product", item.product), ("warehouse", item.warehouse))
                others = Inventory.of_product.query(Inventory.product == item.product).limit(ENTITIES_MAX)
                yield from (("warehouse", each.warehouse) for each in store.run(others))
    yield from _people(store)


def _newest_orders(store: Store) -> list[Order]:
    """Of the first status on their way that there are any of."""
    for status in Status:
        orders = store.run(orders_by_status(status, BEGINNING, END).reverse().limit(ENTITIES_MAX)).all()
        if orders:
            return orders
    return []


def _people(store: Store) -> Iterator[tuple[str, object]]:
    newest = store.run(employees_hired_since(BEGINNING).reverse().limit(ENTITIES_MAX)).all()
    for employee in reversed(newest[:5]):
        yield "day", employee.hired
    for employee in newest:
        yield from (("last_name", employee.last_name), ("first_name", employee.first_name))
        yield from (("employee", employee.id), ("warehouse", employee.warehouse), ("manager", employee.manager))
        job = store.run(current_job(employee.id)).first()
        if job is not None:
            yield from (("title", job.title), ("job", job.job), ("department", job.department))

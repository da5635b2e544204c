"""The plain relational system beside the one table: its data in SQLite, the questions in `reference.sql`."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from importlib.resources import files
from itertools import islice
from typing import Any, Final, TypeAlias

from order_entry import model
from torusdb.modeling import Entity

Row: TypeAlias = tuple[Any, ...]

BATCH_ROWS: Final = 1000

TABLES: Final[dict[type[Entity], tuple[str, list[str]]]] = {
    model.Region: ("regions", ["id", "name"]),
    model.Country: ("countries", ["id", "name", "region"]),
    model.Location: ("locations", ["id", "street", "postal_code", "city", "country"]),
    model.Department: ("departments", ["id", "name", "location", "manager"]),
    model.Warehouse: ("warehouses", ["id", "name", "location"]),
    model.Job: ("jobs", ["id", "title", "min_salary", "max_salary"]),
    model.Employee: (
        "employees",
        ["id", "first_name", "last_name", "email", "phone", "hired", "salary", "manager", "warehouse"],
    ),
    model.Assignment: ("job_history", ["employee", "since", "until", "job", "department"]),
    model.Quota: ("quotas", ["employee", "quarter", "amount"]),
    model.Customer: ("customers", ["id", "name", "email", "country", "credit_limit", "representative"]),
    model.Product: ("products", ["id", "name", "category", "list_price"]),
    model.Inventory: ("inventories", ["warehouse", "product", "quantity"]),
    model.Order: ("orders", ["number", "customer", "representative", "placed", "status"]),
    model.OrderItem: ("order_items", ["order", "line", "product", "warehouse", "quantity", "unit_price"]),
}
"""What is stored of an entity, and where. What can be summed up is not stored: Sales, Credit, totals, stocks."""


class Reference:
    def __init__(self, path: str = ":memory:") -> None:
        source = files("order_entry").joinpath("reference.sql").read_text()
        _, *parts = re.split(r"^-- (\w+)$", source, flags=re.MULTILINE)
        self.questions = dict(zip(parts[::2], parts[1::2], strict=True))
        schema = self.questions.pop("schema")
        self.connection = sqlite3.connect(path)
        self.connection.executescript(schema)

    def close(self) -> None:
        self.connection.close()

    def load(self, entities: Iterable[Entity]) -> None:
        for entity_rows in _batches(entities):
            for kind, rows in entity_rows.items():
                table, columns = TABLES[kind]
                names = ", ".join(f'"{column}"' for column in columns)
                places = ", ".join("?" * len(columns))
                self.connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({places})", rows)
        self.connection.commit()

    def ask(self, question: str, limit: int | None = None, **values: Any) -> list[Row]:
        """The answer of the SQL that has a pattern's name, or the first rows of it."""
        sql = self.questions[question]
        if limit is not None:
            sql = f"{sql.rstrip().rstrip(';')} LIMIT {limit}"
        return self.connection.execute(sql, {name: stored(value) for name, value in values.items()}).fetchall()


def stored(value: Any) -> Any:
    """As SQLite has it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return int(value.scaleb(2))
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if isinstance(value, date):
        return value.isoformat()
    return value


def _batches(entities: Iterable[Entity]) -> Iterator[dict[type[Entity], list[Row]]]:
    rest = iter(entities)
    while batch := list(islice(rest, BATCH_ROWS)):
        rows: dict[type[Entity], list[Row]] = {}
        for entity in batch:
            kind = type(entity)
            if kind in TABLES:
                rows.setdefault(kind, []).append(_fields(entity, TABLES[kind][1]))
        yield rows


def _fields(entity: Entity, names: Sequence[str]) -> Row:
    return tuple(stored(getattr(entity, name)) for name in names)


def rows_of(pattern: str, answer: Any) -> list[Row]:
    """A pattern's answer as the rows that its SQL has."""
    objects = answer if isinstance(answer, list) else [] if answer is None else [answer]
    return [tuple(stored(value) for value in ROWS[pattern](each)) for each in objects]


def _detail(each: Any) -> Row:
    match each:
        case model.Employee():
            name = f"{each.first_name} {each.last_name}"
            return ("Employee", each.id, name, each.hired, None, each.salary)
        case model.Assignment():
            return ("Job", each.department, each.title, each.since, each.until, None)
        case model.Quota():
            return ("Quota", None, each.quarter, None, None, each.amount)
        case _:
            return ("Sales", each.orders, each.quarter, None, None, each.total)


def _demand_or_supply(each: Any) -> Row:
    if isinstance(each, model.Inventory):
        return ("Inventory", each.warehouse, None, None, each.quantity)
    return ("OrderItem", each.warehouse, each.order, each.line, each.quantity)


ROWS: Final[dict[str, Callable[[Any], Row]]] = {
    "employee_details": _detail,
    "employees_by_name": lambda each: (each.id, each.first_name, each.last_name, each.email),
    "current_job": lambda each: (each.title, each.department, each.since),
    "orders_of_customer": lambda each: (each.number, each.placed, each.status, each.total),
    "orders_by_status": lambda each: (each.number, each.placed, each.customer, each.total),
    "employees_hired_since": lambda each: (each.id, each.hired, each.first_name, each.last_name),
    "employees_in_warehouse": lambda each: (each.id, each.first_name, each.last_name),
    "product_demand_and_supply": _demand_or_supply,
    "customers_of_representative": lambda each: (each.id, each.name, each.email),
    "orders_of_representative": lambda each: (each.number, each.placed, each.customer, each.status, each.total),
    "employees_by_title": lambda each: (each.employee, each.name, each.since),
    "inventory": lambda each: (each.quantity,),
    "total_inventory": lambda each: (each.stock,),
    "ranking": lambda each: (each.employee, each.orders, each.total),
}

"""Values to ask the fourteen questions with, drawn from the data: what there is to be asked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from random import Random
from typing import Any, Final

from order_entry.model import Status
from order_entry.reference import Reference

VALUES: Final = {
    "employee_details": "SELECT id AS employee FROM employees",
    "employees_by_name": """
        SELECT last_name, NULL AS first_name FROM employees UNION SELECT last_name, first_name FROM employees""",
    "current_job": "SELECT id AS employee FROM employees",
    "orders_of_customer": """
        SELECT DISTINCT customer, status, date(placed, '-' || :days || ' days') AS since, date(placed) AS until
        FROM orders""",
    "orders_by_status": """
        SELECT DISTINCT status, date(placed, '-' || :days || ' days') AS since, date(placed) AS until FROM orders""",
    "employees_hired_since": "SELECT hired AS day FROM employees ORDER BY hired DESC, id LIMIT 50",
    "employees_in_warehouse": "SELECT id AS warehouse FROM warehouses",
    "product_demand_and_supply": "SELECT id AS product FROM products",
    "customers_of_representative": "SELECT DISTINCT representative FROM customers",
    "orders_of_representative": """
        SELECT DISTINCT representative, date(placed, '-' || :days || ' days') AS since, date(placed) AS until
        FROM orders""",
    "employees_by_title": "SELECT title FROM jobs",
    "inventory": "SELECT product, warehouse FROM inventories",
    "total_inventory": "SELECT id AS product FROM products",
    "ranking": "SELECT DISTINCT quarter FROM orders",
}
"""`days`: how many before an order a range of days begins."""

PARSERS: Final[dict[str, Callable[[str], Any]]] = {
    "since": date.fromisoformat,
    "until": date.fromisoformat,
    "day": date.fromisoformat,
    "status": Status,
}


def sample(reference: Reference, pattern: str, count: int, *, days: int = 30, seed: int = 1) -> list[dict[str, Any]]:
    """So many sets of values for a pattern, or as many as there are."""
    cursor = reference.connection.execute(VALUES[pattern], {"days": days} if ":days" in VALUES[pattern] else {})
    names = [column[0] for column in cursor.description]
    rows = sorted(cursor.fetchall(), key=repr)
    chosen = Random(seed).sample(rows, min(count, len(rows)))
    return [
        {
            name: value if value is None else PARSERS.get(name, str)(value)
            for name, value in zip(names, row, strict=True)
        }
        for row in chosen
    ]

"""How entities and requests look: as cells of a table, and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from itertools import groupby
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup

from torusdb.modeling import Call, Entity

WIRE_VALUE: Final = re.compile(r"\{\s+(\"(?:S|N|BOOL|NULL)\": [^\n]*)\n\s+\}")

NUMBERS: Final = (int, Decimal)

LINKS: Final = {
    "order": "/orders/{}",
    "number": "/orders/{}",
    "employee": "/patterns/employee_details?ask=1&employee={}",
    "representative": "/patterns/employee_details?ask=1&employee={}",
    "manager": "/patterns/employee_details?ask=1&employee={}",
    "customer": "/patterns/orders_of_customer?customer={}",
    "product": "/patterns/product_demand_and_supply?ask=1&product={}",
    "warehouse": "/patterns/employees_in_warehouse?ask=1&warehouse={}",
    "title": "/patterns/employees_by_title?ask=1&title={}",
}
"""Where a value leads, by the attribute that has it."""
IDS: Final = {"Employee": "employee", "Customer": "customer", "Product": "product", "Warehouse": "warehouse"}
"""What others call the `id` of these."""


class Cell(NamedTuple):
    text: str
    link: str | None
    is_number: bool


class Grid(NamedTuple):
    """Rows of one kind."""

    kind: str
    columns: list[str]
    numbers: list[bool]
    rows: list[list[Cell]]


def text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Decimal):
        return f"{value:,.2f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def grids(entities: Iterable[Entity]) -> list[Grid]:
    """One for each run of entities of a kind, in the order in which they came."""
    return [_grid(kind, list(run)) for kind, run in groupby(entities, key=type)]


def _grid(kind: type[Entity], entities: Sequence[Entity]) -> Grid:
    names = [name for name in fields(kind) if any(getattr(each, name) is not None for each in entities)]
    rows = [[_cell(kind, name, getattr(each, name)) for name in names] for each in entities]
    numbers = [any(row[column].is_number for row in rows) for column in range(len(names))]
    return Grid(kind.__name__, [words(name) for name in names], numbers, rows)


def _cell(kind: type[Entity], name: str, value: Any) -> Cell:
    link = LINKS.get(IDS.get(kind.__name__, "") if name == "id" else name)
    shown = text(value)
    return Cell(
        shown, link.format(quote(shown, safe="")) if link and value is not None else None, isinstance(value, NUMBERS)
    )


def fields(kind: type[Entity]) -> list[str]:
    return list(kind.__model__.attributes)


def request_json(call: Call) -> str:
    """As it was sent, but for what asks for the capacity; a value and its type on one line, and what cannot be seen
    escaped."""
    spread = json.dumps(call.parameters, indent=2, ensure_ascii=False)
    text = WIRE_VALUE.sub(r"{\1}", spread)
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)


def operation(call: Call) -> str:
    return call.method.title().replace("_", "")


def marked(text: str) -> Markup:
    """What stands in backticks, as code."""
    code = Markup("<code>{}</code>")
    return Markup().join(code.format(part) if number % 2 else part for number, part in enumerate(text.split("`")))


def form_text(value: Any) -> str:
    """Of a value in a form, where it is read again."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:.2f}"
    return str(value.value) if isinstance(value, Enum) else str(value)


def url(path: str, values: Mapping[str, Any]) -> str:
    given = {name: form_text(value) for name, value in values.items() if value is not None}
    return f"{path}?{urlencode(given)}"

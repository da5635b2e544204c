"""The fourteen patterns as questions that someone can ask: with which values, of which types, and where in the REST
interface. All else (names, descriptions, requests, source) comes from the patterns themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from datetime import date
from functools import cached_property
from time import perf_counter
from typing import Any, Final, NamedTuple, get_args

from pydantic import create_model

from order_entry.model import FOURTEEN, Status, order_with_items, table
from order_entry.web.inputs import Day, Input, Name, OptionalName, Quarter, Refused, StatusName, field, read
from torusdb.modeling import Call, Entity, Explanation, Meter, Pattern, Read, Store

ROWS_PER_PAGE: Final = 25
ROWS_PER_PAGE_MAX: Final = 100

PARAMETERS: Final = {
    "employee": field("Employee", "E000001", "An employee's id."),
    "last_name": field("Last name", "Opal-Tern"),
    "first_name": field("First name", "Hazel", "Empty for all.", default=None),
    "customer": field("Customer", "C0000001", "A customer's id."),
    "representative": field("Representative", "E000001", "An employee's id."),
    "status": field("Status", "OPEN"),
    "since": field("From", "2026-01-01", "The first day."),
    "until": field("To", "2026-03-31", "The last day."),
    "day": field("Hired since", "2026-01-01"),
    "warehouse": field("Warehouse", "W0001", "A warehouse's id."),
    "product": field("Product", "P000001", "A product's id."),
    "title": field("Job title", "Sales Representative"),
    "quarter": field("Quarter", "2026-Q1"),
    "order": field("Order", "20260301-101500-0badcafe", "An order's number."),
}
KINDS: Final[dict[Any, Any]] = {str: Name, str | None: OptionalName, date: Day, Status: StatusName}
KINDS_BY_NAME: Final[dict[str, Any]] = {"quarter": Quarter}

PATHS: Final = {
    "employee_details": "/employees/{employee}",
    "employees_by_name": "/employees/named/{last_name}",
    "current_job": "/employees/{employee}/current-job",
    "orders_of_customer": "/customers/{customer}/orders",
    "orders_by_status": "/orders",
    "employees_hired_since": "/employees",
    "employees_in_warehouse": "/warehouses/{warehouse}/employees",
    "product_demand_and_supply": "/products/{product}/demand-and-supply",
    "customers_of_representative": "/representatives/{representative}/customers",
    "orders_of_representative": "/representatives/{representative}/orders",
    "employees_by_title": "/titles/{title}/employees",
    "inventory": "/warehouses/{warehouse}/products/{product}",
    "total_inventory": "/products/{product}",
    "ranking": "/quarters/{quarter}/ranking",
    "order_with_items": "/orders/{order}",
}


class Answer(NamedTuple):
    """`explanation`: of this request; `cursor`: where the next page begins, None if this is the last."""

    explanation: Explanation
    rows: list[Entity]
    cursor: str | None
    meter: Meter
    milliseconds: float


class Question:
    """`consistent`: sees all that was written before, for twice the capacity."""

    def __init__(self, pattern: Pattern[..., Any], *, consistent: bool = False) -> None:
        self.pattern = pattern
        self.consistent = consistent
        self.name = pattern.name
        found = re.fullmatch(r"(?:(\d+)\. )?([^.]*?)\. (.*)", pattern.description)
        assert found is not None, pattern.description
        self.number, self.title, self.how = found.groups()
        self.types = _types(pattern)
        self.input = _input(pattern.name, self.types)
        self.kinds = _kinds_of_answer(pattern)
        self.path = PATHS[self.name]

    @cached_property
    def explanation(self) -> Explanation:
        return self.pattern.explanation

    @cached_property
    def source(self) -> str:
        return inspect.getsource(self.pattern.make)

    def values(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """What the pattern is called with; raises Refused."""
        return self.checked(dict(read(self.input, raw)))

    def checked(self, values: dict[str, Any]) -> dict[str, Any]:
        if {"since", "until"} <= values.keys() and values["since"] > values["until"]:
            raise Refused({"until": f"must not be before {values['since']}, where the days begin"})
        return values

    def ask(self, client: Any, values: Mapping[str, Any], *, cursor: str | None = None, rows: int) -> Answer:
        meter = Meter()
        store = Store(table, client, observe=meter)
        plan = self.pattern(**values)
        if self.consistent:
            plan = plan.consistent()
        began = perf_counter()
        if isinstance(plan, Read):
            results = store.run(plan.limit(min(rows, plan.limit_items or rows)).after(cursor))
            found, further = results.all(), results.cursor
            if plan.limit_items is not None:
                further = None  # the pattern wants no more than this
        else:
            one = store.run(plan)
            found, further = [] if one is None else [one], None
        milliseconds = (perf_counter() - began) * 1000
        meter.calls.sort(key=_place)
        return Answer(plan.explain(), found, further, meter, milliseconds)


def _types(pattern: Pattern[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(pattern.make, eval_str=True).parameters.values()
    return {each.name: KINDS_BY_NAME.get(each.name, KINDS[each.annotation]) for each in parameters}


def _input(name: str, types: Mapping[str, Any]) -> type[Input]:
    members: dict[str, Any] = {each: (kind, PARAMETERS[each]) for each, kind in types.items()}
    return create_model(f"{name}_input", __base__=Input, **members)


def _kinds_of_answer(pattern: Pattern[..., Any]) -> list[type[Entity]]:
    """What its answer may have in it, as its annotation says: `Query[Order | OrderItem]`."""
    (answer,) = get_args(inspect.signature(pattern.make, eval_str=True).return_annotation)
    return list(get_args(answer)) or [answer]


def _place(call: Call) -> str:
    """Calls are answered in any order; people read them by shard."""
    return repr(call.parameters.get("ExpressionAttributeValues"))


QUESTIONS: Final = {name: Question(each) for name, each in FOURTEEN.items()}

ORDER: Final = Question(order_with_items, consistent=True)
"""Asked for just after it was placed."""

"""Forms that change something: each answers with a page to go on to, or with itself and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from itertools import zip_longest
from typing import Any, Final
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from pydantic.fields import FieldInfo
from starlette.datastructures import FormData, QueryParams
from starlette.responses import HTMLResponse, Response

from order_entry import checks
from order_entry.errors import InvalidInput, OutOfStock
from order_entry.model import Inventory, Product
from order_entry.orders import LINES_MAX
from order_entry.web import shown
from order_entry.web.changes import CHANGES, Change, change_status, make, new_key, place
from order_entry.web.inputs import ChangeStatus, PlaceOrder, Problems, read
from order_entry.web.pages import show_order
from order_entry.web.problems import REFUSALS, Refusal, errors_of, status_of
from order_entry.web.questions import ROWS_PER_PAGE
from order_entry.web.site import Form, Here, Site

router = APIRouter(include_in_schema=False)

LINES_AT_FIRST: Final = 3
LINES_ADDED: Final = 3
REFERENCES: Final = frozenset({"customer", "department", "employee", "product", "representative", "warehouse"})
LINE_FIELDS: Final = ("product", "warehouse", "quantity")

Line = dict[str, str]


# One form for each change


@router.get("/changes/{name}")
def show_change(request: Request, site: Here, name: str) -> HTMLResponse:
    change = _change(name)
    query = request.query_params
    given = {
        field: query.get(field, _example(site, field, info) if info.is_required() else "")
        for field, info in change.input.model_fields.items()
    }
    return site.page(request, "change.html", change=change, given=given, problems={}, offers=site.offers.all())


@router.post("/changes/{name}")
def make_change(request: Request, site: Here, form: Form, name: str) -> Response:
    change = _change(name)
    given = {field: _text(form, field) for field in change.input.model_fields}
    try:
        wanted = read(change.input, given)
        done = site.do(lambda store: make(change, store, wanted))
    except REFUSALS as refusal:
        return site.page(
            request,
            "change.html",
            status_of(refusal),
            change=change,
            given=given,
            problems=_of_fields(errors_of(refusal), change.input.model_fields),
            offers=site.offers.all(),
        )
    shown_values = {field: shown.text(getattr(done.result, field)) for field in shown.fields(type(done.result))}
    then = change.then.format(**{field: quote(value, safe="") for field, value in shown_values.items()})
    return site.go_on(change.done.format(**shown_values), done, then)


def _example(site: Site, field: str, info: FieldInfo) -> str:
    """Of something that there is, where that is what is asked for."""
    return (field in REFERENCES and site.offers.first(field)) or str((info.examples or [""])[0])


def _change(name: str) -> Change:
    if name not in CHANGES:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no form {name[:100]}")
    return CHANGES[name]


def _text(form: FormData, field: str) -> str:
    value = form.get(field, "")
    return value if isinstance(value, str) else ""  # a file, which no form of ours sends


def _of_fields(problems: Problems, fields: Iterable[str]) -> Problems:
    """What is no field of the form is told above it."""
    return {field if field in fields else "": message for field, message in problems.items()}


# Orders


@router.get("/place-order")
def show_order_form(request: Request, site: Here) -> HTMLResponse:
    """Also how stock is looked up, and lines are added: the form sends itself here, with what is in it."""
    query = request.query_params
    lines = _lines(query)
    customer = query.get("customer", site.offers.first("customer"))
    if not lines:
        lines = [{name: site.offers.first(name) if name != "quantity" else "1" for name in LINE_FIELDS}]
    count = max(LINES_AT_FIRST, len(lines)) + (LINES_ADDED if "more" in query else 0)
    return _order_form(request, site, customer, lines, count=count)


@router.post("/place-order")
def post_order(request: Request, site: Here, form: Form) -> Response:
    customer, lines, key = _text(form, "customer"), _lines(form), _text(form, "key")
    filled = [line for line in lines if any(value.strip() for value in line.values())]
    try:
        wanted = read(PlaceOrder, {"customer": customer, "lines": filled})
        done = site.do(lambda store: place(store, wanted, key))
    except REFUSALS as refusal:
        problems = _of_lines(refusal, filled)
        return _order_form(request, site, customer, filled, problems=problems, status=status_of(refusal))
    order = done.result.order
    message = f"Placed: order {order.number}, {shown.text(order.total)} in all."
    if not done.result.is_new:
        message = f"This order was placed already, as {order.number}."
    return site.go_on(message, done, f"/orders/{order.number}")


def _order_form(
    request: Request,
    site: Site,
    customer: str,
    lines: list[Line],
    *,
    problems: Problems | None = None,
    status: int = HTTPStatus.OK,
    count: int = LINES_AT_FIRST,
) -> HTMLResponse:
    count = min(max(count, len(lines)), LINES_MAX)
    blank: Line = dict.fromkeys(LINE_FIELDS, "")
    return site.page(
        request,
        "place_order.html",
        status,
        customer=customer,
        lines=[*lines, *[blank] * (count - len(lines))],
        stock=_stock(site, [line["product"].strip() for line in lines]),
        problems=problems or {},
        offers=site.offers.all(),
        key=new_key(),
        may_add=count < LINES_MAX,
    )


def _lines(source: FormData | QueryParams) -> list[Line]:
    """Lines come as three lists that belong together, since a form without scripts cannot number them."""
    columns = [[value if isinstance(value, str) else "" for value in source.getlist(name)] for name in LINE_FIELDS]
    return [dict(zip(LINE_FIELDS, line, strict=True)) for line in zip_longest(*columns, fillvalue="")]


def _stock(site: Site, products: list[str]) -> dict[str, dict[str, Any]]:
    """What there is of each product that is known: its name and price, and how many in which warehouse."""
    found: dict[str, dict[str, Any]] = {}
    for product_id in list(dict.fromkeys(products))[:LINES_MAX]:
        try:
            product = site.store.get(Product, id=checks.text("product", product_id))
        except InvalidInput:
            continue
        if product is not None:
            places = Inventory.of_product.query(Inventory.product == product.id).limit(ROWS_PER_PAGE)
            found[product_id] = {"product": product, "inventories": site.store.run(places).all()}
    return found


def _of_lines(refusal: Refusal, lines: list[Line]) -> Problems:
    """By the field of the line that is to blame."""
    if isinstance(refusal, OutOfStock):
        place = (refusal.product, refusal.warehouse)
        return {
            f"lines.{number}.quantity": str(refusal)
            for number, line in enumerate(lines)
            if (line["product"].strip(), line["warehouse"].strip()) == place
        }
    return {
        field if re.fullmatch(r"customer|lines\.\d+\.\w+", field) else "": message
        for field, message in errors_of(refusal).items()
    }


@router.post("/orders/{number}/status")
def post_status(request: Request, site: Here, form: Form, number: str) -> Response:
    """A step that cannot be taken is told on the order's own page, which shows where it is."""
    try:
        wanted = read(ChangeStatus, {"status": _text(form, "status")})
        done = site.do(lambda store: change_status(store, number, wanted.status))
    except REFUSALS as refusal:
        status = status_of(refusal)
        if status == HTTPStatus.NOT_FOUND:
            raise HTTPException(status, str(refusal)) from refusal
        return show_order(request, site, number, problem=str(refusal), status=status)
    return site.go_on(f"Order {number} is {done.result.status.value} now.", done, f"/orders/{quote(number, safe='')}")

"""The REST interface: what each address answers, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from order_entry.model import FOURTEEN, Customer, Status, current_job, employee_details, orders_of_customer, table
from order_entry.orders import Line, place_order
from order_entry.sampling import sample
from order_entry.system import System
from order_entry.web.api import SINGLE
from order_entry.web.changes import CHANGES
from order_entry.web.problems import MEDIA_TYPE
from order_entry.web.questions import PATHS
from order_entry.web.shown import form_text
from tests.examples.order_entry.business import business, contents, quantity, total
from tests.examples.order_entry.conftest import World
from tests.examples.order_entry.test_patterns import NOTHING, VALUES, answer_of
from tests.examples.order_entry.web.front import front
from tests.examples.order_entry.web.test_forms import HIRE
from torusdb.modeling import Entity, Meter, Store

each_pattern = pytest.mark.parametrize("name", FOURTEEN)

VALUES_PER_PATTERN = 4
JSON = {"content-type": "application/json"}
LINE = {"product": "P1", "warehouse": "W1", "quantity": 2}
ORDER: dict[str, Any] = {"customer": "C1", "lines": [LINE]}


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Store, httpx.Client]]:
    """For what is refused, and so changes nothing."""
    with business(stream=True) as system, front(system) as client:
        place_order(system.store, "C1", [Line("P1", "W1", 1)], number="N1")
        yield system.store, client


def asked(client: httpx.Client, name: str, values: dict[str, Any], **paging: Any) -> httpx.Response:
    texts = {field: form_text(value) for field, value in values.items() if value is not None}
    path = PATHS[name].format(**{field: quote(value, safe="") for field, value in texts.items()})
    query = {field: value for field, value in texts.items() if f"{{{field}}}" not in PATHS[name]}
    return client.get(f"/api{path}", params=query | paging)


def plain(entity: Entity) -> dict[str, Any]:
    """As JSON has it."""

    def value_of(value: Any) -> Any:
        match value:
            case Decimal():
                return f"{value:.2f}"
            case datetime():
                return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            case date():
                return value.isoformat()
            case Enum():
                return value.value
        return value

    names = type(entity).__model__.attributes
    return {"kind": type(entity).__name__} | {name: value_of(getattr(entity, name)) for name in names}


# What can be asked


@each_pattern
def test_the_answer_is_that_of_the_pattern_page_by_page(reader: httpx.Client, small: World, name: str) -> None:
    for values in sample(small.reference, name, VALUES_PER_PATTERN):
        stored = answer_of(small.store, FOURTEEN[name], values)
        expected = [plain(each) for each in (stored if isinstance(stored, list) else [stored])]
        if name in SINGLE:
            assert [asked(reader, name, values).json()] == expected
            continue
        found, cursor = [], None
        while True:
            content = asked(reader, name, values, limit=7, **({"cursor": cursor} if cursor else {})).json()
            found += content["items"]
            cursor = content["cursor"]
            if cursor is None:
                break
            assert len(content["items"]) == 7
        assert found == expected


@each_pattern
def test_headers_say_what_it_took(reader: httpx.Client, small: World, name: str) -> None:
    (values,) = sample(small.reference, name, 1)
    meter = Meter()
    answer_of(Store(table, small.system.dynamodb, observe=meter), FOURTEEN[name], values)
    headers = asked(reader, name, values, **({} if name in SINGLE else {"limit": 100})).headers
    assert int(headers["items-read"]) == meter.items_read
    assert float(headers["capacity-units"]) == meter.capacity_units


@each_pattern
def test_of_what_is_not_there_the_list_is_empty_and_the_thing_is_a_404(reader: httpx.Client, name: str) -> None:
    values = {
        field: value for field, value in NOTHING.items() if f":{field}" in VALUES[name] or field in names_of(name)
    }
    answered = asked(reader, name, values)
    if name in SINGLE:
        assert answered.status_code == 404
        assert answered.json()["detail"].startswith("There is no ")
    else:
        assert answered.json() == {"items": [], "cursor": None}


def names_of(name: str) -> set[str]:
    code = FOURTEEN[name].make.__code__
    return set(code.co_varnames[: code.co_argcount]) - {"first_name"}


def test_an_order_is_answered_with_its_items(reader: httpx.Client, small: World) -> None:
    (values,) = sample(small.reference, "orders_of_customer", 1)
    order = small.store.run(orders_of_customer(**values)).all()[0]
    items = reader.get(f"/api/orders/{order.number}").json()["items"]
    assert items[-1] == plain(order)
    assert {each["kind"] for each in items[:-1]} == {"OrderItem"}


def test_a_cursor_is_of_one_question(reader: httpx.Client, small: World) -> None:
    values = {"day": date(2000, 1, 1)}
    cursor = asked(reader, "employees_hired_since", values, limit=1).json()["cursor"]
    other = asked(reader, "employees_hired_since", {"day": date(2001, 1, 1)}, limit=1, cursor=cursor)
    assert problem(other, 400) == ("This cursor is of another query", {"": "This cursor is of another query"})
    assert problem(asked(reader, "employees_hired_since", values, cursor="nonsense"), 400)


BAD_QUESTIONS = {
    "no such status": ("/orders?status=LOST&since=2026-01-01&until=2026-01-02", {"status": "must be one of OPEN,"}),
    "no such day": ("/employees?day=2026-13-01", {"day": "must be a day such as 2026-03-31, not '2026-13-01'"}),
    "nothing given": (
        "/orders",
        {"status": "is missing", "since": "is missing", "until": "is missing"},
    ),
    "days backward": (
        "/orders?status=OPEN&since=2026-01-02&until=2026-01-01",
        {"until": "must not be before 2026-01-02, where the days begin"},
    ),
    "a key in a value": ("/products/P1%23X", {"product": "must not have a # or control characters in it"}),
    "no quarter": ("/quarters/2026/ranking", {"quarter": "must be a quarter such as 2026-Q1"}),
    "a limit of nothing": (
        "/employees?day=2026-01-01&limit=0",
        {"limit": "input should be greater than or equal to 1"},
    ),
    "no end": ("/employees?day=2026-01-01&limit=101", {"limit": "input should be less than or equal to 100"}),
}


@pytest.mark.parametrize(("path", "errors"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_a_bad_question_is_told_by_field(reader: httpx.Client, path: str, errors: dict[str, str]) -> None:
    detail, found = problem(reader.get(f"/api{path}"), 422)
    assert found.keys() == errors.keys()
    assert all(found[field].startswith(message) for field, message in errors.items())
    assert all(f"{field}: {message}" in detail for field, message in found.items())


def problem(answered: httpx.Response, status: int) -> tuple[str, dict[str, str]]:
    assert answered.status_code == status, answered.text
    assert answered.headers["content-type"] == MEDIA_TYPE
    content = answered.json()
    assert (content.keys(), content["status"]) == ({"title", "status", "detail", "errors"}, status)
    return content["detail"], content["errors"]


# What can be changed


def test_an_order_is_placed_read_and_brought_to_its_end(system: System, client: httpx.Client) -> None:
    lines = [LINE, {"product": "P2", "warehouse": "W1", "quantity": 1}]
    answered = client.post("/api/orders", json={"customer": "C1", "lines": lines})
    assert answered.status_code == 201
    order = answered.json()
    assert (order["status"], order["total"], order["representative"]) == ("OPEN", "39.98", "E1")
    stored = client.get(answered.headers["location"]).json()["items"]
    assert [each["kind"] for each in stored] == ["OrderItem", "OrderItem", "Order"]
    assert stored[-1] == order
    assert client.get("/api/products/P1").json()["stock"] == 13
    for status in ("PACKED", "SHIPPED", "DELIVERED"):
        answered = client.put(f"/api/orders/{order['number']}/status", json={"status": status})
        assert (answered.status_code, answered.json()["status"]) == (200, status)
    assert problem(client.put(f"/api/orders/{order['number']}/status", json={"status": "CANCELLED"}), 409)


def test_a_cancelled_order_gives_back_what_it_took(system: System, client: httpx.Client) -> None:
    number = client.post("/api/orders", json=ORDER).json()["number"]
    assert client.put(f"/api/orders/{number}/status", json={"status": "CANCELLED"}).json()["status"] == "CANCELLED"
    assert (quantity(system.store, "P1", "W1"), total(system.store, "P1")) == (10, 15)


def test_goods_and_people_change(system: System, client: httpx.Client) -> None:
    def made(path: str, body: dict[str, Any]) -> dict[str, Any]:
        answered = client.post(f"/api{path}", json=body)
        assert answered.status_code == 201, answered.text
        content: dict[str, Any] = answered.json()
        return content

    goods = made("/goods-receipts", {"warehouse": "W2", "product": "P2", "quantity": 4})
    assert goods == {"kind": "Inventory", "warehouse": "W2", "product": "P2", "quantity": 4}
    person = made("/employees", HIRE | {"salary": 2500.5, "warehouse": None})
    assert (person["salary"], person["warehouse"]) == ("2500.50", None)
    stored, job = system.store.run(employee_details(person["id"])).all()
    assert (plain(stored), job.title) == (person, "Stock Clerk")
    moved = made("/transfers", {"employee": person["id"], "department": "D2", "since": "2025-01-01"})
    assert (moved["department"], moved["since"], moved["until"]) == ("D2", "2025-01-01", None)
    made("/promotions", {"employee": person["id"], "job": "SA_REP", "salary": "3000.00", "since": "2025-02-01"})
    current = system.store.run(current_job(person["id"])).first()
    assert current is not None
    assert current.job == "SA_REP"
    made("/representative-changes", {"customer": "C2", "representative": person["id"]})
    customer = system.store.get(Customer, id="C2")
    assert customer is not None
    assert customer.representative == person["id"]


BAD_ORDERS: dict[str, tuple[Any, int, dict[str, str]]] = {
    "nothing": ({}, 422, {"customer": "is missing", "lines": "is missing"}),
    "a list": ([], 422, {"": "must be an object"}),
    "null": (None, 422, {"": ""}),  # in words of FastAPI, which differ from version to version
    "no lines": (ORDER | {"lines": []}, 422, {"lines": "must be 1 to 30"}),
    "too many lines": (ORDER | {"lines": [LINE] * 31}, 422, {"lines": "must be 1 to 30"}),
    "lines that are none": (ORDER | {"lines": "P1"}, 422, {"lines": "must be a list"}),
    "a line that is none": (ORDER | {"lines": [3]}, 422, {"lines.0": "must be an object"}),
    "a place twice": (ORDER | {"lines": [LINE, LINE]}, 422, {"lines": "name product P1 in warehouse W1 twice"}),
    "a misspelt name": (ORDER | {"lines": [LINE | {"qty": 1}]}, 422, {"lines.0.qty": "is not known here"}),
    "a price of one's own": (ORDER | {"total": "0.00"}, 422, {"total": "is not known here"}),
    "half a piece": (
        ORDER | {"lines": [LINE, LINE | {"quantity": 1.5}]},
        422,
        {"lines.1.quantity": "must be a whole number from 1 to 1000000, not 1.5"},
    ),
    "true": (ORDER | {"lines": [LINE | {"quantity": True}]}, 422, {"lines.0.quantity": "must be a whole number"}),
    "too many": (ORDER | {"lines": [LINE | {"quantity": 10**30}]}, 422, {"lines.0.quantity": "must be a whole number"}),
    "a number for a name": (ORDER | {"customer": 1}, 422, {"customer": "must be a text, not 1"}),
    "half a character": (ORDER | {"customer": "\ud800"}, 422, {"customer": "must not have a # or control"}),
    "nobody": (ORDER | {"customer": "C9"}, 422, {"customer": "There is no customer C9"}),
    "no such product": (
        ORDER | {"lines": [LINE | {"product": "P9"}]},
        422,
        {"lines.0.product": "There is no product"},
    ),
    "more than there is": (
        ORDER | {"lines": [LINE | {"quantity": 10}]},
        409,
        {"quantity": "Warehouse W1 has 9 of product P1, and 10 are wanted"},
    ),
}


@pytest.mark.parametrize(("body", "status", "errors"), BAD_ORDERS.values(), ids=BAD_ORDERS)
def test_a_bad_order_is_told_by_field_and_changes_nothing(
    shared: tuple[Store, httpx.Client], body: Any, status: int, errors: dict[str, str]
) -> None:
    store, client = shared
    before = contents(store)
    _, found = problem(client.post("/api/orders", content=json.dumps(body), headers=JSON), status)
    assert found.keys() == errors.keys()
    assert all(found[field].startswith(message) for field, message in errors.items())
    assert contents(store) == before


BAD_NAMES: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "a manager": ("/employees", HIRE | {"manager": "E9"}, {"manager": "There is no employee E9"}),
    "a job like a department": ("/employees", HIRE | {"job": "X", "department": "X"}, {"job": "There is no job X"}),
    "one of two products": (
        "/orders",
        ORDER | {"lines": [LINE, LINE | {"product": "P9"}]},
        {"lines.1.product": "There is no product P9"},
    ),
    "a warehouse": ("/goods-receipts", LINE | {"warehouse": "W9"}, {"warehouse": "There is no warehouse W9"}),
    "a representative": (
        "/representative-changes",
        {"customer": "C1", "representative": "E9"},
        {"representative": "There is no employee E9"},
    ),
}


@pytest.mark.parametrize(("path", "body", "errors"), BAD_NAMES.values(), ids=BAD_NAMES)
def test_what_a_body_names_and_is_not_there_is_told_by_the_field_that_names_it(
    shared: tuple[Store, httpx.Client], path: str, body: dict[str, Any], errors: dict[str, str]
) -> None:
    store, client = shared
    before = contents(store)
    assert problem(client.post(f"/api{path}", json=body), 422)[1] == errors
    assert contents(store) == before


EACH_POST = ["/orders", *(change.path for change in CHANGES.values())]
UNREADABLE = {
    "no JSON": (b"{", 400),
    "other bytes": (b"\xff\xfe\x00", 400),
    "deep": (b"[" * 30_000, 400),
    "a number of many digits": (b'{"customer": 1' + b"0" * 10_000 + b"}", 400),
    "a form": (b"customer=C1", 400),
    "nothing": (b"", 422),
    "a number": (b"7", 422),
}


@pytest.mark.parametrize("path", EACH_POST)
@pytest.mark.parametrize(("body", "status"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_refused_by_each_address(
    shared: tuple[Store, httpx.Client], path: str, body: bytes, status: int
) -> None:
    store, client = shared
    before = contents(store)
    assert problem(client.post(f"/api{path}", content=body, headers=JSON), status)
    assert contents(store) == before


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_does_not_say_that_it_is_json_is_refused(shared: tuple[Store, httpx.Client], kind: str) -> None:
    """What a form of another site can send says something else."""
    store, client = shared
    before = contents(store)
    answered = client.post("/api/orders", content=json.dumps(ORDER), headers={"content-type": kind})
    assert problem(answered, 415)[0] == "The body has to be JSON, and its Content-Type application/json"
    assert contents(store) == before


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_missing_or_not_known_is_told_for_each_change(shared: tuple[Store, httpx.Client], name: str) -> None:
    store, client = shared
    before = contents(store)
    change = CHANGES[name]
    _, errors = problem(client.post(f"/api{change.path}", json={"more": 1}), 422)
    required = {field for field, info in change.input.model_fields.items() if info.is_required()}
    assert errors == dict.fromkeys(required, "is missing") | {"more": "is not known here"}
    wrong = {field: ["a list"] for field in change.input.model_fields}
    assert problem(client.post(f"/api{change.path}", json=wrong), 422)[1].keys() == wrong.keys()
    assert contents(store) == before


BAD_STEPS = {
    "two at once": ("N1", {"status": "SHIPPED"}, 409, "Order N1 is OPEN, and becomes PACKED next"),
    "none": ("N1", {"status": "LOST"}, 422, "status: must be one of OPEN"),
    "of no order": ("N9", {"status": "PACKED"}, 404, "There is no order N9"),
    "of no order, backward": ("N9", {"status": "CANCELLED"}, 404, "There is no order N9"),
    "of what is no number": ("N%239", {"status": "PACKED"}, 422, "number: must not have a #"),
}


@pytest.mark.parametrize(("number", "body", "status", "message"), BAD_STEPS.values(), ids=BAD_STEPS)
def test_a_step_that_cannot_be_taken_is_told_and_not_taken(
    shared: tuple[Store, httpx.Client], number: str, body: dict[str, str], status: int, message: str
) -> None:
    store, client = shared
    before = contents(store)
    detail, _ = problem(client.put(f"/api/orders/{number}/status", json=body), status)
    assert message in detail
    assert contents(store) == before


def test_what_is_no_address_or_method_is_a_problem_too(reader: httpx.Client) -> None:
    assert problem(reader.get("/api/nothing"), 404)
    refused = reader.delete("/api/orders/N1")
    assert problem(refused, 405)
    assert refused.headers["allow"] == "GET"


class Throttled:
    """A client of a table that has too much to do for transactions."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def __getattr__(self, method: str) -> Any:
        return getattr(self.client, method)

    def transact_write_items(self, **parameters: Any) -> Any:
        reasons = [{"Code": "ThrottlingError", "Message": "too much"} for _ in parameters["TransactItems"]]
        error = Exception("cancelled")
        error.response = {  # type: ignore[attr-defined]
            "Error": {"Code": "TransactionCanceledException", "Message": "cancelled"},
            "CancellationReasons": reasons,
        }
        raise error


def test_a_table_that_has_too_much_to_do_is_told_as_such(system: System) -> None:
    before = contents(system.store)
    with front(System(Throttled(system.dynamodb), system.streams)) as client:
        detail, _ = problem(client.post("/api/orders", json=ORDER), 503)
        shown = client.post("/changes/receive-goods", data={"warehouse": "W1", "product": "P1", "quantity": "1"})
    assert "The database did not answer" in detail
    assert (shown.status_code, "The database did not answer" in shown.text) == (503, True)
    assert contents(system.store) == before


# The same order again, and many at once


def test_under_one_key_there_is_one_order(system: System, client: httpx.Client) -> None:
    key = {"Idempotency-Key": "key 1"}
    first = client.post("/api/orders", json=ORDER, headers=key)
    again = client.post("/api/orders", json=ORDER, headers=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert again.headers["location"] == first.headers["location"]
    assert quantity(system.store, "P1", "W1") == 8
    before = contents(system.store)
    other = client.post("/api/orders", json=ORDER | {"customer": "C2"}, headers=key)
    assert "came with another order before" in problem(other, 422)[1]["Idempotency-Key"]
    assert problem(client.post("/api/orders", json=ORDER, headers={"Idempotency-Key": "#"}), 422)
    assert contents(system.store) == before
    assert client.post("/api/orders", json=ORDER, headers={"Idempotency-Key": "key 2"}).status_code == 201


def test_an_order_is_answered_again_when_nothing_is_left_for_a_second(system: System, client: httpx.Client) -> None:
    everything = ORDER | {"lines": [LINE | {"quantity": 10}]}
    for status in (201, 200):
        answered = client.post("/api/orders", json=everything, headers={"Idempotency-Key": "k"})
        assert answered.status_code == status
    assert quantity(system.store, "P1", "W1") == 0


def at_once(calls: list[Callable[[], httpx.Response]]) -> list[int]:
    with ThreadPoolExecutor(len(calls)) as threads:
        return sorted(each.status_code for each in threads.map(lambda call: call(), calls))


def test_of_many_orders_for_the_last_piece_one_wins(system: System, client: httpx.Client) -> None:
    place_order(system.store, "C1", [Line("P1", "W1", 9)])
    last = {"customer": "C2", "lines": [LINE | {"quantity": 1}]}
    statuses = at_once([lambda: client.post("/api/orders", json=last)] * 24)
    assert statuses == [201] + [409] * 23
    assert (quantity(system.store, "P1", "W1"), total(system.store, "P1")) == (0, 5)
    day = datetime.now(UTC).date()
    assert len(system.store.run(orders_of_customer("C2", Status.OPEN, date(2020, 1, 1), day.replace(2999))).all()) == 1


def test_of_many_who_send_one_order_one_places_it(system: System, client: httpx.Client) -> None:
    key = {"Idempotency-Key": "the same"}
    statuses = at_once([lambda: client.post("/api/orders", json=ORDER, headers=key)] * 12)
    assert statuses == [200] * 11 + [201]
    assert quantity(system.store, "P1", "W1") == 8


def test_orders_through_forms_and_rest_at_once_never_take_more_than_there_is(
    system: System, client: httpx.Client
) -> None:
    def by_form(number: int) -> httpx.Response:
        form = {"customer": "C1", "product": "P2", "warehouse": "W1", "quantity": "2", "key": f"k{number}"}
        return client.post("/place-order", data=form)

    def by_rest() -> httpx.Response:
        line = {"product": "P2", "warehouse": "W1", "quantity": 2}
        return client.post("/api/orders", json={"customer": "C2", "lines": [line]})

    statuses = at_once([by_rest] * 8 + [lambda number=number: by_form(number) for number in range(8)])  # type: ignore[misc]
    assert len([each for each in statuses if each in {201, 303}]) == 3
    assert statuses.count(409) == 13
    assert (quantity(system.store, "P2", "W1"), total(system.store, "P2")) == (1, 1)

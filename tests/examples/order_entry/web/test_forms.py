"""Forms that change something: what they do, what they refuse, and that they then have changed nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest

from order_entry.model import Customer, Status, employee_details, orders_by_status
from order_entry.orders import LINES_MAX, Line, place_order
from order_entry.ranking import rank
from order_entry.system import System
from order_entry.web.receipts import RECEIPTS_MAX, Receipt, Receipts
from tests.examples.order_entry.business import business, contents, quantity, total
from tests.examples.order_entry.test_ranking import records_of
from tests.examples.order_entry.web.front import Page, front, page
from torusdb.modeling import Meter, Store

ORDER: dict[str, Any] = {"customer": "C1", "product": ["P1"], "warehouse": ["W1"], "quantity": ["2"], "key": "k1"}
HIRE = {
    "first_name": "Elm",
    "last_name": "Opal-Tern",
    "email": "elm@example.com",
    "phone": "+00 000 0000003",
    "job": "ST_CLERK",
    "department": "D1",
    "salary": "2500.50",
    "hired": "2024-06-01",
    "manager": "E2",
    "warehouse": "W1",
}


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Store, httpx.Client]]:
    """For what is refused, and so changes nothing."""
    with business(stream=True) as system, front(system) as client:
        place_order(system.store, "C1", [Line("P1", "W1", 1)], number="N1")
        yield system.store, client


def sent(client: httpx.Client, path: str, form: dict[str, Any]) -> Page:
    """To a form that does it, and on to the page that shows it."""
    answered = client.post(path, data=form)
    assert answered.status_code == 303, answered.text
    shown = client.get(answered.headers["location"])
    assert shown.status_code == 200
    return page(shown)


def test_an_order_is_placed_and_stock_and_ranking_change(system: System, client: httpx.Client) -> None:
    lines = {"product": ["P1", "P2", ""], "warehouse": ["W1", "W1", ""], "quantity": ["3", "2", ""]}
    shown = sent(client, "/place-order", ORDER | lines)
    (order,) = system.store.run(orders_by_status(Status.OPEN, *two_days())).all()
    assert f"Placed: order {order.number}, 69.97 in all." in shown.text
    assert "TransactWriteItems" in shown.text
    assert shown.texts["status"] == "OPEN"
    assert [row[2:5] for row in shown.tables[1][1:]] == [["P1", "W1", "3"], ["P2", "W1", "2"]]
    assert (quantity(system.store, "P1", "W1"), quantity(system.store, "P2", "W1")) == (7, 5)
    stock = page(client.get("/patterns/total_inventory?ask=1&product=P1"))
    assert stock.tables[0][1][-1] == "12"
    assert shown.texts["sales"] == "nothing"
    rank(system.store)("", records_of(system))
    assert page(client.get(f"/orders/{order.number}")).texts["sales"] == "69.97"


def two_days() -> tuple[date, date]:
    """Around now, whatever the time of the day."""
    now = datetime.now(UTC)
    return (now - timedelta(days=1)).date(), (now + timedelta(days=1)).date()


def test_an_order_that_is_sent_twice_is_placed_once(system: System, client: httpx.Client) -> None:
    sent(client, "/place-order", ORDER)
    again = sent(client, "/place-order", ORDER)
    assert "This order was placed already" in again.text
    assert quantity(system.store, "P1", "W1") == 8


def test_each_form_for_an_order_has_a_key_of_its_own(client: httpx.Client) -> None:
    keys = {page(client.get("/place-order")).values("key")[0] for _ in range(3)}
    assert len(keys) == 3


def test_the_form_shows_stock_and_gets_more_lines_with_what_is_in_it(client: httpx.Client) -> None:
    filled = {key: value for key, value in ORDER.items() if key != "key"} | {"more": "1"}
    found = page(client.get("/place-order", params=filled))
    assert found.values("customer") == ["C1"]
    assert found.values("product") == ["P1", "", "", "", "", ""]
    assert "Copper Kettle, 9.99 each. In stock:" in found.text
    assert "W1: 10" in found.text
    assert "W2: 5" in found.text
    many = page(client.get("/place-order", params=[("product", f"P{n}") for n in range(LINES_MAX)] + [("more", "1")]))
    assert len(many.values("product")) == LINES_MAX
    assert "More lines" not in many.text


BAD_ORDERS: dict[str, tuple[dict[str, Any], int, str, str]] = {
    "no lines": ({"product": [""], "warehouse": [""], "quantity": [""]}, 422, "", "must be 1 to 30"),
    "no customer": ({"customer": " "}, 422, "customer", "Customer must not be empty"),
    "a customer nobody knows": ({"customer": "C9"}, 422, "customer", "There is no customer C9"),
    "a customer that is no text": ({"customer": "C1\0"}, 422, "customer", "Customer must not have a # or control"),
    "half a line": ({"warehouse": [""]}, 422, "warehouse-1", "Warehouse must not be empty"),
    "a product nobody knows": ({"product": ["P9"]}, 422, "product-1", "There is no product P9"),
    "nothing of it": (
        {"quantity": ["0"]},
        422,
        "quantity-1",
        "Quantity must be a whole number from 1 to",
    ),
    "less than nothing": ({"quantity": ["-1"]}, 422, "quantity-1", "Quantity must be a whole number"),
    "half a piece": ({"quantity": ["1.5"]}, 422, "quantity-1", "Quantity must be a whole number"),
    "a number too long": ({"quantity": ["9" * 5000]}, 422, "quantity-1", "Quantity must be a whole number"),
    "other digits": ({"quantity": ["٣"]}, 422, "quantity-1", "Quantity must be a whole number"),
    "more than there is": (
        {"quantity": ["10"]},
        409,
        "quantity-1",
        "Warehouse W1 has 9 of product P1",
    ),
    "where there is none": ({"warehouse": ["W9"]}, 409, "quantity-1", "Warehouse W9 has 0 of product P1"),
    "a place twice": (
        {"product": ["P1", "P1"], "warehouse": ["W1", "W1"], "quantity": ["1", "1"]},
        422,
        "",
        "twice: put them together",
    ),
    "too many lines": (
        {name: [value] * 31 for name, value in (("product", "P1"), ("warehouse", "W1"), ("quantity", "1"))},
        422,
        "",
        "must be 1 to 30",
    ),
    "no key": ({"key": ""}, 422, "", "must not be empty"),
}


@pytest.mark.parametrize(("changed", "status", "field", "message"), BAD_ORDERS.values(), ids=BAD_ORDERS)
def test_a_bad_order_is_told_where_it_is_bad_and_changes_nothing(
    shared: tuple[Store, httpx.Client], changed: dict[str, Any], status: int, field: str, message: str
) -> None:
    store, client = shared
    before = contents(store)
    answered = client.post("/place-order", data=ORDER | changed)
    assert answered.status_code == status
    found = page(answered)
    if field:
        assert found.texts[f"{field}-problem"].startswith(message)
    assert message in found.text
    assert "This was not done, and nothing was changed." in found.text
    for name, values in (ORDER | changed).items():
        if name not in {"key", "customer"}:
            assert [value for value in found.values(name) if value] == [value for value in values if value]
    assert contents(store) == before


def test_all_that_is_wrong_is_told_at_once(shared: tuple[Store, httpx.Client]) -> None:
    _, client = shared
    wrong = {"customer": "", "product": ["P1", "P#"], "warehouse": ["W1", "W1"], "quantity": ["x", "1"]}
    found = page(client.post("/place-order", data=ORDER | wrong))
    assert {name for name in found.texts if name.endswith("-problem")} == {
        "customer-problem",
        "quantity-1-problem",
        "product-2-problem",
    }


def test_an_order_goes_its_way_by_its_buttons(system: System, client: httpx.Client) -> None:
    place_order(system.store, "C1", [Line("P1", "W1", 1)], number="N 1")
    for status in ("PACKED", "SHIPPED", "DELIVERED"):
        assert f"Mark as {status.lower()}" in page(client.get("/orders/N 1")).text
        shown = sent(client, "/orders/N 1/status", {"status": status})
        assert shown.texts["status"] == status
        assert f"Order N 1 is {status} now." in shown.text
        assert "Cancel it" not in shown.text
    assert "Mark as" not in page(client.get("/orders/N 1")).text


def test_an_order_is_cancelled_by_its_button(system: System, client: httpx.Client) -> None:
    place_order(system.store, "C1", [Line("P1", "W1", 4)], number="N1")
    assert sent(client, "/orders/N1/status", {"status": "CANCELLED"}).texts["status"] == "CANCELLED"
    assert quantity(system.store, "P1", "W1") == 10


BAD_STEPS = {
    "two at once": ("N1", "SHIPPED", 409, "Order N1 is OPEN, and becomes PACKED next"),
    "backward": ("N1", "OPEN", 409, "Order N1 is OPEN, and becomes PACKED next"),
    "none": ("N1", "", 422, "status: must be one of OPEN, PACKED"),
    "of no order": ("N9", "PACKED", 404, "There is no order N9"),
    "of what is no number": ("N%239", "PACKED", 422, "must not have a # or control characters in it"),
}


@pytest.mark.parametrize(("number", "status", "code", "message"), BAD_STEPS.values(), ids=BAD_STEPS)
def test_a_step_that_cannot_be_taken_is_told_and_not_taken(
    shared: tuple[Store, httpx.Client], number: str, status: str, code: int, message: str
) -> None:
    store, client = shared
    before = contents(store)
    answered = client.post(f"/orders/{number}/status", data={"status": status})
    assert answered.status_code == code
    assert message in page(answered).text
    assert contents(store) == before


def test_goods_are_received(system: System, client: httpx.Client) -> None:
    shown = sent(client, "/changes/receive-goods", {"warehouse": "W2", "product": "P2", "quantity": "4"})
    assert "Received: warehouse W2 has 4 of product P2 now." in shown.text
    assert shown.tables[0][1:] == [["W1", "P2", "7"], ["W2", "P2", "4"]]
    assert total(system.store, "P2") == 11


def test_someone_is_hired_transferred_and_promoted(system: System, client: httpx.Client) -> None:
    shown = sent(client, "/changes/hire", HIRE)
    employee = shown.tables[0][1][0]
    assert f"Hired: Elm Opal-Tern is employee {employee}." in shown.text
    move = {"employee": employee, "department": "D2", "warehouse": "", "since": "2025-01-01"}
    assert (
        f"Transferred: {employee} is in department D2 from 2025-01-01 on."
        in sent(client, "/changes/transfer", move).text
    )
    rise = {"employee": employee, "job": "SA_REP", "salary": "3000", "since": "2025-02-01"}
    shown = sent(client, "/changes/promote", rise)
    assert f"Promoted: {employee} is Sales Representative from 2025-02-01 on." in shown.text
    person, *jobs = system.store.run(employee_details(employee)).all()
    assert (person.salary, person.warehouse) == (Decimal(3000), None)
    assert [each.department for each in jobs] == ["D2", "D2", "D1"]
    change = {"customer": "C2", "representative": employee}
    shown = sent(client, "/changes/change-representative", change)
    assert f"Changed: {employee} looks after Company C2 now." in shown.text
    customer = system.store.get(Customer, id="C2")
    assert customer is not None
    assert customer.representative == employee


BAD_CHANGES: dict[str, tuple[str, dict[str, Any], int, str, str]] = {
    "no salary": ("hire", HIRE | {"salary": "much"}, 422, "salary", "must be an amount such as 2500.50, not 'much'"),
    "a salary of nothing": ("hire", HIRE | {"salary": ""}, 422, "salary", "must be an amount such as 2500.50"),
    "a salary that is no number": ("hire", HIRE | {"salary": "NaN"}, 422, "salary", "must be an amount from 0"),
    "a huge salary": ("hire", HIRE | {"salary": "1e999999"}, 422, "salary", "must be an amount from 0"),
    "a salary below its job's": (
        "hire",
        HIRE | {"salary": "1"},
        422,
        "salary",
        "must be 1000 to 9000",
    ),
    "parts of a cent": ("hire", HIRE | {"salary": "2500.505"}, 422, "salary", "must have at most two decimals"),
    "no first day": ("hire", HIRE | {"hired": "soon"}, 422, "hired", "must be a day such as 2026-03-31"),
    "no address": ("hire", HIRE | {"email": "elm"}, 422, "email", "must be an address such as name@example.com"),
    "a job that is none": ("hire", HIRE | {"job": "KING"}, 422, "job", "There is no job KING"),
    "a department that is none": ("hire", HIRE | {"department": "D9"}, 422, "department", "There is no department D9"),
    "a manager who is nobody": ("hire", HIRE | {"manager": "E9"}, 422, "manager", "There is no employee E9"),
    "goods that are none": (
        "receive-goods",
        {"warehouse": "W1", "product": "P9", "quantity": "1"},
        422,
        "product",
        "There is no product P9",
    ),
    "no quantity": ("receive-goods", {"warehouse": "W1", "product": "P1"}, 422, "quantity", "must be a whole number"),
    "the past": (
        "transfer",
        {"employee": "E1", "department": "D2", "since": "2020-01-01"},
        422,
        "since",
        "must be after 2020-05-01",
    ),
    "the same job": (
        "promote",
        {"employee": "E1", "job": "SA_REP", "salary": "2000", "since": "2025-01-01"},
        422,
        "job",
        "must be another",
    ),
    "nobody": (
        "promote",
        {"employee": "E9", "job": "SA_REP", "salary": "2000", "since": "2025-01-01"},
        422,
        "employee",
        "There is no employee E9",
    ),
    "no representative": (
        "change-representative",
        {"customer": "C1", "representative": "E2"},
        422,
        "representative",
        "must be a sales representative, and E2 is none",
    ),
}


@pytest.mark.parametrize(("form", "values", "status", "field", "message"), BAD_CHANGES.values(), ids=BAD_CHANGES)
def test_a_bad_change_is_told_beside_its_field_and_changes_nothing(
    shared: tuple[Store, httpx.Client], form: str, values: dict[str, Any], status: int, field: str, message: str
) -> None:
    store, client = shared
    before = contents(store)
    answered = client.post(f"/changes/{form}", data=values)
    assert answered.status_code == status
    found = page(answered)
    assert message in found.texts[f"{field}-problem"]
    assert set(dict(found.fields).items()) >= set(values.items()), "what was sent stays in the form"
    assert contents(store) == before


@pytest.mark.parametrize("name", ["receive-goods", "hire", "transfer", "promote", "change-representative"])
def test_a_form_as_it_is_first_shown_can_be_sent(name: str, client: httpx.Client, system: System) -> None:
    """For people who only want to see what happens: whatever it offers is there."""
    place_order(system.store, "C1", [Line("P1", "W1", 1)])
    form = page(client.get(f"/changes/{name}"))
    allowed = {"ST_MAN": "SA_MAN", "6000.00": "6000.00"}  # the small business has no stock managers
    answered = client.post(f"/changes/{name}", data={field: allowed.get(value, value) for field, value in form.fields})
    assert answered.status_code == 303, page(answered).text


def test_a_file_in_a_form_is_refused(shared: tuple[Store, httpx.Client]) -> None:
    store, client = shared
    before = contents(store)
    answered = client.post("/changes/receive-goods", data={"warehouse": "W1"}, files={"product": b"P1"})
    assert answered.status_code == 400
    assert "Too many files" in page(answered).text
    assert contents(store) == before


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"\xff\xfe%%%", "application/x-www-form-urlencoded"), (b"--x\r\nbroken", "multipart/form-data; boundary=x")],
)
def test_what_is_no_form_is_refused(shared: tuple[Store, httpx.Client], content: bytes, kind: str) -> None:
    store, client = shared
    before = contents(store)
    answered = client.post("/place-order", content=content, headers={"content-type": kind})
    assert answered.status_code in {400, 422}
    assert contents(store) == before


def test_a_page_that_a_form_led_to_can_be_loaded_again(client: httpx.Client, system: System) -> None:
    answered = client.post("/changes/receive-goods", data={"warehouse": "W1", "product": "P1", "quantity": "1"})
    for _ in range(2):
        assert "Received:" in client.get(answered.headers["location"]).text
    assert total(system.store, "P1") == 16
    assert "Received:" not in client.get("/patterns/total_inventory?receipt=none").text


def test_receipts_are_kept_for_the_last_that_were_made() -> None:
    receipts = Receipts()
    names = [receipts.keep(Receipt(str(number), Meter(), 0.0)) for number in range(RECEIPTS_MAX + 1)]
    assert receipts.find(names[0]) is None
    found = receipts.find(names[-1])
    assert found is not None
    assert found.message == str(RECEIPTS_MAX)
    assert receipts.find(None) is None

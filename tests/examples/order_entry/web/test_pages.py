"""Pages that read: each pattern's form, its answer, and what was sent for it."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from order_entry.model import FOURTEEN, Employee, table
from order_entry.orders import Line, place_order
from order_entry.sampling import sample
from order_entry.system import System, in_this_process
from order_entry.web.follower import Follower
from order_entry.web.offers import Offers
from order_entry.web.questions import QUESTIONS, ROWS_PER_PAGE
from order_entry.web.shown import form_text
from tests.examples.order_entry.business import HIRED, contents, entities
from tests.examples.order_entry.conftest import World
from tests.examples.order_entry.test_patterns import NOTHING, answer_of
from tests.examples.order_entry.web.front import front, page
from torusdb.modeling import Meter, Store

each_pattern = pytest.mark.parametrize("name", FOURTEEN)

VALUES_PER_PATTERN = 3


def asked(name: str, values: dict[str, Any]) -> str:
    return f"/patterns/{name}?{urlencode({'ask': 1} | {field: form_text(value) for field, value in values.items()})}"


def test_the_start_leads_to_every_pattern_and_form_and_shows_every_key(reader: httpx.Client) -> None:
    start = page(reader.get("/"))
    for link in set(start.links):
        if not link.startswith(("#", "data:")):
            assert reader.get(link).status_code == 200, link
    assert {f"/patterns/{name}" for name in FOURTEEN} <= set(start.links)
    (keys,) = start.tables
    assert len(keys) == 1 + sum(len(model.keys) for model in table.entities.values())
    assert ["Order", "table", "ORDER#{number}", "ORDER"] in keys
    assert ["gsi2 × 15", "ORDERS#{status}", "{placed}#{number}"] in keys


@each_pattern
def test_a_pattern_offers_values_that_have_an_answer_and_shows_its_source(reader: httpx.Client, name: str) -> None:
    form = page(reader.get(f"/patterns/{name}"))
    assert f"def {name}(" in form.texts["source"]
    assert "request" not in form.texts, "nothing was asked yet"
    answered = reader.get(f"/patterns/{name}", params={"ask": "1", **dict(form.fields)})
    assert answered.status_code == 200
    assert int(page(answered).texts["items-read"]) > 0


@each_pattern
def test_a_pattern_shows_its_answer_the_request_and_what_it_cost(reader: httpx.Client, small: World, name: str) -> None:
    for values in sample(small.reference, name, VALUES_PER_PATTERN):
        meter = Meter()
        answer = answer_of(Store(table, small.system.dynamodb, observe=meter), FOURTEEN[name], values)
        expected = answer if isinstance(answer, list) else [answer]
        found = page(reader.get(asked(name, values)))
        assert int(found.texts["requests"]) == len(meter.calls)
        assert found.texts["request"].replace("\n", "").isprintable()
        request = json.loads(found.texts["request"])
        assert 1 <= request.pop("Limit", 1) <= ROWS_PER_PAGE  # of a shard, little more than its part of the page
        assert request in [{k: v for k, v in call.parameters.items() if k != "Limit"} for call in meter.calls]
        if len(expected) <= ROWS_PER_PAGE:
            assert int(found.texts["items-read"]) == meter.items_read
            assert float(found.texts["capacity-units"]) == meter.capacity_units
        answer_tables = [rows for rows in found.tables if rows[0][0] != "Partition"]
        assert sum(len(rows) - 1 for rows in answer_tables) == min(len(expected), ROWS_PER_PAGE)


def test_the_cells_are_what_is_stored(system: System) -> None:
    with front(system) as client:
        found = page(client.get("/patterns/employees_in_warehouse?ask=1&warehouse=W1"))
    assert found.tables == [
        [
            ["Id", "First name", "Last name", "Email", "Phone", "Hired", "Salary", "Warehouse"],
            ["E2", "Ash", "Quartz-E2", "E2@example.com", "+00 000 0000000", HIRED.isoformat(), "2,000.00", "W1"],
        ]
    ]
    assert "/patterns/employee_details?ask=1&employee=E2" in found.links


def test_all_that_is_stored_comes_page_by_page(reader: httpx.Client, small: World) -> None:
    values = {"day": date(2000, 1, 1)}
    expected = answer_of(small.store, FOURTEEN["employees_hired_since"], values)
    assert len(expected) > ROWS_PER_PAGE
    first = page(reader.get(asked("employees_hired_since", values)))
    assert int(first.texts["items-read"]) > ROWS_PER_PAGE
    assert "Each shard was asked for a whole page" in first.text
    ids: list[str] = []
    link: str | None = asked("employees_hired_since", values)
    while link:
        found = page(reader.get(link))
        ids += [row[0] for row in found.tables[0][1:]]
        link = next((each for each in found.links if "cursor=" in each), None)
    assert ids == [each.id for each in expected]


@each_pattern
def test_what_is_not_there_is_said(reader: httpx.Client, name: str) -> None:
    values = {field: NOTHING[field] for field in QUESTIONS[name].input.model_fields if field in NOTHING}
    answered = reader.get(asked(name, values))
    assert answered.status_code == 200
    assert "Nothing is stored that answers this." in page(answered).text


BAD_VALUES = {
    "nothing": ("employee_details", {"employee": " "}, "employee", "Employee must not be empty"),
    "another key": ("employee_details", {"employee": "E1#JOB"}, "employee", "Employee must not have a # or"),
    "too long": ("total_inventory", {"product": "ß" * 101}, "product", "Product must not be longer than 200 bytes"),
    "no day": ("employees_hired_since", {"day": "2026-02-30"}, "day", "Hired since must be a day such as 2026-03-31"),
    "a day in words": ("employees_hired_since", {"day": "today"}, "day", "Hired since must be a day"),
    "a day long ago": ("employees_hired_since", {"day": "0001-01-01"}, "day", "Hired since must be in the years 1900"),
    "no status": (
        "orders_by_status",
        {"status": "LOST", "since": "2026-01-01", "until": "2026-01-02"},
        "status",
        "Status must be one of OPEN, PACKED",
    ),
    "days backward": (
        "orders_by_status",
        {"status": "OPEN", "since": "2026-01-02", "until": "2026-01-01"},
        "until",
        "To must not be before 2026-01-02",
    ),
    "no quarter": ("ranking", {"quarter": "2026-Q5"}, "quarter", "Quarter must be a quarter such as 2026-Q1"),
}


@pytest.mark.parametrize(("name", "values", "field", "message"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_value_that_makes_no_sense_is_told_beside_its_field(
    reader: httpx.Client, name: str, values: dict[str, str], field: str, message: str
) -> None:
    answered = reader.get(f"/patterns/{name}", params={"ask": "1", **values})
    assert answered.status_code == 422
    found = page(answered)
    assert found.texts[f"{field}-problem"].startswith(message)
    assert all(value in answered.text or "ß" in value for value in values.values()), "stays in the form"
    assert "request" not in found.texts, "nothing was sent"


def test_a_field_that_is_missing_is_told(reader: httpx.Client) -> None:
    answered = reader.get("/patterns/inventory?ask=1&product=P000001")
    assert answered.status_code == 422
    assert page(answered).texts["warehouse-problem"] == "Warehouse is missing"


@pytest.mark.parametrize("cursor", ["x", "1AAAA", "1" + "A" * 3000])
def test_a_cursor_that_is_none_is_told(reader: httpx.Client, cursor: str) -> None:
    answered = reader.get("/patterns/employees_in_warehouse", params={"ask": 1, "warehouse": "W1", "cursor": cursor})
    assert answered.status_code == 400
    assert re.search("This (is not a cursor|cursor is of another query)", page(answered).text)


@pytest.mark.parametrize("path", ["/nothing", "/patterns/none", "/orders/none", "/changes/none", "/patterns/%00"])
def test_what_is_no_page_is_told_as_one(reader: httpx.Client, path: str) -> None:
    answered = reader.get(path)
    assert answered.status_code == 404
    assert "Not Found" in page(answered).texts["main"]


def test_a_method_that_a_page_has_not_is_told(reader: httpx.Client) -> None:
    assert reader.post("/").status_code == 405
    assert reader.delete("/place-order").status_code == 405


HOSTILE = '"><script>alert(1)</script><a href="javascript:x">'


def test_what_is_sent_or_stored_is_never_taken_for_html(system: System) -> None:
    with front(system) as client:
        for path in ("/patterns/employee_details?ask=1&employee=", "/place-order?customer=C1&product=", "/orders/"):
            answered = client.get(path + httpx.QueryParams({"x": HOSTILE})["x"])
            assert "script" not in page(answered).elements
            assert HOSTILE not in answered.text
        employee = system.store.get(Employee, id="E2")
        assert employee is not None
        employee.first_name = HOSTILE
        system.store.put(employee)
        answered = client.get("/patterns/employees_in_warehouse?ask=1&warehouse=W1")
        assert HOSTILE in [row[1] for row in page(answered).tables[0]]


def test_offers_are_found_without_a_scan_and_as_soon_as_there_are_any(system: System) -> None:
    meter = Meter()
    offers = Offers(Store(table, system.dynamodb, observe=meter))
    system.store.delete_many([each for each in entities() if isinstance(each, Employee)])
    assert offers.all() == {}
    system.store.put_many(entities())
    place_order(system.store, "C2", [Line("P1", "W2", 1)])
    expected = {"customer": "C2", "product": "P1", "warehouse": "W2", "representative": "E1", "last_name": "Quartz-E2"}
    assert {name: offers.first(name) for name in expected} == expected
    assert {call.method for call in meter.calls} == {"query"}
    asked_so_far = len(meter.calls)
    offers.all()
    assert len(meter.calls) == asked_so_far


def test_a_table_that_is_empty_has_all_its_pages() -> None:
    with in_this_process() as system:
        system.create_table()
        with front(system) as client:
            for link in set(page(client.get("/")).links):
                assert not link.startswith("/") or client.get(link).status_code == 200, link
            status = dict(page(client.get("/patterns/orders_by_status?ask=1&since=&until=")).fields)
            assert "since" in status


def test_a_mistake_of_ours_is_told_as_one_and_not_what_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken:
        def get_item(self, **_: object) -> None:
            raise RuntimeError("secret")

    with front(System(Broken(), Broken())) as client:
        last = {"Connection": "close"}  # which the server does after a mistake, without saying so
        shown = client.get("/patterns/total_inventory?ask=1&product=P1", headers=last)
        told = client.get("/api/products/P1", headers=last)
    assert (shown.status_code, told.status_code) == (500, 500)
    assert "Something went wrong here" in page(shown).text
    assert told.json()["detail"] == "Something went wrong here, and is in the server's log"
    assert "secret" not in shown.text + told.text
    assert "RuntimeError: secret" in capsys.readouterr().err


def test_reading_changes_nothing(system: System) -> None:
    before = contents(system.store)
    with front(system) as client:
        for link in set(page(client.get("/")).links):
            client.get(link) if link.startswith("/") else None
        client.get("/place-order?customer=C1&product=P1&warehouse=W1&quantity=1&more=1")
    assert contents(system.store) == before


def test_every_page_says_that_the_ranking_has_stopped(system: System) -> None:
    class Broken:
        def run(self) -> None:
            raise OSError("no more shards")

        def stop(self) -> None:
            pass

    follower = Follower(Broken())  # type: ignore[arg-type]
    follower.thread.start()
    follower.thread.join()
    with front(system, follower) as client:
        assert "its worker has ended: no more shards" in page(client.get("/")).text
        health = client.get("/health")
    assert (health.status_code, "no more shards" in health.text) == (503, True)


def test_who_watches_is_told_that_all_is_well(reader: httpx.Client) -> None:
    assert (reader.get("/health").status_code, reader.get("/health").text) == (200, "ok\n")

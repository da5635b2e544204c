"""What a person sees: a real browser, with no scripts to run, walks through the pages."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Locator, expect, sync_playwright
from playwright.sync_api import Page as Tab

from order_entry.system import System
from tests.examples.order_entry.business import contents, quantity

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WAIT_MILLISECONDS = 30_000
"""Never waited for, unless something is missing."""
NARROW_PIXELS = 420

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """Narrow and with scripts switched off: everything has to work so."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": NARROW_PIXELS, "height": 900})
    context.set_default_timeout(WAIT_MILLISECONDS)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    yield opened
    context.close()
    assert [text for text in complaints if "status of 4" not in text] == [], "of policy, style or markup"


def cells(row: Locator) -> list[str]:
    return [text.strip() for text in row.locator("td").all_inner_texts()]


def test_from_the_start_to_a_pattern_its_rows_and_its_request(tab: Tab, reader: httpx.Client) -> None:
    tab.goto(str(reader.base_url))
    tab.get_by_role("link", name="Employees in a warehouse, by name").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Employees in a warehouse, by name")
    expect(tab.locator("#source")).to_contain_text("def employees_in_warehouse(warehouse: str)")
    tab.get_by_label("Warehouse").fill("W0003")
    tab.get_by_role("button", name="Ask").click()
    rows = tab.get_by_role("region", name="Employee").locator("tbody tr")
    expected = reader.get("/api/warehouses/W0003/employees").json()["items"]
    assert [cells(row)[0] for row in rows.all()] == [each["id"] for each in expected]
    request = json.loads(tab.locator("#request").inner_text())
    assert (request["IndexName"], request["ExpressionAttributeValues"][":v0"]) == ("gsi3", {"S": "WAREHOUSE#W0003"})
    expect(tab.locator("#items-read")).to_have_text(str(len(expected)))
    expect(tab.locator("#capacity-units")).to_have_text(re.compile(r"^\d"))
    rows.first.get_by_role("link").first.click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("Employee details by id")
    expect(tab.get_by_label("Employee", exact=True).first).to_have_value(expected[0]["id"])


def test_an_order_is_placed_and_inventory_and_ranking_change(tab: Tab, system: System, client: httpx.Client) -> None:
    base = str(client.base_url).rstrip("/")
    consumer = system.ranking_consumer()
    tab.goto(f"{base}/place-order")
    tab.get_by_label("Customer").fill("C1")
    line_1 = tab.locator(".line").first
    line_1.get_by_label("Product").fill("P1")
    tab.get_by_role("button", name="Show stock").click()
    expect(tab.locator(".stock").first).to_contain_text("W1: 10")
    for name, values in (("product", ("P1", "P2")), ("warehouse", ("W1", "W1")), ("quantity", ("4", "1"))):
        for number, value in enumerate(values, start=1):
            tab.locator(f"#{name}-{number}").fill(value)
    tab.get_by_role("button", name="Place the order").click()
    expect(tab.get_by_role("status")).to_contain_text("59.96 in all")
    expect(tab.locator("#status")).to_have_text("OPEN")
    tab.get_by_role("link", name="P1 in W1").click()
    inventory = tab.get_by_role("region", name="Inventory").locator("tbody tr")
    assert cells(inventory.first) == ["W1", "P1", "6"]
    tab.go_back()
    while consumer.step():
        pass
    tab.get_by_role("link", name=re.compile("representatives in")).click()
    ranking = tab.get_by_role("region", name="Sales").locator("tbody tr")
    employee, _, sold, orders = cells(ranking.first)
    assert (employee, sold, orders) == ("E1", "59.96", "1")
    tab.go_back()
    tab.get_by_role("button", name="Mark as packed").click()
    expect(tab.locator("#status")).to_have_text("PACKED")
    consumer.close()
    assert quantity(system.store, "P1", "W1") == 6


def test_what_is_wrong_is_shown_where_it_is_wrong(tab: Tab, system: System, client: httpx.Client) -> None:
    before = contents(system.store)
    tab.goto(f"{str(client.base_url).rstrip('/')}/place-order?customer=C1&product=P1&warehouse=W1&quantity=11")
    tab.get_by_role("button", name="Place the order").click()
    expect(tab.get_by_role("alert")).to_contain_text("nothing was changed")
    quantity_field = tab.locator("#quantity-1")
    expect(quantity_field).to_have_value("11")
    expect(quantity_field).to_have_attribute("aria-invalid", "true")
    expect(quantity_field).to_have_accessible_description("Warehouse W1 has 10 of product P1, and 11 are wanted")
    assert contents(system.store) == before
    quantity_field.fill("10")
    tab.get_by_role("button", name="Place the order").click()
    expect(tab.get_by_role("status")).to_contain_text("Placed")


def test_goods_are_received_and_someone_is_hired(tab: Tab, client: httpx.Client) -> None:
    tab.goto(str(client.base_url))
    tab.get_by_role("link", name="Receive goods").click()
    for label, value in (("Warehouse", "W2"), ("Product", "P2"), ("Quantity", "3")):
        tab.get_by_label(label).fill(value)
    tab.get_by_role("button", name="Receive goods").click()
    expect(tab.get_by_role("status")).to_contain_text("warehouse W2 has 3 of product P2 now")
    tab.get_by_role("link", name="Goods and people").click()
    tab.get_by_role("link", name="Hire an employee").click()
    for label, value in (("First name", "Elm"), ("Department", "D1"), ("First day", "2026-05-01")):
        tab.get_by_label(label).fill(value)
    tab.get_by_role("button", name="Hire an employee").click()
    expect(tab.get_by_role("status")).to_contain_text("Hired: Elm")
    assert "2026-05-01" in cells(tab.get_by_role("region", name="Employee").locator("tbody tr").first)


@pytest.mark.parametrize(
    "path", ["/", "/patterns/orders_by_status?ask=1&status=OPEN&since=2020-01-01&until=2026-12-31", "/api"]
)
def test_a_narrow_page_is_not_wider_than_its_window(tab: Tab, reader: httpx.Client, path: str) -> None:
    tab.goto(str(reader.base_url).rstrip("/") + path)
    assert tab.evaluate("document.scrollingElement.scrollWidth") == NARROW_PIXELS


def test_a_page_works_with_the_keyboard_alone(tab: Tab, reader: httpx.Client) -> None:
    tab.goto(f"{str(reader.base_url).rstrip('/')}/patterns/total_inventory")
    tab.keyboard.press("Tab")
    expect(tab.get_by_role("link", name="Skip to the content")).to_be_focused()
    tab.get_by_label("Product").focus()
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", name="The answer")).to_be_visible()

"""How a plan is told: tables, values and the picture."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.modeling.design.ordering import Customer, Order, customer, of_status, planned
from tests.modeling.design.test_capacity import shop_plan
from torusdb.modeling.design import Plan, Rate, Volume
from torusdb.modeling.design.growth import PLOT_FACTORS, growth_svg
from torusdb.modeling.design.report import FACTORS, as_values, bar, markdown, sections, terminal

SVG = "{http://www.w3.org/2000/svg}"


def rows(plan: Plan, title: str) -> dict[str, list[str]]:
    (section,) = [each for each in sections(plan) if each.title == title]
    return {row[0]: row[1:] for row in section.rows}


def test_tables_hold_the_figures_of_the_plan() -> None:
    made = shop_plan(average_load=0.5)
    assert rows(made, "Reads, at the busiest time")["of_status"] == [
        "Query ×4",
        "shop.by_status",
        "100",
        "64",
        "6",
        "600",
    ]
    assert rows(made, "Writes, at the busiest time")["Order"] == ["100,000,000", "1,000", "1", "3", "4,000"]
    assert rows(made, "Partitions")["shop"] == ["2,500", "2,100", "124", "3", "13", "13", "192 / 162 / 9.54"]
    hottest = rows(made, "Hottest keys, where they are known")
    assert hottest["Order.by_status"] == ["75", "125", "15%", "4", "1", "at least"]
    assert hottest["Customer.key"] == ["1,250", "200", "62%", "1", "1", "known"]
    cost = rows(made, "Cost")
    assert set(cost) >= {"on-demand, Standard", "provisioned, Standard", "provisioned, auto-scaled, Standard-IA"}
    (on_demand,) = [each for each in made.bills if each.mode == "on-demand" and each.table_class == "Standard"]
    assert cost["on-demand, Standard"][-1] == f"{on_demand.total:,.0f}"


def test_what_is_not_known_is_a_question_mark() -> None:
    made = planned(Volume(Customer, items=10, item_bytes=100))
    assert rows(made, "Reads, at the busiest time")["customer"][2:] == ["?", "?", "?", "?"]
    assert rows(made, "Writes, at the busiest time")["Order"] == ["?"] * 5
    assert "Rate(customer, per_second=…)" in rows(made, "Missing, and in no sum")


def test_the_terminal_lines_columns_up() -> None:
    text = terminal(shop_plan())
    block = text.partition("Partitions\n")[2].partition("\n\n")[0].splitlines()
    header, rule, *lines = block[:-1]
    assert header.split()[:3] == ["table", "or", "index"]
    ends = [match.end() for match in re.finditer("─+", rule)]
    assert all(line[end - 1] != " " and line[end : end + 1] in {"", " "} for line in lines for end in ends[1:])
    assert max(map(len, text.splitlines())) <= 125


def test_markdown_has_a_table_a_section() -> None:
    text = markdown(shop_plan())
    assert text.startswith("# The capacity plan of shop\n\n## Reads, at the busiest time\n\n| access pattern |")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert "- Rate(orders, per_second=…)" in text


def test_values_are_json_and_know_what_is_not_known() -> None:
    made = shop_plan()
    values = json.loads(json.dumps(as_values(made)))
    assert values["design"] == "shop"
    patterns = {each["name"]: each for each in values["patterns"]}
    assert patterns["of_status"]["read_units"] == 600
    assert patterns["orders"]["read_units"] is None
    assert [each["factor"] for each in values["growth"]] == list(FACTORS)
    assert values["growth"][3]["partitions"] == made.partitions
    assert values["bills"][0]["total"] == pytest.approx(made.bills[0].total)


def test_bars_grow_with_the_logarithm() -> None:
    values = [0.1, 1, 10, 100]
    lengths = [len(bar(value, values)) for value in values]
    assert lengths == sorted(lengths)
    assert lengths[-1] == 24
    assert len({after - before for before, after in pairwise(lengths)}) <= 2
    assert bar(0, values) == "" == bar(1, [])


# -- the picture


def texts(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ET.fromstring(svg).iter(f"{SVG}text")]


def test_the_picture_has_a_line_for_each_way_to_pay() -> None:
    svg = growth_svg(shop_plan(average_load=0.3))
    lines = {each.get("class"): each.get("points", "").split() for each in ET.fromstring(svg).iter(f"{SVG}polyline")}
    assert set(lines) == {"line on-demand", "line provisioned", "line auto-scaled", "line reserved"}
    for places in lines.values():
        assert len(places) == len(PLOT_FACTORS)
        heights = [float(place.split(",")[1]) for place in places]
        assert heights[-1] < heights[0], "upwards is less in a picture"
    told = texts(svg)
    assert "load and data, as a multiple of what is expected" in told
    assert {"0.1×", "1×", "100×", "on-demand", "provisioned, auto-scaled"} <= set(told)


def test_the_picture_says_in_words_what_it_shows() -> None:
    description = ET.fromstring(growth_svg(shop_plan())).find(f"{SVG}desc")
    assert description is not None
    assert "partitions grow from 4 to 1940" in (description.text or "")


def test_names_of_lines_do_not_touch() -> None:
    """Of lines that end at the same place."""
    svg = growth_svg(planned(Volume(Customer, items=1, item_bytes=1), Rate(customer, per_second=0.001)))
    heights = sorted(
        float(each.get("y", "0")) for each in ET.fromstring(svg).iter(f"{SVG}text") if "-text" in each.get("class", "")
    )
    assert all(after - before >= 15.9 for before, after in pairwise(heights))


def test_a_design_of_which_nothing_is_expected_can_be_drawn() -> None:
    assert "no Volume and no Rate says what there is to pay for" in " ".join(texts(growth_svg(planned())))


def test_styles_hold_within_the_picture_only() -> None:
    style = ET.fromstring(growth_svg(shop_plan())).find(f"{SVG}style")
    assert style is not None
    rules = [line for line in (style.text or "").splitlines() if "{" in line and not line.startswith("@")]
    assert rules
    assert [rule for rule in rules if not rule.startswith("  .torusdb-growth ")] == []


def test_names_are_escaped() -> None:
    made: Any = shop_plan()
    object.__setattr__(made, "design", made.design._replace(name="<shop>"))
    assert "<title>&lt;shop&gt;: cost" in growth_svg(made)


def test_an_order_and_its_rate_stand_for_themselves() -> None:
    made = planned(Volume(Order, items=1, item_bytes=100), Rate(of_status, per_second=1))
    assert rows(made, "Reads, at the busiest time")["of_status"][0] == "Query ×4"

"""Plots show each figure in its place on a logarithmic axis."""

from xml.etree import ElementTree

import pytest
from benchmarks.plots import LogScale, nice_range

from benchmarks import plots

SVG = "{http://www.w3.org/2000/svg}"


def elements(drawn: str, kind: str) -> list[dict[str, str]]:
    return [dict(element.attrib) for element in ElementTree.fromstring(drawn).iter(f"{SVG}{kind}")]


def test_equal_factors_are_equal_distances() -> None:
    scale = LogScale(1.0, 100.0, 50.0, 250.0)
    assert [scale.at(value) for value in (1.0, 10.0, 100.0)] == pytest.approx([50.0, 150.0, 250.0])


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0, 3.7, 91.0], (1.0, 100.0)), ([0.3, 1.0], (0.2, 2.0)), ([4.0], (2.0, 5.0)), ([1.0, 100.0], (1.0, 200.0))],
)
def test_an_axis_reaches_a_little_beyond_what_it_shows(values: list[float], expected: tuple[float, float]) -> None:
    assert nice_range(values) == pytest.approx(expected)


def test_ticks_are_round_numbers_within_the_axis() -> None:
    assert LogScale(0.5, 20.0, 0, 1).ticks() == pytest.approx([0.5, 1, 2, 5, 10, 20])
    assert LogScale(1.0, 10_000.0, 0, 1).ticks() == pytest.approx([1, 10, 100, 1000, 10_000])


def test_bars_go_right_from_one_where_torusdb_is_faster_and_left_where_it_is_slower() -> None:
    drawn = plots.ratio_plot("Ratios", {"GetItem": {"dynalite": 4.0, "dynoxide": 0.25}})
    *_, faster, slower = elements(drawn, "rect")
    assert float(slower["x"]) + float(slower["width"]) == pytest.approx(float(faster["x"]), abs=0.2)
    assert float(slower["width"]) == pytest.approx(float(faster["width"]), abs=0.2)


def test_a_name_with_special_characters_is_still_xml() -> None:
    drawn = plots.ratio_plot("<&>", {"Query <50>": {"moto & more": 2.0}})
    assert ElementTree.fromstring(drawn).find(f"{SVG}title").text == "<&>"  # type: ignore[union-attr]


def test_growth_has_a_line_for_each_server_in_each_panel() -> None:
    line = [(1000, 100.0), (10_000, 90.0)]
    drawn = plots.growth_plot({"GetItem": {"torusdb": line, "moto": line}, "Query 50": {"torusdb": line}})
    assert len(elements(drawn, "polyline")) == 3


def test_a_higher_rate_is_drawn_higher() -> None:
    drawn = plots.growth_plot({"GetItem": {"torusdb": [(1000, 10.0), (10_000, 1000.0)]}})
    (line,) = elements(drawn, "polyline")
    (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in line["points"].split())
    assert x1 < x2
    assert y1 > y2

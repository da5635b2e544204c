"""The report shows what was measured, and says of everything else why there is no figure."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.results import Growth, PeerFacts, Results

from benchmarks import report
from tests.benchmarks.conftest import SIZE, AddFigure

PAGE = "# Page\n\nAbove.\n\n<!-- run: begin -->\nold\n<!-- run: end -->\n\nBelow.\n"


def rows_of(text: str, heading: str) -> dict[str, list[str]]:
    """The cells of the first table behind a heading that starts so, by the first cell of each row."""
    _, _, behind = text.partition(f"\n{heading}")
    lines = re.search(r"(?:^\|.*\n?)+", behind, flags=re.MULTILINE)
    assert lines, f"no table behind {heading}"
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines.group().splitlines()]
    return {cells[0]: cells[1:] for cells in rows}


def test_ratios_and_rates_stand_in_two_tables(results: Results, add: AddFigure) -> None:
    add("torusdb", 100.0, 120.0, 90.0)
    add("dynalite", 50.0, 30.0, 30.0)
    text = report.run_section(results)
    ratios, rates = text.split("### Rates")
    assert rows_of(ratios, "#### 100,000 items of 0.3 KB, 16 connections")["GetItem"] == ["3.00", "–"]
    rates = rows_of(rates, "#### 100,000 items of 0.3 KB, 16 connections")
    assert rates["GetItem, requests/s"] == ["100 (1.00)", "–", "30.0 (1.00)", "–"]


def test_a_refused_figure_is_told_with_its_reason_once(results: Results, add: AddFigure) -> None:
    add("torusdb", 100.0)
    add("dynalite", refused="GetItem: not | the item").driver = "wrk 16"
    add("dynalite", refused="GetItem: not | the item").driver = "boto3"
    text = report.run_section(results)
    reasons = text.partition("### Without a figure")[2].strip().splitlines()
    assert reasons == ["- dynalite, GetItem (0.3 KB wrk 16, 0.3 KB boto3): GetItem: not \\| the item"]


def test_without_a_refusal_there_is_no_such_section(results: Results, add: AddFigure) -> None:
    add("torusdb", 100.0)
    assert "Without a figure" not in report.run_section(results)


def test_a_missing_server_is_told_and_has_no_column(results: Results, add: AddFigure) -> None:
    results.peers.append(PeerFacts("dynoxide", missing="npm is\nnot installed"))
    add("torusdb", 100.0)
    text = report.run_section(results)
    assert rows_of(text, "### The servers")["dynoxide"][-1] == "missing: npm is not installed"
    assert "dynoxide" not in text.partition("### Ratios")[2]


def test_servers_show_the_median_of_their_starts(results: Results) -> None:
    servers = rows_of(report.run_section(results), "### The servers")
    assert servers["torusdb 0.1.0"][:2] == ["300", "40.0"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.1234, "0.12"), (1.0, "1.00"), (9.994, "9.99"), (12.34, "12.3"), (123.4, "123"), (98765.0, "98,800")],
)
def test_figures_have_three_digits_that_mean_something(value: float, shown: str) -> None:
    assert report.significant(value) == shown


def test_a_section_is_replaced_between_its_markers_and_nothing_else() -> None:
    once = report.replace_section(PAGE, "run", "new")
    assert once == PAGE.replace("\nold\n", "\n\nnew\n\n")
    assert report.replace_section(once, "run", "newer") == once.replace("new", "newer")


def test_a_page_without_markers_is_refused_rather_than_written_over() -> None:
    with pytest.raises(ValueError, match="growth: begin"):
        report.replace_section(PAGE, "growth", "new")


def test_the_report_is_written_with_its_figures_and_its_plot(results: Results, add: AddFigure, tmp_path: Path) -> None:
    add("torusdb", 100.0)
    add("dynalite", 400.0)
    (tmp_path / "RESULTS.md").write_text(PAGE)
    report.write(tmp_path, "run", results)
    page = (tmp_path / "RESULTS.md").read_text()
    assert page.startswith("# Page\n\nAbove.")
    assert page.endswith("Below.\n")
    for picture in re.findall(r"!\[.*]\((.*)\)", page):
        drawn = ElementTree.parse(tmp_path / picture).getroot()
        assert "0.25" in [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert Results.load(tmp_path / "results" / "run.json") == results


def test_growth_shows_each_size_and_why_a_server_stopped(results: Results) -> None:
    results.growth = [
        Growth("torusdb", 1000, {"GetItem": 30_000.0}, 20_000.0, 50.0),
        Growth("torusdb", 10_000, {"GetItem": 29_000.0}, 21_000.0, 55.0),
        Growth("moto", 1000, {"GetItem": 300.0}, 100.0, 90.0),
        Growth("moto", 10_000, skipped="loads 100 items/s: would take 2 min"),
    ]
    text = report.growth_section(results)
    assert rows_of(text, "#### GetItem") == {
        "items": ["torusdb", "moto"],
        "---": ["---:", "---:"],
        "1,000": ["30,000", "300"],
        "10,000": ["29,000", "–"],
    }
    assert "- moto, 10,000 items: loads 100 items/s: would take 2 min" in text


def test_each_size_of_items_has_its_own_tables(results: Results, add: AddFigure) -> None:
    results.items["10 KB"] = 10_000
    add("torusdb", 100.0)
    add("torusdb", 50.0).size = "10 KB"
    text = report.run_section(results)
    assert text.count(f"#### 100,000 items of {SIZE}, 16 connections (wrk)") == 2
    assert text.count("#### 10,000 items of 10 KB, 16 connections (wrk)") == 2


def test_an_empty_page_takes_all_sections() -> None:
    page = report.empty_page()
    for name in report.SECTIONS:
        page = report.replace_section(page, name, f"figures of {name}")
    assert [line for line in page.splitlines() if line.startswith("figures")] == ["figures of run", "figures of growth"]

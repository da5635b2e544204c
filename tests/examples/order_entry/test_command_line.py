"""What is typed at a shell, and what comes of it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from order_entry.__main__ import app
from order_entry.model import FOURTEEN, SHARDS, quarter_of, ranking
from order_entry.orders import Line, place_order
from order_entry.system import at, in_this_process
from tests.examples.order_entry.business import entities
from tests.processes import serving
from torusdb.streams import Consumer


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("order_entry.__main__.out", Console(width=200))


def test_the_demo_shows_each_pattern_and_what_an_order_changes() -> None:
    done = run("demo", "--customers", "60")
    assert done.exit_code == 0, done.output
    rows = {cells[1].strip(): cells for line in done.output.splitlines() if len(cells := line.split("│")) == 8}
    assert rows.keys() == FOURTEEN.keys()
    for name, (_, _, _, requests, items_read, _, found, _) in rows.items():
        assert int(requests) == FOURTEEN[name].explanation.requests
        assert int(items_read) == int(found)
    assert re.search(r"has ordered 9 of .*: \d+ are left", done.output)
    assert re.search(r"Number 1 in \d{4}-Q\d: E\d+, who has sold for", done.output)


def test_what_is_sent_for_each_pattern_is_told() -> None:
    shown = run("patterns").output
    assert all(each.description in shown for each in FOURTEEN.values())
    assert shown.count(f"requests  {SHARDS}, in parallel") == 2


def test_data_are_made_in_a_directory_once(tmp_path: Path) -> None:
    directory = str(tmp_path / "data")
    done = run("generate", "--customers", "20", "--directory", directory)
    assert done.exit_code == 0, done.output
    again = run("generate", "--customers", "20", "--directory", directory)
    assert again.exit_code == 1
    assert "There is a table order_entry already: delete it, or write into another directory or server" in again.output
    with in_this_process(directory) as system:
        assert system.store.run(ranking("2025-Q1")).all() != []
        assert "LatestStreamArn" in system.dynamodb.describe_table(TableName="order_entry")["Table"]


def test_data_are_made_on_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    with serving("--in-memory") as server:
        done = run("generate", "--customers", "10", "--endpoint", f"http://127.0.0.1:{server.port}")
    assert done.exit_code == 0, done.output
    assert re.search(r"\d+ items in http://127\.0\.0\.1", done.output)


def test_the_ranking_of_a_server_is_kept_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")

    def run_for_a_while(consumer: Consumer) -> None:
        while consumer.step():
            pass
        consumer.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(Consumer, "run", run_for_a_while)
    with serving("--in-memory") as server:
        url = f"http://127.0.0.1:{server.port}"
        system = at(url)
        system.create_table()
        system.store.put_many(entities())
        order = place_order(system.store, "C1", [Line("P1", "W1", 2)])
        done = run("rank", "--endpoint", url)
        assert (done.exit_code, done.output) == (0, "follows the stream of order_entry (Ctrl-C ends it)\nstopped\n")
        (sales,) = system.store.run(ranking(quarter_of(order.placed))).all()
        assert (sales.employee, sales.total) == ("E1", order.total)
        system.dynamodb.close()
        system.streams.close()


def test_no_customers_are_refused() -> None:
    done = run("generate", "--customers", "0")
    assert done.exit_code == 2
    assert "Invalid value for '--customers'" in done.output


def test_the_benchmark_writes_a_page_and_a_plot(tmp_path: Path) -> None:
    done = run(
        "benchmark", "--customers", "20", "--size", "1", "--size", "2", "--values", "3", "--output", str(tmp_path)
    )
    assert done.exit_code == 0, done.output
    page = (tmp_path / "patterns.md").read_text()
    rows = {cells[1].strip(): cells[2:-1] for line in page.splitlines() if len(cells := line.split("|")) == 13}
    assert rows.keys() >= FOURTEEN.keys()
    for name in FOURTEEN:
        items, read = rows[name][0:2], rows[name][2:4]
        assert items == read
        assert all(float(cell.replace(",", "")) > 0 for cell in rows[name][4:])
    drawn = ElementTree.fromstring((tmp_path / "patterns.svg").read_text())
    bars = list(drawn.iter("{http://www.w3.org/2000/svg}rect"))
    assert len(bars) == len(FOURTEEN) * 2 * 2

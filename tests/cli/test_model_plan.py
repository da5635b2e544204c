"""`torusdb model plan`: its tables, its files, and what it says when it cannot."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.modeling.design.test_loading import MODEL
from torusdb.cli import main


@pytest.fixture(autouse=True)
def _beside_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(MODEL)


def planned(*options: str) -> int:
    return main(["model", "plan", "shop.py", *options])


def test_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned() == 0
    printed = capsys.readouterr().out
    assert "Reads, at the busiest time\n  access pattern" in printed
    assert "  customer        GetItem    shop" in printed
    assert "the busiest time lasts all month" in printed


def test_json_is_all_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned("--json", "--average-load", "0.5", "--utilisation", "0.5") == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["average_load"], values["utilisation"]) == (0.5, 0.5)
    assert values["resources"][0]["read_units"] == 1.5
    assert values["entities"][0]["items"] == 5


def test_files_are_written(tmp_path: Path) -> None:
    assert planned("--markdown", "plan.md", "--plot", "growth.svg") == 0
    assert (tmp_path / "plan.md").read_text(encoding="utf-8").startswith("# The capacity plan of shop")
    assert (tmp_path / "growth.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_prices_of_ones_own_are_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prices.json").write_text('{"region": "example-1", "currency": "EUR"}')
    assert planned("--prices", "prices.json") == 0
    assert "EUR, list prices of example-1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--prices", "none.json"], "The prices none.json cannot be read: "),
        (["--plot", "no/folder/growth.svg"], "no/folder/growth.svg cannot be written: No such file or directory"),
        (["--average-load", "3"], "average_load is a part, above 0 and up to 1, not 3.0"),
        (["--utilisation", "nan"], "utilisation is a part, above 0 and up to 1, not nan"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planned(*options) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"torusdb: {told}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_without_a_workload_it_says_what_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, _, _ = MODEL.partition("workload = ")
    (tmp_path / "bare.py").write_text(before)
    assert main(["model", "plan", "bare.py"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("torusdb: bare.py does not say how much its tables will hold")
    snippet = captured.err.split("write beside the model\n")[1]
    (tmp_path / "said.py").write_text(before + snippet)
    assert main(["model", "plan", "said.py"]) == 0
    assert "Customer" in capsys.readouterr().out


def test_the_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["model", "plan", "--help"])
    printed = capsys.readouterr().out
    assert "torusdb model plan shop.py --plot growth.svg" in printed
    assert "Volume(Order, items=2_000_000" in printed

"""The pages on the design kit: what they show is what happens."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.docs.walkthrough import walk
from torusdb.modeling import TableOptions

PAGES = Path(__file__).resolve().parents[2] / "docs" / "modeling"


@pytest.mark.parametrize("page", ["tutorial.md"])
def test_it_is_as_it_is_told(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3", reason="db.client() is boto3's")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    assert walk(PAGES / page, tmp_path) == []


def test_the_page_on_tables_is_as_it_is_told(
    torusdb_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3", reason="the commands ask by boto3")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.syspath_prepend(tmp_path)
    page = tmp_path / "tables.md"
    page.write_text((PAGES / "tables.md").read_text().replace("http://localhost:8000", torusdb_endpoint))
    assert walk(page, tmp_path) == []
    assert {"shop.yaml", "shop.tf", "shop.json", "shop_imported.py"} <= {path.name for path in tmp_path.iterdir()}


def test_the_page_on_tables_tells_of_all_options() -> None:
    told = re.findall(r"^\| `(\w+)` \|", (PAGES / "tables.md").read_text(), re.MULTILINE)
    assert told == list(TableOptions._fields)

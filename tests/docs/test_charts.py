"""The page on charts says what is true, and the chart that it links to is current."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.walkthrough import walk

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def write_chart(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return __import__("write_chart")


def test_the_page_is_as_it_is_told(write_chart: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "library.py").write_text(write_chart.library_source())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    assert walk(ROOT / "docs" / "modeling" / "charts.md", tmp_path) == []
    assert (tmp_path / "library.html").exists()


def test_the_chart_of_the_library_is_current(write_chart: ModuleType) -> None:
    assert write_chart.CHART.read_text(encoding="utf-8") == write_chart.chart(), "run tools/write_chart.py"

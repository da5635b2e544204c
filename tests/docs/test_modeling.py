"""The pages on the design kit: what they show is what happens."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.docs.walkthrough import walk

PAGES = Path(__file__).resolve().parents[2] / "docs" / "modeling"


@pytest.mark.parametrize("page", ["tutorial.md"])
def test_it_is_as_it_is_told(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3", reason="db.client() is boto3's")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    assert walk(PAGES / page, tmp_path) == []

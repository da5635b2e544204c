"""The page on capacity says what is true, and its code runs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from torusdb.cli.model.plan import EXAMPLES
from torusdb.modeling.design.cost import Prices, prices_from

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "modeling" / "capacity.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
MODEL, LINTS, ACCEPTED, PLAN, SHARDS = [text for language, text in BLOCKS if language == "python"]
TOLD_BY_LINTS, _, TOLD_BY_PLAN = [text for language, text in BLOCKS if not language]
(PRICES,) = [text for language, text in BLOCKS if language == "json"]


@pytest.fixture(autouse=True)
def _beside_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(MODEL)


def test_the_lints_say_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    exec(LINTS, {})
    assert capsys.readouterr().out == TOLD_BY_LINTS


def test_what_the_page_accepts_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shop.py").write_text(MODEL + ACCEPTED)
    exec(LINTS, {})
    assert re.findall(r"\[([a-z-]+)\] \(accepted: ", capsys.readouterr().out) == ["hot-keys", "costly-indexes"]


def test_the_plan_says_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(LINTS.partition("for ")[0] + PLAN, names)
    assert capsys.readouterr().out == TOLD_BY_PLAN
    assert str(names["picture"]).startswith("<svg")


def test_the_shards_are_those_of_the_page() -> None:
    exec(SHARDS, {})


def test_the_prices_of_the_page_and_of_the_help_are_read() -> None:
    prices = prices_from(json.loads(PRICES), "the page")
    assert prices.currency == "EUR"
    shown = EXAMPLES.partition("by the hour:\n")[2]
    assert prices_from(json.loads(shown), "the help") == prices
    assert set(json.loads(PRICES)) == set(Prices.__dataclass_fields__)

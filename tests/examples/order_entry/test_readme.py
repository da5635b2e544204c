"""The README of the example says what is true, and its code runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from order_entry.model import SHARDS, table
from torusdb.modeling import BoundKey

HOME = Path(__file__).resolve().parents[3] / "examples" / "order_entry"
README = (HOME / "README.md").read_text()


def table_of_keys() -> str:
    indexes = [None, *table.indexes]
    heads = ["entity", "table", *(index.name for index in table.indexes)]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    for model in sorted(table.entities.values(), key=lambda each: each.name):
        by_index = {key.index: key for key in model.keys.values()}
        cells = [shown(by_index[index]) if index in by_index else "" for index in indexes]
        lines.append(f"| {' | '.join([model.name, *cells])} |")
    return "\n".join(lines)


def shown(key: BoundKey[Any]) -> str:
    return "<br>".join(f"`{part.template.source}`" for part in key.parts)


def test_the_table_of_keys_is_that_of_the_model() -> None:
    assert table_of_keys() in README, table_of_keys()
    assert {key.shards for each in table.entities.values() for key in each.keys.values()} == {1, SHARDS}


def test_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(program, {})
    refused, found, *explained = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"Warehouse W0001 has \d+ of product P000001, and 10000 are wanted", refused)
    assert found == "[True]"
    assert "requests  15, in parallel" in "".join(explained)


def test_links_between_files_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert [link for link in links if not (HOME / link).exists()] == []

"""The page that compares the design kit with others: what it says of the kit is there, and what it says of others says
where that was read. (Whether it is still so there is not for a test to find out.)"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from torusdb.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "modeling" / "comparison.md"
TEXT = PAGE.read_text()
TABLES, _, LISTS = TEXT.partition("## Where it was read")
NOTHING_TO_SHOW = {"not found", "—", "**none**", "**no**", "PartiQL: none", "**no release yet, no users known**"}


def rows(text: str) -> list[list[str]]:
    lines = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    return [cells for line in lines if set(cells := line.split(" | ")) != {"---"}]


def compared() -> dict[str, dict[str, str]]:
    """What each is said to have, by row."""
    wide = [cells for cells in rows(TABLES.replace("| | ", "| . | ")) if len(cells) == 8]
    names = wide[0][1:]
    return {
        name: {cells[0]: cells[number] for cells in wide if cells[0] != "."} for number, name in enumerate(names, 1)
    }


def evidence() -> dict[str, dict[str, str]]:
    parts = re.split(r"^### (.*)$", LISTS, flags=re.MULTILINE)[1:]
    return {
        name: {row: where for row, where in rows(text) if row != "row"}
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def test_all_that_the_issue_names_are_compared() -> None:
    assert list(compared()) == list(evidence())
    assert set(compared()) == {
        "torusdb.modeling",
        "ElectroDB",
        "DynamoDB-Toolbox",
        "OneTable",
        "PynamoDB",
        "pydynox",
        "NoSQL Workbench",
    }
    assert all(len(found) > 30 for found in compared().values())


@pytest.mark.parametrize("name", compared())
def test_what_is_said_of_each_says_where_it_was_read(name: str) -> None:
    said = {row for row, cell in compared()[name].items() if cell not in NOTHING_TO_SHOW}
    assert said == set(evidence()[name])


@pytest.mark.parametrize(
    "target",
    sorted({each for where in evidence()["torusdb.modeling"].values() for each in re.findall("`(.*?)`", where)}),
)
def test_what_is_said_of_the_kit_is_there(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, _, arguments = target.partition(" ")
    if arguments:
        assert command == "torusdb"
        with pytest.raises(SystemExit) as ended:
            main([*arguments.split(), "--help"])
        assert ended.value.code == 0
        assert f"usage: {target}" in " ".join(capsys.readouterr().out.split())
    else:
        assert found(target) is not None


def found(path: str) -> Any:
    """A module, or what is in one."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


def test_links_of_the_page_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", TEXT)
    local = [link for link in links if not link.startswith("https://")]
    assert len(local) >= 4
    assert [link for link in local if not (PAGE.parent / link).exists()] == []


def test_it_says_what_is_missing() -> None:
    missing = TEXT.partition("## What is still missing here")[2].partition("\n## ")[0]
    assert missing.count("\n- ") >= 8

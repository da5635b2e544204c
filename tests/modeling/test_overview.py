"""The package's docstring: its code runs, and it has a word on everything."""

from __future__ import annotations

import re
import textwrap

import pytest

from tests.modeling.conftest import Recorder
from torusdb import modeling

OVERVIEW = modeling.__doc__ or ""


def test_its_code_runs(client: Recorder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = OVERVIEW.splitlines()[1:]
    code = textwrap.dedent("\n".join(line for line in lines if line.startswith("    ") or not line))
    names = {name: getattr(modeling, name) for name in modeling.__all__}
    exec(code, {**names, "client": client, "__name__": __name__})
    assert capsys.readouterr().out == "7\n"


def test_it_has_a_word_on_everything() -> None:
    prose = "\n".join(line for line in OVERVIEW.splitlines() if not line.startswith("    "))
    told = {name for span in re.findall(r"`([^`]+)`", prose) for name in re.findall(r"\w+", span)}
    assert set(modeling.__all__) - told == set()


def test_all_is_what_there_is() -> None:
    assert [name for name in modeling.__all__ if not hasattr(modeling, name)] == []
    assert modeling.__all__ == sorted(modeling.__all__, key=lambda name: (name[0].islower(), name))

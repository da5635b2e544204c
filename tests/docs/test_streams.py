"""The page on streams says what is true, and its code runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from torusdb.streams import Consumer

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "streams.md").read_text()
PYTHON_BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_its_code_runs_from_top_to_bottom(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("boto3", reason="db.client() is boto3's")
    variables: dict[str, Any] = {}
    for block in PYTHON_BLOCKS:
        exec(block, variables)
    open_ = {f"order {number}": "open" for number in (1, 2, 3)}
    changes = "insert 1 open\nmodify 1 paid\n"
    assert capsys.readouterr().out == f"{open_}\n{open_ | {'order 2': 'gone'}}\n{changes}"
    assert len(PYTHON_BLOCKS) == 4


def test_all_options_are_told_with_their_defaults() -> None:
    told = dict(re.findall(r"^\| (`[^|]+) \|([^|]*)\|", PAGE, re.MULTILINE))
    by_name = {name: default.strip() for names, default in told.items() for name in re.findall(r"`(\w+)`", names)}
    parameters = dict(inspect.signature(Consumer).parameters)
    for given in ("stream_arn", "handler", "dynamodb", "streams"):
        del parameters[given]
    assert by_name.keys() == parameters.keys()
    for name in ("lease_seconds", "poll_seconds", "records_max", "handler_attempts_max"):
        assert float(by_name[name]) == parameters[name].default
    assert by_name["start"] == f"`{parameters['start'].default}`"

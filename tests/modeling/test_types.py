"""Type checkers complete and check models: mypy says of `typed.py` what its comments say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import torusdb

SAMPLE = Path(__file__).with_name("typed.py")
SOURCE = Path(torusdb.__file__).parents[1]


def expected() -> tuple[set[int], dict[int, str]]:
    """By line: what is an error, and the types that are revealed."""
    errors, types = set(), {}
    for number, line in enumerate(SAMPLE.read_text().splitlines(), 1):
        code, _, comment = line.partition("  # ")
        if comment == "error":
            errors.add(number)
        elif "reveal_type(" in code and comment:
            types[number] = comment
    return errors, types


def test_mypy_knows_models(tmp_path: Path) -> None:
    from mypy import api

    options = ["--strict", "--config-file", "", "--no-error-summary", "--hide-error-context", "--cache-dir"]
    output, problems, _ = api.run([*options, str(tmp_path), str(SAMPLE)])
    assert problems == ""
    errors, revealed = set(), {}
    for line in output.splitlines():
        match = re.match(r".*typed\.py:(\d+): (error|note): (.*)", line)
        assert match is not None, line
        number, kind, message = int(match[1]), match[2], match[3]
        if kind == "error":
            errors.add(number)
        elif message.startswith("Revealed type is "):
            shown = message.removeprefix("Revealed type is ").strip('"')
            revealed[number] = shown.replace("tests.modeling.", "").replace("builtins.", "")
    assert (errors, revealed) == expected(), output


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_knows_models() -> None:
    run = subprocess.run(
        ["pyright", "--pythonpath", sys.executable, "--outputjson", str(SAMPLE)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    found = [(each["range"]["start"]["line"] + 1, each) for each in json.loads(run.stdout)["generalDiagnostics"]]
    errors, types = expected()
    assert {number for number, each in found if each["severity"] == "error"} == errors
    revealed = {number: each["message"] for number, each in found if each["severity"] == "information"}
    for number, kind in types.items():
        bare = re.sub(r"\b(torusdb\.modeling\.\w+|typed|decimal)\.", "", kind)  # pyright names types by their last name
        assert revealed[number].endswith(f' is "{bare}"'), revealed[number]


def test_the_package_imports_no_client_and_nothing_else_of_torusdb() -> None:
    source = (
        "import sys, torusdb.modeling\n"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in "
        "{'boto3', 'botocore', 'aiobotocore', 'msgspec', 'asyncio', 'inspect', 'torusdb'}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SOURCE)}
    )
    loaded = run.stdout.split()
    assert [name for name in loaded if not name.startswith("torusdb.modeling")] == ["torusdb"]

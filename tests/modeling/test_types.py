"""Type checkers complete and check models: mypy says of `typed.py` what its comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import torusdb

SAMPLE = Path(__file__).with_name("typed.py")
SOURCE = Path(torusdb.__file__).parents[1]


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
            kind = message.removeprefix("Revealed type is ").strip('"')
            revealed[number] = kind.replace("tests.modeling.", "").replace("builtins.", "")
    expected_errors, expected_types = set(), {}
    for number, line in enumerate(SAMPLE.read_text().splitlines(), 1):
        code, _, comment = line.partition("  # ")
        if comment == "error":
            expected_errors.add(number)
        elif "reveal_type(" in code and comment:
            expected_types[number] = comment
    assert errors == expected_errors, output
    assert revealed == expected_types


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

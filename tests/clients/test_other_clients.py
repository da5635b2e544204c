"""Clients other than boto3 against `torusdb serve`: one scenario, told by each client in its own idiom.

Each scenario is a program of its own that prints the name of each step behind it and fails at the first thing that is
not as the service has it. They are slow since they are installed first, once, into a cache (see `installs`).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import torusdb
from tests.clients import installs
from tests.clients.installs import SCENARIOS
from tests.processes import ServerProcess, serving

pytestmark = pytest.mark.slow

STEPS = ["tables", "values", "conditions", "errors", "batches", "pages", "deletion"]
"""What every scenario goes through: tables and their waiters, all ten types, conditional writes and their exception,
errors by type, batches beyond 16 MB, pages of all sizes, and the end of a table."""
SCENARIO_SECONDS_MAX = 300.0
TABLE_DELAY_SECONDS = "0.2"
"""Long enough for a table to be seen in the making, short enough to wait for."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with serving("--data-dir", str(tmp_path / "data"), "--table-delay", TABLE_DELAY_SECONDS) as server:
        yield server
        code, errors = server.end()
        assert (code, errors) == (0, ""), "the server has nothing to complain about"


def run(server: ServerProcess, arguments: list[str | Path], steps: Sequence[str] = STEPS, **environment: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))}
    settings = {
        "ENDPOINT": server.endpoint,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "no_proxy": "127.0.0.1",
    }
    ended = subprocess.run(
        [str(argument) for argument in arguments],
        capture_output=True,
        text=True,
        env={**kept, **settings, **environment},
        timeout=SCENARIO_SECONDS_MAX,
        check=False,
    )
    assert ended.returncode == 0, f"after {ended.stdout.split()}: {ended.stderr}"
    assert ended.stdout.split() == list(steps)


def test_aiobotocore(server: ServerProcess) -> None:
    python = installs.python_with("aiobotocore==3.10.0")
    run(server, [python, SCENARIOS / "aiobotocore_scenario.py"])


def test_the_design_kit_on_aiobotocore(server: ServerProcess) -> None:
    python = installs.python_with("aiobotocore==3.10.0")
    steps = ["tables", "writes", "conditions", "batches", "pages", "transactions", "expiry"]
    source = Path(torusdb.__file__).parents[1]
    run(server, [python, SCENARIOS / "aiobotocore_modeling_scenario.py"], steps, PYTHONPATH=str(source))


def test_pynamodb(server: ServerProcess) -> None:
    python = installs.python_with("pynamodb==6.1.0")
    run(server, [python, SCENARIOS / "pynamodb_scenario.py"])


def test_the_aws_cli(server: ServerProcess) -> None:
    python = installs.python_with("awscli==1.45.11")
    run(server, [python, SCENARIOS / "aws_cli_scenario.py"], AWS=str(python.with_name("aws")))


def test_the_sdk_for_javascript(server: ServerProcess) -> None:
    node = installs.command("node")
    run(server, [node, installs.javascript(SCENARIOS / "javascript")])


def test_the_sdk_for_go(server: ServerProcess) -> None:
    run(server, [installs.go(SCENARIOS / "go")])

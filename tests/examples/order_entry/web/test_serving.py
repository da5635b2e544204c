"""The server as a process: one command starts it, a signal ends it, and the ranking follows orders meanwhile."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Timer

import httpx
import pytest
from typer.testing import CliRunner

from order_entry.__main__ import app
from order_entry.system import System, at
from order_entry.web.follower import following
from order_entry.web.serving import listen
from tests.examples.order_entry.business import contents
from tests.examples.order_entry.test_readme import HOME, README
from tests.examples.order_entry.web.front import curl
from tests.processes import DEADLINE_SECONDS, ENVIRONMENT, serving

COMMAND = [sys.executable, "-m", "order_entry", "serve"]


@contextmanager
def started(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address."""
    with subprocess.Popen(
        [*COMMAND, "--port", "0", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=HOME,
        env=ENVIRONMENT,
    ) as process:
        watchdog = Timer(DEADLINE_SECONDS, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            announced = process.stdout.readline()
            found = re.match(r"(http://127\.0\.0\.1:\d+) \(Ctrl-C ends it\)", announced)
            assert found is not None, announced + "".join(process.communicate())
            yield process, found[1]
        finally:
            watchdog.cancel()
            if process.poll() is None:
                process.kill()


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    process.send_signal(number)
    _, errors = process.communicate(timeout=DEADLINE_SECONDS)
    return process.returncode, errors


def test_the_command_of_the_readme_serves_and_ends_on_sigterm() -> None:
    assert "python -m order_entry serve" in README
    with started("--customers", "15") as (process, url), httpx.Client(base_url=url, trust_env=False) as client:
        assert client.get("/").status_code == 200
        commands = re.findall(r"^curl (?:.*\\\n)*.*", README, re.MULTILINE)
        asked, placed = [curl(client, command) for command in commands]
        assert (asked.status_code, placed.status_code) == (200, 201)
        assert ranked(client, placed.json())
        code, errors = ended(process, signal.SIGTERM)
    assert (code, "Traceback" in errors) == (0, False), errors


def ranked(client: httpx.Client, order: dict[str, str]) -> bool:
    """Whether the order comes to count, which takes the consumer a moment: asked for as long as the process lives."""
    quarter = f"{order['placed'][:4]}-Q{(int(order['placed'][5:7]) + 2) // 3}"
    while True:
        for each in client.get(f"/api/quarters/{quarter}/ranking").json()["items"]:
            if each["employee"] == order["representative"]:
                return bool(each["total"] == order["total"])


def test_it_serves_a_table_that_is_elsewhere_and_ends_on_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "local")
        monkeypatch.setitem(ENVIRONMENT, name, "local")
    with serving("--in-memory") as server:
        endpoint = f"http://127.0.0.1:{server.port}"
        refused = CliRunner().invoke(app, ["serve", "--endpoint", endpoint])
        assert refused.exit_code == 1
        assert "There is no table order_entry: python -m order_entry generate" in " ".join(refused.output.split())
        at(endpoint).create_table(stream=False)
        refused = CliRunner().invoke(app, ["serve", "--endpoint", endpoint])
        assert refused.exit_code == 1
        assert "The table order_entry has no stream" in refused.output
        at(endpoint).start_stream()
        with started("--endpoint-url", endpoint) as (process, url):
            answered = httpx.get(f"{url}/patterns/total_inventory?ask=1&product=P1", trust_env=False)
            assert "Nothing is stored that answers this." in answered.text
            server.tell(signal.SIGKILL)
            server.wait()
            gone = httpx.get(f"{url}/api/products/P1", trust_env=False, timeout=DEADLINE_SECONDS)
            assert (gone.status_code, "The database did not answer" in gone.text) == (503, True)
            code, _ = ended(process, signal.SIGINT)
    assert code == 0


def test_a_port_that_is_taken_is_told_before_anything_is_made() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        refused = CliRunner().invoke(app, ["serve", "--port", str(port)])
    assert refused.exit_code == 1
    assert refused.output.startswith(f"Cannot listen on 127.0.0.1, port {port}: Address already in use")


def test_the_follower_hands_records_on_until_it_is_stopped(system: System) -> None:
    handled = Event()
    consumer = system.ranking_consumer(poll_seconds=0.01)
    ranked_before = consumer._handler

    def handler(shard: str, records: list[dict[str, object]]) -> None:
        ranked_before(shard, records)
        handled.set()

    consumer._handler = handler
    with following(consumer) as follower:
        assert handled.wait(DEADLINE_SECONDS)
    assert follower.error is None
    assert not follower.thread.is_alive()
    assert contents(system.store)

"""`torusdb serve` as a process of its own, as a person starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

DEADLINE_SECONDS = 30.0
"""Never waited for, unless a process hangs."""

COMMAND = [sys.executable, "-m", "torusdb"]
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20261119T060000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=key/20261119/us-east-1/dynamodb/aws4_request, "
    f"SignedHeaders=host;x-amz-date, Signature={'0' * 64}",
}
ENVIRONMENT = {**os.environ, "COLUMNS": "120", "PYTHONWARNINGS": "ignore"}


class ServerProcess:
    """A running server. `announced` is what it said when it was ready."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        with self._watched():
            self.announced = "".join(process.stdout.readline() for _ in range(3))
        if " at http" not in self.announced:
            output, errors = process.communicate(timeout=DEADLINE_SECONDS)
            raise AssertionError(f"the server did not start: {self.announced}{output}{errors}")
        self.endpoint = self.announced.split(" at ")[1].split()[0]

    @property
    def port(self) -> int:
        return int(self.endpoint.rpartition(":")[2])

    def call(self, operation: str, params: dict[str, Any]) -> dict[str, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_SECONDS)
        try:
            headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
            connection.request("POST", "/", json.dumps(params), headers)
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
            return answer
        finally:
            connection.close()

    def tell(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Stops the server, and gives its exit code and what it wrote to stderr."""
        self.tell(number)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.returncode, errors

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """A server that says nothing is ended, so that reading from it ends as well."""
        watchdog = threading.Timer(DEADLINE_SECONDS, self.process.kill)
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()


@contextmanager
def serving(*options: str, cwd: Path | None = None) -> Iterator[ServerProcess]:
    """`torusdb serve` with these options, on a free port unless they name one."""
    port = [] if "--port" in options else ["--port", "0"]
    with subprocess.Popen(
        [*COMMAND, "serve", *port, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=ENVIRONMENT,
    ) as process:
        try:
            yield ServerProcess(process)
        finally:
            if process.poll() is None:
                process.kill()


def torusdb(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=ENVIRONMENT,
        timeout=DEADLINE_SECONDS,
        check=False,
    )

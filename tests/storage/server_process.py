"""A real `torusdb serve` in a process of its own, and the plainest HTTP client for it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

ANSWER_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30
COMMAND = (sys.executable, "-c", "from torusdb.cli import main; main()", "serve", "--port", "0")


class ServerProcess:
    def __init__(self, directory: Path, *options: str, wrapper: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            [*wrapper, *COMMAND, "--data-dir", str(directory), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        first = self._process.stdout.readline().decode()
        if " at http://" not in first:
            _, errors = self._process.communicate(timeout=STOP_SECONDS_MAX)
            raise RuntimeError(f"the server did not start: {errors.decode()}")
        self.address = first.rpartition("http://")[2].strip()

    def kill(self) -> None:
        """As the kernel does it: nothing can be finished."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate(timeout=STOP_SECONDS_MAX)

    def stop(self) -> str:
        """Gives what it had to say."""
        self._process.terminate()
        _, errors = self._process.communicate(timeout=STOP_SECONDS_MAX)
        return errors.decode()

    def connect(self) -> Connection:
        return Connection(self.address)

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.kill()


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(status, body)
        self.status = status
        self.type = str(body.get("__type", "")).rpartition("#")[2]
        self.message = str(body.get("message", body.get("Message", "")))


class ServerGone(Exception):
    """No answer came: the request may have been carried out or not."""


class Connection:
    """To be used by one thread."""

    def __init__(self, address: str) -> None:
        self._http = http.client.HTTPConnection(address, timeout=ANSWER_SECONDS_MAX)

    def call(self, operation: str, params: dict[str, Any]) -> dict[str, Any]:
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        headers["Authorization"] = (
            "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/dynamodb/aws4_request, "
            "SignedHeaders=host;x-amz-date, Signature=0"
        )
        headers["X-Amz-Date"] = "20260101T000000Z"
        try:
            self._http.request("POST", "/", json.dumps(params), headers)
            response = self._http.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ServerGone from error
        answer: dict[str, Any] = json.loads(body)
        if response.status != http.client.OK:
            raise Refused(response.status, answer)
        return answer

    def close(self) -> None:
        self._http.close()

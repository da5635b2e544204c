"""Load: `wrk` for rates, boto3 for what a Python user feels. With one wrong answer there is no figure."""

from __future__ import annotations

import itertools
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.workloads import Body, Workload

SCRIPT = Path(__file__).parent / "wrk" / "load.lua"
BYTES_DRIFT_MAX = 0.05
"""How far the mean length of answers may stray from that of checked ones: numbers grow a digit, no more."""
FRESH_SALT_CHARACTERS = 10
BOTO3_REQUESTS_MAX = 500


class RefusedError(Exception):
    """There is no honest figure: answers were wrong, or the server failed. The text says what was seen."""


@dataclass(frozen=True)
class Rate:
    """Requests a second, and the latencies of the requests behind it."""

    per_second: float
    p50_ms: float
    p99_ms: float


class WrkFigure(msgspec.Struct, frozen=True):
    """The line that wrk/load.lua prints."""

    requests: int
    seconds: float
    bytes: int
    bad_statuses: int
    socket_errors: int
    timeouts: int
    answers_checked: int
    answers_wrong: int
    example: str
    p50_ms: float
    p99_ms: float

    def bytes_per_answer(self, connections: int) -> tuple[float, float]:
        """At least and at most: wrk counts, too, what it had got of the answers that it did not wait for."""
        return self.bytes / (self.requests + connections), self.bytes / self.requests

    @property
    def rate(self) -> Rate:
        return Rate(self.requests / self.seconds, self.p50_ms, self.p99_ms)


def wrk_missing() -> str | None:
    """Why no load can be made, if so."""
    return None if shutil.which("wrk") else "wrk is not installed (Debian and Ubuntu: apt install wrk)"


class WrkLoad:
    """One workload against one server; its requests stand in a file that `Workload.write_file` made."""

    def __init__(self, port: int, workload: Workload, requests: Path) -> None:
        self._url = f"http://127.0.0.1:{port}/"
        self._workload = workload
        self._requests = requests
        self._checked_bytes: dict[int, tuple[float, float]] = {}

    def check(self, connections: int, seconds: int = 1) -> WrkFigure:
        """Load whose every answer is looked into. It warms the server up, too."""
        figure = self._run(connections, seconds, "check" if connections == 1 else "check-shared")
        if figure.answers_wrong:
            raise RefusedError(f"{figure.answers_wrong} of {figure.answers_checked} answers wrong: {figure.example}")
        self._checked_bytes[connections] = figure.bytes_per_answer(connections)
        return figure

    def time(self, connections: int, seconds: int) -> Rate:
        """Load that is timed. Its answers are held against the length of those that were looked into."""
        figure = self._run(connections, seconds, "time")
        require_same_length(figure.bytes_per_answer(connections), self._checked_bytes[connections])
        return figure.rate

    def _run(self, connections: int, seconds: int, mode: str) -> WrkFigure:
        salt = secrets.token_hex(FRESH_SALT_CHARACTERS // 2)
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s"]
        command += ["-s", str(SCRIPT), self._url, "--", str(self._requests), mode, salt]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
        except subprocess.TimeoutExpired:
            raise RefusedError(f"{self._workload.name}: wrk did not end") from None
        lines = [line for line in ran.stdout.splitlines() if line.startswith("FIGURE ")]
        if ran.returncode or not lines:
            raise RefusedError(f"wrk failed: {(ran.stderr or ran.stdout).strip()[-300:]}")
        figure = msgspec.json.decode(lines[0].removeprefix("FIGURE "), type=WrkFigure)
        refuse_failures(figure)
        return figure


def require_same_length(timed: tuple[float, float], checked: tuple[float, float]) -> None:
    """Answers that are much shorter or longer than those that were looked into cannot be right."""
    shortest, longest = checked[0] * (1 - BYTES_DRIFT_MAX), checked[1] * (1 + BYTES_DRIFT_MAX)
    if timed[1] < shortest or timed[0] > longest:
        raise RefusedError(
            f"answers of {timed[1]:.0f} bytes, where right ones have {checked[0]:.0f} to {checked[1]:.0f}"
        )


def refuse_failures(figure: WrkFigure) -> None:
    if figure.requests == 0:
        raise RefusedError(f"not one answer came in {figure.seconds:.1f} s")
    if figure.bad_statuses:
        raise RefusedError(f"{figure.bad_statuses} of {figure.requests} answers are errors {figure.example}".strip())
    if figure.socket_errors or figure.timeouts:
        raise RefusedError(f"{figure.socket_errors} connections failed, {figure.timeouts} answers timed out")


def boto3_client(port: int) -> Any:
    """A client as users make it; retries off, so that a failure shows instead of slowing things down."""
    import boto3
    from botocore.config import Config

    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="AKIDBENCHMARKS",
        aws_secret_access_key="benchmarks",
        config=Config(retries={"max_attempts": 1, "mode": "standard"}),
    )


def time_boto3(port: int, workload: Workload, bodies: list[Body], seconds: float) -> Rate:
    """One thread, one call after another, over all of boto3: serialising, signing, parsing."""
    from botocore.exceptions import BotoCoreError, ClientError

    salt = secrets.token_hex(FRESH_SALT_CHARACTERS // 2)
    requests = _boto3_requests(workload, bodies, salt)
    client = boto3_client(port)
    call = getattr(client, _snake_case(workload.operation))
    latencies: list[float] = []
    try:
        call(**next(requests))
        started = before = time.perf_counter()
        while before - started < seconds:
            answer = call(**next(requests))
            after = time.perf_counter()
            latencies.append(after - before)
            before = after
            _require_items(workload, answer)
    except (BotoCoreError, ClientError) as error:
        raise RefusedError(str(error)) from error
    finally:
        client.close()
    latencies.sort()
    return Rate(
        len(latencies) / (before - started),
        latencies[len(latencies) // 2] * 1e3,
        latencies[int(len(latencies) * 0.99)] * 1e3,
    )


def _boto3_requests(workload: Workload, bodies: list[Body], salt: str) -> Iterator[dict[str, Any]]:
    """Decoded requests without end; a fresh key in each where the workload wants one. Tokens boto3 makes itself."""
    some = [msgspec.json.decode(body.json) for body in bodies[:BOTO3_REQUESTS_MAX]]
    for request in some:
        request.pop("ClientRequestToken", None)
    for counter, request in enumerate(itertools.cycle(some)):
        if workload.is_fresh:
            request["Item"]["pk"]["S"] = f"{salt}{counter:010}"
        yield request


def _require_items(workload: Workload, answer: dict[str, Any]) -> None:
    """The count of items, which costs nothing beside the call itself."""
    if workload.operation == "GetItem" and "Item" not in answer:
        raise RefusedError("GetItem: no item")
    if workload.operation == "Query" and answer["Count"] != workload.items_in_answer:
        raise RefusedError(f"Query: {answer['Count']} items")
    if any(answer.get(name) for name in ("UnprocessedKeys", "UnprocessedItems")):
        raise RefusedError("a batch was answered in part")


def _snake_case(operation: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in operation).lstrip("_")

"""A bare HTTP client for the harness: loads data and reads answers with as little in between as possible."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

ANSWER_TIMEOUT_S = 60.0
IDLE_S_MAX = 1.0
"""After that a new connection is made: while other servers have their turn, this one may hang up (Node.js does after
five seconds)."""

STREAMS = "DynamoDBStreams"
STREAMS_OPERATIONS = frozenset(["DescribeStream", "GetShardIterator", "GetRecords"])
"""A service of its own on the same port."""


class WrongAnswerError(Exception):
    """A server answered, but not what it must."""


class UnsupportedError(WrongAnswerError):
    """A server does not have the operation, and says so."""


def request_headers(operation: str) -> dict[str, str]:
    """What an SDK sends. Peers parse the signature's form but none verifies it, so a constant one does."""
    now = datetime.now(UTC)
    return {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"{STREAMS if operation in STREAMS_OPERATIONS else 'DynamoDB'}_20120810.{operation}",
        "X-Amz-Date": now.strftime("%Y%m%dT%H%M%SZ"),
        "Authorization": (
            f"AWS4-HMAC-SHA256 Credential=AKIDBENCHMARKS/{now:%Y%m%d}/us-east-1/dynamodb/aws4_request, "
            "SignedHeaders=host;x-amz-date;x-amz-target, "
            "Signature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        ),
        "User-Agent": "aws-sdk-benchmarks/1.0",
    }


class Client:
    """One keep-alive connection."""

    def __init__(
        self, port: int, timeout_s: float = ANSWER_TIMEOUT_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
        self._headers: dict[str, dict[str, str]] = {}
        self._clock = clock
        self._used = clock()

    def send(self, operation: str, body: bytes) -> tuple[int, bytes]:
        headers = self._headers.get(operation)
        if headers is None:
            headers = self._headers[operation] = request_headers(operation)
        if self._clock() - self._used > IDLE_S_MAX:
            self._connection.close()
        try:
            self._connection.request("POST", "/", body, headers)
            response = self._connection.getresponse()
            answer = response.status, response.read()
            self._used = self._clock()
            return answer
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """The decoded answer; anything but 200 is a WrongAnswerError."""
        status, body = self.send(operation, msgspec.json.encode(request))
        if status != 200 and b"UnknownOperationException" in body:
            raise UnsupportedError(f"has no {operation}")
        if status != 200:
            raise WrongAnswerError(f"{operation}: status {status}, {body[:200].decode(errors='replace')}")
        answer: dict[str, Any] = msgspec.json.decode(body)
        return answer

    def failure(self, operation: str, request: dict[str, Any]) -> str:
        """The error type of an answer that must be an error."""
        status, body = self.send(operation, msgspec.json.encode(request))
        if status != 400:
            raise WrongAnswerError(f"{operation}: status {status} where an error is due")
        name: str = msgspec.json.decode(body)["__type"]
        return name.rpartition("#")[2]

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

"""A server on a free port, and a client that is no more than a socket: what is on the wire is what is tested."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import pytest

from torusdb import Database
from torusdb.server.dispatch import Backend
from torusdb.server.limits import Limits
from torusdb.server.listen import ServerThread

DEADLINE_SECONDS = 20.0
"""Never waited for, unless a server hangs."""

SIGNATURE = "0" * 64
HEADERS = {
    "Host": "localhost",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "DynamoDB_20120810.ListTables",
    "X-Amz-Date": "20261119T060000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=key/20261119/us-east-1/dynamodb/aws4_request, "
    f"SignedHeaders=host;x-amz-date, Signature={SIGNATURE}",
}
"""Of a request that lists tables."""


def message(
    body: bytes = b"{}",
    headers: dict[str, str | None] | None = None,
    *,
    method: str = "POST",
    target: str = "/",
    operation: str | None = None,
) -> bytes:
    """A request. `headers` stand beside the usual ones, or instead of them; None leaves one out."""
    lines: dict[str, str | None] = {**HEADERS, "Content-Length": str(len(body)), **(headers or {})}
    if operation is not None:
        lines["X-Amz-Target"] = f"DynamoDB_20120810.{operation}"
    head = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items() if value is not None)]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The whole `__type` of an error."""
        kind: str = self.json["__type"]
        return kind

    def require_checksum(self) -> None:
        assert self.headers["x-amz-crc32"] == str(crc32(self.body))


class Wire:
    """One connection. Whatever it waits for comes before the deadline, or the test fails."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.removeprefix("http://").rpartition(":")
        self._socket = socket.create_connection((host, int(port)), DEADLINE_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def half_close(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def ask(self, data: bytes) -> Answer:
        self.send(data)
        return self.answer(with_body=not data.startswith(b"HEAD "))

    def answer(self, *, with_body: bool = True) -> Answer:
        """The next answer, whether by length or in chunks."""
        head = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, _ = head[0].split(" ", 2)
        assert version == "HTTP/1.1"
        headers = dict(line.lower().split(": ", 1)[:1] + line.split(": ", 1)[1:] for line in head[1:] if line)
        if int(status) == 100 or not with_body:
            body = b""
        elif headers.get("transfer-encoding") == "chunked":
            body = self._chunks()
        else:
            body = self._take(int(headers["content-length"]))
        return Answer(int(status), headers, body)

    def rest(self) -> bytes:
        """All that comes until the server closes."""
        while self._receive():
            pass
        rest, self._received = self._received, b""
        return rest

    def require_end(self) -> None:
        assert self.rest() == b""

    def close(self) -> None:
        self._socket.close()

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self._until(b"\r\n"), 16):
            body += self._take(size)
            assert self._take(2) == b"\r\n"
        assert self._take(2) == b"\r\n"
        return body

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._received:
            assert self._receive(), f"the connection ended after {self._received!r}"
        found, _, self._received = self._received.partition(mark)
        return found

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            assert self._receive(), f"the connection ended after {self._received[:200]!r}"
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def _receive(self) -> bool:
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        self._received += data
        return bool(data)


Serve = Callable[..., str]
Connect = Callable[..., Wire]


@pytest.fixture
def serve(db: Database) -> Iterator[Serve]:
    """Starts a server, on the fresh database unless told otherwise, and gives its endpoint."""
    with ExitStack() as servers:

        def start(limits: Limits | None = None, backend: Backend | None = None) -> str:
            return servers.enter_context(ServerThread(db if backend is None else backend, limits=limits))

        yield start


@pytest.fixture
def connect(serve: Serve) -> Iterator[Connect]:
    """Connects to an endpoint, or to a new server on the fresh database."""
    wires: list[Wire] = []

    def open_wire(endpoint: str | None = None) -> Wire:
        wire = Wire(serve() if endpoint is None else endpoint)
        wires.append(wire)
        return wire

    yield open_wire
    for wire in wires:
        wire.close()


@pytest.fixture
def wire(connect: Connect) -> Wire:
    """A connection to a server on the fresh database."""
    return connect()

"""The end of a server: what was begun is answered, what was answered is kept."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.processes import ServerProcess, serving
from tests.server.conftest import Connect, Wire, message

TABLE = {
    "TableName": "Events",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def put(number: int, headers: dict[str, str | None] | None = None) -> bytes:
    body = {"TableName": "Events", "Item": {"pk": {"S": str(number)}}}
    return message(json.dumps(body).encode(), headers, operation="PutItem")


@contextmanager
def with_table(data: Path) -> Iterator[ServerProcess]:
    with serving("--data-dir", str(data)) as server:
        server.call("CreateTable", TABLE)
        yield server


def stored(data: Path) -> set[int]:
    with serving("--data-dir", str(data)) as server:
        return {int(item["pk"]["S"]) for item in server.call("Scan", {"TableName": "Events"})["Items"]}


def begin(wire: Wire, request: bytes) -> bytes:
    """Sends a request's head, makes sure that the server has it, and gives the body that is left to send."""
    head, _, body = request.partition(b"\r\n\r\n")
    assert wire.ask(head + b"\r\n\r\n").status == 100
    return body


def wait_until_refused(server: ServerProcess) -> None:
    """A server that drains listens no more."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", server.port), 10.0).close()
        except OSError:
            return
        assert server.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_under_way_are_answered_before_the_end(
    tmp_path: Path, connect: Connect, number: signal.Signals
) -> None:
    with with_table(tmp_path / "data") as server:
        wires = [connect(server.endpoint) for _ in range(8)]
        bodies = [begin(wire, put(n, {"Expect": "100-continue"})) for n, wire in enumerate(wires)]
        server.tell(number)
        wait_until_refused(server)
        for wire, body in zip(wires, bodies, strict=True):
            answer = wire.ask(body)
            assert (answer.status, answer.body, answer.headers["connection"]) == (200, b"{}", "close")
            wire.require_end()
            wire.close()
        assert server.wait() == (0, "")
    assert stored(tmp_path / "data") == set(range(8))


def test_a_second_signal_cuts_the_wait_short(tmp_path: Path, connect: Connect) -> None:
    with with_table(tmp_path / "data") as server:
        done, stuck = connect(server.endpoint), connect(server.endpoint)
        assert done.ask(put(1)).status == 200
        begin(stuck, put(2, {"Expect": "100-continue"}))
        server.tell()
        wait_until_refused(server)
        assert server.process.poll() is None
        assert server.end() == (0, "")
        stuck.require_end()
    assert stored(tmp_path / "data") == {1}


def test_idle_connections_do_not_hold_up_the_end(tmp_path: Path, connect: Connect) -> None:
    with with_table(tmp_path / "data") as server:
        wires = [connect(server.endpoint) for _ in range(3)]
        assert [wire.ask(message()).status for wire in wires[:2]] == [200, 200]
        assert server.end() == (0, "")
        for wire in wires:
            wire.require_end()


def test_what_was_answered_is_kept_however_the_signal_falls(tmp_path: Path, connect: Connect) -> None:
    """Of a long row of writes sent at once, the server answers some and stops: those, in order, are stored."""
    with with_table(tmp_path / "data") as server:
        wire = connect(server.endpoint)
        wire.send(b"".join(put(n) for n in range(400)))
        assert wire.answer().status == 200
        server.tell()
        answered = 1 + wire.rest().count(b"HTTP/1.1 200 OK")
        wire.close()
        assert server.wait() == (0, "")
    kept = stored(tmp_path / "data")
    assert kept == set(range(len(kept)))
    assert len(kept) == answered

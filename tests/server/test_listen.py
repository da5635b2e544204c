"""Starting and stopping: how many connections there can be, and how long the end may take."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.server.conftest import message
from torusdb import Database
from torusdb.server.limits import Limits
from torusdb.server.listen import FILES_BESIDES_CONNECTIONS, _within_file_limit, listen

resource: Any = pytest.importorskip("resource", reason="Windows has no limit of this kind")
WANTED = 10_000 + FILES_BESIDES_CONNECTIONS


@pytest.mark.parametrize(
    ("soft", "hard", "taken", "connections"),
    [
        pytest.param(resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, 10_000, id="no limit"),
        pytest.param(WANTED, WANTED, None, 10_000, id="enough"),
        pytest.param(1024, resource.RLIM_INFINITY, WANTED, 10_000, id="as many as it wants"),
        pytest.param(1024, 4096, 4096, 4096 - FILES_BESIDES_CONNECTIONS, id="as many as it may"),
        pytest.param(128, 128, 128, 64, id="few"),
    ],
)
def test_connections_leave_file_descriptors_to_the_database(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, taken: int | None, connections: int
) -> None:
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, wanted: limits.append(wanted))
    assert _within_file_limit(Limits(connections_max=10_000)).connections_max == connections
    assert limits == ([] if taken is None else [(taken, hard)])


def test_a_limit_that_cannot_be_raised_is_lived_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: int, wanted: tuple[int, int]) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, 4096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert _within_file_limit(Limits(connections_max=10_000)).connections_max == 128


def test_a_client_that_never_finishes_does_not_hold_up_the_end(db: Database) -> None:
    async def stop_in_the_middle_of_a_request() -> bool:
        server = await listen(db)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.endpoint.rpartition(":")[2]))
        head = message(headers={"Expect": "100-continue"}).removesuffix(b"{}")
        writer.write(head)
        await reader.readuntil(b"\r\n\r\n")  # now the server waits for the body
        in_time = await server.stop(drain_seconds_max=0.01)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        return in_time

    assert not asyncio.run(stop_in_the_middle_of_a_request())

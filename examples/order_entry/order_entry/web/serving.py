"""The web front as a process: it starts when its table is there, and ends cleanly on Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import uvicorn
from fastapi import FastAPI

from order_entry.system import System
from order_entry.web.app import create_app
from order_entry.web.follower import following
from order_entry.web.guards import LOCAL_NAMES

CONNECTIONS_WAITING_MAX: Final = 128
POLL_SECONDS: Final = 0.5
"""How far the ranking is behind; the service allows five reads of a shard in a second."""
SECONDS_TO_FINISH: Final = 5
"""For requests that are under way when the server is told to stop."""


def serve(system: System, listening: socket.socket, names: Sequence[str] = ()) -> None:
    """Until it is told to stop. `names`: those by which browsers may ask for it, besides this machine's own."""
    with following(system.ranking_consumer(poll_seconds=POLL_SECONDS)) as follower, _sigterm_unwinds():
        app = create_app(system, follower, (*LOCAL_NAMES, *names))
        with suppress(KeyboardInterrupt):  # which uvicorn raises again when it has ended
            server_of(app).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """With port 0 on a free one. From now on connections wait for their answer."""
    return socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=CONNECTIONS_WAITING_MAX
    )


def address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def server_of(app: FastAPI) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_level="warning",
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


@contextmanager
def _sigterm_unwinds() -> Iterator[None]:
    """uvicorn ends on SIGTERM and then raises it again, which would end the process before the ranking's leases are
    given back and the database is closed."""

    def leave(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(0)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

"""HTTP/1.1 on asyncio: the server's connections, its clock and its end. It knows nothing of what is served.

    bytes ─ connection ─▶ HttpRequest ─ Application ─▶ request.respond ─ connection ─▶ bytes

`connection` has the way of a request; `response_heads` the first lines of the answers; `limits` what a client may use.
While there are connections the server ticks, renews the `Date` header, and looks for connections that are overdue:
idle, slow to send a request, or not reading their answers.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Protocol

from torusdb.server.connection import Connection, HttpRequest
from torusdb.server.limits import Limits
from torusdb.server.response_heads import StatusHeads


class Application(Protocol):
    def handle(self, request: HttpRequest) -> None:
        """Calls `request.respond` exactly once, now or later, from the loop's thread."""
        ...


class HttpServer:
    """The connections of one server, its clock, and its end. `connect` is the protocol factory."""

    def __init__(
        self,
        application: Application,
        loop: asyncio.AbstractEventLoop,
        limits: Limits | None = None,
        server_name: bytes = b"Server",
        *,
        joins_headers: bool = False,
    ) -> None:
        self.application = application
        self.loop = loop
        self.limits = limits or Limits()
        self.now = loop.time()
        """The time of the last tick: exact enough to find what is overdue, and free."""
        self.length_digits = len(str(self.limits.body_bytes_max))
        self.draining = False
        self.body_bytes_max = self.limits.body_bytes_max
        self.held_body_bytes_max = self.limits.held_body_bytes_max
        self.held_body_bytes = 0
        """Of bodies that are coming in, and of requests that are not answered yet. Counted with every request, at a
        hundredth of its cost here: small bodies that wait in many connections are as much as large ones."""
        self.joins_headers = joins_headers
        self.keep_alive_heads = StatusHeads(server_name, b"keep-alive")
        self.closing_heads = StatusHeads(server_name, b"close")
        self._connections: set[Connection] = set()
        self._tick_seconds = self.limits.tick_seconds()
        self._ticking: asyncio.TimerHandle | None = None
        self._all_gone: asyncio.Future[None] | None = None

    def connect(self) -> Connection:
        return Connection(self)

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def connected(self, connection: Connection) -> None:
        if len(self._connections) >= self.limits.connections_max:
            # SDKs try again on 503.
            answer = self.closing_heads[HTTPStatus.SERVICE_UNAVAILABLE] + b"Content-Length: 0\r\n\r\n"
            connection.turn_away(answer)
            return
        self._connections.add(connection)
        if self._ticking is None:
            self._tick()

    def disconnected(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections and self._all_gone is not None and not self._all_gone.done():
            self._all_gone.set_result(None)

    def _tick(self) -> None:
        if not self._connections:
            self._ticking = None
            return
        self.now = now = self.loop.time()
        self.keep_alive_heads.clear()
        self.closing_heads.clear()
        for connection in list(self._connections):
            connection.end_if_overdue(now)
        self._ticking = self.loop.call_later(self._tick_seconds, self._tick)

    async def drain(self, seconds_max: float) -> bool:
        """Ends idle connections, lets the others finish what they have begun; whether all did in time."""
        self.draining = True
        for connection in list(self._connections):
            connection.drain()
        try:
            if self._connections:
                self._all_gone = self.loop.create_future()
                await asyncio.wait([self._all_gone], timeout=seconds_max)
        finally:
            in_time = not self._connections
            for connection in list(self._connections):
                connection.transport.abort()
            if self._ticking is not None:
                self._ticking.cancel()
                self._ticking = None
        return in_time

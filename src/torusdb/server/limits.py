"""What a client may use of the server: bytes, connections, time."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a client may use of the server. Parameters, so that tests need neither wait nor fill memory."""

    header_bytes_max: int = 32 * 1024
    """Request line and headers; SDKs send about 1 KB, session tokens can add 4 KB."""
    body_bytes_max: int = 16 * 1024 * 1024
    """The service refuses larger bodies with status 413."""
    held_body_bytes_max: int = 1024 * 1024 * 1024
    """Bodies of all connections together, from their first byte until the request is answered: 10,000 clients could
    fill 160 GB with bodies that are still coming in, and more with those that wait behind one another."""
    connections_max: int = 10_000
    pipelined_max: int = 32
    """Requests of one connection that are worked on at a time."""
    write_buffer_bytes: int = 256 * 1024
    """Answers a client has not read yet; beyond it, nothing more is read from or done for that client."""
    header_seconds_max: float = 20.0
    request_seconds_max: float = 120.0
    """From the first byte of a request to its last."""
    idle_seconds_max: float = 300.0
    write_stall_seconds_max: float = 60.0
    """How long a client may leave its answers unread."""
    linger_seconds_max: float = 2.0
    """How long bytes are thrown away after a refusal."""

    def tick_seconds(self) -> float:
        shortest = min(
            self.header_seconds_max,
            self.request_seconds_max,
            self.idle_seconds_max,
            self.write_stall_seconds_max,
            self.linger_seconds_max,
        )
        return min(1.0, shortest / 2)

"""Clients that are slow, silent or do not read, and what waits for them: on a virtual clock, with no socket."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.server.conftest import message
from torusdb.server.connection import Connection, HttpRequest
from torusdb.server.http import HttpServer
from torusdb.server.limits import Limits


class VirtualLoop:
    """As much of an event loop as the server uses. Time passes when `advance` is called."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._timers: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._made = 0

    def time(self) -> float:
        return self._now

    def call_later(self, seconds: float, callback: Callable[..., None], *args: Any) -> object:
        self._made += 1
        heapq.heappush(self._timers, (self._now + seconds, self._made, callback, args))
        return self

    def call_soon(self, callback: Callable[..., None], *args: Any) -> object:
        return self.call_later(0.0, callback, *args)

    def advance(self, seconds: float) -> None:
        end = self._now + seconds
        while self._timers and self._timers[0][0] <= end:
            self._now, _, callback, args = heapq.heappop(self._timers)
            callback(*args)
        self._now = end


class VirtualTransport:
    """A socket of which the client's side is the test: `unread` is what the client has not taken yet."""

    def __init__(self) -> None:
        self.written = b""
        self.unread = 0
        self.reading = True
        self.eof = False
        self.closed = False
        self.aborted = False

    def write(self, data: bytes) -> None:
        self.written += data

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        self.written += b"".join(pieces)

    def write_eof(self) -> None:
        self.eof = True

    def can_write_eof(self) -> bool:
        return True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    @property
    def statuses(self) -> list[int]:
        return [int(line.split(b" ")[1]) for line in self.written.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


class Application:
    """Keeps every request until the test answers it."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []

    def handle(self, request: HttpRequest) -> None:
        self.requests.append(request)


class Client:
    """A connection to a server whose application and clock the test holds."""

    def __init__(self, **limits: float) -> None:
        self.loop = VirtualLoop()
        self.application = Application()
        self.server = HttpServer(self.application, cast(Any, self.loop), Limits(**cast(Any, limits)))
        self.transport = VirtualTransport()
        self.connection: Connection = self.server.connect()
        self.connection.connection_made(cast(Any, self.transport))

    def send(self, data: bytes) -> None:
        assert self.transport.reading
        self.connection.data_received(data)

    def advance(self, seconds: float) -> None:
        self.loop.advance(seconds)

    @property
    def begun(self) -> list[HttpRequest]:
        return self.application.requests

    def answer(self, number: int, status: int = 200) -> None:
        self.begun[number].respond(status, b"", b"")
        self.advance(0.0)


def test_an_idle_connection_is_closed_without_a_word() -> None:
    client = Client(idle_seconds_max=10.0)
    client.advance(9.0)
    assert not client.transport.closed
    client.advance(2.0)
    assert client.transport.closed
    assert client.transport.written == b""


def test_a_connection_is_idle_from_its_last_answer() -> None:
    client = Client(idle_seconds_max=10.0)
    client.advance(8.0)
    client.send(message())
    client.advance(30.0)
    client.answer(0)
    client.advance(8.0)
    assert not client.transport.closed
    client.advance(4.0)
    assert client.transport.closed
    assert client.transport.statuses == [200]


@pytest.mark.parametrize("before", [b"", message()], ids=["first", "in the bytes of the one before"])
@pytest.mark.parametrize("sent", [b"POST / HT", message()[:80]])
def test_a_head_that_does_not_come_to_its_end_is_refused(before: bytes, sent: bytes) -> None:
    client = Client(header_seconds_max=5.0)
    client.send(before + sent)
    if before:
        client.answer(0)
    client.advance(4.0)
    assert 408 not in client.transport.statuses
    client.advance(3.0)
    assert client.transport.statuses[-1] == 408
    assert client.transport.eof


@pytest.mark.parametrize("before", [b"", message()], ids=["first", "in the bytes of the one before"])
def test_a_body_that_trickles_is_refused_when_its_time_is_over(before: bytes) -> None:
    client = Client(header_seconds_max=5.0, request_seconds_max=60.0)
    client.send(before + message(b"{" + b" " * 100)[:-99])
    if before:
        client.answer(0)
    for _ in range(58):
        client.advance(1.0)
        client.send(b" ")
    assert 408 not in client.transport.statuses
    client.advance(4.0)
    assert client.transport.statuses[-1] == 408
    assert len(client.begun) == bool(before)


def test_a_request_may_be_worked_on_for_any_time() -> None:
    client = Client()
    client.send(message())
    client.advance(100_000.0)
    assert not client.transport.closed
    client.answer(0)
    assert client.transport.statuses == [200]


def behind(first: Client) -> Client:
    """Another connection to the same server."""
    second = Client()
    second.server = first.server
    second.application = first.application
    second.connection = first.server.connect()
    second.connection.connection_made(cast(Any, second.transport))
    return second


HEAD_OF_800 = message(headers={"Content-Length": "800"}).removesuffix(b"{}")


def test_bodies_are_limited_together_and_given_back() -> None:
    first = Client(held_body_bytes_max=1000)
    second = behind(first)
    first.send(HEAD_OF_800 + b"x")
    first.send(b"x" * 499)
    assert first.server.held_body_bytes == 500
    second.send(HEAD_OF_800 + b"x")
    second.send(b"x" * 500)
    assert second.transport.statuses == [503]
    assert second.transport.eof
    assert first.server.held_body_bytes == 500
    first.send(b"x" * 300)
    assert len(first.begun[0].body) == 800
    assert first.server.held_body_bytes == 800
    first.answer(0)
    assert first.server.held_body_bytes == 0
    first.send(HEAD_OF_800 + b"x" * 100)
    assert first.server.held_body_bytes == 100
    first.connection.connection_lost(None)
    assert first.server.held_body_bytes == 0


def test_bodies_of_requests_that_wait_are_counted_until_their_answers() -> None:
    client = Client(held_body_bytes_max=2500, pipelined_max=2)
    client.send((HEAD_OF_800 + b"x" * 800) * 3)  # two begun, one behind them
    assert client.server.held_body_bytes == 2400
    other = behind(client)
    other.send(HEAD_OF_800 + b"x" * 101)
    assert other.transport.statuses == [503]
    assert client.server.held_body_bytes == 2400
    client.answer(1)  # waits for its turn
    assert client.server.held_body_bytes == 2400
    client.answer(0)
    assert client.server.held_body_bytes == 800
    client.answer(2)
    assert client.server.held_body_bytes == 0
    client.send((HEAD_OF_800 + b"x" * 800) * 3)
    client.connection.connection_lost(None)
    assert client.server.held_body_bytes == 0
    client.begun[3].respond(200, b"", b"")
    assert client.server.held_body_bytes == 0


def test_a_body_without_its_coding_counts_as_long_as_it_is() -> None:
    client = Client()
    client.send(message(b"x" * 10))
    client.begun[0].replace_body(b"x" * 1000)
    assert client.server.held_body_bytes == 1000
    client.answer(0)
    assert client.server.held_body_bytes == 0


def test_a_client_that_does_not_read_its_answers_is_cut_off() -> None:
    client = Client(write_stall_seconds_max=10.0)
    client.send(message())
    client.answer(0)
    client.transport.unread = 5000
    client.advance(9.0)
    client.transport.unread = 4000  # reads, if slowly
    client.advance(9.0)
    assert not client.transport.aborted
    client.advance(3.0)
    assert client.transport.aborted


def test_a_refused_client_has_a_moment_to_read_why() -> None:
    client = Client(linger_seconds_max=2.0)
    client.send(b"nonsense\r\n\r\n")
    assert client.transport.statuses == [400]
    assert client.transport.eof
    assert not client.transport.closed
    client.send(b"more nonsense, thrown away")
    client.advance(4.0)
    assert client.transport.aborted


def test_an_endless_trailer_is_refused() -> None:
    client = Client(header_bytes_max=1000)
    client.send(message(b"", {"Content-Length": None, "Transfer-Encoding": "chunked"}))
    client.send(b"2\r\n{}\r\n0\r\nX-Trailer: ")
    client.send(b"x" * 900)
    assert client.transport.statuses == []
    client.send(b"x" * 900)
    assert client.transport.statuses == [431]


def test_answers_leave_in_the_order_of_their_requests() -> None:
    client = Client()
    client.send(message() * 3)
    client.answer(2, 204)
    client.answer(1, 404)
    assert client.transport.written == b""
    client.answer(0, 200)
    assert client.transport.statuses == [200, 404, 204]


def test_requests_beyond_the_limit_wait_unread() -> None:
    client = Client(pipelined_max=2)
    client.send(message() * 5)
    assert len(client.begun) == 2
    assert not client.transport.reading
    for number in range(5):
        client.answer(number)
        assert len(client.begun) == min(5, number + 3)
    assert client.transport.statuses == [200] * 5
    assert client.transport.reading


def test_nothing_more_is_begun_while_answers_are_not_read() -> None:
    client = Client()
    client.connection.pause_writing()
    assert not client.transport.reading
    client.connection.data_received(message())  # had been received before reading stopped
    assert client.begun == []
    client.connection.resume_writing()
    assert len(client.begun) == 1
    assert client.transport.reading


def test_an_application_that_fails_answers_500() -> None:
    client = Client()

    def fail(request: HttpRequest) -> None:
        raise RuntimeError("a bug")

    client.application.handle = fail  # type: ignore[method-assign]
    client.send(message())
    assert client.transport.statuses == [500]


def test_a_client_that_left_is_seen_by_the_application() -> None:
    client = Client()
    client.send(message())
    assert not client.begun[0].client_gone
    client.transport.close()
    client.connection.connection_lost(None)
    assert client.begun[0].client_gone
    assert client.server.connection_count == 0

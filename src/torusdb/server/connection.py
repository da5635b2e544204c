"""One client's connection: bytes in, requests out, answers back in order.

Theory of operation. One `Connection` per client; llhttp (through httptools) does the framing. A request that
is complete goes to the `Application`, which calls `request.respond` once, now or later, on the loop's thread.
`queue` holds the requests handed over and not yet written, oldest first: an answer that is ready before its
turn waits in its request. What arrives beyond `pipelined_max`, or while the client does not read its answers,
waits in `_backlog`, and reading stops until it is gone; so a connection's memory is bounded by the limits.

A request that cannot be served (malformed, too large, too slow) is answered behind those before it, and the
connection ends, as it does when the server stops: the sending side is closed, and what still arrives is thrown
away for a moment, since closing a socket with unread bytes would reset it and could destroy the answer before
the client has read it.

No connection has a timer of its own: the server's tick calls `end_if_overdue`.

Speed: a request costs three Python frames of this module on its way in (headers complete, body, message
complete); headers are collected by `dict.__setitem__` itself, called by the parser with no frame in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

import httptools
import msgspec

from torusdb.server.joined_headers import JoinedHeaders

if TYPE_CHECKING:
    from torusdb.server.http import HttpServer

log = logging.getLogger("torusdb.server")

LARGE_BODY_BYTES = 64 * 1024
"""An answer of this size is written as head and body, without being copied into one piece first."""

Transport = asyncio.Transport


class HttpRequest(msgspec.Struct, eq=False, gc=False):
    """A complete request, and the place in its connection where the answer goes.

    `headers` has lower-case names; of a repeated one, the last, or all if the server joins them. Untracked by
    the garbage collector: the only cycle runs through the connection's queue, which empties as answers are written or
    the connection is lost.
    """

    connection: Connection
    method: bytes
    target: bytes
    headers: dict[bytes, bytes]
    body: bytes
    keep_alive: bool
    answer: bytes | None = None

    @property
    def client_gone(self) -> bool:
        """Nobody will read the answer."""
        return self.connection.transport.is_closing()

    def replace_body(self, body: bytes) -> None:
        """The body without its coding, which may be a thousand times as long: it counts as what is held, too."""
        self.connection.server.held_body_bytes += len(body) - len(self.body)
        self.body = body

    def respond(self, status: int, headers: bytes, body: bytes) -> None:
        """Answers. `headers` are whole lines, each with its CRLF; length, date and connection are added."""
        connection = self.connection
        server = connection.server
        heads = server.keep_alive_heads if self.keep_alive else server.closing_heads
        head = b"%bContent-Length: %d\r\n%b\r\n" % (heads[status], len(body), headers)
        if self.method == b"HEAD":
            body = b""
        queue = connection.queue
        if not queue or queue[0] is not self:
            self.answer = head + body
            return
        if len(body) < LARGE_BODY_BYTES:
            connection.transport.write(head + body)
        else:
            connection.transport.writelines((head, body))
        connection.written(self)


class Connection(asyncio.Protocol):
    """One client. See the module's docstring."""

    __slots__ = (
        "_backlog",
        "_backlog_scheduled",
        "_body",
        "_continue_owed",
        "_discarding",
        "_half_closed",
        "_head_bytes",
        "_headers",
        "_lingering",
        "_parser",
        "_raw_headers",
        "_reading_paused",
        "_receiving",
        "_since",
        "_unsent",
        "_unsent_since",
        "_url",
        "_write_paused",
        "queue",
        "server",
        "transport",
    )

    transport: Transport

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self.queue: deque[HttpRequest] = deque()
        self._backlog: deque[HttpRequest] = deque()
        self._backlog_scheduled = False
        self._raw_headers: dict[bytes, bytes] = JoinedHeaders() if server.joins_headers else {}
        self._url: list[bytes] = []
        self._headers: dict[bytes, bytes] | None = None
        self._body: bytes | bytearray = b""
        self._head_bytes = 0
        self._receiving = False
        self._continue_owed = False
        self._discarding = False
        """No further request is taken from this connection."""
        self._half_closed = False
        self._lingering = False
        self._reading_paused = False
        self._write_paused = False
        self._unsent = 0
        self._unsent_since = 0.0
        """How much the client has left unread, and since when it has been just as much; 0.0 when none."""
        self._since = server.now
        """When the present phase began: idle, receiving a request, or lingering."""
        self._parser = httptools.HttpRequestParser(self)

    # What the parser calls. `on_header` and `on_url` are looked up once, when the parser is made.

    @property
    def on_header(self) -> object:
        return self._raw_headers.__setitem__

    @property
    def on_url(self) -> object:
        return self._url.append

    def on_headers_complete(self) -> None:
        if self._discarding:
            return
        raw = self._raw_headers
        self._headers = headers = dict(zip(map(bytes.lower, raw), raw.values(), strict=True))
        if self._head_bytes > self.server.limits.header_bytes_max:
            self._check_header_bytes(headers)
        if b"expect" in headers and headers[b"expect"].lower() == b"100-continue":
            self._continue_owed = self._parser.get_http_version() != "1.0"
        # Also when it came in the same bytes as the end of the request before it.
        self._receiving = True
        length = headers.get(b"content-length")
        if length is not None and len(length) >= self.server.length_digits:
            self._check_length(length)

    def _check_header_bytes(self, headers: dict[bytes, bytes]) -> None:
        """The head came together with other bytes: only its own count."""
        used = sum(map(len, self._url)) + sum(map(len, headers)) + sum(map(len, headers.values()))
        if used > self.server.limits.header_bytes_max:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _check_length(self, length: bytes) -> None:
        """Refuses what is announced too large before it is sent. To the parser, these are digits."""
        digits = length.lstrip(b"0")
        if len(digits) > self.server.length_digits or int(digits or b"0") > self.server.limits.body_bytes_max:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def on_body(self, piece: bytes) -> None:
        self._head_bytes = 0
        if self._discarding:
            return
        server = self.server
        server.held_body_bytes += len(piece)
        if self._body:
            self._grow_body(piece)
        else:
            self._body = piece
        if server.held_body_bytes > server.held_body_bytes_max:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)  # SDKs try again
        elif len(self._body) > server.body_bytes_max:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def _grow_body(self, piece: bytes) -> None:
        if isinstance(self._body, bytes):
            self._body = bytearray(self._body)
        self._body += piece

    def on_message_complete(self) -> None:
        if self._discarding or self._parser.should_upgrade():
            return  # an offer to upgrade is declined by `data_received`
        url = self._url
        body = self._body
        keep_alive = self._parser.should_keep_alive()
        if self.server.draining and keep_alive:
            keep_alive = False
            self._lingering = True
        request = HttpRequest(
            self,
            self._parser.get_method(),
            url[0] if len(url) == 1 else b"".join(url),
            cast("dict[bytes, bytes]", self._headers),
            body if isinstance(body, bytes) else bytes(body),
            keep_alive,
        )
        self._body = b""  # held by the request from here on
        self._forget_message()
        if not keep_alive:
            self._discarding = True
        self._accept(request)

    def _forget_message(self) -> None:
        self._raw_headers.clear()
        self._url.clear()
        self._headers = None
        if self._body:
            self.server.held_body_bytes -= len(self._body)
            self._body = b""
        self._head_bytes = 0
        self._receiving = False
        self._continue_owed = False
        self._since = self.server.now

    # Requests and answers

    def _accept(self, request: HttpRequest) -> None:
        if self._backlog or self._write_paused or len(self.queue) >= self.server.limits.pipelined_max:
            self._backlog.append(request)
            self._pause_reading()
        else:
            self._hand_over(request)

    def _hand_over(self, request: HttpRequest) -> None:
        self.queue.append(request)
        if request.answer is not None:
            self._write_ready()
            return
        try:
            self.server.application.handle(request)
        except Exception:
            log.exception("Unexpected error while a request was handled")
            request.respond(HTTPStatus.INTERNAL_SERVER_ERROR, b"", b"")

    def written(self, request: HttpRequest) -> None:
        """The answer to the oldest request is with the transport: goes on with what waits behind it."""
        queue = self.queue
        queue.popleft()
        server = self.server
        server.held_body_bytes -= len(request.body)
        self._since = server.now
        if not request.keep_alive:
            self._finish()
        elif queue:
            self._write_ready()
        elif self._backlog or self._half_closed or self._continue_owed:
            self._resume()

    def _write_ready(self) -> None:
        """Writes the answers that have been waiting for their turn."""
        queue = self.queue
        while queue and queue[0].answer is not None:
            request = queue.popleft()
            self.server.held_body_bytes -= len(request.body)
            self.transport.write(cast("bytes", request.answer))
            if not request.keep_alive:
                self._finish()
                return
        self._resume()

    def _resume(self) -> None:
        if self._backlog:
            if not self._backlog_scheduled:
                self._backlog_scheduled = True
                self.server.loop.call_soon(self._work_off_backlog)
        elif not self.queue:
            if self._half_closed:
                self._finish()
            elif self._continue_owed:
                self._send_continue()

    def _work_off_backlog(self) -> None:
        self._backlog_scheduled = False
        backlog = self._backlog
        while backlog and not self._write_paused and len(self.queue) < self.server.limits.pipelined_max:
            self._hand_over(backlog.popleft())
        if not backlog and not self._write_paused:
            self._resume_reading()

    def _pause_reading(self) -> None:
        if not self._reading_paused and not self.transport.is_closing():
            self._reading_paused = True
            self.transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._reading_paused and not self.transport.is_closing():
            self._reading_paused = False
            self._since = self.server.now
            self.transport.resume_reading()

    def _send_continue(self) -> None:
        self._continue_owed = False
        self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # The end of a connection

    def _refuse(self, status: HTTPStatus) -> None:
        """Answers a request that cannot be served, after those before it; then the connection ends."""
        if self._discarding:
            return
        head = self.server.closing_heads[status]
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and self._parser.get_http_version() != "1.0":
            # The service's answer to a large body has no Content-Length either.
            answer = b"%bTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % head
        else:
            answer = b"%bContent-Length: 0\r\n\r\n" % head
        refusal = HttpRequest(self, b"", b"", {}, b"", keep_alive=False, answer=answer)
        self._forget_message()
        self._discarding = True
        self._lingering = True
        self._accept(refusal)

    def _finish(self) -> None:
        """The last answer is with the transport."""
        self._forget_requests()
        self._discarding = True
        if self._lingering and not self._half_closed and self.transport.can_write_eof():
            self._since = self.server.now
            self.transport.write_eof()
            self._resume_reading()
        else:
            self.transport.close()

    def _forget_requests(self) -> None:
        """Nobody waits for their answers any more."""
        for request in (*self.queue, *self._backlog):
            self.server.held_body_bytes -= len(request.body)
        self.queue.clear()
        self._backlog.clear()

    def turn_away(self, answer: bytes) -> None:
        self._discarding = True
        self.transport.write(answer)
        self.transport.close()

    def drain(self) -> None:
        """The server stops: takes no new request, ends when those begun are answered."""
        if self._discarding or (self._receiving and not self._reading_paused):
            return  # ends by itself; `on_message_complete` sees that the server drains
        last = self._backlog[-1] if self._backlog else self.queue[-1] if self.queue else None
        if last is not None:
            last.keep_alive = False
            self._discarding = True
            self._lingering = True
        else:
            self._finish()

    def end_if_overdue(self, now: float) -> None:
        limits = self.server.limits
        waited = now - self._since
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            if unsent != self._unsent or not self._unsent_since:
                self._unsent, self._unsent_since = unsent, now
            elif now - self._unsent_since > limits.write_stall_seconds_max:
                self.transport.abort()
            return
        self._unsent_since = 0.0
        if self.queue or self._reading_paused:
            return
        if self._discarding:
            if waited > limits.linger_seconds_max:
                self.transport.abort()
        elif self._receiving:
            allowed = limits.header_seconds_max if self._headers is None else limits.request_seconds_max
            if waited > allowed:
                self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        elif waited > limits.idle_seconds_max:
            self.transport.close()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("Transport", transport)
        self.transport.set_write_buffer_limits(high=self.server.limits.write_buffer_bytes)
        self.server.connected(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._discarding = True
        self._forget_requests()
        self._forget_message()
        del self._parser  # it refers to this connection
        self.server.disconnected(self)

    def data_received(self, data: bytes) -> None:
        if self._discarding:
            return
        if not self._receiving:
            self._receiving = True
            self._since = self.server.now
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])
            return
        except httptools.HttpParserCallbackError:
            log.exception("Unexpected error while a request was read")
            self.transport.abort()
            return
        except httptools.HttpParserError:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        if self._receiving or self._url:
            self._receiving = True
            if self._head_bytes > self.server.limits.header_bytes_max:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            elif self._continue_owed and not self.queue and not self._backlog:
                self._send_continue()

    def _decline_upgrade(self, rest: bytes) -> None:
        """A client may offer another protocol, as Java's does with `Upgrade: h2c`; a server may stay with HTTP/1.1.
        The parser stops at the end of the head, body or not, so it is given the head again without the offer."""
        if self._discarding:
            return
        method = self._parser.get_method()
        if method == b"CONNECT":  # asks for a tunnel: nothing behind it is a request
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        version = self._parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (method, b"".join(self._url), version)]
        lines += [b"%b: %b" % line for line in self._raw_headers.items() if line[0].lower() != b"upgrade"]
        self._forget_message()
        self._parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join([*lines, b"", rest]))

    def eof_received(self) -> bool:
        """The client sends no more; what it has sent is still answered."""
        self._half_closed = True
        self._discarding = True
        return bool(self.queue or self._backlog) and self.transport.can_write_eof()

    def pause_writing(self) -> None:
        self._write_paused = True
        self._pause_reading()

    def resume_writing(self) -> None:
        self._write_paused = False
        self._work_off_backlog()

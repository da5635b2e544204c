"""The front of the service: which operation a request asks for, who asks, and what the answer's headers are.

The order of checks is the service's: health and CORS by method; content type; JSON (looked at here only where
a later check fails, since otherwise the operation reads it); target; credentials; empty body; operation.

An operation's outcome may name a *ticket*: the answer is known, but must not leave before what the ticket
stands for is durable. Tickets call back from another thread; the answers of one ticket come back together.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol
from zlib import crc32

import msgspec

from torusdb.access.credentials import CredentialReader
from torusdb.client.request_ids import request_ids
from torusdb.errors import (
    InternalServerError,
    SerializationException,
    ServiceError,
    UnknownOperationException,
)
from torusdb.server import content_coding
from torusdb.server.connection import HttpRequest
from torusdb.storage.driver import Outcome, Paused
from torusdb.storage.failures import StorageFailed
from torusdb.storage.tickets import Ticket

if TYPE_CHECKING:
    from torusdb.access.gate import Caller, Gate
    from torusdb.database import Guard, Scope

log = logging.getLogger("torusdb.server")

TARGET_PREFIX = b"DynamoDB_20120810."
STREAMS_TARGET_PREFIX = b"DynamoDBStreams_20120810."
STREAMS_OPERATIONS = frozenset(["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"])
"""A service of its own to SDKs, behind the same front."""
JSON = b"application/json"
AMZ_JSON = b"application/x-amz-json-1.0"
CONTENT_TYPE_LINES = {name: b"Content-Type: %b\r\n" % name for name in (JSON, AMZ_JSON)}
NOT_FOUND_BODY = b"<UnknownOperationException/>\n"
PREFLIGHT_SECONDS = 172800
"""How long a browser may remember a preflight answer, as the service says."""
TEXT_LINE = b"Content-Type: text/plain; charset=utf-8\r\n"
RANGES_PER_SLICE = 4
"""Pages a long operation may read before others have their turn."""


class Backend(Protocol):
    """The database, as the server sees it."""

    @property
    def operations(self) -> Collection[str]:
        """The names of the operations that are built."""
        ...

    @property
    def region(self) -> str: ...

    @property
    def ready(self) -> bool: ...

    def begin(self, operation: str, body: bytes, scope: Scope, guard: Guard | None = None) -> Outcome | Paused:
        """Runs an operation to its end or to its first pause, if the guard has nothing against it; raises or gives
        back the service's error."""
        ...


class Answer(msgspec.Struct, gc=False):
    """A finished answer, and how it leaves."""

    request: HttpRequest
    content_type_line: bytes
    body: bytes
    status: int = 200


class Dispatcher:
    """The `Application` of the HTTP server."""

    def __init__(
        self,
        backend: Backend,
        loop: asyncio.AbstractEventLoop,
        body_bytes_max: int = 16 * 1024 * 1024,
        gate: Gate | None = None,
    ) -> None:
        """`gate` verifies signatures; without one, any credentials pass that have their form."""
        self._backend = backend
        self._loop = loop
        self._body_bytes_max = body_bytes_max
        self._operations = {_target(name): name for name in backend.operations}
        self._credentials = CredentialReader()
        self._gate = gate
        self._next_request_id = request_ids().__next__
        self._waiting: dict[Ticket, list[Answer]] = {}
        """The answers behind each ticket that is not done."""

    def handle(self, request: HttpRequest) -> None:
        headers = request.headers
        if request.method != b"POST":
            self._answer_without_operation(request)
            return
        sent = request.body  # what is signed is what was sent, compressed if it was
        if b"content-encoding" in headers and not self._decode_body(request):
            return
        content_type = headers.get(b"content-type", b"")
        line = CONTENT_TYPE_LINES.get(content_type)
        if line is None:
            line = _content_type_line(content_type, request.body)
            if line is None:
                self._send(request, 404, b"", NOT_FOUND_BODY)
                return
        try:
            operation = self._operations.get(headers.get(b"x-amz-target", b""))
            if operation is None:
                raise UnknownOperationException
            caller: Caller | None = None
            if self._gate is None:
                scope: Scope = self._credentials.credential(headers, request.target)
            else:
                scope = caller = self._gate.admit(request.method, request.target, headers, sent)
            if not request.body:
                raise SerializationException
        except ServiceError as error:
            unreadable = request.body and not _is_json(request.body)
            self._send_error(request, line, SerializationException() if unreadable else error)
            return
        self._perform(request, operation, scope, line, caller)

    def _perform(self, request: HttpRequest, operation: str, scope: Scope, line: bytes, caller: Caller | None) -> None:
        try:
            if caller is None:
                outcome = self._backend.begin(operation, request.body, scope)
            else:
                outcome = self._backend.begin(operation, request.body, scope, caller)
        except ServiceError as error:
            self._send_error(request, line, error)
        except Exception as error:
            self._send_unexpected(request, line, error)
        else:
            self._take(request, line, outcome)

    def _take(self, request: HttpRequest, line: bytes, outcome: Outcome | Paused) -> None:
        if isinstance(outcome, Paused):
            self._loop.call_soon(self._go_on, request, line, outcome)
            return
        ticket = outcome.ticket
        error = outcome.error
        if error is not None:
            answer = Answer(request, line, error.to_json(), error.status)
        else:
            assert outcome.body is not None
            if ticket is None:
                self._send(request, 200, line, outcome.body)
                return
            answer = Answer(request, line, outcome.body)
        if ticket is None:
            self._send(request, answer.status, line, answer.body)
        else:
            self._send_after(ticket, answer)

    def _go_on(self, request: HttpRequest, line: bytes, paused: Paused) -> None:
        """The next slice of a long operation; others have had their turn in between."""
        if request.client_gone:
            paused.abandon()
            return
        try:
            outcome = paused.resume(RANGES_PER_SLICE)
        except Exception as error:
            self._send_unexpected(request, line, error)
        else:
            self._take(request, line, outcome)

    # Answers that wait until they are durable

    def _send_after(self, ticket: Ticket, answer: Answer) -> None:
        waiting = self._waiting.get(ticket)
        if waiting is not None:
            waiting.append(answer)
        else:
            self._waiting[ticket] = [answer]
            ticket.add_done_callback(self._wake)

    def _wake(self, ticket: Ticket) -> None:
        """Called by the thread that completed the ticket."""
        with suppress(RuntimeError):  # the loop is closed: there is nobody left to answer
            self._loop.call_soon_threadsafe(self._release, ticket)

    def _release(self, ticket: Ticket) -> None:
        answers = self._waiting.pop(ticket)
        if ticket.error is not None:
            log.error("%s", ticket.error)
            body = InternalServerError(str(ticket.error)).to_json()
            for answer in answers:
                self._send(answer.request, InternalServerError.status, answer.content_type_line, body)
            return
        for answer in answers:
            self._send(answer.request, answer.status, answer.content_type_line, answer.body)

    # Answers

    def _send(self, request: HttpRequest, status: int, lines: bytes, body: bytes) -> None:
        """Sends a body with what every answer of the service carries. The checksum is of the bytes on the
        wire, compressed if they are: SDKs check it before they decompress (smithy-rs #129)."""
        headers = request.headers
        if b"origin" in headers:
            lines += b"Access-Control-Allow-Origin: *\r\n"
        if len(body) >= content_coding.COMPRESSED_FROM_BYTES:
            accepted = headers.get(b"accept-encoding")
            if accepted is not None and content_coding.accepts_gzip(accepted):
                body = content_coding.compress(body)
                lines += b"Content-Encoding: gzip\r\n"
        request_id = self._next_request_id()
        head = b"%bx-amzn-RequestId: %b\r\nx-amz-crc32: %d\r\n" % (lines, request_id, crc32(body))
        request.respond(status, head, body)

    def _send_error(self, request: HttpRequest, line: bytes, error: ServiceError) -> None:
        self._send(request, error.status, line, error.to_json())

    def _send_unexpected(self, request: HttpRequest, line: bytes, error: Exception) -> None:
        """A failure of the database, or a bug of ours: the log says which."""
        if isinstance(error, StorageFailed):
            log.error("%s", error)
            self._send_error(request, line, InternalServerError(str(error)))
        else:
            log.error("Unexpected error in a request", exc_info=error)
            self._send_error(request, line, InternalServerError("Internal server error"))

    # Requests that are no operations

    def _answer_without_operation(self, request: HttpRequest) -> None:
        headers = request.headers
        if request.method == b"OPTIONS" and b"origin" in headers:
            self._send(request, 200, _preflight_lines(headers), b"")
        elif request.method == b"GET":
            self._answer_page(request)
        else:
            self._send(request, 404, b"", NOT_FOUND_BODY)

    def _answer_page(self, request: HttpRequest) -> None:
        """The service says that it is healthy on every path; `/health` and `/ready` are for monitoring."""
        path = request.target.partition(b"?")[0]
        if path == b"/health":
            self._send(request, 200, TEXT_LINE, b"ok\n")
        elif path == b"/ready":
            ready = self._backend.ready
            self._send(request, 200 if ready else 503, TEXT_LINE, b"ready\n" if ready else b"not ready\n")
        else:
            # With the space at the end: measured.
            healthy = f"healthy: dynamodb.{self._backend.region}.amazonaws.com "
            self._send(request, 200, b"", healthy.encode())

    # What is unusual about a request

    def _decode_body(self, request: HttpRequest) -> bool:
        """Undoes the content coding; answers and gives False if that is not possible."""
        coding = request.headers[b"content-encoding"]
        try:
            request.replace_body(content_coding.decode(request.body, coding, self._body_bytes_max))
        except content_coding.UnknownCodingError:
            self._send(request, 415, b"Accept-Encoding: gzip, deflate\r\n", b"")
        except content_coding.TooLargeError:
            request.respond(413, b"", b"")
        except content_coding.BrokenBodyError:
            line = CONTENT_TYPE_LINES.get(request.headers.get(b"content-type", b""), CONTENT_TYPE_LINES[JSON])
            self._send_error(request, line, SerializationException())
        else:
            return True
        return False


def _target(operation: str) -> bytes:
    """What the header X-Amz-Target says for an operation."""
    prefix = STREAMS_TARGET_PREFIX if operation in STREAMS_OPERATIONS else TARGET_PREFIX
    return prefix + operation.encode()


def _content_type_line(content_type: bytes, body: bytes) -> bytes | None:
    """The Content-Type of the answer: that of the request without its parameters; JSON for an empty body of
    any type. None for another type, which the service does not serve."""
    name = content_type.partition(b";")[0].strip().lower()
    line = CONTENT_TYPE_LINES.get(name)
    return CONTENT_TYPE_LINES[JSON] if line is None and not body else line


def _preflight_lines(headers: dict[bytes, bytes]) -> bytes:
    lines = b""
    wanted = headers.get(b"access-control-request-headers")
    if wanted:
        lines += b"Access-Control-Allow-Headers: %b\r\n" % wanted
    method = headers.get(b"access-control-request-method")
    if method:
        lines += b"Access-Control-Allow-Methods: %b\r\n" % method
    return lines + b"Access-Control-Max-Age: %d\r\n" % PREFLIGHT_SECONDS


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True

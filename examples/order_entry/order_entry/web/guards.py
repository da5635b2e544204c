"""What stands before the application: who may send forms here, how much, and what browsers are told about each page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from order_entry.web.problems import problem

BODY_BYTES_MAX: Final = 64 * 1024
"""An order of as many lines as it may have is a tenth of it."""

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
ANY_NAME: Final = "*"
LOCAL_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Nothing but the pages themselves, one style sheet, and no scripts at all."""


class Guard:
    """Around the whole application. There is no login, so a page of another site, open in the same browser, could do
    all that its user can: send forms (which the headers tell that browsers add), or have its own name point at this
    address (which the name tells that is asked for). `names`: those that are this server's."""

    def __init__(self, app: ASGIApp, names: Sequence[str] = LOCAL_NAMES) -> None:
        self.app = app
        self.names = frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = _with_headers(send)
        body = b""
        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is None:
            body = await _read(receive)
            refusal = TOO_LARGE if len(body) > BODY_BYTES_MAX else None
        if refusal is None:
            await self.app(scope, _replay(body, receive), send)
        else:
            await _response(scope["path"], *refusal)(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if ANY_NAME not in self.names and _name(host) not in self.names:
            return (421, f"This server does not know itself by the name {_name(host)[:100]!r}: start it with --name")
        if method not in SAFE_METHODS and not _is_same_origin(headers, host):
            return (403, "This was sent by a page of another site, and nothing was changed")
        return None


TOO_LARGE: Final = (413, f"A body may have {BODY_BYTES_MAX} bytes, and nothing was changed")


def _name(host: str) -> str:
    """Without the port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _is_same_origin(headers: Headers, host: str) -> bool:
    """Programs that are no browsers send neither header."""
    if headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == host


def _response(path: str, status: int, message: str) -> Response:
    if path.startswith("/api"):
        return problem(status, message)
    return PlainTextResponse(f"{message}.\n", status)


async def _read(receive: Receive) -> bytes:
    """All of a body, or a little more than it may have."""
    body = bytearray()
    while len(body) <= BODY_BYTES_MAX:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return with_headers

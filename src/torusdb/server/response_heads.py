"""The first lines of answers: status, server, date and what becomes of the connection."""

from __future__ import annotations

import time
from http import HTTPStatus

_DAYS = (b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun")
_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")


def http_date(at: time.struct_time) -> bytes:
    """RFC 9110 5.6.7, as `email.utils` would write it, but that is 5 ms to import."""
    return b"%b, %02d %b %04d %02d:%02d:%02d GMT" % (
        _DAYS[at.tm_wday],
        at.tm_mday,
        _MONTHS[at.tm_mon - 1],
        at.tm_year,
        at.tm_hour,
        at.tm_min,
        at.tm_sec,
    )


class StatusHeads(dict[int, bytes]):
    """The first lines of an answer by status, made when first needed and forgotten when the date changes."""

    def __init__(self, server_name: bytes, connection: bytes) -> None:
        super().__init__()
        self._server_name = server_name
        self._connection = connection

    def __missing__(self, status: int) -> bytes:
        phrase = HTTPStatus(status).phrase.encode()
        head = b"HTTP/1.1 %d %b\r\nServer: %b\r\nDate: %b\r\nConnection: %b\r\n" % (
            status,
            phrase,
            self._server_name,
            http_date(time.gmtime()),
            self._connection,
        )
        self[status] = head
        return head

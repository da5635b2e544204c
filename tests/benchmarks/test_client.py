"""The harness's own client."""

from __future__ import annotations

import socket
import threading
from contextlib import closing

from benchmarks.client import IDLE_S_MAX, Client

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def test_a_connection_that_the_server_may_have_closed_is_made_anew() -> None:
    """The server here answers one request a connection, and hangs up without a word."""

    def serve(listener: socket.socket) -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with closing(connection):
                connection.recv(65536)
                connection.sendall(ANSWER)

    now = 0.0
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        with Client(listener.getsockname()[1], clock=lambda: now) as client:
            assert client.call("ListTables", {}) == {}
            now = IDLE_S_MAX + 1
            assert client.call("ListTables", {}) == {}
        server.join()

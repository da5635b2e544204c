"""Starting and stopping a server: in the foreground for the command line, in a thread for tests.

`serve` runs until SIGTERM or SIGINT. Then it accepts nothing more, ends idle connections, lets the others
finish what they have begun, and returns; a second signal, or `DRAIN_SECONDS_MAX`, cuts that short.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from torusdb.server.dispatch import Backend, Dispatcher
from torusdb.server.http import HttpServer
from torusdb.server.limits import Limits

if TYPE_CHECKING:
    from torusdb.access.gate import Gate

DRAIN_SECONDS_MAX = 10.0
START_SECONDS_MAX = 30.0
BACKLOG_CONNECTIONS = 1024
"""Connections the kernel holds until they are accepted: load generators open them all at once."""
FILES_BESIDES_CONNECTIONS = 1024
"""File descriptors left to the database."""


class ListenError(Exception):
    """The server cannot listen; the message is one line for the person who started it."""


class Server:
    """A listening server on a running loop."""

    def __init__(self, http: HttpServer, sockets: asyncio.Server, endpoint: str) -> None:
        self._http = http
        self._sockets = sockets
        self.endpoint = endpoint

    @property
    def connection_count(self) -> int:
        return self._http.connection_count

    async def stop(self, drain_seconds_max: float = DRAIN_SECONDS_MAX) -> bool:
        """Whether all connections ended by themselves within the time."""
        self._sockets.close()
        return await self._http.drain(drain_seconds_max)


async def listen(
    backend: Backend,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    insecure: bool = False,
    limits: Limits | None = None,
    tls: ssl.SSLContext | None = None,
    gate: Gate | None = None,
) -> Server:
    """Listens on the running loop; port 0 takes a free one. With a gate, requests are authenticated. Raises
    `ListenError`."""
    loop = asyncio.get_running_loop()
    limits = limits or Limits()
    addresses = await _addresses(host, port)
    if not insecure and gate is None:
        _refuse_beyond_loopback(host, addresses)
    limits = _within_file_limit(limits)
    dispatcher = Dispatcher(backend, loop, limits.body_bytes_max, gate)
    http = HttpServer(dispatcher, loop, limits, joins_headers=gate is not None)
    bound = _bind(host, port, addresses[0])
    sockets = await loop.create_server(
        http.connect,
        sock=bound,
        backlog=BACKLOG_CONNECTIONS,
        ssl=tls,
        ssl_handshake_timeout=None if tls is None else limits.header_seconds_max,
    )
    return Server(http, sockets, _endpoint(host, bound.getsockname()[1], secure=tls is not None))


Address = tuple[socket.AddressFamily, str]


async def _addresses(host: str, port: int) -> list[Address]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise ListenError(f"Cannot listen on {host}: {reason(error)}") from None
    # `localhost` can mean both ::1 and 127.0.0.1: most clients try the latter, so it comes first.
    return sorted(((family, str(address[0])) for family, _, _, _, address in found), key=lambda a: a[0])


def _refuse_beyond_loopback(host: str, addresses: list[Address]) -> None:
    for _, address in addresses:
        if not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
            raise ListenError(
                f"Refusing to listen on {host}: it is reachable from other machines, and requests are not "
                "authenticated. Name a file of access keys with --auth, listen on 127.0.0.1, or say --insecure."
            )


def _bind(host: str, port: int, address: Address) -> socket.socket:
    family, name = address
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((name, port))
        # Linux says that a port is taken only when one listens, if the other bound it with SO_REUSEADDR.
        bound.listen(BACKLOG_CONNECTIONS)
    except (OSError, OverflowError) as error:
        bound.close()
        taken = isinstance(error, OSError) and error.errno in _TAKEN
        what = f"Port {port} on {host} is taken" if taken else f"Cannot listen on port {port} of {host}"
        raise ListenError(f"{what}: {reason(error)}") from None
    return bound


_TAKEN = frozenset({errno.EADDRINUSE, getattr(errno, "WSAEADDRINUSE", errno.EADDRINUSE)})


def reason(error: Exception) -> str:
    """What the system says, to stand behind a colon."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]


def _endpoint(host: str, port: int, *, secure: bool) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{name}:{port}"


def _within_file_limit(limits: Limits) -> Limits:
    """Takes as many file descriptors as the connections need, or fewer connections if there are not so many:
    a process without descriptors can neither accept connections nor open the database's files."""
    if sys.platform == "win32":
        return limits
    import resource

    wanted = limits.connections_max + FILES_BESIDES_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return limits
    granted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
        soft = granted
    return msgspec.structs.replace(
        limits, connections_max=min(limits.connections_max, max(soft - FILES_BESIDES_CONNECTIONS, soft // 2))
    )


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, which handles twice as many requests; asyncio's own on Windows."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


def serve(
    backend: Backend,
    host: str,
    port: int,
    *,
    insecure: bool = False,
    limits: Limits | None = None,
    tls: ssl.SSLContext | None = None,
    gate: Gate | None = None,
    on_listening: Callable[[str], None] = lambda endpoint: None,
    drain_seconds_max: float = DRAIN_SECONDS_MAX,
) -> bool:
    """Serves in the main thread until a signal, and says whether all connections ended by themselves.
    `on_listening` is told the endpoint when requests can be sent. Raises `ListenError`."""

    async def until_told() -> bool:
        told = asyncio.Event()
        draining: asyncio.Task[bool] | None = None

        def on_signal() -> None:
            told.set()
            if draining is not None:
                draining.cancel()

        server = await listen(backend, host, port, insecure=insecure, limits=limits, tls=tls, gate=gate)
        _on_signals(on_signal)
        on_listening(server.endpoint)
        await told.wait()
        draining = asyncio.ensure_future(server.stop(drain_seconds_max))
        try:
            return await draining
        except asyncio.CancelledError:
            return False

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(until_told())


def _on_signals(callback: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, callback)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(callback))


class ServerThread:
    """A server in a thread of its own, for tests and for programs that do something else beside it."""

    def __init__(
        self,
        backend: Backend,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        insecure: bool = False,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        gate: Gate | None = None,
    ) -> None:
        self._listen: Callable[[], Awaitable[Server]] = partial(
            listen, backend, host, port, insecure=insecure, limits=limits, tls=tls, gate=gate
        )
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, Server]] = Future()
        self._thread = threading.Thread(target=self._run, name="torusdb-server", daemon=True)

    def start(self) -> str:
        """Returns the endpoint once requests can be sent. Raises `ListenError`."""
        self._thread.start()
        return self._started.result(START_SECONDS_MAX)[2].endpoint

    def stop(self) -> None:
        """Lets requests in flight finish, within `DRAIN_SECONDS_MAX`. May be called twice."""
        if not self._thread.is_alive():
            return
        loop, told, _ = self._started.result(START_SECONDS_MAX)
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has stopped meanwhile
            loop.call_soon_threadsafe(told.set)
        self._thread.join()

    @property
    def connection_count(self) -> int:
        return self._started.result(START_SECONDS_MAX)[2].connection_count

    def __enter__(self) -> str:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        async def until_told() -> None:
            try:
                server = await self._listen()
            except BaseException as error:
                self._started.set_exception(error)
                return
            told = asyncio.Event()
            self._started.set_result((asyncio.get_running_loop(), told, server))
            await told.wait()
            await server.stop()

        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(until_told())

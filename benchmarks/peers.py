"""The servers that are compared: how each is got, started and stopped, and what it says of its data."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import install
from benchmarks.client import Client
from benchmarks.install import PeerMissingError

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0
FIRST_ANSWER_POLL_S = 0.001
QUIET_CPU_SHARE = 0.03
QUIET_WINDOW_S = 0.2
QUIET_TIMEOUT_S = 60.0

Command = list[str]


class ServerDiedError(Exception):
    """A server ended, or never answered. The text holds its last words."""


@dataclass(frozen=True)
class Peer:
    """One way to run one server. `make_command` gets what it needs first, or raises PeerMissingError."""

    name: str
    on_disk: bool
    make_command: Callable[[int, Path], Command]
    version: Callable[[], str]
    documented: str
    """What its documentation and options say of durability, for where it cannot be watched."""


def _torusdb_program() -> str:
    program = Path(sys.executable).parent / "torusdb"
    if not program.exists():
        raise PeerMissingError(f"no torusdb beside {sys.executable}: install the project there")
    return str(program)


def _torusdb_version() -> str:
    from torusdb import __version__

    return __version__


def _torusdb(*options: str) -> Callable[[int, Path], Command]:
    def command(port: int, data: Path) -> Command:
        place = [] if "--in-memory" in options else ["--data-dir", str(data)]
        return [_torusdb_program(), "serve", "--port", str(port), *place, *options]

    return command


def _dynalite(port: int) -> Command:
    script = install.npm_package("dynalite", install.DYNALITE, "cli.js")
    at_once = ["--createTableMs", "0", "--deleteTableMs", "0"]
    return [install.node(), str(script), "--host", "127.0.0.1", "--port", str(port), *at_once]


def _dynoxide(port: int) -> Command:
    if not (sys.platform == "linux" and os.uname().machine == "x86_64"):
        raise PeerMissingError("@dynoxide/linux-x64 runs on Linux on x86-64 only")
    program = install.npm_package("@dynoxide/linux-x64", install.DYNOXIDE, "dynoxide")
    return [str(program), "serve", "--port", str(port)]


def _dynamodb_local(port: int) -> Command:
    jar, _ = install.dynamodb_local()
    native = jar.parent / "DynamoDBLocal_lib"
    native = native if native.exists() else jar.parent
    jars = os.pathsep.join([str(jar), str(jar.parent / "*"), str(native / "*")])
    main = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
    java = ["java", f"-Djava.library.path={native}", "-cp", jars, main]
    return [*java, "-disableTelemetry", "-sharedDb", "-port", str(port)]


def _moto(port: int) -> Command:
    return [str(install.moto_server()), "-H", "127.0.0.1", "-p", str(port)]


PEERS = [
    Peer("torusdb", True, _torusdb(), _torusdb_version, "on disk, every answered write after its fsync"),
    Peer(
        "torusdb-relaxed",
        True,
        _torusdb("--durability", "relaxed"),
        _torusdb_version,
        "on disk, writes synced now and then",
    ),
    Peer("torusdb-memory", False, _torusdb("--in-memory"), _torusdb_version, "in memory"),
    Peer(
        "dynalite",
        True,
        lambda port, data: [*_dynalite(port), "--path", str(data)],
        lambda: install.DYNALITE,
        "LevelDB on disk, writes not synced",
    ),
    Peer("dynalite-memory", False, lambda port, _: _dynalite(port), lambda: install.DYNALITE, "in memory"),
    Peer(
        "dynoxide",
        True,
        lambda port, data: [*_dynoxide(port), "--db-path", str(data / "data.sqlite")],
        lambda: install.DYNOXIDE,
        "SQLite file",
    ),
    Peer("dynoxide-memory", False, lambda port, _: _dynoxide(port), lambda: install.DYNOXIDE, "in memory"),
    Peer(
        "dynamodb-local",
        True,
        lambda port, data: [*_dynamodb_local(port), "-dbPath", str(data)],
        lambda: install.dynamodb_local()[1],
        "SQLite file",
    ),
    Peer(
        "dynamodb-local-memory",
        False,
        lambda port, _: [*_dynamodb_local(port), "-inMemory"],
        lambda: install.dynamodb_local()[1],
        "in memory",
    ),
    Peer("moto", False, lambda port, _: _moto(port), lambda: install.MOTO, "in memory"),
]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Server:
    """A peer that runs, on a free port and in a directory of its own; stopped by its process id."""

    def __init__(self, peer: Peer, data: Path | None = None) -> None:
        self.peer = peer
        self._home = tempfile.TemporaryDirectory(prefix=f"torusdb-benchmarks-{peer.name}-")
        self.data = data or Path(self._home.name) / "data"
        self.data.mkdir(exist_ok=True)
        self.port = free_port()
        self._log = Path(self._home.name) / "log"
        try:
            command = peer.make_command(self.port, self.data)
        except PeerMissingError:
            self._home.cleanup()
            raise
        self.started = time.perf_counter()
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self.first_answer_s = self._wait_for_first_answer()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait_for_first_answer(self) -> float:
        while time.perf_counter() - self.started < START_TIMEOUT_S:
            self.require_alive()
            client = Client(self.port, timeout_s=START_TIMEOUT_S)
            try:
                status, _ = client.send("ListTables", b"{}")
            except ConnectionError:
                time.sleep(FIRST_ANSWER_POLL_S)
            else:
                if status == 200:
                    return time.perf_counter() - self.started
                time.sleep(FIRST_ANSWER_POLL_S)
            finally:
                client.close()
        raise ServerDiedError(f"no answer within {START_TIMEOUT_S:.0f} s: {self.last_words()}")

    def require_alive(self) -> None:
        if self.process.poll() is not None:
            raise ServerDiedError(f"ended with status {self.process.returncode}: {self.last_words()}")

    def last_words(self) -> str:
        return " ".join(self._log.read_text(errors="replace").split())[-300:]

    def resident_mb(self) -> float:
        shown = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.process.pid)], capture_output=True, text=True, check=True
        )
        return int(shown.stdout) / 1024

    def wait_until_quiet(self) -> None:
        """What one measurement left to do, as compaction, must not fall into the next, of another server."""
        deadline = time.perf_counter() + QUIET_TIMEOUT_S
        before = self._cpu_seconds()
        while time.perf_counter() < deadline:
            time.sleep(QUIET_WINDOW_S)
            now = self._cpu_seconds()
            if now - before <= QUIET_CPU_SHARE * QUIET_WINDOW_S:
                return
            before = now

    def _cpu_seconds(self) -> float:
        status = Path(f"/proc/{self.process.pid}/stat")
        if not status.exists():
            return 0.0
        fields = status.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """As a crash would: no chance to write anything more."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self._home.cleanup()

"""Which servers keep what they answered: watched, not believed.

Two experiments. A server on disk is killed and started again on its directory: are the items there? And,
where strace is installed, writes are made one at a time under it: does each cause a call that syncs?
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import Client, WrongAnswerError
from benchmarks.data import SMALL_BYTES, Dataset
from benchmarks.load_data import create_table
from benchmarks.peers import Peer, Server

WRITES = 20
_SYNC_CALL = re.compile(r"\b(fsync|fdatasync|msync|sync_file_range)\(")
_STRACE_CALLS = "trace=fsync,fdatasync,msync,sync_file_range"


@dataclass(frozen=True)
class Durability:
    survives_kill: bool | None = None
    syncs_per_write: float | None = None

    def in_words(self, peer: Peer) -> str:
        if not peer.on_disk:
            return "in memory: gone when the process ends"
        if self.survives_kill is None:
            return f"{peer.documented} (by its documentation)"
        kept = "on disk, kept over kill -9" if self.survives_kill else "on disk, but lost by kill -9"
        if self.syncs_per_write is None:
            return f"{kept}; {peer.documented} (by its documentation: no strace here)"
        if self.syncs_per_write >= 1:
            return f"{kept}; syncs every write ({self.syncs_per_write:.1f} calls each)"
        if self.syncs_per_write == 0:
            return f"{kept}; never syncs: a power failure may lose answered writes"
        return f"{kept}; syncs now and then ({self.syncs_per_write:.2f} calls a write)"


def watch(peer: Peer) -> Durability:
    if not peer.on_disk:
        return Durability()
    with tempfile.TemporaryDirectory(prefix="torusdb-benchmarks-kill-") as directory:
        survives = _survives_kill(peer, Path(directory))
    return Durability(survives, _syncs_per_write(peer) if shutil.which("strace") else None)


def _survives_kill(peer: Peer, data: Path) -> bool:
    dataset = Dataset("kept", WRITES, SMALL_BYTES)
    with Server(peer, data) as server, Client(server.port) as client:
        create_table(client, dataset)
        _put(client, dataset)
        server.kill()
    with Server(peer, data) as server, Client(server.port) as client:
        try:
            return bool(client.call("Scan", {"TableName": "kept"})["Count"] == WRITES)
        except WrongAnswerError:
            return False


def _syncs_per_write(peer: Peer) -> float | None:
    dataset = Dataset("synced", WRITES, SMALL_BYTES)
    with (
        Server(peer) as server,
        Client(server.port) as client,
        tempfile.TemporaryDirectory(prefix="torusdb-benchmarks-strace-") as home,
    ):
        create_table(client, dataset)
        server.wait_until_quiet()
        trace = Path(home) / "trace"
        pid = str(server.process.pid)
        strace = subprocess.Popen(
            ["strace", "-f", "-e", _STRACE_CALLS, "-o", str(trace), "-p", pid],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert strace.stderr is not None
        attached = "attached" in strace.stderr.readline()
        if attached:
            _put(client, dataset)
        strace.terminate()
        strace.communicate()
        # Where tracing is not allowed, as in many containers, nothing is known.
        return len(_SYNC_CALL.findall(trace.read_text(errors="replace"))) / WRITES if attached else None


def _put(client: Client, dataset: Dataset) -> None:
    for number in range(WRITES):
        client.call("PutItem", {"TableName": dataset.table, "Item": dataset.item(number)})

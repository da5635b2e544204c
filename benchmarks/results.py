"""What a run found: plain values, kept as JSON beside the report so that a figure can be looked up later."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

BUSY_WINDOW_S = 1.0
LIKE_OF = {True: "torusdb", False: "torusdb-memory"}
"""Which TorusDB a peer is held against, by whether the peer keeps its data on disk."""


class Machine(msgspec.Struct, frozen=True):
    cpu: str
    cores: int
    memory_gb: float
    kernel: str
    disk: str
    python: str
    date: str
    busy_before: float
    """The share of all cores that something else used, just before the run."""


class PeerFacts(msgspec.Struct):
    name: str
    version: str = ""
    on_disk: bool = False
    durability: str = ""
    missing: str = ""
    first_answer_ms: list[float] = []
    idle_mb: float = 0.0
    loaded_mb: float = 0.0


class Figure(msgspec.Struct):
    """One cell: a workload on a server with a driver (`wrk 16`, `boto3`), over all rounds."""

    peer: str
    workload: str
    size: str
    driver: str
    unit: str
    rates: list[float] = []
    p50_ms: list[float] = []
    p99_ms: list[float] = []
    refused: str = ""

    @property
    def rate(self) -> float | None:
        return statistics.median(self.rates) if self.rates and not self.refused else None


class Growth(msgspec.Struct):
    """A server at a table size. Without rates: why there are none."""

    peer: str
    items: int
    rates: dict[str, float] = {}
    loaded_per_second: float = 0.0
    resident_mb: float = 0.0
    skipped: str = ""


class Results(msgspec.Struct):
    command: str
    machine: Machine
    rounds: int
    seconds: int
    items: dict[str, int] = {}
    """How many, by the label of their size."""
    connections: list[int] = []
    peers: list[PeerFacts] = []
    figures: list[Figure] = []
    growth: list[Growth] = []

    def figure(self, peer: str, workload: str, size: str, driver: str) -> Figure | None:
        wanted = (peer, workload, size, driver)
        found = (f for f in self.figures if (f.peer, f.workload, f.size, f.driver) == wanted)
        return next(found, None)

    def ratios(self, peer: PeerFacts, workload: str, size: str, driver: str) -> list[float]:
        """TorusDB's rate divided by the peer's in each round; none where either has no honest figure.

        Round by round, since servers take turns within one: what disturbs the machine disturbs both alike.
        """
        ours = self.figure(LIKE_OF[peer.on_disk], workload, size, driver)
        theirs = self.figure(peer.name, workload, size, driver)
        if ours is None or theirs is None or ours.rate is None or theirs.rate is None:
            return []
        return [mine / other for mine, other in zip(ours.rates, theirs.rates, strict=True)]

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    @staticmethod
    def load(path: Path) -> Results:
        return msgspec.json.decode(path.read_bytes(), type=Results)


def in_order(values: Iterable[str]) -> list[str]:
    """Each once, as they first came: what names the rows and columns of tables."""
    return list(dict.fromkeys(values))


def this_machine(disk: Path) -> Machine:
    return Machine(
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        kernel=f"{platform.system()} {platform.release()}",
        disk=_file_system(disk),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        busy_before=_busy_share(),
    )


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _file_system(path: Path) -> str:
    shown = subprocess.run(["df", "-PT", str(path)], capture_output=True, text=True, check=False)
    fields = shown.stdout.splitlines()[-1].split() if shown.returncode == 0 else []
    return f"{fields[1]} on {fields[0]}" if len(fields) > 1 else "unknown file system"


def _busy_share() -> float:
    """Of all cores, over a second; 0 where the system does not say."""
    if not Path("/proc/stat").exists():
        return 0.0
    busy_before, all_before = _cpu_ticks()
    time.sleep(BUSY_WINDOW_S)
    busy_after, all_after = _cpu_ticks()
    return round((busy_after - busy_before) / max(1, all_after - all_before), 3)


def _cpu_ticks() -> tuple[int, int]:
    ticks = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)

"""Runs the works of all libraries in turn, on one server, and makes a table of it."""

from __future__ import annotations

import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from benchmarks.client import Client
from benchmarks.install import library
from benchmarks.modeling import shop
from benchmarks.peers import PEERS, Server

HERE = Path(__file__).parent
WORKS = ["put", "get", "query"]
BARE = "boto3, dicts"

PYNAMODB = "6.1.0"
PYDYNOX = "1.8.0"


class Library(NamedTuple):
    """`package`: what is installed for it; None is what runs the benchmarks."""

    name: str
    module: str
    package: str | None


LIBRARIES = [
    Library("torusdb.modeling", "with_torusdb", None),
    Library(BARE, "with_boto3", None),
    Library(f"PynamoDB {PYNAMODB}", "with_pynamodb", f"pynamodb=={PYNAMODB}"),
    Library(f"pydynox {PYDYNOX}", "with_pydynox", f"pydynox=={PYDYNOX}"),
]


class Figure(NamedTuple):
    """Microseconds of an operation, the medians of the rounds: as the clock has them, and of the client's processor."""

    taken: float
    worked: float


class Worker:
    """A library in a process of its own, which does a work when it is told."""

    def __init__(self, which: Library, endpoint: str) -> None:
        self._which = which
        python = sys.executable if which.package is None else str(library(which.package))
        self._process = subprocess.Popen(
            [python, str(HERE / "worker.py"), which.module, endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Worker:
        self._process.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, trace)  # closes its input, which ends it

    def wait_until_ready(self) -> None:
        self._answer()

    def measure(self, work: str) -> Figure:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{work}\n")
        self._process.stdin.flush()
        return Figure(*map(float, self._answer().split()))

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._which.name} ended with status {self._process.wait()}; see above")
        return line


def compare(rounds: int, libraries: list[Library] = LIBRARIES) -> dict[str, dict[str, Figure]]:
    """Figures by work and library."""
    peer = next(each for each in PEERS if each.name == "torusdb-memory")
    with Server(peer) as server:
        with Client(server.port) as client:
            client.call("CreateTable", shop.create_parameters())
        endpoint = f"http://127.0.0.1:{server.port}"
        with ExitStack() as running:
            workers = {each.name: running.enter_context(Worker(each, endpoint)) for each in libraries}
            for worker in workers.values():
                worker.wait_until_ready()
            found: dict[str, dict[str, list[Figure]]] = {work: {name: [] for name in workers} for work in WORKS}
            for _ in range(rounds):
                for work in WORKS:
                    for name, worker in workers.items():
                        found[work][name].append(worker.measure(work))
    return {work: {name: _median(figures) for name, figures in by.items()} for work, by in found.items()}


def _median(figures: list[Figure]) -> Figure:
    return Figure(*(statistics.median(values) for values in zip(*figures, strict=True)))


def table_of(figures: dict[str, dict[str, Figure]]) -> str:
    """Ratios to boto3 with dicts, which all of them but pydynox have inside; and the microseconds they are of."""
    lines = [
        "| | " + " | ".join(f"{_WORK_TITLES[work]}: time | processor" for work in figures) + " |",
        "| --- | " + " | ".join("---: | ---:" for _ in figures) + " |",
    ]
    for name in next(iter(figures.values())):
        cells = []
        for by in figures.values():
            mine, bare = by[name], by[BARE]
            cells += [_cell(mine.taken, bare.taken), _cell(mine.worked, bare.worked)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


_WORK_TITLES = {"put": "put", "get": "get", "query": "query of 100"}


def _cell(figure: float, bare: float) -> str:
    return f"{figure / bare:.2f} ({figure:,.0f} µs)"

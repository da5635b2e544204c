"""The run itself: servers side by side, each workload on all of them in turn, round after round.

Since servers take turns within seconds, what disturbs the machine disturbs them alike, and ratios hold
better than rates do. A server that answers wrongly, fails or dies loses the figures concerned, with the
reason; the others go on.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cells import FAILURES, Boto3Cell, Cell, Running, WrkCell
from benchmarks.checks import CHECKS
from benchmarks.client import Client, UnsupportedError
from benchmarks.data import Dataset
from benchmarks.durability import watch
from benchmarks.install import PeerMissingError
from benchmarks.load_data import create_table, load_items
from benchmarks.peers import Peer, Server
from benchmarks.results import Figure, PeerFacts
from benchmarks.workloads import Body, Target, Workload

Advance = Callable[[str, int], None]
"""Told what has just been done, and how many steps of the plan that was."""


@dataclass(frozen=True)
class Plan:
    """What is to be measured."""

    peers: list[Peer]
    workloads: list[Workload]
    datasets: list[Dataset]
    connections: list[int]
    rounds: int
    seconds: int
    boto3_seconds: float
    cold_starts: int
    watch_durability: bool = True

    @property
    def cells_per_peer(self) -> int:
        drivers = len(self.connections) + (self.boto3_seconds > 0)
        return len(self.workloads) * len(self.datasets) * drivers * self.rounds

    @property
    def steps(self) -> int:
        return len(self.peers) * (2 + self.cells_per_peer)


def facts_of(peer: Peer, plan: Plan) -> PeerFacts:
    """What is found out about a server alone: durability, the time to its first answer, its idle memory."""
    facts = PeerFacts(peer.name, on_disk=peer.on_disk)
    try:
        facts.version = peer.version()
        idle: list[float] = []
        for _ in range(plan.cold_starts):
            with Server(peer) as server:
                facts.first_answer_ms.append(server.first_answer_s * 1e3)
                server.wait_until_quiet()
                idle.append(server.resident_mb())
        facts.idle_mb = statistics.median(idle) if idle else 0.0
        facts.durability = watch(peer).in_words(peer) if plan.watch_durability else peer.documented
    except (PeerMissingError, *FAILURES) as error:
        facts.missing = str(error) or type(error).__name__
    return facts


class Measurement:
    """All servers of a plan, up and loaded, and the figures taken from them."""

    def __init__(self, plan: Plan, advance: Advance) -> None:
        self.plan = plan
        self.peers: list[PeerFacts] = []
        self.figures: list[Figure] = []
        self._advance = advance
        self._running: list[Running] = []

    def run(self) -> None:
        for peer in self.plan.peers:
            self.peers.append(facts_of(peer, self.plan))
            self._advance(f"{peer.name}: start, memory, durability", 1)
        with ExitStack() as stack:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="torusdb-benchmarks-load-")))
            for peer, facts in zip(self.plan.peers, self.peers, strict=True):
                self._start(stack, peer, facts)
            for dataset in self.plan.datasets:
                for workload in self.plan.workloads:
                    self._measure_workload(home, dataset, workload)

    def _start(self, stack: ExitStack, peer: Peer, facts: PeerFacts) -> None:
        if not facts.missing:
            try:
                self._running.append(self._load(stack, peer, facts))
            except (PeerMissingError, *FAILURES) as error:
                facts.missing = f"could not be loaded: {error}"
        done = 1 + (self.plan.cells_per_peer if facts.missing else 0)
        self._advance(f"{peer.name}: load, check answers", done)

    def _load(self, stack: ExitStack, peer: Peer, facts: PeerFacts) -> Running:
        server = stack.enter_context(Server(peer))
        running = Running(server, stack.enter_context(Client(server.port)), facts)
        for dataset in self.plan.datasets:
            create_table(running.client, dataset)
            load_items(server.port, dataset, 0, dataset.items)
            running.targets[dataset.label] = Target(dataset)
        facts.loaded_mb = server.resident_mb()
        # All checks come before all load: they compare with the data as it was loaded.
        for target in running.targets.values():
            self._check_answers(running, target)
        return running

    def _check_answers(self, running: Running, target: Target) -> None:
        for workload in self.plan.workloads:
            try:
                CHECKS[workload.name](running.client, target)
            except UnsupportedError as error:
                running.wrong[workload.name, target.dataset.label] = str(error)
            except (*FAILURES, KeyError) as error:
                running.wrong[workload.name, target.dataset.label] = f"{type(error).__name__}: {error}"

    def _measure_workload(self, home: Path, dataset: Dataset, workload: Workload) -> None:
        """All servers get the same requests, but for Scan, whose pages start elsewhere on each."""
        file = home / "requests"
        shared = workload.bodies(Target(dataset))
        workload.write_file(file, shared)
        files: dict[str, Path] = {}
        bodies: dict[str, list[Body]] = {}
        for running in self._running:
            name = running.facts.name
            files[name], bodies[name] = file, shared
            if workload.operation == "Scan":
                files[name] = home / f"requests-{name}"
                bodies[name] = workload.bodies(running.targets[dataset.label])
                workload.write_file(files[name], bodies[name])
        for connections in self.plan.connections:
            self._take_turns(
                [
                    WrkCell(
                        running,
                        workload,
                        running.targets[dataset.label],
                        files[running.facts.name],
                        connections=connections,
                        seconds=self.plan.seconds,
                    )
                    for running in self._running
                ]
            )
        if self.plan.boto3_seconds:
            self._take_turns(
                [
                    Boto3Cell(
                        running,
                        workload,
                        running.targets[dataset.label],
                        bodies[running.facts.name],
                        self.plan.boto3_seconds,
                    )
                    for running in self._running
                ]
            )

    def _take_turns(self, cells: Sequence[Cell]) -> None:
        for number in range(self.plan.rounds):
            for cell in cells:
                cell.measure(first=number == 0)
                figure = cell.figure
                self._advance(f"{figure.workload} {figure.size}, {figure.driver}, {figure.peer}", 1)
        self.figures += [cell.figure for cell in cells]

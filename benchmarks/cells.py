"""One figure's worth of measuring: a workload on one server by one driver, taken once a round."""

from __future__ import annotations

import http.client
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import checks
from benchmarks.client import Client, WrongAnswerError
from benchmarks.data import Dataset
from benchmarks.load import Rate, RefusedError, WrkLoad, time_boto3
from benchmarks.load_data import renew_table
from benchmarks.peers import Server, ServerDiedError
from benchmarks.results import Figure, PeerFacts
from benchmarks.workloads import Body, Target, Workload

MEGABYTE = 1024 * 1024
FAILURES = (RefusedError, WrongAnswerError, ServerDiedError, OSError, http.client.HTTPException)


@dataclass
class Running:
    """A server that is up, and its tables by the label of their dataset."""

    server: Server
    client: Client
    facts: PeerFacts
    targets: dict[str, Target] = field(default_factory=dict)
    wrong: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why a (workload, dataset) may not be timed: its answers were wrong before."""


class Cell(ABC):
    """Measures once a round, until the first failure: then the figure is refused, with the reason."""

    def __init__(self, running: Running, workload: Workload, target: Target, driver: str) -> None:
        self.running = running
        self.workload = workload
        self.target = target
        dataset = target.dataset
        self.figure = Figure(running.facts.name, workload.name, dataset.label, driver, workload.unit)
        self.figure.refused = running.wrong.get((workload.name, dataset.label), "")

    def measure(self, first: bool) -> None:
        if self.figure.refused:
            return
        try:
            self.running.server.require_alive()
            rate = self._rate(first)
            self.running.server.require_alive()
        except FAILURES as error:
            self.figure.refused = f"{error}" or type(error).__name__
            return
        finally:  # A slow server works on what was asked of it when nobody waits for the answers any more.
            self.running.server.wait_until_quiet()
        self.figure.rates.append(rate.per_second * self._per_request())
        self.figure.p50_ms.append(rate.p50_ms)
        self.figure.p99_ms.append(rate.p99_ms)

    @abstractmethod
    def _rate(self, first: bool) -> Rate:
        """Requests a second, or one of FAILURES. The first round looks into every answer before."""

    def _per_request(self) -> float:
        """Scans are counted by the bytes of their items, since servers' pages differ."""
        if self.workload.operation != "Scan":
            return 1.0
        return self.target.scan_items_per_page * self.target.dataset.item_bytes / MEGABYTE

    def _renew_table(self, dataset: Dataset) -> None:
        if self.workload.is_fresh:
            workload = self.workload
            table = workload.table_of(dataset)
            renew_table(self.running.client, dataset, table, workload.settings, workload.expires_by)


class WrkCell(Cell):
    """Many connections, by wrk."""

    def __init__(
        self,
        running: Running,
        workload: Workload,
        target: Target,
        requests: Path,
        *,
        connections: int,
        seconds: int,
    ) -> None:
        super().__init__(running, workload, target, f"wrk {connections}")
        self._connections = connections
        self._seconds = seconds
        self._load = WrkLoad(running.server.port, workload, requests)

    def _rate(self, first: bool) -> Rate:
        dataset = self.target.dataset
        if first:
            self._renew_table(dataset)
            if self.workload.operation == "UpdateItem":
                self._check_no_update_lost(dataset)
            else:
                self._load.check(self._connections)
        self._renew_table(dataset)
        self.running.server.wait_until_quiet()
        return self._load.time(self._connections, self._seconds)

    def _check_no_update_lost(self, dataset: Dataset) -> None:
        before = checks.sum_of_balances(self.running.client, dataset)
        answered = self._load.check(self._connections).requests
        added = checks.sum_of_balances(self.running.client, dataset) - before
        # When wrk ends it hangs up on requests it has sent: a connection may have one done and not answered.
        if not answered <= added <= answered + self._connections:
            raise WrongAnswerError(f"{answered} updates answered, {added} done")


class Boto3Cell(Cell):
    """One thread of Python, by boto3."""

    def __init__(
        self, running: Running, workload: Workload, target: Target, bodies: list[Body], seconds: float
    ) -> None:
        super().__init__(running, workload, target, "boto3")
        self._bodies = bodies
        self._seconds = seconds

    def _rate(self, first: bool) -> Rate:
        self._renew_table(self.target.dataset)
        return time_boto3(self.running.server.port, self.workload, self._bodies, self._seconds)

"""How rates hold as a table grows: one server at a time, each in its own time box."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cells import FAILURES
from benchmarks.client import Client
from benchmarks.data import SMALL_BYTES, Dataset
from benchmarks.install import PeerMissingError
from benchmarks.load import WrkLoad
from benchmarks.load_data import create_table, load_items
from benchmarks.peers import Peer, Server
from benchmarks.results import Growth
from benchmarks.workloads import WORKLOADS, Target

GROWTH_WORKLOADS = ["GetItem", "PutItem overwrite", "Query 50"]


@dataclass(frozen=True)
class GrowthPlan:
    sizes: list[int]
    connections: int
    seconds: int
    load_seconds_max: float
    """For each server and size; one that would need longer is not loaded, and that is said."""


def measure_growth(peer: Peer, plan: GrowthPlan, say: Callable[[str], None]) -> list[Growth]:
    """A Growth for each size, the last ones perhaps with why they were skipped."""
    grown: list[Growth] = []
    try:
        with Server(peer) as server:
            with Client(server.port) as client:
                create_table(client, Dataset("growth", 0, SMALL_BYTES))
            loaded = 0
            for size in plan.sizes:
                say(f"{peer.name}: {size:,} items")
                expected_rate = grown[-1].loaded_per_second if grown else None
                step = _grow(server, plan, loaded, size, expected_rate)
                grown.append(step)
                if step.skipped:
                    break
                loaded = size
    except (PeerMissingError, *FAILURES) as error:
        grown.append(Growth(peer.name, plan.sizes[len(grown)], skipped=str(error) or type(error).__name__))
    for size in plan.sizes[len(grown) :]:
        grown.append(Growth(peer.name, size, skipped=grown[-1].skipped))
    return grown


def _grow(server: Server, plan: GrowthPlan, loaded: int, size: int, expected_rate: float | None) -> Growth:
    dataset = Dataset("growth", size, SMALL_BYTES)
    step = Growth(server.peer.name, size)
    if expected_rate and (size - loaded) / expected_rate > plan.load_seconds_max:
        minutes = (size - loaded) / expected_rate / 60
        step.skipped = f"loads {expected_rate:,.0f} items/s: would take {minutes:.0f} min"
        return step
    started = time.perf_counter()
    written = load_items(server.port, dataset, loaded, size, deadline=started + plan.load_seconds_max)
    step.loaded_per_second = written / (time.perf_counter() - started)
    if written < size - loaded:
        step.skipped = f"{loaded + written:,} items after {plan.load_seconds_max:.0f} s of loading"
        return step
    for workload in WORKLOADS:
        if workload.name in GROWTH_WORKLOADS:
            with tempfile.TemporaryDirectory(prefix="torusdb-benchmarks-growth-") as home:
                requests = Path(home) / "requests"
                workload.write_file(requests, workload.bodies(Target(dataset)))
                load = WrkLoad(server.port, workload, requests)
                load.check(plan.connections)
                server.wait_until_quiet()
                step.rates[workload.name] = load.time(plan.connections, plan.seconds).per_second
    step.resident_mb = server.resident_mb()
    return step

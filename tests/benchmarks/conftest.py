"""What a run might have found, without a run."""

from collections.abc import Callable

import pytest
from benchmarks.results import Figure, Machine, PeerFacts, Results

SIZE = "0.3 KB"
MACHINE = Machine("A processor", 2, 8.0, "Linux 6", "ext4 on /dev/vda", "CPython 3.11", "2026-11-19 06:00 UTC", 0.02)

AddFigure = Callable[..., Figure]


@pytest.fixture
def results() -> Results:
    """No figures yet, and servers on disk and in memory."""
    peers = [
        PeerFacts("torusdb", "0.1.0", True, "on disk", first_answer_ms=[300.0, 200.0, 900.0], idle_mb=40.0),
        PeerFacts("torusdb-memory", "0.1.0", False, "in memory", first_answer_ms=[200.0]),
        PeerFacts("dynalite", "4.0.0", True, "on disk, never syncs", first_answer_ms=[150.0]),
        PeerFacts("moto", "5.2.5", False, "in memory", first_answer_ms=[600.0]),
    ]
    command = "python -m benchmarks run"
    return Results(command, MACHINE, 3, 2, items={SIZE: 100_000}, connections=[16], peers=peers)


@pytest.fixture
def add(results: Results) -> AddFigure:
    """`add("moto", 10.0, 12.0)`: a figure of GetItem with these rates, one a round."""

    def add_figure(peer: str, *rates: float, workload: str = "GetItem", refused: str = "") -> Figure:
        latencies = [1.0 for _ in rates]
        figure = Figure(peer, workload, SIZE, "wrk 16", "requests/s", list(rates), latencies, latencies, refused)
        results.figures.append(figure)
        return figure

    return add_figure

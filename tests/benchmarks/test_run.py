"""A plan is measured step by step, and what fails costs its own figures only."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.__main__ import chosen_peers
from benchmarks.data import SMALL_BYTES, Dataset
from benchmarks.growth import GrowthPlan, measure_growth
from benchmarks.install import PeerMissingError
from benchmarks.measure import Measurement, Plan
from benchmarks.peers import PEERS, Command, Peer
from benchmarks.workloads import WORKLOADS

MEMORY = next(peer for peer in PEERS if peer.name == "torusdb-memory")


def cannot_be_had(port: int, data: Path) -> Command:
    raise PeerMissingError("node is not installed")


MISSING = Peer("dynalite", False, cannot_be_had, lambda: "4.0.0", "in memory")
GET_ONLY = Plan(
    peers=[MEMORY, MISSING],
    workloads=WORKLOADS[:1],
    datasets=[Dataset("small", 1000, SMALL_BYTES)],
    connections=[1],
    rounds=1,
    seconds=1,
    boto3_seconds=0.1,
    cold_starts=1,
)


def test_a_plan_counts_a_step_for_each_figure_of_each_round() -> None:
    plan = replace(GET_ONLY, workloads=WORKLOADS[:3], connections=[16, 64], rounds=5)
    assert plan.cells_per_peer == 3 * 3 * 5  # workloads, wrk twice and boto3, rounds
    assert replace(plan, boto3_seconds=0.0).cells_per_peer == 3 * 2 * 5
    assert plan.steps == 2 * (2 + 45)  # each server is looked at alone, and loaded


def test_each_server_comes_with_the_torusdb_it_is_held_against() -> None:
    def names(chosen: list[str] | None) -> list[str]:
        return [peer.name for peer in chosen_peers(chosen)]

    assert names(["moto"]) == ["torusdb-memory", "moto"]
    assert names(["dynalite"]) == ["torusdb", "dynalite"]
    assert names(["moto", "dynoxide"]) == ["torusdb", "torusdb-memory", "dynoxide", "moto"]
    assert names(None) == [peer.name for peer in PEERS]


def test_a_server_that_cannot_be_had_is_told_and_no_step_is_forgotten() -> None:
    done: list[int] = []
    plan = replace(GET_ONLY, peers=[MISSING])
    measurement = Measurement(plan, lambda _, steps: done.append(steps))
    measurement.run()
    assert [facts.missing for facts in measurement.peers] == ["node is not installed"]
    assert measurement.figures == []
    assert sum(done) == plan.steps


def test_growth_of_a_server_that_cannot_be_had_says_so_at_each_size() -> None:
    grown = measure_growth(MISSING, GrowthPlan([1000, 2000], 16, 1, 1.0), lambda _: None)
    assert [(step.items, step.skipped) for step in grown] == [
        (1000, "node is not installed"),
        (2000, "node is not installed"),
    ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk, which makes the load, is not installed")
def test_torusdb_is_measured_from_start_to_figures() -> None:
    done: list[int] = []
    measurement = Measurement(GET_ONLY, lambda _, steps: done.append(steps))
    measurement.run()
    assert [figure.refused for figure in measurement.figures] == ["", ""]
    assert {figure.driver for figure in measurement.figures} == {"wrk 1", "boto3"}
    assert all(figure.rate for figure in measurement.figures)
    assert measurement.peers[0].durability.startswith("in memory")
    assert measurement.peers[0].idle_mb > 1
    assert measurement.peers[1].missing
    assert sum(done) == GET_ONLY.steps

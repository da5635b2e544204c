"""Ratios are TorusDB's rate over a peer's, taken round by round between servers that are alike."""

from pathlib import Path

import pytest
from benchmarks.results import PeerFacts, Results

from tests.benchmarks.conftest import SIZE, AddFigure


def ratios_of(results: Results, name: str) -> list[float]:
    peer = next(peer for peer in results.peers if peer.name == name)
    return results.ratios(peer, "GetItem", SIZE, "wrk 16")


def test_a_ratio_is_taken_within_each_round(results: Results, add: AddFigure) -> None:
    add("torusdb", 100.0, 10.0, 60.0)
    add("dynalite", 50.0, 5.0, 20.0)  # the second round was disturbed, for both
    assert ratios_of(results, "dynalite") == [2.0, 2.0, 3.0]


def test_peers_in_memory_are_held_against_torusdb_in_memory(results: Results, add: AddFigure) -> None:
    add("torusdb", 100.0)
    add("torusdb-memory", 300.0)
    add("dynalite", 50.0)
    add("moto", 50.0)
    assert ratios_of(results, "dynalite") == [2.0]
    assert ratios_of(results, "moto") == [6.0]


@pytest.mark.parametrize("refused", ["torusdb", "dynalite"])
def test_there_is_no_ratio_where_either_figure_is_refused(results: Results, add: AddFigure, refused: str) -> None:
    """Not even from the rounds before the failure."""
    for peer in ("torusdb", "dynalite"):
        add(peer, 100.0, refused="answers wrong" if peer == refused else "")
    assert ratios_of(results, "dynalite") == []


def test_there_is_no_ratio_where_a_figure_was_not_taken(results: Results, add: AddFigure) -> None:
    add("dynalite", 50.0)
    assert ratios_of(results, "dynalite") == []


def test_the_rate_of_a_figure_is_the_median_of_its_rounds(add: AddFigure) -> None:
    assert add("moto", 1.0, 100.0, 3.0).rate == 3.0


def test_results_come_back_from_their_file(results: Results, add: AddFigure, tmp_path: Path) -> None:
    add("moto", 1.5, 2.5)
    results.peers.append(PeerFacts("dynoxide", missing="npm is not installed"))
    results.save(tmp_path / "results" / "run.json")
    assert Results.load(tmp_path / "results" / "run.json") == results

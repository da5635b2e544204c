"""Histories of a simulated database, one for each seed. A seed that fails is shown, and replays:

TORUSDB_SEED=17 python -m pytest tests/simulation
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from tests.simulation.world import World
from torusdb.jobs import tables, ttl
from torusdb.operations import reading, tokens

STEPS = 300
EVENTS_SHOWN = 40


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads and back-fills of a few items take many turns; tokens are soon good no longer."""
    monkeypatch.setattr(reading, "CHUNK_ITEMS_MAX", 1)
    monkeypatch.setattr(tables, "BACKFILL_ITEMS_MAX", 2)
    monkeypatch.setattr(tokens, "TOKEN_SECONDS", 20)
    monkeypatch.setattr(ttl, "SWEEP_ITEMS_MAX", 1)


def simulate(seed: int) -> World:
    world = World(seed)
    with told(seed, world.log):
        world.run(STEPS)
        world.come_to_rest()
    return world


@contextmanager
def told(seed: int, log: list[str]) -> Iterator[None]:
    """A failure says how it came to it, and how to see it again."""
    try:
        yield
    except BaseException as error:
        events = "\n  ".join(log[-EVENTS_SHOWN:])
        error.add_note(f"Its last events:\n  {events}\nReplay: TORUSDB_SEED={seed} python -m pytest tests/simulation")
        raise


def seeds(default: Iterable[int]) -> Iterable[int]:
    given = os.environ.get("TORUSDB_SEED")
    return default if given is None else [int(given)]


@pytest.mark.parametrize("seed", seeds(range(40)))
def test_every_history_is_consistent(seed: int) -> None:
    simulate(seed)


@pytest.mark.slow
def test_thousands_of_histories_are_consistent() -> None:
    for seed in range(1000, 4000):
        simulate(seed)


def test_a_seed_is_a_history() -> None:
    assert simulate(5).log == simulate(5).log


def test_histories_are_eventful() -> None:
    """Were the scheduler to stop making trouble, the other tests here would be worth little."""
    events = [event for seed in range(80) for event in simulate(seed).log]
    for wanted in (
        "crash, with 0",
        "crash, with 1",
        "fail",
        "fail and keep",
        "job 1",
        "job 3",
        "go on Scan",
        "go on Query",
    ):
        assert any(event.startswith(wanted) for event in events), wanted
    assert "swept" in events
    assert any(event.startswith("answer UpdateTable") for event in events)
    for operation in ("BatchWriteItem", "TransactWriteItems", "TransactGetItems", "UpdateTimeToLive"):
        assert any(event.startswith(f"answer {operation}") for event in events), operation
    assert any(event.startswith("answer") and event.endswith("with a failure") for event in events)

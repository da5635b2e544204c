"""Histories of overlapping transactions, one for each seed, each of which must be serializable. A seed that fails is
shown, and replays:

TORUSDB_SEED=17 python -m pytest tests/simulation/test_serializability.py
"""

from __future__ import annotations

import pytest

from tests.simulation.optimistic import World
from tests.simulation.serializability import Lists, Transaction, check
from tests.simulation.test_simulation import seeds, told

STEPS = 600


def simulate(seed: int, validates: bool = True) -> World:
    world = World(seed, validates)
    with told(seed, world.log):
        world.run(STEPS)
        check(world.history, world.lists())
    return world


@pytest.mark.parametrize("seed", seeds(range(40)))
def test_every_history_is_serializable(seed: int) -> None:
    simulate(seed)


@pytest.mark.slow
def test_thousands_of_histories_are_serializable() -> None:
    for seed in range(1000, 4000):
        simulate(seed)


def test_a_seed_is_a_history() -> None:
    assert simulate(5).log == simulate(5).log


def test_histories_are_eventful() -> None:
    events = [event for seed in range(20) for event in simulate(seed).log]
    for wanted in ("conflict", "abort", "commit"):
        assert sum(event.startswith(wanted) for event in events) > 100, wanted
    for wanted in ("landed", "lost", "cancelled"):
        assert sum(event.endswith(wanted) for event in events) > 10, wanted


def test_without_looking_at_what_was_read_histories_are_not_serializable() -> None:
    """The checker notices an engine that breaks its contract."""
    broken = 0
    for seed in range(20):
        try:
            simulate(seed, validates=False)
        except AssertionError:
            broken += 1
    assert broken > 15


# The checker by itself.


def appending(number: int, *keys: str, reads: Lists | None = None, began: int = 0, ended: int = 100) -> Transaction:
    return Transaction(number, began, frozenset(keys), dict(reads or {}), ended, happened=True)


def reading(number: int, reads: Lists, began: int = 0, ended: int = 100) -> Transaction:
    return appending(number, reads=reads, began=began, ended=ended)


def test_what_is_serializable_passes() -> None:
    check(
        [
            appending(1, "a", "b"),
            appending(2, "a", reads={"b": (1,)}),
            reading(3, {"a": (1,), "b": (1,)}),
            reading(4, {"a": (), "b": ()}),
            Transaction(5, 0, frozenset("b")),  # never answered, and never done
            Transaction(6, 0, frozenset("b")),  # never answered, but done
        ],
        {"a": (1, 2), "b": (1, 6)},
    )


@pytest.mark.parametrize(
    ("what", "transactions", "final"),
    [
        ("half of one is seen", [appending(1, "a", "b"), reading(2, {"a": (1,), "b": ()})], {"a": (1,), "b": (1,)}),
        ("an acknowledged one is lost", [appending(1, "a")], {"a": ()}),
        ("one is done in part", [Transaction(1, 0, frozenset("ab"))], {"a": (1,), "b": ()}),
        ("one is done twice", [appending(1, "a")], {"a": (1, 1)}),
        ("a cancelled one is done", [Transaction(1, 0, frozenset("a"), {}, 9, happened=False)], {"a": (1,)}),
        ("one sees what never was", [appending(1, "a"), reading(2, {"a": (7,)})], {"a": (1,)}),
        (
            "write skew: each of two has seen nothing of the other",
            [appending(1, "a", reads={"b": ()}), appending(2, "b", reads={"a": ()})],
            {"a": (1,), "b": (2,)},
        ),
        (
            "two readers disagree about the order of two writers",
            [
                appending(1, "a"),
                appending(2, "b"),
                reading(3, {"a": (1,), "b": ()}),
                reading(4, {"a": (), "b": (2,)}),
            ],
            {"a": (1,), "b": (2,)},
        ),
        (
            "two writers come in different orders on two items",
            [appending(1, "a", "b"), appending(2, "a", "b")],
            {"a": (1, 2), "b": (2, 1)},
        ),
        (
            "a reader sees what was long ago",
            [appending(1, "a", ended=5), reading(2, {"a": ()}, began=6)],
            {"a": (1,)},
        ),
    ],
)
def test_what_is_not_serializable_is_noticed(what: str, transactions: list[Transaction], final: Lists) -> None:
    with pytest.raises(AssertionError):
        check(transactions, final)

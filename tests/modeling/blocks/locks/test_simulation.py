"""Machines that stall, die, and hear of nothing: guarded effects are in order, and somebody always gets on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import torusdb
from tests.modeling.blocks.locks import simulation
from tests.modeling.blocks.locks.simulation import CLOCK_RATES, WILD_CLOCK_RATES, Guard, Harm, Report, World, jobs
from torusdb.modeling import ConditionFailed, Delete, Store
from torusdb.modeling.blocks.locks import Held, Sightings, _Release
from torusdb.modeling.tasks import work_of

SCHEDULES = 200
SCHEDULES_SLOW = 5_000
FAULTS = {"stall", "crash", "late request", "lost answer", "sent twice", "not released"}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with torusdb.open(":memory:") as database:
        client = database.direct_client()
        Store(jobs, client).create_table()
        yield client


def simulated(client: Any, seed: int, guard: Guard, clock_rates: tuple[float, float] = CLOCK_RATES) -> World:
    world = World(client, seed, guard, clock_rates=clock_rates)
    if guard == "fence":
        Store(jobs, client).put(Report(name=world.name))
    try:
        world.run()
    except Harm as harm:
        harm.add_note(f"seed {seed}, guard {guard}")
        raise
    return world


def check_schedules(client: Any, seeds: range, guard: Guard, clock_rates: tuple[float, float] = CLOCK_RATES) -> None:
    faults: set[str] = set()
    taken = effects = 0
    for seed in seeds:
        world = simulated(client, seed, guard, clock_rates)
        faults |= world.faults
        taken += len(world.taken)
        effects += len(world.effects)
    assert faults == FAULTS
    assert effects > taken > 3 * len(seeds)


def harmed(client: Any, seeds: range, guard: Guard, clock_rates: tuple[float, float] = CLOCK_RATES) -> Iterator[str]:
    for seed in seeds:
        try:
            simulated(client, seed, guard, clock_rates)
        except Harm as harm:
            yield str(harm)


@pytest.mark.parametrize("guard", ["check", "fence"])
def test_guarded_effects_are_in_order(client: Any, guard: Guard) -> None:
    check_schedules(client, range(SCHEDULES), guard)


def test_whatever_rates_clocks_have_guarded_effects_are_in_order(client: Any) -> None:
    check_schedules(client, range(SCHEDULES // 2), "check", WILD_CLOCK_RATES)


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["check", "fence"])
def test_guarded_effects_are_in_order_in_many_schedules(client: Any, guard: Guard) -> None:
    check_schedules(client, range(SCHEDULES, SCHEDULES + SCHEDULES_SLOW), guard)


def test_without_a_guard_a_stalled_holder_does_harm(client: Any) -> None:
    found = list(harmed(client, range(30), "none"))
    assert found
    assert all("has written over one with token" in harm for harm in found)


# -- that the simulation finds what is wrong


def test_it_finds_out_who_trusts_clocks_that_are_wrong(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "WILD_CLOCK_RATES", None)
    found = harmed(client, range(5000, 5050), "check", WILD_CLOCK_RATES)
    assert any("seems to be held while" in harm for harm in found)


def test_it_finds_out_who_waits_for_half_a_lease(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    still_seconds = Sightings.still_seconds
    monkeypatch.setattr(Sightings, "still_seconds", lambda self, item: 2 * still_seconds(self, item))
    assert any("seems to be held while" in harm for harm in harmed(client, range(1000, 1050), "check"))


def test_it_finds_out_who_counts_a_lease_from_its_answer(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    renewed = Held._renewed
    monkeypatch.setattr(Held, "_renewed", lambda self, sent: renewed(self, self._locks.now()))
    assert any("seems to be held while" in harm for harm in harmed(client, range(2000, 2100), "check"))


def test_it_finds_out_who_drops_the_item_with_the_lock(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(release: Any, context: Any) -> Any:
        release.held._close()
        with suppress(ConditionFailed):
            yield from work_of(Delete(release.held.ref, when=release.held._own()), context)

    monkeypatch.setattr(_Release, "work", work)
    assert any("Token 1 " in harm for harm in harmed(client, range(3000, 3020), "check"))


def test_it_finds_out_who_never_takes_over(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sightings, "still_seconds", lambda self, item: 0.0)
    assert any("Nobody has done anything since" in harm for harm in harmed(client, range(4000, 4050), "check"))

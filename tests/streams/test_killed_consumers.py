"""A worker is killed at every step, before and after each call that it makes: whoever follows it misses nothing, and
keeps the order of each item."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.streams.conftest import LEASE_SECONDS, Hook, Stage, nothing
from torusdb.streams import Consumer

HOUR = 3600


class Killed(BaseException):
    """No cleaning up: neither the worker nor its handler gets to do anything more."""


class Reaper:
    """Kills whoever makes a certain call: before it has any effect, or before its answer arrives."""

    def __init__(self, at: int, when: str) -> None:
        self.calls = 0
        self._at = at
        self.before: Hook = self._count if when == "before" else nothing
        self.after: Hook = self._count if when == "after" else nothing

    def _count(self, operation: str) -> None:
        self.calls += 1
        if self.calls == self._at:
            raise Killed(operation)


def play(stage: Stage, consumer: Consumer) -> None:
    """A stream whose shards are split and renewed while it is read."""
    stage.put(*range(8))
    consumer.step()
    stage.scale(2000)
    stage.put(*range(8))
    stage.run(consumer)
    stage.hand.advance(4 * HOUR)
    stage.put(0, 1, 2, 0, 1)
    stage.run(consumer)


def finish(stage: Stage) -> None:
    stage.put(*range(4))
    stage.run(stage.consumer("heir"))
    stage.check_all_handled_in_order()


def killed_at(at: int, when: str) -> tuple[Stage, bool]:
    """Whether it came to that call at all."""
    stage = Stage()
    reaper = Reaper(at, when)
    try:
        play(stage, stage.consumer("dying", reaper.before, reaper.after))
    except Killed:
        return stage, True
    return stage, False


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("part", range(4))
def test_a_worker_may_be_killed_at_any_step(when: str, part: int) -> None:
    """Each of the parts has every fourth step."""
    at = part + 1
    while True:
        stage, was_killed = killed_at(at, when)
        finish(stage)
        assert was_killed or len(stage.handled) == len(stage.stream())
        stage.close()
        if not was_killed:
            break
        at += 4
    # Table, leases, takes, pages, handlers, checkpoints, ends: enough to be worth it.
    assert at > 60


def test_what_is_handled_again_is_the_last_batch_of_each_shard_at_most() -> None:
    stage = Stage()
    reaper = Reaper(40, "after")
    with pytest.raises(Killed):
        play(stage, stage.consumer("dying", reaper.before, reaper.after))
    finish(stage)
    again = len(stage.handled) - len({record["eventID"] for _, _, record in stage.handled})
    assert 0 <= again <= 3  # records_max of the stage
    stage.close()


@settings(max_examples=25)
@given(lives=st.lists(st.integers(1, 60), min_size=1, max_size=6), seed=st.integers(0, 1000))
def test_several_workers_may_be_killed_at_any_step(lives: list[int], seed: int) -> None:
    """They come and go: whenever one dies, another takes its place, beside one that lives on."""
    random = Random(seed)
    stage = Stage()
    reapers = [Reaper(calls, random.choice(["before", "after"])) for calls in lives]
    dying = [stage.consumer(f"dying {n}", one.before, one.after) for n, one in enumerate(reapers)]
    survivor = stage.consumer("survivor")
    for turn in range(60):
        stage.put(*random.sample(range(8), 2))
        if turn in (10, 30):
            stage.scale(turn * 100 + 1000)
        stage.sleep(random.choice([1, 5, LEASE_SECONDS / 2]))
        for consumer in [survivor, *dying[:2]]:
            try:
                consumer.step()
            except Killed:
                dying.remove(consumer)
    stage.run(survivor)
    stage.check_all_handled_in_order()
    stage.close()

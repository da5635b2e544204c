"""Random commands, given to an engine and to the model: every answer must be the same."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.storage.harness import Harness
from tests.storage.model_engine import ModelEngine
from torusdb.storage.commands import NOTHING, Clear, Commit, Range

# Few bytes, so that keys collide, extend one another and touch the ends of byte order.
keys = st.binary(min_size=1, max_size=2).map(lambda raw: b"k" + bytes(b"\x00\x01\x7f\xff"[n % 4] for n in raw))
bounds = st.one_of(keys, st.sampled_from([b"a", b"k", b"ka", b"ka\x00", b"ka" + bytes(7) + b"\x03", b"kb", b"l"]))
values = st.one_of(st.binary(max_size=8), st.integers(0, 300).map(lambda size: b"x" * size))
logs = st.sampled_from([b"ka", b"kb"])
"""Prefixes beside the keys above: what is appended shows in the same ranges."""
tally_keys = st.sampled_from([b"t1", b"t2"])
commits = st.builds(
    Commit,
    st.lists(st.tuples(keys, values), max_size=30),
    st.lists(keys, max_size=5),
    st.lists(st.tuples(tally_keys, st.integers(-3, 3), st.integers(-500, 500)), max_size=3),
    st.lists(st.tuples(logs, values), max_size=4),
)
budgets = st.one_of(st.integers(1, 40), st.just(1 << 40))


class EngineMachine(RuleBasedStateMachine):
    harness: ClassVar[Harness]

    def __init__(self) -> None:
        super().__init__()
        self.engine = self.harness.engine
        self.model = ModelEngine(stages=self.harness.stages)
        self.held = False
        self.harness.staged(self.engine.clear(Clear(b"", b"\xff")))

    @rule(commit=commits)
    def commit(self, commit: Commit) -> None:
        self.model.commit(commit)
        ticket = self.engine.commit(commit)
        if commit != NOTHING:
            self.harness.staged(ticket)
        if not self.held:
            self.model.settle()

    @rule()
    def hold(self) -> None:
        if not self.held:
            self.harness.hold()
            self.held = True

    @rule()
    def settle(self) -> None:
        self.harness.settle()
        self.model.settle()
        self.held = False

    @rule(start=bounds, stop=bounds)
    def clear(self, start: bytes, stop: bytes) -> None:
        start, stop = min(start, stop), max(start, stop)
        self.model.clear(Clear(start, stop))
        self.harness.staged(self.engine.clear(Clear(start, stop)))
        # What guarded reads see of the range until it is durable is left open.
        self.settle()

    @rule(wanted=st.lists(keys, max_size=6))
    def get(self, wanted: list[bytes]) -> None:
        assert self.engine.get(wanted) == self.model.get(wanted)

    @rule(wanted=st.lists(keys, max_size=6))
    def get_guarded(self, wanted: list[bytes]) -> None:
        records, ticket = self.engine.get_guarded(wanted)
        expected, expected_ticket = self.model.get_guarded(wanted)
        assert records == expected
        assert (ticket is None) == (expected_ticket is None)

    @rule(start=bounds, stop=bounds, reverse=st.booleans(), items_max=budgets, bytes_max=budgets)
    def range(self, start: bytes, stop: bytes, reverse: bool, items_max: int, bytes_max: int) -> None:
        query = Range(start, stop, reverse, items_max, bytes_max)
        assert self.engine.range(query) == self.model.range(query)

    @invariant()
    def plain_reads_agree(self) -> None:
        for reverse in (False, True):
            everything = Range(b"k", b"l", reverse, 1 << 40, 1 << 40)
            page = self.model.range(everything)
            assert self.engine.range(everything) == page
        found = [key for key, _ in page.records[:3]]
        assert self.engine.get(found) == self.model.get(found)

    @invariant()
    def tallies_agree(self) -> None:
        assert self.engine.tally([b"t1", b"t2"]) == self.model.tally([b"t1", b"t2"])

    def teardown(self) -> None:
        self.settle()


@pytest.mark.parametrize("kind", ["memory", "disk fsync", "disk relaxed", "model staging"])
@pytest.mark.parametrize("examples_max", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_engine_agrees_with_model(kind: str, examples_max: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        harness = Harness(kind, Path(directory))

        class Machine(EngineMachine):
            pass

        Machine.harness = harness
        try:
            run_state_machine_as_test(
                Machine,
                settings=settings(
                    max_examples=examples_max,
                    stateful_step_count=30,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            harness.close()

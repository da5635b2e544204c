"""Two who want a lock: ann, and bob, by one clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.modeling.blocks.locks.simulation import Report, jobs
from tests.modeling.blocks.locks.support import Clock, Flaky, locks
from torusdb import Database
from torusdb.modeling import (
    Store,
)
from torusdb.modeling.blocks.locks import (
    Locks,
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def flaky(db: Database) -> Flaky:
    return Flaky(db.direct_client())


@pytest.fixture
def store(flaky: Flaky, clock: Clock) -> Iterator[Store]:
    def sleep(seconds: float) -> None:
        clock.seconds += seconds

    made = Store(jobs, flaky, sleep=sleep, random=lambda: 1.0)
    made.create_table()
    made.put(Report(name="r"))
    flaky.requests.clear()
    return made


@pytest.fixture
def ann(clock: Clock) -> Locks:
    return locks("ann", clock)


@pytest.fixture
def bob(clock: Clock) -> Locks:
    return locks("bob", clock)

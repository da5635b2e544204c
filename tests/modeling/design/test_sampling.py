"""Samples of tables: as many as are asked for, from everywhere, and no faster than is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.shop import Customer
from torusdb.modeling import Store
from torusdb.modeling.design.sampling import SEGMENTS, sample


class Clock:
    """Time passes only where it is waited for."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def sampled(client: Any, clock: Clock, **more: Any) -> list[Any]:
    return sample(client, "shop", sleep=clock.sleep, clock=clock, **more)


@pytest.fixture
def filled(store: Store) -> Store:
    store.put_many(Customer(id=str(number), name="x" * 4000) for number in range(100))
    return store


def test_all_of_a_small_table_is_read(filled: Store, client: Recorder) -> None:
    clock = Clock()
    counts: list[int] = []
    items = sampled(client, clock, items_max=1000, progress=counts.append)
    assert len({item["pk"]["S"] for item in items}) == 100
    assert counts[-1] == 100
    assert clock.pauses == []


def test_no_more_than_is_asked_for_and_from_everywhere(filled: Store, client: Recorder) -> None:
    client.requests.clear()
    items = sampled(client, Clock(), items_max=20)
    assert len(items) == 20
    scans = [parameters for method, parameters in client.requests if method == "scan"]
    assert {each["Segment"] for each in scans} == set(range(SEGMENTS))
    assert sum(each["Limit"] for each in scans) <= 20 + SEGMENTS
    assert len(sampled(client, Clock(), items_max=1)) == 1


def test_it_waits_until_what_it_has_used_was_its_due(filled: Store, client: Recorder) -> None:
    clock = Clock()
    sampled(client, clock, items_max=80, capacity=4)
    used = sum(
        client.client.scan(**parameters)["ConsumedCapacity"]["CapacityUnits"]
        for method, parameters in client.requests
        if method == "scan"
    )
    assert used > 40
    assert clock.now == pytest.approx(100.0 + used / 4)


def test_what_fails_is_not_swallowed(client: Recorder) -> None:
    with pytest.raises(client.client.exceptions.ResourceNotFoundException):
        sampled(client, Clock(), items_max=5)

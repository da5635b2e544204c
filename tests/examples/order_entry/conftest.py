"""Generated data of two sizes, in the one table and in SQLite; made once for each process that runs tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from order_entry.generate import generate, load
from order_entry.model import table
from order_entry.reference import Reference
from order_entry.system import System, in_this_process
from tests.examples.order_entry.business import business
from torusdb.modeling import Entity, Store

CUSTOMERS = 40


class World(NamedTuple):
    entities: list[Entity]
    system: System
    reference: Reference

    @property
    def store(self) -> Store:
        return Store(table, self.system.dynamodb)


@contextmanager
def made(customers: int) -> Iterator[World]:
    entities = list(generate(customers, seed=7))
    reference = Reference()
    reference.load(entities)
    with in_this_process() as system:
        system.create_table(stream=False)
        load(system.store, entities)
        yield World(entities, system, reference)
    reference.close()


@pytest.fixture(scope="session")
def small() -> Iterator[World]:
    with made(CUSTOMERS) as world:
        yield world


@pytest.fixture(scope="session")
def large() -> Iterator[World]:
    """Ten times as much."""
    with made(10 * CUSTOMERS) as world:
        yield world


@pytest.fixture(params=["small", "large"])
def world(request: pytest.FixtureRequest) -> World:
    """Nobody may change it."""
    found: World = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def system() -> Iterator[System]:
    with business(stream=True) as found:
        yield found


@pytest.fixture
def store(system: System) -> Store:
    """Of a small business, for one test to change."""
    return system.store

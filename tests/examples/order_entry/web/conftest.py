from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from order_entry.system import System
from tests.examples.order_entry.conftest import World
from tests.examples.order_entry.web.front import front


@pytest.fixture(scope="session")
def reader(small: World) -> Iterator[httpx.Client]:
    """On generated data, which nobody may change."""
    with front(small.system) as client:
        yield client


@pytest.fixture
def client(system: System) -> Iterator[httpx.Client]:
    """On a small business, for one test to change."""
    with front(system) as found:
        yield found

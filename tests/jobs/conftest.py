from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jobs.by_hand import ByHand


@pytest.fixture
def hand() -> Iterator[ByHand]:
    database = ByHand()
    yield database
    database.close()

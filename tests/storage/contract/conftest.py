from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.storage.harness import KINDS, Harness


@pytest.fixture(params=KINDS)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    harness = Harness(request.param, tmp_path / "data")
    yield harness
    harness.close()

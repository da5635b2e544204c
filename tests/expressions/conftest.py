from __future__ import annotations

from collections.abc import Iterator

import pytest

import torusdb
from tests.expressions.one_item import OneItem


@pytest.fixture(scope="module")
def one_item() -> Iterator[OneItem]:
    """A table with one item, shared by a module: a test puts the item that it needs."""
    with torusdb.open() as db:
        yield OneItem(db)

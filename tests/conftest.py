"""Properties are tried on the same examples each time, and a slow machine fails none of them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

import torusdb as torusdb_package
from torusdb import Database
from torusdb.errors import ServiceError

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture
def db() -> Iterator[Database]:
    """A fresh database in memory."""
    with torusdb_package.open() as database:
        yield database


Refusal = Callable[..., tuple[str, str | None]]


@pytest.fixture
def refused(db: Database) -> Refusal:
    """`refused("GetItem", {...})`: the code and the message of the error that the operation must answer with."""

    def call(operation: str, params: dict[str, Any]) -> tuple[str, str | None]:
        with pytest.raises(ServiceError) as caught:
            db.call(operation, params)
        return caught.value.code, caught.value.message

    return call

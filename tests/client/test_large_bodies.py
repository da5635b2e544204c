"""Large requests are taken without garbage collections in between."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import torusdb
from torusdb import Database, database
from torusdb.access.credentials import Credential
from torusdb.errors import SerializationException

LARGE = b" " * database.LARGE_BODY_BYTES


@pytest.fixture
def collecting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether the collector was on, whenever a body was decoded."""
    seen: list[bool] = []

    def decode(operation: str, body: bytes) -> None:
        seen.append(gc.isenabled())
        raise SerializationException

    monkeypatch.setattr(database, "decode", decode)
    assert gc.isenabled()
    yield seen
    gc.enable()


def begin(db: Database, body: bytes) -> None:
    with pytest.raises(SerializationException):
        db.begin("PutItem", body, Credential("", ""))


def test_the_collector_rests_while_a_large_body_is_taken(collecting: list[bool]) -> None:
    with torusdb.open() as db:
        begin(db, LARGE[1:])
        begin(db, LARGE)
        assert collecting == [True, False]
        assert gc.isenabled()


def test_a_collector_that_is_off_stays_off(collecting: list[bool]) -> None:
    with torusdb.open() as db:
        gc.disable()
        begin(db, LARGE)
        assert not gc.isenabled()

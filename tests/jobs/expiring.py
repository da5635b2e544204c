"""A table whose items expire, for the tests of time to live."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.by_hand import NOON, ByHand
from tests.operations.conftest import table_request
from tests.storage.consistency import check_table
from tests.storage.model_engine import ModelEngine
from torusdb.api.decode import from_python
from torusdb.jobs import tables, ttl
from torusdb.model import keys
from torusdb.model.attributes import Item
from torusdb.operations.registry import OPERATIONS
from torusdb.storage import driver

ITEMS_A_STEP = 2
NOW = int(NOON)
INDEXES: dict[str, Any] = {"globally": {"by_owner": ("owner:S", "ALL")}, "locally": {"by_rank": ("pk:S rank:N", ["n"])}}


@pytest.fixture
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BACKFILL_ITEMS_MAX", ITEMS_A_STEP)
    monkeypatch.setattr(ttl, "SWEEP_ITEMS_MAX", ITEMS_A_STEP)


def make_table(hand: ByHand, name: str = "Things") -> None:
    hand.call("CreateTable", **table_request("pk:S sk:N", name, INDEXES["globally"], INDEXES["locally"], {}))


def switch(hand: ByHand, enabled: bool, attribute: str = "ttl", name: str = "Things") -> None:
    specification = {"Enabled": enabled, "AttributeName": attribute}
    hand.call("UpdateTimeToLive", TableName=name, TimeToLiveSpecification=specification)


def item(number: int, expires: Any = None, **more: Any) -> Item:
    made: Item = {"pk": {"S": f"p{number % 3}"}, "sk": {"N": str(number)}, "n": {"N": str(number)}, **more}
    if number % 2:
        made |= {"owner": {"S": "ann"}, "rank": {"N": str(number)}}
    if expires is not None:
        made["ttl"] = expires if isinstance(expires, dict) else {"N": str(expires)}
    return made


def key(number: int) -> Item:
    return {name: value for name, value in item(number).items() if name in ("pk", "sk")}


def put(hand: ByHand, number: int, expires: Any = None, name: str = "Things", **more: Any) -> None:
    hand.call("PutItem", TableName=name, Item=item(number, expires, **more))


def numbers(hand: ByHand, name: str = "Things", index: str | None = None) -> list[int]:
    """Of the items that a Scan finds."""
    found = hand.call("Scan", TableName=name, **({} if index is None else {"IndexName": index}))
    return sorted(int(one["n"]["N"]) for one in found["Items"])


def require_exact(hand: ByHand, name: str = "Things") -> None:
    check_table(hand.table(name), dict(hand.stored()), lambda counter: hand.engine.tally([counter])[0])


def expiries(hand: ByHand) -> list[bytes]:
    return [stored for stored, _ in hand.stored() if stored.startswith(keys.EXPIRY_SPACE)]


@pytest.fixture
def expiring_things(hand: ByHand) -> ByHand:
    """A table with both kinds of indexes and time to live."""
    make_table(hand)
    switch(hand, True)
    hand.run_jobs()
    return hand


def stage(hand: ByHand, change: str, expires: int = NOW + 1000) -> ModelEngine:
    """Changes an item; only guarded reads see it yet."""
    engine = hand.engine
    assert isinstance(engine, ModelEngine)
    engine.stages = True
    if change == "deleted":
        operation, params = "DeleteItem", {"TableName": "Things", "Key": key(1)}
    else:
        operation = "PutItem"
        params = {"TableName": "Things", "Item": item(1, expires if change == "moved" else NOW - 2)}
    driver.run(engine, OPERATIONS[operation](hand.ctx, from_python(operation, params)))
    return engine

"""Random writes, switches and steps of time, on TorusDB and on a plain-Python table."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobs.by_hand import ByHand, JobRun
from tests.jobs.expiring import (
    NOW,
    item,
    key,
    make_table,
    require_exact,
    switch,
)
from tests.storage.consistency import check_nothing_else, items_of
from torusdb.jobs import tables
from torusdb.jobs.runner import Job
from torusdb.jobs.ttl import TTL_JOBS
from torusdb.model.attributes import Item
from torusdb.model.expiry import AGE_SECONDS_MAX

pytestmark = pytest.mark.usefixtures("short_steps")


Action = tuple[str, int, str]

VALUES = ["", "-5", "0", str(NOW - AGE_SECONDS_MAX - 3), str(NOW - AGE_SECONDS_MAX + 3), str(NOW - 3), str(NOW),
          f"{NOW + 2}.5", str(NOW + 4), str(NOW + 9), "1e30", "S"]  # fmt: skip
KINDS = ["put", "put", "put", "update", "delete", "batch", "enable", "disable", "advance", "step", "step", "step",
         "run", "reopen"]  # fmt: skip
ACTIONS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.sampled_from(VALUES)), min_size=10, max_size=60
)


def expiring(number: int, attribute: str, value: str) -> Item:
    """Of two attributes that may say when; of `value` in one of them."""
    if not value:
        return item(number)
    return item(number, **{attribute: {"S": str(NOW - 1)} if value == "S" else {"N": value}})


class Reference:
    """What must be there, in the plainest terms: a dict of items, and a rule for each of them."""

    def __init__(self) -> None:
        self.items: dict[int, Item] = {}
        self.attribute: str | None = None

    def has_expired(self, number: int, now: float) -> bool:
        value = self.items[number].get(self.attribute or "", {}).get("N")
        if value is None:
            return False
        second = Decimal(value).to_integral_value("ROUND_FLOOR")
        return int(now) - AGE_SECONDS_MAX <= second < int(now)


class Machine:
    def __init__(self) -> None:
        self.hand = ByHand()
        make_table(self.hand)
        self.reference = Reference()
        self.runs: dict[Job, JobRun] = {}

    def act(self, action: Action) -> None:
        kind, number, value = action
        hand, reference = self.hand, self.reference
        attribute = "ttl" if number % 2 else "other"
        match kind:
            case "put":
                reference.items[number] = expiring(number, attribute, value)
                hand.call("PutItem", TableName="Things", Item=reference.items[number])
            case "update" if number in reference.items:
                reference.items[number].pop(attribute, None)
                names = {"ExpressionAttributeNames": {"#t": attribute}}
                update: dict[str, Any] = {"UpdateExpression": "REMOVE #t", **names}
                if value:
                    new = expiring(number, attribute, value)[attribute]
                    reference.items[number][attribute] = new
                    update = {"UpdateExpression": "SET #t = :t", "ExpressionAttributeValues": {":t": new}, **names}
                hand.call("UpdateItem", TableName="Things", Key=key(number), **update)
            case "delete":
                reference.items.pop(number, None)
                hand.call("DeleteItem", TableName="Things", Key=key(number))
            case "batch":
                other = (number + 1) % 10
                reference.items[number] = expiring(number, attribute, value)
                reference.items.pop(other, None)
                members = [
                    {"PutRequest": {"Item": reference.items[number]}},
                    {"DeleteRequest": {"Key": key(other)}},
                ]
                hand.call("BatchWriteItem", RequestItems={"Things": members})
            case "enable" if reference.attribute is None:
                reference.attribute = attribute
                switch(hand, True, attribute)
            case "disable" if reference.attribute is not None:
                switch(hand, False, reference.attribute)
                reference.attribute = None
            case "advance":
                hand.clock += number
            case "step":
                self._step([*TTL_JOBS, tables.clear_leftovers][number % 3])
            case "run":
                hand.run_jobs()
            case "reopen":
                hand.reopen()
                self.runs.clear()

    def _step(self, job: Job) -> None:
        run = self.runs.setdefault(job, JobRun(self.hand, job))
        if not run.step():
            del self.runs[job]

    def check(self, swept: bool) -> None:
        hand, reference = self.hand, self.reference
        stored = items_of(hand.table("Things"), dict(hand.stored())).values()
        found = {int(one["n"]["N"]): one for one in stored}
        for number in reference.items.keys() - found.keys():
            assert reference.has_expired(number, hand.clock), "deleted before its time"
            del reference.items[number]
        plain = {number: normal(one) for number, one in reference.items.items()}
        assert found == plain
        assert not swept or not any(reference.has_expired(number, hand.clock) for number in found)
        require_exact(hand)


def normal(one: Item) -> Item:
    """With numbers as they are stored."""
    return {name: {"N": f"{Decimal(value['N']):f}"} if "N" in value else value for name, value in one.items()}


@settings(max_examples=200)
@given(ACTIONS)
def test_after_a_sweep_exactly_what_has_not_expired_is_there(actions: list[Action]) -> None:
    machine = Machine()
    for action in actions:
        machine.act(action)
        machine.check(swept=action[0] == "run")
    machine.hand.run_jobs()
    machine.check(swept=True)
    check_nothing_else(list(machine.hand.ctx.catalog), dict(machine.hand.stored()))
    machine.hand.close()

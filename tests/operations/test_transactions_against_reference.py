"""Random transactions between random operations of all other kinds, on TorusDB and on a plain-Python table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.operations import reference
from tests.operations.reference import (
    CONDITION_FAILED,
    INVALID,
    KEY,
    Action,
    Cancelled,
    Condition,
    Path,
    Refused,
    Rendering,
    Step,
    Update,
    plain,
    plain_item,
)
from tests.operations.test_against_reference import (
    NAME,
    Machine,
    Wire,
    all_paths,
    conditions,
    items,
    keys,
    run_machine,
    sometimes_a_condition,
    units_of,
    updates,
    without_clashes,
)
from tests.operations.transacting import reasons
from torusdb.errors import ServiceError, TransactionCanceledException

MEMBERS_MAX = 4
CODES = {INVALID: "ValidationError", CONDITION_FAILED: "ConditionalCheckFailed"}


def put(item: Wire, condition: Condition | None) -> tuple[Step, Wire]:
    whole = plain_item(item)
    step = Step({name: whole[name] for name in KEY}, item=whole, condition=condition)
    return step, member("Put", {"Item": item}, condition)


def change(key: Wire, update: Update, condition: Condition | None) -> tuple[Step, Wire]:
    return Step(plain_item(key), update=update, condition=condition), member("Update", {"Key": key}, condition, update)


def delete(key: Wire, condition: Condition | None) -> tuple[Step, Wire]:
    return Step(plain_item(key), condition=condition), member("Delete", {"Key": key}, condition)


def check(key: Wire, condition: Condition) -> tuple[Step, Wire]:
    step, _ = delete(key, condition)
    return replace(step, is_check=True), member("ConditionCheck", {"Key": key}, condition)


def member(action: str, target: Wire, condition: Condition | None, update: Update | None = None) -> Wire:
    rendering = Rendering()
    request = {"TableName": NAME, "ReturnValuesOnConditionCheckFailure": "ALL_OLD", **target}
    if update is not None:
        request["UpdateExpression"] = update.render(rendering)
    if condition is not None:
        request["ConditionExpression"] = condition.render(rendering)
    return {action: rendering.into(request)}


def place(pair: tuple[Step, Wire]) -> Any:
    return pair[0].key["pk"], pair[0].key["sk"]


# Composites, since Hypothesis takes long to write out what they are made of.


@st.composite
def members(draw: st.DrawFn) -> tuple[Step, Wire]:
    match draw(st.sampled_from(["put", "update", "delete", "check"])):
        case "put":
            return put(draw(items), draw(sometimes_a_condition))
        case "update":
            return change(draw(keys), draw(updates), draw(sometimes_a_condition))
        case "delete":
            return delete(draw(keys), draw(sometimes_a_condition))
        case _:
            return check(draw(keys), draw(conditions))


@st.composite
def gets(draw: st.DrawFn) -> tuple[Wire, list[Path] | None]:
    return draw(keys), draw(st.one_of(st.none(), st.lists(all_paths, min_size=1, max_size=3)))


transactions = st.lists(members(), min_size=1, max_size=MEMBERS_MAX, unique_by=place)
reads = st.lists(
    gets(), min_size=1, max_size=MEMBERS_MAX, unique_by=lambda get: (get[0]["pk"]["S"], plain(get[0]["sk"]))
)


class TransactingMachine(Machine):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = 0

    @rule(chosen=transactions, again=st.booleans())
    def transact(self, chosen: list[tuple[Step, Wire]], again: bool) -> None:
        self.tokens += 1
        request = {
            "TransactItems": [wire for _, wire in chosen],
            "ReturnConsumedCapacity": "INDEXES",
            "ClientRequestToken": str(self.tokens),
        }
        try:
            wanted = self.reference.transact([step for step, _ in chosen])
        except Refused as refused:
            self.also_refused("TransactWriteItems", request, refused)
            return
        except Cancelled as cancelled:
            self.also_cancelled(request, cancelled)
            return
        answer = self.db.call("TransactWriteItems", request)
        assert units_of(answer["ConsumedCapacity"][0]) == wanted
        if again:
            repeated = self.db.call("TransactWriteItems", request)["ConsumedCapacity"][0]
            assert list(units_of(repeated)) == ["table"]
            assert repeated["ReadCapacityUnits"] == repeated["CapacityUnits"]

    def also_cancelled(self, request: Wire, cancelled: Cancelled) -> None:
        with pytest.raises(TransactionCanceledException) as caught:
            self.db.call("TransactWriteItems", request)
        for reason, refused in zip(reasons(caught.value), cancelled.reasons, strict=True):
            assert reason["Code"] == ("None" if refused is None else CODES[refused.code])
            item = None if refused is None else refused.item
            assert ("Item" in reason) == (item is not None)
            if "Item" in reason:
                assert plain_item(reason["Item"]) == item

    @rule(wanted=reads)
    def transact_get(self, wanted: list[tuple[Wire, list[Path] | None]]) -> None:
        requests, expected = [], []
        for key, paths in wanted:
            request: Wire = {"TableName": NAME, "Key": key}
            found = self.reference.get(plain_item(key))
            if paths is not None:
                distinct = [
                    action.path for action in without_clashes([Action("REMOVE", path) for path in paths]).actions
                ]
                rendering = Rendering()
                request["ProjectionExpression"] = ", ".join(map(rendering.path, distinct))
                rendering.into(request)
                found = None if found is None else reference.project(found, distinct) or None
            requests.append({"Get": request})
            expected.append(found)
        responses = self.db.call("TransactGetItems", {"TransactItems": requests})["Responses"]
        assert [plain_item(one["Item"]) if "Item" in one else None for one in responses] == expected

    @rule(key=keys, condition=conditions)
    def name_an_item_twice(self, key: Wire, condition: Condition) -> None:
        twice = [delete(key, None)[1], check(key, condition)[1]]
        with pytest.raises(ServiceError) as caught:
            self.db.call("TransactWriteItems", {"TransactItems": twice})
        assert caught.value.code == INVALID


@pytest.mark.parametrize("on_disk", [False, True], ids=["in memory", "on disk"])
@pytest.mark.parametrize("examples_max", [10, pytest.param(2000, marks=pytest.mark.slow)])
def test_transactions_agree_with_the_reference(on_disk: bool, examples_max: int) -> None:
    run_machine(TransactingMachine, on_disk, examples_max)

"""UpdateTimeToLive and DescribeTimeToLive. What becomes of expired items is in tests/jobs/test_ttl."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Refusal
from tests.jobs.by_hand import ByHand
from tests.operations.conftest import table_request
from torusdb import Database

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things"
DISABLED = {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
FIXED_INTERVAL = ("ValidationException", "Time to live has been modified multiple times within a fixed interval")
DELAY = 10.0


def change(enabled: bool, attribute: str = "expires", table: str = "Things") -> dict[str, Any]:
    specification = {"Enabled": enabled, "AttributeName": attribute}
    return {"TableName": table, "TimeToLiveSpecification": specification}


def described(db: Database) -> dict[str, Any]:
    return db.call("DescribeTimeToLive", {"TableName": "Things"})


def test_a_table_has_none_at_first(db: Database, table: str) -> None:
    assert described(db) == DISABLED


def test_it_is_enabled_and_disabled_at_once(db: Database, table: str) -> None:
    answer = db.call("UpdateTimeToLive", change(True))
    assert answer == {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"}}
    description = {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    assert described(db) == {"TimeToLiveDescription": description}
    answer = db.call("UpdateTimeToLive", change(False))
    assert answer == {"TimeToLiveSpecification": {"Enabled": False, "AttributeName": "expires"}}
    assert described(db) == DISABLED


def test_it_may_be_enabled_on_another_attribute_afterwards(db: Database, table: str) -> None:
    for enabled, attribute in ((True, "a"), (False, "a"), (True, "b")):
        db.call("UpdateTimeToLive", change(enabled, attribute))
    assert described(db)["TimeToLiveDescription"]["AttributeName"] == "b"


@pytest.mark.parametrize("attribute", ["pk", "a.b", "#x", 'quote"', "back\\slash", "é" * 255, " "])
def test_every_name_of_an_attribute_will_do(db: Database, table: str, attribute: str) -> None:
    db.call("UpdateTimeToLive", change(True, attribute))
    assert described(db)["TimeToLiveDescription"]["AttributeName"] == attribute
    db.call("PutItem", {"TableName": "Things", "Item": {"pk": {"S": "1"}, attribute: {"S": "1"}}})


def test_an_arn_will_do(db: Database, table: str) -> None:
    db.call("UpdateTimeToLive", change(True, table=ARN))
    assert db.call("DescribeTimeToLive", {"TableName": ARN}) == described(db)
    assert described(db)["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"


# What is refused.


def test_what_is_so_already(db: Database, refused: Refusal, table: str) -> None:
    assert refused("UpdateTimeToLive", change(False)) == ("ValidationException", "TimeToLive is already disabled")
    db.call("UpdateTimeToLive", change(True))
    assert refused("UpdateTimeToLive", change(True)) == ("ValidationException", "TimeToLive is already enabled")
    db.call("UpdateTimeToLive", change(False))
    assert refused("UpdateTimeToLive", change(False)) == ("ValidationException", "TimeToLive is already disabled")
    other = change(False, "another")
    assert refused("UpdateTimeToLive", other) == ("ValidationException", "TimeToLive is already disabled")


@pytest.mark.parametrize("enabled", [True, False])
def test_another_attribute_while_it_is_enabled(db: Database, refused: Refusal, table: str, enabled: bool) -> None:
    db.call("UpdateTimeToLive", change(True))
    told = "TimeToLive is active on a different AttributeName: current AttributeName is expires"
    assert refused("UpdateTimeToLive", change(enabled, "another")) == ("ValidationException", told)
    assert described(db)["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


@pytest.mark.parametrize(("operation", "params"), [("UpdateTimeToLive", change(True)), ("DescribeTimeToLive", {})])
def test_a_table_that_is_not_there(refused: Refusal, operation: str, params: dict[str, Any]) -> None:
    told = "Requested resource not found: Table: Things not found"
    assert refused(operation, {**params, "TableName": "Things"}) == ("ResourceNotFoundException", told)


@pytest.mark.parametrize(("operation", "params"), [("UpdateTimeToLive", change(True)), ("DescribeTimeToLive", {})])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (None, "The parameter 'TableName' is required but was not present in the request"),
        ("ab", "TableName must be at least 3 characters long and at most 255 characters long"),
    ],
    ids=["missing", "short"],
)
def test_names_are_checked_as_in_other_operations_on_tables(
    refused: Refusal, operation: str, params: dict[str, Any], name: str | None, message: str
) -> None:
    given = {**params, "TableName": name} if name is not None else {k: v for k, v in params.items() if k != "TableName"}
    assert refused(operation, given) == ("ValidationException", message)


@pytest.mark.parametrize(
    ("specification", "violation"),
    [
        (None, "Value null at 'timeToLiveSpecification' failed to satisfy constraint: Member must not be null"),
        (
            {"AttributeName": "a"},
            "Value null at 'timeToLiveSpecification.enabled' failed to satisfy constraint: Member must not be null",
        ),
        (
            {"Enabled": True},
            "Value null at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: "
            "Member must not be null",
        ),
        (
            {"Enabled": False, "AttributeName": ""},
            "Value '' at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1",
        ),
        (
            {"Enabled": True, "AttributeName": "a" * 256},
            f"Value '{'a' * 256}' at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: "
            "Member must have length less than or equal to 255",
        ),
    ],
    ids=["nothing", "no switch", "no attribute", "empty attribute", "long attribute"],
)
def test_constraints_of_the_model(refused: Refusal, specification: dict[str, Any] | None, violation: str) -> None:
    params = {"TableName": "Things", "TimeToLiveSpecification": specification}
    refusal = ("ValidationException", f"1 validation error detected: {violation}")
    assert refused("UpdateTimeToLive", params) == refusal


# With a table delay, as on the service.


@pytest.fixture
def slow() -> Iterator[ByHand]:
    hand = ByHand(table_delay_seconds=DELAY)
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, {}))
    yield hand
    hand.close()


def status(hand: ByHand) -> dict[str, Any]:
    answer: dict[str, Any] = hand.call("DescribeTimeToLive", TableName="Things")
    description: dict[str, Any] = answer["TimeToLiveDescription"]
    return description


def test_a_change_takes_its_time(slow: ByHand) -> None:
    slow.advance(DELAY)
    slow.call("UpdateTimeToLive", **change(True))
    assert status(slow) == {"TimeToLiveStatus": "ENABLING", "AttributeName": "expires"}
    assert slow.call("DescribeTable", TableName="Things")["TableStatus"] == "ACTIVE"
    slow.advance(DELAY)
    assert status(slow) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    slow.call("UpdateTimeToLive", **change(False))
    assert status(slow) == {"TimeToLiveStatus": "DISABLING", "AttributeName": "expires"}
    slow.advance(DELAY)
    assert status(slow) == {"TimeToLiveStatus": "DISABLED"}


def test_meanwhile_another_change_is_refused(slow: ByHand) -> None:
    slow.advance(DELAY)
    slow.call("UpdateTimeToLive", **change(True))
    assert slow.refused("UpdateTimeToLive", **change(False)) == FIXED_INTERVAL
    assert slow.refused("UpdateTimeToLive", **change(True))[1] == "TimeToLive is already enabled"
    slow.advance(DELAY)
    slow.call("UpdateTimeToLive", **change(False))
    assert slow.refused("UpdateTimeToLive", **change(True)) == FIXED_INTERVAL
    assert slow.refused("UpdateTimeToLive", **change(False))[1] == "TimeToLive is already disabled"
    slow.advance(DELAY)
    slow.call("UpdateTimeToLive", **change(True, "another"))


def test_a_table_that_comes_or_goes_cannot_be_changed_but_is_described(slow: ByHand) -> None:
    still_in_use = "Attempt to change a resource which is still in use: Table is being {}: Things"
    refusal = ("ResourceInUseException", still_in_use.format("created"))
    assert slow.refused("UpdateTimeToLive", **change(True)) == refusal
    assert status(slow) == {"TimeToLiveStatus": "DISABLED"}
    slow.advance(DELAY)
    slow.call("UpdateTimeToLive", **change(True))
    slow.call("DeleteTable", TableName="Things")
    refusal = ("ResourceInUseException", still_in_use.format("deleted"))
    assert slow.refused("UpdateTimeToLive", **change(False)) == refusal
    assert status(slow)["AttributeName"] == "expires"


def test_it_survives_a_crash_and_other_changes_of_its_table(slow: ByHand) -> None:
    slow.advance(DELAY)
    slow.call("UpdateTimeToLive", **change(True))
    before = status(slow)
    slow.reopen()
    assert status(slow) == before
    slow.call("UpdateTable", TableName="Things", DeletionProtectionEnabled=True)
    assert status(slow) == before


def test_it_is_gone_with_its_table(db: Database, table: str) -> None:
    db.call("UpdateTimeToLive", change(True))
    db.call("DeleteTable", {"TableName": table})
    db.call("CreateTable", table_request("pk:S", table, {}, {}, {}))
    assert described(db) == DISABLED

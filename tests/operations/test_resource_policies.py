"""PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy, and policies of new tables."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.jobs.by_hand import ACCOUNT, NOON, REGION, ByHand
from tests.operations.conftest import MakeTable, table_request
from torusdb import Database

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things"
POLICY = '{ "Version": "2012-10-17",\n  "Statement": [] }'
OTHER = '{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}]}'
STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
BYTES_MAX = 20 * 1024
NOT_FOUND = "Resource-based policy not found for the provided ResourceArn: "


def put(db: Database, policy: str = POLICY, **more: Any) -> str:
    answer = db.call("PutResourcePolicy", {"ResourceArn": ARN, "Policy": policy, **more})
    revision: str = answer.pop("RevisionId")
    assert answer == {}
    return revision


def get(db: Database, arn: str = ARN) -> dict[str, Any]:
    return db.call("GetResourcePolicy", {"ResourceArn": arn})


def test_a_policy_is_kept_to_the_letter(db: Database, table: str) -> None:
    revision = put(db)
    assert get(db) == {"Policy": POLICY, "RevisionId": revision}
    assert revision.isdigit()


def test_another_policy_has_another_revision_and_the_same_one_its_own(db: Database, table: str) -> None:
    first = put(db)
    assert put(db) == first
    second = put(db, OTHER)
    assert second != first
    assert get(db) == {"Policy": OTHER, "RevisionId": second}
    # Another text, though it says the same.
    assert put(db, OTHER + " ") not in (first, second)


def test_deleting_tells_what_was_there_and_may_be_repeated(db: Database, refused: Refusal, table: str) -> None:
    revision = put(db)
    assert db.call("DeleteResourcePolicy", {"ResourceArn": ARN}) == {"RevisionId": revision}
    assert db.call("DeleteResourcePolicy", {"ResourceArn": ARN}) == {}
    assert refused("GetResourcePolicy", {"ResourceArn": ARN}) == ("PolicyNotFoundException", NOT_FOUND + ARN)


def test_a_table_without_a_policy_says_so(refused: Refusal, table: str) -> None:
    assert refused("GetResourcePolicy", {"ResourceArn": ARN}) == ("PolicyNotFoundException", NOT_FOUND + ARN)


# Expected revisions.


def test_with_the_right_revision_it_is_replaced_and_deleted(db: Database, table: str) -> None:
    revision = put(db, ExpectedRevisionId="NO_POLICY")
    revision = put(db, OTHER, ExpectedRevisionId=revision)
    params = {"ResourceArn": ARN, "ExpectedRevisionId": revision}
    assert db.call("DeleteResourcePolicy", params) == {"RevisionId": revision}
    put(db, ExpectedRevisionId="NO_POLICY")


@pytest.mark.parametrize("operation", ["PutResourcePolicy", "DeleteResourcePolicy"])
def test_with_another_revision_nothing_changes(db: Database, refused: Refusal, table: str, operation: str) -> None:
    revision = put(db)
    params = {"ResourceArn": ARN, **({"Policy": OTHER} if operation.startswith("Put") else {})}
    told = (
        f"{NOT_FOUND}Requested update for policy with revision id 123, "
        f"but the policy associated to target table Things has revision id {revision}."
    )
    assert refused(operation, {**params, "ExpectedRevisionId": "123"}) == ("PolicyNotFoundException", told)
    told = (
        f"{NOT_FOUND}Requested policy update expecting none to be present for table Things, "
        f"but a policy exists with revision id {revision}."
    )
    assert refused(operation, {**params, "ExpectedRevisionId": "NO_POLICY"}) == ("PolicyNotFoundException", told)
    assert get(db) == {"Policy": POLICY, "RevisionId": revision}


@pytest.mark.parametrize("operation", ["PutResourcePolicy", "DeleteResourcePolicy"])
def test_a_revision_is_not_met_by_no_policy(refused: Refusal, table: str, operation: str) -> None:
    params = {"ResourceArn": ARN, **({"Policy": OTHER} if operation.startswith("Put") else {})}
    assert refused(operation, {**params, "ExpectedRevisionId": "123"})[0] == "PolicyNotFoundException"
    assert refused("GetResourcePolicy", {"ResourceArn": ARN})[0] == "PolicyNotFoundException"


def test_a_revision_given_in_vain_is_checked_for_the_same_policy_too(
    db: Database, refused: Refusal, table: str
) -> None:
    put(db)
    params = {"ResourceArn": ARN, "Policy": POLICY, "ExpectedRevisionId": "123"}
    assert refused("PutResourcePolicy", params)[0] == "PolicyNotFoundException"


# What is a policy.


@pytest.mark.parametrize(
    "policy",
    ["", "{", "[]", "null", '"Allow"', "{'Version': 1}", "[" * 5000],
    ids=["empty", "cut short", "list", "null", "text", "quotes", "deep"],
)
def test_a_policy_is_a_json_object(refused: Refusal, table: str, policy: str) -> None:
    refusal = "One or more parameter values were invalid: Invalid policy document: Syntax errors in policy"
    params = {"ResourceArn": ARN, "Policy": policy}
    assert refused("PutResourcePolicy", params) == ("ValidationException", refusal)
    assert refused("CreateTable", table_request("pk:S", "Others", {}, {}, {"ResourcePolicy": policy})) == (
        "ValidationException",
        refusal,
    )


def test_a_policy_has_20_kilobytes_at_most_with_its_white_space(db: Database, refused: Refusal, table: str) -> None:
    put(db, POLICY.ljust(BYTES_MAX))
    for policy in (POLICY.ljust(BYTES_MAX + 1), '{"é":1}'.ljust(BYTES_MAX)):
        code, message = refused("PutResourcePolicy", {"ResourceArn": ARN, "Policy": policy})
        assert code == "ValidationException"
        assert message is not None
        assert "exceeds the maximum size of 20480 bytes" in message
    assert get(db)["Policy"] == POLICY.ljust(BYTES_MAX)


def test_removing_ones_own_access_may_be_confirmed(db: Database, table: str) -> None:
    put(db, ConfirmRemoveSelfResourceAccess=True)
    put(db, OTHER, ConfirmRemoveSelfResourceAccess=False)


@pytest.mark.parametrize(
    ("operation", "params", "message"),
    [
        (
            "PutResourcePolicy",
            {},
            "1 validation error detected: Value null at 'policy' failed to satisfy constraint: Member must not be null",
        ),
        (
            "DeleteResourcePolicy",
            {"ExpectedRevisionId": ""},
            "1 validation error detected: Value '' at 'expectedRevisionId' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1",
        ),
    ],
    ids=["no policy", "empty revision"],
)
def test_constraints_of_the_model(refused: Refusal, operation: str, params: dict[str, Any], message: str) -> None:
    assert refused(operation, {"ResourceArn": ARN, **params}) == ("ValidationException", message)


# Of what.

OPERATIONS = [("PutResourcePolicy", {"Policy": POLICY}), ("GetResourcePolicy", {}), ("DeleteResourcePolicy", {})]
each_operation = pytest.mark.parametrize(
    ("operation", "params"), OPERATIONS, ids=[operation for operation, _ in OPERATIONS]
)


def test_a_new_table_may_bring_its_policy(db: Database, make_table: MakeTable) -> None:
    make_table(ResourcePolicy=POLICY)
    found = get(db)
    assert found["Policy"] == POLICY
    assert put(db) == found["RevisionId"]


def test_a_policy_is_gone_with_its_table(db: Database, refused: Refusal, make_table: MakeTable) -> None:
    make_table(ResourcePolicy=POLICY)
    db.call("DeleteTable", {"TableName": "Things"})
    make_table()
    assert refused("GetResourcePolicy", {"ResourceArn": ARN})[0] == "PolicyNotFoundException"


def test_a_stream_has_a_policy_of_its_own(db: Database, refused: Refusal, make_table: MakeTable) -> None:
    make_table(**STREAM)
    stream_arn = db.call("DescribeTable", {"TableName": "Things"})["Table"]["LatestStreamArn"]
    put(db)
    assert refused("GetResourcePolicy", {"ResourceArn": stream_arn})[0] == "PolicyNotFoundException"
    revision = put(db, OTHER, ResourceArn=stream_arn)
    assert get(db, stream_arn) == {"Policy": OTHER, "RevisionId": revision}
    assert get(db)["Policy"] == POLICY
    assert db.call("DeleteResourcePolicy", {"ResourceArn": stream_arn}) == {"RevisionId": revision}
    assert refused("GetResourcePolicy", {"ResourceArn": stream_arn})[0] == "PolicyNotFoundException"
    assert get(db)["Policy"] == POLICY


def test_the_policy_of_a_stream_that_is_gone_goes_with_the_next_one(hand: ByHand) -> None:
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, STREAM))
    for _ in range(2):
        label = hand.table("Things").stream_label
        hand.call("PutResourcePolicy", ResourceArn=f"{hand.table('Things').arn}/stream/{label}", Policy=POLICY)
        assert list(hand.table("Things").stream_policies) == [label]
        hand.clock += 60
        for specification in ({"StreamEnabled": False}, STREAM["StreamSpecification"]):
            hand.call("UpdateTable", TableName="Things", StreamSpecification=specification)
        hand.clock += 25 * 3600  # the one that has ended is kept for a day
        hand.run_jobs()


@each_operation
@pytest.mark.parametrize(
    "arn",
    [ARN, f"{ARN}/stream/2026-01-01T00:00:00.000"],
    ids=["table", "stream"],
)
def test_what_is_not_there_is_told_so(refused: Refusal, operation: str, params: dict[str, Any], arn: str) -> None:
    told = f"Requested resource not found: ResourcArn: {arn} not found"
    assert refused(operation, {**params, "ResourceArn": arn}) == ("ResourceNotFoundException", told)


@each_operation
def test_a_stream_that_its_table_does_not_have_is_not_there(
    refused: Refusal, make_table: MakeTable, operation: str, params: dict[str, Any]
) -> None:
    make_table(**STREAM)
    arn = f"{ARN}/stream/2000-01-01T00:00:00.000"
    assert refused(operation, {**params, "ResourceArn": arn})[0] == "ResourceNotFoundException"


@each_operation
@pytest.mark.parametrize(
    ("arn", "code"),
    [
        (f"{ARN}/index/by_owner", "ValidationException"),
        (ARN.replace("us-east-1", "eu-west-2"), "ValidationException"),
        (ARN.replace("000000000000", "111111111111"), "AccessDeniedException"),
        ("Things", "ValidationException"),
        ("", "ValidationException"),
    ],
    ids=["index", "region", "account", "name", "empty"],
)
def test_arns_are_checked_as_for_tags(
    refused: Refusal, make_table: MakeTable, operation: str, params: dict[str, Any], arn: str, code: str
) -> None:
    make_table(globally={"by_owner": ("owner:S", "ALL")})
    assert refused(operation, {**params, "ResourceArn": arn})[0] == code


# States, and what lasts.


def test_the_policy_of_a_table_that_comes_or_goes_cannot_be_changed_but_is_told() -> None:
    hand = ByHand(table_delay_seconds=10)
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Things"
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, {"ResourcePolicy": POLICY}))
    for _ in range(2):
        for operation, params in (("PutResourcePolicy", {"Policy": OTHER}), ("DeleteResourcePolicy", {})):
            assert hand.refused(operation, ResourceArn=arn, **params)[0] == "ResourceInUseException"
        assert hand.call("GetResourcePolicy", ResourceArn=arn)["Policy"] == POLICY
        hand.advance(10)
        if hand.ctx.catalog.find("Things") is not None:
            hand.call("DeleteTable", TableName="Things")
    hand.close()


def test_a_revision_is_the_time_in_milliseconds_but_never_the_one_before(hand: ByHand) -> None:
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, {"ResourcePolicy": POLICY}))
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Things"
    assert hand.call("GetResourcePolicy", ResourceArn=arn)["RevisionId"] == str(int(NOON * 1000))
    changed = hand.call("PutResourcePolicy", ResourceArn=arn, Policy=OTHER)
    assert changed == {"RevisionId": str(int(NOON * 1000) + 1)}
    hand.clock += 1
    assert hand.call("PutResourcePolicy", ResourceArn=arn, Policy=POLICY) == {
        "RevisionId": str(int(NOON * 1000) + 1000)
    }


def test_policies_survive_a_crash(hand: ByHand) -> None:
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, STREAM))
    table = hand.table("Things")
    arns = [table.arn, f"{table.arn}/stream/{table.stream_label}"]
    for arn in arns:
        hand.call("PutResourcePolicy", ResourceArn=arn, Policy=POLICY)
    before = [hand.call("GetResourcePolicy", ResourceArn=arn) for arn in arns]
    hand.reopen()
    assert [hand.call("GetResourcePolicy", ResourceArn=arn) for arn in arns] == before

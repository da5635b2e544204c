"""TagResource, UntagResource, ListTagsOfResource, and the ARNs they take."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.jobs.by_hand import ACCOUNT, REGION, ByHand
from tests.operations.conftest import MakeTable, table_request
from torusdb import Database
from torusdb.errors import AccessDeniedException

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things"
MANY = {f"key{number}": str(number) for number in range(50)}


def tags_of(**tags: str) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def add(db: Database, **tags: str) -> dict[str, Any]:
    return db.call("TagResource", {"ResourceArn": ARN, "Tags": tags_of(**tags)})


def remove(db: Database, *keys: str) -> dict[str, Any]:
    return db.call("UntagResource", {"ResourceArn": ARN, "TagKeys": list(keys)})


def listed(db: Database) -> dict[str, str]:
    answer = db.call("ListTagsOfResource", {"ResourceArn": ARN})
    assert list(answer) == ["Tags"]
    return {tag["Key"]: tag["Value"] for tag in answer["Tags"]}


def test_a_table_has_no_tags_at_first(db: Database, table: str) -> None:
    assert db.call("ListTagsOfResource", {"ResourceArn": ARN}) == {"Tags": []}


def test_tags_are_added_changed_and_taken_away(db: Database, make_table: MakeTable) -> None:
    make_table(Tags=tags_of(owner="ann", stage="test"))
    add(db, stage="live", empty="")
    assert listed(db) == {"owner": "ann", "stage": "live", "empty": ""}
    remove(db, "owner", "never there")
    assert listed(db) == {"stage": "live", "empty": ""}
    add(db, Stage="case counts")
    assert listed(db) == {"stage": "live", "empty": "", "Stage": "case counts"}


def test_other_tables_have_their_own(db: Database, make_table: MakeTable) -> None:
    make_table()
    make_table(name="Others")
    add(db, owner="ann")
    assert db.call("ListTagsOfResource", {"ResourceArn": ARN.replace("Things", "Others")}) == {"Tags": []}


def test_all_fifty_tags_come_in_one_answer(db: Database, table: str) -> None:
    add(db, **MANY)
    assert listed(db) == MANY


def test_a_table_has_fifty_tags_at_most_whenever_they_came(db: Database, refused: Refusal, table: str) -> None:
    add(db, **MANY)
    add(db, key7="changed")
    limit = ("ValidationException", "Number of Tags exceed the current limit for the provided ResourceArn")
    assert refused("TagResource", {"ResourceArn": ARN, "Tags": tags_of(one_more="")}) == limit
    assert listed(db) == {**MANY, "key7": "changed"}
    remove(db, "key0")
    add(db, one_more="")


def test_they_are_gone_with_their_table(db: Database, make_table: MakeTable) -> None:
    make_table(Tags=tags_of(owner="ann"))
    db.call("DeleteTable", {"TableName": "Things"})
    make_table()
    assert listed(db) == {}


def test_changes_are_answered_with_an_empty_body(db: Database, table: str) -> None:
    assert (add(db, owner="ann"), remove(db, "owner")) == ({}, {})
    pytest.importorskip("boto3", reason="what SDKs make of it")
    answer = db.client().tag_resource(ResourceArn=ARN, Tags=tags_of(owner="ann"))
    assert set(answer) == {"ResponseMetadata"}
    assert answer["ResponseMetadata"]["HTTPHeaders"]["content-length"] == "0"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("aws:x", "", "Tag Key cannot be prefixed with aws:, Key: aws:x"),
        ("k" * 129, "", f"The Tag Key provided is invalid, Key: {'k' * 129}"),
        ("a#b", "", "The Tag Key provided is invalid, Key: a#b"),
        ("k", "v" * 257, f"The Tag Value provided is invalid, Value: {'v' * 257}"),
    ],
    ids=["aws", "long key", "strange key", "long value"],
)
def test_tags_are_checked_as_those_of_new_tables(
    refused: Refusal, table: str, key: str, value: str, message: str
) -> None:
    params = {"ResourceArn": ARN, "Tags": [{"Key": key, "Value": value}]}
    assert refused("TagResource", params) == ("ValidationException", message)


def test_the_longest_tags_and_those_of_all_signs_are_taken(db: Database, table: str) -> None:
    tags = {"k" * 128: "v" * 256, "Größe +-=._:/@": "\u540d\u524d 1"}
    db.call("TagResource", {"ResourceArn": ARN, "Tags": [{"Key": key, "Value": tags[key]} for key in tags]})
    assert listed(db) == tags


def test_a_key_twice_is_refused(refused: Refusal, table: str) -> None:
    params = {"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}
    refusal = "Duplicate Tag Keys provided as input: Duplicate Tag Key found a"
    assert refused("TagResource", params) == ("ValidationException", refusal)


@pytest.mark.parametrize(
    ("operation", "params", "message"),
    [
        ("TagResource", {"Tags": []}, "Atleast one Tag needs to be provided as Input."),
        ("UntagResource", {"TagKeys": []}, "Atleast one Tag Key needs to be provided as Input."),
        (
            "TagResource",
            {},
            "1 validation error detected: Value null at 'tags' failed to satisfy constraint: Member must not be null",
        ),
        (
            "TagResource",
            {"Tags": [{"Key": "", "Value": ""}]},
            "1 validation error detected: Value '' at 'tags.1.member.key' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1",
        ),
        (
            "TagResource",
            {"Tags": [{"Key": "k"}]},
            "1 validation error detected: Value null at 'tags.1.member.value' failed to satisfy constraint: "
            "Member must not be null",
        ),
        ("ListTagsOfResource", {"NextToken": "abc"}, "Invalid NextToken"),
    ],
    ids=["no tag", "no key", "null", "empty key", "no value", "token"],
)
def test_what_is_missing_is_told_before_the_table_is_looked_for(
    refused: Refusal, operation: str, params: dict[str, Any], message: str
) -> None:
    assert refused(operation, {"ResourceArn": ARN, **params}) == ("ValidationException", message)


# ARNs.

CALLS = [("TagResource", {"Tags": tags_of(a="1")}), ("UntagResource", {"TagKeys": ["a"]}), ("ListTagsOfResource", {})]
each_operation = pytest.mark.parametrize(("operation", "params"), CALLS, ids=[operation for operation, _ in CALLS])


@each_operation
@pytest.mark.parametrize("resource", [{}, {"ResourceArn": ""}], ids=["missing", "empty"])
def test_an_arn_is_needed(refused: Refusal, operation: str, params: dict[str, Any], resource: dict[str, str]) -> None:
    assert refused(operation, {**params, **resource}) == ("ValidationException", "Invalid TableArn")


@each_operation
@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:dynamodb:eu-west-2:000000000000:table/Things",
        "arn:aws:dynamodb:us-east-1:000000000000:backup/Things",
        "arn:aws:dynamodb:us-east-1:000000000000:table/Things/index/by_owner",
        "arn:aws:dynamodb:us-east-1:000000000000:table/Things/stream/2026-01-01T00:00:00.000",
        "arn:aws:dynamodb:us-east-1:000000000000:table/ab",
        "arn:aws:dynamodb:us-east-1:000000000000:table/",
    ],
    ids=["region", "no table", "index", "stream", "short name", "no name"],
)
def test_only_tables_of_the_region_have_tags(
    refused: Refusal, table: str, operation: str, params: dict[str, Any], arn: str
) -> None:
    refusal = ("ValidationException", f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    assert refused(operation, {**params, "ResourceArn": arn}) == refusal


@each_operation
@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:dynamodb:us-east-1:111111111111:table/Things",
        "arn:aws:dynamodb:eu-west-2:111111111111:table/Things",
        "arn:aws:s3:us-east-1:000000000000:table/Things",
        "arn:aws:dynamodb:us-east-1",
    ],
    ids=["account", "account and region", "service", "cut short"],
)
def test_what_is_not_the_callers_is_denied(
    refused: Refusal, table: str, operation: str, params: dict[str, Any], arn: str
) -> None:
    code, message = refused(operation, {**params, "ResourceArn": arn})
    assert code == AccessDeniedException.__name__
    assert message is not None
    assert message.endswith(f" is not authorized to perform: dynamodb:{operation} on resource: {arn}")


@each_operation
def test_a_name_is_no_arn(refused: Refusal, table: str, operation: str, params: dict[str, Any]) -> None:
    refusal = ("ValidationException", "ARNs must start with 'arn:': Things")
    assert refused(operation, {**params, "ResourceArn": table}) == refusal


@each_operation
def test_a_table_that_is_not_there_is_told_so(refused: Refusal, operation: str, params: dict[str, Any]) -> None:
    told = "Requested resource not found"
    if operation != "UntagResource":
        told += f": ResourcArn: {ARN} not found"
    assert refused(operation, {**params, "ResourceArn": ARN}) == ("ResourceNotFoundException", told)


def test_an_arn_has_its_length(refused: Refusal) -> None:
    arn = f"{ARN}{'s' * 1300}"
    told = (
        f"1 validation error detected: Value '{arn}' at 'resourceArn' failed to satisfy constraint: "
        "Member must have length less than or equal to 1283"
    )
    assert refused("ListTagsOfResource", {"ResourceArn": arn}) == ("ValidationException", told)


# States.


def test_a_table_that_comes_or_goes_cannot_be_tagged_but_its_tags_are_told() -> None:
    hand = ByHand(table_delay_seconds=10)
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Things"
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, {"Tags": tags_of(owner="ann")}))
    changes = [("TagResource", {"Tags": tags_of(a="1")}), ("UntagResource", {"TagKeys": ["owner"]})]
    for operation, params in changes:
        being_created = "Attempt to change a resource which is still in use: Table is being created: Things"
        assert hand.refused(operation, ResourceArn=arn, **params) == ("ResourceInUseException", being_created)
    assert hand.call("ListTagsOfResource", ResourceArn=arn) == {"Tags": tags_of(owner="ann")}

    hand.advance(10)
    for operation, params in changes:
        hand.call(operation, ResourceArn=arn, **params)
    hand.call("DeleteTable", TableName="Things")
    assert hand.refused("TagResource", ResourceArn=arn, Tags=tags_of(b="2"))[0] == "ResourceInUseException"
    assert hand.call("ListTagsOfResource", ResourceArn=arn) == {"Tags": tags_of(a="1")}
    hand.close()


def test_tags_survive_a_crash(hand: ByHand) -> None:
    hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, {"Tags": tags_of(owner="ann")}))
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Things"
    hand.call("TagResource", ResourceArn=arn, Tags=tags_of(stage="live"))
    hand.call("UntagResource", ResourceArn=arn, TagKeys=["owner"])
    hand.reopen()
    assert hand.call("ListTagsOfResource", ResourceArn=arn) == {"Tags": tags_of(stage="live")}

"""What UpdateTable refuses, and in which words. What it says while a table is on its way is in test_table_phases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.jobs.by_hand import ByHand
from tests.operations.conftest import table_request

INVALID = "One or more parameter values were invalid: "
Params = dict[str, Any]
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}


def units(read: int = 1, write: int = 1) -> Params:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def schema(*elements: str) -> list[Params]:
    return [dict(zip(("AttributeName", "KeyType"), element.split(), strict=True)) for element in elements]


def definitions(*names: str) -> list[Params]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def updates(*members: Params) -> Params:
    return {"GlobalSecondaryIndexUpdates": list(members)}


def creation(name: str = "new", **more: Any) -> Params:
    return {
        "Create": {
            "IndexName": name,
            "KeySchema": schema("owner HASH"),
            "Projection": {"ProjectionType": "ALL"},
            **more,
        }
    }


def deletion(name: str) -> Params:
    return {"Delete": {"IndexName": name}}


def change(name: str, **more: Any) -> Params:
    return {"Update": {"IndexName": name, **more}}


OWNER = {"AttributeDefinitions": definitions("owner")}


@pytest.fixture
def on_demand(hand: ByHand) -> ByHand:
    """Things, on demand, with the global indexes by_owner and by_date and the local index by_size."""
    indexes = {"by_owner": ("owner:S", "ALL"), "by_date": ("date:S", "ALL")}
    hand.call("CreateTable", **table_request("pk:S sk:S", "Things", indexes, {"by_size": ("pk:S size:N", "ALL")}, {}))
    return hand


@pytest.fixture
def provisioned(hand: ByHand) -> ByHand:
    """Things, of 1 read and 1 write unit, with a global index by_owner of 2 and 3."""
    more = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units()}
    request = table_request("pk:S", "Things", {"by_owner": ("owner:S", "ALL")}, {}, more)
    request["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(2, 3)
    hand.call("CreateTable", **request)
    return hand


def refuse(hand: ByHand, code: str = "ValidationException", **params: Any) -> str | None:
    """The message; the table must stay as it was."""
    before = hand.call("DescribeTable", TableName="Things")
    refusal = hand.refused("UpdateTable", TableName="Things", **params)
    assert refusal[0] == code
    assert hand.call("DescribeTable", TableName="Things") == before
    return refusal[1]


# The request by itself: it makes no difference whether there is such a table.

NOTHING = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
    "SSESpecification or ReplicaUpdates is required"
)


def alone(what: str) -> str:
    return f"{INVALID}{what} must be the only operation in the request"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, NOTHING),
        ({"AttributeDefinitions": definitions("pk")}, NOTHING),
        (updates(), NOTHING),
        ({"OnDemandThroughput": {}}, NOTHING),
        ({"WarmThroughput": {}}, NOTHING),
        (
            {"BillingMode": "PROVISIONED"},
            INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        ),
        (
            {"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": units()},
            INVALID + "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"ProvisionedThroughput": units(1_000_000_000_001)},
            "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            {"DeletionProtectionEnabled": True, **updates()},
            INVALID + "List of GlobalSecondaryIndexUpdates is empty",
        ),
        (
            updates({}),
            INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
            "GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            updates({**change("abc"), **deletion("abc")}),
            INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
        ),
        (
            updates(deletion("abc"), creation("abc")),
            INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: abc",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            INVALID + "If stream is being enabled then UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {**STREAM, "StreamEnabled": False}},
            INVALID + "If stream is being disabled, then UpdateViewType must not be specified",
        ),
        (
            {"SSESpecification": {"Enabled": False, "SSEType": "KMS"}},
            INVALID + "SSEType can not be specified if Enabled is false",
        ),
        ({"SSESpecification": {"Enabled": True, "SSEType": "AES256"}}, INVALID + "SSEType AES256 is not supported"),
        (
            {"MultiRegionConsistency": "STRONG"},
            INVALID + "MultiRegionConsistency is not supported by this version of TorusDB",
        ),
    ],
    ids=str,
)
def test_a_request_is_looked_at_before_its_table(refused: Refusal, params: Params, message: str) -> None:
    assert refused("UpdateTable", {"TableName": "Nothing", **params}) == ("ValidationException", message)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"SSESpecification": {"Enabled": True}, "TableClass": "STANDARD"},
         alone("Server-Side Encryption modification")),
        ({"SSESpecification": {"Enabled": True}, "DeletionProtectionEnabled": True},
         alone("Server-Side Encryption modification")),
        ({"TableClass": "STANDARD", "DeletionProtectionEnabled": True}, alone("TableClass modification")),
        ({"TableClass": "STANDARD", "BillingMode": "PAY_PER_REQUEST"}, alone("TableClass modification")),
        ({"DeletionProtectionEnabled": True, "WarmThroughput": {"ReadUnitsPerSecond": 1}},
         alone("DeletionProtection modification")),
        ({"DeletionProtectionEnabled": True, "BillingMode": "PAY_PER_REQUEST"},
         alone("DeletionProtection modification")),
        ({"DeletionProtectionEnabled": True, **OWNER, **updates(creation())},
         alone("DeletionProtection modification")),
        ({"WarmThroughput": {"ReadUnitsPerSecond": 1}, "StreamSpecification": STREAM}, alone("WarmThroughput")),
        ({"WarmThroughput": {"ReadUnitsPerSecond": 1}, **OWNER, **updates(creation())},
         INVALID + "Create global secondary index cannot be specified when updating WarmThroughput"),
        ({"OnDemandThroughput": {"MaxReadRequestUnits": 1}, "StreamSpecification": STREAM},
         INVALID + "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"),
        ({"OnDemandThroughput": {"MaxReadRequestUnits": 1}, "WarmThroughput": {"ReadUnitsPerSecond": 1}},
         INVALID + "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"),
        ({"ProvisionedThroughput": units(), "StreamSpecification": STREAM},
         INVALID + "You cannot modify stream status while updating table IOPS"),
        ({"ProvisionedThroughput": units(), "BillingMode": "PROVISIONED", "StreamSpecification": STREAM},
         INVALID + "You cannot modify stream status while updating table IOPS"),
        ({"ProvisionedThroughput": units(), **updates(deletion("abc"))},
         INVALID + "You cannot create or delete index while updating table IOPS"),
        ({"StreamSpecification": STREAM, **OWNER, **updates(creation())},
         INVALID + "You cannot create or delete index while changing stream status"),
    ],
    ids=lambda value: " and ".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_most_changes_want_a_request_of_their_own(refused: Refusal, params: Params, message: str) -> None:
    assert refused("UpdateTable", {"TableName": "Nothing", **params}) == ("ValidationException", message)


def test_a_table_that_is_not_there_is_named(refused: Refusal) -> None:
    assert refused("UpdateTable", {"TableName": "Nothing", "DeletionProtectionEnabled": True}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: Nothing not found",
    )


# The request against its table.


def test_a_throughput_must_change(provisioned: ByHand) -> None:
    ending = "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    message = (
        "The provisioned throughput for the table will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: 1. Requested ReadCapacityUnits: 1. "
        f"Current WriteCapacityUnits provisioned for the table: 1. Requested WriteCapacityUnits: 1. {ending}"
    )
    assert refuse(provisioned, ProvisionedThroughput=units()) == message
    assert refuse(provisioned, ProvisionedThroughput=units(), BillingMode="PROVISIONED") == message
    assert refuse(provisioned, **updates(change("by_owner", ProvisionedThroughput=units(2, 3)))) == (
        "The provisioned throughput for the index by_owner will not change. "
        "The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for index by_owner: 2. Requested ReadCapacityUnits: 2. "
        f"Current WriteCapacityUnits provisioned for index by_owner: 3. Requested WriteCapacityUnits: 3. {ending}"
    )


def test_a_table_on_demand_has_no_throughput(on_demand: ByHand) -> None:
    assert refuse(on_demand, ProvisionedThroughput=units()) == (
        INVALID
        + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
    )
    assert refuse(on_demand, **updates(change("by_owner", ProvisionedThroughput=units()))) == (
        INVALID + "The only Updates for index: by_owner when TableThroughputMode is PAY_PER_REQUEST "
        "can be to OnDemandThroughput, WarmThroughput"
    )
    created = creation(ProvisionedThroughput=units())
    assert refuse(on_demand, **OWNER, **updates(created)) == (
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: new "
        "when BillingMode is PAY_PER_REQUEST"
    )


def test_a_switch_to_provisioned_needs_a_throughput_for_each_index(on_demand: ByHand) -> None:
    params = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units()}
    assert refuse(on_demand, **params, **updates(change("by_owner", ProvisionedThroughput=units()))) == (
        INVALID + "ProvisionedThroughput must be specified for index: by_date"
    )


def test_a_provisioned_table_has_no_ceilings(provisioned: ByHand) -> None:
    ceilings = {"OnDemandThroughput": {"MaxReadRequestUnits": 5}}
    ending = "cannot be specified when the table BillingMode is PROVISIONED"
    assert refuse(provisioned, **ceilings) == f"{INVALID}MaxReadRequestUnits for OnDemandThroughput {ending}"
    assert refuse(provisioned, **updates(change("by_owner", **ceilings))) == (
        f"{INVALID}MaxReadRequestUnits for OnDemandThroughput for index : by_owner {ending}"
    )


@pytest.mark.parametrize("bad", [0, -2])
def test_ceilings_are_positive_or_minus_one(on_demand: ByHand, bad: int) -> None:
    ceilings = {"OnDemandThroughput": {"MaxWriteRequestUnits": bad}}
    requested = INVALID + "Requested MaxWriteRequestUnits for OnDemandThroughput for"
    assert refuse(on_demand, **ceilings) == f"{requested} table is outside of valid range"
    assert refuse(on_demand, **updates(change("by_owner", **ceilings))) == (
        f"{requested} index : by_owner is outside of valid range"
    )


def test_nothing_gets_colder(on_demand: ByHand) -> None:
    warm = {"WarmThroughput": {"ReadUnitsPerSecond": 11_999}}
    requested = INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for"
    ending = "is lower than current WarmThroughput, decreasing WarmThroughput is not supported"
    assert refuse(on_demand, **warm) == f"{requested} table {ending}"
    assert refuse(on_demand, **updates(change("by_owner", **warm))) == f"{requested} index by_owner {ending}"


def test_a_stream_is_not_changed_in_place(on_demand: ByHand) -> None:
    assert refuse(on_demand, StreamSpecification={"StreamEnabled": False}) == (
        "Table has no stream to disable: TableName: Things"
    )
    on_demand.call("UpdateTable", TableName="Things", StreamSpecification=STREAM)
    for view in ("NEW_IMAGE", "KEYS_ONLY"):
        assert refuse(on_demand, StreamSpecification={"StreamEnabled": True, "StreamViewType": view}) == (
            "Table already has an enabled stream: TableName: Things"
        )


@pytest.mark.parametrize("sse", [{}, {"Enabled": False}], ids=str)
def test_the_services_own_key_is_not_set_twice(on_demand: ByHand, sse: Params) -> None:
    assert refuse(on_demand, SSESpecification=sse) == INVALID + "Table is already encrypted by default"


def test_a_key_is_not_set_twice_by_its_arn(on_demand: ByHand) -> None:
    key = "arn:aws:kms:eu-west-2:000000000000:key/mine"
    by_arn = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}
    on_demand.call("UpdateTable", TableName="Things", SSESpecification=by_arn)
    assert refuse(on_demand, SSESpecification=by_arn) == (
        INVALID + "Table is already encrypted with given KMSMasterKeyId. "
        "Use KMSMasterKeyId parameter if you want to change Master Key"
    )
    on_demand.call("UpdateTable", TableName="Things", SSESpecification={**by_arn, "KMSMasterKeyId": "mine"})


# Indexes.


@pytest.mark.parametrize("action", [change("nothing"), deletion("nothing")], ids=["update", "delete"])
def test_an_index_that_is_not_there_is_named(on_demand: ByHand, action: Params) -> None:
    assert refuse(on_demand, "ResourceNotFoundException", **updates(action)) == (
        "Requested resource not found: Index nothing for table Things"
    )


def test_local_indexes_are_for_ever(on_demand: ByHand) -> None:
    no_global = "an index that is not a GlobalSecondaryIndex: by_size"
    assert refuse(on_demand, **updates(deletion("by_size"))) == f"Cannot delete {no_global}"
    assert refuse(on_demand, **updates(change("by_size"))) == f"Cannot update {no_global}"


@pytest.mark.parametrize("name", ["by_owner", "by_size"])
def test_a_name_is_taken_once(on_demand: ByHand, name: str) -> None:
    message = "Attempting to create an index which already exists"
    assert refuse(on_demand, **OWNER, **updates(creation(name))) == message


@pytest.mark.parametrize(
    ("defined", "keys", "message"),
    [
        (None, ["owner HASH"], INVALID + "AttributeDefinitions is not specified for index: new"),
        (
            [],
            ["owner HASH"],
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            ["pk"],
            ["owner HASH"],
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [owner], AttributeDefinitions: [pk]",
        ),
        (["a"], ["a RANGE"], "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (
            ["a", "b"],
            ["a HASH", "a RANGE"],
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (
            ["a", "b", "c"],
            ["a HASH", "b RANGE", "c HASH"],
            INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema",
        ),
    ],
)
def test_a_new_index_defines_its_own_attributes(
    on_demand: ByHand, defined: list[str] | None, keys: list[str], message: str
) -> None:
    params = updates(creation(KeySchema=schema(*keys)))
    if defined is not None:
        params["AttributeDefinitions"] = definitions(*defined)
    assert refuse(on_demand, **params) == message


def test_a_new_index_says_what_it_projects(on_demand: ByHand) -> None:
    params = updates(creation(Projection={"ProjectionType": "INCLUDE"}))
    message = INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
    assert refuse(on_demand, **OWNER, **params) == message


def test_a_new_index_of_a_provisioned_table_needs_a_throughput(provisioned: ByHand) -> None:
    assert refuse(provisioned, **OWNER, **updates(creation())) == (
        INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new"
    )


ONE_AT_A_TIME = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"


@pytest.mark.parametrize(
    "members",
    [
        [creation("one"), creation("two")],
        [deletion("by_owner"), deletion("by_date")],
        [deletion("by_owner"), creation("one")],
        [change(f"index-{number}", ProvisionedThroughput=units()) for number in range(6)],
    ],
    ids=["two new ones", "two to go", "one new, one to go", "six updates"],
)
def test_one_index_at_a_time_comes_or_goes(on_demand: ByHand, members: list[Params]) -> None:
    assert refuse(on_demand, "LimitExceededException", **OWNER, **updates(*members)) == ONE_AT_A_TIME


def test_no_other_index_comes_or_goes_while_one_is_filled(on_demand: ByHand) -> None:
    on_demand.call("UpdateTable", TableName="Things", **OWNER, **updates(creation()))
    for action in (creation("other"), deletion("by_owner")):
        assert refuse(on_demand, "LimitExceededException", **OWNER, **updates(action)) == ONE_AT_A_TIME
    on_demand.run_jobs()
    on_demand.call("UpdateTable", TableName="Things", **updates(deletion("by_owner")))


def test_there_are_twenty_global_indexes_at_most(hand: ByHand) -> None:
    indexes = {f"index-{number}": ("owner:S", "KEYS_ONLY") for number in range(20)}
    hand.call("CreateTable", **table_request("pk:S", "Things", indexes, {}, {}))
    assert refuse(hand, "LimitExceededException", **OWNER, **updates(creation())) == (
        "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20"
    )


def test_a_throughput_without_bounds_is_blocked(provisioned: ByHand) -> None:
    params = updates(change("by_owner", ProvisionedThroughput=units(1_000_000_000_001)))
    assert refuse(provisioned, **params) == (
        "This operation cannot be performed with given input values. "
        "Please contact DynamoDB service team for more info: Action Blocked: IndexUpdate"
    )


def test_what_is_refused_in_part_is_refused_as_a_whole(provisioned: ByHand) -> None:
    members = [change("by_owner", ProvisionedThroughput=units(9, 9)), change("nothing", ProvisionedThroughput=units())]
    refuse(provisioned, "ResourceNotFoundException", ProvisionedThroughput=units(5, 5), **updates(*members))

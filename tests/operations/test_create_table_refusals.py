"""What CreateTable refuses, in which words, and what it looks at first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable, table_request
from torusdb import Database

INVALID = "One or more parameter values were invalid: "
Params = dict[str, Any]
Refuse = Callable[[Params], str]


@pytest.fixture
def refuse(refused: Refusal, db: Database) -> Refuse:
    """The message of the ValidationException; the table must not have been made."""

    def call(params: Params) -> str:
        code, message = refused("CreateTable", params)
        assert code == "ValidationException"
        assert message is not None
        assert db.call("ListTables") == {"TableNames": []}
        return message

    return call


def request(
    key: str = "pk:S", globally: Mapping[str, Any] = {}, locally: Mapping[str, Any] = {}, **more: Any
) -> Params:
    params = table_request(key, "Things", globally, locally, more)
    return {name: value for name, value in params.items() if value is not None}


def schema(*elements: str) -> list[Params]:
    """`schema("pk HASH", "sk RANGE")`"""
    return [dict(zip(("AttributeName", "KeyType"), element.split(), strict=True)) for element in elements]


def definitions(*names: str) -> list[Params]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def index(*elements: str, name: str = "index", **more: Any) -> Params:
    return {"IndexName": name, "KeySchema": schema(*elements), "Projection": {"ProjectionType": "ALL"}, **more}


def units(read: int = 1, write: int = 1) -> Params:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


PROVISIONED: Params = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units()}

# Throughput and billing mode, which come first.


@pytest.mark.parametrize("mode", [{"BillingMode": "PROVISIONED"}, {"BillingMode": None}], ids=["said", "by default"])
def test_a_provisioned_table_needs_a_throughput(refuse: Refuse, mode: Params) -> None:
    assert refuse(request(**mode)) == (
        INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
    )


def test_a_table_on_demand_takes_none(refuse: Refuse) -> None:
    assert refuse(request(ProvisionedThroughput=units())) == (
        INVALID
        + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
    )


@pytest.mark.parametrize("member", ["ReadCapacityUnits", "WriteCapacityUnits"])
def test_a_throughput_is_bounded(refuse: Refuse, member: str) -> None:
    params = request(BillingMode="PROVISIONED", ProvisionedThroughput={**units(), member: 1_000_000_000_001})
    assert refuse(params) == f"Given value 1000000000001 for {member} is out of bounds"


# Keys and definitions.

SAME_NAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
FIRST = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
SECOND = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
NO_DEFINITION = "Invalid KeySchema: Some index key attribute have no definition"


@pytest.mark.parametrize(
    ("keys", "defined", "message"),
    [
        (["a HASH"], [], NO_DEFINITION),
        (["a HASH", "b RANGE"], ["a"], NO_DEFINITION),
        (
            ["a HASH"],
            ["b"],
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [a], AttributeDefinitions: [b]",
        ),
        (
            ["A HASH", "b RANGE"],
            ["a", "b"],
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [A, b], AttributeDefinitions: [a, b]",
        ),
        (["a HASH", "a RANGE"], ["a", "b"], SAME_NAME),
        (["a RANGE"], ["a"], FIRST),
        (["a RANGE", "b HASH"], ["a", "b"], FIRST),
        (["a HASH", "b HASH"], ["a", "b"], SECOND),
        (["a HASH"], ["a", "a"], "Attribute Name is duplicated: a"),
        (["a HASH", "b RANGE"], ["a", "b", "b"], "Attribute Name is duplicated: b"),
        (
            ["a HASH"],
            ["a", "b"],
            INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions",
        ),
    ],
)
def test_the_key_of_a_table_is_of_defined_attributes(
    refuse: Refuse, keys: list[str], defined: list[str], message: str
) -> None:
    assert refuse(request(KeySchema=schema(*keys)) | {"AttributeDefinitions": definitions(*defined)}) == message


def test_with_indexes_a_definition_that_no_key_uses_is_named(refuse: Refuse) -> None:
    params = request("a:S", globally={"index": ("b:S", "ALL")})
    params["AttributeDefinitions"] += definitions("c")
    assert refuse(params) == (
        INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: [a, b, c], keys used: [a, b]"
    )


# Local indexes.


@pytest.mark.parametrize(
    ("key", "indexes", "message"),
    [
        ("a:S b:S", [], INVALID + "List of LocalSecondaryIndexes is empty"),
        (
            "a:S",
            [index("a HASH", "c RANGE")],
            INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex",
        ),
        (
            "a:S b:S",
            [index("a HASH", "z RANGE")],
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [a, z], AttributeDefinitions: [a, b, c]",
        ),
        ("a:S b:S", [index("a HASH", "a RANGE")], SAME_NAME),
        ("a:S b:S", [index("a RANGE", "c HASH")], FIRST),
        ("a:S b:S", [index("a HASH", "c HASH")], SECOND),
        ("a:S b:S", [index("a HASH")], INVALID + "Index KeySchema does not have a range key for index: index"),
        (
            "a:S b:S",
            [index("c HASH", "b RANGE")],
            INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: index. "
            "index hash key: c, table hash key: a",
        ),
        (
            "a:S b:S",
            [index("a HASH", "c RANGE"), index("a HASH", "b RANGE")],
            INVALID + "Duplicate index name: index",
        ),
        (
            "a:S b:S",
            [index("a HASH", "c RANGE", name=f"index {number}".replace(" ", "-")) for number in range(6)],
            INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ),
    ],
)
def test_local_indexes_share_the_tables_partition_key(
    refuse: Refuse, key: str, indexes: list[Params], message: str
) -> None:
    params = request(key, LocalSecondaryIndexes=indexes)
    assert refuse(params | {"AttributeDefinitions": definitions("a", "b", "c")}) == message


def test_the_key_of_a_local_index_has_two_attributes_at_most(refuse: Refuse) -> None:
    params = request("a:S b:S", LocalSecondaryIndexes=[index("a HASH", "b RANGE", "c RANGE")])
    message = refuse(params)
    assert message.startswith("1 validation error detected: Value '[")
    assert message.endswith(
        "' at 'localSecondaryIndexes.1.member.keySchema' failed to satisfy constraint: "
        "Member must have length less than or equal to 2"
    )


# Global indexes.

MULTIPLE = "The KeySchema contains multiple key attributes with the same name"
PRECEDE = INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema"
EXCEEDS = INVALID + "The KeySchema exceeds the maximum allowed number of {} key attributes"


@pytest.mark.parametrize(
    ("indexes", "message"),
    [
        ([], INVALID + "List of GlobalSecondaryIndexes is empty"),
        (
            [index("z HASH")],
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [z], AttributeDefinitions: [a, b, c, d, e, f]",
        ),
        ([index("b HASH", "b RANGE")], SAME_NAME),
        ([index("b HASH", "c RANGE", "b RANGE")], MULTIPLE),
        ([index("b HASH", "b HASH")], MULTIPLE),
        ([index("b RANGE")], FIRST),
        ([index("b RANGE", "a HASH")], FIRST),
        ([index("a HASH", "b RANGE", "c HASH")], PRECEDE),
        ([index(*(f"{name} HASH" for name in "abcde"))], EXCEEDS.format("HASH")),
        ([index("a HASH", *(f"{name} RANGE" for name in "bcdef"))], EXCEEDS.format("RANGE")),
        ([index("b HASH"), index("c HASH")], INVALID + "Duplicate index name: index"),
        (
            [index("b HASH", ProvisionedThroughput=units())],
            INVALID + "ProvisionedThroughput should not be specified for index: index when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        (
            [index("b HASH", name=f"index-{number}") for number in range(21)],
            INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ),
    ],
)
def test_global_indexes_have_keys_of_their_own(refuse: Refuse, indexes: list[Params], message: str) -> None:
    params = request("a:S", GlobalSecondaryIndexes=indexes)
    assert refuse(params | {"AttributeDefinitions": definitions(*"abcdef")}) == message


def test_a_name_is_one_index_of_either_kind(refuse: Refuse) -> None:
    params = request("a:S b:S", locally={"index": ("a:S c:S", "ALL")}, globally={"index": ("b:S", "ALL")})
    assert refuse(params) == INVALID + "Duplicate index name: index"


def test_an_index_of_a_provisioned_table_needs_a_throughput(refuse: Refuse) -> None:
    params = request(globally={"index": ("b:S", "ALL")}, **PROVISIONED)
    assert refuse(params) == INVALID + "ProvisionedThroughput is not specified for index: index"
    params["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(1_000_000_000_001)
    assert refuse(params) == "Given value 1000000000001 for ReadCapacityUnits is out of bounds"


# Projections.


@pytest.mark.parametrize("kind", ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"])
@pytest.mark.parametrize(
    ("projection", "message"),
    [
        ({}, "Unknown ProjectionType: null"),
        ({"NonKeyAttributes": ["x"]}, "Unknown ProjectionType: null"),
        (
            {"ProjectionType": "ALL", "NonKeyAttributes": ["x"]},
            "ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            {"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["x"]},
            "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
        ),
        ({"ProjectionType": "INCLUDE"}, "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"),
        (
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "y", "x"]},
            "Duplicate element in NonKeyAttributes: x",
        ),
    ],
    ids=str,
)
def test_a_projection_names_attributes_if_and_only_if_it_includes_some(
    refuse: Refuse, kind: str, projection: Params, message: str
) -> None:
    params = request("a:S b:S") | {kind: [index("a HASH", "b RANGE", Projection=projection)]}
    assert refuse(params) == INVALID + message


def test_an_index_projects_twenty_attributes_at_most(refuse: Refuse) -> None:
    names = [f"x{number}" for number in range(21)]
    assert refuse(request("a:S", globally={"index": ("a:S", names)})) == (
        f"1 validation error detected: Value '[{', '.join(names)}]' at "
        "'globalSecondaryIndexes.1.member.projection.nonKeyAttributes' failed to satisfy constraint: "
        "Member must have length less than or equal to 20"
    )


# Streams, encryption, ceilings, warm throughput, tags.


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (
            {"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"},
            INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified",
        ),
        (
            {"StreamEnabled": True},
            INVALID + "Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            {"StreamViewType": "NEW_IMAGE"},
            "1 validation error detected: Value null at 'streamSpecification.streamEnabled' failed to satisfy "
            "constraint: Member must not be null",
        ),
    ],
    ids=str,
)
def test_a_stream_has_a_view_if_and_only_if_it_is_enabled(refuse: Refuse, stream: Params, message: str) -> None:
    assert refuse(request(StreamSpecification=stream)) == message


@pytest.mark.parametrize(
    ("sse", "message"),
    [
        ({"Enabled": False, "SSEType": "KMS"}, "SSEType can not be specified if Enabled is false"),
        ({"Enabled": False, "SSEType": "AES256"}, "SSEType can not be specified if Enabled is false"),
        ({"Enabled": False, "KMSMasterKeyId": "k"}, "KMSMasterKeyId can not be specified if Enabled is false"),
        (
            {"Enabled": False, "SSEType": "KMS", "KMSMasterKeyId": "k"},
            "SSEType can not be specified if Enabled is false",
        ),
        ({"Enabled": True, "SSEType": "AES256"}, "SSEType AES256 is not supported"),
        ({"Enabled": True, "KMSMasterKeyId": "k"}, "SSEType KMS is required if KMSMasterKeyId is specified"),
        ({"KMSMasterKeyId": "k"}, "SSEType KMS is required if KMSMasterKeyId is specified"),
    ],
    ids=str,
)
def test_encryption_is_by_kms_and_told_so(refuse: Refuse, sse: Params, message: str) -> None:
    assert refuse(request(SSESpecification=sse)) == INVALID + message


@pytest.mark.parametrize(
    ("ceilings", "named"),
    [
        ({"MaxReadRequestUnits": 5}, "MaxReadRequestUnits"),
        ({"MaxWriteRequestUnits": 0}, "MaxWriteRequestUnits"),
        ({"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 5}, "MaxReadRequestUnits"),
    ],
    ids=str,
)
def test_a_provisioned_table_has_no_ceilings(refuse: Refuse, ceilings: Params, named: str) -> None:
    ending = "cannot be specified when table BillingMode is PROVISIONED."
    assert refuse(request(OnDemandThroughput=ceilings, **PROVISIONED)) == (
        f"{INVALID}{named} for OnDemandThroughput {ending}"
    )
    params = request(globally={"index": ("b:S", "ALL")}, **PROVISIONED)
    params["GlobalSecondaryIndexes"][0] |= {"ProvisionedThroughput": units(), "OnDemandThroughput": ceilings}
    assert refuse(params) == f"{INVALID}{named} for OnDemandThroughput for index: index {ending}"


@pytest.mark.parametrize("bad", [0, -1, -2])
@pytest.mark.parametrize("member", ["MaxReadRequestUnits", "MaxWriteRequestUnits"])
def test_ceilings_are_positive(refuse: Refuse, member: str, bad: int) -> None:
    outside = "is outside of valid range"
    assert refuse(request(OnDemandThroughput={member: bad})) == (
        f"{INVALID}Requested {member} for OnDemandThroughput for table {outside}"
    )
    params = request(globally={"index": ("b:S", "ALL")})
    params["GlobalSecondaryIndexes"][0]["OnDemandThroughput"] = {member: bad}
    assert refuse(params) == f"{INVALID}Requested {member} for OnDemandThroughput for index : index {outside}"


INITIAL = (
    "is lower than initial throughput for OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/"
    "developerguide/on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)


@pytest.mark.parametrize(
    ("member", "units_"), [("ReadUnitsPerSecond", 11_999), ("WriteUnitsPerSecond", 3_999), ("ReadUnitsPerSecond", 0)]
)
def test_a_table_on_demand_is_never_colder_than_a_new_one(refuse: Refuse, member: str, units_: int) -> None:
    assert refuse(request(WarmThroughput={member: units_})) == (
        f"{INVALID}Requested {member} for WarmThroughput for table {INITIAL}"
    )
    params = request(globally={"index": ("b:S", "ALL")})
    params["GlobalSecondaryIndexes"][0]["WarmThroughput"] = {member: units_}
    assert refuse(params) == f"{INVALID}Requested {member} for WarmThroughput for index index {INITIAL}"


def test_a_provisioned_table_is_never_colder_than_its_throughput(refuse: Refuse) -> None:
    params = request(
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(10, 10),
        WarmThroughput={"ReadUnitsPerSecond": 10, "WriteUnitsPerSecond": 9},
    )
    assert refuse(params) == (
        INVALID + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than "
        "WriteCapacityUnits of ProvisionedThroughput"
    )


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([("aws:x", "")], "Tag Key cannot be prefixed with aws:, Key: aws:x"),
        ([("k" * 129, "")], f"The Tag Key provided is invalid, Key: {'k' * 129}"),
        ([("a#b", "")], "The Tag Key provided is invalid, Key: a#b"),
        ([("k", "v" * 257)], f"The Tag Value provided is invalid, Value: {'v' * 257}"),
        ([("k", "a|b")], "The Tag Value provided is invalid, Value: a|b"),
        ([("k", "1"), ("k", "2")], "Duplicate Tag Keys provided as input: Duplicate Tag Key found k"),
        (
            [(f"k{number}", "") for number in range(51)],
            "Number of Tags exceed the current limit for the provided ResourceArn",
        ),
    ],
    ids=["aws:", "a long key", "a key with #", "a long value", "a value with |", "twice the same", "51"],
)
def test_tags_keep_to_the_rules(refuse: Refuse, tags: list[tuple[str, str]], message: str) -> None:
    assert refuse(request(Tags=[{"Key": key, "Value": value} for key, value in tags])) == message


# What is looked at first.


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"ProvisionedThroughput": units()}, {"KeySchema": schema("pk RANGE")}),
        ({"KeySchema": schema("pk RANGE")}, {"LocalSecondaryIndexes": []}),
        ({"LocalSecondaryIndexes": []}, {"GlobalSecondaryIndexes": []}),
        ({"GlobalSecondaryIndexes": []}, {"StreamSpecification": {"StreamEnabled": True}}),
        ({"StreamSpecification": {"StreamEnabled": True}}, {"SSESpecification": {"SSEType": "AES256"}}),
    ],
    ids=["billing, key", "key, local indexes", "local, global indexes", "indexes, stream", "stream, encryption"],
)
def test_of_two_faults_the_first_is_told(refuse: Refuse, earlier: Params, later: Params) -> None:
    assert refuse(request() | earlier | later) == refuse(request() | earlier)


def test_constraints_of_the_model_come_before_all_that(refuse: Refuse) -> None:
    message = refuse(request(ProvisionedThroughput=units(0, 0), GlobalSecondaryIndexes=[]))
    assert message == (
        "2 validation errors detected: "
        "Value '0' at 'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1; "
        "Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1"
    )


def test_a_name_is_taken_once(refused: Refusal, make_table: MakeTable) -> None:
    make_table()
    same = ("ResourceInUseException", "Table already exists: Things")
    assert refused("CreateTable", request()) == same
    assert refused("CreateTable", request("other:N", **PROVISIONED)) == same
    assert refused("CreateTable", request(KeySchema=schema("pk RANGE")))[0] == "ValidationException"


def test_an_arn_is_no_name_for_a_new_table(refuse: Refuse) -> None:
    message = refuse(request() | {"TableName": "arn:aws:dynamodb:us-east-1:000000000000:table/Things"})
    assert message.startswith("1 validation error detected: Value 'arn:aws:dynamodb:us-east-1:000000000000:table/")
    assert "at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern" in message


@pytest.mark.parametrize(
    "more", [{"VectorIndexes": []}, {"GlobalTableSettingsReplicationMode": "ENABLED"}, {"GlobalTableSourceArn": "x"}]
)
def test_what_is_not_built_is_refused_rather_than_passed_over(refuse: Refuse, more: Params) -> None:
    message = refuse(request(**more))
    assert message == f"{INVALID}{next(iter(more))} is not supported by this version of TorusDB"

"""What each operation needs, and what is known of its request when policies are asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.session import get_session

import torusdb
from torusdb import Database
from torusdb.access.facts import RequestFacts
from torusdb.access.permissions import RULES, Tables, asked_by
from torusdb.errors import ServiceError
from torusdb.operations.registry import OPERATIONS

ACCOUNT, REGION = "123456789012", "eu-west-2"
MUSIC = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Music"


class Recorder:
    """A guard that lets everything pass, and remembers what it was asked."""

    account = ACCOUNT

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, RequestFacts]] = []

    def require(self, operation: str, request: Any, tables: Tables) -> None:
        for asked in asked_by(operation, request, tables):
            facts = RequestFacts(request, asked, {"aws:username": "alice"}.get)
            self.asked.append((asked.need.action, asked.need.resource, facts))


def ask(db: Database, operation: str, params: dict[str, Any]) -> list[tuple[str, str, RequestFacts]]:
    recorder = Recorder()
    scope: Any = SimpleNamespace(access_key="", region=REGION)
    with suppress(ServiceError):  # what comes after the guard is not looked at here
        db.begin(operation, json.dumps(params).encode(), scope, recorder)
    return recorder.asked


@pytest.fixture(scope="module")
def music() -> Iterator[Database]:
    with torusdb.open() as db:
        table = {
            "TableName": "Music",
            "KeySchema": [
                {"AttributeName": "Artist", "KeyType": "HASH"},
                {"AttributeName": "Song", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in ("Artist", "Song", "Label")
            ]
            + [{"AttributeName": "Year", "AttributeType": "N"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "ByYear",
                    "KeySchema": [
                        {"AttributeName": "Year", "KeyType": "HASH"},
                        {"AttributeName": "Label", "KeyType": "HASH"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            "BillingMode": "PAY_PER_REQUEST",
            "Tags": [{"Key": "team", "Value": "jazz"}],
        }
        created = ask(db, "CreateTable", table)
        assert [(action, resource) for action, resource, _ in created] == [
            ("dynamodb:CreateTable", MUSIC),
            ("dynamodb:TagResource", MUSIC),
        ]
        binary = {
            "TableName": "Bytes",
            "KeySchema": [{"AttributeName": "Id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "Id", "AttributeType": "B"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        ask(db, "CreateTable", binary)
        yield db


KEY = {"Artist": {"S": "Nina"}, "Song": {"S": "Sinnerman"}}
ELLA = {**KEY, "Artist": {"S": "Ella"}}
NAMES = {"#p": "Price"}
LEADING, ATTRIBUTES, SELECT = "dynamodb:LeadingKeys", "dynamodb:Attributes", "dynamodb:Select"


def test_each_operation_of_the_service_has_its_rule_and_no_other() -> None:
    session = get_session()
    models = [session.get_service_model(name) for name in ("dynamodb", "dynamodbstreams")]
    operations = {name: model.operation_model(name) for model in models for name in model.operation_names}
    assert set(RULES) == set(operations)
    assert set(OPERATIONS) <= set(RULES)
    own = {"account", "tables", "batch", "members", "statements"}
    for name, (kind, field) in RULES.items():
        members = operations[name].input_shape.members
        if kind not in own:
            assert field.title().replace("_", "") in members, name
        if kind == "index":
            assert "IndexName" in members, name
        if kind == "account":
            assert not {"TableName", "ResourceArn"} & set(operations[name].input_shape.required_members), name


@pytest.mark.parametrize(
    ("operation", "params", "needs"),
    [
        ("GetItem", {"TableName": "Music", "Key": KEY}, [("GetItem", MUSIC)]),
        ("GetItem", {"TableName": MUSIC, "Key": KEY}, [("GetItem", MUSIC)]),
        ("GetItem", {"TableName": "None", "Key": KEY}, [("GetItem", MUSIC.replace("Music", "None"))]),
        (
            "GetItem",
            {"TableName": "arn:aws:dynamodb:us-east-1:999999999999:table/Music", "Key": KEY},
            [("GetItem", "arn:aws:dynamodb:us-east-1:999999999999:table/Music")],
        ),
        ("Query", {"TableName": "Music"}, [("Query", MUSIC)]),
        ("Query", {"TableName": "Music", "IndexName": "ByYear"}, [("Query", f"{MUSIC}/index/ByYear")]),
        ("Scan", {"TableName": MUSIC, "IndexName": "ByYear"}, [("Scan", f"{MUSIC}/index/ByYear")]),
        ("ListTables", {}, [("ListTables", MUSIC.replace("Music", "*"))]),
        ("DescribeLimits", {}, [("DescribeLimits", "*")]),
        ("DescribeEndpoints", {}, [("DescribeEndpoints", "*")]),
        (
            "BatchGetItem",
            {"RequestItems": {"Music": {"Keys": [KEY]}, "Bytes": {"Keys": [{"Id": {"B": "AAE="}}]}}},
            [("BatchGetItem", MUSIC), ("BatchGetItem", MUSIC.replace("Music", "Bytes"))],
        ),
        ("BatchWriteItem", {"RequestItems": {"Music": [{"DeleteRequest": {"Key": KEY}}]}}, [("BatchWriteItem", MUSIC)]),
        ("ExecuteStatement", {"Statement": 'SELECT * FROM "Music"'}, [("PartiQLSelect", MUSIC)]),
        (
            "ExecuteStatement",
            {"Statement": 'SELECT * FROM "Music"."ByYear"'},
            [("PartiQLSelect", f"{MUSIC}/index/ByYear")],
        ),
        ("ExecuteStatement", {"Statement": "SELEKT"}, []),
        (
            "BatchExecuteStatement",
            {
                "Statements": [
                    {"Statement": """INSERT INTO "Music" VALUE {'Artist': 'a', 'Song': 'b'}"""},
                    {"Statement": """UPDATE "Music" SET x=1 WHERE Artist='a' AND Song='c'"""},
                    {"Statement": """DELETE FROM "Music" WHERE Artist='a' AND Song='d'"""},
                ]
            },
            [("PartiQLInsert", MUSIC), ("PartiQLUpdate", MUSIC), ("PartiQLDelete", MUSIC)],
        ),
    ],
)
def test_needs(music: Database, operation: str, params: dict[str, Any], needs: list[tuple[str, str]]) -> None:
    found = [(action.removeprefix("dynamodb:"), resource) for action, resource, _ in ask(music, operation, params)]
    assert found == needs


def needs_of(operation: str, request: Any, db: Database) -> list[tuple[str, str, RequestFacts]]:
    """Of operations that are built beside this: their requests have the fields of the service model."""
    ask(db, "ListTables", {})
    tables: Any = db._contexts[ACCOUNT, REGION].catalog
    return [
        (asked.need.action.removeprefix("dynamodb:"), asked.need.resource, RequestFacts(request, asked, {}.get))
        for asked in asked_by(operation, request, tables)
    ]


def test_members_of_transactions_need_what_they_are_like(music: Database) -> None:
    def member(**part: Any) -> Any:
        return SimpleNamespace(**{name: SimpleNamespace(table_name="Music", **fields) for name, fields in part.items()})

    request = SimpleNamespace(
        transact_items=[
            member(put={"item": KEY}),
            member(update={"key": KEY}),
            member(delete={"key": KEY}),
            member(condition_check={"key": KEY}),
        ]
    )
    found = needs_of("TransactWriteItems", request, music)
    names = ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"]
    assert [(action, resource) for action, resource, _ in found] == [(name, MUSIC) for name in names]
    for _, _, facts in found:
        assert facts.values(LEADING) == ["Nina"]
        assert facts.values("dynamodb:EnclosingOperation") == ["TransactWriteItems"]
    read = SimpleNamespace(transact_items=[member(get={"key": KEY, "projection_expression": "Artist"})])
    ((action, _, facts),) = needs_of("TransactGetItems", read, music)
    assert (action, facts.values(SELECT)) == ("GetItem", ["SPECIFIC_ATTRIBUTES"])
    assert facts.values("dynamodb:EnclosingOperation") == ["TransactGetItems"]


def test_statements_of_transactions_stand_in_one(music: Database) -> None:
    statements = [SimpleNamespace(statement="""DELETE FROM "Music" WHERE Artist='a' AND Song='d'""", parameters=None)]
    ((_, _, facts),) = needs_of("ExecuteTransaction", SimpleNamespace(transact_statements=statements), music)
    assert facts.values("dynamodb:EnclosingOperation") == ["ExecuteTransaction"]


STREAM = f"{MUSIC}/stream/2026-11-19T06:00:00.000"


@pytest.mark.parametrize(
    ("operation", "fields", "resource"),
    [
        ("DescribeStream", {"stream_arn": STREAM}, STREAM),
        ("GetShardIterator", {"stream_arn": STREAM}, STREAM),
        ("GetRecords", {"shard_iterator": f"{STREAM}|1|AAAA"}, STREAM),
        ("ListStreams", {"table_name": None}, MUSIC.replace("Music", "*") + "/stream/*"),
        ("ListStreams", {"table_name": "Music"}, f"{MUSIC}/stream/*"),
        ("TagResource", {"resource_arn": MUSIC}, MUSIC),
        ("PutResourcePolicy", {"resource_arn": STREAM}, STREAM),
        ("CreateGlobalTable", {"global_table_name": "G"}, f"arn:aws:dynamodb::{ACCOUNT}:global-table/G"),
        ("ExportTableToPointInTime", {"table_arn": MUSIC}, MUSIC),
        ("ListBackups", {"table_name": None}, "*"),
    ],
)
def test_resources_that_are_no_tables(music: Database, operation: str, fields: dict[str, Any], resource: str) -> None:
    ((action, found, facts),) = needs_of(operation, SimpleNamespace(**fields), music)
    assert (action, found) == (operation, resource)
    expected = ["jazz"] if resource.startswith(MUSIC) else None
    assert facts.values("aws:ResourceTag/team") == expected


# Partition keys


@pytest.mark.parametrize(
    ("operation", "params", "keys"),
    [
        ("GetItem", {"TableName": "Music", "Key": KEY}, ["Nina"]),
        ("DeleteItem", {"TableName": "Music", "Key": KEY}, ["Nina"]),
        ("UpdateItem", {"TableName": "Music", "Key": KEY}, ["Nina"]),
        ("PutItem", {"TableName": "Music", "Item": {**KEY, "Price": {"N": "1"}}}, ["Nina"]),
        ("GetItem", {"TableName": "Music", "Key": {"Song": {"S": "x"}}}, None),
        ("GetItem", {"TableName": "Bytes", "Key": {"Id": {"B": "AAE="}}}, ["AAE="]),
        (
            "BatchGetItem",
            {"RequestItems": {"Music": {"Keys": [KEY, {**KEY, "Artist": {"S": "Ella"}}]}}},
            ["Nina", "Ella"],
        ),
        (
            "BatchWriteItem",
            {
                "RequestItems": {
                    "Music": [
                        {"PutRequest": {"Item": KEY}},
                        {"DeleteRequest": {"Key": ELLA}},
                    ]
                }
            },
            ["Nina", "Ella"],
        ),
        (
            "Query",
            {
                "TableName": "Music",
                "KeyConditionExpression": "#a = :a AND Song > :s",
                "ExpressionAttributeNames": {"#a": "Artist"},
                "ExpressionAttributeValues": {":a": {"S": "Nina"}, ":s": {"S": "A"}},
            },
            ["Nina"],
        ),
        (
            "Query",
            {
                "TableName": "Music",
                "KeyConditions": {"Artist": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "Nina"}]}},
            },
            ["Nina"],
        ),
        (
            "Query",
            {
                "TableName": "Music",
                "IndexName": "ByYear",
                "KeyConditionExpression": "#y = :y AND Label = :l",
                "ExpressionAttributeNames": {"#y": "Year"},
                "ExpressionAttributeValues": {":y": {"N": "1965.0"}, ":l": {"S": "Philips"}},
            },
            ["1965"],
        ),
        ("Query", {"TableName": "Music", "KeyConditionExpression": "Artist ="}, None),
        ("Scan", {"TableName": "Music"}, None),
        ("DescribeTable", {"TableName": "Music"}, None),
        (
            "ExecuteStatement",
            {"Statement": """SELECT * FROM "Music" WHERE Artist IN ('a', 'b') AND Song='c'"""},
            ["a", "b"],
        ),
        ("ExecuteStatement", {"Statement": """SELECT * FROM "Music" WHERE Song='c'"""}, None),
        ("ExecuteStatement", {"Statement": """SELECT * FROM "Music" WHERE Artist='a' OR Song='c'"""}, None),
        (
            "ExecuteStatement",
            {"Statement": 'SELECT * FROM "Music" WHERE Artist=?', "Parameters": [{"S": "Nina"}]},
            ["Nina"],
        ),
        ("ExecuteStatement", {"Statement": """INSERT INTO "Music" VALUE {'Artist': 'a', 'Song': 'b'}"""}, ["a"]),
        ("ExecuteStatement", {"Statement": """UPDATE "Music" SET x=1 WHERE Song='b' AND Artist='a'"""}, ["a"]),
        ("ExecuteStatement", {"Statement": """DELETE FROM "Music" WHERE Song='b' AND Artist='a'"""}, ["a"]),
    ],
)
def test_leading_keys(music: Database, operation: str, params: dict[str, Any], keys: list[str] | None) -> None:
    ((_, _, facts),) = ask(music, operation, params)
    assert facts.values(LEADING) == keys


# Attributes and the rest


@pytest.mark.parametrize(
    ("operation", "params", "attributes"),
    [
        ("GetItem", {"Key": KEY}, {"Artist", "Song"}),
        ("GetItem", {"Key": KEY, "AttributesToGet": ["Price"]}, {"Artist", "Song", "Price"}),
        (
            "GetItem",
            {"Key": KEY, "ProjectionExpression": "#p.a[0], Label", "ExpressionAttributeNames": NAMES},
            {"Artist", "Song", "Price", "Label"},
        ),
        ("PutItem", {"Item": {**KEY, "Price": {"N": "1"}}}, {"Artist", "Song", "Price"}),
        (
            "PutItem",
            {"Item": KEY, "ConditionExpression": "attribute_not_exists(#p)", "ExpressionAttributeNames": NAMES},
            {"Artist", "Song", "Price"},
        ),
        ("PutItem", {"Item": KEY, "Expected": {"Price": {"Exists": False}}}, {"Artist", "Song", "Price"}),
        (
            "UpdateItem",
            {"Key": KEY, "UpdateExpression": "SET a = b.c REMOVE #p", "ExpressionAttributeNames": NAMES},
            {"Artist", "Song", "a", "b", "Price"},
        ),
        ("UpdateItem", {"Key": KEY, "AttributeUpdates": {"a": {"Action": "DELETE"}}}, {"Artist", "Song", "a"}),
        (
            "Scan",
            {"FilterExpression": "size(a) > :a", "ExpressionAttributeValues": {":a": {"N": "1"}}},
            {"a"},
        ),
        ("Scan", {"ScanFilter": {"a": {"ComparisonOperator": "NULL"}}}, {"a"}),
        ("Scan", {}, None),
        (
            "Query",
            {"KeyConditionExpression": "Artist = :a", "ExpressionAttributeValues": {":a": {"S": "1"}}},
            {"Artist"},
        ),
    ],
)
def test_attributes(music: Database, operation: str, params: dict[str, Any], attributes: set[str] | None) -> None:
    ((_, _, facts),) = ask(music, operation, {"TableName": "Music", **params})
    found = facts.values(ATTRIBUTES)
    assert (None if found is None else set(found)) == attributes


@pytest.mark.parametrize(
    ("statement", "attributes", "select", "full_scan"),
    [
        (
            """SELECT Price, a.b FROM "Music" WHERE Artist='a' AND c[0] = 1""",
            {"Price", "a", "Artist", "c"},
            "S",
            "false",
        ),
        ("""SELECT * FROM "Music" WHERE Price = 1""", {"Price"}, "A", "true"),
        ("""SELECT * FROM "Music" """, None, "A", "true"),
        ("""SELECT * FROM "Music"."ByYear" WHERE "Year" = 1 AND Label = 'a'""", {"Year", "Label"}, "A", "false"),
        ("""SELECT * FROM "Music"."ByYear" WHERE Artist = 'a'""", {"Artist"}, "A", "true"),
        ("""SELECT * FROM "Music"."Missing" WHERE Artist = 'a'""", {"Artist"}, "A", "true"),
        ("""INSERT INTO "Music" VALUE {'Artist': 'a', 'Song': 'b', 'x': 1}""", {"Artist", "Song", "x"}, None, None),
        ("""UPDATE "Music" SET x=y WHERE Artist='a' AND Song='c'""", {"x", "y", "Artist", "Song"}, None, None),
    ],
)
def test_statements(
    music: Database, statement: str, attributes: set[str] | None, select: str | None, full_scan: str | None
) -> None:
    ((_, _, facts),) = ask(music, "ExecuteStatement", {"Statement": statement})
    found = facts.values(ATTRIBUTES)
    assert (None if found is None else set(found)) == attributes
    names = {"S": ["SPECIFIC_ATTRIBUTES"], "A": ["ALL_ATTRIBUTES"], None: None}
    assert facts.values(SELECT) == names[select]
    assert facts.values("dynamodb:FullTableScan") == (None if full_scan is None else [full_scan])


@pytest.mark.parametrize(
    ("operation", "params", "select"),
    [
        ("Scan", {}, "ALL_ATTRIBUTES"),
        ("Scan", {"IndexName": "ByYear"}, "ALL_PROJECTED_ATTRIBUTES"),
        ("Scan", {"Select": "COUNT"}, "COUNT"),
        ("Scan", {"ProjectionExpression": "a"}, "SPECIFIC_ATTRIBUTES"),
        ("GetItem", {"Key": KEY}, "ALL_ATTRIBUTES"),
        ("GetItem", {"Key": KEY, "AttributesToGet": ["a"]}, "SPECIFIC_ATTRIBUTES"),
        ("PutItem", {"Item": KEY}, None),
    ],
)
def test_select(music: Database, operation: str, params: dict[str, Any], select: str | None) -> None:
    ((_, _, facts),) = ask(music, operation, {"TableName": "Music", **params})
    assert facts.values(SELECT) == (None if select is None else [select])


def test_what_a_request_says_and_does_not_say(music: Database) -> None:
    said = {"ReturnValues": "ALL_OLD", "ReturnConsumedCapacity": "TOTAL"}
    ((_, _, facts),) = ask(music, "PutItem", {"TableName": "Music", "Item": KEY, **said})
    assert facts.values("dynamodb:ReturnValues") == ["ALL_OLD"]
    assert facts.values("dynamodb:ReturnConsumedCapacity") == ["TOTAL"]
    assert facts.values("aws:username") == ["alice"]
    assert facts.values("aws:ResourceTag/team") == ["jazz"]
    assert facts.values("aws:ResourceTag/Team") is None
    ((_, _, facts),) = ask(music, "PutItem", {"TableName": "Music", "Item": KEY})
    for key in ("ReturnValues", "ReturnConsumedCapacity", "EnclosingOperation", "FullTableScan"):
        assert facts.values(f"dynamodb:{key}") is None


def test_a_policy_is_asked_of_the_table_or_of_the_stream_that_has_it() -> None:
    with torusdb.open() as db:
        key = {"AttributeName": "pk", "AttributeType": "S"}
        table = db.call(
            "CreateTable",
            {
                "TableName": "Music",
                "AttributeDefinitions": [key],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
                "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
                "ResourcePolicy": '{"Version": "2012-10-17", "Statement": []}',
            },
        )["TableDescription"]
        stream = table["LatestStreamArn"]
        found: list[str | None] = []

        class Noting:
            account = table["TableArn"].split(":")[4]

            def require(self, operation: str, request: Any, tables: Tables) -> None:
                found.extend(asked.resource_policy for asked in asked_by(operation, request, tables))

        def policy_for(operation: str, **params: Any) -> str | None:
            found.clear()
            scope: Any = SimpleNamespace(access_key="", region=db.region)
            with suppress(ServiceError):
                db.begin(operation, json.dumps(params).encode(), scope, Noting())
            (policy,) = found
            return policy

        of_table = '{"Version": "2012-10-17", "Statement": []}'
        assert policy_for("GetItem", TableName="Music", Key={"pk": {"S": "a"}}) == of_table
        assert policy_for("Scan", TableName="Music", IndexName="any") == of_table
        assert policy_for("DescribeStream", StreamArn=stream) is None
        of_stream = '{"Version": "2012-10-17", "Statement": [], "Id": "of the stream"}'
        db.call("PutResourcePolicy", {"ResourceArn": stream, "Policy": of_stream})
        assert policy_for("DescribeStream", StreamArn=stream) == of_stream
        assert policy_for("DescribeTable", TableName="Music") == of_table

"""Users who may touch the items of their own partition key only, whatever the form of the request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import torusdb
from tests.access.conftest import ALLOW_ALL, Door
from tests.access.signing import SECRET, signed
from torusdb import Database
from torusdb.access.gate import RELOAD_SECONDS, Caller
from torusdb.access.keyring import Key, User
from torusdb.errors import AccessDeniedException

ACTIONS = [
    *["GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "BatchGetItem", "BatchWriteItem"],
    *["PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"],
]
OWN = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": [f"dynamodb:{action}" for action in ACTIONS],
            "Resource": ["arn:aws:dynamodb:*:*:table/Owned", "arn:aws:dynamodb:*:*:table/Owned/index/*"],
            "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]}},
        },
        {
            "Effect": "Deny",
            "Action": "dynamodb:PartiQLSelect",
            "Resource": "*",
            "Condition": {"Bool": {"dynamodb:FullTableScan": "true"}},
        },
    ],
}
TABLE = {
    "TableName": "Owned",
    "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}, {"AttributeName": "id", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("owner", "id", "other")],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByOther",
            "KeySchema": [{"AttributeName": "other", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}

owners = st.sampled_from(["alice", "bob", "alice2", "", "ALICE"])
Request = tuple[str, dict[str, Any], set[str]]
"""An operation, its parameters, and the partition keys that it touches."""


def key(owner: str, number: int = 0) -> dict[str, Any]:
    return {"owner": {"S": owner}, "id": {"S": str(number)}}


@st.composite
def requests(draw: st.DrawFn) -> Request:
    table = {"TableName": draw(st.sampled_from(["Owned", "arn:aws:dynamodb:eu-west-2:123456789012:table/Owned"]))}
    name = table["TableName"]
    one, two = draw(owners), draw(owners)
    where = draw(st.sampled_from(["owner='{}' AND id='0'", "id='0' AND '{}'=owner", "(owner='{}') AND (id='0')"]))
    return draw(
        st.sampled_from(
            [
                ("GetItem", {**table, "Key": key(one)}, {one}),
                ("PutItem", {**table, "Item": {**key(one), "other": {"S": two or "x"}}}, {one}),
                ("UpdateItem", {**table, "Key": key(one), "AttributeUpdates": {"x": {"Value": {"S": two}}}}, {one}),
                ("DeleteItem", {**table, "Key": key(one)}, {one}),
                ("BatchGetItem", {"RequestItems": {name: {"Keys": [key(one), key(two, 1)]}}}, {one, two}),
                (
                    "BatchWriteItem",
                    {
                        "RequestItems": {
                            name: [{"PutRequest": {"Item": key(one)}}, {"DeleteRequest": {"Key": key(two, 1)}}]
                        }
                    },
                    {one, two},
                ),
                (
                    "Query",
                    {
                        **table,
                        "KeyConditionExpression": "#o = :o",
                        "ExpressionAttributeNames": {"#o": "owner"},
                        "ExpressionAttributeValues": {":o": {"S": one}},
                    },
                    {one},
                ),
                (
                    "Query",
                    {
                        **table,
                        "IndexName": "ByOther",
                        "KeyConditions": {"other": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": one}]}},
                    },
                    {one},
                ),
                ("ExecuteStatement", {"Statement": f'SELECT * FROM "{name}" WHERE {where.format(one)}'}, {one}),
                (
                    "ExecuteStatement",
                    {
                        "Statement": f'SELECT * FROM "{name}" WHERE owner IN (?, ?) AND id > ?',
                        "Parameters": [{"S": one}, {"S": two}, {"S": "0"}],
                    },
                    {one, two},
                ),
                (
                    "ExecuteStatement",
                    {"Statement": f"SELECT * FROM \"{name}\" WHERE owner='{one}' OR owner='{two}' AND id='1'"},
                    {one, two},
                ),
                ("ExecuteStatement", {"Statement": f"SELECT * FROM \"{name}\" WHERE id='{one}'"}, {"everyone"}),
                ("ExecuteStatement", {"Statement": f"SELECT * FROM \"{name}\" WHERE owner>'{one}'"}, {"everyone"}),
                (
                    "ExecuteStatement",
                    {"Statement": f"INSERT INTO \"{name}\" VALUE {{'id': '{two}', 'owner': '{one}'}}"},
                    {one},
                ),
                ("ExecuteStatement", {"Statement": f'UPDATE "{name}" SET x=1 WHERE {where.format(one)}'}, {one}),
                ("ExecuteStatement", {"Statement": f'DELETE FROM "{name}" WHERE {where.format(one)}'}, {one}),
                (
                    "BatchExecuteStatement",
                    {
                        "Statements": [
                            {"Statement": f'DELETE FROM "{name}" WHERE {where.format(one)}'},
                            {"Statement": f"DELETE FROM \"{name}\" WHERE owner='{two}' AND id='1'"},
                        ]
                    },
                    {one, two},
                ),
            ]
        )
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Caller, Caller]]:
    """A database with the table, one who may do everything, and alice."""
    door = Door(tmp_path_factory.mktemp("keys") / "keys.json")
    door.keys.users[0].policies = [OWN]
    door.keys.users.append(User("admin", door.keys.users[0].account, [ALLOW_ALL], [Key("AKIAADMIN", SECRET)]))
    door.write()
    door.clock.now += RELOAD_SECONDS
    admin, alice = door.admit(signed(access_key="AKIAADMIN")), door.admit(signed())
    with torusdb.open() as db:
        perform(db, admin, "CreateTable", TABLE)
        yield db, admin, alice


def perform(db: Database, caller: Caller, operation: str, params: dict[str, Any]) -> None:
    """What an operation that passes the gate then says of its parameters is not looked at here."""
    db.begin(operation, json.dumps(params).encode(), caller, caller)


@given(requests())
def test_a_request_passes_if_all_it_touches_is_the_users(
    served: tuple[Database, Caller, Caller], request_: Request
) -> None:
    db, admin, alice = served
    operation, params, touched = request_
    perform(db, admin, operation, params)
    if touched == {"alice"}:
        perform(db, alice, operation, params)
    else:
        with pytest.raises(AccessDeniedException):
            perform(db, alice, operation, params)


@pytest.mark.parametrize("operation", ["Scan", "DeleteTable", "DescribeTable", "UpdateTable"])
def test_what_is_not_named_is_denied(served: tuple[Database, Caller, Caller], operation: str) -> None:
    db, _, alice = served
    with pytest.raises(AccessDeniedException):
        perform(db, alice, operation, {"TableName": "Owned"})

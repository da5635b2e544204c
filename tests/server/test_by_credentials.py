"""Accounts and regions side by side, told apart by the scope of a request's credentials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import torusdb
from tests.server.conftest import SIGNATURE, Wire, message
from torusdb.database import account_of
from torusdb.server.listen import ServerThread

TABLE = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def scoped(body: object, operation: str, key: str, region: str) -> bytes:
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={key}/20261119/{region}/dynamodb/aws4_request, SignedHeaders=host, "
        f"Signature={SIGNATURE}"
    )
    return message(json.dumps(body).encode(), {"Authorization": authorization}, operation=operation)


def create(wire: Wire, name: str, key: str, region: str) -> str:
    """The ARN of the new table."""
    answer = wire.ask(scoped({"TableName": name, **TABLE}, "CreateTable", key, region))
    assert answer.status == 200, answer.json
    arn: str = answer.json["TableDescription"]["TableArn"]
    return arn


def names(wire: Wire, key: str, region: str) -> list[str]:
    listed: list[str] = wire.ask(scoped({}, "ListTables", key, region)).json["TableNames"]
    return listed


@pytest.fixture
def scopes() -> Iterator[Wire]:
    with torusdb.open(by_credentials=True) as db, ServerThread(db) as endpoint:
        wire = Wire(endpoint)
        yield wire
        wire.close()


def test_tables_of_one_name_live_side_by_side(scopes: Wire) -> None:
    first = create(scopes, "Music", "111111111111", "eu-west-2")
    second = create(scopes, "Music", "111111111111", "us-east-1")
    third = create(scopes, "Music", "222222222222", "eu-west-2")
    assert first == "arn:aws:dynamodb:eu-west-2:111111111111:table/Music"
    assert second == "arn:aws:dynamodb:us-east-1:111111111111:table/Music"
    assert third == "arn:aws:dynamodb:eu-west-2:222222222222:table/Music"


def test_each_scope_sees_its_own_tables_and_items(scopes: Wire) -> None:
    create(scopes, "Music", "key", "eu-west-2")
    create(scopes, "Music", "key", "us-east-1")
    create(scopes, "Other", "other", "eu-west-2")
    put = {"TableName": "Music", "Item": {"pk": {"S": "a"}}}
    assert scopes.ask(scoped(put, "PutItem", "key", "eu-west-2")).status == 200
    get = {"TableName": "Music", "Key": {"pk": {"S": "a"}}}
    assert scopes.ask(scoped(get, "GetItem", "key", "eu-west-2")).json == {"Item": {"pk": {"S": "a"}}}
    assert scopes.ask(scoped(get, "GetItem", "key", "us-east-1")).json == {}
    assert scopes.ask(scoped(get, "GetItem", "other", "eu-west-2")).error.endswith("#ResourceNotFoundException")
    assert names(scopes, "key", "eu-west-2") == names(scopes, "key", "us-east-1") == ["Music"]
    assert names(scopes, "other", "eu-west-2") == ["Other"]
    assert names(scopes, "other", "ap-south-1") == []


def test_a_dropped_table_leaves_its_namesake_alone(scopes: Wire) -> None:
    create(scopes, "Music", "key", "eu-west-2")
    create(scopes, "Music", "key", "us-east-1")
    assert scopes.ask(scoped({"TableName": "Music"}, "DeleteTable", "key", "eu-west-2")).status == 200
    assert names(scopes, "key", "us-east-1") == ["Music"]


def test_an_access_key_always_stands_for_the_same_account() -> None:
    assert account_of("AKIAIOSFODNN7EXAMPLE") == account_of("AKIAIOSFODNN7EXAMPLE")
    accounts = {account_of(f"key{n}") for n in range(200)}
    assert len(accounts) == 200
    assert all(len(account) == 12 and account.isdigit() for account in accounts)
    assert account_of("123456789012") == "123456789012"
    assert account_of("") == "000000000000"


def test_scopes_are_there_again_after_a_restart(tmp_path: Path) -> None:
    for round_number in range(2):
        with torusdb.open(tmp_path / "data", by_credentials=True) as db, ServerThread(db) as endpoint:
            wire = Wire(endpoint)
            if round_number == 0:
                create(wire, "Music", "key", "eu-west-2")
            assert names(wire, "key", "eu-west-2") == ["Music"]
            assert names(wire, "key", "us-east-1") == []
            wire.close()


def test_without_the_option_all_credentials_see_the_same_tables(wire: Wire) -> None:
    create(wire, "Music", "key", "eu-west-2")
    assert names(wire, "other", "us-east-1") == ["Music"]

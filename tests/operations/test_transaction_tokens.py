"""ClientRequestToken: a transaction that is asked for twice happens once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import torusdb
from tests.conftest import Refusal
from tests.jobs.by_hand import NOON, ByHand
from tests.operations.shorthand import SS, N, S
from tests.operations.transacting import FAILED, cancelled, check, delete, put, stored, update, write
from torusdb import Database
from torusdb.operations.tokens import TOKEN_SECONDS

TOKEN = "7c2e9d2c-3a76-4b52-9c0a-0242ac120002"
MISMATCH = "IdempotentParameterMismatchException"


def add_one(table: str = "Things", **more: Any) -> dict[str, Any]:
    return {"TransactItems": [update(table, "a", "ADD n :one", {":one": N(1)})], "ClientRequestToken": TOKEN, **more}


def count(db: Database, table: str) -> int:
    return int(stored(db, table, "a")["n"]["N"])


def test_a_repetition_succeeds_and_changes_nothing(db: Database, table: str) -> None:
    for _ in range(3):
        assert db.call("TransactWriteItems", add_one(table)) == {}
    assert count(db, table) == 1
    db.call("TransactWriteItems", add_one(table, ClientRequestToken="another"))
    assert count(db, table) == 2


def test_a_repetition_succeeds_though_its_conditions_hold_no_longer(db: Database, table: str) -> None:
    request: Any = {
        "TransactItems": [put(table, "a", ConditionExpression="attribute_not_exists(pk)"), delete(table, "b")],
        "ClientRequestToken": TOKEN,
    }
    db.call("TransactWriteItems", request)
    db.call("TransactWriteItems", request)
    db.call("DeleteItem", {"TableName": table, "Key": {"pk": S("a")}})
    db.call("TransactWriteItems", request)
    assert stored(db, table, "a") is None


def test_without_a_token_a_repetition_is_another_transaction(db: Database, table: str) -> None:
    for _ in range(2):
        write(db, *add_one(table)["TransactItems"])
    assert count(db, table) == 2


def test_the_same_token_for_another_transaction_is_refused(db: Database, refused: Refusal, table: str) -> None:
    db.call("TransactWriteItems", add_one(table))
    for other in (
        [update(table, "a", "ADD n :one", {":one": N(2)})],
        [update(table, "b", "ADD n :one", {":one": N(1)})],
        [*add_one(table)["TransactItems"], put(table, "b")],
        [check(table, "a", "attribute_exists(pk)")],
    ):
        code, message = refused("TransactWriteItems", {"TransactItems": other, "ClientRequestToken": TOKEN})
        assert code == MISMATCH
        assert message is not None
    assert count(db, table) == 1
    assert stored(db, table, "b") is None


def test_the_order_of_members_matters(db: Database, refused: Refusal, table: str) -> None:
    write(db, put(table, "a"), put(table, "b"), ClientRequestToken=TOKEN)
    request = {"TransactItems": [put(table, "b"), put(table, "a")], "ClientRequestToken": TOKEN}
    assert refused("TransactWriteItems", request)[0] == MISMATCH


def test_the_order_within_maps_and_sets_does_not_matter(db: Database, table: str) -> None:
    """Some SDKs write maps in a new order each time."""
    write(db, put(table, "a", x=N(1), y=SS("a", "b")), ClientRequestToken=TOKEN)
    item = {"y": SS("b", "a"), "x": N("1.0"), "pk": S("a")}
    write(db, {"Put": {"Item": item, "TableName": table}}, ClientRequestToken=TOKEN)


def test_what_is_to_be_returned_may_change(db: Database, table: str) -> None:
    db.call("TransactWriteItems", add_one(table))
    more: Any = {"ReturnConsumedCapacity": "TOTAL", "ReturnItemCollectionMetrics": "SIZE"}
    assert list(db.call("TransactWriteItems", add_one(table, **more))) == ["ConsumedCapacity"]


def test_a_transaction_that_did_not_happen_leaves_its_token_free(db: Database, refused: Refusal, table: str) -> None:
    request: Any = {
        "TransactItems": [put(table, "a", ConditionExpression="attribute_exists(pk)")],
        "ClientRequestToken": TOKEN,
    }
    assert refused("TransactWriteItems", request)[0] == "TransactionCanceledException"
    db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": N(1)}})
    db.call("TransactWriteItems", request)
    assert stored(db, table, "a") == {"pk": S("a")}
    assert db.call("TransactWriteItems", request) == {}


def test_checks_alone_have_a_token_too(db: Database, table: str) -> None:
    holds = check(table, "a", "attribute_not_exists(pk)")
    write(db, holds, ClientRequestToken=TOKEN)
    write(db, put(table, "a"))
    assert cancelled(db, holds) == [FAILED]
    assert write(db, holds, ClientRequestToken=TOKEN) == {}


def test_a_repetition_of_what_can_no_longer_be_asked_for_is_refused(db: Database, refused: Refusal, table: str) -> None:
    db.call("TransactWriteItems", add_one(table))
    db.call("DeleteTable", {"TableName": table})
    assert refused("TransactWriteItems", add_one(table))[0] == "ResourceNotFoundException"


def test_boto3_gives_each_call_a_token_of_its_own(db: Database, table: str) -> None:
    client = db.client()
    for _ in range(2):
        client.transact_write_items(TransactItems=add_one(table)["TransactItems"])
    assert count(db, table) == 2
    for _ in range(2):
        client.transact_write_items(**add_one(table))
    assert count(db, table) == 3
    with pytest.raises(client.exceptions.IdempotentParameterMismatchException):
        client.transact_write_items(TransactItems=[put(table, "a")], ClientRequestToken=TOKEN)


def test_accounts_and_regions_have_tokens_of_their_own(tmp_path: Path) -> None:
    with torusdb.open(tmp_path / "data", by_credentials=True) as database:
        for account in ("111111111111", "222222222222"):
            for region in ("eu-west-1", "eu-west-2"):
                client = database.client(aws_access_key_id=account, aws_secret_access_key="secret", region_name=region)
                client.create_table(
                    TableName="Things",
                    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                    BillingMode="PAY_PER_REQUEST",
                )
                client.transact_write_items(**add_one())
                found = client.get_item(TableName="Things", Key={"pk": S("a")})
                assert found["Item"]["n"] == N(1), (account, region)


def test_a_token_outlives_the_process(tmp_path: Path) -> None:
    with torusdb.open(tmp_path / "data") as database:
        database.call(
            "CreateTable",
            {
                "TableName": "Things",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        database.call("TransactWriteItems", add_one())
    with torusdb.open(tmp_path / "data") as database:
        database.call("TransactWriteItems", add_one())
        assert count(database, "Things") == 1


def test_of_many_repetitions_at_once_one_changes_something(db: Database, table: str) -> None:
    threads = [threading.Thread(target=db.call, args=["TransactWriteItems", add_one(table)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(db, table) == 1


# Time.


def added(things: ByHand) -> int:
    things.call("TransactWriteItems", **add_one())
    return int(things.call("GetItem", TableName="Things", Key={"pk": S("a")})["n"]["N"])


@pytest.mark.parametrize("after_noon", [0.0, 1.0, TOKEN_SECONDS / 2, TOKEN_SECONDS - 0.5])
def test_a_token_is_good_for_ten_minutes(things: ByHand, after_noon: float) -> None:
    """Wherever in its period it was used first."""
    first = NOON + after_noon
    things.clock = first
    assert added(things) == 1
    for seconds in (1.0, TOKEN_SECONDS / 2, TOKEN_SECONDS - 0.001):
        things.clock = first + seconds
        things.run_jobs()
        assert added(things) == 1
    things.clock = first + TOKEN_SECONDS
    assert added(things) == 2
    # Which is a first use again.
    things.clock += TOKEN_SECONDS - 0.001
    assert added(things) == 2


def test_after_ten_minutes_a_token_may_be_used_for_anything(things: ByHand) -> None:
    things.call("TransactWriteItems", **add_one())
    other = {"TransactItems": [put("Things", "b")], "ClientRequestToken": TOKEN}
    assert things.refused("TransactWriteItems", **other)[0] == MISMATCH
    things.clock += TOKEN_SECONDS
    things.call("TransactWriteItems", **other)
    assert things.refused("TransactWriteItems", **add_one())[0] == MISMATCH

"""The client without boto3: as boto3's, where both say something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

import torusdb
from tests.modeling.shop import Customer, Status, order, orders_by_status, shop
from torusdb import Database
from torusdb.errors import ServiceError
from torusdb.modeling import ConditionFailed, Put, Store, TransactionFailed

TABLE: dict[str, Any] = {
    "TableName": "Things",
    "KeySchema": [{"AttributeName": "Id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "Id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
ONE = {"Id": {"S": "1"}}
ITEM = {**ONE, "Data": {"B": b"\x00\xff"}, "Parts": {"BS": [b"a", b"b"]}, "Count": {"N": "1"}}


@pytest.fixture
def db() -> Iterator[Database]:
    with torusdb.open() as database:
        yield database


def test_it_answers_as_boto3_does(db: Database) -> None:
    boto, client = db.client(), db.direct_client()
    client.create_table(**TABLE)
    client.get_waiter("table_exists").wait(TableName="Things")
    client.put_item(TableName="Things", Item=ITEM)
    for method, parameters in [
        ("get_item", {"TableName": "Things", "Key": ONE, "ReturnConsumedCapacity": "TOTAL"}),
        ("get_item", {"TableName": "Things", "Key": {"Id": {"S": "2"}}}),
        ("scan", {"TableName": "Things"}),
        ("batch_get_item", {"RequestItems": {"Things": {"Keys": [ONE]}}}),
        ("transact_get_items", {"TransactItems": [{"Get": {"TableName": "Things", "Key": ONE}}]}),
        ("put_item", {"TableName": "Things", "Item": ITEM, "ReturnValues": "ALL_OLD"}),
        ("list_tables", {}),
        ("describe_time_to_live", {"TableName": "Things"}),
    ]:
        expected = getattr(boto, method)(**parameters)
        del expected["ResponseMetadata"]
        assert getattr(client, method)(**parameters) == expected, method


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("get_item", {"TableName": "Absent", "Key": ONE}),
        ("put_item", {"TableName": "Things", "Item": {"Id": {"S": ""}}}),
        (
            "put_item",
            {
                "TableName": "Things",
                "Item": ONE,
                "ConditionExpression": "attribute_not_exists(Id)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
        ),
        (
            "transact_write_items",
            {
                "TransactItems": [
                    {"Put": {"TableName": "Things", "Item": ONE, "ConditionExpression": "attribute_not_exists(Id)"}}
                ]
            },
        ),
    ],
)
def test_its_errors_have_the_response_of_boto3s(db: Database, method: str, parameters: dict[str, Any]) -> None:
    boto, client = db.client(), db.direct_client()
    client.create_table(**TABLE)
    client.put_item(TableName="Things", Item=ITEM)
    with pytest.raises(ClientError) as expected:
        getattr(boto, method)(**parameters)
    with pytest.raises(ServiceError) as seen:
        getattr(client, method)(**parameters)
    response = dict(expected.value.response)
    del response["ResponseMetadata"]
    for again in ("message", "Message"):  # botocore gives the text of some errors a second time
        response.pop(again, None)
    assert seen.value.response == response


def test_what_it_cannot_do(db: Database) -> None:
    client = db.direct_client()
    with pytest.raises(AttributeError, match=r"TorusDB has no operation for create_backup\(\)"):
        client.create_backup(TableName="Things")
    assert {"get_item", "describe_time_to_live", "get_waiter", "get_shard_iterator"} <= set(dir(client))
    assert not hasattr(client, "list_backups")
    with pytest.raises(KeyError):
        client.get_waiter("table_has_moved")
    client.get_waiter("table_not_exists").wait(TableName="Things")
    with pytest.raises(TimeoutError, match="The table Things is not as it was waited for, in 2 attempts"):
        client.get_waiter("table_exists").wait(TableName="Things", WaiterConfig={"Delay": 0, "MaxAttempts": 2})


def test_a_waiter_waits() -> None:
    with torusdb.open(table_delay_seconds=0.05) as db:
        client = db.direct_client()
        client.create_table(**TABLE)
        assert client.describe_table(TableName="Things")["Table"]["TableStatus"] == "CREATING"
        client.get_waiter("table_exists").wait(TableName="Things")
        assert client.describe_table(TableName="Things")["Table"]["TableStatus"] == "ACTIVE"
        client.delete_table(TableName="Things")
        client.get_waiter("table_not_exists").wait(TableName="Things")
        assert client.list_tables()["TableNames"] == []


def test_the_design_kit_runs_on_it(db: Database) -> None:
    store = Store(shop, db.direct_client())
    store.create_table()
    store.put(Customer(id="1", name="Ann"))
    store.put_many(order(number) for number in range(60))
    with pytest.raises(ConditionFailed) as failed:
        store.insert(Customer(id="1", name="Bob"))
    assert failed.value.entity == Customer(id="1", name="Ann")
    with pytest.raises(TransactionFailed) as cancelled, store.transaction() as together:
        together.add(Put(Customer(id="2"), new=True), Put(Customer(id="1"), new=True))
    assert [reason and reason.code for reason in cancelled.value.reasons] == [None, "ConditionalCheckFailed"]
    query = orders_by_status(Status.OPEN, order(0).placed.date(), order(59).placed.date()).page_size(7)
    assert [each.number for each in store.run(query)] == list(range(60))

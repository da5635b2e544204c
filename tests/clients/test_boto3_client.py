"""boto3's client, over HTTP and in the process."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from zlib import crc32

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError, ParamValidationError, WaiterError

from tests.clients.conftest import MUSIC, NINA, Connecting, Connector
from torusdb import Database
from torusdb.operations.context import Settings
from torusdb.storage.embedded import EmbeddedEngine

EVERY_TYPE: dict[str, Any] = {
    "S": {"S": "é\n\u2028\U0001f40d"},
    "Empty": {"S": ""},
    "N": {"N": "-1.25"},
    "B": {"B": bytes(range(256))},
    "NoBytes": {"B": b""},
    "SS": {"SS": ["a", "b"]},
    "NS": {"NS": ["1", "2"]},
    "BS": {"BS": [b"\x00", b"\xff"]},
    "BOOL": {"BOOL": False},
    "NULL": {"NULL": True},
    "L": {"L": [{"S": "x"}, {"L": []}, {"B": b"\x80"}]},
    "M": {"M": {"inner": {"M": {}}, "set": {"BS": [b"z"]}}},
}


def songs(count: int) -> list[dict[str, Any]]:
    return [{"Artist": {"S": "Nina Simone"}, "Song": {"S": f"{number:04}"}} for number in range(count)]


def put_songs(client: BaseClient, count: int) -> None:
    requests = [{"PutRequest": {"Item": item}} for item in songs(count)]
    for start in range(0, count, 25):
        client.batch_write_item(RequestItems={"Music": requests[start : start + 25]})


# Answers


def test_values_of_every_type_come_back_as_they_were(client: BaseClient) -> None:
    client.put_item(TableName="Music", Item={**NINA, **EVERY_TYPE})
    item = client.get_item(TableName="Music", Key=NINA)["Item"]
    for name in ("SS", "NS", "BS"):
        item[name][name].sort()
    assert item == {**NINA, **EVERY_TYPE}


def test_a_bytearray_is_as_good_as_bytes(client: BaseClient) -> None:
    client.put_item(TableName="Music", Item={**NINA, "B": {"B": bytearray(b"\xff\x00")}})
    assert client.get_item(TableName="Music", Key=NINA)["Item"]["B"] == {"B": b"\xff\x00"}


def test_an_absent_item_is_no_member_of_the_answer(client: BaseClient) -> None:
    assert "Item" not in client.get_item(TableName="Music", Key=NINA)


def test_answers_carry_what_the_service_says_of_them(client: BaseClient) -> None:
    answers = [client.list_tables()["ResponseMetadata"] for _ in range(3)]
    for answer in answers:
        headers = answer["HTTPHeaders"]
        assert (answer["HTTPStatusCode"], answer["RetryAttempts"]) == (200, 0)
        assert len(answer["RequestId"]) == 52
        assert set(answer["RequestId"]) <= set(string.ascii_uppercase + string.digits)
        assert headers["x-amzn-requestid"] == answer["RequestId"]
        assert headers["content-type"] == "application/x-amz-json-1.0"
        assert headers["content-length"] == str(len(b'{"TableNames":["Music"]}'))
        assert headers["x-amz-crc32"] == str(crc32(b'{"TableNames":["Music"]}'))
    assert len({answer["RequestId"] for answer in answers}) == 3


def test_times_are_times(client: BaseClient) -> None:
    created = client.describe_table(TableName="Music")["Table"]["CreationDateTime"]
    assert created.tzinfo is not None


# Errors


def test_errors_are_the_exceptions_of_the_client(client: BaseClient) -> None:
    client.put_item(TableName="Music", Item=NINA)
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(
            TableName="Music",
            Item=NINA,
            ConditionExpression="attribute_not_exists(Song)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    answer = caught.value.response
    assert answer["Error"] == {
        "Code": "ConditionalCheckFailedException",
        "Message": "The conditional request failed",
    }
    assert answer["Item"] == NINA
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert answer["ResponseMetadata"]["RetryAttempts"] == 0
    assert len(answer["ResponseMetadata"]["RequestId"]) == 52


def test_an_absent_table_is_not_found(client: BaseClient) -> None:
    with pytest.raises(client.exceptions.ResourceNotFoundException, match="Requested resource not found"):
        client.get_item(TableName="Absent", Key=NINA)


def test_a_table_that_is_there_is_in_use(client: BaseClient) -> None:
    with pytest.raises(client.exceptions.ResourceInUseException, match="Table already exists: Music"):
        client.create_table(**MUSIC)


def test_an_error_outside_the_model_is_a_client_error(client: BaseClient) -> None:
    with pytest.raises(
        ClientError, match=r"\(ValidationException\).*The provided key element does not match"
    ) as caught:
        client.get_item(TableName="Music", Key={"Artist": {"S": "x"}})
    assert caught.value.operation_name == "GetItem"


def test_what_is_not_built_says_so(client: BaseClient) -> None:
    with pytest.raises(ClientError) as caught:
        client.describe_global_table(GlobalTableName="Music")
    assert caught.value.response["Error"]["Code"] == "UnknownOperationException"


def test_what_botocore_refuses_itself_stays_its_own_error(client: BaseClient) -> None:
    with pytest.raises(ParamValidationError, match='Missing required parameter in input: "Key"'):
        client.get_item(TableName="Music")


def test_conditions_of_a_batch_are_told_one_by_one(client: BaseClient) -> None:
    statement = "INSERT INTO Music VALUE {'Artist': 'Nina Simone', 'Song': 'Sinnerman'}"
    answer = client.batch_execute_statement(Statements=[{"Statement": statement}])
    assert answer["Responses"] == [{"TableName": "Music"}]
    answer = client.batch_execute_statement(Statements=[{"Statement": statement}])
    assert answer["Responses"][0]["Error"]["Code"] == "DuplicateItem"


# Paginators


def test_a_query_goes_on_over_all_pages(client: BaseClient) -> None:
    put_songs(client, 60)
    pages = client.get_paginator("query").paginate(
        TableName="Music",
        KeyConditionExpression="Artist = :a",
        ExpressionAttributeValues={":a": {"S": "Nina Simone"}},
        PaginationConfig={"PageSize": 25},
    )
    found = [page["Items"] for page in pages]
    assert [len(items) for items in found] == [25, 25, 10]
    assert [item for items in found for item in items] == songs(60)


def test_a_scan_can_be_gone_on_with_later(client: BaseClient) -> None:
    put_songs(client, 30)
    paginator = client.get_paginator("scan")
    first = paginator.paginate(TableName="Music", PaginationConfig={"MaxItems": 12}).build_full_result()
    rest = paginator.paginate(
        TableName="Music", PaginationConfig={"StartingToken": first["NextToken"]}
    ).build_full_result()
    assert first["Items"] + rest["Items"] == songs(30)


def test_a_listing_goes_on_over_all_pages(client: BaseClient) -> None:
    for number in range(4):
        client.create_table(**{**MUSIC, "TableName": f"Table{number}"})
    pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
    assert [page["TableNames"] for page in pages] == [["Music", "Table0"], ["Table1", "Table2"], ["Table3"]]


# Waiters


class Slow:
    """A database whose tables take 20 seconds to be made and to go, by a clock that moves from poll to poll."""

    def __init__(self) -> None:
        self._now = 1_800_000_000.0
        self.database = Database(EmbeddedEngine.open(None), settings=Settings(20.0), now=lambda: self._now)
        self.polled: Counter[str] = Counter()

    def watch(self, client: BaseClient) -> None:
        client.meta.events.register("after-call.dynamodb.DescribeTable", self._on_answer)

    def _on_answer(self, parsed: dict[str, Any], **_: Any) -> None:
        self.polled[parsed.get("Table", {}).get("TableStatus", "absent")] += 1
        self._now += 10.0
        self.database._jobs.wake()


@pytest.fixture
def slow() -> Iterator[Slow]:
    slow = Slow()
    with slow.database:
        yield slow


POLLS = {"Delay": 0, "MaxAttempts": 100_000}


def test_waiters_wait_until_a_table_is_there_and_until_it_is_gone(connecting: Connecting, slow: Slow) -> None:
    client = connecting(slow.database).client()
    slow.watch(client)
    client.create_table(**MUSIC)
    client.get_waiter("table_exists").wait(TableName="Music", WaiterConfig=POLLS)
    assert slow.polled["CREATING"] >= 1
    assert slow.polled["ACTIVE"] == 1
    client.delete_table(TableName="Music")
    client.get_waiter("table_not_exists").wait(TableName="Music", WaiterConfig=POLLS)
    assert slow.polled["DELETING"] >= 1
    assert slow.polled["absent"] == 1


def test_a_waiter_gives_up_on_a_table_that_never_comes(client: BaseClient) -> None:
    with pytest.raises(WaiterError, match="Max attempts exceeded"):
        client.get_waiter("table_exists").wait(TableName="Absent", WaiterConfig={"Delay": 0, "MaxAttempts": 3})


# Several at once


def test_threads_share_one_client(client: BaseClient) -> None:
    def add(number: int) -> int:
        answer = client.update_item(
            TableName="Music",
            Key=NINA,
            UpdateExpression="ADD Plays :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
            ReturnValues="UPDATED_NEW",
        )
        return int(answer["Attributes"]["Plays"]["N"])

    with ThreadPoolExecutor(8) as threads:
        counts = list(threads.map(add, range(200)))
    assert sorted(counts) == list(range(1, 201))


def test_clients_of_one_database_see_the_same(connector: Connector) -> None:
    first, second = connector.client(), connector.client()
    first.create_table(**MUSIC)
    second.put_item(TableName="Music", Item=NINA)
    assert first.get_item(TableName="Music", Key=NINA)["Item"] == NINA


def test_databases_do_not_mix(connecting: Connecting, db: Database) -> None:
    with Database(EmbeddedEngine.open(None)) as other:
        ours, theirs = connecting(db).client(), connecting(other).client()
        ours.create_table(**MUSIC)
        assert ours.list_tables()["TableNames"] == ["Music"]
        assert theirs.list_tables()["TableNames"] == []

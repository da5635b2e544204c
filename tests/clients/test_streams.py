"""boto3's client for streams: the same tests over HTTP and in the process."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.operations.conftest import table_request
from tests.operations.reading_streams import read_stream
from tests.operations.shorthand import N, S
from torusdb import Database, errors
from torusdb.database import open_database

boto3 = pytest.importorskip("boto3", reason="these are tests of boto3")

STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
Clients = tuple[Any, Any]


@pytest.fixture(params=["over HTTP", "in the process"])
def clients(request: pytest.FixtureRequest) -> Clients:
    """Clients for tables and for streams."""
    if request.param == "in the process":
        db: Database = request.getfixturevalue("torusdb")
        return db.client(), db.client("dynamodbstreams")
    request.getfixturevalue("torusdb_endpoint")
    return boto3.client("dynamodb"), boto3.client("dynamodbstreams")


def snake_case(operation: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in operation).lstrip("_")


def test_a_stream_is_read_with_the_sdk(clients: Clients) -> None:
    tables, streams = clients
    tables.create_table(**table_request("pk:S", "Things", {}, {}, STREAM))
    tables.put_item(TableName="Things", Item={"pk": S("a"), "b": {"B": b"\xff"}})
    tables.delete_item(TableName="Things", Key={"pk": S("a")})
    (listed,) = streams.list_streams(TableName="Things")["Streams"]
    arn = tables.describe_table(TableName="Things")["Table"]["LatestStreamArn"]
    assert listed["StreamArn"] == arn

    def call(operation: str, **params: Any) -> Any:
        return getattr(streams, snake_case(operation))(**params)

    inserted, removed = read_stream(call, arn)
    assert inserted["dynamodb"]["NewImage"] == removed["dynamodb"]["OldImage"] == {"pk": S("a"), "b": {"B": b"\xff"}}
    assert isinstance(inserted["dynamodb"]["ApproximateCreationDateTime"], datetime)
    assert (inserted["eventName"], removed["eventName"]) == ("INSERT", "REMOVE")


def test_a_moment_is_a_date_to_the_sdk(clients: Clients) -> None:
    tables, streams = clients
    tables.create_table(**table_request("pk:S", "Things", {}, {}, STREAM))
    tables.put_item(TableName="Things", Item={"pk": S("a")})
    arn = tables.describe_table(TableName="Things")["Table"]["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "AT_TIMESTAMP"}
    iterator = streams.get_shard_iterator(**place, Timestamp=datetime(2020, 1, 1, tzinfo=UTC))["ShardIterator"]
    assert len(streams.get_records(ShardIterator=iterator)["Records"]) == 1
    with pytest.raises(streams.exceptions.ClientError, match="future"):
        streams.get_shard_iterator(**place, Timestamp=datetime(2100, 1, 1, tzinfo=UTC))


def test_errors_are_those_of_the_sdk(clients: Clients) -> None:
    tables, streams = clients
    tables.create_table(**table_request("pk:S", "Things", {}, {}, STREAM))
    arn = tables.describe_table(TableName="Things")["Table"]["LatestStreamArn"]
    with pytest.raises(streams.exceptions.ResourceNotFoundException, match="Shard does not exist"):
        streams.get_shard_iterator(StreamArn=arn, ShardId="s" * 28, ShardIteratorType="LATEST")
    with pytest.raises(streams.exceptions.ClientError, match="Invalid ShardIterator"):
        streams.get_records(ShardIterator="none of ours")


def test_a_moment_in_a_call_is_a_date_or_a_number(torusdb: Database) -> None:
    torusdb.call("CreateTable", table_request("pk:S", "Things", {}, {}, STREAM))
    (listed,) = torusdb.call("ListStreams")["Streams"]
    arn = listed["StreamArn"]
    (shard,) = torusdb.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "AT_TIMESTAMP"}
    for moment in (0, 1.5, datetime(2020, 1, 1, tzinfo=UTC)):
        assert torusdb.call("GetShardIterator", {**place, "Timestamp": moment})["ShardIterator"]
    for wrong, token in (("2020-01-01", "STRING_VALUE"), (True, "TRUE_VALUE")):
        with pytest.raises(errors.SerializationException, match=f"{token} cannot be converted to Date"):
            torusdb.call("GetShardIterator", {**place, "Timestamp": wrong})


@pytest.fixture
def shared() -> Iterator[Database]:
    with open_database(by_credentials=True) as database:
        yield database


def test_accounts_do_not_see_each_others_streams(shared: Database) -> None:
    mine, theirs = "111111111111", "222222222222"

    def clients_of(account: str) -> Clients:
        keys = {"aws_access_key_id": account, "aws_secret_access_key": "x"}
        return shared.client(**keys), shared.client("dynamodbstreams", **keys)

    tables, streams = clients_of(mine)
    _, other_streams = clients_of(theirs)
    tables.create_table(**table_request("pk:S", "Things", {}, {}, STREAM))
    tables.put_item(TableName="Things", Item={"pk": S("a"), "n": N(1)})
    (listed,) = streams.list_streams()["Streams"]
    assert f":{mine}:" in listed["StreamArn"]
    (shard,) = streams.describe_stream(StreamArn=listed["StreamArn"])["StreamDescription"]["Shards"]
    place = {"StreamArn": listed["StreamArn"], "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = streams.get_shard_iterator(**place)["ShardIterator"]
    assert len(streams.get_records(ShardIterator=iterator)["Records"]) == 1

    assert other_streams.list_streams()["Streams"] == []
    for refused in (
        lambda: other_streams.describe_stream(StreamArn=listed["StreamArn"]),
        lambda: other_streams.get_shard_iterator(**place),
        lambda: other_streams.get_records(ShardIterator=iterator),
    ):
        with pytest.raises(other_streams.exceptions.ResourceNotFoundException):
            refused()

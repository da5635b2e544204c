"""What only a connection can do to boto3: drop, fail, compress; and how boto3 finds the endpoint."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.client import BaseClient
from botocore.config import Config

from tests.clients.conftest import MUSIC, NINA, OPTIONS
from torusdb import Database
from torusdb.server.listen import ServerThread
from torusdb.storage.driver import Outcome, Paused
from torusdb.storage.embedded import EmbeddedEngine
from torusdb.storage.failures import StorageFailed


@pytest.fixture
def client(endpoint: str) -> Iterator[BaseClient]:
    made = boto3.client("dynamodb", endpoint_url=endpoint, **OPTIONS)
    made.create_table(**MUSIC)
    yield made
    made.close()


class FailsTwice(Database):
    """Its disk is full for the first two writes of items."""

    failures = 0

    def begin(self, operation: str, body: bytes, scope: Any) -> Outcome | Paused:
        if operation == "PutItem" and self.failures < 2:
            self.failures += 1
            raise StorageFailed("The disk is full.")
        return super().begin(operation, body, scope)


def test_a_failure_of_the_server_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
    with FailsTwice(EmbeddedEngine.open(None)) as failing, ServerThread(failing) as endpoint:
        client = boto3.client("dynamodb", endpoint_url=endpoint, **OPTIONS)
        client.create_table(**MUSIC)
        answer = client.put_item(TableName="Music", Item=NINA)
        client.close()
    assert answer["ResponseMetadata"]["RetryAttempts"] == 2
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_server_that_was_restarted_is_found_again(db: Database) -> None:
    with ServerThread(db) as endpoint:
        client = boto3.client("dynamodb", endpoint_url=endpoint, **OPTIONS)
        client.create_table(**MUSIC)
    with ServerThread(db, port=urlsplit(endpoint).port or 0):
        assert client.list_tables()["TableNames"] == ["Music"]
        client.close()


def test_requests_share_a_connection(db: Database) -> None:
    server = ServerThread(db)
    with server as endpoint:
        client = boto3.client("dynamodb", endpoint_url=endpoint, **OPTIONS)
        for _ in range(5):
            client.list_tables()
        assert server.connection_count == 1
        client.close()


def test_boto3_gets_large_answers_as_they_are(client: BaseClient) -> None:
    item = {**NINA, "Lyrics": {"S": "power " * 2000}}
    client.put_item(TableName="Music", Item=item)
    answer = client.get_item(TableName="Music", Key=NINA)
    assert answer["Item"] == item
    assert "content-encoding" not in answer["ResponseMetadata"]["HTTPHeaders"]


def test_who_asks_for_gzip_gets_it_and_the_checksum_holds(client: BaseClient) -> None:
    """botocore checks the checksum, but leaves it to whoever asks for gzip to undo it."""

    def ask(request: Any, **_: Any) -> None:
        request.headers["Accept-Encoding"] = "gzip"

    def undo(response_dict: dict[str, Any], **_: Any) -> None:
        if response_dict["headers"].get("content-encoding") == "gzip":
            response_dict["body"] = gzip.decompress(response_dict["body"])

    item = {**NINA, "Lyrics": {"S": "power " * 2000}}
    client.put_item(TableName="Music", Item=item)
    client.meta.events.register("before-sign.dynamodb", ask)
    client.meta.events.register("before-parse.dynamodb", undo)
    answer = client.get_item(TableName="Music", Key=NINA)
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    assert (headers["content-encoding"], answer["ResponseMetadata"]["RetryAttempts"]) == ("gzip", 0)
    assert int(headers["content-length"]) < 1000
    assert answer["Item"] == item


def test_the_largest_batch_goes_through(client: BaseClient) -> None:
    items = [{**NINA, "Song": {"S": str(number)}, "Tape": {"B": bytes(390_000)}} for number in range(25)]
    answer = client.batch_write_item(RequestItems={"Music": [{"PutRequest": {"Item": item}} for item in items]})
    assert answer["UnprocessedItems"] == {}
    assert client.scan(TableName="Music", Select="COUNT")["Count"] < 25, "a page ends at 1 MB"
    pages = client.get_paginator("scan").paginate(TableName="Music")
    assert sum(len(page["Items"]) for page in pages) == 25


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_every_way_to_retry_leaves_good_answers_alone(endpoint: str, mode: str) -> None:
    config = Config(retries={"mode": mode})
    client = boto3.client("dynamodb", endpoint_url=endpoint, config=config, **OPTIONS)
    assert client.create_table(**MUSIC)["ResponseMetadata"]["RetryAttempts"] == 0
    with pytest.raises(client.exceptions.ResourceInUseException) as caught:
        client.create_table(**MUSIC)
    assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 0
    client.close()


def test_the_environment_alone_leads_to_the_server(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_DEFAULT_REGION": "eu-west-2",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.Session().client("dynamodb")
    assert client.list_tables()["TableNames"] == []
    client.close()


def test_an_account_does_not_lead_away_from_the_endpoint(endpoint: str) -> None:
    config = Config(account_id_endpoint_mode="required")
    client = boto3.client("dynamodb", endpoint_url=endpoint, config=config, aws_account_id="123456789012", **OPTIONS)
    assert client.list_tables()["TableNames"] == []
    client.close()

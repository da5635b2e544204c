"""Real clients against a served endpoint, and boto3 in the process as well: one must not differ from the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient

from torusdb import Database
from torusdb.server.listen import ServerThread

OPTIONS = {"region_name": "us-east-1", "aws_access_key_id": "any", "aws_secret_access_key": "any"}

MUSIC: dict[str, Any] = {
    "TableName": "Music",
    "KeySchema": [{"AttributeName": "Artist", "KeyType": "HASH"}, {"AttributeName": "Song", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "Artist", "AttributeType": "S"},
        {"AttributeName": "Song", "AttributeType": "S"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}

NINA = {"Artist": {"S": "Nina Simone"}, "Song": {"S": "Sinnerman"}}


@pytest.fixture
def endpoint(db: Database) -> Iterator[str]:
    """A server on the fresh database."""
    with ServerThread(db) as url:
        yield url


class Connector:
    """boto3 objects on one database, which are closed with the test."""

    def __init__(self, database: Database, endpoint: str | None, closing: ExitStack) -> None:
        self._database = database
        self._endpoint = endpoint
        self._closing = closing

    def client(self, **options: Any) -> BaseClient:
        if self._endpoint is None:
            made = self._database.client(**options)
        else:
            made = boto3.client("dynamodb", endpoint_url=self._endpoint, **OPTIONS, **options)
        self._closing.callback(made.close)
        return made

    def resource(self) -> Any:
        if self._endpoint is None:
            made = self._database.resource()
        else:
            made = boto3.resource("dynamodb", endpoint_url=self._endpoint, **OPTIONS)
        self._closing.callback(made.meta.client.close)
        return made


Connecting = Callable[[Database], Connector]


@pytest.fixture(params=["in the process", "over HTTP"])
def connecting(request: pytest.FixtureRequest) -> Iterator[Connecting]:
    """Both ways to a database."""
    with ExitStack() as closing:

        def connect(database: Database) -> Connector:
            served = request.param == "over HTTP"
            return Connector(database, closing.enter_context(ServerThread(database)) if served else None, closing)

        yield connect


@pytest.fixture
def connector(connecting: Connecting, db: Database) -> Connector:
    """Both ways to the fresh database."""
    return connecting(db)


@pytest.fixture
def client(connector: Connector) -> BaseClient:
    """A client, both ways, with the table Music."""
    made = connector.client()
    made.create_table(**MUSIC)
    return made


@pytest.fixture
def music(connector: Connector) -> Any:
    """The resource's table Music, both ways."""
    return connector.resource().create_table(**MUSIC)

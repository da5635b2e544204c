"""Fixtures for test-suites of applications that use DynamoDB. pytest finds them by itself once torusdb is installed.

    def test_songs(torusdb_client):                    # boto3 on a fresh database, with no socket
        torusdb_client.create_table(...)

    def test_application(torusdb_endpoint):            # a server; AWS_ENDPOINT_URL_DYNAMODB points at it
        application.main()                             # makes its own boto3 clients, or is no Python at all

All fixtures of one test share one database, which begins empty and ends with the test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from botocore.client import BaseClient

    from torusdb.database import Database

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "torusdb", "AWS_SECRET_ACCESS_KEY": "torusdb"}
"""What a served test signs with. They stand in for real ones, which have no business in a test."""


@pytest.fixture
def torusdb() -> Iterator[Database]:
    """A fresh database in memory: `torusdb.call("PutItem", {...})`."""
    from torusdb.database import open_database

    with open_database() as database:
        yield database


@pytest.fixture
def torusdb_client(torusdb: Database) -> BaseClient:
    """A boto3 client on the fresh database, with no socket."""
    return torusdb.client()


@pytest.fixture
def torusdb_resource(torusdb: Database) -> Any:
    """A boto3 resource on the fresh database, with no socket."""
    return torusdb.resource()


@pytest.fixture
def torusdb_endpoint(torusdb: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a server on the fresh database. While the test runs, the environment points AWS SDKs at it."""
    from torusdb.server.listen import ServerThread

    with ServerThread(torusdb) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", endpoint)
        # With this set, SDKs would pass over the endpoint and call the service itself.
        monkeypatch.delenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", raising=False)
        monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        monkeypatch.setenv("AWS_DEFAULT_REGION", torusdb.region)
        for name, value in CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        yield endpoint

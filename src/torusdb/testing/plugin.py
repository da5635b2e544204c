"""Fixtures for test-suites of applications that use DynamoDB. pytest finds them by itself once torusdb is installed.

    def test_songs(torusdb_client):                    # boto3 on a fresh database, with no socket
        torusdb_client.create_table(...)

    def test_application(torusdb_endpoint):            # a server; AWS_ENDPOINT_URL_DYNAMODB points at it
        application.main()                             # makes its own boto3 clients, or is no Python at all

All fixtures of one test share one database, which begins empty and ends with the test.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from botocore.client import BaseClient

    from torusdb.database import Database

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "torusdb", "AWS_SECRET_ACCESS_KEY": "torusdb"}
"""What a served test signs with. They stand in for real ones, which have no business in a test."""

LEADING_ELSEWHERE = ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
"""With one of these set, here or in a configuration file, SDKs pass over the endpoint and call the service itself."""

OTHER_CREDENTIALS = ("AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE")


@pytest.fixture
def torusdb() -> Iterator[Database]:
    """A fresh database in memory: `torusdb.call("PutItem", {...})`."""
    from torusdb.database import open_database

    with open_database() as database:
        yield database


@pytest.fixture
def torusdb_client(torusdb: Database) -> BaseClient:
    """A boto3 client on the fresh database, with no socket."""
    return _made_with_boto3(torusdb.client)


@pytest.fixture
def torusdb_resource(torusdb: Database) -> Any:
    """A boto3 resource on the fresh database, with no socket."""
    return _made_with_boto3(torusdb.resource)


def _made_with_boto3(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except ModuleNotFoundError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def torusdb_endpoint(torusdb: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a server on the fresh database. While the test runs, the environment points AWS SDKs at it."""
    from torusdb.server.listen import ServerThread

    with ServerThread(torusdb) as endpoint, monkeypatch.context() as environment:
        _point_at(endpoint, torusdb.region, environment)
        yield endpoint


def _point_at(endpoint: str, region: str, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
    environment.setenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", endpoint)
    for name in LEADING_ELSEWHERE:
        environment.setenv(name, "false")
    for name in OTHER_CREDENTIALS:
        environment.delenv(name, raising=False)
    for name, value in CREDENTIALS.items():
        environment.setenv(name, value)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):  # Python reads the latter, the other SDKs the former
        environment.setenv(name, region)
    direct = ["127.0.0.1", os.environ.get("no_proxy") or os.environ.get("NO_PROXY")]
    for name in ("no_proxy", "NO_PROXY"):  # a proxy is no way to this machine
        environment.setenv(name, ",".join(filter(None, direct)))

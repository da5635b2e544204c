"""Whatever a body holds, policies that ask for everything get an answer, or the client is told off."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

import torusdb
from tests.access.conftest import ACCOUNT
from tests.server.request_bodies import bodies
from tests.server.test_fuzz import create_table
from torusdb import Database
from torusdb.access.conditions import LIST_KEYS, SINGLE_KEYS, TAG_KEY
from torusdb.access.credentials import Credential
from torusdb.access.facts import RequestFacts
from torusdb.access.permissions import Tables, asked_by
from torusdb.api.requests import Request
from torusdb.errors import InternalServerError, ServiceError
from torusdb.operations.registry import OPERATIONS

KEYS = [*LIST_KEYS, *SINGLE_KEYS, f"{TAG_KEY}team"]
SCOPE = Credential("", "us-east-1")


class Curious:
    """Asks for every key of every need, and lets it pass."""

    account = ACCOUNT

    def require(self, operation: str, request: Request, tables: Tables) -> None:
        for asked in asked_by(operation, request, tables):
            assert asked.need.action.startswith("dynamodb:")
            # What a request gives for an ARN, or for an iterator, which begins with one, is taken as it is.
            named = {getattr(request, name, "*") for name in ("resource_arn", "stream_arn", "shard_iterator")}
            resource = asked.need.resource
            assert resource in {text.partition("|")[0] for text in named} or resource.startswith("arn:aws")
            facts = RequestFacts(request, asked, {"aws:username": "alice"}.get)
            for key in KEYS:
                values: list[Any] | None = facts.values(key)
                assert values is None or (values and all(isinstance(value, str) for value in values))


class Namespace:
    """The tables that the requests are about: `create_table` calls this as it would a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def call(self, operation: str, params: dict[str, Any]) -> None:
        self._db.begin(operation, json.dumps(params).encode(), SCOPE, Curious())


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_any_body_can_be_asked_about(operation: str) -> None:
    with torusdb.open() as db:
        create_table(Namespace(db))  # type: ignore[arg-type]

        @settings(max_examples=60, database=None)
        @given(body=bodies(operation))
        def ask(body: bytes) -> None:
            try:
                db.begin(operation, body, SCOPE, Curious())
            except ServiceError as refused:
                if isinstance(refused, InternalServerError):
                    raise

        ask()

"""A stream shows nothing that could be taken back: on an engine whose commits become durable when the test says so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.by_hand import ACCOUNT, NOON, REGION
from tests.operations.conftest import table_request
from tests.operations.shorthand import S
from tests.storage.model_engine import ModelEngine
from torusdb.api.answers import decode_answer
from torusdb.api.decode import from_python
from torusdb.operations.catalog import Catalog, load_catalogs
from torusdb.operations.context import Context
from torusdb.operations.registry import OPERATIONS
from torusdb.storage import driver
from torusdb.storage.driver import Outcome
from torusdb.storage.failures import StorageFailed

OFF = {"StreamEnabled": False}


class Staging:
    def __init__(self) -> None:
        self.engine = ModelEngine(stages=True)
        self.ctx = Context(Catalog(ACCOUNT, REGION), lambda: NOON, lambda: "secret", lambda: None)
        stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
        self.begin("CreateTable", **table_request("pk:S", "Things", {}, {}, stream))
        self.engine.settle()
        (self.arn,) = self.ctx.catalog.streams

    def begin(self, operation: str, **params: Any) -> Outcome:
        outcome = driver.run(self.engine, OPERATIONS[operation](self.ctx, from_python(operation, params)))
        if outcome.error is not None:
            raise outcome.error
        return outcome

    def call(self, operation: str, **params: Any) -> Any:
        """An answer that may leave at once."""
        outcome = self.begin(operation, **params)
        assert outcome.ticket is None
        assert outcome.body is not None
        return decode_answer(outcome.body)

    def put(self, key: str) -> None:
        self.begin("PutItem", TableName="Things", Item={"pk": S(key)})

    def switch_off(self) -> None:
        self.begin("UpdateTable", TableName="Things", StreamSpecification=OFF)

    def iterator(self, kind: str) -> str:
        (shard,) = self.ctx.catalog.streams[self.arn].shards
        place = {"StreamArn": self.arn, "ShardId": shard.shard_id, "ShardIteratorType": kind}
        iterator: str = self.call("GetShardIterator", **place)["ShardIterator"]
        return iterator


@pytest.fixture
def staging() -> Staging:
    return Staging()


def keys_of(answer: Any) -> list[str]:
    return [record["dynamodb"]["Keys"]["pk"]["S"] for record in answer["Records"]]


def test_records_show_when_they_are_durable(staging: Staging) -> None:
    staging.put("a")
    staging.engine.settle()
    staging.put("b")
    horizon, latest = staging.iterator("TRIM_HORIZON"), staging.iterator("LATEST")
    answer = staging.call("GetRecords", ShardIterator=horizon)
    assert keys_of(answer) == ["a"]
    assert staging.call("GetRecords", ShardIterator=latest)["Records"] == []
    staging.engine.settle()
    # Neither reader has missed it.
    assert keys_of(staging.call("GetRecords", ShardIterator=answer["NextShardIterator"])) == ["b"]
    assert keys_of(staging.call("GetRecords", ShardIterator=latest)) == ["b"]


def test_records_whose_commit_failed_never_were(staging: Staging) -> None:
    staging.put("a")
    staging.engine.settle()
    latest = staging.iterator("LATEST")
    staging.put("lost")
    staging.engine.roll_back(StorageFailed("The disk failed."))
    staging.put("b")
    staging.engine.settle()
    assert keys_of(staging.call("GetRecords", ShardIterator=latest)) == ["b"]
    assert keys_of(staging.call("GetRecords", ShardIterator=staging.iterator("TRIM_HORIZON"))) == ["a", "b"]


def test_a_closed_shard_has_its_end_only_when_all_before_it_is_durable(staging: Staging) -> None:
    staging.put("a")
    staging.engine.settle()
    staging.put("b")
    staging.engine.close_group()
    staging.switch_off()
    answer = staging.call("GetRecords", ShardIterator=staging.iterator("TRIM_HORIZON"))
    assert keys_of(answer) == ["a"]
    assert "NextShardIterator" in answer


@pytest.mark.parametrize("operation", ["GetRecords", "DescribeStream"])
def test_an_answer_that_says_a_shard_is_closed_waits_until_that_is_durable(staging: Staging, operation: str) -> None:
    staging.put("a")
    staging.engine.settle()
    staging.switch_off()
    params = {"ShardIterator": staging.iterator("TRIM_HORIZON")} if operation == "GetRecords" else {}
    outcome = staging.begin(operation, **(params or {"StreamArn": staging.arn}))
    assert outcome.ticket is not None
    assert not outcome.ticket.done
    # Were the closing to fail, the answer would be an error, and the shard go on.
    staging.engine.roll_back(StorageFailed("The disk failed."))
    assert outcome.ticket.error is not None
    staging.ctx.catalog = driver.complete(staging.engine, load_catalogs())[ACCOUNT, REGION]
    staging.put("b")
    staging.engine.settle()
    answer = staging.call("GetRecords", ShardIterator=staging.iterator("TRIM_HORIZON"))
    assert keys_of(answer) == ["a", "b"]
    assert "NextShardIterator" in answer

"""The consumer with boto3's own clients, on a server and in the process: the code is the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.test_streams import STREAM, Clients, clients  # noqa: F401 (a fixture)
from tests.operations.conftest import table_request
from tests.operations.shorthand import S
from torusdb.streams import Consumer

pytest.importorskip("boto3", reason="these are tests of boto3")


def test_a_consumer_takes_boto3s_clients(clients: Clients) -> None:  # noqa: F811
    tables, streams = clients
    request = table_request("pk:S", "Things", {}, {}, STREAM)
    arn = tables.create_table(**request)["TableDescription"]["LatestStreamArn"]
    handled: list[str] = []

    def handle(shard_id: str, records: list[Any]) -> None:
        handled.extend(record["dynamodb"]["Keys"]["pk"]["S"] for record in records)

    def consumer() -> Consumer:
        return Consumer(arn, handle, dynamodb=tables, streams=streams, lease_table="leases", records_max=2)

    for key in "abc":
        tables.put_item(TableName="Things", Item={"pk": S(key)})
    first = consumer()
    while first.step():
        pass
    assert handled == ["a", "b", "c"]
    first.close()
    tables.put_item(TableName="Things", Item={"pk": S("d")})
    second, competitor = consumer(), consumer()
    while second.step():
        competitor.step()
    assert handled == ["a", "b", "c", "d"]
    assert competitor.shards == set()

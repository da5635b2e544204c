"""The system's table, somewhere: in this process, on a TorusDB server, or at the Amazon service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from order_entry.model import SHARDS, table
from order_entry.ranking import rank
from torusdb.modeling import Store
from torusdb.streams import Consumer

STREAM_VIEW: Final = "NEW_AND_OLD_IMAGES"
LEASE_TABLE: Final = "order_entry_ranking"
CONNECTIONS: Final = SHARDS + 1
"""A question to all shards sends its requests at once; boto3 keeps ten connections unless it is told otherwise."""


class System:
    """`store`: where all reads and writes go. `dynamodb` and `streams`: the clients behind it, of boto3 or alike."""

    def __init__(self, dynamodb: Any, streams: Any) -> None:
        self.dynamodb = dynamodb
        self.streams = streams
        self.store = Store(table, dynamodb)

    def create_table(self, *, stream: bool = True) -> None:
        """Without a stream, for loading much: see `start_stream`."""
        self.store.create_table(stream=STREAM_VIEW if stream else None)

    def start_stream(self) -> None:
        stream = {"StreamEnabled": True, "StreamViewType": STREAM_VIEW}
        self.dynamodb.update_table(TableName=table.name, StreamSpecification=stream)
        self.dynamodb.get_waiter("table_exists").wait(TableName=table.name)

    def ranking_consumer(self, **options: Any) -> Consumer:
        """Keeps the ranking: `run()` it in a thread or a process of its own, or `step()` it."""
        description = self.dynamodb.describe_table(TableName=table.name)["Table"]
        return Consumer(
            description["LatestStreamArn"],
            rank(self.store),
            dynamodb=self.dynamodb,
            streams=self.streams,
            lease_table=LEASE_TABLE,
            **options,
        )


@contextmanager
def in_this_process(path: str = ":memory:") -> Iterator[System]:
    """With no server and no boto3: in memory, or in a directory."""
    import torusdb

    with torusdb.open(path) as database:
        client = database.direct_client()
        yield System(client, client)


def at(endpoint: str | None, region: str = "us-east-1") -> System:
    """At a server, or with None at the Amazon service. Credentials are boto3's matter."""
    import boto3
    from botocore.config import Config

    config = Config(max_pool_connections=CONNECTIONS)
    clients = [
        boto3.client(name, endpoint_url=endpoint, region_name=region, config=config)
        for name in ("dynamodb", "dynamodbstreams")
    ]
    return System(*clients)

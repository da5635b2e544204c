"""A consumer of DynamoDB Streams, for TorusDB and the Amazon service alike.

    consumer = Consumer(stream_arn, handle, dynamodb=..., streams=..., lease_table="my-application")
    consumer.run()

Any number of workers with one lease table share a stream's shards among them. `handle(shard_id, records)` gets every
record at least once, and those of an item in their order, whoever is killed and whenever.

It talks to the two boto3 clients it is given and to nothing else of this package. See docs/streams.md.
"""

from torusdb.streams.consumer import Consumer, Handler, HandlerFailed
from torusdb.streams.leases import Lease, LeaseTable

__all__ = ["Consumer", "Handler", "HandlerFailed", "Lease", "LeaseTable"]

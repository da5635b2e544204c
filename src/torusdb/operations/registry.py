"""The operations that are built, by name. What is not here is answered with UnknownOperationException."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from torusdb.operations import (
    batch_write,
    get_item,
    partiql,
    partiql_batch,
    partiql_transaction,
    query,
    resource_policies,
    streams,
    tables,
    tags,
    time_to_live,
    transactions,
    update_table,
    writes,
)
from torusdb.operations.context import Context
from torusdb.storage.commands import Operation

Begin: TypeAlias = Callable[[Context, Any], Operation]

OPERATIONS: dict[str, Begin] = {
    "BatchExecuteStatement": partiql_batch.batch_execute_statement,
    "BatchGetItem": get_item.batch_get_item,
    "BatchWriteItem": batch_write.batch_write_item,
    "CreateTable": tables.create_table,
    "DeleteItem": writes.delete_item,
    "DeleteResourcePolicy": resource_policies.delete_resource_policy,
    "DeleteTable": tables.delete_table,
    "DescribeEndpoints": tables.describe_endpoints,
    "DescribeLimits": tables.describe_limits,
    "DescribeStream": streams.describe_stream,
    "DescribeTable": tables.describe_table,
    "DescribeTimeToLive": time_to_live.describe_time_to_live,
    "ExecuteStatement": partiql.execute_statement,
    "ExecuteTransaction": partiql_transaction.execute_transaction,
    "GetItem": get_item.get_item,
    "GetRecords": streams.get_records,
    "GetResourcePolicy": resource_policies.get_resource_policy,
    "GetShardIterator": streams.get_shard_iterator,
    "ListStreams": streams.list_streams,
    "ListTables": tables.list_tables,
    "ListTagsOfResource": tags.list_tags_of_resource,
    "PutItem": writes.put_item,
    "PutResourcePolicy": resource_policies.put_resource_policy,
    "Query": query.query,
    "Scan": query.scan,
    "TagResource": tags.tag_resource,
    "TransactGetItems": transactions.transact_get_items,
    "TransactWriteItems": transactions.transact_write_items,
    "UntagResource": tags.untag_resource,
    "UpdateItem": writes.update_item,
    "UpdateTable": update_table.update_table,
    "UpdateTimeToLive": time_to_live.update_time_to_live,
}

ANNOUNCING = frozenset(["PutItem", "UpdateItem"])
"""The operations that put "1 validation error detected: " before a `RequestFault` (measured)."""

"""The operations that are built, by name. What is not here is answered with UnknownOperationException."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from torusdb.operations import (
    batch_write,
    get_item,
    partiql,
    partiql_batch,
    query,
    streams,
    tables,
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
    "DeleteTable": tables.delete_table,
    "DescribeEndpoints": tables.describe_endpoints,
    "DescribeLimits": tables.describe_limits,
    "DescribeStream": streams.describe_stream,
    "DescribeTable": tables.describe_table,
    "ExecuteStatement": partiql.execute_statement,
    "GetItem": get_item.get_item,
    "GetRecords": streams.get_records,
    "GetShardIterator": streams.get_shard_iterator,
    "ListStreams": streams.list_streams,
    "ListTables": tables.list_tables,
    "PutItem": writes.put_item,
    "Query": query.query,
    "Scan": query.scan,
    "UpdateItem": writes.update_item,
    "UpdateTable": update_table.update_table,
}

ANNOUNCING = frozenset(["PutItem", "UpdateItem"])
"""The operations that put "1 validation error detected: " before a `RequestFault` (measured)."""

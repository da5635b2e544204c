"""What each operation of the service needs to be allowed: one table, and how it is read.

The actions and resources are those of "Actions, resources, and condition keys for Amazon DynamoDB" (service
authorization reference), "IAM security policies with PartiQL for DynamoDB" and "Using IAM with DynamoDB transactions"
(developer guide). Operations that are not built yet stand here too: they are refused to who may not call them.

All that a request needs must be allowed, or it is refused as a whole. Of BatchExecuteStatement the service model has a
code `AccessDenied` for single statements, which hints that there each fails for itself; how has not been seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from torusdb.access.decisions import Need
from torusdb.api.names import table_of
from torusdb.errors import ValidationException
from torusdb.model.schema import Table
from torusdb.partiql import Delete, Exists, Insert, Select, Update, parse

Kind: TypeAlias = Literal[
    "account",  # no resource: *
    "tables",  # all tables: table/*
    "streams",  # all streams: table/*/stream/*, of one table where the request names one
    "table",  # the table that the field names, by name or ARN
    "index",  # as "table", or the index of it that IndexName names
    "arn",  # what the field gives the ARN of
    "iterator",  # the stream whose ARN the iterator begins with, as the service's do
    "global table",
    "batch",  # each table of RequestItems
    "members",  # each member of TransactItems
    "statements",  # each PartiQL statement
]


class Rule(NamedTuple):
    kind: Kind
    field: str = "table_name"


_TABLE: Final = Rule("table")
_INDEX: Final = Rule("index")
_ACCOUNT: Final = Rule("account")
_BATCH: Final = Rule("batch")
_MEMBERS: Final = Rule("members")
_STATEMENTS: Final = Rule("statements")
_GLOBAL: Final = Rule("global table", "global_table_name")
_BACKUP: Final = Rule("arn", "backup_arn")
_RESOURCE: Final = Rule("arn", "resource_arn")
_STREAM: Final = Rule("arn", "stream_arn")

RULES: Final[dict[str, Rule]] = {
    "BatchExecuteStatement": _STATEMENTS,
    "BatchGetItem": _BATCH,
    "BatchWriteItem": _BATCH,
    "CancelBulkOperation": Rule("arn", "bulk_operation_arn"),
    "CreateBackup": _TABLE,
    "CreateGlobalTable": _GLOBAL,
    "CreateTable": _TABLE,
    "DeleteBackup": _BACKUP,
    "DeleteItem": _TABLE,
    "DeleteResourcePolicy": _RESOURCE,
    "DeleteTable": _TABLE,
    "DescribeBackup": _BACKUP,
    "DescribeBulkOperation": Rule("arn", "bulk_operation_arn"),
    "DescribeContinuousBackups": _TABLE,
    "DescribeContributorInsights": _INDEX,
    "DescribeEndpoints": _ACCOUNT,
    "DescribeExport": Rule("arn", "export_arn"),
    "DescribeGlobalTable": _GLOBAL,
    "DescribeGlobalTableSettings": _GLOBAL,
    "DescribeImport": Rule("arn", "import_arn"),
    "DescribeKinesisStreamingDestination": _TABLE,
    "DescribeLimits": _ACCOUNT,
    "DescribeStream": _STREAM,
    "DescribeTable": _TABLE,
    "DescribeTableReplicaAutoScaling": _TABLE,
    "DescribeTimeToLive": _TABLE,
    "DisableKinesisStreamingDestination": _TABLE,
    "EnableKinesisStreamingDestination": _TABLE,
    "ExecuteStatement": _STATEMENTS,
    "ExecuteTransaction": _STATEMENTS,
    "ExportTableToPointInTime": Rule("table", "table_arn"),
    "GetItem": _TABLE,
    "GetRecords": Rule("iterator", "shard_iterator"),
    "GetResourcePolicy": _RESOURCE,
    "GetShardIterator": _STREAM,
    "ImportTable": Rule("table", "table_creation_parameters"),
    "ListBackups": _ACCOUNT,
    "ListBulkOperations": _ACCOUNT,
    "ListContributorInsights": _ACCOUNT,
    "ListExports": _ACCOUNT,
    "ListGlobalTables": _ACCOUNT,
    "ListImports": _ACCOUNT,
    "ListStreams": Rule("streams"),
    "ListTables": Rule("tables"),  # seen: AntonShuvaev/intellij-dynamodb#20, of 2022; years before it was `*`
    "ListTagsOfResource": _RESOURCE,
    "PutItem": _TABLE,
    "PutResourcePolicy": _RESOURCE,
    "Query": _INDEX,
    "RestoreTableFromBackup": _BACKUP,
    "RestoreTableToPointInTime": Rule("table", "target_table_name"),
    "Scan": _INDEX,
    "SearchVectors": _INDEX,
    "StartBulkPutItems": _TABLE,
    "TagResource": _RESOURCE,
    "TransactGetItems": _MEMBERS,
    "TransactWriteItems": _MEMBERS,
    "UntagResource": _RESOURCE,
    "UpdateContinuousBackups": _TABLE,
    "UpdateContributorInsights": _INDEX,
    "UpdateGlobalTable": _GLOBAL,
    "UpdateGlobalTableSettings": _GLOBAL,
    "UpdateItem": _TABLE,
    "UpdateKinesisStreamingDestination": _TABLE,
    "UpdateTable": _TABLE,
    "UpdateTableReplicaAutoScaling": _TABLE,
    "UpdateTimeToLive": _TABLE,
}

MEMBER_ACTIONS: Final = {
    "get": "GetItem",
    "put": "PutItem",
    "update": "UpdateItem",
    "delete": "DeleteItem",
    "condition_check": "ConditionCheckItem",
}
"""What a member of a transaction needs (developer guide, "Using IAM with DynamoDB transactions")."""

STATEMENT_ACTIONS: Final = {
    Select: "PartiQLSelect",
    Exists: "PartiQLSelect",
    Insert: "PartiQLInsert",
    Update: "PartiQLUpdate",
    Delete: "PartiQLDelete",
}
"""What a statement needs (developer guide, "IAM security policies with PartiQL"); that EXISTS is a SELECT is ours."""

BESIDES: Final = {"CreateTable": {"tags": "TagResource", "resource_policy": "PutResourcePolicy"}}
"""What a parameter of an operation needs besides: a policy, by the API reference; tags, as AWS's services do it (for
DynamoDB it has not been seen)."""


class Tables(Protocol):
    """The tables of an account in a region: a `Catalog`."""

    account: str
    region: str

    def find(self, name_or_arn: str) -> Table | None: ...

    def arn(self, table_name: str) -> str: ...


class Asked(NamedTuple):
    """A need, and the part of the request that it stems from."""

    need: Need
    table: Table | None
    """Whose policy, keys and tags matter; None where there is no such table, or the need is about none."""
    part: Any
    kind: str
    """The name of the operation that the part is like: the member of a transaction is like a PutItem."""
    enclosing: str | None = None
    """The operation that such a part stands in."""

    @property
    def resource_policy(self) -> str | None:
        """Of a table, for itself and its indexes; a stream has one of its own (developer guide, "Using resource-based
        policies")."""
        table = self.table
        if table is None:
            return None
        part, _, name = self.need.resource.removeprefix(table.arn).removeprefix("/").partition("/")
        match part:
            case "" | "index":
                return table.resource_policy
            case "stream" if name in table.stream_policies:
                return table.stream_policies[name].document
        return None


def asked_by(operation: str, request: Any, tables: Tables) -> Iterator[Asked]:
    """All that must be allowed for a request."""
    kind, field = RULES[operation]
    match kind:
        case "batch":
            for name, part in request.request_items.items():
                yield _of_table(tables, operation, name, part, operation)
        case "members":
            for member in request.transact_items:
                for name, action in MEMBER_ACTIONS.items():
                    part = getattr(member, name, None)
                    if part is not None:
                        yield _of_table(tables, action, part.table_name, part, action, operation)
        case "statements":
            yield from _of_statements(operation, request, tables)
        case "table" | "index":
            name = getattr(request, field)
            asked = _of_table(tables, operation, name, request, operation)
            index = getattr(request, "index_name", None) if kind == "index" else None
            if index is not None:
                asked = asked._replace(need=Need(asked.need.action, f"{asked.need.resource}/index/{index}"))
            yield asked
            for parameter, action in BESIDES.get(operation, {}).items():
                if getattr(request, parameter, None):
                    yield _of_table(tables, action, name, request, operation)
        case _:
            resource = _resource(kind, field, request, tables)
            yield Asked(Need(f"dynamodb:{operation}", resource), _table_of(resource, tables), request, operation)


def _of_table(tables: Tables, action: str, name: Any, part: Any, kind: str, enclosing: str | None = None) -> Asked:
    name = name if isinstance(name, str) else getattr(name, "table_name", "")
    table = tables.find(name)
    resource = name if name.startswith("arn:") else tables.arn(name)
    return Asked(Need(f"dynamodb:{action}", resource), table, part, kind, enclosing)


def _of_statements(operation: str, request: Any, tables: Tables) -> Iterator[Asked]:
    parts = getattr(request, "statements", None) or getattr(request, "transact_statements", None) or [request]
    enclosing = operation if operation == "ExecuteTransaction" else None
    for part in parts:
        try:
            command = parse(part.statement).command
        except ValidationException:
            continue  # it names no table, does nothing, and is refused for its text
        asked = _of_table(tables, STATEMENT_ACTIONS[type(command)], command.target.table, part, "PartiQL", enclosing)
        index = command.target.index
        if index is not None:
            asked = asked._replace(need=Need(asked.need.action, f"{asked.need.resource}/index/{index}"))
        yield asked


def _resource(kind: Kind, field: str, request: Any, tables: Tables) -> str:
    match kind:
        case "tables":
            return tables.arn("*")
        case "streams":
            return f"{tables.arn(table_of(getattr(request, field, None) or '*'))}/stream/*"
        case "global table":
            return f"arn:aws:dynamodb::{tables.account}:global-table/{getattr(request, field)}"
        case "arn" | "iterator":
            return str(getattr(request, field)).partition("|")[0]
        case _:
            return "*"


def _table_of(resource: str, tables: Tables) -> Table | None:
    """The table that an ARN is of, or of a part of."""
    before, _, rest = resource.partition(":table/")
    return tables.find(f"{before}:table/{rest.partition('/')[0]}") if rest else None

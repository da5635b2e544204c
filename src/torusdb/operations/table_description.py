"""What the service tells of a table: TableDescription, in every state and with every option. All operations
on tables answer with it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from torusdb.model.keys import KeyAttribute
from torusdb.model.schema import Index, Table, Throughput
from torusdb.storage.commands import Command, Tally

ON_DEMAND_READ_UNITS = 12_000
ON_DEMAND_WRITE_UNITS = 4_000
"""What a new on-demand table or index can serve in a second (developer guide, "Warm throughput")."""

SECONDS_A_DAY = 86_400

Counts = dict[int | None, tuple[int, int]]
"""Items and bytes by index id; those of the table itself under None."""

Members = dict[str, Any]


def count(table: Table) -> Generator[Command, Any, Counts]:
    """The sizes of a table and its indexes as of now. (The service brings its figures up to date every six
    hours.)"""
    indexes: list[Index | None] = [None, *table.indexes]
    tallies: list[tuple[int, int]] = yield Tally([table.tally_key(index) for index in indexes])
    return {None if index is None else index.index_id: tally for index, tally in zip(indexes, tallies, strict=True)}


def describe(table: Table, counts: Counts, now: float) -> Members:
    items, size = counts.get(None, (0, 0))
    members: Members = {
        # By name, in whatever order they were given (measured).
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": type_} for name, type_ in sorted(table.attribute_types.items())
        ],
        "TableName": table.name,
        "KeySchema": key_schema([table.hash_key], [] if table.range_key is None else [table.range_key]),
        "TableStatus": table.status,
        "CreationDateTime": date(table.created),
        "ProvisionedThroughput": _throughput(table.throughput, now),
        "TableSizeBytes": size,
        "ItemCount": items,
        "TableArn": table.arn,
        "TableId": table.uuid,
    }
    _add_settings(members, table)
    if table.local_indexes:
        members["LocalSecondaryIndexes"] = [_index(table, index, counts) for index in table.local_indexes]
    if table.global_indexes:
        members["GlobalSecondaryIndexes"] = [_global_index(table, index, counts, now) for index in table.global_indexes]
    members["WarmThroughput"] = _warm_throughput(table, table)
    return members


def _add_settings(members: Members, table: Table) -> None:
    """What is told only of tables that have it, apart from deletion protection, which is told always."""
    if table.billing == "PAY_PER_REQUEST" or table.billing_changed is not None:
        changed: Members = {}
        if table.billing_changed is not None and table.status != "CREATING":
            changed["LastUpdateToPayPerRequestDateTime"] = date(table.billing_changed)
        members["BillingModeSummary"] = {"BillingMode": table.billing, **changed}
        # The same under another name, which is in the service's answers but not in its model (dynalite, dynoxide).
        members["TableThroughputModeSummary"] = {"TableThroughputMode": table.billing, **changed}
    if table.stream is not None:
        members["StreamSpecification"] = table.stream
    if table.stream_label is not None:
        # They stay when the stream is disabled: its records can be read for 24 hours more (developer guide).
        members["LatestStreamLabel"] = table.stream_label
        members["LatestStreamArn"] = f"{table.arn}/stream/{table.stream_label}"
    if table.sse is not None:
        members["SSEDescription"] = table.sse
    if table.table_class is not None:
        members["TableClassSummary"] = {"TableClass": table.table_class}
        if table.table_class_changed is not None:
            members["TableClassSummary"]["LastUpdateDateTime"] = date(table.table_class_changed)
    members["DeletionProtectionEnabled"] = table.deletion_protection
    if table.on_demand:
        members["OnDemandThroughput"] = table.on_demand


def _index(table: Table, index: Index, counts: Counts) -> Members:
    items, size = counts.get(index.index_id, (0, 0))
    projection: Members = {"ProjectionType": index.projection}
    if index.projection == "INCLUDE":
        projection["NonKeyAttributes"] = sorted(index.non_key_attributes)
    return {
        "IndexName": index.name,
        "KeySchema": key_schema(index.hash_keys, index.range_keys),
        "Projection": projection,
        "IndexSizeBytes": size,
        "ItemCount": items,
        "IndexArn": f"{table.arn}/index/{index.name}",
    }


def _global_index(table: Table, index: Index, counts: Counts, now: float) -> Members:
    members = _index(table, index, counts)
    members["IndexStatus"] = index.status
    if index.status == "CREATING" and table.status != "CREATING":
        # Only of an index that is added to a table, until it is ACTIVE (API reference, "Backfilling").
        members["Backfilling"] = index.backfilling
    members["ProvisionedThroughput"] = _throughput(index.throughput, now)
    members["WarmThroughput"] = _warm_throughput(table, index)
    if index.on_demand:
        members["OnDemandThroughput"] = index.on_demand
    return members


def key_schema(hash_keys: list[KeyAttribute], range_keys: list[KeyAttribute]) -> list[Members]:
    return [
        {"AttributeName": key.name, "KeyType": type_}
        for type_, keys in (("HASH", hash_keys), ("RANGE", range_keys))
        for key in keys
    ]


def _throughput(throughput: Throughput, now: float) -> Members:
    members: Members = {}
    if throughput.last_increase is not None:
        members["LastIncreaseDateTime"] = date(throughput.last_increase)
    if throughput.last_decrease is not None:
        members["LastDecreaseDateTime"] = date(throughput.last_decrease)
    members["NumberOfDecreasesToday"] = decreases_today(throughput, now)
    members["ReadCapacityUnits"] = throughput.read_units
    members["WriteCapacityUnits"] = throughput.write_units
    return members


def decreases_today(throughput: Throughput, now: float) -> int:
    """They are counted by UTC day (API reference)."""
    if throughput.last_decrease is None or throughput.last_decrease // SECONDS_A_DAY != now // SECONDS_A_DAY:
        return 0
    return throughput.decreases_today


def warm_units(table: Table, owner: Table | Index) -> tuple[int, int]:
    """Reads and writes a second that a table or an index of it can serve at once: what its mode starts
    with, or what it has ever been warmed to."""
    if table.billing == "PAY_PER_REQUEST":
        read, write = ON_DEMAND_READ_UNITS, ON_DEMAND_WRITE_UNITS
    else:
        read, write = owner.throughput.read_units, owner.throughput.write_units
    warm = owner.warm or {}
    return max(read, warm.get("ReadUnitsPerSecond", 0)), max(write, warm.get("WriteUnitsPerSecond", 0))


def _warm_throughput(table: Table, owner: Table | Index) -> Members:
    """What was asked for is being warmed until its owner is there (measured)."""
    read, write = warm_units(table, owner)
    warming = owner.warm is not None and owner.status == "CREATING"
    return {
        "ReadUnitsPerSecond": read,
        "WriteUnitsPerSecond": write,
        "Status": "UPDATING" if warming else "ACTIVE",
    }


def date(seconds: float) -> float:
    """Dates are seconds since 1970 with milliseconds."""
    return round(seconds, 3)

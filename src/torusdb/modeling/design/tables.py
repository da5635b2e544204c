"""What a table is, apart from its entities: as a model declares it, or as an endpoint describes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from torusdb.modeling.errors import ModelError
from torusdb.modeling.options import AWS_MANAGED_KEY, TableOptions, Throughput
from torusdb.modeling.steps import error_code
from torusdb.modeling.table import GlobalIndex, Index, KeyAttribute, Kind, LocalIndex, Table


class IndexShape(NamedTuple):
    """`include`: as the index's; None for all attributes. `partition`: empty for a local index."""

    name: str
    is_local: bool
    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...]
    include: tuple[str, ...] | None = None
    throughput: Throughput | None = None


class TableShape(NamedTuple):
    name: str
    partition: KeyAttribute
    sort: KeyAttribute | None = None
    indexes: tuple[IndexShape, ...] = ()
    options: TableOptions = TableOptions()
    ttl: str | None = None

    @property
    def key(self) -> tuple[KeyAttribute, ...]:
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    @property
    def key_kinds(self) -> dict[str, Kind]:
        """The types of all attributes that are part of a key."""
        attributes = [*self.key, *(each for index in self.indexes for each in (*index.partition, *index.sort))]
        return {each.name: each.kind for each in attributes}


def shape_of(table: Table) -> TableShape:
    """As it is declared. An index of a provisioned table that says nothing has the table's capacity."""
    return TableShape(
        table.name,
        table.partition[0],
        table.sort[0] if table.sort else None,
        tuple(_index_shape(index, table.options) for index in table.indexes),
        table.options,
        table.ttl_attribute,
    )


def _index_shape(index: Index, options: TableOptions) -> IndexShape:
    include = None if index.include is None else tuple(sorted(index.include))
    if isinstance(index, LocalIndex):
        return IndexShape(index.name, True, (), tuple(index.sort), include)
    throughput = index.throughput or options.provisioned or options.on_demand_max
    return IndexShape(index.name, False, tuple(index.partition), tuple(index.sort), include, throughput)


def declared_index(shape: IndexShape) -> Index:
    """The index of a shape, as a model declares it."""
    if shape.is_local:
        return LocalIndex(shape.name, sort_key=shape.sort[0], include=shape.include)
    return GlobalIndex(
        shape.name,
        partition_key=shape.partition,
        sort_key=shape.sort,
        include=shape.include,
        throughput=shape.throughput,
    )


def live_shape(client: Any, name: str) -> TableShape | None:
    """As the endpoint describes it; None where there is no such table."""
    try:
        table = client.describe_table(TableName=name)["Table"]
    except Exception as error:
        if error_code(error) == "ResourceNotFoundException":
            return None
        raise
    kinds: dict[str, Kind] = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    partition, sort = _keys(table["KeySchema"], kinds)
    indexes = [
        _live_index(each, kinds, is_local=member == "LocalSecondaryIndexes")
        for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        for each in table.get(member, [])
    ]
    return TableShape(
        name,
        partition[0],
        sort[0] if sort else None,
        tuple(sorted(indexes)),
        _live_options(client, table),
        _live_ttl(client, name),
    )


def _keys(
    schema: Iterable[Mapping[str, str]], kinds: Mapping[str, Kind]
) -> tuple[tuple[KeyAttribute, ...], tuple[KeyAttribute, ...]]:
    def of(key_type: str) -> tuple[KeyAttribute, ...]:
        names = [each["AttributeName"] for each in schema if each["KeyType"] == key_type]
        return tuple(KeyAttribute(name, kinds[name]) for name in names)

    schema = list(schema)
    return of("HASH"), of("RANGE")


def _live_index(index: Mapping[str, Any], kinds: Mapping[str, Kind], *, is_local: bool) -> IndexShape:
    partition, sort = _keys(index["KeySchema"], kinds)
    projection = index["Projection"]
    include: tuple[str, ...] | None = None
    if projection["ProjectionType"] != "ALL":
        include = tuple(sorted(projection.get("NonKeyAttributes", ())))
    throughput = None if is_local else _provisioned(index) or _most(index)
    return IndexShape(index["IndexName"], is_local, () if is_local else partition, sort, include, throughput)


def _provisioned(described: Mapping[str, Any]) -> Throughput | None:
    """A table that is paid by request is described with 0 units."""
    units = described.get("ProvisionedThroughput", {})
    if not units.get("ReadCapacityUnits"):
        return None
    return Throughput(units["ReadCapacityUnits"], units["WriteCapacityUnits"])


def _most(described: Mapping[str, Any]) -> Throughput | None:
    """-1 stands for no maximum."""
    units = described.get("OnDemandThroughput", {})
    read, write = units.get("MaxReadRequestUnits", -1), units.get("MaxWriteRequestUnits", -1)
    return Throughput(read, write) if read > 0 and write > 0 else None


def _live_options(client: Any, table: Mapping[str, Any]) -> TableOptions:
    by_request = table.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST"
    stream = table.get("StreamSpecification", {})
    return TableOptions(
        provisioned=None if by_request else _provisioned(table),
        on_demand_max=_most(table) if by_request else None,
        stream=stream.get("StreamViewType") if stream.get("StreamEnabled") else None,
        table_class=table.get("TableClassSummary", {}).get("TableClass", "STANDARD"),
        deletion_protection=bool(table.get("DeletionProtectionEnabled")),
        point_in_time_recovery=_live_recovery(client, table["TableName"]),
        kms_key=_live_key(table.get("SSEDescription", {})),
        tags=_live_tags(client, table["TableArn"]),
    )


def _live_key(encryption: Mapping[str, Any]) -> str | None:
    """A table is described with the ARN of its key, whichever name the key was given by."""
    if encryption.get("Status") not in {"ENABLED", "ENABLING", "UPDATING"}:
        return None
    key: str = encryption.get("KMSMasterKeyArn", AWS_MANAGED_KEY)
    return key


def _live_recovery(client: Any, name: str) -> bool:
    """An endpoint without backups (TorusDB, DynamoDB Local) has them disabled."""
    try:
        described = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    except Exception as error:
        if error_code(error) == "UnknownOperationException":
            return False
        raise
    status: str = described.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus", "DISABLED")
    return status == "ENABLED"


def _live_tags(client: Any, arn: str) -> dict[str, str]:
    tags: list[Mapping[str, str]] = []
    more: dict[str, str] = {}
    while True:
        answer = client.list_tags_of_resource(ResourceArn=arn, **more)
        tags += answer.get("Tags", [])
        if not answer.get("NextToken"):
            return {each["Key"]: each["Value"] for each in tags}
        more = {"NextToken": answer["NextToken"]}


def _live_ttl(client: Any, name: str) -> str | None:
    described = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    enabled = described.get("TimeToLiveStatus") in {"ENABLED", "ENABLING"}
    return described.get("AttributeName") if enabled else None


def one_of_its_name(tables: Sequence[Table], name: str | None) -> list[Table]:
    """The table that a command is to be about; all of them where none is named."""
    if name is None:
        return list(tables)
    found = [table for table in tables if table.name == name]
    if not found:
        raise ModelError(f"There is no table {name} in it, only {', '.join(table.name for table in tables)}")
    return found

"""A design as a data model of NoSQL Workbench (JSON, as its "Export data model" writes it).

The format has no published specification. What is known of it comes from the developer guide ("Editing an existing data
model", for facets) and from models that were published with versions 1.0 (2019) and 3.0 (2022 and later):

    ModelName, ModelMetadata {Author, DateCreated, DateLastModified, Description, AWSService, Version}
    DataModel[]
        TableName, KeyAttributes {PartitionKey, SortKey? {AttributeName, AttributeType}}
        NonKeyAttributes[] {AttributeName, AttributeType}: all others, those that are keys of indexes as well
        TableFacets[] {FacetName, KeyAttributeAlias {PartitionKeyAlias, SortKeyAlias?}, NonKeyAttributes[] of names,
            TableData[]?, DataAccess?}: version 1.0 keeps the rows in the facets, 3.0 in the table
        GlobalSecondaryIndexes[] {IndexName, KeyAttributes, Projection {ProjectionType, NonKeyAttributes[]?}}
        TableData[]: rows, as items of the low-level API
        DataAccess {MySql {}}, BillingMode, ProvisionedCapacitySettings {ProvisionedThroughput, AutoScalingRead?, …}

An entity is a facet, its key templates are the aliases. What the format has no place for (local indexes, time to live,
streams, tags, …) is told, not written; index keys of several attributes are refused."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from torusdb.modeling.design.loading import Design
from torusdb.modeling.design.samples import Samples
from torusdb.modeling.errors import ModelError
from torusdb.modeling.model import EntityModel
from torusdb.modeling.scalars import Item, Wire
from torusdb.modeling.table import GlobalIndex, KeyAttribute, LocalIndex, Table

VERSION: Final = "3.0"
SERVICE: Final = "Amazon DynamoDB"
DATE: Final = "%b %d, %Y, %I:%M %p"


class Export(NamedTuple):
    """`left_out`: what the format has no place for."""

    document: dict[str, Any]
    left_out: list[str]


def workbench(design: Design, samples: Samples, now: datetime) -> Export:
    left_out = [each for table in design.tables for each in _left_out(table)]
    # A file whose module's name was taken is imported under its path.
    name = Path(design.name).stem if design.name.endswith(".py") else design.name.rpartition(".")[2]
    document = {
        "ModelName": name,
        "ModelMetadata": {
            "Author": "",
            "DateCreated": now.strftime(DATE),
            "DateLastModified": now.strftime(DATE),
            "Description": "",
            "AWSService": SERVICE,
            "Version": VERSION,
        },
        "DataModel": [_table(table, samples) for table in design.tables],
    }
    return Export(document, left_out)


def _table(table: Table, samples: Samples) -> dict[str, Any]:
    keys = {each.name for each in (*table.partition, *table.sort)}
    entry: dict[str, Any] = {
        "TableName": table.name,
        "KeyAttributes": _key_attributes([*table.partition, *table.sort], table.sort),
        "NonKeyAttributes": [
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in sorted(_attributes(table).items())
            if name not in keys
        ],
        "TableFacets": [_facet(model, keys) for model in table.entities.values()],
    }
    indexes = [each for each in table.indexes if isinstance(each, GlobalIndex)]
    if indexes:
        entry["GlobalSecondaryIndexes"] = [_index(table, index) for index in indexes]
    entry["TableData"] = [_row(item) for _, item in samples.items(table)]
    entry["DataAccess"] = {"MySql": {}}
    entry["BillingMode"] = table.options.billing_mode
    provisioned = table.options.provisioned
    if provisioned is not None:
        entry["ProvisionedCapacitySettings"] = {"ProvisionedThroughput": provisioned.provisioned()}
    return entry


def _attributes(table: Table) -> dict[str, str]:
    """All that items can have, with the type that is written."""
    kinds: dict[str, str] = {table.type_attribute: "S"}
    for model in table.entities.values():
        for _, attribute in model.stored_attributes():
            kinds.setdefault(attribute._stored, attribute._codec.kinds[0])
    return kinds | table.key_kinds


def _facet(model: EntityModel[Any], keys: set[str]) -> dict[str, Any]:
    templates = [part.template.source for part in model.primary.parts]
    alias = {"PartitionKeyAlias": templates[0]}
    if len(templates) > 1:
        alias["SortKeyAlias"] = templates[1]
    own = {attribute._stored for _, attribute in model.stored_attributes()}
    written = {part.attribute.name for key in model.keys.values() for part in key.parts}
    names = sorted((own | written | {model.table.type_attribute}) - keys)
    return {"FacetName": model.name, "KeyAttributeAlias": alias, "NonKeyAttributes": names}


def _index(table: Table, index: GlobalIndex) -> dict[str, Any]:
    if len(index.partition) > 1 or len(index.sort) > 1:
        raise ModelError(
            f"The index {index.name} of the table {table.name} has a key of several attributes, for which NoSQL "
            "Workbench's format has no known form"
        )
    parameters = table.index_parameters(index)
    return {
        "IndexName": index.name,
        "KeyAttributes": _key_attributes([*index.partition, *index.sort], index.sort),
        "Projection": parameters["Projection"],
    }


def _key_attributes(attributes: list[KeyAttribute], sort: list[KeyAttribute]) -> dict[str, Any]:
    named = [{"AttributeName": each.name, "AttributeType": each.kind} for each in attributes]
    return {"PartitionKey": named[0], **({"SortKey": named[1]} if sort else {})}


def _row(item: Item) -> dict[str, Wire]:
    return {name: json_wire(wire) for name, wire in item.items()}


def json_wire(wire: Wire) -> Wire:
    """A value as JSON can have it: bytes in base64."""
    ((kind, value),) = wire.items()
    if kind == "B":
        return {"B": base64.b64encode(value).decode()}
    if kind == "BS":
        return {"BS": [base64.b64encode(each).decode() for each in value]}
    if kind == "L":
        return {"L": [json_wire(each) for each in value]}
    if kind == "M":
        return {"M": {name: json_wire(each) for name, each in value.items()}}
    return wire


def _left_out(table: Table) -> Iterator[str]:
    options = table.options
    for index in table.indexes:
        if isinstance(index, LocalIndex):
            yield f"{table.name}: the local index {index.name}"
        elif index.throughput is not None:
            yield f"{table.name}: the throughput of the index {index.name}"
    if table.ttl_attribute is not None:
        yield f"{table.name}: that {table.ttl_attribute} is its time to live"
    for name in options._fields:
        if name != "provisioned" and getattr(options, name) != options._field_defaults[name]:
            yield f"{table.name}: {name}"

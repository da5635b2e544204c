"""A design as a template of CloudFormation, with a resource AWS::DynamoDB::Table for each table.

The template is JSON, or YAML that says the same: of YAML only mappings, sequences and texts in double quotes are
written, which JSON's texts are as they stand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from torusdb.modeling.design.drafts import words
from torusdb.modeling.table import Table

FORMAT_VERSION: Final = "2010-09-09"


def cloudformation(tables: Sequence[Table]) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    for table in tables:
        resources[_logical_id(table, resources)] = {"Type": "AWS::DynamoDB::Table", **_retained(table)} | {
            "Properties": _properties(table)
        }
    return {"AWSTemplateFormatVersion": FORMAT_VERSION, "Resources": resources}


def as_json(template: dict[str, Any]) -> str:
    return json.dumps(template, indent=2, ensure_ascii=False) + "\n"


def as_yaml(template: dict[str, Any]) -> str:
    return "\n".join(_yaml(template, "")) + "\n"


def _logical_id(table: Table, taken: dict[str, Any]) -> str:
    """Letters and digits, which is all that one may have, and of each table its own."""
    name = "".join(word.capitalize() for word in words(table.name)) or "Table"
    found = f"{name}Table" if not name.endswith("Table") else name
    number = 2
    while found in taken:
        found, number = f"{name}Table{number}", number + 1
    return found


def _retained(table: Table) -> dict[str, str]:
    """A table that is protected from deletion stays as well when its stack goes, or when it has to be replaced."""
    if not table.options.deletion_protection:
        return {}
    return {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}


def _properties(table: Table) -> dict[str, Any]:
    """Those of CreateTable, but for what CloudFormation calls otherwise, and what the service sets in other calls."""
    properties = table.create_parameters()
    stream = properties.pop("StreamSpecification", None)
    if stream is not None:
        properties["StreamSpecification"] = {"StreamViewType": stream["StreamViewType"]}
    encryption = properties.pop("SSESpecification", None)
    if encryption is not None:
        properties["SSESpecification"] = {
            ("SSEEnabled" if name == "Enabled" else name): value for name, value in encryption.items()
        }
    if table.ttl_attribute is not None:
        properties["TimeToLiveSpecification"] = {"AttributeName": table.ttl_attribute, "Enabled": True}
    if table.options.point_in_time_recovery:
        properties["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
    return properties


def _yaml(value: Any, indent: str) -> Iterator[str]:
    """Of a mapping or a sequence that isn't empty."""
    pairs = value.items() if isinstance(value, dict) else ((None, each) for each in value)
    for name, each in pairs:
        start = f"{indent}{name}:" if name is not None else f"{indent}-"
        if not isinstance(each, dict | list):
            yield f"{start} {json.dumps(each)}"
        elif name is not None:
            yield start
            yield from _yaml(each, f"{indent}  ")
        else:
            first, *others = _yaml(each, f"{indent}  ")
            yield f"{start} {first.lstrip()}"
            yield from others

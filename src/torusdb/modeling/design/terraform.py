"""A design as configuration of Terraform, with a resource aws_dynamodb_table for each table.

Keys of indexes that have several attributes are written as `key_schema` blocks, which the AWS provider took on in
January 2026 (hashicorp/terraform-provider-aws#45357). In which release is not said there: users tell of them from 6.28
and 6.29 on, and PROVIDER_OF_KEY_SCHEMA is asked for. Keys of one attribute are written with `hash_key` and `range_key`,
which every version takes; newer ones warn of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from torusdb.modeling.design.drafts import Names, words
from torusdb.modeling.options import AWS_MANAGED_KEY
from torusdb.modeling.table import GlobalIndex, Index, LocalIndex, Table

PROVIDER_OF_KEY_SCHEMA: Final = "6.29.0"
_TEMPLATE = re.compile(r"([$%])\{")

Block = list[tuple[str, Any]]
"""Arguments and blocks in their order: a value that is a list of pairs is a block."""


def terraform(tables: Sequence[Table]) -> str:
    names = Names()
    lines: list[str] = []
    if any(_has_several(index) for table in tables for index in table.indexes):
        lines += [
            "terraform {",
            "  required_providers {",
            "    aws = {",
            '      source  = "hashicorp/aws"',
            f'      version = ">= {PROVIDER_OF_KEY_SCHEMA}"',
            "    }",
            "  }",
            "}",
            "",
        ]
    for table in tables:
        label = names.variable("_".join(words(table.name)), "table")
        lines += [f'resource "aws_dynamodb_table" {_text(label)} {{', *_block(_table(table), "  "), "}", ""]
    return "\n".join(lines[:-1]) + "\n"


def _has_several(index: Index) -> bool:
    return len(index.partition) > 1 or len(index.sort) > 1


def _table(table: Table) -> Block:
    options = table.options
    content: Block = [("name", table.name), ("billing_mode", options.billing_mode)]
    if options.provisioned is not None:
        content += _capacity(options.provisioned.provisioned())
    content.append(("hash_key", table.partition[0].name))
    if table.sort:
        content.append(("range_key", table.sort[0].name))
    if options.stream is not None:
        content += [("stream_enabled", True), ("stream_view_type", options.stream)]
    if options.table_class != "STANDARD":
        content.append(("table_class", options.table_class))
    if options.deletion_protection:
        content.append(("deletion_protection_enabled", True))
    if options.tags:
        content.append(("tags", dict(sorted(options.tags.items()))))
    content += [("attribute", [("name", name), ("type", kind)]) for name, kind in table.key_kinds.items()]
    content += [_index(table, index) for index in table.indexes]
    return [*content, *_settings(table)]


def _settings(table: Table) -> Block:
    options = table.options
    content: Block = []
    if options.on_demand_max is not None:
        content.append(("on_demand_throughput", _maximum(options.on_demand_max.on_demand())))
    if table.ttl_attribute is not None:
        content.append(("ttl", [("attribute_name", table.ttl_attribute), ("enabled", True)]))
    if options.point_in_time_recovery:
        content.append(("point_in_time_recovery", [("enabled", True)]))
    if options.kms_key is not None:
        own: Block = [] if options.kms_key == AWS_MANAGED_KEY else [("kms_key_arn", options.kms_key)]
        content.append(("server_side_encryption", [("enabled", True), *own]))
    return content


def _capacity(units: Mapping[str, int]) -> Block:
    return [("read_capacity", units["ReadCapacityUnits"]), ("write_capacity", units["WriteCapacityUnits"])]


def _maximum(units: Mapping[str, int]) -> Block:
    return [
        ("max_read_request_units", units["MaxReadRequestUnits"]),
        ("max_write_request_units", units["MaxWriteRequestUnits"]),
    ]


def _index(table: Table, index: Index) -> tuple[str, Block]:
    parameters = table.index_parameters(index)
    content: Block = [("name", index.name)]
    if isinstance(index, LocalIndex):
        content.append(("range_key", index.sort[0].name))
    elif _has_several(index):
        content += [
            ("key_schema", [("attribute_name", each["AttributeName"]), ("key_type", each["KeyType"])])
            for each in parameters["KeySchema"]
        ]
    else:
        content.append(("hash_key", index.partition[0].name))
        content += [("range_key", each.name) for each in index.sort]
    projection = parameters["Projection"]
    content.append(("projection_type", projection["ProjectionType"]))
    if "NonKeyAttributes" in projection:
        content.append(("non_key_attributes", projection["NonKeyAttributes"]))
    if "ProvisionedThroughput" in parameters:
        content += _capacity(parameters["ProvisionedThroughput"])
    if "OnDemandThroughput" in parameters:
        content.append(("on_demand_throughput", _maximum(parameters["OnDemandThroughput"])))
    return ("global" if isinstance(index, GlobalIndex) else "local") + "_secondary_index", content


def _block(content: Block, indent: str) -> Iterator[str]:
    """As `terraform fmt` has it: the arguments first, their signs below each other, then the blocks with an empty line
    before each."""
    arguments = [(name, value) for name, value in content if not _is_block(value)]
    width = max((len(name) for name, _ in arguments), default=0)
    for name, value in arguments:
        if isinstance(value, dict):
            yield f"{indent}{name} = {{"
            longest = max(len(_text(key)) for key in value)
            yield from (f"{indent}  {_text(key):{longest}} = {_text(text)}" for key, text in value.items())
            yield f"{indent}}}"
        else:
            yield f"{indent}{name:{width}} = {_value(value)}"
    for number, (name, value) in enumerate((name, value) for name, value in content if _is_block(value)):
        if arguments or number:
            yield ""
        yield f"{indent}{name} {{"
        yield from _block(value, f"{indent}  ")
        yield f"{indent}}}"


def _is_block(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], tuple)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, str):
        return _text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(text: str) -> str:
    """A text in quotes is written as in JSON; "${" and "%{" would begin a template, and are doubled."""
    return _TEMPLATE.sub(r"\1\1{", json.dumps(text, ensure_ascii=False))

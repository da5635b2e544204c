from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import pytest

from tests.jobs.by_hand import hand, things  # noqa: F401 (fixtures)
from torusdb import Database

IndexSpec: TypeAlias = tuple[str, str | list[str]]
"""The key, as in `"owner:S at:N"`, and the projection: ALL, KEYS_ONLY or the attributes included."""


class MakeTable(Protocol):
    def __call__(
        self,
        key: str = "pk:S",
        name: str = "Things",
        *,
        globally: Mapping[str, IndexSpec] = {},
        locally: Mapping[str, IndexSpec] = {},
        **more: Any,
    ) -> str: ...


def table_request(
    key: str, name: str, globally: Mapping[str, IndexSpec], locally: Mapping[str, IndexSpec], more: dict[str, Any]
) -> dict[str, Any]:
    """CreateTable's parameters. All keys are written as `"pk:S"` or `"pk:S sk:N"`, those of local indexes too; keys of
    more attributes have a bar between HASH and RANGE: `"country:S city:S | street:S number:N"`."""
    types: dict[str, str] = {}
    request = {"TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": _key_schema(key, types), **more}
    for member, indexes in (("GlobalSecondaryIndexes", globally), ("LocalSecondaryIndexes", locally)):
        if indexes:
            request[member] = [
                {"IndexName": index, "KeySchema": _key_schema(its_key, types), "Projection": _projection(projected)}
                for index, (its_key, projected) in indexes.items()
            ]
    request["AttributeDefinitions"] = [
        {"AttributeName": attribute, "AttributeType": kind} for attribute, kind in types.items()
    ]
    return request


def _key_schema(key: str, types: dict[str, str]) -> list[dict[str, str]]:
    hash_part, bar, range_part = key.partition("|")
    if not bar:
        hash_part, _, range_part = key.partition(" ")
    schema = []
    for key_type, part in (("HASH", hash_part), ("RANGE", range_part)):
        for attribute, _, kind in (attribute.partition(":") for attribute in part.split()):
            types[attribute] = kind
            schema.append({"AttributeName": attribute, "KeyType": key_type})
    return schema


def _projection(projected: str | list[str]) -> dict[str, Any]:
    if isinstance(projected, str):
        return {"ProjectionType": projected}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": projected}


@pytest.fixture
def make_table(db: Database) -> MakeTable:
    """`make_table("pk:S sk:N", globally={"by_owner": ("owner:S", "ALL")})` makes a table and gives its name."""

    def make(
        key: str = "pk:S",
        name: str = "Things",
        *,
        globally: Mapping[str, IndexSpec] = {},
        locally: Mapping[str, IndexSpec] = {},
        **more: Any,
    ) -> str:
        db.call("CreateTable", table_request(key, name, globally, locally, more))
        return name

    return make


@pytest.fixture
def table(make_table: MakeTable) -> str:
    """A table named Things with the partition key `pk`, a string."""
    return make_table()

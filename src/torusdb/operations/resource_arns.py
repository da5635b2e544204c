"""Resources by their ARN: what operations on tags and policies take in place of a table's name.

What is wrong with an ARN decides how it is refused: one of another service or another account is denied, before its
region is looked at (ExtendDB #227, checked against the service in July 2026). That tells the types of the errors; the
words are dynalite's, but for those that a comment says are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from torusdb.api.names import broken_rules
from torusdb.errors import AccessDeniedException, ResourceNotFoundException, ValidationException
from torusdb.model.schema import Table
from torusdb.operations.catalog import Catalog

_TABLE = "table/"
_STREAM = "/stream/"
_PARTS = 6


@dataclass(frozen=True, slots=True)
class Resource:
    """A table, or a stream of it."""

    table: Table
    stream_label: str | None = None


def tagged_table(catalog: Catalog, arn: str, operation: str) -> str:
    """The name of the table that the ARN is of. An index or a stream has no tags of its own."""
    name = _resource_of(catalog, arn, operation).removeprefix(_TABLE)
    _check_name(name, arn)
    return name


def governed_resource(catalog: Catalog, arn: str, operation: str) -> Resource:
    """The table or the stream that the ARN is of. The policy of an index is its table's (API reference,
    "PutResourcePolicy")."""
    name, _, label = _resource_of(catalog, arn, operation).removeprefix(_TABLE).partition(_STREAM)
    _check_name(name, arn)
    table = catalog.find(name)
    if table is None or (label and label not in streams_of(catalog, table)):
        raise not_found(arn)
    return Resource(table, label or None)


def streams_of(catalog: Catalog, table: Table) -> list[str]:
    """The labels of the table's streams that are kept: the latest, and those that ended less than a day ago."""
    return [stream.label for stream in catalog.streams.values() if stream.table_id == table.table_id]


def not_found(arn: str) -> ResourceNotFoundException:
    """The slip in it is the service's (steampipe-plugin-aws #1516; dynalite)."""
    return ResourceNotFoundException(f"Requested resource not found: ResourcArn: {arn} not found")


def _resource_of(catalog: Catalog, arn: str, operation: str) -> str:
    """The last part of the ARN: `table/NAME`, and what there may be behind."""
    if not arn.startswith("arn:"):
        # That this is told apart is known, its exact words are not.
        raise ValidationException(f"ARNs must start with 'arn:': {arn}")
    parts = arn.split(":", _PARTS - 1)
    if len(parts) < _PARTS or parts[2] != "dynamodb" or parts[4] != catalog.account:
        raise AccessDeniedException(
            f"User: arn:aws:iam::{catalog.account}:root is not authorized to perform: dynamodb:{operation} "
            f"on resource: {arn}"
        )
    if parts[3] != catalog.region or not parts[5].startswith(_TABLE):
        raise _invalid(arn)
    return parts[5]


def _check_name(name: str, arn: str) -> None:
    if broken_rules("create", name):
        raise _invalid(arn)


def _invalid(arn: str) -> ValidationException:
    return ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")

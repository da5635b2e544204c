"""The tables of a migration: looked at, made, and waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from torusdb.modeling.migrations.driving import Means
from torusdb.modeling.migrations.errors import MigrationError
from torusdb.modeling.steps import error_code
from torusdb.modeling.table import Table
from torusdb.streams.calls import attempt

WAIT_SECONDS: Final = 1.0
WAITS_MAX: Final = 600
NOT_FOUND: Final = "ResourceNotFoundException"

Description = dict[str, Any]


def describe(table: Table, means: Means) -> Description:
    """Raises MigrationError where it isn't there, or has another key."""
    found = find(table.name, means)
    if found is None:
        raise MigrationError(f"There is no table {table.name}")
    keys = [each["AttributeName"] for each in found["KeySchema"]]
    if keys != table.key_names():
        raise MigrationError(
            f"The table {table.name} has the key {' and '.join(keys)}, and is declared with "
            f"{' and '.join(table.key_names())}"
        )
    return found


def identity(found: Description) -> str:
    """Of a table as it is described: one of the same name at another endpoint, or made again, has another."""
    return f"{found['TableArn']} {found.get('TableId', '')}".strip()


def ensure(table: Table, means: Means) -> Description:
    """Makes it from its declaration if it isn't there, and waits until it can be used."""
    if find(table.name, means) is None:
        try:
            means.client.create_table(**table.create_parameters())
        except Exception as error:
            if error_code(error) != "ResourceInUseException":  # another run was quicker
                raise
    _wait_for_table(table.name, means)
    return describe(table, means)


def ensure_stream(table: Table, means: Means) -> str:
    """The ARN of the table's stream, which is switched on if there is none."""
    found = describe(table, means)
    if not found.get("StreamSpecification", {}).get("StreamEnabled"):
        means.client.update_table(
            TableName=table.name, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        )
        _wait_for_table(table.name, means)
        found = describe(table, means)
    arn: str = found["LatestStreamArn"]
    _wait(lambda: _stream_status(arn, means) == "ENABLED", f"The stream of {table.name}", means)
    return arn


def remove(name: str, means: Means) -> bool:
    """Whether it was there."""
    try:
        means.client.delete_table(TableName=name)
    except Exception as error:
        if error_code(error) != NOT_FOUND:
            raise
        return False
    return True


def find(name: str, means: Means) -> Description | None:
    try:
        found: Description = attempt(means.wait, means.client.describe_table, TableName=name)["Table"]
    except Exception as error:
        if error_code(error) != NOT_FOUND:
            raise
        return None
    return found


def _wait_for_table(name: str, means: Means) -> None:
    _wait(lambda: (find(name, means) or {}).get("TableStatus") == "ACTIVE", f"The table {name}", means)


def _stream_status(arn: str, means: Means) -> str:
    answer = attempt(means.wait, means.streams.describe_stream, StreamArn=arn)
    return str(answer["StreamDescription"]["StreamStatus"])


def _wait(is_ready: Callable[[], bool], what: str, means: Means) -> None:
    for _ in range(WAITS_MAX):
        if is_ready():
            return
        means.wait(WAIT_SECONDS)
    raise MigrationError(f"{what} cannot be used after {WAITS_MAX} seconds")

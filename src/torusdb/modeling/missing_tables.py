"""What a program is told whose table is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torusdb.modeling.errors import TableNotFound
from torusdb.modeling.steps import Request, error_code

NOT_FOUND: Final = "ResourceNotFoundException"


def raise_missing_table(error: Exception, request: Request) -> None:
    """For a client's exception; returns if it is another one. (The service does not name the table.)"""
    if error_code(error) != NOT_FOUND:
        return
    names = list(dict.fromkeys(_tables(request)))
    if names:
        what = (
            f"There is no table {names[0]}" if len(names) == 1 else f"One of the tables {', '.join(names)} is not there"
        )
        raise TableNotFound(
            f"{what}: make it with store.create_table(), or say with table_name= what it is called here",
            error.response,  # type: ignore[attr-defined]  # error_code has found it
        ) from error


def _tables(request: Request) -> Iterator[str]:
    parameters = request.parameters
    if "TableName" in parameters:
        yield parameters["TableName"]
    yield from parameters.get("RequestItems", ())
    for member in parameters.get("TransactItems", ()):
        for action in member.values():
            yield action["TableName"]

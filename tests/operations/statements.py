"""What the tests of PartiQL have in common: statements run in a few words, and items as plain values."""

from __future__ import annotations

from typing import Any

from tests.operations.reads import Item, value_of
from torusdb import Database


def run(db: Database, statement: str, *parameters: Any, **more: Any) -> dict[str, Any]:
    """ExecuteStatement's answer. Parameters are strings, numbers, binaries, or values as the API writes them."""
    request = {"Statement": statement, **more}
    if parameters:
        request["Parameters"] = wire_parameters(parameters)
    answer: dict[str, Any] = db.call("ExecuteStatement", request)
    return answer


def wire_parameters(parameters: tuple[Any, ...]) -> list[Item]:
    return [each if isinstance(each, dict) else value_of(each) for each in parameters]


def select(db: Database, statement: str, *parameters: Any, **more: Any) -> list[dict[str, Any]]:
    """The items of the first page."""
    return plain(run(db, statement, *parameters, **more)["Items"])


def plain(items: list[Item]) -> list[dict[str, Any]]:
    """Scalars without their types; numbers as written."""
    return [{name: _bare(value) for name, value in item.items()} for item in items]


def _bare(value: dict[str, Any]) -> Any:
    [(kind, content)] = value.items()
    return value if kind in ("L", "M", "SS", "NS", "BS") else content


def units(db: Database, statement: str, *parameters: Any, **more: Any) -> float:
    """The capacity that the first page consumed."""
    answer = run(db, statement, *parameters, ReturnConsumedCapacity="TOTAL", **more)
    capacity: float = answer["ConsumedCapacity"]["CapacityUnits"]
    return capacity


def all_pages(db: Database, statement: str, *parameters: Any, **more: Any) -> list[dict[str, Any]]:
    """The pages as a client gets them that follows NextToken."""
    pages = [run(db, statement, *parameters, **more)]
    while "NextToken" in pages[-1]:
        pages.append(run(db, statement, *parameters, NextToken=pages[-1]["NextToken"], **more))
    return pages

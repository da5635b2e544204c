"""What the tests of transactions have in common: members in a few words, and the reasons of a cancelled one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.operations.shorthand import S
from torusdb import Database
from torusdb.errors import TransactionCanceledException

Member = dict[str, Any]
FAILED = ("ConditionalCheckFailed", "The conditional request failed")
NONE = ("None", None)


def key(pk: Any) -> dict[str, Any]:
    return {"pk": S(pk) if isinstance(pk, str) else pk}


def put(table: str, pk: Any, /, **attributes: Any) -> Member:
    """Names in capitals are parameters of the action: `ConditionExpression`."""
    parameters, rest = _split(attributes)
    return {"Put": {"TableName": table, "Item": {**key(pk), **rest}, **parameters}}


def delete(table: str, pk: Any, /, **parameters: Any) -> Member:
    return {"Delete": {"TableName": table, "Key": key(pk), **parameters}}


def check(table: str, pk: Any, expression: str, /, **parameters: Any) -> Member:
    return {"ConditionCheck": {"TableName": table, "Key": key(pk), "ConditionExpression": expression, **parameters}}


def update(table: str, pk: Any, expression: str, values: dict[str, Any] | None = None, /, **parameters: Any) -> Member:
    action = {"TableName": table, "Key": key(pk), "UpdateExpression": expression, **parameters}
    if values is not None:
        action["ExpressionAttributeValues"] = values
    return {"Update": action}


def get(table: str, pk: Any, /, **parameters: Any) -> Member:
    return {"Get": {"TableName": table, "Key": key(pk), **parameters}}


def _split(attributes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    parameters = {name: value for name, value in attributes.items() if name[0].isupper()}
    return parameters, {name: value for name, value in attributes.items() if name not in parameters}


def write(db: Database, *members: Member, **parameters: Any) -> dict[str, Any]:
    return db.call("TransactWriteItems", {"TransactItems": list(members), **parameters})


def stored(db: Database, table: str, pk: Any) -> Any:
    return db.call("GetItem", {"TableName": table, "Key": key(pk), "ConsistentRead": True}).get("Item")


def reasons(error: TransactionCanceledException) -> list[dict[str, Any]]:
    """The reasons; the message must name their codes."""
    found: list[dict[str, Any]] = error.members["CancellationReasons"]
    codes = ", ".join(reason["Code"] for reason in found)
    assert error.message == (f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]")
    return found


def cancelled(db: Database, *members: Member, operation: str = "TransactWriteItems") -> list[tuple[str, str | None]]:
    """The code and message of each reason for which the transaction must be cancelled."""
    with pytest.raises(TransactionCanceledException) as caught:
        db.call(operation, {"TransactItems": list(members)})
    return [(reason["Code"], reason.get("Message")) for reason in reasons(caught.value)]

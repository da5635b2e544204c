"""What an expression does with an item, as a client of the API sees it. Items and values are plain Python: `{"n": 1}`
for `{"n": {"N": "1"}}`, sets for sets, bytes for binaries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import pytest
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from torusdb import Database
from torusdb.errors import ConditionalCheckFailedException, ValidationException

Plain: TypeAlias = Mapping[str, Any]

TABLE = "Things"
KEY = {"pk": {"S": "one"}}
ANNOUNCEMENT = "1 validation error detected: "


def wire(plain: Any) -> dict[str, Any]:
    """A plain value as an attribute value."""
    value: dict[str, Any] = TypeSerializer().serialize(plain)
    return value


def wire_item(plain: Plain) -> dict[str, dict[str, Any]]:
    return {name: wire(value) for name, value in plain.items()}


def plain_item(item: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {name: TypeDeserializer().deserialize(value) for name, value in item.items()}


def placeholders(values: Plain | None = None, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The request's parameters for names and values, without those that are empty."""
    parameters: dict[str, Any] = {}
    if values:
        parameters["ExpressionAttributeValues"] = wire_item(values)
    if names:
        parameters["ExpressionAttributeNames"] = dict(names)
    return parameters


def those_in(text: str, known: Plain) -> dict[str, Any]:
    """The values that an expression refers to: the service refuses what no expression uses."""
    return {name: known[name] for name in re.findall(r":\w+", text)}


class OneItem:
    """A table with one item or none."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.db.call(
            "CreateTable",
            {
                "TableName": TABLE,
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )

    def put(self, item: Plain | None) -> None:
        """Makes this the item, or that there is none."""
        if item is None:
            self.call("DeleteItem")
        else:
            self.db.call("PutItem", {"TableName": TABLE, "Item": KEY | wire_item(item)})

    def get(self) -> dict[str, Any] | None:
        """The item without its key."""
        return self._shown(self.call("GetItem").get("Item"))

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """An operation on the item's key."""
        return self.db.call(operation, {"TableName": TABLE, "Key": KEY, **parameters})

    def refusal(self, operation: str, **parameters: Any) -> str:
        """The message of the ValidationException that the operation answers with, its announcement left out."""
        with pytest.raises(ValidationException) as caught:
            self.call(operation, **parameters)
        return (caught.value.message or "").removeprefix(ANNOUNCEMENT)

    # Conditions.

    def matches(self, text: str, values: Plain | None = None, names: Mapping[str, str] | None = None) -> bool:
        """Whether a write on this condition goes through."""
        return self.holds(ConditionExpression=text, **placeholders(values, names))

    def holds(self, **condition: Any) -> bool:
        try:
            self.call("UpdateItem", **condition)
        except ConditionalCheckFailedException:
            return False
        return True

    def condition_refusal(self, text: str, values: Plain | None = None, names: Mapping[str, str] | None = None) -> str:
        message = self.refusal("DeleteItem", ConditionExpression=text, **placeholders(values, names))
        prefix, colon, reason = message.partition("Invalid ConditionExpression: ")
        return reason if colon and not prefix else message

    # Updates.

    def update(self, text: str, values: Plain | None = None, names: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The item after the update, without its key."""
        self.call("UpdateItem", UpdateExpression=text, **placeholders(values, names))
        item = self.get()
        assert item is not None
        return item

    def update_refusal(self, text: str, values: Plain | None = None, names: Mapping[str, str] | None = None) -> str:
        message = self.refusal("UpdateItem", UpdateExpression=text, **placeholders(values, names))
        prefix, colon, reason = message.partition("Invalid UpdateExpression: ")
        return reason if colon and not prefix else message

    def updated(self, returned: str, text: str, values: Plain | None = None) -> dict[str, Any] | None:
        """The Attributes of the answer: `returned` is ReturnValues."""
        answer = self.call("UpdateItem", UpdateExpression=text, ReturnValues=returned, **placeholders(values))
        return self._shown(answer.get("Attributes"))

    # Projections.

    def projected(self, text: str, names: Mapping[str, str] | None = None) -> dict[str, Any]:
        answer = self.call("GetItem", ProjectionExpression=text, **placeholders(None, names))
        return plain_item(answer["Item"])

    @staticmethod
    def _shown(item: Mapping[str, dict[str, Any]] | None) -> dict[str, Any] | None:
        if item is None:
            return None
        return {name: value for name, value in plain_item(item).items() if name != "pk"}

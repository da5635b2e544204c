"""Bodies that are valid JSON and made to hold up the server: how much of them is looked at, and told back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torusdb.api import coercion, constraints
from torusdb.api.coercion import ELEMENTS_BEYOND_MAX
from torusdb.api.decode import decode
from torusdb.api.rendering import CUT, KEY_CHARACTERS_MAX, VALUE_CHARACTERS_MAX
from torusdb.errors import MESSAGE_CHARACTERS_MAX, ServiceError, ValidationException

MANY = ELEMENTS_MAX = 20_000
TABLES_MAX = KEYS_MAX = 100
WRITES_MAX = 25


def refused(operation: str, body: dict[str, Any]) -> str:
    with pytest.raises(ServiceError) as caught:
        decode(operation, json.dumps(body).encode())
    message = caught.value.message
    assert message is not None
    return message


@pytest.fixture
def coerced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The shapes of the values that the general way of the first stage has looked at."""
    seen: list[str] = []
    coerce = coercion.coerce

    def counting(value: Any, name: str, nested: bool) -> Any:
        seen.append(name)
        return coerce(value, name, nested)

    monkeypatch.setattr(coercion, "coerce", counting)
    return seen


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the elements that the second stage has looked at."""
    seen: list[str] = []
    element = constraints._Walk.element

    def counting(self: constraints._Walk, name: str, value: Any, path: str, key: str) -> None:
        seen.append(path)
        element(self, name, value, path, key)

    monkeypatch.setattr(constraints._Walk, "element", counting)
    return seen


@pytest.mark.parametrize(
    ("operation", "content", "tables_max", "shape"),
    [
        ("BatchGetItem", {"Keys": [{"a": {"S": "x"}}]}, TABLES_MAX, "KeysAndAttributes"),
        ("BatchWriteItem", [{"DeleteRequest": {"Key": {"a": {"S": "x"}}}}], WRITES_MAX, "WriteRequests"),
    ],
)
def test_tables_far_beyond_the_limit_are_neither_looked_at_nor_told(
    coerced: list[str], checked: list[str], operation: str, content: Any, tables_max: int, shape: str
) -> None:
    message = refused(operation, {"RequestItems": {f"table{n}": content for n in range(MANY)}})
    assert message.endswith(f"constraint: Member must have length less than or equal to {tables_max}")
    assert coerced.count(shape) == tables_max + ELEMENTS_BEYOND_MAX
    assert len(checked) <= 2 * (tables_max + ELEMENTS_BEYOND_MAX)
    assert len(message) < VALUE_CHARACTERS_MAX + 1000


def test_keys_far_beyond_the_limit_are_not_looked_at(coerced: list[str]) -> None:
    keys = [{"a": {"N": str(n)}} for n in range(MANY)]
    message = refused("BatchGetItem", {"RequestItems": {"abc": {"Keys": keys}}})
    assert message.startswith("1 validation error detected: Value at 'RequestItems.abc.member.Keys'")
    assert coerced.count("Key") == KEYS_MAX + ELEMENTS_BEYOND_MAX


def test_a_little_beyond_the_limit_all_is_looked_at_and_told() -> None:
    tables: dict[str, Any] = {f"table{n}": [{"DeleteRequest": {"Key": {"a": {"S": str(n)}}}}] for n in range(400)}
    message = refused("BatchWriteItem", {"RequestItems": tables})
    assert all(f"{name}=[WriteRequest(" in message for name in tables)
    assert CUT not in message
    tables["table399"] = [1]
    assert refused("BatchWriteItem", {"RequestItems": tables}) == "Unexpected value type in payload"


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("CreateTable", {"AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}]}),
        ("CreateTable", {"Tags": [{"Key": "a", "Value": ""}]}),
        ("GetItem", {"Key": {}, "AttributesToGet": ["a"]}),
        ("Scan", {"ScanFilter": {"a": {"ComparisonOperator": "NULL"}}}),
        ("PutItem", {"Item": {}, "Expected": {"a": {"Exists": False}}}),
    ],
)
def test_lists_and_maps_without_limit_have_one_of_ours(operation: str, members: dict[str, Any]) -> None:
    name, content = list(members.items())[-1]
    elements = (
        [content[0]] * ELEMENTS_MAX if isinstance(content, list) else dict.fromkeys(map(str, range(MANY)), content["a"])
    )
    whole = {"TableName": "abc", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "AttributeDefinitions": []}
    whole |= {**members, name: elements}
    decode(operation, json.dumps(whole).encode())
    if isinstance(elements, list):
        elements.append(elements[0])
    else:
        elements["one more"] = elements["0"]
    message = refused(operation, whole)
    assert message.endswith(f"constraint: Member must have length less than or equal to {ELEMENTS_MAX}")


def test_elements_are_checked_until_the_message_is_full(checked: list[str]) -> None:
    refused("CreateTable", {"TableName": "abc", "AttributeDefinitions": [{}] * MANY})
    assert len(checked) <= constraints.VIOLATIONS_MAX


def test_what_large_items_are_made_of_takes_the_short_way(coerced: list[str], checked: list[str]) -> None:
    values = [{"S": "x"}, {"N": "1"}, {"BOOL": True}, {"NULL": True}, {}, None, {"L": [{"S": ""}]}, {"M": {"a": {}}}]
    item = {"a": {"L": values * 100}, "b": {"M": {str(n): values[0] for n in range(100)}}, "c": {"SS": ["x"] * 100}}
    request: Any = decode("PutItem", json.dumps({"TableName": "abc", "Item": item, "ReturnValues": None}).encode())
    assert request.item == {**item, "a": {"L": [value or {} for value in values] * 100}}
    assert len(coerced) < 20
    assert checked == []


def test_long_names_and_texts_are_told_cut() -> None:
    name = "x" * (2 * VALUE_CHARACTERS_MAX)
    message = refused("GetItem", {"TableName": name, "Key": {}})
    assert f"Value '{name[:VALUE_CHARACTERS_MAX]}{CUT}' at 'tableName'" in message
    key = "k" * (2 * KEY_CHARACTERS_MAX)
    message = refused("Query", {"TableName": "abc", "KeyConditions": {key: {}}})
    assert f"at 'keyConditions.{key[:KEY_CHARACTERS_MAX]}{CUT}.member.comparisonOperator'" in message


def test_no_message_is_longer_than_the_limit() -> None:
    assert ValidationException("x" * MESSAGE_CHARACTERS_MAX + "y").message == "x" * MESSAGE_CHARACTERS_MAX

"""Bodies that are no JSON, or JSON of the wrong types: the first stage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torusdb.api.decode import decode, from_python
from torusdb.api.requests import (
    BatchGetItemRequest,
    CreateTableRequest,
    GetItemRequest,
    PutItemRequest,
    ScanRequest,
)
from torusdb.errors import SerializationException, ValidationException

ATTRIBUTE_VALUE = "com.amazonaws.dynamodb.v20120810.AttributeValue"
CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
    "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base "
    "of loader 'bootstrap')"
)


def refused(operation: str, body: bytes | dict[str, Any]) -> SerializationException:
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    with pytest.raises(SerializationException) as caught:
        decode(operation, body)
    return caught.value


def nested(levels: int) -> bytes:
    return b'{"M":{"a":' * levels + b'{"S":""}' + b"}}" * levels


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b" \n", id="white space"),
        pytest.param(b"null", id="null"),
        pytest.param(b"1", id="number"),
        pytest.param(b'"text"', id="string"),
        pytest.param(b"[]", id="array"),
        pytest.param(b"{", id="truncated"),
        pytest.param(b'{"TableName":"abc","Key":{}}}', id="too much"),
        pytest.param(b'{"TableName":"abc","Key":{},}', id="comma"),
        pytest.param(b"\xef\xbb\xbf{}", id="byte order mark"),
        pytest.param(b"\xff\xfe{\x00}\x00", id="UTF-16"),
        pytest.param(b'{"TableName":"abc","Key":{"a":{"S":"\xff"}}}', id="invalid UTF-8"),
        pytest.param(b'{"TableName":"abc","Key":{"a":{"S":"\xed\xa0\x80"}}}', id="surrogate in UTF-8"),
        pytest.param(b'{"TableName":"abc","Key":{"a":{"S":"\\ud800"}}}', id="half of a surrogate pair"),
        pytest.param(b'{"TableName":"abc","Key":{"\\udc00":{"S":"a"}}}', id="the other half"),
        pytest.param(b'{"TableName":"a\x01c","Key":{}}', id="control character"),
        pytest.param(b'{"TableName":"abc","Key":{},"ConsistentRead":NaN}', id="NaN"),
        pytest.param(b'{"TableName":"abc","Key":{},"ConsistentRead":01}', id="leading zero"),
        pytest.param(b"[" * 100_000, id="deep arrays"),
        pytest.param(b'{"a":' * 100_000, id="deep objects"),
        pytest.param(b'{"TableName":' + b"[" * 100_000, id="deep in a known member"),
        pytest.param(b'{"Unknown":' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="deep in an unknown member"),
        pytest.param(b'{"TableName":"abc","Key":{"a":' + nested(20_000) + b"}}", id="deep values"),
        pytest.param(b'{"' + b'\\"' * 100_000 + b"[" * 300, id="unterminated string"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused_without_a_message(body: bytes) -> None:
    assert refused("GetItem", body).message is None


def test_brackets_in_strings_are_not_depth() -> None:
    text = "[{" * 1000 + '\\"'
    body = f'{{"TableName":"abc","Key":{{"a":{{"S":"{text}"}}}},"ConsistentRead":"true"}}'.encode()
    request = decode("GetItem", body)
    assert isinstance(request, GetItemRequest)
    assert request.key == {"a": {"S": "[{" * 1000 + '"'}}


def test_nesting_beyond_the_service_s_levels_is_left_to_the_checks_of_values() -> None:
    request = decode("PutItem", b'{"TableName":"abc","Item":{"a":' + nested(60) + b'},"ReturnValues":null}')
    assert isinstance(request, PutItemRequest)


STRINGS = [
    (1, "NUMBER_VALUE cannot be converted to String"),
    (1.5, "DECIMAL_VALUE cannot be converted to String"),
    (1.0, "DECIMAL_VALUE cannot be converted to String"),
    (True, "TRUE_VALUE cannot be converted to String"),
    (False, "FALSE_VALUE cannot be converted to String"),
    ([], "Unrecognized collection type class java.lang.String"),
    ({}, "Start of structure or map found where not expected"),
]


@pytest.mark.parametrize(("value", "message"), STRINGS)
def test_strings(value: object, message: str) -> None:
    assert refused("GetItem", {"TableName": value}).message == message
    assert refused("PutItem", {"TableName": "abc", "Item": {"a": {"S": value}}}).message == message
    assert refused("PutItem", {"TableName": "abc", "Item": {"a": {"N": value}}}).message == message
    assert refused("PutItem", {"TableName": "abc", "Item": {"a": {"SS": [value]}}}).message == message
    assert refused("Query", {"TableName": "abc", "AttributesToGet": [value]}).message == message
    assert refused("Query", {"TableName": "abc", "ExpressionAttributeNames": {"#a": value}}).message == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1, "NUMBER_VALUE cannot be converted to Boolean"),
        (1.5, "DECIMAL_VALUE cannot be converted to Boolean"),
        ("maybe", "Unexpected token received from parser"),
        ([], "Unrecognized collection type class java.lang.Boolean"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_booleans(value: object, message: str) -> None:
    assert refused("GetItem", {"TableName": "abc", "Key": {}, "ConsistentRead": value}).message == message
    assert refused("PutItem", {"TableName": "abc", "Item": {"a": {"BOOL": value}}}).message == message
    assert refused("PutItem", {"TableName": "abc", "Item": {"a": {"NULL": value}}}).message == message


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("TRUE", True), ("yes", True), ("1", True), ("false", False), ("No", False), ("0", False)],
)
def test_booleans_may_be_text(text: str, value: bool) -> None:
    body = json.dumps({"TableName": "abc", "Key": {}, "ConsistentRead": text}).encode()
    request = decode("GetItem", body)
    assert isinstance(request, GetItemRequest)
    assert request.consistent_read is value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1", "STRING_VALUE cannot be converted to {}"),
        (True, "TRUE_VALUE cannot be converted to {}"),
        (False, "FALSE_VALUE cannot be converted to {}"),
        ([], "Unrecognized collection type class java.lang.{}"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_integers(value: object, message: str) -> None:
    assert refused("Scan", {"TableName": "abc", "Limit": value}).message == message.format("Integer")
    throughput = {"ReadCapacityUnits": value, "WriteCapacityUnits": 1}
    refusal = refused("UpdateTable", {"TableName": "abc", "ProvisionedThroughput": throughput})
    assert refusal.message == message.format("Long")


@pytest.mark.parametrize(
    ("written", "limit"),
    [
        (b"7", 7),
        (b"7.9", 7),
        (b"7e2", 700),
        (b"2147483648", 2147483647),
        (b"1e999", 2147483647),
        (b"9" * 400, 2147483647),
        (b"9" * 10_000, 2147483647),
    ],
)
def test_integers_are_cut_to_what_their_type_holds(written: bytes, limit: int) -> None:
    request = decode("Scan", b'{"TableName":"abc","Limit":' + written + b"}")
    assert isinstance(request, ScanRequest)
    assert request.limit == limit


BASE64_LENGTH = "Base64 encoded length is expected a multiple of 4 bytes but found: {}"
BASE64_LETTER = "Invalid last non-pad Base64 character dectected"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1, "only base-64-encoded strings are convertible to bytes"),
        (True, "only base-64-encoded strings are convertible to bytes"),
        ([], "Unrecognized collection type class java.nio.ByteBuffer"),
        ({}, "Start of structure or map found where not expected"),
        ("aGVsbG8", BASE64_LENGTH.format(7)),
        ("a", BASE64_LENGTH.format(1)),
        ("aGVsbG9=", BASE64_LETTER),
        ("aGVsbG8vaB==", BASE64_LETTER),
        ("a*==", BASE64_LETTER),
        ("====", BASE64_LETTER),
        ("aGéa", BASE64_LETTER),
        ("aG_-", BASE64_LETTER),
    ],
)
def test_binaries(value: object, message: str) -> None:
    assert refused("PutItem", {"TableName": "abc", "Item": {"a": {"B": value}}}).message == message
    assert refused("PutItem", {"TableName": "abc", "Item": {"a": {"BS": ["", value]}}}).message == message


def test_escapes_do_not_hide_bits_left_over() -> None:
    body = b'{"TableName":"abc","Item":{"a":{"B":"aGVsbG9\\u003d"}}}'
    assert refused("PutItem", body).message == BASE64_LETTER


def test_binaries_are_bytes_in_memory() -> None:
    request = decode("PutItem", b'{"TableName":"abc","Item":{"a":{"B":"aGVsbG8="},"b":{"BS":["aA==","\\/+A="]}}}')
    assert isinstance(request, PutItemRequest)
    assert request.item == {"a": {"B": b"hello"}, "b": {"BS": [b"h", b"\xff\xe0"]}}


@pytest.mark.parametrize("scalar", [1, 1.5, True, "text"])
def test_scalars_for_collections(scalar: object) -> None:
    def message(operation: str, **members: object) -> str | None:
        return refused(operation, {"TableName": "abc", **members}).message

    assert message("CreateTable", KeySchema=scalar) == "Unexpected field type"
    assert message("CreateTable", KeySchema=[scalar]) == "Unexpected value type in payload"
    assert message("CreateTable", ProvisionedThroughput=scalar) == "Unexpected field type"
    assert message("PutItem", Item=scalar) == "Unexpected field type"
    assert message("PutItem", Item={"a": scalar}) == "Unexpected value type in payload"
    assert message("PutItem", Item={"a": {"L": scalar}}) == "Unexpected field type"
    assert message("PutItem", Item={"a": {"L": [scalar]}}) == "Unexpected value type in payload"
    assert message("PutItem", Item={"a": {"M": scalar}}) == "Unexpected field type"
    assert message("PutItem", Item={"a": {"M": {"b": scalar}}}) == "Unexpected value type in payload"
    assert message("PutItem", Item={"a": {"SS": scalar}}) == "Unexpected field type"
    assert message("PutItem", Expected={"a": {"Value": scalar}}) == "Unexpected field type"
    assert message("BatchGetItem", RequestItems={"abc": scalar}) == "Unexpected value type in payload"
    assert message("BatchGetItem", RequestItems={"abc": {"Keys": [scalar]}}) == CAST
    assert message("BatchWriteItem", RequestItems={"abc": scalar}) == CAST
    assert message("BatchWriteItem", RequestItems={"abc": [scalar]}) == "Unexpected value type in payload"


@pytest.mark.parametrize(
    ("operation", "members", "type_name"),
    [
        ("PutItem", {"Item": []}, f"java.util.Map<java.lang.String, {ATTRIBUTE_VALUE}>"),
        ("PutItem", {"Item": {"a": []}}, f"class {ATTRIBUTE_VALUE}"),
        ("PutItem", {"Item": {"a": {"M": []}}}, f"java.util.Map<java.lang.String, {ATTRIBUTE_VALUE}>"),
        ("PutItem", {"Item": {"a": {"L": [[]]}}}, f"class {ATTRIBUTE_VALUE}"),
        ("PutItem", {"ExpressionAttributeNames": []}, "java.util.Map<java.lang.String, java.lang.String>"),
        (
            "PutItem",
            {"Expected": []},
            "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.ExpectedAttributeValue>",
        ),
        (
            "Query",
            {"QueryFilter": []},
            "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.Condition>",
        ),
        ("Query", {"KeyConditions": {"a": []}}, "class com.amazonaws.dynamodb.v20120810.Condition"),
        ("CreateTable", {"KeySchema": [[]]}, "class com.amazonaws.dynamodb.v20120810.KeySchemaElement"),
        (
            "CreateTable",
            {"ProvisionedThroughput": []},
            "class com.amazonaws.dynamodb.v20120810.ProvisionedThroughput",
        ),
        (
            "UpdateTable",
            {"GlobalSecondaryIndexUpdates": [{"Create": []}]},
            "class com.amazonaws.dynamodb.v20120810.CreateGlobalSecondaryIndexAction",
        ),
        (
            "BatchGetItem",
            {"RequestItems": {"abc": {"Keys": [[]]}}},
            f"java.util.Map<java.lang.String, {ATTRIBUTE_VALUE}>",
        ),
        (
            "BatchWriteItem",
            {"RequestItems": []},
            "java.util.Map<java.lang.String, java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>",
        ),
        (
            "BatchWriteItem",
            {"RequestItems": {"abc": [{"PutRequest": []}]}},
            "class com.amazonaws.dynamodb.v20120810.PutRequest",
        ),
    ],
)
def test_arrays_for_maps_and_structures(operation: str, members: dict[str, Any], type_name: str) -> None:
    refusal = refused(operation, {"TableName": "abc", **members})
    assert refusal.message == f"Unrecognized collection type {type_name}"


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("CreateTable", {"KeySchema": {}}),
        ("PutItem", {"Item": {"a": {"L": {}}}}),
        ("PutItem", {"Item": {"a": {"NS": {}}}}),
        ("BatchWriteItem", {"RequestItems": {"abc": {}}}),
    ],
)
def test_objects_for_lists(operation: str, members: dict[str, Any]) -> None:
    refusal = refused(operation, {"TableName": "abc", **members})
    assert refusal.message == "Start of structure or map found where not expected"


def test_types_come_before_constraints_and_in_the_body_s_order() -> None:
    body = b'{"ReturnValues":"x","Item":{"a":{"S":1}},"TableName":true}'
    assert refused("PutItem", body).message == "NUMBER_VALUE cannot be converted to String"
    body = b'{"TableName":true,"ReturnValues":"x","Item":{"a":{"S":1}}}'
    assert refused("PutItem", body).message == "TRUE_VALUE cannot be converted to String"


def test_nulls_count_as_absent_and_unknown_members_are_passed_over() -> None:
    body = {
        "TableName": "abc",
        "Item": {"a": {"S": "x", "N": None, "Other": 1}},
        "ReturnValues": None,
        "Expected": None,
        "Unknown": {"TableName": [1]},
    }
    request = decode("PutItem", json.dumps(body).encode())
    assert request == PutItemRequest(table_name="abc", item={"a": {"S": "x"}})


@pytest.mark.parametrize("value", [{"a": None}, {"a": {"S": None}}, {"a": {"Other": 1}}])
def test_an_attribute_value_without_type_is_left_to_the_checks_of_values(value: dict[str, Any]) -> None:
    request = decode("PutItem", json.dumps({"TableName": "abc", "Item": value}).encode())
    assert isinstance(request, PutItemRequest)
    assert request.item == {"a": {}}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("SS", "An string set may not have a null string as a member"),
        ("NS", "An number set may not have a null string as a member"),
        ("BS", "Binary sets may not contain null values"),
    ],
)
def test_nulls_in_sets(kind: str, message: str) -> None:
    body = json.dumps({"TableName": "abc", "Item": {"a": {kind: [None]}}}).encode()
    with pytest.raises(ValidationException) as caught:
        decode("PutItem", body)
    assert caught.value.message == f"One or more parameter values were invalid: {message}"


def test_the_last_of_several_values_counts() -> None:
    request = decode("GetItem", b'{"TableName":1,"TableName":"abc","Key":{},"Key":{"a":{"S":"b"}}}')
    assert request == GetItemRequest(table_name="abc", key={"a": {"S": "b"}})


class TestFromPython:
    def test_binaries_are_bytes(self) -> None:
        item = {"a": {"B": b"\x00"}, "b": {"BS": [b"", bytearray(b"x")]}, "c": {"L": ({"S": "x"},)}}
        request = from_python("PutItem", {"TableName": "abc", "Item": item})
        expected = {"a": {"B": b"\x00"}, "b": {"BS": [b"", b"x"]}, "c": {"L": [{"S": "x"}]}}
        assert request == PutItemRequest(table_name="abc", item=expected)

    def test_the_caller_s_values_are_copied(self) -> None:
        params: dict[str, Any] = {"TableName": "abc", "Item": {"a": {"L": [{"N": "1"}]}}}
        request = from_python("PutItem", params)
        assert isinstance(request, PutItemRequest)
        assert request.item == params["Item"]
        assert request.item is not params["Item"]
        assert request.item["a"]["L"][0] is not params["Item"]["a"]["L"][0]

    def test_the_words_are_the_same(self) -> None:
        with pytest.raises(SerializationException, match="NUMBER_VALUE cannot be converted to String"):
            from_python("PutItem", {"TableName": "abc", "Item": {"a": {"S": 1}}})
        with pytest.raises(ValidationException, match="1 validation error detected: Value 'a;' at 'tableName'"):
            from_python("GetItem", {"TableName": "a;", "Key": {}})

    def test_keys_that_are_no_text(self) -> None:
        with pytest.raises(SerializationException):
            from_python("PutItem", {"TableName": "abc", "Item": {1: {"S": "a"}}})

    def test_lenience(self) -> None:
        schema = ({"AttributeName": "a", "KeyType": "HASH"},)
        definitions = [{"AttributeName": "a", "AttributeType": "S"}]
        params = {"TableName": "abc", "KeySchema": schema, "AttributeDefinitions": definitions}
        request = from_python("CreateTable", {**params, "DeletionProtectionEnabled": "true"})
        assert isinstance(request, CreateTableRequest)
        assert request.deletion_protection_enabled is True

    def test_map_of_tables(self) -> None:
        request = from_python("BatchGetItem", {"RequestItems": {"abc": {"Keys": [{"a": {"B": b"x"}}]}}})
        assert isinstance(request, BatchGetItemRequest)
        assert request.request_items["abc"].keys == [{"a": {"B": b"x"}}]

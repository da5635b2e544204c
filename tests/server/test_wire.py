"""What a client of the service sees on the wire: status, headers, `__type`, and which of several faults is told."""

from __future__ import annotations

import json
import re

import pytest

from tests.server.conftest import Wire, message

CORAL = "com.amazon.coral.service#"
VALIDATION = "com.amazon.coral.validate#ValidationException"
ONE_KEY = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def test_an_answer_carries_the_services_headers(wire: Wire) -> None:
    answer = wire.ask(message())
    assert (answer.status, answer.json) == (200, {"TableNames": []})
    assert re.fullmatch(r"[A-Z0-9]{52}", answer.headers["x-amzn-requestid"])
    assert answer.headers["server"] == "Server"
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", answer.headers["date"])
    answer.require_checksum()


def test_every_answer_has_a_request_id_of_its_own(wire: Wire) -> None:
    ids = {wire.ask(message()).headers["x-amzn-requestid"] for _ in range(300)}
    assert len(ids) == 300


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("application/x-amz-json-1.0", "application/x-amz-json-1.0"),
        ("application/json", "application/json"),
        ("application/x-amz-json-1.0; charset=utf-8", "application/x-amz-json-1.0"),
        ("application/json;charset=UTF-8", "application/json"),
        (" Application/JSON ", "application/json"),
    ],
)
def test_the_answer_has_the_content_type_of_the_request(wire: Wire, asked: str, answered: str) -> None:
    answer = wire.ask(message(headers={"Content-Type": asked}))
    assert (answer.status, answer.headers["content-type"]) == (200, answered)
    refusal = wire.ask(message(headers={"Content-Type": asked, "X-Amz-Target": None}))
    assert (refusal.status, refusal.headers["content-type"]) == (400, answered)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-amz-json-1.1", "application/x-www-form-urlencoded", "json", "", None]
)
def test_a_body_of_another_content_type_is_not_found(wire: Wire, content_type: str | None) -> None:
    answer = wire.ask(message(headers={"Content-Type": content_type}))
    assert (answer.status, answer.body) == (404, b"<UnknownOperationException/>\n")
    assert "content-type" not in answer.headers
    assert len(answer.headers["x-amzn-requestid"]) == 52
    assert answer.headers["x-amz-crc32"] == "3552371480"


@pytest.mark.parametrize("content_type", ["text/plain", None])
def test_an_empty_body_may_have_any_content_type(wire: Wire, content_type: str | None) -> None:
    answer = wire.ask(message(b"", {"Content-Type": content_type}))
    assert (answer.status, answer.error) == (400, f"{CORAL}SerializationException")
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "target",
    [
        None,
        "",
        "ListTables",
        "DynamoDB_20120810",
        "DynamoDB_20120810.",
        "DynamoDB_20120810.Nonsense",
        "DynamoDB_20120810.listTables",
        "DynamoDB_20120810.ListTables.More",
        "DynamoDB_20101010.ListTables",
        "DynamoDBStreams_20120810.ListTables",
        "DynamoDB_20120810.ListTables\xff",
    ],
)
def test_an_unknown_target_is_an_unknown_operation(wire: Wire, target: str | None) -> None:
    answer = wire.ask(message(headers={"X-Amz-Target": target}))
    assert (answer.status, answer.json) == (400, {"__type": f"{CORAL}UnknownOperationException"})
    answer.require_checksum()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"])
def test_other_methods_are_not_found(wire: Wire, method: str) -> None:
    answer = wire.ask(message(method=method))
    assert (answer.status, answer.body) == (404, b"<UnknownOperationException/>\n")


def test_the_answer_to_head_has_no_body(wire: Wire) -> None:
    answer = wire.ask(message(b"", method="HEAD"))
    assert (answer.status, answer.headers["content-length"]) == (404, "29")
    assert wire.ask(message()).status == 200


@pytest.mark.parametrize("path", ["/", "/anything?at=all", "*"])
def test_a_get_says_that_the_service_is_healthy(wire: Wire, path: str) -> None:
    answer = wire.ask(b"GET " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (answer.status, answer.body) == (200, b"healthy: dynamodb.us-east-1.amazonaws.com ")
    assert answer.headers["x-amz-crc32"] == "3128867991"
    assert len(answer.headers["x-amzn-requestid"]) == 52


@pytest.mark.parametrize(("path", "text"), [("/health", b"ok\n"), ("/ready?verbose", b"ready\n")])
def test_monitoring_has_pages_of_its_own(wire: Wire, path: str, text: bytes) -> None:
    answer = wire.ask(message(b"", method="GET", target=path))
    assert (answer.status, answer.body) == (200, text)


def test_a_preflight_is_granted_whatever_it_asks_for(wire: Wire) -> None:
    preflight = {
        "Origin": "https://example.org",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-amz-target,authorization",
    }
    answer = wire.ask(message(b"", {**preflight, "X-Amz-Target": None, "Authorization": None}, method="OPTIONS"))
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "0")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-methods"] == "POST"
    assert answer.headers["access-control-allow-headers"] == "content-type,x-amz-target,authorization"
    assert answer.headers["access-control-max-age"] == "172800"
    assert len(answer.headers["x-amzn-requestid"]) == 52


def test_a_preflight_that_asks_for_nothing_in_particular_is_granted_just_that(wire: Wire) -> None:
    answer = wire.ask(message(b"", {"Origin": "null"}, method="OPTIONS"))
    assert answer.status == 200
    assert "access-control-allow-methods" not in answer.headers
    assert "access-control-allow-headers" not in answer.headers


def test_browsers_may_read_every_answer(wire: Wire) -> None:
    for request in (message(headers={"Origin": "x"}), message(b"{", {"Origin": "x"}), message(b"", {"Origin": "x"})):
        assert wire.ask(request).headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in wire.ask(message()).headers


UNREADABLE = [
    pytest.param(b"{", id="truncated"),
    pytest.param(b"hello", id="text"),
    pytest.param(b"{}x", id="too much"),
    pytest.param(b"\xff\xfe", id="invalid UTF-8"),
    pytest.param(b"[" * 100_000, id="deep"),
]


@pytest.mark.parametrize("body", UNREADABLE)
def test_an_unreadable_body_is_told_before_target_and_credentials(wire: Wire, body: bytes) -> None:
    answer = wire.ask(message(body, {"X-Amz-Target": None, "Authorization": None}))
    assert (answer.status, answer.json) == (400, {"__type": f"{CORAL}SerializationException"})
    answer = wire.ask(message(body, {"Authorization": None}))
    assert (answer.status, answer.json) == (400, {"__type": f"{CORAL}SerializationException"})


def test_an_unknown_operation_is_told_before_credentials(wire: Wire) -> None:
    answer = wire.ask(message(headers={"X-Amz-Target": None, "Authorization": None}))
    assert answer.error == f"{CORAL}UnknownOperationException"


def test_missing_credentials_are_told_before_an_empty_body(wire: Wire) -> None:
    answer = wire.ask(message(b"", {"Authorization": None}))
    assert answer.error == f"{CORAL}MissingAuthenticationTokenException"


@pytest.mark.parametrize(
    "body",
    [
        *UNREADABLE,
        pytest.param(b"", id="empty"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="array"),
        pytest.param(b'"{}"', id="string"),
        pytest.param(b'{"TableName":"abc","Item":{"a":{"S":"\xff"}}}', id="invalid UTF-8 within"),
        pytest.param(b'{"TableName":"abc","Item":{"a":' + b'{"L":[' * 9999 + b"]}" * 9999 + b"}}", id="deep values"),
    ],
)
def test_a_body_that_is_no_json_object_is_a_serialization_exception(wire: Wire, body: bytes) -> None:
    answer = wire.ask(message(body, operation="PutItem"))
    assert (answer.status, answer.json) == (400, {"__type": f"{CORAL}SerializationException"})
    answer.require_checksum()


def test_broken_base64_is_a_serialization_exception_with_a_message(wire: Wire) -> None:
    body = b'{"TableName":"abc","Item":{"a":{"B":"abc"}}}'
    assert wire.ask(message(body, operation="PutItem")).json == {
        "__type": f"{CORAL}SerializationException",
        "Message": "Base64 encoded length is expected a multiple of 4 bytes but found: 3",
    }


def test_errors_of_the_three_layers_have_their_namespaces(wire: Wire) -> None:
    refusals = [
        wire.ask(message(b'{"TableName":1}', operation="DescribeTable")),
        wire.ask(message(b'{"TableName":""}', operation="DescribeTable")),
        wire.ask(message(b'{"TableName":"absent"}', operation="DescribeTable")),
    ]
    assert [refusal.status for refusal in refusals] == [400, 400, 400]
    assert [refusal.error for refusal in refusals] == [
        f"{CORAL}SerializationException",
        VALIDATION,
        "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
    ]
    members = [sorted(refusal.json) for refusal in refusals]
    assert members == [["Message", "__type"], ["__type", "message"], ["__type", "message"]]


def test_tables_and_items_go_over_the_wire(wire: Wire) -> None:
    created = wire.ask(message(json.dumps({"TableName": "Music", **ONE_KEY}).encode(), operation="CreateTable"))
    assert created.json["TableDescription"]["TableArn"] == "arn:aws:dynamodb:us-east-1:000000000000:table/Music"
    put = b'{"TableName":"Music","Item":{"pk":{"S":"\xc3\xa9"},"b":{"B":"AP8="}},"Unknown":{"x":[1]}}'
    assert wire.ask(message(put, operation="PutItem")).body == b"{}"
    got = wire.ask(message(b'{"TableName":"Music","Key":{"pk":{"S":"\\u00e9"}}}', operation="GetItem"))
    assert got.json == {"Item": {"pk": {"S": "é"}, "b": {"B": "AP8="}}}
    assert b"\xc3\xa9" in got.body
    got.require_checksum()

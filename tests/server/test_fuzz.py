"""No bytes and no body end in a 500, a hang or a dead server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torusdb
from tests.server.conftest import HEADERS, Wire, message
from tests.server.request_bodies import INDEX, TABLE, bodies
from torusdb import Database
from torusdb.access.credentials import Credential
from torusdb.errors import ServiceError
from torusdb.operations.registry import OPERATIONS
from torusdb.server.limits import Limits
from torusdb.server.listen import ServerThread
from torusdb.storage.driver import Paused

NOBODY = Credential("", "")
STATUS_LINE = re.compile(rb"HTTP/1\.1 (\d{3}) [A-Z][A-Za-z -]+\r\n")

VALID = [
    message(),
    message(b"", method="GET"),
    message(b"", {"Origin": "x", "Access-Control-Request-Headers": "y"}, method="OPTIONS"),
    message(headers={"Connection": "Upgrade", "Upgrade": "h2c"}),
    message(headers={"Content-Encoding": "gzip", "Accept-Encoding": "gzip"}),
    message(b'{"TableName":"Fuzz","Key":{"pk":{"S":"x"},"sk":{"N":"1"}}}', operation="GetItem"),
    message(b"", {"Content-Length": None, "Transfer-Encoding": "chunked"}) + b"2\r\n{}\r\n0\r\nX-Trailer: 1\r\n\r\n",
    message(b"", {"Authorization": None}, target="/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=%ff"),
]
TOKENS = [
    b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"\xff", b"0", b"9" * 20, b"POST ", b"HTTP/1.1", b"\r\n\r\n", b"{", b'"',
    b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Upgrade: x\r\n",
    b"Connection: upgrade\r\n", b"Connection: close\r\n", b"0\r\n\r\n", b"CONNECT x:1 HTTP/1.1\r\n\r\n",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Valid requests, of which pieces were cut out, doubled, or replaced."""
    data = b"".join(draw(st.lists(st.sampled_from(VALID), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(len(data), start + 30)))
        data = data[:start] + draw(st.sampled_from([b"", data[start:stop] * 2, *TOKENS])) + data[stop:]
    return data


def create_table(db: Database) -> None:
    db.call(
        "CreateTable",
        {
            "TableName": TABLE,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "extra", "AttributeType": "S"},
            ],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": INDEX,
                    "KeySchema": [{"AttributeName": "extra", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with torusdb.open() as db:
        create_table(db)
        with ServerThread(db, limits=Limits(header_bytes_max=4000, body_bytes_max=10_000)) as endpoint:
            yield endpoint


def exchange(endpoint: str, data: bytes, cuts: list[int]) -> bytes:
    """What the server answers to data that comes in pieces and then ends."""
    wire = Wire(endpoint)
    try:
        places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
        try:
            for start, stop in pairwise(places):
                wire.send(data[start:stop])
            wire.half_close()
        except OSError:
            pass  # the server has refused the rest
        return wire.rest()
    finally:
        wire.close()


def require_sane(endpoint: str, answers: bytes) -> None:
    """Nothing but answers, none of them a 5xx; and the server goes on."""
    assert answers == b"" or STATUS_LINE.match(answers)
    assert not any(status.startswith(b"5") for status in STATUS_LINE.findall(answers)), answers
    wire = Wire(endpoint)
    assert wire.ask(message()).json["TableNames"] == [TABLE]
    wire.close()


cuts = st.lists(st.integers(0, 1 << 16), max_size=4)


@settings(max_examples=150)
@given(data=st.binary(max_size=300), cuts=cuts)
def test_any_bytes_are_answered_or_refused(endpoint: str, data: bytes, cuts: list[int]) -> None:
    require_sane(endpoint, exchange(endpoint, data, cuts))


@settings(max_examples=400)
@given(data=mutated(), cuts=cuts)
def test_requests_that_went_wrong_on_their_way_are_answered_or_refused(
    endpoint: str, data: bytes, cuts: list[int]
) -> None:
    require_sane(endpoint, exchange(endpoint, data, cuts))


@settings(max_examples=100)
@given(requests=st.lists(st.sampled_from([VALID[0], VALID[1], VALID[5], VALID[6]]), max_size=6), cuts=cuts)
def test_valid_requests_are_all_answered_however_they_are_cut(
    endpoint: str, requests: list[bytes], cuts: list[int]
) -> None:
    answers = exchange(endpoint, b"".join(requests), cuts)
    assert STATUS_LINE.findall(answers) == [b"200"] * len(requests)


@settings(max_examples=100)
@given(name=st.sampled_from(sorted(HEADERS)), value=st.text(st.characters(min_codepoint=33, max_codepoint=255)))
def test_any_value_of_a_header_is_answered(endpoint: str, name: str, value: str) -> None:
    require_sane(endpoint, exchange(endpoint, message(headers={name: value}), []))


def complete(db: Database, operation: str, body: bytes) -> bytes:
    """The answer's body. What the server would turn into a 500 is raised as it is."""
    try:
        outcome = db.begin(operation, body, NOBODY)
    except ServiceError as error:
        return no_server_error(error)
    while isinstance(outcome, Paused):
        outcome = outcome.resume()
    if outcome.ticket is not None:
        outcome.ticket.wait()
    return no_server_error(outcome.error) if outcome.error is not None else outcome.body or b""


def no_server_error(error: ServiceError) -> bytes:
    assert error.status == 400, error
    return error.to_json()


def is_answer(operation: str, body: bytes) -> bool:
    if not body:
        return operation in ("TagResource", "UntagResource")
    return isinstance(json.loads(body), dict)


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_any_body_is_answered_or_refused_as_the_clients_fault(operation: str) -> None:
    with torusdb.open() as db:
        create_table(db)

        @settings(max_examples=80, database=None)
        @given(body=bodies(operation))
        def answer(body: bytes) -> None:
            assert is_answer(operation, complete(db, operation, body))

        answer()


@pytest.mark.slow
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_any_body_is_answered_or_refused_as_the_clients_fault_at_length(operation: str) -> None:
    with torusdb.open() as db:
        create_table(db)

        @settings(max_examples=5000, database=None)
        @given(body=bodies(operation))
        def answer(body: bytes) -> None:
            assert is_answer(operation, complete(db, operation, body))

        answer()

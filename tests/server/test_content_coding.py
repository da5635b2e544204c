"""Bodies with a content coding, both ways."""

from __future__ import annotations

import gzip
import json
import zlib
from zlib import crc32

import pytest

from tests.server.conftest import Connect, Serve, Wire, message
from torusdb import Database
from torusdb.server.content_coding import accepts_gzip
from torusdb.server.limits import Limits

LIST_ONE = b'{"Limit":1}'
TEXT = "all work and no play " * 400


def raw_deflate(body: bytes) -> bytes:
    return zlib.compress(body, wbits=-zlib.MAX_WBITS)


@pytest.fixture
def item_wire(db: Database, wire: Wire) -> Wire:
    """A connection to a server that holds one large item and a small one."""
    db.call(
        "CreateTable",
        {
            "TableName": "Texts",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    db.call("PutItem", {"TableName": "Texts", "Item": {"pk": {"S": "large"}, "text": {"S": TEXT}}})
    db.call("PutItem", {"TableName": "Texts", "Item": {"pk": {"S": "small"}}})
    return wire


def get(key: str, accept: str | None) -> bytes:
    body = json.dumps({"TableName": "Texts", "Key": {"pk": {"S": key}}}).encode()
    return message(body, {"Accept-Encoding": accept}, operation="GetItem")


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        # With names, since gzip's header has the time, and each test process its own.
        pytest.param("gzip", gzip.compress(LIST_ONE), id="gzip"),
        pytest.param("x-gzip", gzip.compress(LIST_ONE), id="x-gzip"),
        pytest.param(" GZIP ", gzip.compress(LIST_ONE), id="upper case, with spaces"),
        pytest.param("deflate", zlib.compress(LIST_ONE), id="deflate"),
        pytest.param("deflate", raw_deflate(LIST_ONE), id="raw deflate"),
        pytest.param("identity", LIST_ONE, id="identity"),
        pytest.param("", LIST_ONE, id="empty"),
    ],
)
def test_a_coded_request_is_decoded(wire: Wire, coding: str, body: bytes) -> None:
    assert wire.ask(message(body, {"Content-Encoding": coding})).json == {"TableNames": []}


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        pytest.param("gzip", LIST_ONE, id="not compressed"),
        pytest.param("deflate", LIST_ONE, id="not deflated"),
        pytest.param("gzip", b"", id="empty"),
        pytest.param("gzip", gzip.compress(LIST_ONE)[:-1], id="cut short"),
        pytest.param("gzip", gzip.compress(LIST_ONE)[:-8] + b"\0" * 8, id="wrong checksum"),
        pytest.param("gzip", gzip.compress(LIST_ONE) + b"x", id="bytes behind"),
        pytest.param("gzip", gzip.compress(LIST_ONE) * 2, id="two streams"),
        pytest.param("gzip", gzip.compress(b"{"), id="no JSON within"),
    ],
)
def test_a_body_that_is_not_what_its_coding_says_is_unreadable(wire: Wire, coding: str, body: bytes) -> None:
    answer = wire.ask(message(body, {"Content-Encoding": coding}))
    assert (answer.status, answer.error) == (400, "com.amazon.coral.service#SerializationException")
    assert wire.ask(message()).status == 200


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "nonsense"])
def test_other_codings_are_refused_and_the_known_ones_named(wire: Wire, coding: str) -> None:
    answer = wire.ask(message(headers={"Content-Encoding": coding}))
    assert (answer.status, answer.headers["accept-encoding"]) == (415, "gzip, deflate")


def test_a_small_body_cannot_grow_beyond_the_limit(connect: Connect, serve: Serve) -> None:
    wire = connect(serve(Limits(body_bytes_max=100_000)))
    fits, grows = (gzip.compress(b"{%b}" % (b" " * count)) for count in (99_998, 99_999))
    assert wire.ask(message(fits, {"Content-Encoding": "gzip"})).status == 200
    assert wire.ask(message(grows, {"Content-Encoding": "gzip"})).status == 413


@pytest.mark.parametrize("accept", ["gzip", "gzip, deflate", "*", "br;q=1, gzip;q=0.5"])
def test_a_large_answer_is_compressed_for_who_accepts_it(item_wire: Wire, accept: str) -> None:
    answer = item_wire.ask(get("large", accept))
    assert answer.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.body))["Item"]["text"] == {"S": TEXT}
    assert len(answer.body) < len(TEXT) / 10
    # The checksum is of what is on the wire.
    assert answer.headers["x-amz-crc32"] == str(crc32(answer.body))


@pytest.mark.parametrize("accept", [None, "", "identity", "gzip;q=0", "deflate"])
def test_a_large_answer_is_plain_for_others(item_wire: Wire, accept: str | None) -> None:
    answer = item_wire.ask(get("large", accept))
    assert "content-encoding" not in answer.headers
    assert answer.json["Item"]["text"] == {"S": TEXT}


def test_a_small_answer_is_never_compressed(item_wire: Wire) -> None:
    answer = item_wire.ask(get("small", "gzip"))
    assert "content-encoding" not in answer.headers
    assert answer.json == {"Item": {"pk": {"S": "small"}}}


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        (b"gzip", True),
        (b"GZip;q=1.0", True),
        (b"deflate, gzip ; q=0.001", True),
        (b"*", True),
        (b"*;q=0", False),
        (b"*, gzip;q=0.000", False),
        (b"*;q=0, gzip", True),
        (b"gzip;q=0.", False),
        (b"gzipped", False),
        (b";;,,q=", False),
    ],
)
def test_the_quality_zero_means_no(header: bytes, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted

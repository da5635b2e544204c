"""HTTP/1.1 itself: where messages begin and end, how large they may be, in which order answers come."""

from __future__ import annotations

import pytest

from tests.server.conftest import Connect, Serve, Wire, message
from torusdb.server.limits import Limits

LISTED = b'{"TableNames":[]}'
CHUNKED: dict[str, str | None] = {"Content-Length": None, "Transfer-Encoding": "chunked"}


def chunked(*lines: bytes, headers: dict[str, str | None] | None = None) -> bytes:
    """A request whose body is given as lines of the chunked coding."""
    return message(b"", {**CHUNKED, **(headers or {})}) + b"".join(line + b"\r\n" for line in lines)


def headers_of_bytes(count: int) -> bytes:
    return message(headers={"X-Padding": "x" * count})


# Where messages begin and end


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(message(), id="by length"),
        pytest.param(message(headers={"Content-Length": "0002"}), id="leading zeros"),
        pytest.param(chunked(b"2", b"{}", b"0", b""), id="one chunk"),
        pytest.param(chunked(b"1", b"{", b"00001", b"}", b"0", b""), id="two chunks"),
        pytest.param(chunked(b"2;name=value", b"{}", b"0;last", b""), id="chunk extensions"),
        pytest.param(chunked(b"2", b"{}", b"0", b"X-Checksum: 1", b""), id="trailer"),
        pytest.param(chunked(b"2", b"{}", b"0", b"X-Amz-Target: no.such", b""), id="trailers are no headers"),
        pytest.param(b"\r\n" + message(), id="empty line before"),
        pytest.param(message(target="http://localhost/"), id="absolute target"),
        pytest.param(message(headers={"x-amz-TARGET": "DynamoDB_20120810.ListTables"}), id="case of names"),
        pytest.param(message(headers={"Expect": "something-else"}), id="other expectation"),
        pytest.param(message(headers={"Host": None}), id="no host"),
    ],
)
def test_a_message_is_found_however_it_is_framed_and_cut(connect: Connect, serve: Serve, request_bytes: bytes) -> None:
    endpoint = serve()
    wire = connect(endpoint)
    assert wire.ask(request_bytes).body == LISTED
    for start in range(0, len(request_bytes), 37):
        wire.send(request_bytes[start : start + 37])
    assert wire.answer().body == LISTED
    for byte in request_bytes:
        wire.send(bytes([byte]))
    assert wire.answer().body == LISTED


def test_requests_sent_at_once_are_answered_in_their_order(wire: Wire) -> None:
    kinds = [message(), message(headers={"X-Amz-Target": None}), message(b"", method="GET"), chunked(b"0", b"")]
    wire.send(b"".join(kinds) * 50)
    for _ in range(50):
        assert [wire.answer().status for _ in kinds] == [200, 400, 200, 400]


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(message(headers={"Transfer-Encoding": "chunked"}), id="length and chunks"),
        pytest.param(
            message().replace(b"Content-Length: 2", b"Content-Length: 2\r\nContent-Length: 3"), id="two lengths"
        ),
        pytest.param(message().replace(b"Content-Length: 2", b"Content-Length: 2\r\nContent-Length: 2"), id="twice"),
        pytest.param(message(headers={"Content-Length": "2, 2"}), id="list of lengths"),
        pytest.param(message(headers={"Content-Length": "+2"}), id="signed length"),
        pytest.param(message(headers={"Content-Length": "-2"}), id="negative length"),
        pytest.param(message(headers={"Content-Length": "0x2"}), id="hexadecimal length"),
        pytest.param(message(headers={"Content-Length": "9" * 40}), id="overflowing length"),
        pytest.param(message(headers={"Content-Length": None, "Content-Length ": "2"}), id="space before the colon"),
        pytest.param(chunked(b"2", b"{}", b"0", b"", headers={"Transfer-Encoding ": "chunked"}), id="likewise"),
        pytest.param(chunked(b"2", b"{}", b"0", b"", headers={"Transfer-Encoding": "identity"}), id="identity"),
        pytest.param(chunked(b"2", b"{}", b"0", b"", headers={"Transfer-Encoding": "xchunked"}), id="unknown coding"),
        pytest.param(chunked(b"2", b"{}", b"0", b"", headers={"Transfer-Encoding": "chunked, gzip"}), id="not last"),
        pytest.param(chunked(b"g", b"{}", b"0", b""), id="no size"),
        pytest.param(chunked(b"f" * 17, b"{}", b"0", b""), id="overflowing size"),
        pytest.param(chunked(b"2", b"{}}", b"0", b""), id="longer than its size"),
        pytest.param(chunked(b"2\n{}", b"0", b""), id="bare line feed in chunks"),
        pytest.param(message().replace(b"\r\n", b"\n"), id="bare line feeds"),
        pytest.param(message(headers={"X-Folded": "a\r\n b"}), id="folded header"),
        pytest.param(message(headers={"X-Return": "a\rX-Other: b"}), id="bare return in a header"),
        pytest.param(message(headers={"X-Null": "a\0b"}), id="null in a header"),
        pytest.param(message(headers={"Bad Name": "x"}), id="space in a name"),
        pytest.param(message().replace(b"HTTP/1.1", b"HTTP/1.9"), id="version"),
        pytest.param(message().replace(b"POST", b"post", 1), id="method"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
        pytest.param(b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n" + message(), id="tunnel"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(b"hello\r\n\r\n", id="no HTTP"),
    ],
)
def test_doubtful_framing_is_refused_and_ends_the_connection(wire: Wire, request_bytes: bytes) -> None:
    """What two parsers could understand differently would let one request be smuggled in another."""
    wire.send(message() + request_bytes + message())
    assert wire.answer().body == LISTED
    refusal = wire.answer()
    assert (refusal.status, refusal.headers["connection"], refusal.body) == (400, "close", b"")
    wire.require_end()


def test_bytes_behind_a_body_are_the_next_request(wire: Wire) -> None:
    """A length that is too short: the answer stands, and what is left over is refused as a request of its own."""
    wire.send(message(b"{}left over\r\n\r\n", headers={"Content-Length": "2"}))
    assert wire.answer().body == LISTED
    assert wire.answer().status == 400
    wire.require_end()


def test_a_body_that_ends_too_early_is_nobodys_request(wire: Wire) -> None:
    """A length that is too long: half a request is neither answered nor done."""
    wire.send(message(headers={"Content-Length": "20"}))
    wire.half_close()
    wire.require_end()


def test_a_connection_ends_when_the_client_says_so(wire: Wire) -> None:
    wire.send(message(headers={"Connection": "close"}) + message())
    answer = wire.answer()
    assert (answer.body, answer.headers["connection"]) == (LISTED, "close")
    wire.require_end()


def test_http_1_0_ends_the_connection_unless_it_is_kept_alive(connect: Connect, serve: Serve) -> None:
    endpoint = serve()
    old = message().replace(b"HTTP/1.1", b"HTTP/1.0")
    wire = connect(endpoint)
    assert wire.ask(old).headers["connection"] == "close"
    wire.require_end()
    kept = message(headers={"Connection": "keep-alive"}).replace(b"HTTP/1.1", b"HTTP/1.0")
    wire = connect(endpoint)
    assert wire.ask(kept).headers["connection"] == "keep-alive"
    assert wire.ask(kept).body == LISTED


def test_an_offer_to_upgrade_is_declined_and_its_body_read(wire: Wire) -> None:
    """As Java's HttpClient sends it by default."""
    offer = message(
        headers={
            "Connection": "Upgrade, HTTP2-Settings",
            "Upgrade": "h2c",
            "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
        }
    )
    wire.send(offer + offer + message())
    assert [wire.answer().body for _ in range(3)] == [LISTED] * 3
    for byte in offer:
        wire.send(bytes([byte]))
    assert wire.answer().body == LISTED


def test_what_was_sent_before_half_closing_is_answered(wire: Wire) -> None:
    wire.send(message() * 3 + message()[:-1])
    wire.half_close()
    assert [wire.answer().body for _ in range(3)] == [LISTED] * 3
    wire.require_end()


@pytest.mark.parametrize("sent", [b"", b"POST", message()[:-1], chunked(b"2", b"{}")])
def test_a_client_that_leaves_in_the_middle_is_let_go(wire: Wire, sent: bytes) -> None:
    wire.send(sent)
    wire.half_close()
    wire.require_end()


# Expect: 100-continue


def test_a_client_that_asks_first_is_told_to_go_on(wire: Wire) -> None:
    head = message(headers={"Expect": "100-continue"})[:-2]
    for _ in range(2):
        assert wire.ask(head).status == 100
        assert wire.ask(b"{}").body == LISTED


def test_a_client_that_asks_first_behind_another_request_is_told_in_turn(wire: Wire) -> None:
    wire.send(message() + message(headers={"Expect": "100-continue"})[:-2])
    assert wire.answer().body == LISTED
    assert wire.answer().status == 100
    assert wire.ask(b"{}").body == LISTED


def test_a_client_that_does_not_wait_is_not_told(wire: Wire) -> None:
    wire.send(message(headers={"Expect": "100-continue"}))
    assert wire.answer().status == 200
    assert wire.ask(message()).status == 200


def test_a_client_that_asks_first_for_too_much_is_refused_at_once(connect: Connect, serve: Serve) -> None:
    wire = connect(serve(Limits(body_bytes_max=100)))
    refusal = wire.ask(message(b"", {"Expect": "100-continue", "Content-Length": "101"}))
    assert refusal.status == 413
    wire.require_end()


# Limits


def test_a_body_may_have_the_limit_and_no_byte_more(connect: Connect, serve: Serve) -> None:
    endpoint = serve(Limits(body_bytes_max=1000))
    full = b"{%b}" % (b" " * 998)
    assert connect(endpoint).ask(message(full)).body == LISTED
    assert connect(endpoint).ask(chunked(b"3e8", full, b"0", b"")).body == LISTED
    for too_much in (message(full + b" "), chunked(b"3e8", full, b"1", b" ", b"0", b"")):
        wire = connect(endpoint)
        wire.send(message() + too_much)
        assert wire.answer().body == LISTED
        refusal = wire.answer()
        assert (refusal.status, refusal.body) == (413, b"")
        # As the service has it: no Content-Length, and nothing of what marks an operation's answer.
        assert sorted(refusal.headers) == ["connection", "date", "server", "transfer-encoding"]
        wire.require_end()


def test_a_body_of_16_mb_is_the_largest_by_default(connect: Connect, serve: Serve) -> None:
    endpoint = serve()
    wire = connect(endpoint)
    assert wire.ask(message(b"{%b}" % (b" " * (16 * 1024 * 1024 - 2)))).body == LISTED
    assert wire.ask(message(b"", {"Content-Length": str(16 * 1024 * 1024 + 1)})).status == 413


@pytest.mark.parametrize(
    "too_much",
    [
        pytest.param(headers_of_bytes(2000), id="one header"),
        pytest.param(message(headers={f"X-Header-{n}": "x" * 9 for n in range(100)}), id="many headers"),
        pytest.param(message(target="/" + "x" * 2000), id="target"),
        pytest.param(b"POST / HTTP/1.1\r\nX-Endless: " + b"x" * 3000, id="endless header"),
        pytest.param(b"POST /" + b"x" * 3000, id="endless target"),
        pytest.param(chunked(b"2;" + b"x" * 3000), id="endless chunk extension"),
    ],
)
def test_a_head_beyond_the_limit_is_refused(connect: Connect, serve: Serve, too_much: bytes) -> None:
    wire = connect(serve(Limits(header_bytes_max=1000)))
    assert wire.ask(message()).body == LISTED
    refusal = wire.ask(too_much)
    assert (refusal.status, refusal.headers["connection"]) == (431, "close")
    wire.require_end()


def test_a_large_body_does_not_count_as_its_head(connect: Connect, serve: Serve) -> None:
    wire = connect(serve(Limits(header_bytes_max=1000)))
    assert wire.ask(message(b"{%b}" % (b" " * 100_000))).body == LISTED
    wire.send(message(b"{%b}" % (b" " * 900)) * 20)
    assert [wire.answer().body for _ in range(20)] == [LISTED] * 20


def test_a_refusal_reaches_a_client_that_is_still_sending(connect: Connect, serve: Serve) -> None:
    """A server that closed with unread bytes before it would reset the connection, and the answer with it."""
    wire = connect(serve(Limits(body_bytes_max=1000)))
    wire.send(message(b"", {"Content-Length": "400000"}) + b" " * 400_000)
    assert wire.answer().status == 413
    wire.require_end()


def test_connections_beyond_the_limit_are_turned_away(connect: Connect, serve: Serve) -> None:
    endpoint = serve(Limits(connections_max=2))
    first, second = connect(endpoint), connect(endpoint)
    assert first.ask(message()).status == second.ask(message()).status == 200
    third = connect(endpoint)
    assert third.answer().status == 503
    third.require_end()
    first.half_close()
    first.require_end()
    # The place is free once the server has seen the end, which it did before it closed its own side.
    assert connect(endpoint).ask(message()).status == 200

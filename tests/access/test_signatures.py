"""Signatures, held against botocore's signer: what it signs is let in, and nothing that was changed since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.access.conftest import Door
from tests.access.signing import HOST, Sent, signed
from torusdb.access.signatures import canonical_path, canonical_query, canonical_request, signing_key
from torusdb.errors import ServiceError

ascii_text = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
names = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz-0123456789"), min_size=1, max_size=8)
headers = st.dictionaries(
    names.map(lambda name: f"x-{name}"),
    st.lists(ascii_text, min_size=1, max_size=3).flatmap(
        lambda words: st.sampled_from([" ", "  ", "\t"]).map(lambda space: space.join(words))
    ),
    max_size=4,
)
segments = st.sampled_from(["a", "b c", "..", ".", "", "ü", "%", "+", "~x", "a:b", "*"])
paths = st.lists(segments, max_size=4).map(lambda parts: "/" + "/".join(quote(part, safe="~") for part in parts))
queries = st.lists(st.tuples(ascii_text, st.text(max_size=6)), max_size=3, unique_by=lambda pair: pair[0]).map(
    lambda pairs: "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in pairs)
)


@st.composite
def requests(draw: st.DrawFn) -> Sent:
    query = draw(queries)
    return signed(
        method=draw(st.sampled_from(["POST", "GET", "PUT"])),
        target=draw(paths) + (f"?{query}" if query else ""),
        headers=draw(headers),
        body=draw(st.binary(max_size=40)),
        token=draw(st.sampled_from([None, "token"])),
        presigned=draw(st.booleans()),
    )


@pytest.fixture(scope="module")
def doors() -> object:
    """One for keys without a token, one for those with."""
    with TemporaryDirectory() as directory:
        plain, temporary = Door(Path(directory) / "plain.json"), Door(Path(directory) / "temporary.json")
        temporary.keys.users[0].keys[0].session_token = "token"
        temporary.write()
        temporary.clock.now += 2
        yield plain, temporary


def passes(doors: tuple[Door, Door], sent: Sent) -> bool:
    has_token = b"x-amz-security-token" in sent.headers or b"X-Amz-Security-Token" in sent.target
    try:
        doors[has_token].admit(sent)
    except ServiceError:
        return False
    return True


@given(requests())
def test_what_botocore_signs_is_let_in(doors: tuple[Door, Door], sent: Sent) -> None:
    assert passes(doors, sent)


def as_signed(sent: Sent) -> tuple[object, ...]:
    """What botocore makes of a request, independently of ours: two requests that are the same to it may both pass."""
    request = AWSRequest(sent.method.decode("latin-1"), f"http://{HOST}{sent.target.decode('latin-1')}")
    path, _, query = sent.target.decode("latin-1").partition("?")
    signer = SigV4Auth(None, "dynamodb", "eu-west-2")
    values = {name: b" ".join(value.split()) for name, value in sent.headers.items()}
    from urllib.parse import unquote

    pairs = sorted(tuple(map(unquote, pair.partition("=")[::2])) for pair in query.split("&") if pair)
    return request.method, signer._normalize_url_path(path or "/"), tuple(pairs), tuple(values.items()), sent.body


@given(requests(), st.data())
def test_any_byte_that_is_changed_shuts_the_request_out(
    doors: tuple[Door, Door], sent: Sent, data: st.DataObject
) -> None:
    part = data.draw(st.sampled_from(["method", "target", "body", *sorted(sent.headers)]))
    old = sent.headers[part] if isinstance(part, bytes) else getattr(sent, part)
    assume(old)
    at = data.draw(st.integers(0, len(old) - 1))
    new = old[:at] + bytes([old[at] ^ data.draw(st.sampled_from([1, 2, 4, 8, 16, 32, 64]))]) + old[at + 1 :]
    # A tab for a space is no change; a fragment, a line's end or the mark of a query moved are no targets.
    assume(part != "target" or (new.startswith(b"/") and b"#" not in new and not set(new) & set(b"\r\n\t\0 \x7f")))
    changed = (
        replace(sent, headers={**sent.headers, part: new}) if isinstance(part, bytes) else replace(sent, **{part: new})
    )
    assume(as_signed(changed) != as_signed(sent))
    assert not passes(doors, changed)


@given(requests(), st.data())
def test_a_signed_header_cannot_be_left_out_or_swapped(
    doors: tuple[Door, Door], sent: Sent, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(sent.headers)))
    left = dict(sent.headers)
    assume(left.pop(name) != b"")
    assert not passes(doors, replace(sent, headers=left))


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        (b"/", b"/"),
        (b"", b"/"),
        (b"//", b"/"),
        (b"/a//b/", b"/a/b/"),
        (b"/a/./b/../c", b"/a/c"),
        (b"/../..", b"/"),
        (b"/a%20b", b"/a%2520b"),
        (b"/-_.~", b"/-_.~"),
        (b"/a=b", b"/a%3Db"),
    ],
)
def test_paths_are_normal_and_encoded_twice(path: bytes, canonical: bytes) -> None:
    assert canonical_path(path) == canonical


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        (b"b=2&a=1", b"a=1&b=2"),
        (b"a=2&a=1", b"a=1&a=2"),
        (b"a", b"a="),
        (b"A=1&a=1&B=", b"A=1&B=&a=1"),
        (b"a=%2f&b=*", b"a=%2F&b=%2A"),
        (b"a=b=c", b"a=b%3Dc"),
        (b"&&a=1&", b"a=1"),
        (b"a=%7E", b"a=~"),
        (b"X-Amz-Signature=00&a=1", b"a=1"),
    ],
)
def test_queries_are_encoded_once_and_sorted(query: bytes, canonical: bytes) -> None:
    assert canonical_query(query) == canonical


def test_the_canonical_request_by_the_letter() -> None:
    given_headers = {b"host": b"example", b"b": b" two  words ", b"a": b"1", b"unsigned": b"x"}
    assert canonical_request(b"POST", b"/?z=1", given_headers, (b"a", b"absent", b"b", b"host"), b"").decode() == (
        "POST\n/\nz=1\na:1\nabsent:\nb:two words\nhost:example\n\na;absent;b;host\n"
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


def test_the_signing_key_of_the_user_guide() -> None:
    """The worked example of "Signature Version 4" (IAM user guide, deriving a signing key)."""
    key = signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam")
    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"

"""Signature Version 4: from a request to the signature it must bear.

The rules are those of "Create a signed AWS API request" (IAM user guide): what is signed is the *canonical request*,
its method, path, query, signed headers and the hash of its body, each in one form; its hash is signed together with
the time and the credential's scope, by a key derived from the secret for a day, a region and a service.

Of DynamoDB the body is always signed: the service hashes what it received, whatever X-Amz-Content-SHA256 says, so the
forms that S3 has for unsigned or streamed bodies do not verify. Every signed header that is absent counts as an empty
one (seen in the service's canonical strings).
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import quote_from_bytes, unquote_to_bytes

from torusdb.access.credentials import ALGORITHM, SERVICE, TERMINATOR

_UNRESERVED = "-_.~"
_signature_parameter = re.compile(rb"(?:^|&)X-Amz-Signature=[^&]*")


def signing_key(secret: str, date: str, region: str, service: str = SERVICE) -> bytes:
    key = b"AWS4" + secret.encode()
    for part in (date, region, service, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def signature(
    key: bytes,
    timestamp: str,
    scope: str,
    canonical_request: bytes,
) -> str:
    """`scope` is `date/region/service/aws4_request`."""
    text = f"{ALGORITHM}\n{timestamp}\n{scope}\n{sha256(canonical_request).hexdigest()}"
    return hmac.digest(key, text.encode("latin-1", "replace"), "sha256").hex()


def canonical_request(
    method: bytes,
    target: bytes,
    headers: Mapping[bytes, bytes],
    signed_headers: tuple[bytes, ...],
    body: bytes,
) -> bytes:
    """`headers` by lower-case name, the values of a repeated one joined with commas; `signed_headers` sorted."""
    path, _, query = target.partition(b"?")
    lines = [method, path if path == b"/" else canonical_path(path), canonical_query(query) if query else b""]
    for name in signed_headers:
        value = headers.get(name, b"")
        if b"  " in value or b"\t" in value or value[:1].isspace() or value[-1:].isspace():
            value = b" ".join(value.split())
        lines.append(b"%b:%b" % (name, value))
    lines += (b"", b";".join(signed_headers), sha256(body).hexdigest().encode())
    return b"\n".join(lines)


def canonical_path(path: bytes) -> bytes:
    """Without empty and dot segments, and encoded once more: only S3 signs paths as they are."""
    segments: list[bytes] = []
    parts = path.split(b"/")
    for part in parts:
        if part == b"..":
            del segments[-1:]
        elif part not in (b"", b"."):
            segments.append(part)
    normal = b"/" + b"/".join(segments)
    if segments and parts[-1] == b"":
        normal += b"/"
    return quote_from_bytes(normal, safe="/" + _UNRESERVED).encode()


def canonical_query(query: bytes) -> bytes:
    """Without the signature itself. Names and values are encoded in one way, and sorted once they are."""
    pairs = []
    for pair in _signature_parameter.sub(b"", query).split(b"&"):
        if pair:
            name, _, value = pair.partition(b"=")
            pairs.append((_encoded(name), _encoded(value)))
    return b"&".join(b"%b=%b" % pair for pair in sorted(pairs))


def _encoded(text: bytes) -> bytes:
    return quote_from_bytes(unquote_to_bytes(text), safe=_UNRESERVED).encode()

"""Requests signed by botocore: the other side of the wire."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from unittest.mock import patch
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

NOW = datetime(2026, 11, 19, 6, 0, 0, tzinfo=UTC)
ACCESS_KEY = "AKIAALICE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
HOST = "dynamodb.eu-west-2.amazonaws.com"
TARGET = "DynamoDB_20120810.ListTables"


@dataclass(frozen=True)
class Sent:
    """A request as a server receives it."""

    method: bytes
    target: bytes
    headers: dict[bytes, bytes]
    body: bytes

    def having(self, **headers: str | None) -> Sent:
        """With other headers; `_` stands for `-`, and None removes one."""
        changed = dict(self.headers)
        for name, value in headers.items():
            key = name.replace("_", "-").encode()
            changed.pop(key, None)
            if value is not None:
                changed[key] = value.encode("latin-1")
        return replace(self, headers=changed)

    def authorization(self, old: str, new: str) -> Sent:
        text = self.headers[b"authorization"].decode("latin-1")
        assert old in text
        return self.having(authorization=text.replace(old, new))


class Presigner(SigV4QueryAuth):  # type: ignore[misc]
    """botocore's takes a body for more parameters of the query."""

    body = b""

    def payload(self, request: AWSRequest) -> str:
        return sha256(self.body).hexdigest()


def signed(
    *,
    method: str = "POST",
    target: str = "/",
    headers: dict[str, str] | None = None,
    body: bytes = b"{}",
    access_key: str = ACCESS_KEY,
    secret: str = SECRET,
    token: str | None = None,
    region: str = "eu-west-2",
    service: str = "dynamodb",
    at: datetime = NOW,
    presigned: bool = False,
    bare: bool = False,
) -> Sent:
    """`bare`: with no headers but those that the signer adds."""
    given = {} if bare else {"X-Amz-Target": TARGET, "Content-Type": "application/x-amz-json-1.0"}
    request = AWSRequest(method, f"http://{HOST}{target}", {**given, **(headers or {})}, b"" if presigned else body)
    signer = (Presigner if presigned else SigV4Auth)(Credentials(access_key, secret, token), service, region)
    signer.body = body
    with patch("botocore.auth.get_current_datetime", return_value=at):
        signer.add_auth(request)
    parts = urlsplit(request.url)
    sent = {name.lower().encode(): value.encode("latin-1") for name, value in request.headers.items()}
    query = f"?{parts.query}" if parts.query else ""
    return Sent(method.encode(), f"{parts.path or '/'}{query}".encode(), {b"host": HOST.encode(), **sent}, body)

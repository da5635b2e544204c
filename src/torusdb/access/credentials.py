"""The credentials of a request: the parts of its SigV4 signature, in the header or in the query string.

Their parts must be there also where signatures are not verified, as the service insists before it looks at anything
else of an operation, and the credential's scope names the region that is meant.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torusdb.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)

CREDENTIALS_REMEMBERED_MAX = 1024
"""A client's Authorization headers differ in their signature only: a few entries serve all its requests of a day."""

SIGNATURE_BYTES = 64
"""SigV4 signs with SHA-256, in hexadecimal."""

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "dynamodb"
TERMINATOR = "aws4_request"

_is_region = re.compile(r"[a-z0-9-]{1,32}").fullmatch

HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
QUERY_PARAMETERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)


class Credential(NamedTuple):
    """What the credential says of a request, "" where it does not say, and what is signed with it. The same object
    for all requests with the same credential, as far as they are remembered."""

    access_key: str
    region: str
    date: str = ""
    service: str = ""
    terminator: str = ""
    text: str = ""
    """The whole credential, as the request gives it."""
    algorithm: str = ALGORITHM
    signed_headers: tuple[bytes, ...] = ()
    """The names of the headers that are signed: lower case, sorted."""
    is_sound: bool = False
    """Whether it has all that a credential must have; whether its date is right depends on the request."""

    @property
    def has_region(self) -> bool:
        """Whether its region has the form of one: it becomes a part of ARNs."""
        return _is_region(self.region) is not None

    @property
    def is_complete(self) -> bool:
        """Whether it has its five parts: `key/date/region/service/aws4_request`."""
        return bool(self.access_key and self.date and self.region and self.service and self.terminator)


class Signed(NamedTuple):
    """A request's credential, and what differs from one request to the next."""

    credential: Credential
    signature: str
    date: str
    """As the request gives it: 20261119T060000Z, or a date as HTTP writes it."""
    token: str | None
    is_presigned: bool


class CredentialReader:
    """Finds the credential of a request, or raises what the service answers to credentials without their form."""

    def __init__(self) -> None:
        self._remembered: dict[bytes, Credential] = {}

    def credential(self, headers: dict[bytes, bytes], target: bytes) -> Credential:
        authorization = headers.get(b"authorization")
        if authorization is not None and b"x-amz-date" in headers and b"?" not in target:
            known = self._remembered.get(authorization[:-SIGNATURE_BYTES])
            if known is not None:
                return known
        return self._examine(authorization, headers, target).credential

    def signed(self, headers: dict[bytes, bytes], target: bytes) -> Signed:
        """With what is needed to verify the signature."""
        authorization = headers.get(b"authorization")
        if authorization is not None and b"?" not in target:
            date = headers.get(b"x-amz-date")
            known = None if date is None else self._remembered.get(authorization[:-SIGNATURE_BYTES])
            if known is not None:
                assert date is not None
                token = headers.get(b"x-amz-security-token")
                return Signed(
                    known,
                    authorization[-SIGNATURE_BYTES:].decode("latin-1"),
                    date.decode("latin-1"),
                    None if token is None else token.decode("latin-1"),
                    False,
                )
        return self._examine(authorization, headers, target)

    def _examine(self, authorization: bytes | None, headers: dict[bytes, bytes], target: bytes) -> Signed:
        query = _query(target)
        if "X-Amz-Algorithm" in query:
            if authorization:
                raise InvalidSignatureException(
                    "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
                )
            return _signed_in_query(query)
        text = (authorization or b"").decode("latin-1").strip()
        if not text.startswith("AWS4-"):
            raise MissingAuthenticationTokenException("Request is missing Authentication Token")
        signed = _signed_in_header(text, headers)
        prefix = (authorization or b"")[:-SIGNATURE_BYTES]
        if prefix.endswith(b"Signature="):
            if len(self._remembered) >= CREDENTIALS_REMEMBERED_MAX:
                self._remembered.clear()
            self._remembered[prefix] = signed.credential
        return signed


def _query(target: bytes) -> dict[str, str]:
    _, _, text = target.partition(b"?")
    if not text:
        return {}
    from urllib.parse import parse_qs

    parameters = parse_qs(text.decode("latin-1"), keep_blank_values=True, errors="replace")
    return {name: values[0] for name, values in parameters.items()}


def _signed_in_query(query: dict[str, str]) -> Signed:
    missing = [name for name in QUERY_PARAMETERS if not query.get(name)]
    if missing:
        wanted = "".join(f"AWS query-string parameters must include '{name}'. " for name in missing)
        raise IncompleteSignatureException(f"{wanted}Re-examine the query-string parameters.")
    credential = _credential(query["X-Amz-Credential"], query["X-Amz-Algorithm"], query["X-Amz-SignedHeaders"])
    return Signed(credential, query["X-Amz-Signature"], query["X-Amz-Date"], query.get("X-Amz-Security-Token"), True)


def _signed_in_header(text: str, headers: dict[bytes, bytes]) -> Signed:
    parameters: dict[str, str] = {}
    algorithm, *parts = text.replace(",", " ").split()
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals:
            raise IncompleteSignatureException(
                f"'{part}' not a valid key=value pair (missing equal-sign) in Authorization header: '{text}'."
            )
        parameters[name] = value
    wanted = [
        f"Authorization header requires '{name}' parameter. " for name in HEADER_PARAMETERS if not parameters.get(name)
    ]
    date = headers.get(b"x-amz-date", headers.get(b"date"))
    if date is None:
        wanted.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    if wanted or date is None:
        raise IncompleteSignatureException(f"{''.join(wanted)}Authorization={text}")
    token = headers.get(b"x-amz-security-token")
    return Signed(
        _credential(parameters["Credential"], algorithm, parameters["SignedHeaders"]),
        parameters["Signature"],
        date.decode("latin-1"),
        None if token is None else token.decode("latin-1"),
        False,
    )


def _credential(text: str, algorithm: str, signed_headers: str) -> Credential:
    """`key/date/region/service/aws4_request`. A key may itself hold slashes, so it is read from the end."""
    names = tuple(sorted({name.lower().encode("latin-1", "replace") for name in signed_headers.split(";") if name}))
    parts = text.rstrip("/").rsplit("/", 4)
    if len(parts) != 5:
        return Credential(parts[0], "", text=text, algorithm=algorithm, signed_headers=names)
    key, date, region, service, terminator = parts
    credential = Credential(key, region, date, service, terminator, text, algorithm, names)
    return credential._replace(
        is_sound=credential.is_complete
        and credential.has_region
        and (algorithm, service, terminator) == (ALGORITHM, SERVICE, TERMINATOR)
        and b"host" in names
        and b"x-amz-target" in names
    )

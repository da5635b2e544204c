"""Who a request says it comes from: the form of its SigV4 credentials, in the header or in the query string.

Signatures are not verified. Their parts must be there nonetheless, as the service insists before it looks at
anything else of an operation, and the credential's scope names the region that is meant.
"""

from __future__ import annotations

from typing import NamedTuple

from torusdb.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)

SCOPES_REMEMBERED_MAX = 1024
"""A client's Authorization headers differ in their signature only: a few entries serve all its requests."""

SIGNATURE_BYTES = 64
"""SigV4 signs with SHA-256, in hexadecimal."""

HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
QUERY_PARAMETERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)


class Scope(NamedTuple):
    """What the credential says of a request: whose it is and for which region; "" where it does not say."""

    access_key: str
    region: str


class ScopeReader:
    """Finds the scope of a request, or raises what the service answers to credentials without their form."""

    def __init__(self) -> None:
        self._remembered: dict[bytes, Scope] = {}

    def scope(self, headers: dict[bytes, bytes], target: bytes) -> Scope:
        authorization = headers.get(b"authorization")
        if authorization is not None and b"x-amz-date" in headers and b"?" not in target:
            known = self._remembered.get(authorization[:-SIGNATURE_BYTES])
            if known is not None:
                return known
        return self._examine(authorization, headers, target)

    def _examine(self, authorization: bytes | None, headers: dict[bytes, bytes], target: bytes) -> Scope:
        query = _query(target)
        if "X-Amz-Algorithm" in query:
            if authorization:
                raise InvalidSignatureException(
                    "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
                )
            return _scope_of_query(query)
        text = (authorization or b"").decode("latin-1").strip()
        if not text.startswith("AWS4-"):
            raise MissingAuthenticationTokenException("Request is missing Authentication Token")
        scope = _scope_of_header(text, has_date=b"x-amz-date" in headers or b"date" in headers)
        prefix = (authorization or b"")[:-SIGNATURE_BYTES]
        if prefix.endswith(b"Signature="):
            if len(self._remembered) >= SCOPES_REMEMBERED_MAX:
                self._remembered.clear()
            self._remembered[prefix] = scope
        return scope


def _query(target: bytes) -> dict[str, str]:
    _, _, text = target.partition(b"?")
    if not text:
        return {}
    from urllib.parse import parse_qs

    parameters = parse_qs(text.decode("latin-1"), keep_blank_values=True, errors="replace")
    return {name: values[0] for name, values in parameters.items()}


def _scope_of_query(query: dict[str, str]) -> Scope:
    missing = [name for name in QUERY_PARAMETERS if not query.get(name)]
    if missing:
        wanted = "".join(f"AWS query-string parameters must include '{name}'. " for name in missing)
        raise IncompleteSignatureException(f"{wanted}Re-examine the query-string parameters.")
    return _scope_of_credential(query["X-Amz-Credential"])


def _scope_of_header(text: str, *, has_date: bool) -> Scope:
    parameters: dict[str, str] = {}
    for part in text.replace(",", " ").split()[1:]:
        name, equals, value = part.partition("=")
        if not equals:
            raise IncompleteSignatureException(
                f"'{part}' not a valid key=value pair (missing equal-sign) in Authorization header: '{text}'."
            )
        parameters[name] = value
    wanted = [
        f"Authorization header requires '{name}' parameter. " for name in HEADER_PARAMETERS if not parameters.get(name)
    ]
    if not has_date:
        wanted.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    if wanted:
        raise IncompleteSignatureException(f"{''.join(wanted)}Authorization={text}")
    return _scope_of_credential(parameters["Credential"])


def _scope_of_credential(credential: str) -> Scope:
    """`key/date/region/service/aws4_request`. A key may itself hold slashes, so it is read from the end."""
    parts = credential.rstrip("/").rsplit("/", 4)
    return Scope(parts[0], parts[2]) if len(parts) == 5 else Scope(parts[0], "")

"""The gate of a server with `--auth`: whose a request is, or why it is not let in.

The order of checks: the form of the credentials, the date, their scope, the key, its token, the signature; then, once
the request is decoded, what its user may do. The service tells an unknown key from a wrong signature, and so do we.

The file of keys is looked at again when a request comes in, at most every `RELOAD_SECONDS`: what has changed is in
force from then on. A file that has become unreadable is told in the log, and the keys stay as they were.
"""

from __future__ import annotations

import hmac
import logging
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from torusdb.access import signatures
from torusdb.access.conditions import PolicyError
from torusdb.access.credentials import ALGORITHM, SERVICE, TERMINATOR, Credential, CredentialReader, Signed
from torusdb.access.decisions import Identity
from torusdb.access.facts import RequestFacts, iso
from torusdb.access.keyring import Key, KeyFileError, has_expired, policies_of, read_key_file
from torusdb.access.permissions import Tables, asked_by
from torusdb.access.policies import resource_policy
from torusdb.errors import (
    ExpiredTokenException,
    IncompleteSignatureException,
    InvalidSignatureException,
    UnrecognizedClientException,
    ValidationException,
)

log = logging.getLogger("torusdb.access")

RELOAD_SECONDS: Final = 1.0
SKEW_MINUTES: Final = 15
"""How far a request's date may be from now, either way. DynamoDB's errors of 2014, 2019 and 2024 all say 15
(aws-sdk-js#254 and #2565, chariot-ui#453), some other services say 5. A presigned request is no exception: the front of
the service does not look at X-Amz-Expires (aws-iam-authenticator, on STS)."""
CALLERS_MAX: Final = 4096
"""Credentials whose signing key is remembered: one for each key, day and region."""

POLICY_FIELDS: Final = {"CreateTable": "resource_policy", "PutResourcePolicy": "policy"}
"""Where a request brings the policy of a resource."""

NOT_RECOGNISED = "The security token included in the request is invalid."
EXPIRED = "The security token included in the request is expired"
NO_MATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)
"""Years ago the service added the canonical request that it had expected (vibe-aws#1, of 2017); today it does not."""


class Caller:
    """Who sent a request, and for which region: what the database needs to know of it."""

    def __init__(self, identity: Identity, access_key: str, region: str, ring: Ring) -> None:
        self.access_key = access_key
        self.region = region
        self.account = identity.account
        self._identity = identity
        self._ring = ring

    def require(self, operation: str, request: Any, tables: Tables) -> None:
        """Raises `AccessDeniedException` unless all that the request needs is allowed, and `ValidationException` for a
        policy that could not be put in force."""
        for asked in asked_by(operation, request, tables):
            self._identity.require(asked.need, RequestFacts(request, asked, self._fact), asked.resource_policy)
        field = POLICY_FIELDS.get(operation)
        document = None if field is None else getattr(request, field)
        if document is not None:
            try:
                resource_policy(document)
            except PolicyError as error:
                raise ValidationException(f"Invalid policy document: {error}") from None

    def _fact(self, key: str) -> str | None:
        match key:
            case "aws:username":
                return self._identity.user
            case "aws:PrincipalArn":
                return self._identity.arn
            case "aws:PrincipalAccount" | "aws:ResourceAccount":
                return self.account
            case "aws:PrincipalType":
                return "User"
            case "aws:RequestedRegion":
                return self.region
            case "aws:SecureTransport":
                return "true" if self._ring.is_secure else "false"
            case "aws:CurrentTime":
                return iso(self._ring.now())
            case "aws:EpochTime":
                return str(int(self._ring.now()))
        return None


class Ring:
    """The keys of a file as they are in force, with what is worked out from them."""

    def __init__(self, path: Path, now: Callable[[], float], *, is_secure: bool) -> None:
        """Raises `KeyFileError`."""
        self.now = now
        self.is_secure = is_secure
        self._path = path
        self._stamp = _stamp(path)
        self._keys = self._load()
        self._callers: dict[str, tuple[bytes, Caller, Key]] = {}
        """By the text of the credential."""

    def _load(self) -> dict[str, tuple[Key, Identity]]:
        keys: dict[str, tuple[Key, Identity]] = {}
        for user in read_key_file(self._path).users:
            policies = policies_of(self._path, f"user '{user.name}'", user.policies)
            for key in user.keys:
                narrowing = key.policies
                keys[key.access_key_id] = (
                    key,
                    Identity(
                        user.account,
                        user.name,
                        policies,
                        None if narrowing is None else policies_of(self._path, f"key {key.access_key_id}", narrowing),
                    ),
                )
        return keys

    def refresh(self) -> None:
        """Takes the file's keys if it has changed."""
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._keys = self._load()
        except KeyFileError as error:
            log.error("%s. The keys stay as they were.", error)
            return
        self._callers.clear()
        log.info("%s has changed: %d keys are in force", self._path, len(self._keys))

    def caller(self, credential: Credential) -> tuple[bytes, Caller, Key]:
        """The signing key of a credential, whose it is, and its entry in the file."""
        known = self._callers.get(credential.text)
        if known is not None:
            return known
        entry = self._keys.get(credential.access_key)
        if entry is None:
            raise UnrecognizedClientException(NOT_RECOGNISED)
        key, identity = entry
        found = (
            signatures.signing_key(key.secret_access_key, credential.date, credential.region),
            Caller(identity, credential.access_key, credential.region, self),
            key,
        )
        if len(self._callers) >= CALLERS_MAX:
            self._callers.clear()
        self._callers[credential.text] = found
        return found


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


class Gate:
    def __init__(
        self,
        path: Path,
        *,
        is_secure: bool = False,
        now: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_secure`: whether requests come in by TLS. Raises `KeyFileError`."""
        self._reader = CredentialReader()
        self._ring = Ring(path, now, is_secure=is_secure)
        self._now = now
        self._ticks = ticks
        self._look_again = ticks() + RELOAD_SECONDS
        self._dates: dict[str, tuple[str, float]] = {}
        """The last date that was read, since the requests of a second have the same."""

    def admit(self, method: bytes, target: bytes, headers: dict[bytes, bytes], body: bytes) -> Caller:
        """Whose a request is, or raises the service's refusal. `body` as it was sent, compressed if it was."""
        signed = self._reader.signed(headers, target)
        credential = signed.credential
        now = self._now()
        date = self._check_date(signed, now)
        if not credential.is_sound or credential.date != date[:8]:
            _check_scope(credential, date)
            _check_signed_headers(credential, headers)
        ticks = self._ticks()
        if ticks >= self._look_again:
            self._look_again = ticks + RELOAD_SECONDS
            self._ring.refresh()
        signing_key, caller, key = self._ring.caller(credential)
        if key.expires is not None or key.session_token is not None or signed.token is not None:
            _check_token(key, signed.token, now)
        expected = signatures.signature(
            signing_key,
            date,
            f"{credential.date}/{credential.region}/{credential.service}/{credential.terminator}",
            signatures.canonical_request(method, target, headers, credential.signed_headers, body),
        )
        if not hmac.compare_digest(expected.encode(), signed.signature.encode("latin-1", "replace")):
            raise InvalidSignatureException(NO_MATCH)
        return caller

    def _check_date(self, signed: Signed, now: float) -> str:
        """The request's date as it is signed."""
        known = self._dates.get(signed.date)
        if known is None:
            known = _read_date(signed.date)
            self._dates.clear()
            self._dates[signed.date] = known
        date, at = known
        skew = SKEW_MINUTES * 60
        if at < now - skew:
            raise InvalidSignatureException(
                f"Signature expired: {date} is now earlier than {_written(now - skew)} "
                f"({_written(now)} - {SKEW_MINUTES} min.)"
            )
        if at > now + skew:
            raise InvalidSignatureException(
                f"Signature not yet current: {date} is still later than {_written(now + skew)} "
                f"({_written(now)} + {SKEW_MINUTES} min.)"
            )
        return date


_BASIC = "%Y%m%dT%H%M%SZ"


def _written(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).strftime(_BASIC)


def _read_date(text: str) -> tuple[str, float]:
    """The date in the form in which it is signed, and the seconds since the epoch."""
    try:
        at = datetime.strptime(text, _BASIC).replace(tzinfo=UTC)
        if len(text) != len("20261119T060000Z"):
            raise ValueError
    except ValueError:
        from email.utils import parsedate_to_datetime  # a `Date` header may have the form of HTTP

        try:
            at = parsedate_to_datetime(text)
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        except (ValueError, OverflowError):
            raise IncompleteSignatureException(
                f"Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601"
            ) from None
    return at.strftime(_BASIC), at.timestamp()


def _check_scope(credential: Credential, date: str) -> None:
    """The words are those of the front that the service shares with others (mhart/aws4#97, smithy4s#387, sigv4#15, and
    "Troubleshoot signed requests", IAM user guide); those of the algorithm and the terminator are not certain."""
    if credential.algorithm != ALGORITHM:
        raise IncompleteSignatureException(f"Unsupported AWS 'algorithm': '{credential.algorithm}'. ")
    if not credential.is_complete:
        raise IncompleteSignatureException(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
            f"got '{credential.text}'"
        )
    if not credential.has_region:
        raise InvalidSignatureException(f"Credential should be scoped to a valid region, not '{credential.region}'. ")
    if credential.service != SERVICE:
        raise InvalidSignatureException(f"Credential should be scoped to correct service: '{SERVICE}'. ")
    if credential.terminator != TERMINATOR:
        raise InvalidSignatureException(
            f"Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{credential.terminator}'. "
        )
    if credential.date != date[:8]:
        raise InvalidSignatureException(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{credential.date}' != '{date[:8]}', from '{date}'."
        )


def _check_signed_headers(credential: Credential, headers: dict[bytes, bytes]) -> None:
    """What names the host and the operation must be part of what is signed ("Create a signed AWS API request")."""
    for name, label in ((b"host", "Host"), (b"x-amz-target", "X-Amz-Target")):
        if name not in credential.signed_headers and (name in headers or name == b"host"):
            raise InvalidSignatureException(f"'{label}' must be a 'SignedHeader' in the AWS Authorization. ")


def _check_token(key: Key, token: str | None, now: float) -> None:
    """Temporary keys are sent with their token, others with none. One that was rotated and has had its time is as
    unknown as if it were removed."""
    wanted = key.session_token
    if wanted is None:
        if token is not None or has_expired(key, now):
            raise UnrecognizedClientException(NOT_RECOGNISED)
        return
    if token is None or not hmac.compare_digest(wanted.encode(), token.encode("latin-1", "replace")):
        raise UnrecognizedClientException(NOT_RECOGNISED)
    if has_expired(key, now):
        raise ExpiredTokenException(EXPIRED)

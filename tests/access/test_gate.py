"""Who is let in, and what is said to the others."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.access.conftest import ACCOUNT, Door, Refused
from tests.access.signing import ACCESS_KEY, NOW, SECRET, signed
from torusdb.access.gate import RELOAD_SECONDS
from torusdb.access.keyring import Key
from torusdb.errors import AccessDeniedException, ServiceError
from torusdb.operations.catalog import Catalog

NOT_RECOGNISED = ("UnrecognizedClientException", "The security token included in the request is invalid.")
NO_MATCH = (
    "InvalidSignatureException",
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details.",
)


def test_a_caller_has_the_account_of_its_key_and_the_region_it_signed_for(door: Door) -> None:
    caller = door.admit(signed(region="ap-south-1"))
    assert (caller.account, caller.region, caller.access_key) == (ACCOUNT, "ap-south-1", ACCESS_KEY)


def test_the_same_credential_is_let_in_again_in_another_region_and_on_another_day(door: Door) -> None:
    for region in ("eu-west-2", "us-east-1", "eu-west-2"):
        assert door.admit(signed(region=region)).region == region
    door.clock.now += 86400
    assert door.admit(signed(at=NOW + timedelta(days=1))).region == "eu-west-2"


def test_a_wrong_secret_is_a_wrong_signature(refused: Refused) -> None:
    assert refused(signed(secret="another")) == NO_MATCH
    assert refused(signed(secret="another", presigned=True)) == NO_MATCH


def test_an_unknown_key_is_told_from_a_wrong_secret(refused: Refused) -> None:
    assert refused(signed(access_key="AKIANOBODY")) == NOT_RECOGNISED


@pytest.mark.parametrize("signature", ["0" * 64, "", "0", "A" * 64, "é" * 64, "0" * 128])
def test_what_is_no_signature_does_not_match(refused: Refused, signature: str) -> None:
    sent = signed()
    old = sent.headers[b"authorization"].decode().rpartition("Signature=")[2]
    code, _ = refused(sent.authorization(f"Signature={old}", f"Signature={signature}"))
    assert code == ("InvalidSignatureException" if signature else "IncompleteSignatureException")


@pytest.mark.parametrize("order", ["Signature, SignedHeaders, Credential", "SignedHeaders, Credential, Signature"])
def test_the_parameters_may_come_in_any_order(door: Door, order: str) -> None:
    sent = signed()
    algorithm, _, text = sent.headers[b"authorization"].decode().partition(" ")
    given = dict(part.split("=", 1) for part in text.split(", "))
    sent = sent.having(authorization=f"{algorithm} " + ", ".join(f"{name}={given[name]}" for name in order.split(", ")))
    assert door.admit(sent).account == ACCOUNT


# Dates


@pytest.mark.parametrize("presigned", [False, True])
def test_a_date_may_be_a_quarter_of_an_hour_off(door: Door, refused: Refused, presigned: bool) -> None:
    for minutes in (-15, 15):
        assert door.admit(signed(at=NOW + timedelta(minutes=minutes), presigned=presigned)).account == ACCOUNT
    assert refused(signed(at=NOW - timedelta(minutes=15, seconds=1), presigned=presigned)) == (
        "InvalidSignatureException",
        "Signature expired: 20261119T054459Z is now earlier than 20261119T054500Z (20261119T060000Z - 15 min.)",
    )
    assert refused(signed(at=NOW + timedelta(minutes=15, seconds=1), presigned=presigned)) == (
        "InvalidSignatureException",
        "Signature not yet current: 20261119T061501Z is still later than 20261119T061500Z (20261119T060000Z + 15 min.)",
    )


def test_a_request_that_was_let_in_is_not_let_in_for_ever(door: Door, refused: Refused) -> None:
    sent = signed()
    door.admit(sent)
    door.clock.now += 15 * 60 + 1
    assert refused(sent)[0] == "InvalidSignatureException"


def test_a_date_header_will_do(door: Door) -> None:
    sent = signed(headers={"Date": "replaced by the signer"})
    assert b"x-amz-date" not in sent.headers
    assert sent.headers[b"date"] == b"Thu, 19 Nov 2026 06:00:00 -0000"
    assert door.admit(sent).account == ACCOUNT


@pytest.mark.parametrize("date", ["", "yesterday", "2026-11-19T06:00:00Z", "20261119T060000", "20261319T060000Z", "é"])
def test_another_form_of_date_is_told(refused: Refused, date: str) -> None:
    assert refused(signed().having(x_amz_date=date)) == (
        "IncompleteSignatureException",
        f"Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601",
    )


# Scopes and signed headers


def test_the_date_of_the_scope_is_that_of_the_request(refused: Refused) -> None:
    assert refused(signed().authorization("/20261119/", "/20261118/")) == (
        "InvalidSignatureException",
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
        "'20261118' != '20261119', from '20261119T060000Z'.",
    )


def test_the_service_of_the_scope_is_dynamodb(refused: Refused) -> None:
    assert refused(signed(service="s3")) == (
        "InvalidSignatureException",
        "Credential should be scoped to correct service: 'dynamodb'. ",
    )


@pytest.mark.parametrize("region", ["EU-WEST-2", "eu-west-2:999999999999:table", "é", "x" * 33, "*"])
def test_a_region_has_its_form(refused: Refused, region: str) -> None:
    """It becomes a part of ARNs: nobody may write another's ARN with it."""
    assert refused(signed().authorization("/eu-west-2/", f"/{region}/")) == (
        "InvalidSignatureException",
        f"Credential should be scoped to a valid region, not '{region}'. ",
    )


def test_the_scope_ends_as_it_must(refused: Refused) -> None:
    assert refused(signed().authorization("/aws4_request", "/aws5_request")) == (
        "InvalidSignatureException",
        "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5_request'. ",
    )


@pytest.mark.parametrize(
    "credential", ["AKIAALICE", "AKIAALICE/20261119/dynamodb/aws4_request", "/a/b/c/d", "a/b//c/d"]
)
def test_a_scope_has_five_parts(refused: Refused, credential: str) -> None:
    sent = signed().authorization("AKIAALICE/20261119/eu-west-2/dynamodb/aws4_request", credential)
    assert refused(sent) == (
        "IncompleteSignatureException",
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
        f"got '{credential}'",
    )


def test_another_algorithm_is_refused(refused: Refused) -> None:
    assert refused(signed().authorization("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"))[0] == "IncompleteSignatureException"


def test_the_host_and_the_operation_must_be_signed(refused: Refused) -> None:
    for name, label in (("host", "Host"), ("x-amz-target", "X-Amz-Target")):
        sent = signed()
        names = sent.headers[b"authorization"].decode().split("SignedHeaders=")[1].split(",")[0]
        fewer = ";".join(each for each in names.split(";") if each != name)
        assert refused(sent.authorization(names, fewer)) == (
            "InvalidSignatureException",
            f"'{label}' must be a 'SignedHeader' in the AWS Authorization. ",
        )


@pytest.mark.parametrize("form", ["UNSIGNED-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"])
def test_the_body_is_always_signed(door: Door, refused: Refused, form: str) -> None:
    assert refused(signed(headers={"X-Amz-Content-SHA256": form})) == NO_MATCH


# Tokens and ends


@pytest.fixture
def temporary(door: Door) -> Door:
    key = Key("ASIATEMP", SECRET, expires=NOW + timedelta(hours=1), session_token="the/token+of==it")
    door.keys.users[0].keys.append(key)
    door.write()
    door.clock.now += RELOAD_SECONDS
    return door


@pytest.mark.parametrize("presigned", [False, True])
def test_a_temporary_key_comes_with_its_token(temporary: Door, refused: Refused, presigned: bool) -> None:
    def ask(token: str | None) -> object:
        return signed(access_key="ASIATEMP", token=token, presigned=presigned)

    assert temporary.admit(ask("the/token+of==it")).account == ACCOUNT
    assert refused(ask(None)) == NOT_RECOGNISED
    assert refused(ask("another")) == NOT_RECOGNISED


def test_a_token_with_a_key_that_has_none_is_refused(refused: Refused) -> None:
    assert refused(signed(token="token")) == NOT_RECOGNISED


def test_a_temporary_key_ends(temporary: Door, refused: Refused) -> None:
    temporary.clock.now = (NOW + timedelta(hours=1)).timestamp()
    sent = signed(access_key="ASIATEMP", token="the/token+of==it", at=NOW + timedelta(hours=1))
    expired = ("ExpiredTokenException", "The security token included in the request is expired")
    assert refused(sent) == expired
    assert refused(signed(access_key="ASIATEMP", token="wrong", at=NOW + timedelta(hours=1))) == NOT_RECOGNISED


def test_a_rotated_key_ends_like_one_that_is_removed(door: Door, refused: Refused) -> None:
    door.keys.users[0].keys[0].expires = NOW + timedelta(minutes=5)
    door.write()
    door.clock.now += RELOAD_SECONDS
    assert door.admit(signed()).account == ACCOUNT
    door.clock.now += 300
    assert refused(signed()) == NOT_RECOGNISED


# What is known of a caller


@pytest.mark.parametrize(
    ("operator", "key", "value", "matches"),
    [
        ("StringEquals", "aws:username", "alice", True),
        ("StringEquals", "aws:username", "bob", False),
        ("ArnLike", "aws:PrincipalArn", "arn:aws:iam::123456789012:user/*", True),
        ("StringEquals", "aws:PrincipalAccount", ACCOUNT, True),
        ("StringEquals", "aws:ResourceAccount", ACCOUNT, True),
        ("StringEquals", "aws:PrincipalType", "User", True),
        ("StringEquals", "aws:RequestedRegion", "eu-west-2", True),
        ("StringEquals", "aws:RequestedRegion", "us-east-1", False),
        ("Bool", "aws:SecureTransport", "false", True),
        ("Bool", "aws:SecureTransport", True, False),
        ("DateLessThan", "aws:CurrentTime", "2026-11-19T06:00:01Z", True),
        ("DateLessThan", "aws:CurrentTime", "2026-11-19T06:00:00Z", False),
        ("NumericEquals", "aws:EpochTime", NOW.timestamp(), True),
        ("Null", "dynamodb:LeadingKeys", "true", True),
    ],
)
def test_facts_of_a_caller(door: Door, operator: str, key: str, value: object, matches: bool) -> None:
    condition = {operator: {key: value}}
    statement = {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": condition}
    door.keys.users[0].policies = [{"Version": "2012-10-17", "Statement": statement}]
    door.write()
    door.clock.now += RELOAD_SECONDS
    caller = door.admit(signed())
    door.clock.now -= RELOAD_SECONDS
    expected = nullcontext() if matches else pytest.raises(AccessDeniedException)
    with expected:
        caller.require("DescribeLimits", None, Catalog(ACCOUNT, "eu-west-2"))


# Whatever comes


@given(st.text(max_size=40), st.text(max_size=40), st.binary(max_size=10))
def test_no_header_is_too_odd_for_an_answer(authorization: str, date: str, target: bytes) -> None:
    with TemporaryDirectory() as directory:
        door = Door(Path(directory) / "keys.json")
        credential = f"AKIAALICE/{date}/eu-west-2/dynamodb/aws4_request"
        prefix = f"AWS4-HMAC-SHA256 Credential={credential},SignedHeaders={authorization},Signature={authorization}"
        for text in (authorization, f"AWS4-{authorization}", prefix):
            for headers in ({b"x-amz-date": date.encode()}, {b"date": b"20261119T060000Z"}):
                given_headers = {b"authorization": text.encode(), **headers}
                with pytest.raises(ServiceError):
                    door.gate.admit(b"POST", b"/" + target, given_headers, b"{}")
        query = f"/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={quote(credential)}&X-Amz-Signature=0"
        query += f"&X-Amz-SignedHeaders={quote(authorization)}&X-Amz-Date={quote(date)}&"
        with pytest.raises(ServiceError):
            door.gate.admit(b"POST", query.encode() + target, {}, b"{}")


# The file, when it changes


def test_a_change_of_the_file_is_seen_once_it_is_time_to_look(door: Door, refused: Refused) -> None:
    door.admit(signed())
    door.keys.users[0].keys[0].secret_access_key = "new"
    door.write()
    assert door.admit(signed()).account == ACCOUNT
    assert refused(signed(secret="new")) == NO_MATCH
    door.clock.now += RELOAD_SECONDS
    assert door.admit(signed(secret="new")).account == ACCOUNT
    assert refused(signed()) == NO_MATCH


def test_a_removed_key_is_unknown(door: Door, refused: Refused) -> None:
    door.admit(signed())
    door.keys.users[0].keys.clear()
    door.write()
    door.clock.now += RELOAD_SECONDS
    assert refused(signed()) == NOT_RECOGNISED


def test_a_file_that_broke_is_told_and_its_keys_stay(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    door.path.write_text("{")
    door.clock.now += RELOAD_SECONDS
    with caplog.at_level(logging.ERROR, "torusdb.access"):
        assert door.admit(signed()).account == ACCOUNT
    assert "is no file of keys" in caplog.text
    assert "stay as they were" in caplog.text
    door.keys.users[0].keys[0] = Key("AKIAMENDED", SECRET)
    door.write()
    door.clock.now += RELOAD_SECONDS
    assert door.admit(signed(access_key="AKIAMENDED")).account == ACCOUNT


def test_a_file_that_is_gone_is_told_and_its_keys_stay(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    door.path.unlink()
    door.clock.now += RELOAD_SECONDS
    assert door.admit(signed()).account == ACCOUNT
    assert "Cannot read" in caplog.text

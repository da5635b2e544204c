"""What is said of credentials without their form. Their signatures are not verified."""

from __future__ import annotations

import pytest

from tests.server.conftest import HEADERS, SIGNATURE, Answer, Wire, message

CORAL = "com.amazon.coral.service#"
ALL_MISSING = (
    "Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' parameter. "
    "Authorization header requires 'SignedHeaders' parameter. "
)
DATE_MISSING = "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
QUERY = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": "key%2F20261119%2Fus-east-1%2Fdynamodb%2Faws4_request",
    "X-Amz-Date": "20261119T060000Z",
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Signature": SIGNATURE,
}


def refusal(answer: Answer) -> tuple[int, str, str]:
    answer.require_checksum()
    return answer.status, answer.error, answer.json["message"]


def presigned(**changes: str | None) -> str:
    query = {name: changes.get(name.rpartition("-")[2], value) for name, value in QUERY.items()}
    return "/?" + "&".join(f"{name}={value}" for name, value in query.items() if value is not None)


def unsigned(target: str = "/") -> bytes:
    return message(headers={"Authorization": None, "X-Amz-Date": None}, target=target)


@pytest.mark.parametrize("authorization", [None, "", "Basic dXNlcjpwYXNz", "AWS3 Credential=a", "Bearer AWS4-HMAC"])
def test_a_request_without_a_signature_is_told_so(wire: Wire, authorization: str | None) -> None:
    answer = wire.ask(message(headers={"Authorization": authorization}))
    expected = (400, f"{CORAL}MissingAuthenticationTokenException", "Request is missing Authentication Token")
    assert refusal(answer) == expected


@pytest.mark.parametrize(
    ("authorization", "missing"),
    [
        ("AWS4-", ALL_MISSING),
        ("AWS4-HMAC-SHA256", ALL_MISSING),
        ("AWS4-HMAC-SHA256 Credential=a,Signature=b", "Authorization header requires 'SignedHeaders' parameter. "),
        ("AWS4-HMAC-SHA256 Signature=b, SignedHeaders=c", "Authorization header requires 'Credential' parameter. "),
        ("AWS4-HMAC-SHA256 Credential=a SignedHeaders=c", "Authorization header requires 'Signature' parameter. "),
        ("AWS4-HMAC-SHA256 Credential=,Signature=,SignedHeaders=", ALL_MISSING),
        ("AWS4-HMAC-SHA256 credential=a,signature=b,signedHeaders=c", ALL_MISSING),
    ],
)
def test_missing_parts_of_a_signature_are_named(wire: Wire, authorization: str, missing: str) -> None:
    dated = wire.ask(message(headers={"Authorization": authorization}))
    undated = wire.ask(message(headers={"Authorization": authorization, "X-Amz-Date": None}))
    kind = f"{CORAL}IncompleteSignatureException"
    assert refusal(dated) == (400, kind, f"{missing}Authorization={authorization}")
    assert refusal(undated) == (400, kind, f"{missing}{DATE_MISSING}Authorization={authorization}")


@pytest.mark.parametrize("header", ["X-Amz-Date", "Date"])
def test_either_date_will_do(wire: Wire, header: str) -> None:
    assert wire.ask(message(headers={"X-Amz-Date": None, header: "20261119T060000Z"})).status == 200


def test_a_complete_signature_needs_a_date_still(wire: Wire) -> None:
    assert wire.ask(message()).status == 200  # and is remembered
    answer = wire.ask(message(headers={"X-Amz-Date": None}))
    assert refusal(answer)[2] == f"{DATE_MISSING}Authorization={HEADERS['Authorization']}"


def test_a_part_without_a_value_is_told_before_what_is_missing(wire: Wire) -> None:
    authorization = "AWS4-HMAC-SHA256 Signature=b,    Credential,    SignedHeaders"
    assert refusal(wire.ask(message(headers={"Authorization": authorization}))) == (
        400,
        f"{CORAL}IncompleteSignatureException",
        "'Credential' not a valid key=value pair (missing equal-sign) in Authorization header: "
        "'AWS4-HMAC-SHA256 Signature=b,    Credential,    SignedHeaders'.",
    )


def test_any_signature_passes(wire: Wire) -> None:
    authorization = "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=b, Signature=c"
    assert wire.ask(message(headers={"Authorization": authorization})).status == 200


def test_a_presigned_request_carries_its_signature_in_the_query(wire: Wire) -> None:
    assert wire.ask(unsigned(presigned())).json == {"TableNames": []}


@pytest.mark.parametrize("empty", [None, ""])
@pytest.mark.parametrize("part", ["Credential", "Signature", "SignedHeaders", "Date"])
def test_missing_parts_of_a_presigned_request_are_named(wire: Wire, part: str, empty: str | None) -> None:
    assert refusal(wire.ask(unsigned(presigned(**{part: empty})))) == (
        400,
        f"{CORAL}IncompleteSignatureException",
        f"AWS query-string parameters must include 'X-Amz-{part}'. Re-examine the query-string parameters.",
    )


def test_all_missing_parts_of_a_presigned_request_are_named_in_order(wire: Wire) -> None:
    names = ["Algorithm", "Credential", "Signature", "SignedHeaders", "Date"]
    wanted = "".join(f"AWS query-string parameters must include 'X-Amz-{name}'. " for name in names)
    answer = wire.ask(unsigned("/?X-Amz-Algorithm"))
    assert answer.json["message"] == f"{wanted}Re-examine the query-string parameters."


def test_a_query_without_an_algorithm_is_no_signature(wire: Wire) -> None:
    answer = wire.ask(unsigned(presigned(Algorithm=None)))
    assert refusal(answer)[1] == f"{CORAL}MissingAuthenticationTokenException"


def test_a_request_is_signed_once(wire: Wire) -> None:
    for _ in range(2):
        assert refusal(wire.ask(message(target=presigned()))) == (
            400,
            f"{CORAL}InvalidSignatureException",
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
        )
        assert wire.ask(message()).status == 200

"""Calls to boto3's clients: which errors are expected, and which are worth another attempt.

boto3 itself is not imported: an error is known by its code, so any client that raises as botocore's do will serve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

CALL_ATTEMPTS_MAX: Final = 8
BACK_OFF_SECONDS: Final = 0.1
BACK_OFF_SECONDS_MAX: Final = 10.0

TRANSIENT: Final = frozenset(
    [
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
    ]
)
"""What passes by itself. SDKs try again as well, for a shorter while; what they report of the network is theirs."""

Sleep: TypeAlias = Callable[[float], Any]


def code_of(error: BaseException) -> str:
    """The service's error code; "" of what is no answer of the service."""
    response = getattr(error, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
    return code if isinstance(code, str) else ""


def back_off(failures: int) -> float:
    """How long to wait after so many failures in a row."""
    return float(min(BACK_OFF_SECONDS_MAX, BACK_OFF_SECONDS * 2 ** (failures - 1)))


def attempt(sleep: Sleep, call: Callable[..., Any], **params: Any) -> Any:
    """The answer to a call, tried again while it fails for reasons that pass."""
    failures = 0
    while True:
        try:
            return call(**params)
        except Exception as error:
            failures += 1
            if code_of(error) not in TRANSIENT or failures >= CALL_ATTEMPTS_MAX:
                raise
        sleep(back_off(failures))

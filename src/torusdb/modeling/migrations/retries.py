"""Which refusals pass by themselves, and how one request is tried until it is answered otherwise."""

from __future__ import annotations

from typing import Any, Final

from torusdb.modeling.errors import REASON_FAILED
from torusdb.modeling.steps import Pause, Request, Work, error_code
from torusdb.modeling.transactions import CANCELED, NO_PART, PASSING_REASONS
from torusdb.modeling.writes import CONDITION_FAILED
from torusdb.streams.calls import TRANSIENT, back_off

ATTEMPTS_MAX: Final = 30
"""Of one request: with the pauses between them about four minutes, on top of what the client itself tries."""

THROTTLED: Final = frozenset(
    ["ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "ThrottlingError"]
)
"""The last as the reason of a transaction."""
CONFLICTS: Final = frozenset(["TransactionConflictException", "TransactionInProgressException"])
REFUSED_ITEMS: Final = frozenset(["ValidationException", "ItemCollectionSizeLimitExceededException"])
"""What the service says of an item that cannot be as it is wanted."""


def patiently(request: Request) -> Work[Any]:
    failures = 0
    while True:
        try:
            return (yield request)
        except Exception as error:
            failures += 1
            if not passes_by_itself(error) or failures == ATTEMPTS_MAX:
                raise
        yield Pause(back_off(failures))


def passes_by_itself(error: Exception) -> bool:
    code = error_code(error)
    if code == CANCELED:
        return set(reasons_of(error)) <= PASSING_REASONS | {NO_PART}
    return code in TRANSIENT or code in CONFLICTS


def is_throttling(error: Exception) -> bool:
    code = error_code(error)
    if code == CANCELED:
        return not {"ThrottlingError", "ProvisionedThroughputExceeded"}.isdisjoint(reasons_of(error))
    return code in THROTTLED


def failed_conditions(error: Exception) -> list[int] | None:
    """Which of a request's writes found their condition not to hold; None of another error."""
    code = error_code(error)
    if code == CONDITION_FAILED:
        return [0]
    if code != CANCELED:
        return None
    return [number for number, reason in enumerate(reasons_of(error)) if reason == REASON_FAILED] or None


def refusal_of(error: Exception) -> str | None:
    """What the service has against an item; None where its error is of something else."""
    code = error_code(error)
    response: dict[str, Any] = getattr(error, "response", {})
    if code in REFUSED_ITEMS:
        return str(response["Error"].get("Message") or code)
    if code == CANCELED:
        for reason in response.get("CancellationReasons") or []:
            if reason.get("Code") in ("ValidationError", "ItemCollectionSizeLimitExceeded"):
                return str(reason.get("Message") or reason["Code"])
    return None


def reasons_of(error: Exception) -> list[str]:
    response: dict[str, Any] = getattr(error, "response", {})
    return [reason.get("Code", NO_PART) for reason in response.get("CancellationReasons") or []]

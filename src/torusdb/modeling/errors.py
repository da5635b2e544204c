"""What the kit refuses, and what it reports. One class for each thing a program may want to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, Final

REASON_FAILED: Final = "ConditionalCheckFailed"
"""The code of a reason: the condition of a write did not hold."""


class ModelingError(Exception):
    """The base of all errors of the kit."""


class ModelError(ModelingError):
    """A declaration that cannot work: raised where the table, entity or pattern is declared."""


class InvalidValue(ModelingError, ValueError):
    """A value that its attribute or its place in a key cannot take; nothing was sent."""


class PlanRefused(ModelingError):
    """A query, an update or a batch that cannot be made into the requests it stands for; nothing was sent."""


class CursorRefused(ModelingError, ValueError):
    """A cursor that is damaged, or that another query made."""


class UnknownEntity(ModelingError):
    """A record of a stream is of an item that no entity of the table is. `record` is the record."""

    def __init__(self, message: str, record: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.record = record


class ConditionFailed(ModelingError):
    """The condition of a write did not hold; nothing was written.

    `entity` is the stored entity that it was held against, None where there is none; `item` is the stored item."""

    def __init__(self, message: str, entity: Any = None, item: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.entity = entity
        self.item = item


class TransactionFailed(ModelingError):
    """A transaction was cancelled; nothing was written. `reasons` has one entry for each of its actions, in their
    order: None where the action had no part in it."""

    def __init__(self, message: str, reasons: Sequence[Reason | None]) -> None:
        super().__init__(message)
        self.reasons = list(reasons)

    def is_only_for(self, codes: Set[str]) -> bool:
        """Whether it was cancelled for reasons, and for none but these."""
        found = {reason.code for reason in self.reasons if reason is not None}
        return bool(found) and found <= codes


class Contention(TransactionFailed):
    """Others changed the same items, time and again; nothing was written. `reasons` are those of the last attempt. The
    same may well succeed later."""


class Reason(ModelingError):
    """Why an action of a transaction could not be done. `code` is the service's ("ConditionalCheckFailed")."""

    def __init__(self, action: str, code: str, message: str, entity: Any = None) -> None:
        told = message if code == REASON_FAILED and message else code + (f", {message}" if message else "")
        super().__init__(f"{action}: {told}")
        self.action = action
        self.code = code
        self.entity = entity


class TableNotFound(ModelingError):
    """There is no such table where the client is connected to. The client's own exception is the cause; `response` is
    what that has of the service's answer."""

    def __init__(self, message: str, response: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.response = response


class BatchIncomplete(ModelingError):
    """The service left some of a batch undone, time and again. `left` is what was not done, in the form in which it
    was given; all the rest is done."""

    def __init__(self, message: str, left: Sequence[Any]) -> None:
        super().__init__(message)
        self.left = list(left)

"""How the stages of this package refuse an expression: with a reason. The entry points name the
expression."""

from __future__ import annotations

from torusdb.errors import RequestFault, ValidationException

EMPTY = "The expression can not be empty;"


class Refusal(Exception):
    """The reason an expression is refused, without `Invalid …Expression: ` before it."""

    def of(self, kind: str) -> ValidationException:
        """The answer to the request. `kind` is the parameter's name, such as `FilterExpression`. An empty
        expression is refused before the checks that PutItem and UpdateItem report behind a prefix
        (measured)."""
        fault = ValidationException if str(self) == EMPTY else RequestFault
        return fault(f"Invalid {kind}: {self}")

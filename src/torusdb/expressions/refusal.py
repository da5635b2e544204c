"""How the stages of this package refuse an expression: with a reason. The entry points name the
expression."""

from __future__ import annotations

from torusdb.errors import RequestFault, ValidationException

EMPTY = "The expression can not be empty;"


class Refusal(Exception):
    """The reason an expression is refused, without `Invalid …Expression: ` before it."""

    def of(self, kind: str, tells_size: bool = False) -> ValidationException:
        """The answer to the request. `kind` is the parameter's name, such as `FilterExpression`. An empty
        expression is refused before the checks that PutItem and UpdateItem report behind a prefix
        (measured). `tells_size` matters to an expression that is `TooLong` only."""
        fault = ValidationException if str(self) == EMPTY else RequestFault
        return fault(f"Invalid {kind}: {self}")


class TooLong(Refusal):
    """An expression beyond the limit. Of all operations only Scan says how long its filter is (measured by others)."""

    def __init__(self, size: int) -> None:
        super().__init__("Expression size has exceeded the maximum allowed size;")
        self._size = size

    def of(self, kind: str, tells_size: bool = False) -> ValidationException:
        if tells_size:
            return Refusal(f"{self} expression size: {self._size}").of(kind)
        return super().of(kind)

"""What the system refuses. In each case nothing was changed.

`InvalidInput`: what was asked makes no sense, now or ever. `NotFound`: something that it names is not there.
`Conflict`: it was a sensible thing to ask, and what is stored does not allow it."""

from __future__ import annotations


class OrderEntryError(Exception):
    """The base of all of them."""


class InvalidInput(OrderEntryError):
    """`field`: the parameter that is to blame."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class NotFound(OrderEntryError):
    def __init__(self, kind: str, key: str) -> None:
        super().__init__(f"There is no {kind} {key}")
        self.kind = kind
        self.key = key


class Conflict(OrderEntryError):
    """What is stored stands against it."""


class OutOfStock(Conflict):
    def __init__(self, product: str, warehouse: str, wanted: int, available: int) -> None:
        super().__init__(f"Warehouse {warehouse} has {available} of product {product}, and {wanted} are wanted")
        self.product = product
        self.warehouse = warehouse
        self.wanted = wanted
        self.available = available


class AlreadyThere(Conflict):
    def __init__(self, kind: str, key: str) -> None:
        super().__init__(f"{kind.capitalize()} {key} is there already")


class WrongStatus(Conflict):
    """The order is not at the step of its way from which this one is taken."""


class ChangedMeanwhile(Conflict):
    """Others were faster, time and again: the same request may well succeed now."""

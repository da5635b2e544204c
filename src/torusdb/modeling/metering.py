"""What the requests of a store cost: `meter = Meter(); Store(shop, client, observe=meter)`, then `meter.calls`.

A store that is observed asks the service for the consumed capacity of each request, and hands on what was answered as
a `Call`. One that isn't asks for nothing. Requests that fail are not handed on: the service does not say what they
cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from torusdb.modeling.steps import Request

METERED: Final = frozenset(
    {
        "batch_get_item",
        "batch_write_item",
        "delete_item",
        "get_item",
        "put_item",
        "query",
        "scan",
        "transact_get_items",
        "transact_write_items",
        "update_item",
    }
)
"""The methods of a client that say what they used."""


class Call(NamedTuple):
    """A request that was answered: `client.<method>(**parameters)`."""

    method: str
    parameters: dict[str, Any]
    answer: dict[str, Any]

    @property
    def capacity_units(self) -> float:
        """Of one table and its indexes, or of each table that a batch or a transaction touched."""
        consumed = self.answer.get("ConsumedCapacity") or []
        return float(sum(each["CapacityUnits"] for each in (consumed if isinstance(consumed, list) else [consumed])))

    @property
    def items_read(self) -> int:
        """What the service looked at, which is what it charges for: what a filter throws away is among them."""
        if "ScannedCount" in self.answer:
            count: int = self.answer["ScannedCount"]
            return count
        responses = self.answer.get("Responses")
        if isinstance(responses, dict):  # of a batch, by table
            return sum(map(len, responses.values()))
        return sum(1 for each in responses or [self.answer] if each.get("Item"))


Observe: TypeAlias = Callable[[Call], Any]


class Meter:
    """Collects calls, in the order in which they were answered. May be shared by stores, and by threads."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> None:
        self.calls.append(call)

    @property
    def items_read(self) -> int:
        return sum(call.items_read for call in self.calls)

    @property
    def capacity_units(self) -> float:
        return sum(call.capacity_units for call in self.calls)


def metered(request: Request) -> dict[str, Any]:
    """Its parameters, with the question what it uses. (What the program asks for itself stays.)"""
    if request.method not in METERED:
        return request.parameters
    return {"ReturnConsumedCapacity": "TOTAL", **request.parameters}

"""A client that says what goes through it: each request, what it read, and the capacity that it used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

METERED: Final = frozenset(
    {
        "batch_get_item",
        "batch_write_item",
        "delete_item",
        "get_item",
        "put_item",
        "query",
        "scan",
        "transact_write_items",
        "update_item",
    }
)


class Call(NamedTuple):
    """`items_read`: what the service looked at, which is what it charges for."""

    method: str
    parameters: dict[str, Any]
    answer: dict[str, Any]
    items_read: int
    capacity_units: float


class Meter:
    """`Store(table, Meter(client))`; `calls` are in the order in which they were answered. May be used by several
    threads, as a store does that asks all shards at once."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls: list[Call] = []

    def __getattr__(self, method: str) -> Any:
        call: Callable[..., dict[str, Any]] = getattr(self._client, method)
        if method not in METERED:
            return call

        def metered(**parameters: Any) -> dict[str, Any]:
            answer = call(**parameters, ReturnConsumedCapacity="TOTAL")
            self.calls.append(Call(method, parameters, answer, _items_read(answer), _capacity(answer)))
            return answer

        return metered

    @property
    def items_read(self) -> int:
        return sum(call.items_read for call in self.calls)

    @property
    def capacity_units(self) -> float:
        return sum(call.capacity_units for call in self.calls)


def _items_read(answer: dict[str, Any]) -> int:
    if "ScannedCount" in answer:
        count: int = answer["ScannedCount"]
        return count
    if "Responses" in answer:
        return sum(map(len, answer["Responses"].values()))
    return 1 if "Item" in answer else 0


def _capacity(answer: dict[str, Any]) -> float:
    """Of one table, or of each table that a batch or a transaction touched."""
    consumed = answer.get("ConsumedCapacity", [])
    return float(sum(each["CapacityUnits"] for each in (consumed if isinstance(consumed, list) else [consumed])))

"""Reads some items of a table, from all over it and no faster than it is told."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from torusdb.modeling.scalars import Item

SEGMENTS: Final = 8
"""Parts of the table that are read side by side. Each is a slice of the hash space, so that a sample has partitions
from everywhere."""
PAGE_ITEMS_MAX: Final = 200


def sample(
    client: Any,
    table: str,
    *,
    items_max: int,
    capacity: float | None = None,
    sleep: Callable[[float], Any],
    clock: Callable[[], float],
    progress: Callable[[int], Any] = lambda count: None,
) -> list[Item]:
    """At most `items_max` items. `capacity`: the read units a second that it may use on average; without it, as fast as
    the table answers. `progress` is told how many there are after each round."""
    segments = [_Segment(client, table, number) for number in range(SEGMENTS)]
    items: list[Item] = []
    used, began = 0.0, clock()
    with ThreadPoolExecutor(SEGMENTS) as threads:
        while len(items) < items_max and any(segment.left for segment in segments):
            asked = [segment for segment in segments if segment.left]
            limit = max(1, min(PAGE_ITEMS_MAX, (items_max - len(items)) // len(asked)))
            for found, units in threads.map(lambda segment: segment.page(limit), asked):  # noqa: B023 - run before it changes
                items += found
                used += units
            progress(min(len(items), items_max))
            if capacity is not None:
                sleep(max(0.0, began + used / capacity - clock()))
    return items[:items_max]


class _Segment:
    def __init__(self, client: Any, table: str, number: int) -> None:
        self.client = client
        self.request: dict[str, Any] = {
            "TableName": table,
            "Segment": number,
            "TotalSegments": SEGMENTS,
            "ReturnConsumedCapacity": "TOTAL",
        }
        self.left = True

    def page(self, limit: int) -> tuple[list[Item], float]:
        answer = self.client.scan(**self.request, Limit=limit)
        start = answer.get("LastEvaluatedKey")
        self.left = start is not None
        self.request["ExclusiveStartKey"] = start
        return answer["Items"], answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)

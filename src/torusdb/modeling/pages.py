"""Reading on: the pages of a query or a scan, from one lane or from several that are merged.

Theory of operation. A read has *lanes*: its one request, or one for each shard or segment. Each lane has items that are
not given out yet, and goes on behind the last item that it was asked for. A *row* is an item and the number of its
lane. `next_rows` asks all lanes that have run dry, together, and gives out rows for as long as it is certain which
comes next. With a limit, a lane is first asked for somewhat more than its part of it, then for more and more: for
twenty of fifteen shards, five of each rather than twenty.

A position is kept for each lane: the key of the last item that was *given to the program*, not of the last page. So a
cursor is right wherever the program stops."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import ceil, sqrt
from typing import Any, Final, TypeAlias

from torusdb.modeling.context import Context
from torusdb.modeling.cursors import BEGINNING, END, Position, read_cursor, write_cursor
from torusdb.modeling.queries import Count
from torusdb.modeling.reads import Read
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Request, Together, Work

PAGE_DEVIATIONS: Final = 3
PAGE_GROWTH: Final = 2

Row: TypeAlias = tuple[int, Item]


class Lane:
    __slots__ = ("items", "items_max", "page_items", "request", "start")

    def __init__(
        self, request: Request, start: Position, page_items: int | None = None, items_max: int | None = None
    ) -> None:
        """`page_items`: of the first page, if that has a limit; `items_max`: of any."""
        self.page_items = page_items
        self.items_max = items_max
        self.request = request
        self.start = start
        """Where the next page begins; END after the last."""
        self.items: deque[Item] = deque()

    @property
    def dry(self) -> bool:
        return not self.items and self.start is not END

    def next_request(self) -> Request:
        paging: dict[str, Any] = {} if isinstance(self.start, bool) else {"ExclusiveStartKey": self.start}
        if self.page_items is not None and self.items_max is not None:
            paging["Limit"] = self.page_items
            self.page_items = min(self.items_max, self.page_items * PAGE_GROWTH)
        return Request(self.request.method, {**self.request.parameters, **paging})

    def take(self, response: dict[str, Any]) -> None:
        self.items.extend(response["Items"])
        self.start = response.get("LastEvaluatedKey") or END


class Pages:
    """Of one run of a read. `positions`: where the program stands in each lane."""

    def __init__(self, read: Read[Any], context: Context) -> None:
        self.requests = read.requests(context)
        self.positions: list[Position] = [BEGINNING] * len(self.requests)
        if read.start is not None:
            self.positions = read_cursor(self.requests, read.start)
        items_max, first = _page_items(read, self.requests)
        self.lanes = [
            Lane(request, at, first, items_max) for request, at in zip(self.requests, self.positions, strict=True)
        ]
        self.order = read.order()
        self.descending = read.descending
        self.key_names = read.table.key_names(read.index)
        self.last: list[Item | None] = [None] * len(self.lanes)
        """The item that was given out last, by lane: what positions are made from when someone asks."""

    def next_rows(self) -> Work[list[Row] | None]:
        """The next rows, at least one; None when there are no more."""
        while dry := [lane for lane in self.lanes if lane.dry]:
            for lane, response in zip(dry, (yield from ask(dry)), strict=True):
                lane.take(response)
        rows = self._ready()
        return rows or None

    def _ready(self) -> list[Row]:
        if len(self.lanes) == 1 or self.order is None:
            rows = [(number, item) for number, lane in enumerate(self.lanes) for item in lane.items]
            for lane in self.lanes:
                lane.items.clear()
            return rows
        return self._merged(self.order)

    def _merged(self, order: Callable[[Item], Any]) -> list[Row]:
        """Until a lane that has more to come has run dry. Of equal ones, those of the first lane come first."""
        rows: list[Row] = []
        heads = {number: order(lane.items[0]) for number, lane in enumerate(self.lanes) if lane.items}
        pick = max if self.descending else min
        while heads:
            number = pick(heads, key=heads.__getitem__)
            lane = self.lanes[number]
            rows.append((number, lane.items.popleft()))
            if lane.items:
                heads[number] = order(lane.items[0])
            else:
                del heads[number]
                if lane.start is not END:
                    break
        return rows

    @property
    def exhausted(self) -> bool:
        """Whether all rows were answered by `next_rows`."""
        return all(lane.start is END and not lane.items for lane in self.lanes)

    def cursor(self) -> str:
        """Where the program stands."""
        for number, item in enumerate(self.last):
            if item is not None:
                self.positions[number] = {name: item[name] for name in self.key_names}
        return write_cursor(self.requests, self.positions)


def ask(lanes: list[Lane]) -> Work[list[dict[str, Any]]]:
    requests = [lane.next_request() for lane in lanes]
    if len(requests) == 1:
        return [(yield requests[0])]
    responses: list[dict[str, Any]] = yield Together(requests)
    return responses


def count_work(count: Count[Any], context: Context) -> Work[int]:
    total = 0
    lanes = [Lane(request, BEGINNING) for request in count.requests(context)]
    while pending := [lane for lane in lanes if lane.start is not END]:
        for lane, response in zip(pending, (yield from ask(pending)), strict=True):
            total += response["Count"]
            lane.start = response.get("LastEvaluatedKey") or END
    return total


def _page_items(read: Read[Any], requests: list[Request]) -> tuple[int | None, int | None]:
    """What a request reads at most, and the first of each lane. Where some of what is read is thrown away, the limit
    says nothing of that."""
    filtered = any("FilterExpression" in each.parameters for each in requests)
    limit = None if filtered else read.limit_items
    given = [each for each in (read.page_items, limit) if each is not None]
    if not given:
        return None, None
    items_max = min(given)
    if limit is None:
        return items_max, items_max
    return items_max, min(items_max, first_page_items(limit, len(requests)))


def first_page_items(limit: int, lanes: int) -> int:
    """What each lane of a limited read is asked for at first: its part of the limit, and as much more as chance will
    rarely exceed (the number of items that fall to a lane deviates by its root), since a second page is a request
    more."""
    share = limit / lanes
    return min(limit, ceil(share + PAGE_DEVIATIONS * sqrt(share)))

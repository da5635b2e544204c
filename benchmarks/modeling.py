"""What `torusdb.modeling` adds to a client: the same work with bare dicts and with objects, in turn, in one process.

Two clients: boto3 on a database in memory, which is what a program feels, and one that answers at once with what was
recorded, which leaves the kit's own time. That is what the figures are about: the difference of two times
that are fifty times as long is mostly noise.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from time import perf_counter
from typing import Any, NamedTuple

import torusdb
from torusdb.modeling import Attr, Entity, GlobalIndex, Key, Query, Store, Table, attr

by_status = GlobalIndex("gsi1", partition_key="gsi1pk", sort_key="gsi1sk")
shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[by_status])
ORDERS = 100
SECONDS_PER_FIGURE = 0.2


class Status(Enum):
    OPEN = "open"
    SENT = "sent"


class Order(Entity, table=shop):
    """Seven attributes of six types, a key of the table and one of an index."""

    key = Key("CUSTOMER#{customer}", "ORDER#{number:08}")
    by_status = Key("ORDERS#{status}", "{placed}#{number:08}", index=by_status)
    customer: Attr[str]
    number: Attr[int]
    status: Attr[Status]
    placed: Attr[datetime]
    total: Attr[Decimal]
    weight: Attr[float]
    comment: Attr[str | None] = attr(default=None)


class Figure(NamedTuple):
    """Microseconds, the medians of the rounds: with bare dicts, with objects, and the kit's own part."""

    name: str
    bare: float
    modelled: float
    own: float
    own_max: float


class Recorded:
    """A client that answers at once with what another answered to the same."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._answers: dict[str, Any] = {}

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def answer(**parameters: Any) -> Any:
            if method not in self._answers:
                self._answers[method] = getattr(self._client, method)(**parameters)
            return self._answers[method]

        return answer


def measure(rounds: int) -> tuple[list[Figure], float]:
    """The figures, and the milliseconds of importing the kit."""
    with torusdb.open() as db:
        client = db.client()
        store, alone = Store(shop, client), Store(shop, Recorded(client))
        store.create_table()
        store.put_many(_order(number) for number in range(ORDERS))
        figures = [_figure(*work, rounds) for work in _works(client, store, alone)]
    return figures, import_milliseconds(rounds)


def _works(
    client: Any, store: Store, alone: Store
) -> list[tuple[str, Callable[[], Any], Callable[[], Any], Any, float]]:
    order = _order(7)
    item = _recorded_item(client)
    key = {"pk": item["pk"], "sk": item["sk"]}
    condition = {
        "KeyConditionExpression": "#n0 = :v0 AND begins_with(#n1, :v1)",
        "ExpressionAttributeNames": {"#n0": "pk", "#n1": "sk"},
        "ExpressionAttributeValues": {":v0": item["pk"], ":v1": {"S": "ORDER#"}},
    }
    return [
        (
            "put",
            lambda: client.put_item(TableName="shop", Item=item),
            lambda: store.put(order),
            lambda: alone.put(order),
            25,
        ),
        (
            "get",
            lambda: client.get_item(TableName="shop", Key=key),
            lambda: store.get(Order, customer="1", number=7),
            lambda: alone.get(Order, customer="1", number=7),
            25,
        ),
        (
            f"query of {ORDERS}",
            lambda: client.query(TableName="shop", **condition),
            lambda: store.run(_query()).all(),
            lambda: alone.run(_query()).all(),
            400,
        ),
    ]


def _figure(
    name: str,
    bare: Callable[[], Any],
    modelled: Callable[[], Any],
    alone: Callable[[], Any],
    own_max: float,
    rounds: int,
) -> Figure:
    works = [bare, modelled, alone]
    times: list[list[float]] = [[], [], []]
    for work in works:
        work()
    for _ in range(rounds):
        for work, found in zip(works, times, strict=True):
            found.append(_microseconds(work))
    return Figure(name, *(statistics.median(found) for found in times), own_max)


def _microseconds(work: Callable[[], Any]) -> float:
    count, start = 0, perf_counter()
    while perf_counter() - start < SECONDS_PER_FIGURE:
        work()
        count += 1
    return (perf_counter() - start) / count * 1e6


def import_milliseconds(rounds: int) -> float:
    """How much longer an interpreter takes that imports the kit."""

    def run(source: str) -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-c", source], check=True)
        return (perf_counter() - start) * 1e3

    return statistics.median(run("import torusdb.modeling") for _ in range(rounds)) - statistics.median(
        run("pass") for _ in range(rounds)
    )


def _query() -> Query[Order]:
    return Order.key.query(Order.customer == "1")


def _order(number: int) -> Order:
    placed = datetime(2024, 3, 1, tzinfo=UTC) + timedelta(hours=number)
    return Order(
        customer="1",
        number=number,
        status=Status.OPEN,
        placed=placed,
        total=Decimal("12.50"),
        weight=0.1,
        comment="x" * 40,
    )


def _recorded_item(client: Any) -> dict[str, Any]:
    item: dict[str, Any] = client.query(
        TableName="shop",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": "CUSTOMER#1"}},
        Limit=1,
    )["Items"][0]
    return item


def table_of(figures: list[Figure], import_ms: float) -> str:
    lines = [
        "| work | bare boto3 | modelled | the kit's own time | at most |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(
            f"| {each.name} | {each.bare:.0f} µs | {each.modelled:.0f} µs | {each.own:.1f} µs | {each.own_max:.0f} µs |"
            for each in figures
        ),
        f"| import | | | {import_ms:.0f} ms | 100 ms |",
    ]
    return "\n".join(lines)

"""A shop whose stream is followed: its model, and changes of it as a stream gives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from torusdb.modeling import Attr, Change, Entity, Key, Ref, Store, Table, Task, attr, ttl
from torusdb.modeling.blocks.fanout import Progress
from torusdb.modeling.blocks.tallies import Credit, Share, Tally, Total
from torusdb.modeling.context import Context
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import work_of
from torusdb.modeling.upserts import Upsert

market = Table("market", partition_key="pk", sort_key="sk")
TIME: Final = datetime(2099, 5, 4, tzinfo=UTC)
"""So far ahead that the database drops nothing that expires."""


class Order(Entity, table=market):
    key = Key("ORDER#{number}", "ORDER")
    number: Attr[int]
    seller: Attr[str]
    total: Attr[int]


class OrderCredit(Credit, table=market):
    key = Key("CREDIT#{item}", "CREDIT")


class Sales(Total, table=market):
    key = Key("SALES#{group}", "SALES")


class Reader(Progress, table=market):
    key = Key("READER#{handler}", "{shard}")
    until: Attr[datetime | None] = ttl()


class Note(Entity, table=market):
    """What a handler has made of an order."""

    key = Key("NOTE#{handler}", "{number:04}")
    handler: Attr[str]
    number: Attr[int]
    times: Attr[int] = attr(default=0)


sales = Tally(Order, credit=OrderCredit, total=Sales, share=lambda order: Share(order.seller, order.total))


def change(position: int, number: int, new: Order | None, kind: str = "modify") -> Change[Any]:
    return Change(
        "remove" if new is None else kind,  # type: ignore[arg-type]
        Ref(Order, number=number),
        None,
        new,
        False,
        f"{position:021}",
        str(position),
        TIME,
    )


def history(random: Random, changes: int, orders: int = 4) -> list[Change[Any]]:
    """Orders that are made, changed, moved to other sellers, removed and made again."""
    return [
        change(
            position,
            number,
            None
            if random.random() < 0.25
            else Order(number=number, seller=random.choice("ab"), total=random.randrange(1, 9)),
        )
        for position in range(1, changes + 1)
        for number in [random.randrange(orders)]
    ]


def expected_sales(changes: Iterable[Change[Any]]) -> dict[str, tuple[int, int]]:
    """What a plain sum says, of each seller who has something."""
    last = {each.ref: each.new for each in changes}
    found: dict[str, tuple[int, int]] = {}
    for order in last.values():
        if order is not None:
            total, items = found.get(order.seller, (0, 0))
            found[order.seller] = (total + order.total, items + 1)
    return found


def sales_in(store: Store) -> dict[str, tuple[int, int]]:
    found = store.get_many([Ref(Sales, group=seller) for seller in "ab"], consistent=True)
    return {each.group: (int(each.amount), each.items) for each in found if each is not None and each.items}


class Noting(Task[None]):
    """Counts how often each order was handled. `broken`: orders that cannot be."""

    def __init__(self, handler: str, changes: Sequence[Change[Any]], broken: Iterable[int] = ()) -> None:
        self.handler = handler
        self.changes = changes
        self.broken = frozenset(broken)

    def work(self, context: Context) -> Work[None]:
        for each in self.changes:
            number = each.ref.values["number"]
            if number in self.broken:
                raise ValueError(f"no {number} here")
            yield from work_of(Upsert(Ref(Note, handler=self.handler, number=number), Note.times.add(1)), context)


def notes(store: Store, handler: str) -> dict[int, int]:
    return {each.number: each.times for each in store.run(Note.key.query(Note.handler == handler))}

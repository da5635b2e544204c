"""The fourteen patterns as the data grows: time, what is read, what is charged, and the same answers from SQLite.

Both are in this process, with their data on disk: the table behind the service's requests, SQLite behind its own calls.
So the two times are not to be held against each other; how each of them grows is."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple

from order_entry.generate import generate, load
from order_entry.model import FOURTEEN, table
from order_entry.reference import Reference
from order_entry.sampling import sample
from order_entry.system import System, in_this_process
from torusdb.modeling import Entity, Meter, Pattern, Read, Store

LIMITED: Final = {"employees_by_title": 50, "ranking": 50}
"""Answers that grow with the company are read as a page shows them: the first so many."""
DAYS: Final = 30
"""Of a range of days. `orders_by_status` asks for fewer in more data, so that its answer stays what it is."""
VALUES: Final = 60
"""For how many values each pattern is asked; each figure is the median or the mean over them."""
WARM_UP: Final = 5

Advance = Callable[[str, int], object]


class Figure(NamedTuple):
    pattern: str
    times: int
    """The size of the data, as a multiple of the smallest."""
    items: float
    """Of the answer, and what was read for it; both on average."""
    items_read: float
    capacity_units: float
    milliseconds: float
    sql_milliseconds: float


class Measured(NamedTuple):
    customers: int
    """At the smallest size."""
    entities: dict[int, int]
    figures: list[Figure]


def measure(customers: int, sizes: Sequence[int], advance: Advance, values: int = VALUES) -> Measured:
    """`advance` is told what is done and how many of the entities or patterns that is."""
    entities: dict[int, int] = {}
    figures: list[Figure] = []
    for times in sizes:
        with TemporaryDirectory() as directory:
            reference = Reference(str(Path(directory) / "reference.sqlite"))
            with in_this_process(str(Path(directory) / "torusdb")) as system:
                entities[times] = _fill(system, reference, customers * times, lambda n: advance("loading", n))
                for pattern in FOURTEEN.values():
                    figures.append(_figure(system, reference, pattern, times, values))
                    advance(pattern.name, 0)
            reference.close()
    return Measured(customers, entities, figures)


def _fill(system: System, reference: Reference, customers: int, advance: Callable[[int], object]) -> int:
    system.create_table(stream=False)

    def both() -> Iterator[Entity]:
        """Into SQLite on the way."""
        batch: list[Entity] = []
        for entity in generate(customers):
            batch.append(entity)
            if len(batch) == 10_000:
                reference.load(batch)
                batch.clear()
            yield entity
        reference.load(batch)

    count = load(system.store, both(), advance=lambda batch: advance(len(batch)))
    reference.connection.execute("ANALYZE")
    return count


def _figure(system: System, reference: Reference, pattern: Pattern[..., Any], times: int, values: int) -> Figure:
    days = DAYS // times if pattern.name == "orders_by_status" else DAYS
    questions = sample(reference, pattern.name, values, days=days)
    limit = LIMITED.get(pattern.name)
    meter = Meter()
    answers = [_answer(Store(table, system.dynamodb, observe=meter), pattern, each) for each in questions]
    count = len(questions)
    return Figure(
        pattern=pattern.name,
        times=times,
        items=sum(len(each) for each in answers) / count,
        items_read=meter.items_read / count,
        capacity_units=meter.capacity_units / count,
        milliseconds=_median(lambda each: _answer(system.store, pattern, each), questions),
        sql_milliseconds=_median(lambda each: reference.ask(pattern.name, limit, **each), questions),
    )


def _answer(store: Store, pattern: Pattern[..., Any], values: dict[str, Any]) -> list[Any]:
    plan = pattern(**values)
    if not isinstance(plan, Read):
        return [store.run(plan)]
    limit = LIMITED.get(pattern.name)
    return store.run(plan if limit is None else plan.limit(limit)).all()


def _median(ask: Callable[[dict[str, Any]], object], questions: Sequence[dict[str, Any]]) -> float:
    for each in questions[:WARM_UP]:
        ask(each)
    found = []
    for each in questions:
        start = perf_counter()
        ask(each)
        found.append((perf_counter() - start) * 1000)
    return statistics.median(found)

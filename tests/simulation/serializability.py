"""Whether a history could have come from transactions that ran one after another, in an order that respects time.

Every transaction appends its own number to lists, or reads whole lists. So each list tells in which order its writers
came, and each reading tells between which two of them it was. All that is put together in a graph of what must have
come before what; the history is strictly serializable if the graph has no cycle. (The method is that of Elle: Kingsbury
and Alvaro, "Inferring isolation anomalies from experimental observations", 2020.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

Key = str
Lists = Mapping[Key, tuple[int, ...]]
"""By key, the numbers of those who have appended, in order."""


@dataclass
class Transaction:
    number: int
    began: int
    appends: frozenset[Key] = frozenset()
    reads: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    """What it has seen, before its own appends."""
    ended: int | None = None
    """None where no answer came: it may have happened or not."""
    happened: bool | None = None
    """Whether the answer says that it has appended; None where none came."""


def check(transactions: Iterable[Transaction], final: Lists) -> None:
    """`final` is what the lists hold in the end."""
    by_number = {one.number: one for one in transactions}
    _check_whole(by_number, final)
    graph: dict[int, set[int]] = {number: set() for number in by_number}
    for key, numbers in final.items():
        for before, after in pairwise(numbers):
            graph[after].add(before)
        for one in by_number.values():
            if key in one.reads:
                _place_reading(graph, one.number, one.reads[key], numbers)
    _respect_time(graph, by_number)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"each of these must have come before the next: {error.args[1]}") from None


def _check_whole(by_number: Mapping[int, Transaction], final: Lists) -> None:
    """Everything or nothing of a transaction, and never twice."""
    for one in by_number.values():
        found = {key: numbers.count(one.number) for key, numbers in final.items() if one.number in numbers}
        assert all(count == 1 for count in found.values()), f"{one.number} was done twice"
        assert found.keys() in (set(), set(one.appends)), f"{one.number} was done in part"
        if one.happened is not None:
            assert bool(found) == (one.happened and bool(one.appends)), f"the answer to {one.number} was not true"


def _place_reading(graph: dict[int, set[int]], reader: int, seen: tuple[int, ...], numbers: tuple[int, ...]) -> None:
    assert numbers[: len(seen)] == seen, f"{reader} has seen {seen}, which never was"
    if seen:
        graph[reader].add(seen[-1])
    if len(seen) < len(numbers) and numbers[len(seen)] != reader:
        graph[numbers[len(seen)]].add(reader)


def _respect_time(graph: dict[int, set[int]], by_number: Mapping[int, Transaction]) -> None:
    for after in by_number.values():
        for before in by_number.values():
            if before.ended is not None and before.ended < after.began:
                graph[after.number].add(before.number)

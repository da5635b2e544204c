"""Each of the fourteen patterns gives what SQL gives on the same data, by one operation a shard, and is charged for its
answer only."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import pytest

from order_entry import model
from order_entry.model import FOURTEEN, SHARDS, table
from order_entry.reference import ROWS, rows_of
from order_entry.sampling import VALUES, sample
from tests.examples.order_entry.conftest import World
from torusdb.model.values import item_size
from torusdb.modeling import Meter, Pattern, Read, Store

VALUES_PER_PATTERN = 25
SHARDED = {"orders_by_status", "employees_hired_since"}
UNIT_BYTES = 4096

NOTHING: dict[str, Any] = {
    "employee": "nobody",
    "last_name": "nobody",
    "customer": "nobody",
    "representative": "nobody",
    "status": model.Status.OPEN,
    "since": date(1990, 1, 1),
    "until": date(1990, 12, 31),
    "day": date(2090, 1, 1),
    "warehouse": "none",
    "product": "none",
    "title": "none",
    "quarter": "1990-Q1",
}

each_pattern = pytest.mark.parametrize("pattern", FOURTEEN.values(), ids=lambda each: each.name)


def answer_of(store: Store, pattern: Pattern[..., Any], values: dict[str, Any]) -> Any:
    plan = pattern(**values)
    return store.run(plan).all() if isinstance(plan, Read) else store.run(plan)


def test_there_are_fourteen_of_them_each_with_its_sql() -> None:
    numbers = [each.description.partition(". ")[0] for each in FOURTEEN.values()]
    assert numbers == [str(number) for number in range(1, 15)]
    assert FOURTEEN.keys() == ROWS.keys() == VALUES.keys()


@each_pattern
def test_a_pattern_says_which_index_answers_it_and_no_filter_or_scan_does(pattern: Pattern[..., Any]) -> None:
    explained = pattern.explanation
    assert explained.operation in {"GetItem", "Query"}
    assert explained.filter is None
    assert f". {explained.index_name or 'Table'}, " in pattern.description
    assert (pattern.name in SHARDED) == (explained.requests == SHARDS) == (f"{SHARDS} shards" in pattern.description)


@each_pattern
def test_the_answer_is_that_of_sql(pattern: Pattern[..., Any], world: World) -> None:
    answers = 0
    for values in sample(world.reference, pattern.name, VALUES_PER_PATTERN):
        expected = world.reference.ask(pattern.name, **values)
        assert rows_of(pattern.name, answer_of(world.store, pattern, values)) == expected, values
        answers += len(expected)
    assert answers > 0


@each_pattern
def test_of_what_is_not_there_both_answer_nothing(pattern: Pattern[..., Any], small: World) -> None:
    names = {name for values in sample(small.reference, pattern.name, 1) for name in values}
    values = {name: NOTHING.get(name) for name in names}
    assert small.reference.ask(pattern.name, **values) == []
    assert answer_of(small.store, pattern, values) in ([], None)


@each_pattern
def test_a_pattern_is_one_operation_a_shard_and_reads_its_answer_and_nothing_else(
    pattern: Pattern[..., Any], world: World
) -> None:
    for values in sample(world.reference, pattern.name, VALUES_PER_PATTERN):
        meter = Meter()
        answer = answer_of(Store(table, world.system.dynamodb, observe=meter), pattern, values)
        assert len(meter.calls) == (SHARDS if pattern.name in SHARDED else 1)
        assert {call.method for call in meter.calls} == {pattern.explanation.operation.replace("I", "_i").lower()}
        assert meter.items_read == len(answer if isinstance(answer, list) else [answer])
        assert meter.capacity_units == sum(charge(call.answer) for call in meter.calls)


def charge(answer: dict[str, Any]) -> float:
    """Of an eventually consistent read of these items, as the developer guide has it: half a unit for each 4 KB begun,
    whatever else the table holds."""
    items = [answer["Item"]] if "Item" in answer else answer["Items"]
    return max(1, math.ceil(sum(map(item_size, items)) / UNIT_BYTES)) / 2


def test_what_is_asked_for_is_as_cheap_in_ten_times_the_data(small: World, large: World) -> None:
    """For the patterns whose answer does not depend on how much there is."""
    for pattern in (model.current_job, model.inventory, model.total_inventory):
        for world in (small, large):
            meter = Meter()
            for values in sample(world.reference, pattern.name, VALUES_PER_PATTERN):
                answer_of(Store(table, world.system.dynamodb, observe=meter), pattern, values)
            assert {call.capacity_units for call in meter.calls} == {0.5}

"""Rows in SQLite that follow a stream: never older than they were, and removed ones stay removed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.modeling.blocks.orders import TIME, Order, change, history
from torusdb.modeling import Change, ModelError
from torusdb.modeling.blocks.sqlite_copies import SqliteCopies

COLUMNS = ("number", "group", "total")


def copies(connection: sqlite3.Connection) -> SqliteCopies[Order]:
    return SqliteCopies(
        connection,
        "orders",
        Order,
        columns=COLUMNS,
        values=lambda order: (order.number, order.seller, order.total),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "orders.db"


@pytest.fixture
def connection(file: Path) -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(file, timeout=0)
    yield made
    made.close()


def rows(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute('SELECT number, "group", total FROM orders ORDER BY number').fetchall()


def order(number: int, total: int = 5) -> Order:
    return Order(number=number, seller="a", total=total)


def test_rows_follow_changes(connection: sqlite3.Connection) -> None:
    target = copies(connection)
    assert target.apply([change(1, 1, order(1)), change(2, 2, order(2)), change(3, 2, order(2, 7))]) == 2
    assert rows(connection) == [(1, "a", 5), (2, "a", 7)]
    assert target.apply([change(4, 1, None)]) == 1
    assert rows(connection) == [(2, "a", 7)]


def test_what_comes_again_or_late_changes_nothing(connection: sqlite3.Connection) -> None:
    target = copies(connection)
    target.apply([change(2, 1, order(1, 7)), change(4, 2, None)])
    assert target.apply([change(2, 1, order(1, 7)), change(4, 2, None)]) == 0
    assert target.apply([change(1, 1, order(1)), change(3, 2, order(2))]) == 0
    assert rows(connection) == [(1, "a", 7)]


@pytest.mark.parametrize("seed", range(25))
def test_any_order_and_any_number_of_times(connection: sqlite3.Connection, seed: int) -> None:
    random = Random(seed)
    changes = history(random, 20)
    deliveries = [[each] for each in [*changes, *changes]]
    random.shuffle(deliveries)
    target = copies(connection)
    for each in deliveries:
        target.apply(each)
    last = {each.ref: each.new for each in changes}
    assert rows(connection) == sorted((o.number, o.seller, o.total) for o in last.values() if o is not None)


def test_numbers_of_streams_are_compared_as_numbers(connection: sqlite3.Connection) -> None:
    target = copies(connection)
    target.apply([change(1, 1, order(1, 7))._replace(sequence_number="1" + "0" * 22)])
    assert target.apply([change(1, 1, order(1))._replace(sequence_number="9" * 21)]) == 0


class Killed(BaseException): ...


@pytest.mark.parametrize("killed_at", range(3))
def test_who_dies_within_a_batch_has_written_none_of_it(file: Path, killed_at: int) -> None:
    dying = sqlite3.connect(file)
    target = copies(dying)
    target.apply([change(1, 1, order(1))])
    batch = [change(2, 1, order(1, 7)), change(3, 2, order(2)), change(4, 3, order(3))]
    real = target._row
    seen: list[Change[Any]] = []

    def row(each: Change[Order]) -> Any:
        seen.append(each)
        return (*real(each)[:3], _Dying(len(COLUMNS)) if len(seen) == killed_at + 1 else real(each)[3])

    target._row = row  # type: ignore[method-assign]
    with pytest.raises(Killed):
        target.apply(batch)
    dying.close()
    again = sqlite3.connect(file)
    assert rows(again) == [(1, "a", 5)]
    assert copies(again).apply(batch) == 3
    assert rows(again) == [(1, "a", 7), (2, "a", 5), (3, "a", 5)]
    again.close()


class _Dying(tuple[Any, ...]):
    """Values at whose writing the process ends."""

    def __new__(cls, length: int) -> _Dying:
        return super().__new__(cls, [None] * length)

    def __iter__(self) -> Iterator[Any]:
        raise Killed


def test_two_workers_at_once_have_one_turn_each(connection: sqlite3.Connection, file: Path) -> None:
    """The one that comes second is refused, as a handler may be, and does it when the batch comes again."""
    target = copies(connection)
    other = sqlite3.connect(file, timeout=0)
    others = copies(other)
    connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        others.apply([change(1, 1, order(1))])
    connection.rollback()
    target.apply([change(2, 1, order(1, 7))])
    assert others.apply([change(1, 1, order(1))]) == 0
    assert rows(other) == [(1, "a", 7)]
    other.close()


def test_what_is_loaded_takes_the_place_of_nothing(connection: sqlite3.Connection) -> None:
    target = copies(connection)
    target.apply([change(1, 1, order(1, 7)), change(2, 2, None)])
    assert target.load([order(1), order(2), order(3)]) == 1
    assert target.load([order(3, 9)]) == 0
    assert rows(connection) == [(1, "a", 7), (3, "a", 5)]
    target.apply([change(3, 3, order(3, 8))])
    assert rows(connection) == [(1, "a", 7), (3, "a", 8)]


def test_tombstones_are_dropped_when_they_are_old(connection: sqlite3.Connection) -> None:
    target = copies(connection)
    target.apply([change(1, 1, order(1)), change(2, 2, None)])
    assert target.drop_tombstones(TIME) == 0
    assert target.drop_tombstones(TIME + timedelta(days=2)) == 1
    assert rows(connection) == [(1, "a", 5)]


@pytest.mark.parametrize("name", ['x"; DROP TABLE orders_rows', "", "item_key", "Changed_At"])
def test_names_that_could_not_be_are_refused(connection: sqlite3.Connection, name: str) -> None:
    with pytest.raises(ModelError, match="cannot be a name here"):
        SqliteCopies(connection, "orders", Order, columns=["number", name], values=lambda _: (1, 2))


def test_values_and_columns_must_fit(connection: sqlite3.Connection) -> None:
    with pytest.raises(ModelError, match="The copy orders has no columns"):
        SqliteCopies(connection, "orders", Order, columns=[], values=lambda _: ())
    target = SqliteCopies(
        connection, "orders", Order, columns=["number", "total"], values=lambda order: (order.number,)
    )
    with pytest.raises(ModelError, match=r"orders has the columns number, total, and Order\(.*\) gives 1 values"):
        target.apply([change(1, 1, order(1))])

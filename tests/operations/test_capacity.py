"""ConsumedCapacity of operations on items: what is charged for what, on the table and on each index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.operations.conftest import MakeTable
from tests.operations.shorthand import SS, N, S
from torusdb import Database

KB = 1024


def text(size: int, name: str = "x") -> Any:
    """A value with which the attribute `name` of an item with the key `pk` = `a` brings it to `size` bytes."""
    return S("x" * (size - len("pk" + "a") - len(name)))


def units(answer: dict[str, Any]) -> float:
    consumed: float = answer["ConsumedCapacity"]["CapacityUnits"]
    return consumed


# Reads.


@pytest.mark.parametrize(
    ("size", "expected"), [(100, 1), (4 * KB, 1), (4 * KB + 1, 2), (8 * KB, 2), (40 * KB, 10), (400 * KB, 100)]
)
def test_a_read_costs_a_unit_for_each_4_kb(db: Database, table: str, size: int, expected: float) -> None:
    db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": text(size)}})
    request = {"TableName": table, "Key": {"pk": S("a")}, "ReturnConsumedCapacity": "TOTAL"}
    assert units(db.call("GetItem", {**request, "ConsistentRead": True})) == expected
    assert units(db.call("GetItem", request)) == expected / 2
    assert units(db.call("GetItem", {**request, "ProjectionExpression": "pk"})) == expected / 2


def test_a_read_of_nothing_costs_as_the_smallest(db: Database, table: str) -> None:
    request = {"TableName": table, "Key": {"pk": S("a")}, "ReturnConsumedCapacity": "INDEXES"}
    assert db.call("GetItem", request) == {
        "ConsumedCapacity": {"TableName": table, "CapacityUnits": 0.5, "Table": {"CapacityUnits": 0.5}}
    }
    assert units(db.call("GetItem", {**request, "ConsistentRead": True})) == 1


def test_a_batch_of_reads_is_charged_item_by_item(db: Database, make_table: MakeTable) -> None:
    first, second = make_table("pk:S", "First"), make_table("pk:S", "Second")
    for table in (first, second):
        db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), "x": text(4 * KB + 1)}})
        db.call("PutItem", {"TableName": table, "Item": {"pk": S("b")}})
    keys = [{"pk": S(name)} for name in ("a", "b", "missing")]
    request = {
        "RequestItems": {first: {"Keys": keys}, second: {"Keys": keys, "ConsistentRead": True}},
        "ReturnConsumedCapacity": "INDEXES",
    }
    assert db.call("BatchGetItem", request)["ConsumedCapacity"] == [
        {"TableName": first, "CapacityUnits": 2.0, "Table": {"CapacityUnits": 2.0}},
        {"TableName": second, "CapacityUnits": 4.0, "Table": {"CapacityUnits": 4.0}},
    ]


# Writes of the table.


@pytest.mark.parametrize(("size", "expected"), [(100, 1), (KB, 1), (KB + 1, 2), (10 * KB, 10), (400 * KB, 400)])
def test_a_write_costs_a_unit_for_each_kb(db: Database, table: str, size: int, expected: float) -> None:
    request = {"TableName": table, "Item": {"pk": S("a"), "x": text(size)}, "ReturnConsumedCapacity": "TOTAL"}
    assert units(db.call("PutItem", request)) == expected


def test_a_write_is_charged_on_the_larger_of_before_and_after(db: Database, table: str) -> None:
    def put(size: int) -> float:
        item = {"pk": S("a"), "x": text(size)}
        return units(db.call("PutItem", {"TableName": table, "Item": item, "ReturnConsumedCapacity": "TOTAL"}))

    def update(expression: str, values: dict[str, Any] | None = None) -> float:
        request = {
            "TableName": table,
            "Key": {"pk": S("a")},
            "UpdateExpression": expression,
            "ReturnConsumedCapacity": "TOTAL",
        }
        if values:
            request["ExpressionAttributeValues"] = values
        return units(db.call("UpdateItem", request))

    def delete() -> float:
        request = {"TableName": table, "Key": {"pk": S("a")}, "ReturnConsumedCapacity": "TOTAL"}
        return units(db.call("DeleteItem", request))

    assert [put(3 * KB), put(KB), put(2 * KB), put(2 * KB)] == [3, 3, 2, 2]
    assert [update("SET y = :y", {":y": N(1)}), update("SET y = :y", {":y": N(1)})] == [3, 3]
    assert [update("REMOVE x"), update("REMOVE x")] == [3, 1]
    assert [put(5 * KB), delete(), delete()] == [5, 5, 1]
    assert update("REMOVE x") == 1  # makes no item, and is a write all the same
    assert delete() == 1


# Writes of indexes.

Write = Callable[..., dict[str, Any]]


@pytest.fixture
def indexed(make_table: MakeTable) -> str:
    """Three indexes by two attributes, with all projections."""
    return make_table(
        "pk:S sk:S",
        globally={"all": ("g:S", "ALL"), "keys": ("g:S", "KEYS_ONLY")},
        locally={"some": ("pk:S l:N", ["shown"])},
    )


@pytest.fixture
def put(db: Database, indexed: str) -> Write:
    """`put(g=S("1"))` writes the item and gives what each index was charged, and the table."""

    def put(**attributes: Any) -> dict[str, Any]:
        item = {"pk": S("a"), "sk": S("b"), **attributes}
        return charges(
            db.call("PutItem", {"TableName": indexed, "Item": item, "ReturnConsumedCapacity": "INDEXES"}), indexed
        )

    return put


def charges(answer: dict[str, Any], table: str) -> dict[str, float]:
    """What was charged by name, "table" for the table; holds the parts against their sum."""
    consumed = answer["ConsumedCapacity"]
    assert consumed.pop("TableName") == table
    total = consumed.pop("CapacityUnits")
    found = {"table": consumed.pop("Table")["CapacityUnits"]}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for name, charge in consumed.pop(member, {}).items():
            found[name] = charge["CapacityUnits"]
    assert consumed == {}
    assert sum(found.values()) == total
    return found


def test_an_item_that_is_in_no_index_costs_the_table_only(put: Write) -> None:
    assert put(x=N(1)) == {"table": 1}
    assert put(x=N(2)) == {"table": 1}


def test_an_index_costs_when_its_view_of_the_item_changes(put: Write) -> None:
    assert put(g=S("1"), x=N(1)) == {"table": 1, "all": 1, "keys": 1}
    assert put(g=S("1"), x=N(1)) == {"table": 1}
    assert put(g=S("1"), x=N(2)) == {"table": 1, "all": 1}
    assert put(g=S("1"), x=N(2), l=N(1)) == {"table": 1, "all": 1, "some": 1}
    assert put(g=S("1"), x=N(3), l=N(1)) == {"table": 1, "all": 1}
    assert put(g=S("1"), x=N(3), l=N(1), shown=SS("a", "b")) == {"table": 1, "all": 1, "some": 1}
    assert put(g=S("1"), x=N(3), l=N(1), shown=SS("b", "a")) == {"table": 1}
    assert put(g=S("1"), x=N(3)) == {"table": 1, "all": 1, "some": 1}
    assert put() == {"table": 1, "all": 1, "keys": 1}


def test_a_key_that_moves_costs_two_writes(put: Write) -> None:
    put(g=S("1"), l=N(1))
    assert put(g=S("2"), l=N(1)) == {"table": 1, "all": 2, "keys": 2}
    assert put(g=S("2"), l=N(2)) == {"table": 1, "all": 1, "some": 2}


def test_index_writes_are_weighed_by_what_the_index_holds(put: Write) -> None:
    large, small = S("x" * 2500), S("x" * 1500)
    assert put(g=S("1"), l=N(1), x=large) == {"table": 3, "all": 3, "keys": 1, "some": 1}
    assert put(g=S("1"), l=N(1), x=small) == {"table": 3, "all": 3}
    assert put(g=S("1"), l=N(1), shown=small) == {"table": 2, "all": 2, "some": 2}
    assert put(g=S("2"), l=N(2), shown=large) == {"table": 3, "all": 2 + 3, "keys": 2, "some": 2 + 3}


def test_updates_and_deletes_are_charged_alike(db: Database, indexed: str, put: Write) -> None:
    put(g=S("1"), l=N(1), x=N(1))
    key = {"TableName": indexed, "Key": {"pk": S("a"), "sk": S("b")}, "ReturnConsumedCapacity": "INDEXES"}

    def update(expression: str, value: Any) -> dict[str, float]:
        values = {"ExpressionAttributeValues": {":v": value}}
        return charges(db.call("UpdateItem", {**key, "UpdateExpression": expression, **values}), indexed)

    assert update("SET x = :v", N(2)) == {"table": 1, "all": 1}
    assert update("SET x = :v", N("2.0")) == {"table": 1}
    assert update("SET g = :v", S("2")) == {"table": 1, "all": 2, "keys": 2}
    assert update("ADD l :v", N(1)) == {"table": 1, "all": 1, "some": 2}
    assert update("SET x = :v REMOVE g, l", N(1)) == {"table": 1, "all": 1, "keys": 1, "some": 1}
    put(g=S("1"), l=N(1))
    assert charges(db.call("DeleteItem", key), indexed) == {"table": 1, "all": 1, "keys": 1, "some": 1}
    assert charges(db.call("DeleteItem", key), indexed) == {"table": 1}


def test_total_counts_indexes_without_naming_them(db: Database, indexed: str) -> None:
    item = {"pk": S("a"), "sk": S("b"), "g": S("1"), "l": N(1)}
    request = {"TableName": indexed, "Item": item, "ReturnConsumedCapacity": "TOTAL"}
    assert db.call("PutItem", request) == {"ConsumedCapacity": {"TableName": indexed, "CapacityUnits": 4.0}}
    assert db.call("PutItem", {**request, "ReturnConsumedCapacity": "NONE"}) == {}


def test_kinds_of_indexes_are_told_apart(db: Database, indexed: str) -> None:
    item = {"pk": S("a"), "sk": S("b"), "g": S("1"), "l": N(1)}
    answer = db.call("PutItem", {"TableName": indexed, "Item": item, "ReturnConsumedCapacity": "INDEXES"})
    assert answer["ConsumedCapacity"] == {
        "TableName": indexed,
        "CapacityUnits": 4.0,
        "Table": {"CapacityUnits": 1.0},
        "GlobalSecondaryIndexes": {"all": {"CapacityUnits": 1.0}, "keys": {"CapacityUnits": 1.0}},
        "LocalSecondaryIndexes": {"some": {"CapacityUnits": 1.0}},
    }


def test_a_batch_of_writes_adds_up_by_table(db: Database, make_table: MakeTable, indexed: str, put: Write) -> None:
    put(g=S("1"), x=N(1))
    plain = make_table("pk:S", "Plain")
    request = {
        "RequestItems": {
            indexed: [
                {"PutRequest": {"Item": {"pk": S("a"), "sk": S("b"), "g": S("2")}}},
                {"PutRequest": {"Item": {"pk": S("a"), "sk": S("c"), "l": N(1), "x": S("x" * 2048)}}},
                {"DeleteRequest": {"Key": {"pk": S("a"), "sk": S("missing")}}},
            ],
            plain: [{"PutRequest": {"Item": {"pk": S("a")}}}],
        },
        "ReturnConsumedCapacity": "INDEXES",
    }
    assert db.call("BatchWriteItem", request)["ConsumedCapacity"] == [
        {
            "TableName": indexed,
            "CapacityUnits": 10.0,
            "Table": {"CapacityUnits": 5.0},
            "GlobalSecondaryIndexes": {"all": {"CapacityUnits": 2.0}, "keys": {"CapacityUnits": 2.0}},
            "LocalSecondaryIndexes": {"some": {"CapacityUnits": 1.0}},
        },
        {"TableName": plain, "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}},
    ]

"""What transactions cost, and the metrics they give."""

from __future__ import annotations

from typing import Any

import pytest

from tests.operations.conftest import MakeTable
from tests.operations.shorthand import N, S
from tests.operations.transacting import check, delete, get, put, update, write
from torusdb import Database

KB = 1024


def text(size: int) -> Any:
    """A value with which the attribute `x` of an item with the key `pk` = `a` brings it to `size` bytes."""
    return S("x" * (size - len("pk" + "a" + "x")))


def consumed(answer: dict[str, Any]) -> float:
    (one,) = answer["ConsumedCapacity"]
    assert one["CapacityUnits"] == one["WriteCapacityUnits"]
    units: float = one["CapacityUnits"]
    return units


@pytest.mark.parametrize(("size", "units"), [(100, 2), (KB, 2), (KB + 1, 4), (10 * KB, 20)])
def test_a_write_costs_two_units_for_each_kb(db: Database, table: str, size: int, units: float) -> None:
    assert consumed(write(db, put(table, "a", x=text(size)), ReturnConsumedCapacity="TOTAL")) == units


def test_every_member_is_charged_on_the_larger_of_before_and_after(db: Database, table: str) -> None:
    def cost(member: Any) -> float:
        return consumed(write(db, member, ReturnConsumedCapacity="TOTAL"))

    assert cost(put(table, "a", x=text(3 * KB))) == 6
    assert cost(put(table, "a", x=text(KB))) == 6
    assert cost(update(table, "a", "SET x = :x", {":x": text(2 * KB)})) == 4
    assert cost(update(table, "a", "REMOVE x")) == 4
    assert cost(delete(table, "a")) == 2
    assert cost(delete(table, "a")) == 2
    assert cost(update(table, "a", "REMOVE x")) == 2


def test_a_check_is_charged_as_a_write_of_what_it_looks_at(db: Database, table: str) -> None:
    write(db, put(table, "a", x=text(3 * KB)))
    for pk, expression, units in (("a", "attribute_exists(pk)", 6), ("b", "attribute_not_exists(pk)", 2)):
        assert consumed(write(db, check(table, pk, expression), ReturnConsumedCapacity="TOTAL")) == units


def test_members_add_up_by_table_in_the_order_of_the_request(db: Database, make_table: MakeTable) -> None:
    tables = [make_table("pk:S", name) for name in ("Zoo", "Ant")]
    zoo, ant = tables
    answer = write(db, put(zoo, "a", x=text(KB + 1)), put(ant, "a"), delete(zoo, "b"), ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == [
        {"TableName": zoo, "CapacityUnits": 6.0, "WriteCapacityUnits": 6.0},
        {"TableName": ant, "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0},
    ]


def test_indexes_are_charged_as_outside_a_transaction(db: Database, make_table: MakeTable) -> None:
    table = make_table(
        "pk:S sk:S",
        globally={"all": ("g:S", "ALL"), "keys": ("h:S", "KEYS_ONLY")},
        locally={"local": ("pk:S l:S", "ALL")},
    )

    def charge(member: Any, asked: str = "INDEXES") -> Any:
        return write(db, member, ReturnConsumedCapacity=asked)["ConsumedCapacity"]

    item = put(table, "a", sk=S("b"), g=S("1"), l=S("1"))
    two, one = {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}, {"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0}
    assert charge(item) == [
        {
            "TableName": table,
            "CapacityUnits": 4.0,
            "WriteCapacityUnits": 4.0,
            "Table": two,
            "GlobalSecondaryIndexes": {"all": one},
            "LocalSecondaryIndexes": {"local": one},
        }
    ]
    moved = put(table, "a", sk=S("b"), g=S("2"), l=S("1"))
    assert charge(moved)[0]["GlobalSecondaryIndexes"] == {"all": two}
    assert charge(moved) == [{"TableName": table, **two, "Table": two}]
    assert charge(item, "TOTAL") == [{"TableName": table, "CapacityUnits": 5.0, "WriteCapacityUnits": 5.0}]


def test_nothing_is_said_unless_asked_for(db: Database, table: str) -> None:
    assert write(db, put(table, "a"), ReturnConsumedCapacity="NONE") == {}
    answer = db.call("TransactGetItems", {"TransactItems": [get(table, "a")], "ReturnConsumedCapacity": "NONE"})
    assert list(answer) == ["Responses"]


def test_a_repetition_is_charged_as_a_read_of_the_larger_item(db: Database, table: str) -> None:
    def cost(token: str, member: Any, asked: str = "TOTAL") -> Any:
        return write(db, member, ClientRequestToken=token, ReturnConsumedCapacity=asked)["ConsumedCapacity"]

    grown = put(table, "a", x=text(9 * KB))
    assert cost("grow", grown) == [{"TableName": table, "CapacityUnits": 18.0, "WriteCapacityUnits": 18.0}]
    units = {"CapacityUnits": 6.0, "ReadCapacityUnits": 6.0}
    assert cost("grow", grown) == [{"TableName": table, **units}]
    assert cost("grow", grown, "INDEXES") == [{"TableName": table, **units, "Table": units}]
    shrunk = delete(table, "a")
    assert cost("shrink", shrunk)[0]["CapacityUnits"] == 18
    assert cost("shrink", shrunk) == [{"TableName": table, **units}]
    assert write(db, shrunk, ClientRequestToken="shrink") == {}


def test_reads_cost_two_units_for_each_4_kb_found_or_not(db: Database, make_table: MakeTable) -> None:
    first, second = make_table("pk:S", "First"), make_table("pk:S", "Second")
    write(db, put(first, "a", x=text(4 * KB + 1)), put(first, "b"))
    request: Any = {"TransactItems": [get(second, "a"), get(first, "a", ProjectionExpression="pk"), get(first, "b")]}
    assert db.call("TransactGetItems", {**request, "ReturnConsumedCapacity": "TOTAL"})["ConsumedCapacity"] == [
        {"TableName": second, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0},
        {"TableName": first, "CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
    ]
    answer = db.call("TransactGetItems", {**request, "ReturnConsumedCapacity": "INDEXES"})
    assert answer["ConsumedCapacity"][1] == {
        "TableName": first,
        "CapacityUnits": 6.0,
        "ReadCapacityUnits": 6.0,
        "Table": {"CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
    }


def test_metrics_of_each_item_collection_once(db: Database, make_table: MakeTable) -> None:
    plain = make_table("pk:S", "Plain")
    local = make_table("pk:S sk:S", "Local", locally={"by_x": ("pk:S x:N", "ALL")})

    def keyed(pk: str, sk: str) -> Any:
        return {"TableName": local, "Key": {"pk": S(pk), "sk": S(sk)}}

    answer = write(
        db,
        put(plain, "a"),
        put(local, "a", sk=S("1"), x=N(1)),
        {"Delete": keyed("b", "1")},
        {"Update": {**keyed("a", "2"), "UpdateExpression": "SET y = pk"}},
        {"ConditionCheck": {**keyed("c", "1"), "ConditionExpression": "attribute_not_exists(pk)"}},
        ReturnItemCollectionMetrics="SIZE",
    )
    assert answer == {
        "ItemCollectionMetrics": {
            local: [
                {"ItemCollectionKey": {"pk": S("a")}, "SizeEstimateRangeGB": [0.0, 1.0]},
                {"ItemCollectionKey": {"pk": S("b")}, "SizeEstimateRangeGB": [0.0, 1.0]},
            ]
        }
    }
    assert write(db, put(plain, "a"), ReturnItemCollectionMetrics="SIZE") == {}

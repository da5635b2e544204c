"""PynamoDB: models with indexes, batches, conditions, pages. Run by `test_other_clients.py`, in a venv of its own."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from pynamodb.attributes import (
    BinaryAttribute,
    BinarySetAttribute,
    BooleanAttribute,
    JSONAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.exceptions import DeleteError, DoesNotExist, GetError, PutError, TableDoesNotExist, UpdateError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, KeysOnlyProjection, LocalSecondaryIndex
from pynamodb.models import Model


class Place:
    host = os.environ["ENDPOINT"]
    region = os.environ["AWS_DEFAULT_REGION"]
    billing_mode = "PAY_PER_REQUEST"


class ByState(GlobalSecondaryIndex["Order"]):
    class Meta:
        index_name = "ByState"
        projection = KeysOnlyProjection()

    state = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)


class ByDate(LocalSecondaryIndex["Order"]):
    class Meta:
        index_name = "ByDate"
        projection = AllProjection()

    customer = UnicodeAttribute(hash_key=True)
    date = UTCDateTimeAttribute(range_key=True)


class Order(Model):
    class Meta(Place):
        table_name = "Orders"

    customer = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)
    state = UnicodeAttribute(null=True)
    date = UTCDateTimeAttribute(null=True)
    cents = NumberAttribute(default=0)
    pad = BinaryAttribute(null=True, legacy_encoding=False)
    by_state = ByState()
    by_date = ByDate()


class Types(Model):
    class Meta(Place):
        table_name = "Types"

    id = UnicodeAttribute(hash_key=True)
    version = VersionAttribute()
    number = NumberAttribute()
    binary = BinaryAttribute(legacy_encoding=False)
    texts = UnicodeSetAttribute()
    numbers = NumberSetAttribute()
    binaries = BinarySetAttribute(legacy_encoding=False)
    yes: Any = BooleanAttribute()
    list = ListAttribute[Any]()
    map: Any = MapAttribute()
    json = JSONAttribute()
    at = UTCDateTimeAttribute()


NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)


def tables() -> None:
    assert not Order.exists()
    for model in (Order, Types):
        model.create_table(wait=True)
        assert model.exists()
    described = Order.describe_table()
    assert described["GlobalSecondaryIndexes"][0]["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    assert [index["IndexName"] for index in described["LocalSecondaryIndexes"]] == ["ByDate"]


def values() -> None:
    made = Types(
        "é",
        number=-1.25,
        binary=bytes(range(256)),
        texts={"a", "b"},
        numbers={1, 2},
        binaries={b"\x00", b"\xff"},
        yes=True,
        list=["", None, [], {"x": 1}],
        map={"inner": {"deep": "x"}},
        json={"a": [1]},
        at=NOON,
    )
    made.save()
    found = Types.get("é", consistent_read=True)
    for name in ("number", "binary", "texts", "numbers", "binaries", "yes", "json", "at", "version"):
        assert getattr(found, name) == getattr(made, name), name
    assert [element.as_dict() if isinstance(element, MapAttribute) else element for element in found.list] == [
        "",
        None,
        [],
        {"x": 1},
    ]
    assert found.map.as_dict() == {"inner": {"deep": "x"}}
    stale = Types.get("é")
    found.save()
    assert found.version == 2
    try:
        stale.save()
    except PutError as error:
        assert error.cause_response_code == "ConditionalCheckFailedException"
    else:
        raise AssertionError("a version that was overtaken is refused")


def conditions() -> None:
    made = Order("ann", 1, state="open")
    made.save(condition=Order.customer.does_not_exist())
    try:
        made.save(condition=Order.customer.does_not_exist())
    except PutError as error:
        assert error.cause_response_code == "ConditionalCheckFailedException"
        assert error.cause_response_message == "The conditional request failed"
    else:
        raise AssertionError("a second one is refused")
    made.update(actions=[Order.cents.add(5), Order.state.set(Order.state | "open")], condition=Order.cents == 0)
    assert made.cents == 5
    try:
        made.update(actions=[Order.cents.set(Order.cents - 1)], condition=Order.cents.between(10, 20))
    except UpdateError as error:
        assert error.cause_response_code == "ConditionalCheckFailedException"
    else:
        raise AssertionError("an amount below 10 is not between 10 and 20")
    try:
        made.delete(condition=Order.state.is_in("paid", "sent") & Order.cents.exists())
    except DeleteError as error:
        assert error.cause_response_code == "ConditionalCheckFailedException"
    else:
        raise AssertionError("it is neither paid nor sent")


def errors() -> None:
    try:
        Order.get("nobody", 1)
    except DoesNotExist:
        pass
    else:
        raise AssertionError("an absent item does not exist")

    class Absent(Model):
        class Meta(Place):
            table_name = "Absent"

        id = UnicodeAttribute(hash_key=True)

    for attempt in (Absent.describe_table, lambda: Absent("x").save()):
        try:
            attempt()
        except (TableDoesNotExist, PutError) as error:
            assert isinstance(error, TableDoesNotExist) or error.cause_response_code == "ResourceNotFoundException"
        else:
            raise AssertionError("an absent table is told")
    try:
        Types.get("x" * 2049)
    except GetError as error:
        assert error.cause_response_code == "ValidationException", error
    else:
        raise AssertionError("a key of 2049 bytes is refused")


def batches() -> None:
    with Order.batch_write() as batch:
        for number in range(1, 51):
            state = "open" if number % 2 else "paid"
            date = NOON.replace(minute=number)
            batch.save(Order("ann", number, state=state, date=date, pad=b"x" * 380_000))
    found = list(Order.batch_get([("ann", number) for number in range(1, 61)]))
    assert sorted(order.number for order in found) == list(range(1, 51)), "unprocessed keys are asked for again"


def pages() -> None:
    assert [order.number for order in Order.query("ann", Order.number > 40)] == list(range(41, 51))
    assert Order.count("ann") == 50
    some = Order.by_state.query("open", ByState.number.between(5, 20), scan_index_forward=False, page_size=3)
    assert [order.number for order in some] == [19, 17, 15, 13, 11, 9, 7, 5]
    dated = Order.by_date.query("ann", ByDate.date < NOON.replace(minute=4))
    assert [order.number for order in dated] == [1, 2, 3]
    first = Order.query("ann", limit=10, attributes_to_get=["customer", "number"])
    assert [order.number for order in first] == list(range(1, 11))
    rest = Order.query("ann", last_evaluated_key=first.last_evaluated_key, attributes_to_get=["customer", "number"])
    assert [order.number for order in rest] == list(range(11, 51))
    assert sum(1 for _ in Order.scan(Order.state == "paid", page_size=7)) == 25
    assert sum(1 for part in range(3) for _ in Order.scan(segment=part, total_segments=3)) == 50


def deletion() -> None:
    Order.get("ann", 1).delete()
    with Order.batch_write() as batch:
        for order in Order.query("ann", Order.number > 10):
            batch.delete(order)
    assert Order.count("ann") == 9
    for model in (Order, Types):
        model.delete_table()


for step in (tables, values, conditions, errors, batches, pages, deletion):
    step()
    print(step.__name__, flush=True)

"""Global indexes with up to four HASH and four RANGE attributes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.operations.conftest import MakeTable
from tests.operations.reads import Item, conditions, item, put, read, value_of
from torusdb import Database
from torusdb.errors import ServiceError

TABLE = "houses"
PLACE = "by-place"
STREETS, NUMBERS, FLOORS = ["high", "low", "mill"], [1, 2, 10], ["a", "b"]


@pytest.fixture
def houses(db: Database, make_table: MakeTable) -> Database:
    """In Napier: each street, number and floor. Others, to be left alone, in other cities and countries."""
    make_table("id:S", TABLE, globally={PLACE: ("country:S city:S | street:S number_:N floor:S", ["tenant"])})
    for street, number, floor in product(STREETS, NUMBERS, FLOORS):
        put(db, TABLE, house(street, number, floor))
        put(db, TABLE, house(street, number, floor, city="Hastings"), house(street, number, floor, country="AU"))
    return db


def house(street: str, number: int, floor: str, country: str = "NZ", city: str = "Napier") -> Item:
    place: dict[str, Any] = {"country": country, "city": city, "street": street, "number_": number, "floor": floor}
    return item(id="/".join(map(str, place.values())), tenant="ann", **place)


NAPIER = [house(*parts) for parts in product(STREETS, NUMBERS, FLOORS)]
HASH = "country = :country AND city = :city"
PLACE_VALUES: dict[str, Any] = {"country": "NZ", "city": "Napier"}


def query(db: Database, text: str, **request: Any) -> list[tuple[Any, ...]]:
    """What the query finds, as (street, number, floor). Values other than the city's come with the request."""
    values = {name: request.pop(name) for name in [*request] if name.islower()}
    condition = conditions(text, **{k: v for k, v in {**PLACE_VALUES, **values}.items() if f":{k}" in text})
    answer = db.call("Query", {"TableName": TABLE, "IndexName": PLACE, **condition, **request})
    assert all(each["country"]["S"] == "NZ" and each["city"]["S"] == "Napier" for each in answer["Items"])
    return places(answer["Items"])


def places(items: list[Item]) -> list[tuple[Any, ...]]:
    return [(each["street"]["S"], int(each["number_"]["N"]), each["floor"]["S"]) for each in items]


def refusal(db: Database, text: str, **request: Any) -> str | None:
    with pytest.raises(ServiceError) as caught:
        query(db, text, **request)
    assert caught.value.code == "ValidationException"
    return caught.value.message


def test_all_hash_attributes_name_one_partition(houses: Database) -> None:
    assert query(houses, HASH) == places(NAPIER)
    assert query(houses, HASH, ScanIndexForward=False) == places(NAPIER)[::-1]


@pytest.mark.parametrize(
    ("text", "values", "kept"),
    [
        ("street = :s", {"s": "low"}, lambda s, n, f: s == "low"),
        ("street > :s", {"s": "high"}, lambda s, n, f: s > "high"),
        ("begins_with(street, :s)", {"s": "h"}, lambda s, n, f: s == "high"),
        ("street BETWEEN :s AND :t", {"s": "i", "t": "low"}, lambda s, n, f: s == "low"),
        ("street = :s AND number_ = :n", {"s": "low", "n": 2}, lambda s, n, f: (s, n) == ("low", 2)),
        ("street = :s AND number_ < :n", {"s": "low", "n": 10}, lambda s, n, f: s == "low" and n < 10),
        ("street = :s AND number_ >= :n", {"s": "low", "n": 2}, lambda s, n, f: s == "low" and n >= 2),
        (
            "street = :s AND number_ BETWEEN :n AND :m",
            {"s": "low", "n": 2, "m": 9},
            lambda s, n, f: (s, n) == ("low", 2),
        ),
        (
            "street = :s AND number_ = :n AND floor = :f",
            {"s": "low", "n": 2, "f": "b"},
            lambda s, n, f: (s, n, f) == ("low", 2, "b"),
        ),
        (
            "street = :s AND number_ = :n AND floor <= :f",
            {"s": "low", "n": 2, "f": "a"},
            lambda s, n, f: (s, n, f) == ("low", 2, "a"),
        ),
        (
            "street = :s AND number_ = :n AND begins_with(floor, :f)",
            {"s": "low", "n": 2, "f": "b"},
            lambda s, n, f: (s, n, f) == ("low", 2, "b"),
        ),
    ],
)
def test_conditions_on_range_attributes_go_from_the_left(
    houses: Database, text: str, values: dict[str, Any], kept: Any
) -> None:
    assert query(houses, f"{HASH} AND {text}", **values) == [place for place in places(NAPIER) if kept(*place)]


def test_the_order_in_the_text_is_free(houses: Database) -> None:
    text = "number_ > :n AND city = :city AND street = :s AND country = :country"
    assert query(houses, text, s="mill", n=2) == [("mill", 10, "a"), ("mill", 10, "b")]


def test_conditions_of_the_old_form_find_the_same(houses: Database) -> None:
    """As the service does, though its guide speaks of two conditions at most."""
    equal = {"country": "NZ", "city": "Napier", "street": "low"}
    members = {name: {"ComparisonOperator": "EQ", "AttributeValueList": [value_of(v)]} for name, v in equal.items()}
    members["number_"] = {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "2"}]}
    request = {"TableName": TABLE, "IndexName": PLACE, "KeyConditions": members}
    assert places(houses.call("Query", request)["Items"]) == [("low", 10, "a"), ("low", 10, "b")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("country = :country", "Query condition missed key schema element: city"),
        ("city = :city", "Query condition missed key schema element: country"),
        ("city = :city AND street = :s", "Query condition missed key schema element: country"),
        ("country = :country AND city > :city", "Query key condition not supported"),
        (f"{HASH} AND tenant = :s", "Query condition missed key schema element: street"),
        (
            f"{HASH} AND number_ = :n",
            "RANGE key attributes street must have equality conditions specified in the query "
            "because a condition is present on key attribute number_",
        ),
        (
            f"{HASH} AND street = :s AND floor = :s",
            "RANGE key attributes number_ must have equality conditions specified in the query "
            "because a condition is present on key attribute floor",
        ),
        (
            f"{HASH} AND street > :s AND number_ = :n",
            "RANGE key attributes street must have equality conditions specified in the query "
            "because a condition is present on key attribute number_",
        ),
        (
            f"{HASH} AND street = :n",
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            f"{HASH} AND street = :e",
            "One or more parameter values are not valid. The AttributeValue for a key attribute "
            "cannot contain an empty string value. Key: street",
        ),
        (
            f"{HASH} AND street = :s AND street > :s",
            "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
        ),
        (
            f"{HASH} AND street = :s AND number_ = :n AND floor = :s AND tenant = :s",
            "Query key condition not supported",
        ),
    ],
)
def test_what_such_a_key_cannot_be_asked_for(houses: Database, text: str, message: str) -> None:
    values = {name: value for name, value in {"s": "x", "n": 1, "e": ""}.items() if f":{name}" in text.split()}
    assert refusal(houses, text, **values) == message


@pytest.mark.parametrize("lacking", ["country", "city", "street", "number_", "floor"])
def test_what_lacks_any_attribute_is_not_in_the_index(houses: Database, lacking: str) -> None:
    before = houses.call("Scan", {"TableName": TABLE, "IndexName": PLACE})["Count"]
    whole = {**house("new", 1, "a"), "id": {"S": "new"}}
    put(houses, TABLE, {name: value for name, value in whole.items() if name != lacking})
    assert houses.call("Scan", {"TableName": TABLE, "IndexName": PLACE})["Count"] == before
    put(houses, TABLE, whole)
    assert houses.call("Scan", {"TableName": TABLE, "IndexName": PLACE})["Count"] == before + 1


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 4, 18])
def test_pages_go_on_with_all_attributes_of_both_keys(houses: Database, limit: int, forward: bool) -> None:
    request = {
        "TableName": TABLE,
        "IndexName": PLACE,
        "Limit": limit,
        "ScanIndexForward": forward,
        **conditions(HASH, **PLACE_VALUES),
    }
    assert places(read(houses, "Query", request)) == (places(NAPIER) if forward else places(NAPIER)[::-1])
    last = houses.call("Query", request)["LastEvaluatedKey"]
    assert set(last) == {"id", "country", "city", "street", "number_", "floor"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tenant": {"S": "ann"}}, "The provided starting key is invalid"),
        ({"floor": None}, "The provided starting key is invalid"),
        ({"floor": None, "tenant": {"S": "ann"}}, "The provided starting key is invalid"),
        ({"number_": {"S": "1"}}, "The provided key element does not match the schema"),
        (
            {"city": {"S": "Hastings"}},
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
    ],
)
def test_start_keys_that_no_page_ended_with(houses: Database, change: Item, message: str) -> None:
    whole = {**house("low", 2, "a"), "tenant": None, **change}
    start = {name: value for name, value in whole.items() if value is not None}
    assert refusal(houses, HASH, ExclusiveStartKey=start) == message


def test_a_start_key_outside_the_bounds_of_the_range_attributes(houses: Database) -> None:
    start = {name: value for name, value in house("low", 2, "a").items() if name != "tenant"}
    message = refusal(houses, f"{HASH} AND street = :s AND number_ > :n", s="low", n=2, ExclusiveStartKey=start)
    assert message == "The provided starting key does not match the range key predicate"


def test_segments_share_the_index_between_them(houses: Database) -> None:
    request = {"TableName": TABLE, "IndexName": PLACE}
    shares = [houses.call("Scan", {**request, "Segment": n, "TotalSegments": 4})["Items"] for n in range(4)]
    whole = houses.call("Scan", request)["Items"]
    assert len(whole) == 3 * len(NAPIER)
    assert [each for share in shares for each in share] == whole


def test_attributes_are_not_run_together(db: Database, make_table: MakeTable) -> None:
    make_table("id:S", TABLE, globally={"pair": ("a:S b:S | c:B d:B", "ALL")})
    put(db, TABLE, item(id="1", a="x", b="yz", c=b"1", d=b"23"), item(id="2", a="xy", b="z", c=b"12", d=b"3"))
    for id_, values in (("1", {"a": "x", "b": "yz"}), ("2", {"a": "xy", "b": "z"})):
        found = db.call("Query", {"TableName": TABLE, "IndexName": "pair", **conditions("a = :a AND b = :b", **values)})
        assert [each["id"]["S"] for each in found["Items"]] == [id_]


def test_four_and_four_attributes_are_a_key(db: Database, make_table: MakeTable) -> None:
    key = "a:S b:N c:B d:S | e:N f:S g:B h:N"
    make_table("id:S", TABLE, globally={"wide": (key, "KEYS_ONLY")})
    equal: dict[str, Any] = {"a": "a", "b": 1, "c": b"c", "d": "d", "e": 5, "f": "f", "g": b"g"}
    put(db, TABLE, *(item(id=str(number), h=number, **equal) for number in (3, -1, 20)))
    text = " AND ".join(f"{name} = :{name}" for name in equal)
    request = {"TableName": TABLE, "IndexName": "wide", **conditions(f"{text} AND h > :h", h=-1, **equal)}
    assert [each["h"]["N"] for each in db.call("Query", request)["Items"]] == ["3", "20"]
    assert [each["h"]["N"] for each in read(db, "Query", {**request, "Limit": 1})] == ["3", "20"]


def test_a_change_of_any_attribute_moves_the_entry(houses: Database) -> None:
    key = {"id": house("low", 2, "a")["id"]}
    change = {"UpdateExpression": "SET floor = :f", "ExpressionAttributeValues": {":f": {"S": "c"}}}
    houses.call("UpdateItem", {"TableName": TABLE, "Key": key, **change})
    found = query(houses, f"{HASH} AND street = :s AND number_ = :n", s="low", n=2)
    assert found == [("low", 2, "b"), ("low", 2, "c")]

"""Pages, whatever their size: together they are exactly what was put, in order, once each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import torusdb
from tests.operations.conftest import MakeTable, table_request
from tests.operations.reads import Item, conditions, item, pages, placeholders, put, read
from torusdb import Database

PAGE_BYTES = 1024 * 1024

LOCAL, GLOBAL = "by-level", "by-group"
NAMES = count()


@pytest.fixture(scope="module")
def tables() -> Iterator[Database]:
    """One database for all examples; each has a table of its own."""
    with torusdb.open() as database:
        yield database


def filled(db: Database, items: list[Item]) -> str:
    name = f"table-{next(NAMES)}"
    globally = {GLOBAL: ("group_:S level_:N", "KEYS_ONLY")}
    locally = {LOCAL: ("pk:S level_:N", "KEYS_ONLY")}
    db.call("CreateTable", table_request("pk:S sk:N", name, globally, locally, {}))
    put(db, name, *items)
    return name


ITEMS = st.lists(
    st.fixed_dictionaries(
        {"pk": st.sampled_from("ab"), "sk": st.integers(-6, 6)},
        optional={"level_": st.integers(-2, 2), "group_": st.sampled_from("xy")},
    ),
    unique_by=lambda each: (each["pk"], each["sk"]),
    max_size=24,
).map(lambda items: [item(**each) for each in items])

LIMITS = st.none() | st.integers(1, 8)
OPERATORS = st.none() | st.sampled_from(["=", "<", "<=", ">", ">="])
WAYS = st.sampled_from([(None, "pk", "sk"), (LOCAL, "pk", "level_"), (GLOBAL, "group_", "level_")])


def number(each: Item, name: str) -> int:
    return int(each[name]["N"])


def holds(operator: str | None, value: int, bound: int) -> bool:
    kept = {"=": value == bound, "<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}
    return operator is None or kept[operator]


def identity(each: Item) -> tuple[str, int]:
    return each["pk"]["S"], number(each, "sk")


@given(ITEMS, WAYS, LIMITS, OPERATORS, st.integers(-3, 3), st.booleans(), st.none() | st.integers(-6, 6))
def test_pages_of_a_query_are_the_sorted_items_that_match(
    tables: Database,
    items: list[Item],
    way: tuple[str | None, str, str],
    limit: int | None,
    operator: str | None,
    bound: int,
    forward: bool,
    least: int | None,
) -> None:
    index, hash_name, range_name = way
    partition = "x" if index == GLOBAL else "a"
    text, values = f"{hash_name} = :h", {":h": {"S": partition}}
    if operator is not None:
        text, values[":r"] = f"{text} AND {range_name} {operator} :r", {"N": str(bound)}
    request: dict[str, Any] = {"TableName": filled(tables, items), "ScanIndexForward": forward}
    request |= {"KeyConditionExpression": text, "ExpressionAttributeValues": values}
    if index is not None:
        request["IndexName"] = index
    in_bounds = [
        each
        for each in items
        if each.get(hash_name) == {"S": partition}
        and range_name in each
        and holds(operator, number(each, range_name), bound)
    ]

    whole = tables.call("Query", request)["Items"]
    assert sorted(map(identity, whole)) == sorted(map(identity, in_bounds))
    ranks = [number(each, range_name) for each in whole]
    assert ranks == sorted(ranks, reverse=not forward)

    paged = {**request} if limit is None else {**request, "Limit": limit}
    if least is not None and index is not None:
        paged |= {"FilterExpression": "sk >= :least", "ExpressionAttributeValues": {**values, ":least": n(least)}}
        whole = [each for each in whole if number(each, "sk") >= least]
    found = list(pages(tables, "Query", paged))
    assert [each for page in found for each in page["Items"]] == whole
    assert sum(page["ScannedCount"] for page in found) == len(in_bounds)
    for page in found:
        assert page["Count"] == len(page["Items"])
        is_full = page["ScannedCount"] == limit
        assert ("LastEvaluatedKey" in page) == is_full

    backwards = {**request, "ScanIndexForward": not forward}
    assert tables.call("Query", backwards)["Items"] == tables.call("Query", request)["Items"][::-1]


def n(value: int) -> Item:
    return {"N": str(value)}


@given(ITEMS, WAYS, st.booleans(), st.data())
def test_a_page_starts_behind_any_item_of_the_query(
    tables: Database, items: list[Item], way: tuple[str | None, str, str], forward: bool, data: st.DataObject
) -> None:
    index, hash_name, _ = way
    request: dict[str, Any] = {"TableName": filled(tables, items), "ScanIndexForward": forward}
    request |= conditions(f"{hash_name} = :h", h="x" if index == GLOBAL else "a")
    if index is not None:
        request["IndexName"] = index
    whole = tables.call("Query", request)["Items"]
    names = {"pk", "sk"} | ({"level_"} if index else set()) | ({"group_"} if index == GLOBAL else set())
    if whole:
        at = data.draw(st.integers(0, len(whole) - 1))
        start = {name: value for name, value in whole[at].items() if name in names}
        assert tables.call("Query", {**request, "ExclusiveStartKey": start})["Items"] == whole[at + 1 :]


@given(ITEMS, st.sampled_from([None, LOCAL, GLOBAL]), LIMITS, st.integers(1, 9))
def test_segments_of_a_scan_share_the_table_between_them(
    tables: Database, items: list[Item], index: str | None, limit: int | None, total: int
) -> None:
    request: dict[str, Any] = {"TableName": filled(tables, items)}
    needed = {None: set(), LOCAL: {"level_"}, GLOBAL: {"level_", "group_"}}[index]
    if index is not None:
        request["IndexName"] = index
    whole = tables.call("Scan", request)["Items"]
    expected = [each for each in items if needed <= set(each)]
    assert sorted(map(identity, whole)) == sorted(map(identity, expected))
    paged = request if limit is None else {**request, "Limit": limit}
    assert read(tables, "Scan", paged) == whole
    shares = [read(tables, "Scan", {**paged, "Segment": each, "TotalSegments": total}) for each in range(total)]
    assert [each for share in shares for each in share] == whole


# Pages of 1 MB.


def body(number: int, size: int) -> Item:
    """An item of `size` bytes as the service counts them: `p`, `s` and `b`, and values of 1, 4 and the rest."""
    return item(p="x", s=f"{number:04}", b="b" * (size - BARE_BYTES))


BARE_BYTES = 8


def sizes_of(page: dict[str, Any]) -> list[int]:
    return [len(each["b"]["S"]) + BARE_BYTES for each in page["Items"]]


SIZES = st.lists(st.sampled_from([100, 50_000, 131_072, 200_000, 300_000, 400_000]), max_size=12)


@given(SIZES, st.booleans(), st.sampled_from(["Query", "Scan"]), st.none() | st.integers(1, 9))
def test_a_page_ends_with_the_item_that_fills_it(
    tables: Database, sizes: list[int], forward: bool, operation: str, limit: int | None
) -> None:
    name = f"table-{next(NAMES)}"
    tables.call("CreateTable", table_request("p:S s:S", name, {}, {}, {}))
    put(tables, name, *(body(number, size) for number, size in enumerate(sizes)))
    request: dict[str, Any] = {"TableName": name}
    if operation == "Query":
        request |= {"ScanIndexForward": forward, **conditions("p = :p", p="x")}
        sizes = sizes if forward else sizes[::-1]
    if limit is not None:
        request["Limit"] = limit
    found = [sizes_of(page) for page in pages(tables, operation, request)]
    assert [size for page in found for size in page] == sizes
    for page in found:
        assert sum(page[:-1]) < PAGE_BYTES
    for page in found[:-1]:
        assert sum(page) >= PAGE_BYTES or len(page) == limit


@pytest.mark.parametrize("limit", [None, *range(103, 112)])
def test_a_page_of_small_items_is_full_at_one_megabyte_even_near_its_limit(
    db: Database, make_table: MakeTable, limit: int | None
) -> None:
    table = make_table("p:S s:S")
    put(db, table, *(body(number, 10_000) for number in range(120)))
    request = {"TableName": table, **conditions("p = :p", p="x")}
    answer = db.call("Query", request if limit is None else {**request, "Limit": limit})
    assert answer["Count"] == min(limit or 105, 105)
    assert "LastEvaluatedKey" in answer


@pytest.mark.parametrize(("last", "is_full"), [(PAGE_BYTES - 3 * 300_000, True), (PAGE_BYTES - 3 * 300_000 - 1, False)])
@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_a_page_is_full_at_the_byte(
    db: Database, make_table: MakeTable, last: int, is_full: bool, operation: str
) -> None:
    table = make_table("p:S s:S")
    put(db, table, *(body(number, 300_000) for number in range(3)), body(3, last))
    condition = conditions("p = :p", p="x") if operation == "Query" else {}
    answer = db.call(operation, {"TableName": table, **condition})
    assert answer["Count"] == 4
    assert ("LastEvaluatedKey" in answer) == is_full


def test_a_full_page_may_show_nothing(db: Database, make_table: MakeTable) -> None:
    table = make_table("p:S s:S")
    put(db, table, *(body(number, 300_000) for number in range(6)), item(p="x", s="0099", note="found"))
    request = {
        "TableName": table,
        "FilterExpression": "attribute_exists(note)",
        "ReturnConsumedCapacity": "TOTAL",
        **conditions("p = :p", p="x"),
    }
    first, second = pages(db, "Query", request)
    assert (first["Items"], first["Count"], first["ScannedCount"]) == ([], 0, 4)
    assert first["LastEvaluatedKey"] == item(p="x", s="0003")
    assert first["ConsumedCapacity"]["CapacityUnits"] == -(-4 * 300_000 // 4096) / 2
    assert (second["Items"], second["ScannedCount"]) == ([item(p="x", s="0099", note="found")], 3)


def test_a_count_goes_page_by_page_too(db: Database, make_table: MakeTable) -> None:
    table = make_table("p:S s:S")
    put(db, table, *(body(number, 300_000) for number in range(6)))
    found = list(pages(db, "Scan", {"TableName": table, "Select": "COUNT"}))
    assert [(page["Count"], page["ScannedCount"]) for page in found] == [(4, 4), (2, 2)]


def test_what_an_index_holds_fills_its_pages(db: Database, make_table: MakeTable) -> None:
    table = make_table("p:S s:S", globally={"lean": ("p:S", "KEYS_ONLY"), "full": ("p:S", "ALL")})
    put(db, table, *(body(number, 300_000) for number in range(6)))
    for index, expected in (("lean", [6]), ("full", [4, 2])):
        request = {"TableName": table, "IndexName": index, **conditions("p = :p", p="x")}
        assert [page["Count"] for page in pages(db, "Query", request)] == expected


def test_boto3_pages_through_a_filtered_index(db: Database, make_table: MakeTable) -> None:
    table = make_table("p:S s:S", globally={"turned": ("k:S s:S", "ALL")})
    put(db, table, *(item(p=str(number), s=f"{number % 3}", k="k", even=number % 2) for number in range(30)))
    paginator = db.client().get_paginator("query")
    found = paginator.paginate(
        TableName=table,
        IndexName="turned",
        KeyConditionExpression="k = :k",
        FilterExpression="even = :one",
        ExpressionAttributeValues=placeholders(k="k", one=1),
        PaginationConfig={"PageSize": 4},
    )
    assert sorted(int(each["p"]["S"]) for page in found for each in page["Items"]) == list(range(1, 30, 2))

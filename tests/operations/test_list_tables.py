"""ListTables: the order of names, and pages of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from torusdb import Database

NAMES = ["A.b", "Zoo", "_under", "ant", "ant-", "ant.1", "ant_1", "bee"]


@pytest.fixture
def names(make_table: MakeTable) -> list[str]:
    """Tables made in another order than that of their names."""
    for name in NAMES:
        make_table(name=name)
    return sorted(NAMES)


def test_there_may_be_none(db: Database) -> None:
    assert db.call("ListTables") == {"TableNames": []}


def test_names_come_in_the_order_of_their_bytes(db: Database, names: list[str]) -> None:
    assert db.call("ListTables") == {"TableNames": names}
    assert names == ["A.b", "Zoo", "_under", "ant", "ant-", "ant.1", "ant_1", "bee"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 9, 100])
def test_pages_are_whole_and_the_last_one_says_so(db: Database, names: list[str], limit: int) -> None:
    seen: list[str] = []
    pages = 0
    params: dict[str, Any] = {"Limit": limit}
    while True:
        answer = db.call("ListTables", params)
        seen += answer["TableNames"]
        pages += 1
        if "LastEvaluatedTableName" not in answer:
            break
        assert len(answer["TableNames"]) == limit
        assert answer["LastEvaluatedTableName"] == answer["TableNames"][-1]
        params["ExclusiveStartTableName"] = answer["LastEvaluatedTableName"]
    assert seen == names
    # A page that ends with the last name has nothing to go on from.
    assert pages == -(-len(names) // limit)


@pytest.mark.parametrize(("start", "first"), [("ant", "ant-"), ("anthem", "bee"), ("bee", None), ("Aaa", "Zoo")])
def test_the_start_is_a_place_in_the_order_and_need_not_be_a_table(
    db: Database, names: list[str], start: str, first: str | None
) -> None:
    listed = db.call("ListTables", {"ExclusiveStartTableName": start})["TableNames"]
    assert listed[:1] == ([] if first is None else [first])


def test_a_page_has_a_hundred_names_at_most(db: Database, make_table: MakeTable) -> None:
    for number in range(101):
        make_table(name=f"table-{number:03}")
    answer = db.call("ListTables")
    assert len(answer["TableNames"]) == 100
    assert answer["LastEvaluatedTableName"] == "table-099"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Limit": 0}, "Value '0' at 'limit' failed to satisfy constraint: "
                       "Member must have value greater than or equal to 1"),
        ({"Limit": 101}, "Value '101' at 'limit' failed to satisfy constraint: "
                         "Member must have value less than or equal to 100"),
        ({"ExclusiveStartTableName": "arn:aws:dynamodb:us-east-1:000000000000:table/ant"},
         "Value 'arn:aws:dynamodb:us-east-1:000000000000:table/ant' at 'exclusiveStartTableName' failed to satisfy "
         "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
        ({"ExclusiveStartTableName": "ab"}, "Value 'ab' at 'exclusiveStartTableName' failed to satisfy constraint: "
                                            "Member must have length greater than or equal to 3"),
    ],
    ids=["none", "too many", "an ARN", "a short name"],
)  # fmt: skip
def test_limits_and_starts_keep_to_the_rules(refused: Refusal, params: dict[str, Any], message: str) -> None:
    assert refused("ListTables", params) == ("ValidationException", f"1 validation error detected: {message}")

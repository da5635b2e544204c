"""Limit, NextToken and the 1 MB page."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import msgspec
import pytest

from tests.operations.conftest import MakeTable
from tests.operations.reads import item, put
from tests.operations.statements import all_pages, plain, run
from torusdb import Database

NAME = "Things"
CLAUSES = [
    "",
    "WHERE pk = 'a'",
    "WHERE pk = 'a' AND sk > 1",
    "WHERE pk = 'a' AND sk = 2",
    "WHERE pk = 'a' AND sk IN [0, 2, 4, 9]",
    "WHERE pk IN ['a', 'b', 'x', 'c']",
    "WHERE pk IN ['c', 'a', 'b'] ORDER BY pk, sk DESC",
    "WHERE pk IN ['c', 'a', 'b'] ORDER BY pk DESC, sk ASC",
    "WHERE pk IN ['c', 'a'] AND sk BETWEEN 1 AND 3 AND x = 'odd'",
    "WHERE x = 'odd'",
    "WHERE x = 'none'",
]


@pytest.fixture(autouse=True)
def things(db: Database, make_table: MakeTable) -> None:
    make_table("pk:S sk:N")
    for pk in "abc":
        put(db, NAME, *(item(pk=pk, sk=sk, x="odd" if sk % 2 else "even") for sk in range(5)))


def keys(pages: list[dict[str, Any]]) -> list[str]:
    return [f"{each['pk']}{each['sk']}" for page in pages for each in plain(page["Items"])]


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 7, 100])
def test_pages_of_any_size_give_the_same_items(db, clause, limit):
    statement = f"SELECT * FROM Things {clause}"
    pages = all_pages(db, statement, Limit=limit)
    assert keys(pages) == keys([run(db, statement)])
    assert all(len(page["Items"]) <= limit for page in pages)


def test_limit_counts_what_is_read_not_what_is_found(db):
    pages = all_pages(db, "SELECT * FROM Things WHERE pk = 'a' AND x = 'odd'", Limit=2)
    assert [keys([page]) for page in pages] == [["a1"], ["a3"], []]
    pages = all_pages(db, "SELECT * FROM Things WHERE pk = 'a' AND x = 'none'", Limit=4)
    assert [keys([page]) for page in pages] == [[], []]


def test_a_page_that_ends_for_its_limit_says_where(db):
    page = run(db, "SELECT x FROM Things WHERE pk = 'a'", Limit=2)
    assert page["LastEvaluatedKey"] == item(pk="a", sk=1)
    last = run(db, "SELECT x FROM Things WHERE pk = 'a'", Limit=10)
    assert set(last) == {"Items"}


def test_limit_spans_several_partition_keys(db):
    pages = all_pages(db, "SELECT * FROM Things WHERE pk IN ['a', 'b']", Limit=7)
    assert [len(page["Items"]) for page in pages] == [7, 3]


def test_limit_and_consistency_may_change_from_page_to_page(db):
    statement = "SELECT * FROM Things WHERE pk = ?"
    first = run(db, statement, "a", Limit=1)
    second = run(db, statement, "a", Limit=2, NextToken=first["NextToken"], ConsistentRead=True)
    third = run(db, statement, "a", NextToken=second["NextToken"])
    assert [keys([page]) for page in (first, second, third)] == [["a0"], ["a1", "a2"], ["a3", "a4"]]


def test_parameters_that_are_equal_are_the_same_request(db):
    statement = "SELECT * FROM Things WHERE pk = ? AND sk > ?"
    first = run(db, statement, "a", {"N": "1"}, Limit=1)
    assert keys([run(db, statement, "a", {"N": "1.0"}, NextToken=first["NextToken"])]) == ["a3", "a4"]


@pytest.mark.parametrize(
    ("statement", "parameters"),
    [
        ("SELECT * FROM Things WHERE pk = ?", [{"S": "b"}]),
        ("SELECT * FROM Things WHERE ? = pk", [{"S": "a"}]),
        ("SELECT pk FROM Things WHERE pk = ?", [{"S": "a"}]),
        ("SELECT * FROM Things", []),
    ],
)
def test_a_token_belongs_to_its_statement(db, refused, statement, parameters):
    token = run(db, "SELECT * FROM Things WHERE pk = ?", "a", Limit=1)["NextToken"]
    request = {"Statement": statement, "NextToken": token, **({"Parameters": parameters} if parameters else {})}
    assert refused("ExecuteStatement", request) == ("ValidationException", "NextToken does not match request")


def test_what_is_no_token_is_refused(db, refused):
    statement = "SELECT * FROM Things WHERE pk = 'a'"
    token = run(db, statement, Limit=1)["NextToken"]
    held = msgspec.json.decode(b64decode(token))

    def forged(**changes: Any) -> str:
        return b64encode(msgspec.json.encode({**held, **changes})).decode()

    assert refused_key(refused, statement, forged()) is None
    for text in [
        "x",
        "====",
        token[:-5],
        "ä",
        b64encode(b"null").decode(),
        b64encode(b"[" * 20000).decode(),
        forged(range=1),
        forged(range=-1),
        forged(range="0"),
        forged(key={}),
        forged(key=item(pk="a")),
        forged(key=item(pk="a", sk="1")),
        forged(key=item(pk="", sk=1)),
        forged(key={"pk": {"S": "a"}, "sk": {"N": "no number"}}),
        forged(key={"pk": {"S": "a"}, "sk": {"N": "1", "S": "1"}}),
        forged(key={"pk": {}, "sk": {}}),
    ]:
        assert refused_key(refused, statement, text) == "Invalid NextToken"


def refused_key(refused: Any, statement: str, token: str) -> str | None:
    try:
        code, message = refused("ExecuteStatement", {"Statement": statement, "NextToken": token})
    except pytest.fail.Exception:
        return None
    assert code == "ValidationException"
    return message


def test_pages_end_at_1_mb(db):
    for number in range(8):
        put(db, NAME, item(pk="big", sk=number, fill="x" * 300_000))
    pages = all_pages(db, "SELECT pk, sk FROM Things WHERE pk = 'big'", ReturnConsumedCapacity="TOTAL")
    # A page that ends for its size says where, even if nothing follows.
    assert [len(page["Items"]) for page in pages] == [4, 4, 0]
    assert pages[0]["ConsumedCapacity"]["CapacityUnits"] == 146.5
    several = all_pages(db, "SELECT * FROM Things WHERE pk IN ['big', 'a'] AND sk <> 9")
    assert keys(several) == [f"big{number}" for number in range(8)] + [f"a{number}" for number in range(5)]


def test_the_1_mb_of_a_page_are_those_of_all_its_partition_keys(db):
    """Items that the clause leaves out count as well."""
    for pk in ("p", "q", "r"):
        for number in range(2):
            put(db, NAME, item(pk=pk, sk=number, x="none", fill="x" * 300_000))
    for clause, found in (("", ["p0", "p1", "q0", "q1", "r0", "r1"]), ("AND x = 'odd'", [])):
        statement = f"SELECT pk, sk FROM Things WHERE pk IN ['p', 'q', 'r'] {clause}"
        pages = all_pages(db, statement, ReturnConsumedCapacity="TOTAL")
        # What fills the first page is the last item of q: the second looks there once more, and reads r.
        assert [page["ConsumedCapacity"]["CapacityUnits"] for page in pages] == [147.0, 74.0]
        assert keys(pages) == found


def test_items_written_between_two_pages(db):
    statement = "SELECT * FROM Things WHERE pk = 'a'"
    first = run(db, statement, Limit=2)
    db.call("DeleteItem", {"TableName": NAME, "Key": item(pk="a", sk=1)})
    db.call("DeleteItem", {"TableName": NAME, "Key": item(pk="a", sk=2)})
    put(db, NAME, item(pk="a", sk=0), {"pk": {"S": "a"}, "sk": {"N": "1.5"}})
    assert keys([run(db, statement, NextToken=first["NextToken"])]) == ["a1.5", "a3", "a4"]

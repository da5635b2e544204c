"""INSERT, UPDATE and DELETE: what they leave, what they return, what they are refused for, what they cost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.operations.conftest import MakeTable
from tests.operations.shorthand import NS, SS, L, M, N, S
from tests.operations.statements import run
from torusdb import Database
from torusdb.errors import ConditionalCheckFailedException

NAME = "Things"
KEY = {"pk": S("a"), "sk": N(1)}
WHERE = "WHERE pk = 'a' AND sk = 1"
FAILED = ("ConditionalCheckFailedException", "The conditional request failed")
NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"
INVALID = "One or more parameter values were invalid: "
MISMATCH = "The provided key element does not match the schema"
EMPTY_KEY = (
    "One or more parameter values are not valid. "
    "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"
)
BAD_PATH = "The document path provided in the update expression is invalid for update"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
ABSENT = "The provided expression refers to an attribute that does not exist in the item"
ITEM: dict[str, Any] = {
    **KEY,
    "n": N(5),
    "s": S("text"),
    "tags": SS("x", "y"),
    "nums": NS(1, 2),
    "els": L(N(0), N(1), N(2)),
    "doc": M(p=N(1), q=M(r=S("deep"))),
}


@pytest.fixture(autouse=True)
def things(db: Database, make_table: MakeTable) -> None:
    make_table("pk:S sk:N", globally={"by-owner": ("owner:S", "ALL")})
    db.call("PutItem", {"TableName": NAME, "Item": ITEM})


def stored(db: Database, **key: Any) -> dict[str, Any] | None:
    item: dict[str, Any] | None = db.call("GetItem", {"TableName": NAME, "Key": key or KEY}).get("Item")
    return item


def refusal(refused: Any, statement: str, *parameters: Any, **more: Any) -> tuple[str, str | None]:
    request = {"Statement": statement, **more}
    if parameters:
        request["Parameters"] = list(parameters)
    found: tuple[str, str | None] = refused("ExecuteStatement", request)
    return found


# INSERT.


def test_insert(db):
    text = (
        "INSERT INTO Things VALUE {'pk': 'b', 'sk': ?, 'l': [1, {'m': <<'x'>>}], 'e': '', 'n': null, 't': true, "
        "'q': 'it''s', 'd': -1.50, 'empty': {}}"
    )
    assert run(db, text, 7) == {"Items": []}
    assert stored(db, pk=S("b"), sk=N(7)) == {
        "pk": S("b"),
        "sk": N(7),
        "l": L(N(1), M(m=SS("x"))),
        "e": S(""),
        "n": {"NULL": True},
        "t": {"BOOL": True},
        "q": S("it's"),
        "d": N("-1.5"),
        "empty": M(),
    }


def test_insert_takes_parameters_of_all_types(db):
    values = [{"B": b"\x00"}, {"BS": [b"a"]}, L(S("x")), M(a=NS(1)), {"NULL": True}]
    run(db, "INSERT INTO Things VALUE {'pk':'b','sk':1,'a':?,'b':?,'c':?,'d':?,'e':?}", *values)
    item = stored(db, pk=S("b"), sk=N(1))
    assert item is not None
    assert [item[name] for name in "abcde"] == values


def test_insert_overwrites_nothing(db, refused):
    code, message = refusal(refused, "INSERT INTO Things VALUE {'pk': 'a', 'sk': 1.0}")
    assert (code, message) == ("DuplicateItemException", "Duplicate primary key exists in table")
    assert stored(db) == ITEM


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("{}", f"{INVALID}Missing the key pk in the item"),
        ("{'pk': 'b'}", f"{INVALID}Missing the key sk in the item"),
        ("{'pk': 'b', 'sk': '1'}", f"{INVALID}Type mismatch for key sk expected: N actual: S"),
        ("{'pk': '', 'sk': 1}", EMPTY_KEY),
        ("{'pk': 'b', 'sk': 1, 'owner': 2}", f"{INVALID}Type mismatch for Index Key owner Expected: S Actual: N "),
        ("{'pk': 'b', 'sk': 1, 'x': ?}", "Number of parameters in request and statement don't match."),
    ],
)
def test_insert_refused(refused, item, message):
    code, found = refusal(refused, f"INSERT INTO Things VALUE {item}")
    assert code == "ValidationException"
    assert found is not None
    assert found.startswith(message)


def test_insert_of_an_item_too_large(refused):
    statement = "INSERT INTO Things VALUE {'pk': 'b', 'sk': 1, 'x': ?}"
    assert refusal(refused, statement, S("x" * 409_600)) == (
        "ValidationException",
        "Item size has exceeded the maximum allowed size",
    )


# UPDATE.


@pytest.mark.parametrize(
    ("clauses", "changed"),
    [
        ("SET n = 6", {"n": N(6)}),
        ("SET n = 'six'", {"n": S("six")}),
        ("SET n = n + 2", {"n": N(7)}),
        ("SET n = 2 - n", {"n": N(-3)}),
        ("SET n = n + n - 1", {"n": N(9)}),
        ("SET n = ? + 1", {"n": N(11)}),
        ("SET fresh = doc.p", {"fresh": N(1)}),
        ("SET fresh = els[2]", {"fresh": N(2)}),
        ("SET n = 1, s = 'b' SET fresh = {'k': [1]}", {"n": N(1), "s": S("b"), "fresh": M(k=L(N(1)))}),
        ("SET n = doc.p, doc.p = n", {"n": N(1), "doc": M(p=N(5), q=M(r=S("deep")))}),
        ("SET doc.q.r = 'shallow' SET doc.added = <<1>>", {"doc": M(p=N(1), q=M(r=S("shallow")), added=NS(1))}),
        ("SET els[1] = 'one'", {"els": L(N(0), S("one"), N(2))}),
        ("SET els[99] = 3", {"els": L(N(0), N(1), N(2), N(3))}),
        ("SET els = list_append(els, [3])", {"els": L(N(0), N(1), N(2), N(3))}),
        ("SET els = LIST_APPEND(['x'], els)", {"els": L(S("x"), N(0), N(1), N(2))}),
        ("SET els = list_append(list_append(['x'], els), ['y'])", {"els": L(S("x"), N(0), N(1), N(2), S("y"))}),
        ("SET tags = set_add(tags, <<'z', 'x'>>)", {"tags": SS("x", "y", "z")}),
        ("SET fresh = SET_ADD(fresh, <<1>>)", {"fresh": NS(1)}),
        ("SET nums = set_delete(nums, <<2, 9>>)", {"nums": NS(1)}),
        ("SET nums = set_delete(nums, <<1, 2>>)", {"nums": None}),
        ("SET fresh = set_delete(fresh, <<1>>)", {}),
        ("REMOVE n", {"n": None}),
        ("REMOVE n REMOVE doc.q.r REMOVE nope", {"n": None, "doc": M(p=N(1), q=M())}),
        ("REMOVE els[0] REMOVE els[2]", {"els": L(N(1))}),
        ("REMOVE n SET s = 'b' REMOVE tags SET owner = 'me'", {"n": None, "s": S("b"), "tags": None, "owner": S("me")}),
    ],
)
def test_update(db, clauses, changed):
    parameters = (10,) if "?" in clauses else ()
    assert run(db, f"UPDATE Things {clauses} {WHERE}", *parameters) == {"Items": []}
    expected = {name: value for name, value in {**ITEM, **changed}.items() if value is not None}
    assert stored(db) == expected


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("SET pk = 'b'", f"{INVALID}Cannot update attribute pk. This attribute is part of the key"),
        ("REMOVE sk", f"{INVALID}Cannot update attribute sk. This attribute is part of the key"),
        ("SET n = s + 1", WRONG_TYPE),
        ("SET n = nope", ABSENT),
        ("SET n = nope + 1", ABSENT),
        (
            "SET n = 'a' + 1",
            "Incorrect operand type for operator or function; operator or function: +, operand type: S",
        ),
        ("SET n = list_append(s, [1])", WRONG_TYPE),
        (
            "SET n = list_append(els, 1)",
            "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
        ),
        ("SET n = set_add(n, <<1>>)", WRONG_TYPE),
        ("SET tags = set_add(tags, <<1>>)", WRONG_TYPE),
        ("SET nope.deep = 1", BAD_PATH),
        ("SET s.deep = 1", BAD_PATH),
        ("SET els.deep = 1", BAD_PATH),
        ("REMOVE doc[0]", BAD_PATH),
        (
            "SET n = 1 SET n = 2",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [n], path two: [n]",
        ),
        (
            "SET doc.q = 1 REMOVE doc.q.r",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [doc, q], path two: [doc, q, r]",
        ),
        ("SET tags = set_add(tags, 'z')", "The second argument to SET_ADD must be a value with type SET at 1:34:4"),
        ("SET owner = 1", f"{INVALID}Type mismatch for Index Key owner Expected: S Actual: N IndexName: by-owner"),
        (
            "SET owner = ''",
            "One or more parameter values are not valid. The update expression attempted to update a secondary index "
            "key to a value that is not supported. "
            "The AttributeValue for a key attribute cannot contain an empty string value.",
        ),
    ],
)
def test_update_refused(db, refused, clauses, message):
    assert refusal(refused, f"UPDATE Things {clauses} {WHERE}") == ("ValidationException", message)
    assert stored(db) == ITEM


@pytest.mark.parametrize("function", ["set_add", "set_delete"])
def test_set_functions_take_no_parameter_but_sets(db, refused, function):
    statement = f"UPDATE Things SET n = {function}(n, ?) {WHERE}"
    code, message = refusal(refused, statement, N(1))
    assert code == "ValidationException"
    assert message is not None
    assert message.startswith(f"The second argument to {function.upper()} must be a value with type SET at ")
    run(db, f"UPDATE Things SET nums = {function}(nums, ?) {WHERE}", NS(2, 3))
    assert stored(db) == {**ITEM, "nums": NS(1, 2, 3) if function == "set_add" else NS(1)}


def test_an_update_makes_no_item(db, refused):
    assert refusal(refused, "UPDATE Things SET n = 1 WHERE pk = 'a' AND sk = 2") == FAILED
    assert refusal(refused, "UPDATE Things SET n = 1 WHERE pk = 'a' AND sk = 2 AND n IS MISSING") == FAILED
    assert stored(db, pk=S("a"), sk=N(2)) is None


def test_an_update_is_bound_by_the_rest_of_its_clause(db, refused):
    assert refusal(refused, f"UPDATE Things SET n = 6 {WHERE} AND n > 5") == FAILED
    assert refusal(refused, f"UPDATE Things SET n = 6 {WHERE} AND sk > 1") == FAILED
    assert stored(db) == ITEM
    run(db, f"UPDATE Things SET n = 6 {WHERE} AND n = 5 AND NOT (s = 'x' OR s = 'y') AND sk >= 1")
    assert stored(db) == {**ITEM, "n": N(6)}


def test_an_update_too_large(db, refused):
    run(db, f"UPDATE Things SET s = ? {WHERE}", "x" * 400_000)
    assert refusal(refused, f"UPDATE Things SET fresh = ? {WHERE}", S("x" * 9_600)) == (
        "ValidationException",
        "Item size to update has exceeded the maximum allowed size",
    )


CHANGES = "SET n = n + 1 SET doc.q.r = 'new' REMOVE doc.p REMOVE els[0] SET fresh = 1"


@pytest.mark.parametrize(
    ("returning", "expected"),
    [
        ("ALL OLD", ITEM),
        (
            "ALL NEW",
            {**ITEM, "n": N(6), "doc": M(q=M(r=S("new"))), "els": L(N(1), N(2)), "fresh": N(1)},
        ),
        ("MODIFIED OLD", {"n": N(5), "doc": M(p=N(1), q=M(r=S("deep"))), "els": L(N(0))}),
        ("MODIFIED NEW", {"n": N(6), "doc": M(q=M(r=S("new"))), "els": L(N(1)), "fresh": N(1)}),
    ],
)
def test_update_returning(db, returning, expected):
    assert run(db, f"UPDATE Things {CHANGES} {WHERE} RETURNING {returning} *") == {"Items": [expected]}


@pytest.mark.parametrize("returning", ["MODIFIED NEW", "MODIFIED OLD"])
def test_where_nothing_is_left_to_return_there_is_no_item(db, returning):
    assert run(db, f"UPDATE Things REMOVE nope {WHERE} RETURNING {returning} *") == {"Items": []}


# DELETE.


def test_delete(db):
    assert run(db, f"DELETE FROM Things {WHERE}") == {"Items": []}
    assert stored(db) is None
    assert run(db, f"DELETE FROM Things {WHERE}") == {"Items": []}
    assert run(db, f"DELETE FROM Things {WHERE} AND n = 99") == {"Items": []}


def test_delete_returning(db):
    assert run(db, f"DELETE FROM Things {WHERE} AND n = 5 RETURNING ALL OLD *") == {"Items": [ITEM]}
    assert run(db, f"DELETE FROM Things {WHERE} RETURNING ALL OLD *") == {"Items": []}


def test_a_delete_is_bound_by_the_rest_of_its_clause(db, refused):
    assert refusal(refused, f"DELETE FROM Things {WHERE} AND n = 6") == FAILED
    assert stored(db) == ITEM


# What both need: one whole key.


@pytest.mark.parametrize("statement", ["UPDATE Things SET n = 1", "DELETE FROM Things"])
@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("", NO_KEY),
        ("WHERE pk = 'a'", NO_KEY),
        ("WHERE sk = 1", NO_KEY),
        ("WHERE pk = 'a' AND sk > 1", NO_KEY),
        ("WHERE pk = 'a' AND sk IN [1]", NO_KEY),
        ("WHERE pk = 'a' AND sk = 1 OR n = 5", NO_KEY),
        ("WHERE pk = 'a' AND NOT sk = 1", NO_KEY),
        ("WHERE pk = 'a' AND sk = n", NO_KEY),
        (
            "WHERE pk = 'a' AND sk = 1 AND pk = 'b'",
            "Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported",
        ),
        ("WHERE pk = 'a' AND sk = '1'", MISMATCH),
        ("WHERE pk = 1 AND sk = 1", MISMATCH),
        ("WHERE pk = '' AND sk = 1", EMPTY_KEY),
    ],
)
def test_writes_name_one_item(db, refused, statement, where, message):
    assert refusal(refused, f"{statement} {where}") == ("ValidationException", message)
    assert stored(db) == ITEM


def test_the_key_may_be_written_either_way_round_and_twice(db):
    run(db, "UPDATE Things SET n = 6 WHERE (1 = sk AND 'a' = pk) AND pk = 'a'")
    assert stored(db) == {**ITEM, "n": N(6)}


@pytest.mark.parametrize("statement", ["UPDATE Nowhere.i SET n = 1", "DELETE FROM Nowhere.i"])
def test_an_index_is_not_written_to(refused, statement):
    assert refusal(refused, f"{statement} {WHERE}") == (
        "ValidationException",
        "This operation is not supported on an index",
    )


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO Nowhere VALUE {'pk': 'a'}", f"UPDATE Nowhere SET n = 1 {WHERE}", f"DELETE FROM Nowhere {WHERE}"],
)
def test_no_table(refused, statement):
    assert refusal(refused, statement) == ("ResourceNotFoundException", "Requested resource not found")


@pytest.mark.parametrize(
    "statement", [f"UPDATE Things SET n = 1 {WHERE} AND n = 6", f"DELETE FROM Things {WHERE} AND n = 6"]
)
def test_the_item_that_failed_the_condition_is_told_when_asked_for(db, statement):
    for asked, expected in (("ALL_OLD", ITEM), ("NONE", None)):
        with pytest.raises(ConditionalCheckFailedException) as caught:
            run(db, statement, ReturnValuesOnConditionCheckFailure=asked)
        assert caught.value.members.get("Item") == expected


def test_where_there_is_no_item_none_is_told(db):
    with pytest.raises(ConditionalCheckFailedException) as caught:
        run(db, "UPDATE Things SET n = 1 WHERE pk = 'z' AND sk = 1", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert caught.value.members == {}


def test_a_write_takes_no_next_token(refused):
    assert refusal(refused, f"DELETE FROM Things {WHERE}", NextToken="x")[0] == "ValidationException"


# What they cost: as much as PutItem, UpdateItem and DeleteItem.


@pytest.mark.parametrize(
    ("statement", "table", "index"),
    [
        ("INSERT INTO Things VALUE {'pk': 'b', 'sk': 1}", 1.0, None),
        ("INSERT INTO Things VALUE {'pk': 'b', 'sk': 1, 'owner': 'me'}", 1.0, 1.0),
        (f"UPDATE Things SET n = 1 {WHERE}", 1.0, None),
        (f"UPDATE Things SET owner = 'me' {WHERE}", 1.0, 1.0),
        (f"UPDATE Things SET big = '{'x' * 2900}' {WHERE}", 3.0, None),
        (f"DELETE FROM Things {WHERE}", 1.0, None),
        ("DELETE FROM Things WHERE pk = 'nope' AND sk = 1", 1.0, None),
    ],
)
def test_capacity(db, statement, table, index):
    consumed = run(db, statement, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert consumed == {
        "TableName": NAME,
        "CapacityUnits": table + (index or 0.0),
        "Table": {"CapacityUnits": table},
        **({} if index is None else {"GlobalSecondaryIndexes": {"by-owner": {"CapacityUnits": index}}}),
    }


def test_indexes_follow(db):
    run(db, f"UPDATE Things SET owner = 'me' {WHERE}")
    assert run(db, "SELECT n FROM Things.\"by-owner\" WHERE owner = 'me'")["Items"] == [{"n": N(5)}]
    run(db, f"UPDATE Things REMOVE owner {WHERE}")
    assert run(db, "SELECT n FROM Things.\"by-owner\" WHERE owner = 'me'")["Items"] == []


def test_a_literal_is_not_changed_by_what_is_made_of_it(db):
    statement = f"UPDATE Things SET fresh = {{'k': [1]}} SET els = [0] {WHERE}"
    run(db, statement)
    run(db, f"UPDATE Things SET fresh.k[1] = 2 SET els = list_append(els, els) {WHERE}")
    run(db, statement)
    assert stored(db) == {**ITEM, "fresh": M(k=L(N(1))), "els": L(N(0))}

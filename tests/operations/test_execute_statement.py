"""SELECT: what is found, what is read for it, in what order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.reads import put
from tests.operations.shorthand import SS, L, M, N, S
from tests.operations.statements import plain, run, select, units
from torusdb import Database

NAME = "Things"
OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
MISTYPED = "Key attribute's data type should match its data type in table's schema: Key "
OPERAND = "Incorrect operand type for operator or function; operator or function: "


@pytest.fixture(autouse=True)
def things(db: Database, make_table: MakeTable) -> None:
    """Four items of 2 KB under each of a, b and c: a partition key is 8 KB, 1 unit, and all is 24 KB, 3 units."""
    make_table("pk:S sk:N")
    for pk in "abc":
        for sk in range(4):
            put(
                db,
                NAME,
                {
                    "pk": S(pk),
                    "sk": N(sk),
                    "x": N(10 * sk),
                    "tags": SS(pk, f"t{sk}"),
                    "els": L(N(sk), M(deep=L(S("d"), S(pk)))),
                    "doc": M(sub=M(leaf=S(f"{pk}{sk}"))),
                    "fill": S("x" * 1900),
                },
            )
    put(db, NAME, {"pk": S("z"), "sk": N(0), "none": {"NULL": True}, "yes": {"BOOL": True}, "bin": {"B": b"\x00\xff"}})


def keys(db: Database, condition: str, *parameters: Any, **more: Any) -> list[str]:
    found = select(db, f"SELECT pk, sk FROM Things WHERE {condition}", *parameters, **more)
    return [f"{item['pk']}{item['sk']}" for item in found]


# Keyed clauses: a Query for each partition key, in the order of the keys.


@pytest.mark.parametrize(
    ("condition", "expected", "capacity"),
    [
        ("pk = 'a'", "a0 a1 a2 a3", 1.0),
        ("pk = 'nope'", "", 0.5),
        ("pk = 'a' AND sk = 2", "a2", 0.5),
        ("pk = 'a' AND sk = 99", "", 0.5),
        ("pk = 'a' AND sk > 1", "a2 a3", 0.5),
        ("pk = 'a' AND sk >= 1", "a1 a2 a3", 1.0),
        ("pk = 'a' AND sk < 1", "a0", 0.5),
        ("pk = 'a' AND sk <= 1", "a0 a1", 0.5),
        ("pk = 'a' AND 1 < sk", "a2 a3", 0.5),
        ("pk = 'a' AND sk BETWEEN 1 AND 2", "a1 a2", 0.5),
        ("pk = 'a' AND sk > 0 AND sk < 3", "a1 a2", 0.5),
        ("pk = 'a' AND sk > 3 AND sk < 1", "", 0.5),
        ("pk = 'a' AND sk = 1 AND sk = 2", "", 0.5),
        ("pk = 'a' AND x = 20", "a2", 1.0),
        ("pk = 'a' AND sk > 1 AND x = 20", "a2", 0.5),
        ("pk = 'a' AND sk <> 1", "a0 a2 a3", 1.0),
        ("pk = 'a' AND sk NOT IN [1, 2]", "a0 a3", 1.0),
        ("pk = 'a' AND NOT (sk = 1 OR x = 20)", "a0 a3", 1.0),
        ("pk = 'a' AND sk IN [3, 0]", "a0 a3", 1.0),
        ("pk = 'a' AND sk IN [1, 1]", "a1", 0.5),
        ("pk = 'a' AND (sk = 1 OR sk = 2)", "a1 a2", 1.0),
        ("pk = 'a' AND (sk < 1 OR sk > 2)", "a0 a3", 1.0),
        ("pk = 'a' AND (sk = 1 OR x = 30)", "a1 a3", 1.0),
        ("pk IN ['b', 'a']", "b0 b1 b2 b3 a0 a1 a2 a3", 2.0),
        ("pk IN ('a', 'a')", "a0 a1 a2 a3", 1.0),
        ("pk IN ['b', 'a'] AND sk = 1", "b1 a1", 1.0),
        ("pk = 'a' OR pk = 'c'", "a0 a1 a2 a3 c0 c1 c2 c3", 2.0),
        ("pk = 'a' OR pk = 'a'", "a0 a1 a2 a3", 1.0),
        ("(pk = 'a' AND sk = 1) OR (pk = 'c' AND sk = 3)", "a1 c3", 1.0),
        ("(pk = 'a' AND x = 10) OR (pk = 'c' AND sk > 2)", "a1 c3", 1.5),
        ("(pk = 'a' OR pk = 'c') AND sk BETWEEN 2 AND 9 AND x <> 20", "a3 c3", 1.0),
    ],
)
def test_keyed_clauses_read_their_partition_keys_only(db, condition, expected, capacity):
    assert " ".join(keys(db, condition)) == expected
    assert units(db, f"SELECT * FROM Things WHERE {condition}") == capacity
    assert units(db, f"SELECT * FROM Things WHERE {condition}", ConsistentRead=True) == 2 * capacity


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("sk = 1", "a1 b1 c1"),
        ("x = 20", "a2 b2 c2"),
        ("pk > 'b'", "c0 c1 c2 c3 z0"),
        ("pk <> 'a' AND sk = 2", "b2 c2"),
        ("begins_with(pk, 'a')", "a0 a1 a2 a3"),
        ("pk BETWEEN 'b' AND 'bb' AND sk < 2", "b0 b1"),
        ("NOT pk = 'a' AND sk = 0", "b0 c0 z0"),
        ("pk = 'a' AND sk = 1 OR x = 30", "a1 a3 b3 c3"),
        ("pk = 'a' AND pk = 'b'", ""),
        ("pk IN ['a', doc.sub.leaf] AND sk = 1", "a1"),
        ("pk = tags", ""),
    ],
)
def test_other_clauses_scan(db, condition, expected):
    assert " ".join(sorted(keys(db, condition))) == expected
    assert units(db, f"SELECT * FROM Things WHERE {condition}") == 3.0


def test_without_a_clause_everything_is_read(db):
    assert len(select(db, "SELECT * FROM Things")) == 13
    assert units(db, "SELECT * FROM Things") == 3.0
    assert units(db, "SELECT pk FROM Things", ConsistentRead=True) == 6.0


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("doc.sub.leaf = 'a1'", "a1"),
        ("doc['sub'].leaf = 'a1'", "a1"),
        ("\"doc\".\"sub\".\"leaf\" IN ['a1', 'a2', 'b1']", "a1 a2"),
        ("els[0] = 2", "a2"),
        ("els[1].deep[1] = 'a' AND els[0] >= 3", "a3"),
        ("els[7] IS MISSING AND sk = 1", "a1"),
        ("contains(tags, 't2')", "a2"),
        ("contains(doc.sub.leaf, '3')", "a3"),
        ("contains(els, 1)", "a1"),
        ("NOT contains(tags, 't2') AND NOT contains(tags, 't1')", "a0 a3"),
        ("begins_with(doc.sub.leaf, ?)", "a0 a1 a2 a3"),
        ("size(tags) = 2 AND size(els) = size(tags)", "a0 a1 a2 a3"),
        ("size(doc.sub.leaf) > 2", ""),
        ("size(x) > 0", ""),
        ("attribute_type(tags, 'SS') AND attribute_type(x, 'N') AND sk < 2", "a0 a1"),
        ("attribute_type(nope, 'S')", ""),
        ("x BETWEEN 5 AND 20", "a1 a2"),
        ("x NOT BETWEEN 5 AND 20", "a0 a3"),
        ("x IN [10, 99, 'text', NULL]", "a1"),
        ("nope = 1", ""),
        ("nope <> 1 AND x = 0", "a0"),
        ("NOT nope > 1 AND x = 0", "a0"),
        ("x = '10'", ""),
        ("x > '1'", ""),
        ("x = sk", "a0"),
        ("tags = <<'t1', 'a'>>", "a1"),
        ("doc = {'sub': {'leaf': 'a2'}}", "a2"),
        ("els = [3, {'deep': ['d', 'a']}]", "a3"),
        ("(contains(tags, 't2')) = false AND (x > 0) = true", "a1 a3"),
    ],
)
def test_conditions_on_other_attributes(db, condition, expected):
    parameters = ("a",) if "?" in condition else ()
    assert " ".join(keys(db, f"pk = 'a' AND {condition}", *parameters)) == expected


@pytest.mark.parametrize(
    ("condition", "matches"),
    [
        ("none IS NULL", True),
        ("none IS NOT NULL", False),
        ("none IS MISSING", False),
        ("none IS NOT MISSING", True),
        ("none = NULL", True),
        ("nope IS NULL", False),
        ("nope IS NOT NULL", True),
        ("nope IS MISSING", True),
        ("yes = TRUE", True),
        ("yes <> true", False),
        ("bin = ?", True),
        ("begins_with(bin, ?)", True),
    ],
)
def test_null_missing_and_booleans(db, condition, matches):
    parameters = (b"\x00\xff",) if "?" in condition else ()
    assert keys(db, f"pk = 'z' AND {condition}", *parameters) == ["z0"] * matches


# Columns.


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("pk", {"pk": "a"}),
        ("x, nope", {"x": "10"}),
        ("nope", {}),
        ("PK", {}),
        ("els[0]", {"els[0]": "1"}),
        ("els[1].deep[1], doc.sub.leaf", {"deep[1]": "a", "leaf": "a1"}),
        ("doc.sub", {"sub": M(leaf=S("a1"))}),
        ('"doc".sub["leaf"]', None),
    ],
)
def test_columns(db, refused, columns, expected):
    statement = f"SELECT {columns} FROM Things WHERE pk = 'a' AND sk = 1"
    if expected is None:
        assert refused("ExecuteStatement", {"Statement": statement})[0] == "ValidationException"
    else:
        assert select(db, statement) == [expected]


def test_all_columns_are_the_item_as_it_was_put(db):
    [item] = run(db, "SELECT * FROM Things WHERE pk = 'b' AND sk = 3")["Items"]
    assert item == db.call("GetItem", {"TableName": NAME, "Key": {"pk": S("b"), "sk": N(3)}})["Item"]


def test_names_are_as_written_and_tables_may_be_arns(db, refused):
    arn = db.call("DescribeTable", {"TableName": NAME})["Table"]["TableArn"]
    assert len(select(db, f"SELECT * FROM \"{arn}\" WHERE pk = 'a'")) == 4
    assert select(db, "SELECT * FROM Things WHERE PK = 'a'") == []
    code, message = refused("ExecuteStatement", {"Statement": "SELECT * FROM things"})
    assert (code, message) == ("ResourceNotFoundException", "Requested resource not found")


# Parameters.


def test_parameters_stand_for_values_anywhere_in_the_clause(db):
    assert keys(db, "? = pk AND sk BETWEEN ? AND ? AND x IN [?, 30]", "a", 1, 3, 20) == ["a2", "a3"]
    assert keys(db, "pk IN [?, ?] AND contains(tags, ?)", "a", "b", "t1") == ["a1", "b1"]
    assert keys(db, "pk = ? AND tags = ?", "a", {"SS": ["t1", "a"]}) == ["a1"]
    assert keys(db, "pk = ? AND sk = ?", "a", {"N": "01.0"}) == ["a1"]


@pytest.mark.parametrize(("condition", "parameters"), [("pk = ?", ()), ("pk = ?", ("a", "b")), ("pk = 'a'", ("a",))])
def test_too_few_and_too_many_parameters(refused, condition, parameters):
    request: dict[str, Any] = {"Statement": f"SELECT * FROM Things WHERE {condition}"}
    if parameters:
        request["Parameters"] = [S(each) for each in parameters]
    assert refused("ExecuteStatement", request) == (
        "ValidationException",
        "Number of parameters in request and statement don't match.",
    )


# ORDER BY.


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("WHERE pk = 'a' ORDER BY sk", "a0 a1 a2 a3"),
        ("WHERE pk = 'a' ORDER BY sk ASC", "a0 a1 a2 a3"),
        ("WHERE pk = 'a' ORDER BY sk DESC", "a3 a2 a1 a0"),
        ("WHERE pk = 'a' AND sk > 1 ORDER BY sk DESC", "a3 a2"),
        ("WHERE pk = 'a' AND sk IN [0, 2, 3] ORDER BY sk DESC", "a3 a2 a0"),
        ("WHERE pk = 'a' AND (sk = 1 OR x = 30) ORDER BY sk DESC", "a3 a1"),
        ("WHERE pk IN ['b', 'c', 'a'] AND sk < 2 ORDER BY pk, sk", "a0 a1 b0 b1 c0 c1"),
        ("WHERE pk IN ['b', 'c', 'a'] AND sk < 2 ORDER BY pk DESC, sk ASC", "c0 c1 b0 b1 a0 a1"),
        ("WHERE pk IN ['b', 'c', 'a'] AND sk < 2 ORDER BY pk ASC, sk DESC", "a1 a0 b1 b0 c1 c0"),
        ("WHERE pk IN ['b', 'a'] AND sk IN [1, 3] ORDER BY pk DESC, sk DESC", "b3 b1 a3 a1"),
        ("WHERE pk IN ['b', 'a'] AND sk < 2 ORDER BY pk", "a1 a0 b1 b0"),
    ],
)
def test_order_by(db, clause, expected):
    found = select(db, f"SELECT * FROM Things {clause}")
    assert " ".join(f"{item['pk']}{item['sk']}" for item in found) == expected


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("ORDER BY sk", "Must have WHERE clause in the statement when using ORDER BY clause."),
        ("WHERE pk = 'a' ORDER BY x", "Attribute x in ORDER BY clause must be part of the primary key"),
        (
            "WHERE x = 1 ORDER BY sk",
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
        ),
        (
            "WHERE pk = 'a' OR x = 1 ORDER BY sk",
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
        ),
        (
            "WHERE pk IN ['a', 'b'] ORDER BY sk",
            "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.",
        ),
    ],
)
def test_order_by_refused(refused, clause, message):
    assert refused("ExecuteStatement", {"Statement": f"SELECT * FROM Things {clause}"}) == (
        "ValidationException",
        message,
    )


# What is refused only once the table or the values are known.


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("pk = 'a' AND (sk < 2 OR sk > 0)", OVERLAP),
        ("(pk = 'a' AND sk = 1) OR (pk = 'a' AND sk BETWEEN 0 AND 3)", OVERLAP),
        ("pk = 1", f"{MISTYPED}pk"),
        ("pk = 'a' AND sk > '1'", f"{MISTYPED}sk"),
        ("sk = 'x'", f"{MISTYPED}sk"),
        ("pk = 'a' AND begins_with(sk, '1')", f"{MISTYPED}sk"),
        ("pk = [1]", "Key value must be of type S, N, or B. Key name: pk, Key type: L"),
        ("pk = NULL", "Key value must be of type S, N, or B. Key name: pk, Key type: NULL"),
        (
            "pk = ''",
            "One or more parameter values are not valid. "
            "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
        ),
        ("pk = 'a' AND x > true", f"{OPERAND}>, operand type: BOOL"),
        ("x <= [1]", f"{OPERAND}<=, operand type: L"),
        ("begins_with(x, 1)", f"{OPERAND}begins_with, operand type: N"),
        (
            "attribute_type(x, 'Q')",
            "Invalid attribute type name found; type: Q, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
        ),
        (
            "pk = 'a' AND sk BETWEEN 3 AND 1",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
            "lower bound operand: AttributeValue: {N:3}, upper bound operand: AttributeValue: {N:1}",
        ),
        (
            "pk = 'a' AND sk[0] = 1",
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: sk",
        ),
        (
            "x <> pk.y",
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk",
        ),
        (
            "pk IN [" + ", ".join(f"'{number}'" for number in range(51)) + "]",
            "The number of hash key values exceeds the maximum of 50",
        ),
    ],
)
def test_values_refused(refused: Refusal, condition, message):
    statement = f"SELECT * FROM Things WHERE {condition}"
    assert refused("ExecuteStatement", {"Statement": statement}) == ("ValidationException", message)


def test_operands_are_checked_before_the_table_is_looked_for(refused):
    statement = "SELECT * FROM Nowhere WHERE x > true"
    assert refused("ExecuteStatement", {"Statement": statement}) == (
        "ValidationException",
        f"{OPERAND}>, operand type: BOOL",
    )


def test_exists_is_for_transactions(refused):
    assert refused("ExecuteStatement", {"Statement": "EXISTS(SELECT * FROM Things WHERE pk = 'a' AND sk = 1)"}) == (
        "ValidationException",
        "EXISTS can only be used in ExecuteTransaction write requests.",
    )


@pytest.mark.parametrize(
    ("request_", "constraint"),
    [
        ({"Statement": ""}, "'statement' failed to satisfy constraint: Member must have length greater than or equal"),
        ({"Statement": "S" * 8193}, "'statement' failed to satisfy constraint: Member must have length less than"),
        ({"Statement": "S", "Limit": 0}, "'limit' failed to satisfy constraint: Member must have value greater than"),
        ({"Statement": "S", "Parameters": []}, "'parameters' failed to satisfy constraint: Member must have length"),
        ({"Statement": "S", "NextToken": ""}, "'nextToken' failed to satisfy constraint: Member must have length"),
        (
            {"Statement": "S", "ReturnConsumedCapacity": "SOME"},
            "'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set",
        ),
        ({}, "Value null at 'statement' failed to satisfy constraint: Member must not be null"),
    ],
)
def test_constraints_of_the_request(refused, request_, constraint):
    code, message = refused("ExecuteStatement", request_)
    assert code == "ValidationException"
    assert message.startswith("1 validation error detected: Value ")
    assert constraint in message


def test_50_partition_keys_in_pages_of_10(db):
    names = ", ".join(f"'{number}'" for number in range(47)) + ", 'a', 'b', 'c'"
    statement = f"SELECT * FROM Things WHERE pk IN [{names}]"
    found, page = [], run(db, statement, ReturnConsumedCapacity="TOTAL")
    pages = 1
    while "NextToken" in page:
        assert page["ConsumedCapacity"]["CapacityUnits"] == 5.0
        found += page["Items"]
        page = run(db, statement, NextToken=page["NextToken"], ReturnConsumedCapacity="TOTAL")
        pages += 1
    found += page["Items"]
    assert pages == 5
    assert [item["pk"] for item in plain(found)] == ["a"] * 4 + ["b"] * 4 + ["c"] * 4

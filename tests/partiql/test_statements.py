"""Every production of the grammar, and the tree it makes."""

from __future__ import annotations

from typing import Any

import pytest

from torusdb.errors import ValidationException
from torusdb.expressions.tree import (
    Action,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    Condition,
    In,
    Not,
    Or,
    Path,
    Placeholder,
)
from torusdb.partiql import Delete, Exists, Insert, OrderTerm, Returning, Select, Target, Update, parse

A, B, C = (Path((name,)) for name in "abc")


def const(number: int) -> Placeholder:
    return Placeholder(f"={number}")


def select(text: str) -> Select:
    command = parse(text).command
    assert isinstance(command, Select)
    return command


def update(text: str) -> Update:
    command = parse(text).command
    assert isinstance(command, Update)
    return command


def where(text: str) -> Condition:
    clause = select(f"SELECT * FROM t WHERE {text}").where
    assert clause is not None
    return clause.root


def value(text: str) -> dict[str, Any]:
    """The value that a literal stands for."""
    statement = parse(f"INSERT INTO t VALUE {{'v': {text}}}")
    assert isinstance(statement.command, Insert)
    [(name, placeholder)] = statement.command.members
    assert name == "v"
    return statement.constants[placeholder]


# SELECT.


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Music", Target("Music")),
        ('"Music"', Target("Music")),
        ('"Music"."by-label"', Target("Music", "by-label")),
        ("Music.label", Target("Music", "label")),
        ('"select"."from"', Target("select", "from")),
        ('"arn:aws:dynamodb:us-east-1:1:table/Music"', Target("arn:aws:dynamodb:us-east-1:1:table/Music")),
        ("(Music)", None),
    ],
)
def test_source(source, target):
    text = f"SELECT * FROM {source}"
    if target is None:
        with pytest.raises(ValidationException):
            parse(text)
    else:
        assert select(text).target == target


def test_all_columns():
    assert select("SELECT * FROM t").columns is None


@pytest.mark.parametrize(
    "text", ["select * from t where a = 1;", "SeLeCt*FROM t WHERE a=1", "SELECT*FROM t/**/WHERE(a)=1"]
)
def test_case_white_space_and_semicolon(text):
    command = select(text)
    assert command.columns is None
    assert command.where is not None
    assert command.where.root == Compare("=", A, const(0))


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ("a", {"a": 1}),
        ('"a"', {"a": 1}),
        ("a, l[0], m.x.y, nope", {"a": 1, "l[0]": 10, "y": 3}),
        ("m.x", {"x": {"y": 3}}),
        ("m['x'].y", {"y": 3}),
        ("l[1][0]", {"l[1][0]": 11}),
        ("m.z[1]", {"z[1]": 5}),
        ("A", {}),
    ],
)
def test_columns_are_called_by_the_end_of_their_path(columns, shown):
    item = wire({"a": 1, "l": [10, [11]], "m": {"x": {"y": 3}, "z": [4, 5]}})["M"]
    command = select(f"SELECT {columns} FROM t")
    assert command.columns is not None
    assert command.columns.apply(item) == wire(shown)["M"]


def wire(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"M": {name: wire(member) for name, member in value.items()}}
    return {"L": [wire(element) for element in value]} if isinstance(value, list) else {"N": str(value)}


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", ()),
        ("ORDER BY a", (OrderTerm("a", False),)),
        ("order by a asc", (OrderTerm("a", False),)),
        ('ORDER BY "a" DESC, b', (OrderTerm("a", True), OrderTerm("b", False))),
    ],
)
def test_order(text, order):
    assert select(f"SELECT * FROM t WHERE a = 1 {text}").order_by == order


# Conditions.


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", Compare("=", A, const(0))),
        ("a <> 1", Compare("<>", A, const(0))),
        ("a != 1", Compare("<>", A, const(0))),
        ("a < 1", Compare("<", A, const(0))),
        ("1 >= a", Compare(">=", const(0), A)),
        ("a = b", Compare("=", A, B)),
        ("a = ?", Compare("=", A, Placeholder("?0"))),
        ("((a)) = (1)", Compare("=", A, const(0))),
        ("(((a = 1)))", Compare("=", A, const(0))),
        ("NOT a = b", Not(Compare("=", A, B))),
        ("not not a = b", Not(Not(Compare("=", A, B)))),
        ("a = b AND b = c", And((Compare("=", A, B), Compare("=", B, C)))),
        ("a = b OR b = c AND c = a", Or((Compare("=", A, B), And((Compare("=", B, C), Compare("=", C, A)))))),
        ("(a = b OR b = c) AND c = a", And((Or((Compare("=", A, B), Compare("=", B, C))), Compare("=", C, A)))),
        ("NOT a = b AND b = c", And((Not(Compare("=", A, B)), Compare("=", B, C)))),
        ("a BETWEEN 1 AND 2 AND b = c", And((Between(A, const(0), const(1)), Compare("=", B, C)))),
        ("a NOT BETWEEN 1 AND 2", Not(Between(A, const(0), const(1)))),
        ("a IN [1, b]", In(A, (const(0), B))),
        ("a IN (1, ?)", In(A, (const(0), Placeholder("?0")))),
        ("a NOT IN (1)", Not(In(A, (const(0),)))),
        ("a IS MISSING", Call("attribute_not_exists", (A,))),
        ("a is not missing", Call("attribute_exists", (A,))),
        ("a IS NULL", Call("attribute_type", (A, const(0)))),
        ("a IS NOT NULL", Not(Call("attribute_type", (A, const(0))))),
        ("begins_with(a, 'x')", Call("begins_with", (A, const(0)))),
        ('BEGINS_WITH("a", ?)', Call("begins_with", (A, Placeholder("?0")))),
        ("contains(a, b)", Call("contains", (A, B))),
        ("attribute_type(a, 'N')", Call("attribute_type", (A, const(0)))),
        ("size(a) > 3", Compare(">", Call("size", (A,)), const(0))),
        ("3 < SIZE(a)", Compare("<", const(0), Call("size", (A,)))),
        ("begins_with(a, 'x') = true", Call("begins_with", (A, const(0)))),
        ("(a = b) = FALSE", Not(Compare("=", A, B))),
        ("(a = b) <> true", Not(Compare("=", A, B))),
        ("true = (a = b)", Compare("=", A, B)),
        ("a.b[0].\"c d\"['e'] = b", Compare("=", Path(("a", "b", 0, "c d", "e")), B)),
        ("(a.b)[1] = b", Compare("=", Path(("a", "b", 1)), B)),
    ],
)
def test_conditions(text, tree):
    assert where(text) == tree


def test_parameters_are_counted_in_the_order_of_the_text():
    statement = parse("UPDATE t SET a = ?, b = b + ? WHERE pk = ? AND sk IN [?, 1, ?]")
    assert statement.parameters == ("?0", "?1", "?2", "?3", "?4")
    values = statement.bind([{"N": str(number)} for number in range(5)])
    assert [values[name] for name in statement.parameters] == [{"N": str(number)} for number in range(5)]


@pytest.mark.parametrize("given", [0, 1, 3])
def test_too_few_or_too_many_parameters(given):
    with pytest.raises(ValidationException) as caught:
        parse("SELECT * FROM t WHERE a = ? AND b = ?").bind([{"N": "1"}] * given)
    assert caught.value.message == "Number of parameters in request and statement don't match."


def test_parameters_become_canonical():
    values = parse("SELECT * FROM t WHERE a = ?").bind([{"N": "01.50"}])
    assert values["?0"] == {"N": "1.5"}


# Literals.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'text'", {"S": "text"}),
        ("''", {"S": ""}),
        ("'it''s'", {"S": "it's"}),
        ("1", {"N": "1"}),
        ("-1.50", {"N": "-1.5"}),
        ("+.5", {"N": "0.5"}),
        ("- -2", {"N": "2"}),
        ("-0", {"N": "0"}),
        ("1e2", {"N": "100"}),
        ("12345678901234567890123456789012345678", {"N": "12345678901234567890123456789012345678"}),
        ("TRUE", {"BOOL": True}),
        ("false", {"BOOL": False}),
        ("Null", {"NULL": True}),
        ("[]", {"L": []}),
        ("[1, 'a', [true]]", {"L": [{"N": "1"}, {"S": "a"}, {"L": [{"BOOL": True}]}]}),
        ("{}", {"M": {}}),
        ("{'a': 1, 'B c': {'d': null}}", {"M": {"a": {"N": "1"}, "B c": {"M": {"d": {"NULL": True}}}}}),
        ("<<'b', 'a'>>", {"SS": ["a", "b"]}),
        ("<<2, -1, 1.50>>", {"NS": ["-1", "1.5", "2"]}),
        ("?", None),
    ],
)
def test_literals(text, expected):
    if expected is None:
        assert parse(f"INSERT INTO t VALUE {{'v': {text}}}").parameters == ("?0",)
        return
    found = value(text)
    [(kind, content)] = found.items()
    assert {kind: sorted(content) if kind in ("SS", "NS") else content} == expected


# INSERT, UPDATE, DELETE, EXISTS.


def test_insert():
    statement = parse("insert into \"T\" value {'pk': ?, 'sk': 1, 'tags': <<'a'>>}")
    assert isinstance(statement.command, Insert)
    assert statement.command.target == Target("T")
    assert statement.command.members == (("pk", "?0"), ("sk", "=0"), ("tags", "=1"))
    assert statement.constants == {"=0": {"N": "1"}, "=1": {"SS": ["a"]}}
    assert not statement.is_read


def test_update_clauses_in_any_number_and_order():
    command = update("UPDATE t SET a = 1, b.c = ? REMOVE d REMOVE e[2] SET f = a WHERE pk = 1")
    assert command.target == Target("t")
    assert command.actions == (
        Action("SET", A, const(0)),
        Action("SET", Path(("b", "c")), Placeholder("?0")),
        Action("REMOVE", Path(("d",)), None),
        Action("REMOVE", Path(("e", 2)), None),
        Action("SET", Path(("f",)), A),
    )
    assert command.where is not None
    assert command.where.root == Compare("=", Path(("pk",)), const(1))
    assert command.returning is None


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("b + 1", Arithmetic("+", B, const(0))),
        ("1 - b", Arithmetic("-", const(0), B)),
        ("b + 1 - c", Arithmetic("-", Arithmetic("+", B, const(0)), C)),
        ("b - (c - 1)", Arithmetic("-", B, Arithmetic("-", C, const(0)))),
        ("list_append(b, [1])", Call("list_append", (B, const(0)))),
        ("LIST_APPEND(?, b)", Call("list_append", (Placeholder("?0"), B))),
        ("(b)", B),
        ("'a'", const(0)),
    ],
)
def test_values_to_set(text, operand):
    [action] = update(f"UPDATE t SET a = {text} WHERE pk = 1").actions
    assert action == Action("SET", A, operand)


@pytest.mark.parametrize(("function", "section"), [("set_add", "ADD"), ("SET_DELETE", "DELETE")])
def test_set_functions(function, section):
    [action] = update(f"UPDATE t SET a.b = {function}(a.b, <<1>>) WHERE pk = 1").actions
    assert action == Action(section, Path(("a", "b")), const(0))


def test_a_column_may_be_called_like_a_function():
    assert update("UPDATE t SET set_add = set_add WHERE pk = 1").actions == (
        Action("SET", Path(("set_add",)), Path(("set_add",))),
    )


@pytest.mark.parametrize("what", ["ALL", "MODIFIED"])
@pytest.mark.parametrize("age", ["OLD", "NEW"])
def test_returning(what, age):
    for written in (f"RETURNING {what} {age} *", f"returning {what.lower()} {age.lower()}*;"):
        assert update(f"UPDATE t SET a = 1 WHERE pk = 1 {written}").returning == Returning(what, age)


def test_delete():
    command = parse("DELETE FROM t WHERE a = 1 RETURNING ALL OLD *").command
    assert isinstance(command, Delete)
    assert command.returning == Returning("ALL", "OLD")
    assert command.where is not None
    assert command.where.root == Compare("=", A, const(0))


def test_exists():
    statement = parse("EXISTS ( SELECT * FROM t WHERE a = 1 )")
    assert isinstance(statement.command, Exists)
    assert statement.command.target == Target("t")
    assert not statement.is_read

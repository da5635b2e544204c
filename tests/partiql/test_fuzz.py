"""No text is answered with anything but a statement or the service's refusal, and none takes long."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from torusdb.errors import ValidationException
from torusdb.partiql import Branches, Delete, Exists, Insert, Select, Update, parse
from torusdb.partiql.words import KEYWORDS

STATEMENT_CHARACTERS_MAX = 8192

STATEMENTS = [
    "SELECT * FROM T WHERE pk = 'a' AND (sk BETWEEN 1 AND ? OR sk IN [3, 4]) ORDER BY pk DESC, sk ASC",
    'SELECT a, b.c[0], "d e" FROM "T"."i" '
    "WHERE NOT begins_with(x, 'it''s') AND size(y) <> -1.5e3 AND z IS NOT MISSING",
    "INSERT INTO T VALUE {'pk': ?, 'l': [1, 'x', {'m': <<1, 2>>}], 'b': true, 'n': null}",
    "UPDATE T SET a = b + ? SET s = set_add(s, <<'x'>>), l = list_append(l, [1]) REMOVE m.n[2] "
    "WHERE pk = 'a' AND sk = 1 RETURNING MODIFIED NEW *",
    "DELETE FROM T WHERE pk = 'a' AND sk = 1 AND x IS NULL RETURNING ALL OLD *;",
    "EXISTS(SELECT * FROM T WHERE pk = ? AND sk = 1 AND attribute_type(x, 'S'))",
]
PIECES = [
    *sorted(KEYWORDS),
    *"()[]{}.,:;*+-/%?",
    *[
        "<",
        "<=",
        "<>",
        "=",
        "!=",
        "<<",
        ">>",
        "'x'",
        "''",
        "'",
        '"',
        '"q"',
        "pk",
        "sk",
        "1",
        "-1.5",
        "1e999",
        "--",
        "/*",
    ],
    *["begins_with(", "size(", "list_append(", "set_add(", "attribute_exists(", "nope(", "`", "@", "\x00", "ä", "\n"],
]


def survives(text: str) -> None:
    try:
        statement = parse(text)
        values = statement.bind([{"S": "a"}] * len(statement.parameters))
        match statement.command:
            case Select() | Delete() as command:
                where = command.where
            case Update() as command:
                command.change(values)
                where = command.where
            case Exists(select):
                where = select.where
            case Insert():
                where = None
        if where is not None:
            where.condition(values).matches({"pk": {"S": "a"}, "sk": {"N": "1"}, "x": {"L": [{"NULL": True}]}})
            branches = Branches(where.root, values, ["pk"], ["sk"])
            assert branches.all
    except ValidationException:
        pass


@given(st.text(max_size=60))
@example("\ud800")
def test_any_text(text):
    survives(text)
    survives(f"SELECT * FROM T WHERE {text}")
    survives(f"UPDATE T SET a = {text} WHERE pk = 1")


@given(st.lists(st.sampled_from(PIECES), max_size=25), st.sampled_from(["", *(text[:24] for text in STATEMENTS)]))
def test_any_pieces(pieces, beginning):
    survives(f"{beginning} {' '.join(pieces)}")


@given(st.sampled_from(STATEMENTS), st.randoms(use_true_random=False))
def test_statements_with_pieces_lost_doubled_and_swapped(text, chosen):
    pieces = text.split(" ")
    for _ in range(chosen.randint(1, 3)):
        at = chosen.randrange(len(pieces))
        pieces[at] = chosen.choice(["", pieces[at] * 2, chosen.choice(pieces), chosen.choice(PIECES)])
    survives(" ".join(pieces))


@pytest.mark.parametrize("text", STATEMENTS)
def test_every_beginning_of_a_statement(text):
    for end in range(len(text) + 1):
        survives(text[:end])


REPEATED = [
    *["(", "[", "{", "<<", "{'a':", "NOT ", "-", "- ", "+", "size(", "/* ", "--", "'", "''", "a.", "a[0]", "a AND "],
    *["a=1 OR ", "a IN (", "a BETWEEN ", ",", "?", "?,", ";", "((a=1) = true) = ", "SELECT "],
    *["a=1 AND (b=1 OR ", "pk='a' OR (sk=1 AND "],
]


@pytest.mark.parametrize("piece", REPEATED)
@pytest.mark.parametrize("beginning", ["", "SELECT * FROM T WHERE ", "UPDATE T SET a = ", "INSERT INTO T VALUE {'a': "])
def test_repetitions_as_long_as_a_statement_may_be(piece, beginning):
    count = (STATEMENT_CHARACTERS_MAX - len(beginning)) // len(piece)
    survives(beginning + piece * count)
    survives(beginning + piece * 100)


@pytest.mark.parametrize("seed", range(20))
def test_deep_conditions(seed):
    """Alternating AND and OR as deep as the operators last."""
    chosen = random.Random(seed)
    text = "pk = 'a'"
    for _ in range(140):
        leaf = chosen.choice(["pk = 'a'", "sk = 1", "x = 1", "sk IN [1, 2, 3]", "pk IN ['a', 'b']", "sk > 3"])
        text = f"{leaf} {chosen.choice(['AND', 'OR'])} ({text})"
    survives(f"SELECT * FROM T WHERE {text}")

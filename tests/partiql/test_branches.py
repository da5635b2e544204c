"""What a clause says of keys: `pk` is the HASH attribute, `sk` and `sk2` are RANGE attributes."""

from __future__ import annotations

import pytest

from torusdb.partiql import Branches, Select, equalities, parse
from torusdb.partiql.branches import BRANCHES_MAX


def branches(text: str) -> Branches:
    statement = parse(f"SELECT * FROM t WHERE {text}")
    assert isinstance(statement.command, Select)
    assert statement.command.where is not None
    return Branches(statement.command.where.root, statement.constants, ["pk"], ["sk", "sk2"])


def shown(found: Branches) -> list[str]:
    """Each branch as `pk=a sk>1 ...`, the dots for conditions on anything else."""
    texts = []
    for branch in found.all:
        tests = [
            f"{test.attribute}{test.comparison.operator}"
            + ",".join(str(next(iter(operand.values()))) for operand in test.comparison.operands)
            for test in branch.tests
        ]
        texts.append(" ".join(tests + ["..."] * bool(branch.filters)))
    return texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pk = 'a'", ["pkEQa"]),
        ("'a' = pk", ["pkEQa"]),
        ("pk = 'a' AND sk = 1 AND sk2 > 2", ["pkEQa skEQ1 sk2GT2"]),
        ("pk = 'a' AND 1 <= sk AND 3 > sk", ["pkEQa skGE1 skLT3"]),
        ("sk BETWEEN 1 AND 2 AND pk = 'a'", ["skBETWEEN1,2 pkEQa"]),
        ("pk = 'a' AND begins_with(sk, 'x')", ["pkEQa skBEGINS_WITHx"]),
        ("pk = 'a' AND x = 1", ["pkEQa ..."]),
        ("pk = 'a' AND sk <> 1", ["pkEQa ..."]),
        ("pk = 'a' AND NOT sk = 1", ["pkEQa ..."]),
        ("pk = 'a' AND sk = x", ["pkEQa ..."]),
        ("pk = 'a' AND sk.x = 1", ["pkEQa ..."]),
        ("pk = 'a' AND size(sk) = 1", ["pkEQa ..."]),
        ("pk = 'a' AND (x = 1 OR y = 2)", ["pkEQa ..."]),
        ("pk IN ['a', 'b']", ["pkEQa", "pkEQb"]),
        ("pk = 'a' OR pk = 'b'", ["pkEQa", "pkEQb"]),
        ("(pk = 'a' AND sk = 1) OR (pk = 'b' AND x = 1)", ["pkEQa skEQ1", "pkEQb ..."]),
        ("pk IN ['a', 'b'] AND sk IN [1, 2]", ["pkEQa skEQ1", "pkEQa skEQ2", "pkEQb skEQ1", "pkEQb skEQ2"]),
        ("sk > 1 AND (pk = 'a' OR pk = 'b')", ["skGT1 pkEQa", "skGT1 pkEQb"]),
        ("pk = 'a' AND (sk = 1 OR (sk = 2 AND sk2 = 3))", ["pkEQa skEQ1", "pkEQa skEQ2 sk2EQ3"]),
    ],
)
def test_clauses_that_are_keyed(text, expected):
    found = branches(text)
    assert found.are_keyed
    assert shown(found) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "sk = 1",
        "pk > 'a'",
        "pk <> 'a'",
        "pk BETWEEN 'a' AND 'b'",
        "begins_with(pk, 'a')",
        "NOT pk = 'a'",
        "pk NOT IN ['a']",
        "pk = x",
        "pk = 'a' OR x = 1",
        "pk = 'a' OR sk = 1",
        "pk IN ['a', x]",
        "pk IS NOT MISSING",
        "NOT (pk = 'a' AND sk = 1)",
        "PK = 'a'",
        "pk.x = 'a'",
        "pk[0] = 'a'",
        "pk = 'a' AND pk = 'b'",
        "(pk = 'a' OR x = 1) AND sk = 1",
    ],
)
def test_clauses_that_leave_the_partition_key_open(text):
    assert not branches(text).are_keyed


def test_no_clause_is_one_branch_that_asks_for_nothing():
    found = Branches(None, {}, ["pk"], [])
    assert not found.are_keyed
    assert len(found.all) == 1


def test_of_too_many_alternatives_partition_keys_are_kept_and_the_rest_is_filtered():
    pks = "pk IN [" + ", ".join(f"'{number}'" for number in range(50)) + "]"
    few = "sk IN [" + ", ".join(map(str, range(BRANCHES_MAX // 50))) + "]"
    many = "sk IN [" + ", ".join(map(str, range(BRANCHES_MAX // 50 + 1))) + "]"
    assert len(branches(f"{pks} AND {few}").all) == BRANCHES_MAX
    for text in (f"{pks} AND {many}", f"{many} AND {pks}"):
        found = branches(text)
        assert found.are_keyed
        assert shown(found) == [f"pkEQ{number} ..." for number in range(50)]


@pytest.mark.parametrize(
    ("text", "expected", "rest"),
    [
        ("pk = 'a' AND sk = 1", [("pk", "a"), ("sk", "1")], False),
        ("1 = sk AND ('a' = pk)", [("sk", "1"), ("pk", "a")], False),
        ("pk = 'a' AND sk = 1 AND x = 2", [("pk", "a"), ("sk", "1")], True),
        ("pk = 'a' AND sk > 1", [("pk", "a")], True),
        ("pk = 'a' OR sk = 1", [], True),
        ("pk IN ['a']", [], True),
        ("NOT pk = 'a'", [], True),
        ("pk = 'a' AND pk = 'b'", [("pk", "a"), ("pk", "b")], False),
    ],
)
def test_equalities(text, expected, rest):
    statement = parse(f"DELETE FROM t WHERE {text}")
    assert statement.command.where is not None
    found, has_more = equalities(statement.command.where.root, statement.constants, ["pk", "sk"])
    assert [(test.attribute, next(iter(test.comparison.operands[0].values()))) for test in found] == expected
    assert has_more is rest

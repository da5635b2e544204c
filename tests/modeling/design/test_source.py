"""The source of drafts: that it loads whatever stands in a file or a table, and runs nothing that stands there."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.modeling.design.proposals import KEYED, PK, SK, Inferred, index, inferred, item
from torusdb.modeling import AWS_MANAGED_KEY, TableOptions, Throughput
from torusdb.modeling.design.drafts import EntityDraft, KeyDraft, ModuleDraft, Names, TableDraft, words
from torusdb.modeling.design.proof import load_source
from torusdb.modeling.design.source import comment, plain, quoted, source_of, value_source
from torusdb.modeling.design.tables import IndexShape, TableShape, shape_of
from torusdb.modeling.table import KeyAttribute

HOSTILE = 'x"""\nraise SystemExit\n"""\\\r\x0c\u2028# {} \x00é'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GSI1-PK", ["gsi1", "pk"]),
        ("customerId", ["customer", "id"]),
        ("HTTPServer", ["http", "server"]),
        ("State#Date", ["state", "date"]),
        ("__edb_e__", ["edb", "e"]),
        ("2024", ["2024"]),
        ("", []),
    ],
)
def test_words_of_names(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_names_are_identifiers_that_nothing_else_has() -> None:
    names = Names({"taken"})
    given = ["Customer Id", "customer_id", "class", "taken", "", "7up", "é", "match", "x" * 100]
    found = [names.variable(each, "field") for each in given]
    assert found == [
        "customer_id", "customer_id_2", "class_", "taken_2", "field", "field_7_up", "field_2", "match_", "x" * 60
    ]  # fmt: skip
    assert all(each.isidentifier() for each in found)


@given(st.text())
def test_texts_are_literals_and_comments_are_comments(text: str) -> None:
    assert eval(quoted(text)) == text
    for line in comment(text):
        assert line.startswith("# ")
        assert line.isprintable()
    compile(f'"""{plain(text)} """', "x", "exec")


@given(st.dictionaries(st.text(min_size=1), st.text() | st.integers(-5, 5) | st.booleans(), max_size=5), st.text())
def test_whatever_items_have_in_them_their_model_loads(values: dict[str, Any], key: str) -> None:
    items = [{**item(**values), **item(pk=f"{key}x", sk="1")}]
    assert inferred(KEYED, items).proof.items == 1


def hostile() -> Inferred:
    shape = TableShape(
        "hostile",
        KeyAttribute(HOSTILE, "S"),
        SK,
        (index("hostile", KeyAttribute("b" + HOSTILE, "S")),),
        TableOptions(tags={HOSTILE: HOSTILE}),
    )
    items = [
        item(**{HOSTILE: f"{HOSTILE}#{number}", "sk": HOSTILE.upper(), "_type": HOSTILE, "a" + HOSTILE: HOSTILE})
        for number in range(3)
    ]
    return inferred(shape, items)


def test_what_stands_in_a_table_is_no_code() -> None:
    found = hostile()
    assert found.proof.exact == 3
    assert found.table.partition[0].name == HOSTILE
    assert found.table.options.tags == {HOSTILE: HOSTILE}


def test_tables_are_written_as_they_are() -> None:
    capacity = Throughput(5, 6)
    options = TableOptions(
        provisioned=capacity,
        stream="OLD_IMAGE",
        table_class="STANDARD_INFREQUENT_ACCESS",
        deletion_protection=True,
        point_in_time_recovery=True,
        kms_key=AWS_MANAGED_KEY,
        tags={"a": "b"},
    )
    number = KeyAttribute("n", "N")
    indexes = (
        index("two", PK, SK, throughput=Throughput(1, 2)),
        IndexShape("several", False, (KeyAttribute("a", "B"), number), (SK, PK), ("x", "y"), capacity),
        IndexShape("local", True, (), (number,), ()),
    )
    shape = TableShape("all-of-it", PK, SK, indexes, options)
    draft = TableDraft(shape, "kind", entities=[EntityDraft("A", "a-type", [KeyDraft("key", ["A"], ["A"])])])
    (table,) = load_source(source_of(ModuleDraft(["Two", "lines."], [draft]))).tables
    assert shape_of(table) == shape
    assert (table.type_attribute, list(table.entities)) == ("kind", ["a-type"])


@pytest.mark.parametrize(
    "value",
    [
        "it's \"so\"\n", 7, True, None, Decimal("1.50"), b"\x00'", [1, "a", None], {"a": [Decimal(2)]}, {"x", "y"},
        set(), date(2024, 2, 29), datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC), UUID(int=7),
    ],
)  # fmt: skip
def test_values_are_written_as_what_makes_them(value: Any) -> None:
    assert eval(value_source(value)) == value

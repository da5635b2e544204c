"""Conditions: their text, and random ones as filters, against a naive evaluator over objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torusdb
from torusdb.modeling import Attr, Condition, Entity, InvalidValue, Key, PlanRefused, Query, Store, Table, attr
from torusdb.modeling.expressions import Placeholders

table = Table("facts", partition_key="pk", sort_key="sk")


class Fact(Entity, table=table):
    key = Key("F", "{number:03}")
    number: Attr[int]
    size: Attr[int]
    name: Attr[str]
    note: Attr[str | None] = attr(default=None)
    tags: Attr[set[str]] = attr(default_factory=set)
    words: Attr[list[str]] = attr(default_factory=list)
    places: Attr[dict[str, int]] = attr(default_factory=dict)
    time: Attr[datetime]


TIMES = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=9 * each) for each in range(10)]
NAMES = ["", "a", "ab", "abc", "b", "é"]
FACTS = [
    Fact(
        number=number,
        size=number % 5 - 2,
        name=NAMES[number % len(NAMES)],
        note=[None, "a", "bc"][number % 3],
        tags={"x", "y"} if number % 2 else set(),
        words=NAMES[1 : number % 4 + 1],
        places={"here": number} if number % 3 else {},
        time=TIMES[number % len(TIMES)],
    )
    for number in range(40)
]

Case = tuple[Condition, Callable[[Fact], bool]]
SIZES, TEXTS = st.integers(-3, 3), st.sampled_from(NAMES[1:])


def comparisons() -> st.SearchStrategy[Case]:
    return st.one_of(
        SIZES.map(lambda n: (Fact.size == n, lambda fact: fact.size == n)),
        SIZES.map(lambda n: (Fact.size != n, lambda fact: fact.size != n)),
        SIZES.map(lambda n: (Fact.size < n, lambda fact: fact.size < n)),
        SIZES.map(lambda n: (Fact.size <= n, lambda fact: fact.size <= n)),
        SIZES.map(lambda n: (Fact.size > n, lambda fact: fact.size > n)),
        SIZES.map(lambda n: (Fact.size >= n, lambda fact: fact.size >= n)),
        SIZES.map(lambda n: (Fact.size.between(n - 1, n + 1), lambda fact: n - 1 <= fact.size <= n + 1)),
        st.lists(SIZES, min_size=1, max_size=3).map(lambda ns: (Fact.size.in_(ns), lambda fact: fact.size in ns)),
        TEXTS.map(lambda text: (Fact.name.begins_with(text), lambda fact: fact.name.startswith(text))),
        TEXTS.map(lambda text: (Fact.name.contains(text), lambda fact: text in fact.name)),
        TEXTS.map(lambda text: (Fact.note == text, lambda fact: fact.note == text)),
        TEXTS.map(lambda text: (Fact.words.contains(text), lambda fact: text in fact.words)),
        st.sampled_from("xz").map(lambda tag: (Fact.tags.contains(tag), lambda fact: tag in fact.tags)),
        SIZES.map(lambda n: (Fact.name.size() > n, lambda fact: len(fact.name.encode()) > n)),
        SIZES.map(lambda n: (Fact.words.size() == n, lambda fact: len(fact.words) == n)),
        SIZES.map(lambda n: (Fact.places["here"] > n, lambda fact: fact.places.get("here", -9) > n)),
        st.just((Fact.note.exists(), lambda fact: fact.note is not None)),
        st.just((Fact.note.missing(), lambda fact: fact.note is None)),
        st.just((Fact.tags.missing(), lambda fact: not fact.tags)),
        st.just((Fact.words[1].exists(), lambda fact: len(fact.words) > 1)),
        st.sampled_from(TIMES).map(lambda time: (Fact.time > time, lambda fact: fact.time > time)),
        st.dates(date(2024, 1, 1), date(2024, 1, 4)).map(
            lambda day: (Fact.time <= day, lambda fact: fact.time.date() <= day)
        ),
    )


def combined(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda two: (two[0][0] & two[1][0], lambda fact: two[0][1](fact) and two[1][1](fact))),
        pairs.map(lambda two: (two[0][0] | two[1][0], lambda fact: two[0][1](fact) or two[1][1](fact))),
        inner.map(lambda one: (~one[0], lambda fact: not one[1](fact))),
    )


@pytest.fixture(scope="module")
def facts() -> Iterator[Store]:
    with torusdb.open() as db:
        store = Store(table, db.client())
        store.create_table()
        store.put_many(FACTS)
        yield store


@settings(max_examples=120)
@given(case=st.recursive(comparisons(), combined, max_leaves=5))
def test_conditions_mean_what_they_say(case: Case, facts: Store) -> None:
    condition, naive = case
    query: Query[Fact] = Fact.key.query().filter(condition)
    assert [each.number for each in facts.run(query)] == [each.number for each in FACTS if naive(each)]


def text_of(condition: Condition) -> tuple[str, dict[str, str], list[Any]]:
    placeholders = Placeholders()
    text = condition.text(placeholders)
    parameters: dict[str, Any] = {}
    placeholders.add_to(parameters)
    values = parameters.get("ExpressionAttributeValues", {})
    return text, parameters["ExpressionAttributeNames"], [next(iter(each.values())) for each in values.values()]


@pytest.mark.parametrize(
    ("condition", "text", "values"),
    [
        (Fact.size == 1, "#n0 = :v0", ["1"]),
        (
            (Fact.size == 1) & (Fact.size != 2) & (Fact.name < "x"),
            "#n0 = :v0 AND #n0 <> :v1 AND #n1 < :v2",
            ["1", "2", "x"],
        ),
        (
            (Fact.size == 1) | (Fact.size == 2) & (Fact.size == 3),
            "#n0 = :v0 OR (#n0 = :v1 AND #n0 = :v2)",
            ["1", "2", "3"],
        ),
        (~((Fact.size == 1) | (Fact.size == 2)), "NOT (#n0 = :v0 OR #n0 = :v1)", ["1", "2"]),
        (
            (Fact.size == 1) & ((Fact.size == 2) | (Fact.size == 3)),
            "#n0 = :v0 AND (#n0 = :v1 OR #n0 = :v2)",
            ["1", "2", "3"],
        ),
        (Fact.size == Fact.number, "#n0 = #n1", []),
        (Fact.size.in_([1, 2]), "#n0 IN (:v0, :v1)", ["1", "2"]),
        (Fact.words[0].size() >= 3, "size(#n0[0]) >= :v0", ["3"]),
        (
            Fact.places["here"].exists() & Fact.note.missing(),
            "attribute_exists(#n0.#n1) AND attribute_not_exists(#n2)",
            [],
        ),
    ],
)
def test_text_is_always_the_same(condition: Condition, text: str, values: list[str]) -> None:
    found = text_of(condition)
    assert (found[0], found[2]) == (text, values)
    assert text_of(condition) == found


@pytest.mark.parametrize(
    ("make", "kind", "refusal"),
    [
        (lambda: Fact.note == None, PlanRefused, "None is not stored: use Fact.note.missing()"),  # noqa: E711
        (lambda: Fact.note != None, PlanRefused, "None is not stored: use Fact.note.exists()"),  # noqa: E711
        (lambda: Fact.size.in_([]), PlanRefused, "Fact.size.in_ takes 1 to 100 values, not 0"),
        (lambda: Fact.size.in_(range(101)), PlanRefused, "Fact.size.in_ takes 1 to 100 values, not 101"),
        (lambda: Fact.size.contains(1), PlanRefused, "Fact.size is of the type int, which contains nothing"),  # type: ignore[call-overload]
        (lambda: text_of(Fact.size == "x"), InvalidValue, "Fact.size: 'x' is not an int"),  # type: ignore[comparison-overlap]
        (lambda: text_of(Fact.tags.contains(1)), InvalidValue, "Fact.tags: 1 is not a str"),  # type: ignore[call-overload]
        (lambda: text_of(Fact.tags == set()), InvalidValue, "Fact.tags: set() is nothing that is stored"),
        (lambda: Fact.size["x"], InvalidValue, "Fact.size has no ['x']"),
        (lambda: Fact.words["x"], InvalidValue, "Fact.words has no ['x']"),
        (lambda: Fact.places[0], InvalidValue, "Fact.places has no [0]"),
        (lambda: Fact.size.nothing, AttributeError, "Fact.size has no nothing"),
        (
            lambda: bool(Fact.size == 1),
            TypeError,
            "A condition is neither true nor false by itself: put conditions together with &, | and ~",
        ),
        (lambda: list(Fact.words), TypeError, "Fact.words is an expression, and cannot be iterated over"),
    ],
)
def test_what_cannot_be_asked(make: Callable[[], Any], kind: type[Exception], refusal: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == refusal


def test_a_pattern_is_explained_with_names_and_values() -> None:
    query = Fact.key.query(Fact.number == 7).filter((Fact.size > 3) | Fact.note.exists())
    assert str(query.explain()) == (
        "Query of facts\n"
        "  key       pk = 'F' AND sk = '007'\n"
        "  filter    size > 3 OR attribute_exists(note)\n"
        "  reads     Fact, forward"
    )

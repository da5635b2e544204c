"""Random conditions in random spellings come out as the naive evaluator says."""

from copy import deepcopy
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.expressions.naive_conditions import CHANCES, CONDITIONS, ITEMS, Node, Writer, evaluate
from torusdb.expressions import Placeholders, condition
from torusdb.model.values import normalise_item


@given(CONDITIONS, st.lists(ITEMS, min_size=1, max_size=3), CHANCES)
@settings(max_examples=300)
def test_conditions(tree: Node, items: list[dict[str, Any]], chance: Random) -> None:
    writer = Writer(chance)
    text = writer.text(writer.condition(tree))
    placeholders = Placeholders(writer.names or None, deepcopy(writer.values) or None)
    bound = condition(text, placeholders)
    placeholders.require_all_used()
    for item in items:
        stored = deepcopy(item)
        normalise_item(stored)
        assert bound.matches(stored) == evaluate(tree, item), text


@given(CONDITIONS, CHANCES)
def test_conditions_know_what_they_look_at(tree: Node, chance: Random) -> None:
    writer = Writer(chance)
    text = writer.text(writer.condition(tree))
    bound = condition(text, Placeholders(writer.names or None, writer.values or None))
    paths = list(_paths(tree))
    assert set(bound.attributes) == {path[0] for path in paths}
    assert bound.nested_attributes == {path[0] for path in paths if len(path) > 1}


def _paths(node: Node) -> list[tuple[Any, ...]]:
    if node[0] == "path":
        return [node[1]]
    return [path for part in node[1:] if isinstance(part, tuple) for path in _paths(part)]

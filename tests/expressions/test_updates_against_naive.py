"""Random updates in random spellings do what the naive updater does, or are refused for a reason it has too."""

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.expressions.naive_conditions import CHANCES, ITEMS, NAMES
from tests.expressions.naive_updates import Path, UpdateWriter, actions, apply, clash, refusals
from torusdb.errors import ValidationException
from torusdb.expressions import Placeholders, update
from torusdb.model.values import normalise_item


def result_or_refusal(call: Callable[[], Any]) -> tuple[Any, str | None]:
    try:
        return call(), None
    except ValidationException as refused:
        return None, refused.message


@given(ITEMS, st.data(), CHANCES)
@settings(max_examples=300)
def test_updates(item: dict[str, Any], data: st.DataObject, chance: Random) -> None:
    written = data.draw(actions(item))
    writer = UpdateWriter(chance)
    text = writer.update(written)
    stored = deepcopy(item)
    normalise_item(stored)
    before = deepcopy(stored)
    placeholders = Placeholders(writer.names or None, deepcopy(writer.values) or None)
    bound = update(text, placeholders)
    placeholders.require_all_used()
    after, refusal = result_or_refusal(lambda: bound.apply(stored))
    assert stored == before
    reasons = refusals(written, item)
    if reasons:
        assert refusal in reasons, text
    else:
        expected = apply(written, item)
        normalise_item(expected)
        assert (after, refusal) == (expected, None), text


PATHS: st.SearchStrategy[Path] = st.builds(
    lambda head, tail: (head, *tail),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from([*NAMES[:2], 0, 1]), max_size=3),
)


@given(st.lists(PATHS, min_size=1, max_size=6))
def test_paths_that_touch_each_other(paths: list[Path]) -> None:
    text = "REMOVE " + ", ".join(
        "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
        for path in paths
    )
    _, refusal = result_or_refusal(lambda: update(text, Placeholders()))
    found = clash(paths)
    if found is None:
        assert refusal is None
    else:
        kind, one, two = found
        assert refusal == (
            f"Invalid UpdateExpression: Two document paths {kind} with each other; "
            f"must remove or rewrite one of these paths; path one: {_shown(one)}, path two: {_shown(two)}"
        )


def _shown(path: Path) -> str:
    return "[" + ", ".join(f"[{part}]" if isinstance(part, int) else part for part in path) + "]"

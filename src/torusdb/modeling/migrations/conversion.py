"""What becomes of an item: the user's function, what it may be given and what it may give.

The function is given a copy that remembers which attributes it was asked for: those that were not there when the item
was read must not be there when it is written either, since the outcome rests on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple

from torusdb.modeling.cursors import plain_key
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ModelingError
from torusdb.modeling.migrations.errors import ItemRefused
from torusdb.modeling.scalars import Item, Wire
from torusdb.modeling.table import Table


class _Leave:
    def __repr__(self) -> str:
        return "LEAVE"


LEAVE: Final = _Leave()
"""What a conversion gives for an item that the migration is not about: it stays, or is copied, as it is."""

Convert = Callable[[Any], Any]
"""Takes an item or an entity; gives one, a list of them, None for none, or LEAVE."""


class Outcome(NamedTuple):
    """`items`: what is there in the place of the item. `is_left`: the item, as it is. `asked`: the names of attributes
    that the conversion looked for and did not find."""

    items: list[Item]
    is_left: bool
    asked: frozenset[str]


class Observed(dict[str, Wire]):
    """An item that remembers what was looked for in it. (Whatever is there is compared anyway.)"""

    def __init__(self, item: Item) -> None:
        super().__init__(deepcopy(item))
        self.asked: set[str] = set()

    def __missing__(self, name: str) -> Wire:
        self.asked.add(name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        self.asked.add(name)
        return super().pop(name, *default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().setdefault(name, default)


class Conversion:
    """`reads`: the entities that the function is given; items of other kinds are left. Without
    any, it is given items."""

    def __init__(self, convert: Convert, source: Table, target: Table, reads: Sequence[type[Entity]]) -> None:
        self._convert = convert
        self._source = source
        self._target = target
        self._models = [kind.__model__ for kind in reads]

    def outcome(self, item: Item) -> Outcome:
        """Raises ItemRefused for whatever the function raises."""
        observed = Observed(item)
        try:
            given: Any = observed
            if self._models:
                model = next((each for each in self._models if each.is_own(observed)), None)
                if model is None:
                    return self._left(item)
                given = model.decode(observed)
            result = self._convert(given)
        except ModelingError as error:
            raise ItemRefused(str(error)) from error
        except Exception as error:  # whatever the user's function raises
            raise ItemRefused(f"The conversion raised {type(error).__name__}: {error}") from error
        if result is LEAVE:
            return self._left(item)
        items = [self._item(each) for each in _results(result)]
        self._check_keys(items)
        return Outcome(items, False, frozenset(observed.asked - item.keys()))

    def _left(self, item: Item) -> Outcome:
        self._check_keys([item])  # which it has, unless it is to be copied into a table with another
        return Outcome([item], True, frozenset())

    def _item(self, result: Any) -> Item:
        if isinstance(result, Entity):
            model = type(result).__model__
            if model.table.name != self._target.name:
                raise ItemRefused(
                    f"The conversion gave a {model.name}, which is of the table {model.table.name}: "
                    f"it must be of {self._target.name}"
                )
            try:
                encoded: Item = model.encode(result)
            except ModelingError as error:
                raise ItemRefused(str(error)) from error
            return encoded
        if not isinstance(result, dict):
            raise ItemRefused(f"The conversion gave {_kind(result)}: give an item, an entity, a list, None or LEAVE")
        for name, wire in result.items():
            if not isinstance(wire, dict) or len(wire) != 1:
                raise ItemRefused(
                    f"The conversion gave {name} as {wire!r}, which is no attribute value like {{'S': …}}"
                )
        return dict(result)

    def _check_keys(self, items: list[Item]) -> None:
        seen = []
        for item in items:
            for name in self._target.key_names():
                kind = self._target.key_kinds[name]
                if set(item.get(name, ())) != {kind}:
                    raise ItemRefused(
                        f"The conversion gave an item without the key attribute {name}, of type {kind}"
                        if name not in item
                        else f"The conversion gave the key attribute {name} as {item[name]!r}: its type is {kind}"
                    )
            key = plain_key(key_of(self._target, item))
            if key in seen:
                raise ItemRefused(f"The conversion gave two items with the key {key}")
            seen.append(key)


def key_of(table: Table, item: Item) -> Item:
    return {name: item[name] for name in table.key_names()}


def _results(result: Any) -> list[Any]:
    if result is None:
        return []
    return list(result) if isinstance(result, list | tuple) else [result]


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"

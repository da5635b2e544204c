"""Projections: which parts of an item an answer shows. ProjectionExpression, AttributesToGet, and what an
update touched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from torusdb.errors import ValidationException
from torusdb.expressions.parsed import parse_projection
from torusdb.expressions.paths import BoundPath, bind, check_distinct_paths
from torusdb.expressions.placeholders import Placeholders, are_short, undefined_alias, undefined_name
from torusdb.expressions.refusal import Refusal
from torusdb.model.attributes import AttributeValue, Item

PROJECTION_CACHE_ENTRIES_MAX: Final = 2048

Branches: TypeAlias = dict[str | int, Any]
"""What is wanted below a map or list: by name or index, the branches below, or None for the whole value."""


class Projection:
    """A set of paths. Immutable, shared between requests."""

    __slots__ = ("_branches", "_is_flat", "attributes", "nested_attributes")

    def __init__(self, paths: Sequence[BoundPath]) -> None:
        self._branches = _branches(paths)
        self._is_flat = all(below is None for below in self._branches.values())
        self.attributes: tuple[str, ...] = tuple(name for name in self._branches if isinstance(name, str))
        """The top-level attributes it shows or shows parts of."""
        self.nested_attributes = frozenset(
            name for name, below in self._branches.items() if below is not None and isinstance(name, str)
        )

    def apply(self, item: Item) -> Item:
        """A new item of the wanted parts that exist. List elements keep their order and close up."""
        if self._is_flat:
            return {name: item[name] for name in self.attributes if name in item}
        return _pick_members(item, self._branches)


def projection(text: str, placeholders: Placeholders) -> Projection:
    try:
        parsed = parse_projection(text)
        names = placeholders.resolve(parsed.references)
        if None in names:
            raise undefined_name(undefined_alias(parsed.references, names))
        build = _projection if are_short(names) else _projection.__wrapped__
        return build(text, names)
    except Refusal as refusal:
        raise refusal.of("ProjectionExpression") from None


def attributes_to_get(names: Sequence[str]) -> Projection:
    """The legacy form: top-level attributes only, each once."""
    seen = set()
    for name in names:
        if name in seen:
            raise ValidationException(
                f"One or more parameter values were invalid: Duplicate value in attribute name: {name}"
            )
        seen.add(name)
    return Projection([(name,) for name in names])


@lru_cache(PROJECTION_CACHE_ENTRIES_MAX)
def _projection(text: str, names: tuple[str, ...]) -> Projection:
    parsed = parse_projection(text)
    resolved = dict(zip(parsed.references.aliases, names, strict=True))
    paths = [bind(path, resolved) for path in parsed.paths]
    check_distinct_paths(paths)
    return Projection(paths)


def _branches(paths: Iterable[BoundPath]) -> Branches:
    root: Branches = {}
    for path in paths:
        branches = root
        for part in path[:-1]:
            branches = branches.setdefault(part, {})
        branches[path[-1]] = None
    return root


def _pick_members(members: Item, branches: Branches) -> Item:
    picked = {}
    for name, below in branches.items():
        value = members.get(name)  # type: ignore[arg-type]  # an index is the name of no member
        if value is not None and below is not None:
            value = _pick(value, below)
        if value is not None:
            picked[name] = value
    return picked  # type: ignore[return-value]


def _pick(value: AttributeValue, branches: Branches) -> AttributeValue | None:
    """The wanted parts of a value; None where there are none. As deep as a path is long."""
    if "M" in value:
        members = _pick_members(value["M"], branches)
        return {"M": members} if members else None
    if "L" not in value:
        return None
    elements, picked = value["L"], []
    for index in sorted(part for part in branches if isinstance(part, int)):
        if index >= len(elements):
            break
        below = branches[index]
        element = elements[index] if below is None else _pick(elements[index], below)
        if element is not None:
            picked.append(element)
    return {"L": picked} if picked else None

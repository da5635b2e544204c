"""Document paths with their names resolved: bound, looked up, and held against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from torusdb.errors import ValidationException
from torusdb.expressions.refusal import Refusal
from torusdb.expressions.tree import Alias, Path, show_path
from torusdb.model.attributes import AttributeValue, Item

BoundPath: TypeAlias = tuple[str | int, ...]
Lookup: TypeAlias = Callable[[Item], AttributeValue | None]


def bind(path: Path, names: Mapping[str, str]) -> BoundPath:
    return tuple(names[part.name] if isinstance(part, Alias) else part for part in path.parts)


def look_up(item: Item, path: BoundPath) -> AttributeValue | None:
    """What the path leads to in the item, if anything."""
    value: Any = {"M": item}
    for part in path:
        if isinstance(part, str):
            members = value.get("M")
            value = None if members is None else members.get(part)
        else:
            elements = value.get("L")
            value = elements[part] if elements is not None and part < len(elements) else None
        if value is None:
            return None
    found: AttributeValue = value
    return found


def check_distinct_paths(paths: Iterable[BoundPath]) -> None:
    """No path may lead to or through another's end, nor take for a list what another takes for a map.

    The service names an overlap before a conflict. A tree of the parts finds both in linear time; only
    then are the paths compared one by one, for the message.
    """
    earlier: list[BoundPath] = []
    conflict: Refusal | None = None
    root: dict[str | int, Any] = {}
    for path in paths:
        kind = _insert(root, path)
        if kind == "overlap" or (kind == "conflict" and conflict is None):
            other = next(each for each in earlier if _clash(each, path) == kind)
            refusal = Refusal(
                f"Two document paths {kind} with each other; must remove or rewrite one of these paths; "
                f"path one: {show_path(other)}, path two: {show_path(path)}"
            )
            if kind == "overlap":
                raise refusal
            conflict = refusal
        earlier.append(path)
    if conflict is not None:
        raise conflict


def _insert(root: dict[str | int, Any], path: BoundPath) -> str | None:
    """Adds a path to the tree, in which None is a path's end. Says how it clashes with those before."""
    clash = None
    node = root
    for part in path[:-1]:
        clash = clash or _type_clash(node, part)
        node = node.setdefault(part, {})
        if node is None:
            return "overlap"
    if path[-1] in node:
        return "overlap"
    clash = clash or _type_clash(node, path[-1])
    node[path[-1]] = None
    return clash


def _type_clash(node: dict[str | int, Any], part: str | int) -> str | None:
    return "conflict" if node and type(next(iter(node))) is not type(part) else None


def _clash(one: BoundPath, two: BoundPath) -> str | None:
    for a, b in zip(one, two, strict=False):
        if type(a) is not type(b):
            return "conflict"
        if a != b:
            return None
    return "overlap"


def require_scalar_keys(nested: Iterable[str], key_names: Iterable[str], index_key_names: Iterable[str] = ()) -> None:
    """Refuses paths into key attributes. `nested` are the attributes an expression looks into."""
    nested = frozenset(nested)
    if not nested:
        return
    for label, names in (("Key", key_names), ("IndexKey", index_key_names)):
        for name in names:
            if name in nested:
                raise ValidationException(
                    "Key attributes must be scalars; "
                    f"list random access '[]' and map lookup '.' are not allowed: {label}: {name}"
                )

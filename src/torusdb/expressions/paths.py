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

    The service names an overlap before a conflict, and of the overlaps the first in the text.
    """
    earlier: list[BoundPath] = []
    seen: set[BoundPath] = set()
    conflict: Refusal | None = None
    is_flat = True
    for path in paths:
        is_flat = is_flat and len(path) == 1
        if is_flat and path not in seen:
            # A top-level attribute can only overlap with itself as long as no path is nested.
            seen.add(path)
            earlier.append(path)
            continue
        for other in earlier:
            kind = _clash(other, path)
            if kind == "overlap":
                raise _clash_refusal(kind, other, path)
            if kind is not None:
                conflict = _clash_refusal(kind, other, path)
        earlier.append(path)
    if conflict is not None:
        raise conflict


def _clash(one: BoundPath, two: BoundPath) -> str | None:
    for a, b in zip(one, two, strict=False):
        if type(a) is not type(b):
            return "conflict"
        if a != b:
            return None
    return "overlap"


def _clash_refusal(kind: str, one: BoundPath, two: BoundPath) -> Refusal:
    return Refusal(
        f"Two document paths {kind} with each other; must remove or rewrite one of these paths; "
        f"path one: {show_path(one)}, path two: {show_path(two)}"
    )


def require_scalar_keys(
    nested: Iterable[str], key_names: Iterable[str], index_key_names: Iterable[str] = ()
) -> None:
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

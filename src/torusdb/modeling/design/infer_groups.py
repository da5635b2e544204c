"""Which items of a table are of one entity: by the attribute that names it, or else by the shape of their keys.

A key's *shape* is what stays when the values are taken out: of "CUSTOMER#17#ORDER#3" it is CUSTOMER, a value, ORDER,
a value. What is a label and what a value is not written anywhere, so it is a guess: labels are words without digits,
stand before others, and come again and again."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from torusdb.modeling.design.drafts import words
from torusdb.modeling.design.tables import TableShape
from torusdb.modeling.scalars import Item
from torusdb.modeling.table import KeyAttribute

SEPARATORS: Final = ("#", "|", "::", "/", "~", ":")
"""In the order in which they are looked for."""
SEPARATED_PART_MIN: Final = 0.2
"""The part of a key attribute's values that a separator has to be in."""
LABEL: Final = re.compile(r"[A-Za-z$@][A-Za-z_.$@\-]{0,30}")
LABELS_MAX: Final = 12
"""Of one place in a key. More, each seldom, are values that happen to have no digits."""
ITEMS_PER_LABEL_MIN: Final = 3
TYPES_MAX: Final = 50
TYPE_NAMES: Final = frozenset(
    {"type", "entity", "entitytype", "et", "typename", "itemtype", "recordtype", "objecttype", "kind", "model", "edbe"}
)
"""What the attribute that names an entity is called, in small letters without anything between them: by the kit and by
hand (type, entity_type), by DynamoDB-Toolbox (_et, entity), OneTable (_type), ElectroDB (__edb_e__), GraphQL."""

Shape: TypeAlias = tuple[tuple[str | None, ...], ...]
"""Of each key attribute, its labels, and None for each value."""


class Group(NamedTuple):
    """Items of one entity. `names`: what it is called: by the type attribute, or by the labels in its keys."""

    names: list[str]
    items: list[Item]

    def together(self, other: Group) -> Group:
        return Group([*self.names, *other.names], [*self.items, *other.items])


def separator_of(attribute: KeyAttribute, items: Sequence[Item]) -> str | None:
    """What stands between the parts of a key attribute's values; None where each is one value."""
    if attribute.kind != "S":
        return None
    texts = [item[attribute.name]["S"] for item in items if "S" in item.get(attribute.name, {})]
    for separator in SEPARATORS:
        having = [text for text in texts if separator in text and not _has_it_in_one_value(separator, text)]
        if having and len(having) >= len(texts) * SEPARATED_PART_MIN:
            return separator
    return None


def _has_it_in_one_value(separator: str, text: str) -> bool:
    """Times have ":" in them, and addresses "/"."""
    if separator not in {":", "/"}:
        return False
    if "://" in text:
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def type_attribute_of(shape: TableShape, items: Sequence[Item]) -> str | None:
    """The attribute that names the entity: one that is called so, is in every item, and is the same in all items whose
    keys have one shape."""
    shapes = shapes_of(shape, items)
    for name in sorted(set().union(*items)):
        if "".join(words(name)) not in TYPE_NAMES or name in shape.key_kinds:
            continue
        values = [item.get(name, {}).get("S") for item in items]
        if None in values or len(set(values)) > TYPES_MAX:
            continue
        by_shape: dict[Shape, set[str | None]] = defaultdict(set)
        for each, value in zip(shapes, values, strict=True):
            by_shape[each].add(value)
        if all(len(found) == 1 for found in by_shape.values()):
            return name
    return None


def groups_of(shape: TableShape, items: Sequence[Item], type_attribute: str | None) -> list[Group]:
    """The largest first."""
    found: dict[str, Group] = {}
    for item, key_shape in zip(items, shapes_of(shape, items), strict=True):
        name = item[type_attribute]["S"] if type_attribute is not None else name_of_shape(key_shape)
        found.setdefault(name if type_attribute is not None else repr(key_shape), Group([name], [])).items.append(item)
    return sorted(found.values(), key=lambda group: (-len(group.items), group.names))


def name_of_shape(shape: Shape) -> str:
    """The labels, of the sort key last: they say more of an entity than those of the partition that it is in."""
    labels = [[label for label in part if label] for part in shape]
    if len(labels) > 1 and labels[1]:
        generic = {"metadata", "meta", "profile", "info", "details", "data", "root", "main"}
        own = [label for label in labels[1] if "".join(words(label)) not in generic]
        return " ".join(own or [*labels[0], *labels[1]])
    return " ".join(labels[0]) if labels else ""


def shapes_of(shape: TableShape, items: Sequence[Item]) -> list[Shape]:
    """Of each item, in their order."""
    parts = []
    for attribute in shape.key:
        separator = separator_of(attribute, items)
        segments = [_segments(item, attribute, separator) for item in items]
        parts.append(_labels(segments, [repr(item[shape.partition.name]) for item in items]))
    return list(zip(*parts, strict=True))


def _segments(item: Item, attribute: KeyAttribute, separator: str | None) -> list[str]:
    if attribute.kind != "S":
        return [""]
    text: str = item[attribute.name]["S"]
    return text.split(separator) if separator else [text]


def _labels(values: list[list[str]], partitions: list[str]) -> list[tuple[str | None, ...]]:
    """Walks through all values side by side: what is a label at a place depends on those that have the same before."""
    done: list[list[str | None]] = [[] for _ in values]
    open_ = [index for index, value in enumerate(values) if value]
    place = 0
    while open_:
        alike: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
        for index in open_:
            alike[tuple(done[index])].append(index)
        for before, indexes in alike.items():
            seen = [(values[index], partitions[index]) for index in indexes]
            labels = _labels_at(place, seen, behind_label=bool(before and before[-1]))
            for index in indexes:
                segment = values[index][place]
                done[index].append(segment if segment in labels or not segment else None)
        place += 1
        open_ = [index for index in open_ if len(values[index]) > place]
    return [tuple(each) for each in done]


def _labels_at(place: int, seen: list[tuple[list[str], str]], *, behind_label: bool) -> set[str]:
    """The labels among the segments that all stand behind the same. `seen`: values, and the partitions they are in."""
    counted = Counter(value[place] for value, _ in seen if LABEL.fullmatch(value[place]))
    if len(counted) > LABELS_MAX and sum(counted.values()) < len(counted) * ITEMS_PER_LABEL_MIN:
        return set()
    partitions: dict[str, set[str]] = defaultdict(set)
    inside = set()
    for value, partition in seen:
        partitions[value[place]].add(partition)
        if len(value) > place + 1:
            inside.add(value[place])

    def is_label(label: str) -> bool:
        """A word at the end may be a value ("STATUS#open"), and is one behind a label; else, if it is all there is, it
        is a label in capitals, or if several partitions have it."""
        if label in inside:
            return True
        return not behind_label and (place > 0 or label.isupper() or len(partitions[label]) > 1)

    return {label for label in counted if is_label(label)}

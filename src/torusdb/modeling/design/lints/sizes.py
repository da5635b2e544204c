"""Rules on sizes: of items, of collections, of names."""

from __future__ import annotations

from typing import Any, Final

from torusdb.modeling.design.facts import Facts
from torusdb.modeling.design.lints.findings import Remarks, error, note, warning
from torusdb.modeling.design.loads import kind_of
from torusdb.modeling.design.units import COLLECTION_BYTES_MAX, GIGABYTE, ITEM_BYTES_MAX
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.table import LocalIndex

NEAR: Final = 0.5
"""The part of a limit from which on growth is worth a warning."""
NAME_BYTES_MANY: Final = 20
NAMES_BYTES_MANY: Final = GIGABYTE
"""Of one name, where nothing is known of the volume; of all names of all items of an entity."""


def item_growth(facts: Facts) -> Remarks:
    """Items end at 400 KB, and cost by their size long before."""
    for model in facts.models:
        volume = facts.volume(model)
        largest = max((volume.largest_item_bytes or 0, volume.item_bytes or 0)) if volume else 0
        if largest > NEAR * ITEM_BYTES_MAX:
            tell = error if largest > ITEM_BYTES_MAX else warning
            yield tell(
                model,
                f"its items grow to {largest / 1024:,.0f} KB, and an item has {ITEM_BYTES_MAX // 1024} KB at most; "
                "split it into several items of one collection, or keep what is large elsewhere",
            )
        if volume is not None and volume.largest_item_bytes is not None:
            continue
        for name, codec in model.codecs.items():
            if codec.plain in {list, set, frozenset, dict, tuple} and codec.element is not None:
                yield note(
                    model.attributes[name],
                    f"it is a {codec.plain.__name__} without an end, and the item with it; say how large the item "
                    f"gets in Volume({model.name}, largest_item_bytes=…), or make its elements items of their own",
                )


def collection_growth(facts: Facts) -> Remarks:
    """On a table with a local index, the items of one partition key end at 10 GB."""
    sums: dict[tuple[Any, ...], float] = {}
    first: dict[tuple[Any, ...], BoundKey[Any]] = {}
    for model in facts.models:
        if not any(isinstance(index, LocalIndex) for index in model.table.indexes) or not model.primary.sort:
            continue
        kind, volume = kind_of(model.primary), facts.volume(model)
        if volume is None or volume.largest_collection is None:
            if any(part.template.fields for part in model.primary.sort):
                yield note(
                    model.primary,
                    f"its table has a local index, and an item collection ends at 10 GB there; say how many share a "
                    f"partition in Volume({model.name}, largest_collection=…)",
                )
            continue
        first.setdefault(kind, model.primary)
        sums[kind] = sums.get(kind, 0.0) + volume.largest_collection * _stored_bytes(facts, model.primary)
    for kind, stored in sums.items():
        if stored > NEAR * COLLECTION_BYTES_MAX:
            tell = error if stored > COLLECTION_BYTES_MAX else warning
            yield tell(
                first[kind],
                f"the largest item collection has {stored / GIGABYTE:,.1f} GB with its entries in local indexes, and "
                "ends at 10 GB on a table with a local index, where writes then fail; make the index a global one, "
                "or spread the partition key",
            )


def _stored_bytes(facts: Facts, key: BoundKey[Any]) -> float:
    """Of an item and its entries in local indexes."""
    indexes = [None, *(each.index for each in key.model.keys.values() if isinstance(each.index, LocalIndex))]
    sizes = [facts.size(key.model, index) for index in indexes]
    return sum(size.bytes for size in sizes if size is not None)


def long_names(facts: Facts) -> Remarks:
    """Names are stored with each item, and in each index that holds it."""
    for model in facts.models:
        volume = facts.volume(model)
        names = {each._stored: each for each in model.attributes.values()}
        if volume is None:
            for stored, attribute in names.items():
                if len(stored.encode()) > NAME_BYTES_MANY:
                    yield note(
                        attribute,
                        f"its name {stored!r} is stored with each item; give it a short one, as in attr(name="
                        f"{''.join(word[0] for word in stored.split('_') if word)!r})",
                    )
            continue
        longest = max(names, key=lambda stored: len(stored.encode()))
        copies = [key for key in model.keys.values() if key.index is None or key.index.include is None]
        bytes_of_names = sum(len(stored.encode()) for stored in names)
        total = bytes_of_names * sum(facts.items_in(key) or 0 for key in copies)
        if total > NAMES_BYTES_MANY:
            yield note(
                model,
                f"the names of its attributes take {total / GIGABYTE:,.1f} GB in {volume.items:,} items and their "
                f"indexes; give the long ones, such as {longest!r}, a short one with attr(name=…)",
            )


RULES: Final = (item_growth, collection_growth, long_names)

"""What the indexes of a table add to the cost of a write.

By the change to what the index holds of the item: nothing where that stays as it is, one write where it comes, changes
or goes, two where its key in the index is another. Transactions cost no more here. (Vector indexes are not counted:
what the service stores of a vector is not said by the item's size.)"""

from __future__ import annotations

from typing import Any, NamedTuple

from torusdb.modeling.design.sizes import item_bytes
from torusdb.modeling.design.units import write_units
from torusdb.modeling.migrations.verifying import same
from torusdb.modeling.scalars import Item


class _Index(NamedTuple):
    """`key`: the names of its key attributes and of the table's; `held`: of what it holds, None for all."""

    key: frozenset[str]
    held: frozenset[str] | None

    def view(self, item: Item | None) -> Item | None:
        """What it holds of an item, None where the item is not in it."""
        if item is None or not self.key <= item.keys():
            return None
        return item if self.held is None else {name: wire for name, wire in item.items() if name in self.held}

    def units(self, before: Item | None, after: Item | None) -> int:
        views = [view for each in (before, after) if (view := self.view(each)) is not None]
        units = [write_units(item_bytes(view)) for view in views]
        if len(views) < 2:
            return sum(units)
        if same(*views):
            return 0
        keys = [{name: view[name] for name in self.key} for view in views]
        return max(units) if same(*keys) else sum(units)


class Indexes:
    """`description`: what DescribeTable tells of the table, or what CreateTable is given."""

    def __init__(self, description: dict[str, Any]) -> None:
        members = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        self._indexes = [_index(description, each) for member in members for each in description.get(member) or []]

    def units(self, before: Item | None, after: Item | None) -> int:
        """Write units of a change, None where there is no item."""
        return sum(each.units(before, after) for each in self._indexes)


def _index(table: dict[str, Any], described: dict[str, Any]) -> _Index:
    key = frozenset(each["AttributeName"] for each in [*table["KeySchema"], *described["KeySchema"]])
    projection = described["Projection"]
    if projection["ProjectionType"] == "ALL":
        return _Index(key, None)
    return _Index(key, key | frozenset(projection.get("NonKeyAttributes", ())))

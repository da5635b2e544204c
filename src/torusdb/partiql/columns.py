"""The select list: which parts of an item a SELECT shows, and under which names."""

from __future__ import annotations

from collections.abc import Sequence

from torusdb.expressions.paths import BoundPath, look_up
from torusdb.expressions.projections import Projection
from torusdb.model.attributes import Item


class Columns(Projection):
    """Where a ProjectionExpression keeps the shape of a document, a SELECT gives each value the name that ends its
    path, indexes included: `a.b[0]` is shown as `b[0]` (seen by others in 2026)."""

    __slots__ = ("_columns",)

    def __init__(self, paths: Sequence[BoundPath]) -> None:
        heads = dict.fromkeys(path[0] for path in paths)
        super().__init__([(head,) for head in heads])
        self.nested_attributes = frozenset(str(path[0]) for path in paths if len(path) > 1)
        self._columns = [(_label(path), path) for path in paths]

    def apply(self, item: Item) -> Item:
        found = ((label, look_up(item, path)) for label, path in self._columns)
        return {label: value for label, value in found if value is not None}


def _label(path: BoundPath) -> str:
    last_name = max(at for at, part in enumerate(path) if isinstance(part, str))
    return str(path[last_name]) + "".join(f"[{part}]" for part in path[last_name + 1 :])

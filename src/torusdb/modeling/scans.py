"""Scans: all entities of a kind, by reading the whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar

from torusdb.modeling.context import AS_DECLARED, Context
from torusdb.modeling.expressions import Placeholders
from torusdb.modeling.plans import model_of
from torusdb.modeling.reads import Explanation, Read, positive
from torusdb.modeling.steps import Request

if TYPE_CHECKING:
    from torusdb.modeling.entity import Entity

E = TypeVar("E", bound="Entity")


class Scan(Read[E]):
    """`Scan(Order)`: reads, and is charged for, all that the table holds. In no order."""

    operation = "Scan"

    def __init__(self, kind: type[E]) -> None:
        model = model_of(kind)
        super().__init__(model.table, None, [model])
        self.segment_count = 1

    def segments(self, count: int) -> Self:
        """Reads so many parts of the table at once."""
        return self._with(segment_count=positive("segments", count))

    def requests(self, context: Context = AS_DECLARED) -> list[Request]:
        placeholders = Placeholders()
        parameters = self._base(placeholders, context, mixed=len(self.table.entities) > 1)
        placeholders.add_to(parameters)
        if self.segment_count == 1:
            return [Request("scan", parameters)]
        count = self.segment_count
        return [Request("scan", {**parameters, "Segment": each, "TotalSegments": count}) for each in range(count)]

    def explain(self) -> Explanation:
        return Explanation(
            operation=self.operation,
            table=self.table.name,
            index_name=None,
            key_condition=None,
            filter=self._filter_text(len(self.table.entities) > 1),
            requests=self.segment_count,
            reads=f"the whole table, for its {self.models[0].name} entities",
        )

"""What a plan does not know by itself when it becomes requests: what its table is called where it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from torusdb.modeling.errors import PlanRefused

if TYPE_CHECKING:
    from torusdb.modeling.table import Table


class Context:
    """`names`: what the tables are called, which are all that may be asked for; None: any, as they are declared."""

    __slots__ = ("_names",)

    def __init__(self, names: Mapping[Table, str] | None = None) -> None:
        self._names = names

    def name_of(self, table: Table) -> str:
        if self._names is None:
            return table.name
        name = self._names.get(table)
        if name is None:
            own = " and ".join(self._names.values())
            raise PlanRefused(f"This is of the table {table.name}, and the store is of {own}")
        return name

    def along_with(self, others: list[Context]) -> Context:
        """The tables of this one and of the others. None of them may have two names."""
        names: dict[Table, str] = {}
        for context in (self, *others):
            for table, name in (context._names or {}).items():
                if names.setdefault(table, name) != name:
                    raise PlanRefused(f"The table {table.name} is {names[table]} in one store and {name} in another")
        return Context(names)


AS_DECLARED: Final = Context()

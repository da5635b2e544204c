"""What a plan does not know by itself when it becomes requests: what its table is called where it is run, and what time
it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from torusdb.modeling.errors import PlanRefused
from torusdb.modeling.scalars import in_utc

if TYPE_CHECKING:
    from torusdb.modeling.table import Table


def utc_now() -> datetime:
    return datetime.now(UTC)


class Context:
    """`names`: what the tables are called, which are all that may be asked for; None: any, as they are declared."""

    __slots__ = ("_names", "_now")

    def __init__(self, names: Mapping[Table, str] | None = None, now: Callable[[], datetime] = utc_now) -> None:
        self._names = names
        self._now = now

    def table_name(self, table: Table) -> str:
        if self._names is None:
            return table.name
        name = self._names.get(table)
        if name is None:
            own = " and ".join(self._names.values())
            raise PlanRefused(f"This is of the table {table.name}, and the store is of {own}")
        return name

    def along_with(self, others: Iterable[Context]) -> Context:
        """With the tables of others as well; none may be called in two ways."""
        names: dict[Table, str] = {}
        for context in (self, *others):
            for table, name in (context._names or {}).items():
                if names.setdefault(table, name) != name:
                    raise PlanRefused(f"The table {table.name} is {names[table]} in one store, and {name} in another")
        return Context(names, self._now)

    def calling(self, table: Table, name: str) -> Context:
        """The same where the table is called so."""
        return Context({**(self._names or {}), table: name}, self._now)

    def now(self) -> datetime:
        """In UTC, to the second, as the service's TTL counts."""
        return datetime.fromtimestamp(self.now_seconds(), UTC)

    def now_seconds(self) -> int:
        """Since 1970, as the service's TTL counts."""
        return int(in_utc(self._now()).timestamp())


AS_DECLARED: Final = Context()

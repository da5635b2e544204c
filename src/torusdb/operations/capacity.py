"""What an operation costs, in the service's capacity units, and how it says so.

Reads are counted in 4 KB, writes in 1 KB, each rounded up; an eventually consistent read costs half. Rules and
figures: developer guide, "Read and write operations", and the measurements named beside the functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from torusdb.model.schema import Table

READ_UNIT_BYTES = 4096
WRITE_UNIT_BYTES = 1024
TRANSACTION_FACTOR = 2
"""What a transaction costs more, on the table's part; indexes cost as ever (measured)."""

Kind: TypeAlias = Literal["ReadCapacityUnits", "WriteCapacityUnits"]
"""Transactions say of which kind their units are, each time they name them; other operations don't (measured)."""


def read_units(size: int, consistent: bool | None) -> float:
    """A read costs at least one unit (half of one if eventually consistent), found or not."""
    units = -(-size // READ_UNIT_BYTES) or 1
    return float(units) if consistent else units / 2


def write_units(size: int) -> float:
    return float(-(-size // WRITE_UNIT_BYTES) or 1)


def table_write_units(old_size: int | None, new_size: int | None) -> float:
    """A write is charged on the larger of what was there and what is there now."""
    return write_units(max(old_size or 0, new_size or 0))


class Consumed(msgspec.Struct):
    """What one operation consumed on one table. `index_units` holds only indexes that were touched."""

    table: Table
    table_units: float = 0.0
    index_units: dict[str, float] = {}

    def add(self, table_units: float, index_units: Mapping[str, float] | None = None) -> None:
        self.table_units += table_units
        for name, units in (index_units or {}).items():
            self.index_units[name] = self.index_units.get(name, 0.0) + units

    def report(self, asked: str | None, table_name: str, kind: Kind | None = None) -> dict[str, Any] | None:
        """The ConsumedCapacity member; None where the request didn't ask for it. `table_name` is the name or ARN
        as the request gave it, which is how the service repeats it."""
        if asked is None or asked == "NONE":
            return None
        total = self.table_units + sum(self.index_units.values())
        report: dict[str, Any] = {"TableName": table_name, **_units(total, kind)}
        if asked == "INDEXES":
            report["Table"] = _units(self.table_units, kind)
            for index in self.table.indexes:
                if index.name in self.index_units:
                    member = "GlobalSecondaryIndexes" if index.is_global else "LocalSecondaryIndexes"
                    report.setdefault(member, {})[index.name] = _units(self.index_units[index.name], kind)
        return report


def _units(units: float, kind: Kind | None) -> dict[str, float]:
    return {"CapacityUnits": units} if kind is None else {"CapacityUnits": units, kind: units}


def reports(
    consumed: Iterable[tuple[str, Consumed]], asked: str | None, kind: Kind | None = None
) -> list[dict[str, Any]] | None:
    """The ConsumedCapacity member of an operation on several tables: one entry a table."""
    if asked is None or asked == "NONE":
        return None
    return [report for name, one in consumed if (report := one.report(asked, name, kind))]

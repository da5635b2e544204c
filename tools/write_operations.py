"""Writes the table of operations into README.md: every operation of the service's model, and whether it is built.

    python tools/write_operations.py

A test fails when the table is not what this writes.
"""

from __future__ import annotations

import re
from pathlib import Path

from torusdb.api.shapes import KNOWN_OPERATIONS
from torusdb.operations.registry import OPERATIONS

README = Path(__file__).resolve().parent.parent / "README.md"

FAMILIES = {
    "tables": "Table|ListTables|Limits|Endpoints",
    "items": "(Put|Get|Update|Delete)Item|Query|Scan|BatchGetItem|BatchWriteItem",
    "transactions": "Transact",
    "PartiQL": "Statement|ExecuteTransaction",
    "streams": "Stream|GetRecords|ShardIterator",
    "time to live": "TimeToLive",
    "tags and policies": "[Tt]ag|ResourcePolicy",
    "backups and point-in-time": "Backup|PointInTime",
    "import, export, bulk": "Import|Export|Bulk",
    "global tables": "GlobalTable|Replica",
    "insights, vectors": "Insights|SearchVectors",
}
"""By a pattern on the names of their operations. Several may fit: `MOST_SPECIAL_FIRST` says which holds."""

MOST_SPECIAL_FIRST = [
    *["backups and point-in-time", "import, export, bulk", "global tables", "insights, vectors", "PartiQL"],
    *["transactions", "streams", "time to live", "tags and policies", "items", "tables"],
]


def family_of(operation: str) -> str:
    return next(name for name in MOST_SPECIAL_FIRST if re.search(FAMILIES[name], operation))


def table() -> str:
    rows = ["| family | built | not yet |", "| --- | --- | --- |"]
    for family in FAMILIES:
        names = sorted(name for name in KNOWN_OPERATIONS.values() if family_of(name) == family)
        built = [name for name in names if name in OPERATIONS]
        missing = [name for name in names if name not in OPERATIONS]
        rows.append(f"| {family} | {', '.join(built)} | {', '.join(missing)} |")
    return "\n".join(rows)


def with_table(readme: str) -> str:
    start, end = "<!-- operations -->\n", "\n<!-- /operations -->"
    before, rest = readme.split(start)
    return f"{before}{start}{table()}{end}{rest.split(end.strip())[1]}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))

"""Tables for the pages of docs/patterns: what a table of the database holds, and what requests cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

SHAPE_ROWS_MAX = 30
TEXT_CHARACTERS_MAX = 48
TYPE_ATTRIBUTE = "_type"

READS = {"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"}
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


class Charge(NamedTuple):
    """Of one request. `consumed`: as the service told it; None where it refused the request, and told nothing."""

    operation: str
    consumed: list[dict[str, Any]] | None


class Cost(NamedTuple):
    label: str
    charges: list[Charge]


# -- shapes


def shape(client: Any, table: str, index: str | None) -> str:
    """A table, or one of its indexes, as it is: an item a row, an item collection under its partition key."""
    told = client.describe_table(TableName=table)["Table"]
    indexes = [*told.get("GlobalSecondaryIndexes", []), *told.get("LocalSecondaryIndexes", [])]
    by_name = {each["IndexName"]: _names(each) for each in indexes}
    if index is not None and index not in by_name:
        raise KeyError(f"The table {table} has no index {index}")
    items = client.get_paginator("scan").paginate(TableName=table, **({"IndexName": index} if index else {}))
    items = [item for page in items for item in page["Items"]]
    if len(items) > SHAPE_ROWS_MAX:
        raise ValueError(f"{table} has {len(items)} items; a shape shows up to {SHAPE_ROWS_MAX}")
    own = _names(told)
    keys = by_name[index] if index else own
    partition = {each["AttributeName"] for each in _schema(told, indexes, index) if each["KeyType"] == "HASH"}
    other_keys = [name for names in by_name.values() for name in names if name not in keys and name not in own]
    leading = [*keys, *(name for name in own if name not in keys)]
    if index is None:
        leading += [name for name in dict.fromkeys(other_keys) if any(name in item for item in items)]
    if any(TYPE_ATTRIBUTE in item for item in items):
        leading.append(TYPE_ATTRIBUTE)
    items.sort(key=lambda item: [_sortable(item[name]) for name in [*keys, *own]])
    rows, above = [], None
    for item in items:
        here = [item[name] for name in keys if name in partition]
        cells = [_key_cell(item.get(name)) for name in leading]
        if here == above:
            cells[: len(here)] = [""] * len(here)
        rest = [name for name in item if name not in leading and name not in other_keys]
        rows.append([*cells, ", ".join(f"{_escaped(name)}: {_escaped(_text(item[name]))}" for name in sorted(rest))])
        above = here
    return _table([*leading, "other attributes"], rows)


def _schema(told: dict[str, Any], indexes: list[dict[str, Any]], index: str | None) -> list[dict[str, str]]:
    found: list[dict[str, str]] = next((each for each in indexes if each["IndexName"] == index), told)["KeySchema"]
    return found


def _names(described: dict[str, Any]) -> list[str]:
    return [each["AttributeName"] for each in described["KeySchema"]]


def _sortable(wire: dict[str, Any]) -> Any:
    ((kind, value),) = wire.items()
    return Decimal(value) if kind == "N" else value.encode() if kind == "S" else value


def _key_cell(wire: dict[str, Any] | None) -> str:
    return "" if wire is None else f"`{_text(wire)}`".replace("|", "\\|")


def _text(wire: dict[str, Any]) -> str:
    ((kind, value),) = wire.items()
    if kind == "M":
        return "{" + ", ".join(f"{name}: {_text(each)}" for name, each in sorted(value.items())) + "}"
    if kind == "L":
        return f"[{', '.join(map(_text, value))}]"
    if kind in {"SS", "NS"}:
        return "{" + ", ".join(sorted(value)) + "}"
    if kind in {"B", "BS"}:
        return f"{len(value)} bytes" if kind == "B" else f"{len(value)} binaries"
    text = {"BOOL": str(value).lower(), "NULL": "null"}.get(kind, str(value) or '""')
    return text if len(text) <= TEXT_CHARACTERS_MAX else f"{text[:TEXT_CHARACTERS_MAX]}…"


def _escaped(text: str) -> str:
    return re.sub(r"([|*_<\\])", r"\\\1", text)


# -- costs


def costs(measured: Iterable[Cost]) -> str:
    rows = []
    for label, charges in measured:
        counts = Counter(_name(charge) for charge in charges)
        requests = ", ".join(name if count == 1 else f"{count} × {name}" for name, count in counts.items())
        rows.append([label, requests, _units(charges, READS), _units(charges, WRITES)])
    return _table(["what is done", "requests", "read units", "write units"], rows)


def _name(charge: Charge) -> str:
    return charge.operation if charge.consumed is not None else f"{charge.operation} (refused)"


def _units(charges: list[Charge], operations: set[str]) -> str:
    told = [each for charge in charges if charge.operation in operations for each in charge.consumed or []]
    if not told:
        return ""
    total = sum(each["CapacityUnits"] for each in told)
    by_index: Counter[str] = Counter()
    for each in told:
        for indexes in (each.get("GlobalSecondaryIndexes"), each.get("LocalSecondaryIndexes")):
            by_index.update({name: index["CapacityUnits"] for name, index in (indexes or {}).items()})
    shown = f"{total:g}"
    if 0 < sum(by_index.values()) < total:
        shown += f" ({', '.join(f'{units:g} in {name}' for name, units in sorted(by_index.items()))})"
    return shown


def _table(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])

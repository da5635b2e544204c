"""Which range of storage keys a condition on a key leaves: shared by Query, Scan and SELECT."""

from __future__ import annotations

from typing import TypeAlias

from torusdb.model.attributes import AttributeValue, Item
from torusdb.model.keys import KeyAttribute, after_prefix, encode_key_beginning, encode_key_value
from torusdb.model.schema import Index, Table

Bounds: TypeAlias = tuple[bytes, bytes]
"""Where a range starts and where it stops."""


def keys_of(table: Table, index: Index | None) -> tuple[list[KeyAttribute], list[KeyAttribute]]:
    """The HASH and the RANGE attributes of a table (index None) or an index."""
    if index is not None:
        return index.hash_keys, index.range_keys
    return [table.hash_key], [] if table.range_key is None else [table.range_key]


def entry_key(table: Table, index: Index | None, item: Item) -> bytes:
    """The storage key behind which a page starts, of a key that has been checked."""
    key = table.key_of(item) if index is None else table.entry_key(index, item)
    assert key is not None
    return key


def partition_beginning(table: Table, index: Index | None, values: list[AttributeValue]) -> bytes:
    """What all keys of a partition key begin with."""
    hash_keys, _ = keys_of(table, index)
    bare = [value[key.type] for key, value in zip(hash_keys, values, strict=True)]
    return table.partition_prefix(bare[0]) if index is None else table.index_partition_prefix(index, bare)


def range_bounds(beginning: bytes, key: KeyAttribute, operator: str, operands: tuple[AttributeValue, ...]) -> Bounds:
    """What a comparison (EQ, LE, …, as in ComparisonOperator) with `key` leaves of the keys that begin with
    `beginning`."""
    end = after_prefix(beginning)
    first = operands[0][key.type]
    if operator == "BEGINS_WITH":
        assert key.type != "N"
        start = beginning + encode_key_beginning(key.type, first)
        return start, after_prefix(start)
    at = beginning + encode_key_value(key.type, first)
    match operator:
        case "EQ":
            return at, after_prefix(at)
        case "LT":
            return beginning, at
        case "LE":
            return beginning, after_prefix(at)
        case "GT":
            return after_prefix(at), end
        case "GE":
            return at, end
    assert operator == "BETWEEN"
    return at, after_prefix(beginning + encode_key_value(key.type, operands[1][key.type]))

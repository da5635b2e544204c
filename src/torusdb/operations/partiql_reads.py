"""SELECT: from a statement to the ranges it reads, and one page of them.

A SELECT whose clause pins the partition key is a Query for each value, and is charged as such; any other is a Scan
(developer guide, "PartiQL select statements"). Words without a remark are the service's as seen by others in 2026.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import msgspec

from torusdb.errors import ValidationException
from torusdb.expressions import Condition, require_scalar_keys
from torusdb.expressions.tree import paths_of, walk
from torusdb.model.attributes import Item, encode_item
from torusdb.model.keys import KeyAttribute, after_prefix, encode_key_value, space_bounds
from torusdb.model.records import record_item_json, unpack
from torusdb.model.schema import BASE_INDEX_ID, Index, Table
from torusdb.operations.capacity import Consumed
from torusdb.operations.context import Context
from torusdb.operations.key_bounds import entry_key, keys_of, partition_beginning, range_bounds
from torusdb.operations.key_checks import INVALID, check_key_value
from torusdb.operations.reading import PAGE_BYTES_MAX, Plan, read
from torusdb.partiql import Branch, Branches, Columns, Select, Values
from torusdb.storage.commands import Command

PAGE_READS_MAX = 10
"""Of the values in an IN list a page reads no more (developer guide, "PartiQL operators")."""

HASH_VALUES_MAX = 50
"""In one statement (developer guide, "PartiQL operators")."""


class KeyRange(msgspec.Struct):
    start: bytes
    stop: bytes
    partition: tuple[bytes, ...] = ()
    """The partition key, as it is ordered; empty for a Scan."""
    holds_one: bool = False
    """It is the key of one item: nothing comes behind what it holds."""
    is_whole: bool = False
    """It is all of its partition key: no condition with a range key has narrowed it."""


class Reads(msgspec.Struct):
    """A SELECT, ready to be read."""

    table: Table
    table_name: str
    """As the statement gives it."""
    index: Index | None
    ranges: list[KeyRange]
    is_keyed: bool
    """Whether it is Queries rather than a Scan."""
    columns: Columns | None
    filter: Condition | None
    consistent: bool
    reverse: bool = False
    fetch_items: bool = False

    @property
    def key(self) -> bytes | None:
        """The key of the one item that the statement names, if it names one."""
        if len(self.ranges) == 1 and self.ranges[0].holds_one and self.ranges[0].start < self.ranges[0].stop:
            return self.ranges[0].start
        return None

    def shown(self, record: bytes | None) -> msgspec.Raw | None:
        """What the SELECT shows of that item: None where it isn't there or is not as the clause demands."""
        if record is None:
            return None
        if self.filter is None and self.columns is None:
            return msgspec.Raw(record_item_json(record))
        item = unpack(record)
        if self.filter is not None and not self.filter.matches(item):
            return None
        return msgspec.Raw(encode_item(item if self.columns is None else self.columns.apply(item)))


class Position(msgspec.Struct):
    """Where a page goes on: which of the ranges, and behind which key in it."""

    range: int = 0
    key: Item | None = None


class SelectPage(msgspec.Struct):
    items: list[bytes]
    next: Position | None
    last_key: Item | None
    consumed: Consumed


# From the statement to the ranges.


def compile_select(ctx: Context, select: Select, values: Values, consistent: bool | None) -> Reads:
    where = select.where
    condition = None if where is None else where.condition(values)
    table = ctx.catalog.active_table(select.target.table)
    index = _index(table, select.target.index, bool(consistent))
    hash_keys, range_keys = keys_of(table, index)
    branches = Branches(
        None if where is None else where.root,
        values,
        [key.name for key in hash_keys],
        [key.name for key in range_keys],
    )
    _check_columns(table, index, select.columns)
    _check_key_types(branches, [*hash_keys, *range_keys])
    for part in (select.columns, condition):
        if part is not None:
            require_scalar_keys(part.nested_attributes, [key.name for key in table.keys], table.index_key_names)
    reads = Reads(
        table, select.target.table, index, [], branches.are_keyed, select.columns, condition, bool(consistent)
    )
    if reads.is_keyed:
        _read_branches(reads, branches)
    else:
        reads.ranges = [KeyRange(*space_bounds(table.table_id, BASE_INDEX_ID if index is None else index.index_id))]
    _order(reads, select)
    reads.fetch_items = _is_beyond(table, index, select.columns)
    return reads


def _index(table: Table, name: str | None, consistent: bool) -> Index | None:
    """A Query says the same in other words."""
    if name is None:
        return None
    index = table.index_by_name.get(name)
    if index is None or index.status == "DELETING":
        raise ValidationException("The table does not have the specified index")
    if index.is_global and consistent:
        raise ValidationException("Strongly consistent read is not supported on Global Secondary Indexes")
    if index.status == "CREATING":
        raise ValidationException(f"Cannot read from backfilling global secondary index: {index.name}")
    return index


def _missing(table: Table, index: Index | None, names: Iterable[str]) -> list[str]:
    """Those that the index does not hold."""
    held = None if index is None else table.projected_names(index)
    return [] if held is None else [name for name in names if name not in held]


def _check_columns(table: Table, index: Index | None, columns: Columns | None) -> None:
    if index is None or not index.is_global or columns is None:
        return
    missing = _missing(table, index, columns.attributes)
    if missing:
        raise ValidationException(
            f"{INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )


def _is_beyond(table: Table, index: Index | None, columns: Columns | None) -> bool:
    """Whether a local index has to be helped out by its table. `*` means what the index holds."""
    return columns is not None and bool(_missing(table, index, columns.attributes))


def _check_key_types(branches: Branches, keys: list[KeyAttribute]) -> None:
    types = {key.name: key.type for key in keys}
    for test in branches.tests():
        for value in test.comparison.operands:
            kind = next(iter(value))
            if kind not in ("S", "N", "B"):
                raise ValidationException(
                    f"Key value must be of type S, N, or B. Key name: {test.attribute}, Key type: {kind}"
                )
            if kind != types[test.attribute]:
                raise ValidationException(
                    f"Key attribute's data type should match its data type in table's schema: Key {test.attribute}"
                )


def _read_branches(reads: Reads, branches: Branches) -> None:
    found = [_branch_range(reads, branch) for branch in branches.all]
    ranges = [key_range for key_range, _ in found]
    # The ranges of one partition key come in the order of its items.
    by_partition: dict[tuple[bytes, ...], list[KeyRange]] = {}
    for each in ranges:
        by_partition.setdefault(each.partition, []).append(each)
    if len(by_partition) > HASH_VALUES_MAX:
        # The words are ours.
        raise ValidationException(f"The number of hash key values exceeds the maximum of {HASH_VALUES_MAX}")
    for together in by_partition.values():
        reads.ranges += _distinct(together)
    if all(says_all for _, says_all in found):
        reads.filter = None
    _check_filters(reads, [(each.partition, branch) for each, branch in zip(ranges, branches.all, strict=True)])


def _branch_range(reads: Reads, branch: Branch) -> tuple[KeyRange, bool]:
    """The keys that a branch leaves of its partition key, and whether it says no more than they do."""
    hash_keys, range_keys = keys_of(reads.table, reads.index)
    _check_key_contents(branch, hash_keys, range_keys)
    pinned = {key.name: branch.value_of(key.name) for key in (*hash_keys, *range_keys)}
    hash_values = [value for key in hash_keys if (value := pinned[key.name]) is not None]
    beginning = partition_beginning(reads.table, reads.index, hash_values)
    start, stop = beginning, after_prefix(beginning)
    used = {key.name for key in hash_keys}
    for key in range_keys:
        used.add(key.name)
        for test in branch.tests:
            if test.attribute == key.name:
                lower, upper = range_bounds(beginning, key, test.comparison.operator, test.comparison.operands)
                start, stop = max(start, lower), min(stop, upper)
        value = pinned[key.name]
        if value is None:
            break
        beginning += encode_key_value(key.type, value[key.type])
    partition = tuple(
        encode_key_value(key.type, value[key.type]) for key, value in zip(hash_keys, hash_values, strict=True)
    )
    holds_one = reads.index is None and None not in pinned.values()
    says_all = not branch.filters and all(test.attribute in used for test in branch.tests)
    is_whole = not any(test.attribute == key.name for test in branch.tests for key in range_keys)
    return KeyRange(start, stop, partition, holds_one, is_whole), says_all


def _check_key_contents(branch: Branch, hash_keys: list[KeyAttribute], range_keys: list[KeyAttribute]) -> None:
    by_name = {key.name: key for key in (*hash_keys, *range_keys)}
    for test in branch.tests:
        key = by_name[test.attribute]
        for value in test.comparison.operands:
            check_key_value(key, value, is_hash=key in hash_keys)


def _start_of(key_range: KeyRange) -> bytes:
    return key_range.start


def _distinct(ranges: list[KeyRange]) -> list[KeyRange]:
    """The ranges of one partition key in the order of their starts. What is asked for twice is read once: a range that
    comes again (`sk IN [1, 1]`), and any beside the whole partition key (`pk = 'a' AND (sk = 1 OR x = 2)`), since there
    it takes more than range keys to tell what is wanted. (The service's message speaks of range keys only; what it does
    with these two we have not seen.)"""
    whole = [each for each in ranges if each.is_whole]
    if whole:
        return whole[:1]
    found: list[KeyRange] = []
    reached = b""
    for each in sorted(ranges, key=_start_of):
        if found and (each.start, each.stop) == (found[-1].start, found[-1].stop):
            continue
        if each.start < min(reached, each.stop):
            raise ValidationException("Overlapping conditions with range keys are not supported in where clause")
        reached = max(reached, each.stop)
        found.append(each)
    return found


def _check_filters(reads: Reads, branches: list[tuple[tuple[bytes, ...], Branch]]) -> None:
    """Queries of an index cannot filter by what it doesn't hold; to a Scan such attributes are missing. One branch that
    can be answered lets the statement through, else the one with the highest partition key is told of."""
    missing: list[str] = []
    for _, branch in sorted(branches, key=lambda each: each[0]):
        paths = paths_of(node for condition in branch.filters for node in walk(condition))
        missing = _missing(reads.table, reads.index, dict.fromkeys(str(path.parts[0]) for path in paths))
        if not missing:
            return
    if reads.index is not None:
        raise ValidationException(
            f"{INVALID}Secondary index {reads.index.name} does not project one or more filter attributes: "
            f"[{', '.join(missing)}]"
        )


# The order of the ranges.


def _order(reads: Reads, select: Select) -> None:
    """ORDER BY puts the ranges in order; within a range there is only forwards and backwards."""
    terms = {term.attribute: term.descending for term in select.order_by}
    if not terms:
        return
    if select.where is None:
        raise ValidationException("Must have WHERE clause in the statement when using ORDER BY clause.")
    hash_keys, range_keys = keys_of(reads.table, reads.index)
    for name in terms:
        if all(key.name != name for key in (*hash_keys, *range_keys)):
            raise ValidationException(f"Attribute {name} in ORDER BY clause must be part of the primary key")
    if not reads.is_keyed:
        raise ValidationException(
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
        )
    by_hash = [terms[key.name] for key in hash_keys if key.name in terms]
    if not by_hash and len({each.partition for each in reads.ranges}) > 1:
        raise ValidationException(
            "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
        )
    by_range = [terms[key.name] for key in range_keys if key.name in terms]
    # Ordered by the partition key alone, the items of each come backwards.
    reads.reverse = by_range[0] if by_range else True
    reads.ranges.sort(key=_start_of, reverse=reads.reverse)
    reads.ranges.sort(key=lambda each: each.partition, reverse=bool(by_hash and by_hash[0]))


# One page.


def read_page(reads: Reads, position: Position, limit: int | None, weigh: bool) -> Generator[Command, Any, SelectPage]:
    """Reads range after range, until the page is full in one way or another."""
    page = SelectPage([], None, None, Consumed(reads.table))
    weigh = weigh or len(reads.ranges) > 1
    scanned = scanned_bytes = 0
    last = min(position.range + PAGE_READS_MAX, len(reads.ranges)) - 1
    for number in range(position.range, last + 1):
        plan = _plan(reads, reads.ranges[number], position.key if number == position.range else None)
        plan.limit, plan.bytes_max, plan.weigh = limit and limit - scanned, PAGE_BYTES_MAX - scanned_bytes, weigh
        reading = yield from read(plan)
        page.items += reading.items
        page.consumed.add(reading.consumed.table_units, reading.consumed.index_units)
        scanned += reading.scanned_count
        scanned_bytes += reading.scanned_bytes
        if reading.last_key is not None and not reads.ranges[number].holds_one:
            page.next, page.last_key = Position(number, reading.last_key), reading.last_key
            return page
        is_full = scanned == limit or scanned_bytes >= PAGE_BYTES_MAX
        if (is_full or number == last) and number + 1 < len(reads.ranges):
            page.next = Position(number + 1)
            return page
    return page


def _plan(reads: Reads, key_range: KeyRange, key: Item | None) -> Plan:
    """The rest of a range, behind a key."""
    start, stop = key_range.start, key_range.stop
    if key is not None:
        at = entry_key(reads.table, reads.index, key)
        start, stop = (start, min(at, stop)) if reads.reverse else (max(at + b"\x00", start), stop)
    return Plan(
        reads.table,
        reads.index,
        start,
        stop,
        reverse=reads.reverse,
        consistent=reads.consistent,
        filter=reads.filter,
        projection=reads.columns,
        fetch_items=reads.fetch_items,
    )

"""What the service charges and where it ends: capacity units, partitions, shards.

Figures: developer guide, "Read and write operations", "Partitions and data distribution" and "Quotas"; the rules of
indexes and transactions as they were measured on the service (see `operations/capacity.py`, `operations/changes.py`).
"""

from __future__ import annotations

from math import ceil
from typing import Final

READ_UNIT_BYTES: Final = 4096
WRITE_UNIT_BYTES: Final = 1024
PAGE_BYTES_MAX: Final = 1024 * 1024
"""Of what a Query or a Scan reads for one answer, which ends with the item that takes it there; each is rounded up."""
TRANSACTION_FACTOR: Final = 2
"""On the table's part; entries of indexes cost as ever."""

PARTITION_READ_UNITS_MAX: Final = 3000
PARTITION_WRITE_UNITS_MAX: Final = 1000
"""A second, of one partition, and so of one partition key."""
GIGABYTE: Final = 10**9
"""As storage is billed."""
PARTITION_BYTES_MAX: Final = 10 * GIGABYTE
COLLECTION_BYTES_MAX: Final = 10 * GIGABYTE
"""Of the items of one partition key with their entries of local indexes, on a table that has such."""
ITEM_BYTES_MAX: Final = 400 * 1024

GLOBAL_INDEXES_MAX: Final = 20
LOCAL_INDEXES_MAX: Final = 5
"""Of a table; the first can be raised on request."""


def item_read_units(item_bytes: float, *, consistent: bool) -> float:
    """Of GetItem, and of each item of a BatchGetItem: also of one that isn't there."""
    return _halved(max(1, ceil(item_bytes / READ_UNIT_BYTES)), consistent)


def range_read_units(items: float, item_bytes: float, *, consistent: bool, page_items: int | None = None) -> float:
    """Of a Query or a Scan that reads so many items of one size: their sum is rounded up, page by page."""
    largest = ceil(PAGE_BYTES_MAX / max(1.0, item_bytes))
    on_page = min(largest, page_items or largest)
    pages, rest = divmod(items, on_page)
    units = pages * ceil(on_page * item_bytes / READ_UNIT_BYTES) + ceil(rest * item_bytes / READ_UNIT_BYTES)
    return _halved(max(1, units), consistent)


def write_units(item_bytes: float) -> int:
    """Of one write, on the larger of the item before it and after it."""
    return max(1, ceil(item_bytes / WRITE_UNIT_BYTES))


def _halved(units: float, consistent: bool) -> float:
    return float(units) if consistent else units / 2


def load_of_partition(read_units: float, write_units: float) -> float:
    """How much of what one partition can do is asked of it each second: above 1 it throttles."""
    return read_units / PARTITION_READ_UNITS_MAX + write_units / PARTITION_WRITE_UNITS_MAX


def partitions_by_throughput(read_units: float, write_units: float) -> int:
    return ceil(round(load_of_partition(read_units, write_units), 9))


def partitions_by_size(stored_bytes: float) -> int:
    return ceil(stored_bytes / PARTITION_BYTES_MAX)


def partitions(read_units: float, write_units: float, stored_bytes: float) -> int:
    """P = max(⌈RCU/3000 + WCU/1000⌉, ⌈GB/10⌉), and one at least."""
    return max(1, partitions_by_throughput(read_units, write_units), partitions_by_size(stored_bytes))


def items_per_read_unit(item_bytes: int, *, consistent: bool = True) -> int:
    """How many items of a Query one unit reads: it rounds up their sum, not each."""
    return max(1, READ_UNIT_BYTES // item_bytes) * (1 if consistent else 2)


def shards_for_reads(items_per_second: float, item_bytes: int, *, consistent: bool = True) -> int:
    """N = required reads / (3000 × items per read unit): into how many partition keys a set of items is to be spread
    so that so many of them can be read each second. 0.6 million of 250 bytes need 13."""
    of_one_key = PARTITION_READ_UNITS_MAX * items_per_read_unit(item_bytes, consistent=consistent)
    return max(1, ceil(items_per_second / of_one_key))


def shards_for_writes(units_per_second: float) -> int:
    return max(1, ceil(round(units_per_second / PARTITION_WRITE_UNITS_MAX, 9)))

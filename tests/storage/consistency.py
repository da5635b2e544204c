"""What holds of a database's records at any moment, whatever happened before: index entries are those of the items,
no more and no less, the counters are what a count of everything would give, and a stream that is whole tells how its
table came about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.operations.reading_streams import replay
from torusdb.api.answers import decode_answer
from torusdb.jobs.tables import backfill_key
from torusdb.model import keys
from torusdb.model.attributes import Item
from torusdb.model.expiry import AGE_SECONDS_MAX, expiry_second
from torusdb.model.records import record_size, record_stamp_ms, unpack
from torusdb.model.schema import Index, Table
from torusdb.model.stream_records import answer_json
from torusdb.model.streams import Shard, Stream
from torusdb.model.values import item_size
from torusdb.operations.changes import index_entry

Records = Mapping[bytes, bytes]
Counters = Callable[[bytes], tuple[int, int]]


def items_of(table: Table, records: Records) -> dict[bytes, Item]:
    return {key: unpack(record) for key, record in records.items() if key.startswith(table.base_partition)}


def check_table(table: Table, records: Records, counter: Counters) -> None:
    """`records` may hold those of other tables as well."""
    items = items_of(table, records)
    sizes = {key: record_size(records[key]) for key in items}
    for key, item in items.items():
        assert key == table.key_of(item)
        assert sizes[key] == item_size(item)
    assert counter(table.tally_key(None)) == (len(items), sum(sizes.values()))

    collections: Counter[bytes] = Counter()
    if table.local_indexes:
        for key, item in items.items():
            collections[table.collection_tally_key(item)] += sizes[key]
    for index in table.indexes:
        if index.status != "DELETING":
            _check_index(table, index, items, records, counter)
            if not index.is_global:
                for item in items.values():
                    entry = index_entry(table, index, item)
                    collections[table.collection_tally_key(item)] += entry.size if entry is not None else 0
    for key, size in collections.items():
        assert counter(key) == (0, size)
    _check_expiries(table, items, records)


def _check_index(table: Table, index: Index, items: Mapping[bytes, Item], records: Records, counter: Counters) -> None:
    prefix = table.index_partition(index)
    stored = {key: record for key, record in records.items() if key.startswith(prefix)}
    wanted = {}
    for item_key, item in items.items():
        entry = index_entry(table, index, item)
        if entry is not None:
            wanted[entry.key] = (item_key, entry)
    assert stored.keys() <= wanted.keys(), f"{index.name} has entries of items that are not there"
    for key, record in stored.items():
        entry = wanted[key][1]
        assert (unpack(record), record_size(record)) == (entry.item, entry.size)
    # While an index is filled, entries may be missing behind the place that the back-fill has come to.
    filled_to = b"\xff"
    if index.status == "CREATING":
        filled_to = records.get(backfill_key(table.table_id, index.index_id), b"")
    for key, (item_key, _) in wanted.items():
        assert key in stored or item_key >= filled_to, f"{index.name} lacks an entry"
    assert counter(table.tally_key(index)) == (len(stored), sum(map(record_size, stored.values()))), index.name


def _check_expiries(table: Table, items: Mapping[bytes, Item], records: Records) -> None:
    if table.ttl is None or not table.ttl.enabled:
        return
    space = keys.expiry_space(table.table_id, table.ttl.index_id)
    stored = {key for key in records if key.startswith(space)}
    wanted = {}
    for key, item in items.items():
        second = expiry_second(item, table.ttl.attribute)
        written = record_stamp_ms(records[key]) // 1000
        if second is not None and second >= written - AGE_SECONDS_MAX:
            wanted[keys.expiry_key(space, max(second, written - 1), key)] = key
    assert stored <= wanted.keys(), "expiries of items that are not there, or expire at another time"
    # Behind the place that the back-fill has come to, they may be missing.
    filled_to = records.get(backfill_key(table.table_id, table.ttl.index_id), b"") if table.ttl.filling else b"\xff"
    for key, item_key in wanted.items():
        assert key in stored or item_key >= filled_to, "an expiry is missing"


def check_stream(stream: Stream, table: Table | None, records: Records) -> None:
    """`table` is the stream's own, if it is still there."""
    stored = [_check_log(stream, shard, records) for shard in stream.shards]
    if table is None or stream.disabled is not None:
        assert stream.open_shards == []
        return
    assert table.shard_logs == stream.shard_logs()
    if (stream.number, stream.created) != (1, table.created):
        return  # The table had items before the stream.
    # A shard that is to be forgotten may have been cleared already.
    is_whole = len(stream.shards) == stream.next_shard and all(
        numbers == list(range(1, last + 1)) and (shard.closed is None or last == shard.count)
        for shard, (numbers, last) in zip(stream.shards, stored, strict=True)
    )
    if is_whole:
        told = read_logs(stream, "region", records)
        assert replay(told, [key.name for key in table.keys]) == {
            tuple(repr(item[key.name]) for key in table.keys): item for item in items_of(table, records).values()
        }


def _check_log(stream: Stream, shard: Shard, records: Records) -> tuple[list[int], int]:
    """The numbers that are there, without a gap up to the last one that was given; and that one."""
    log = stream.log(shard)
    last = int.from_bytes(records.get(log, b""), "big")
    numbers = sorted(int.from_bytes(key[len(log) :], "big") for key in records if key.startswith(log) and key != log)
    assert numbers == list(range(last + 1 - len(numbers), last + 1))
    assert not numbers or numbers[0] > shard.trimmed
    assert shard.closed is None or last in (0, shard.count)
    return numbers, last


def read_logs(stream: Stream, region: str, records: Records) -> list[dict[str, Any]]:
    told = []
    for shard in stream.shards:
        log = stream.log(shard)
        for key in sorted(key for key in records if key.startswith(log) and key != log):
            told.append(answer_json(stream, shard, region, int.from_bytes(key[len(log) :], "big"), records[key]))
    answer = decode_answer(b'{"Records":[' + b",".join(told) + b"]}")
    found: list[dict[str, Any]] = answer["Records"]
    return found


def check_nothing_else(tables: Iterable[Table], records: Records) -> None:
    """No records of tables and indexes that were dropped, no expiries of what does not expire any more, and no jobs:
    all there was to clear is cleared."""
    prefixes = []
    for table in tables:
        if table.ttl is not None and table.ttl.enabled:
            prefixes.append(keys.expiry_space(table.table_id, table.ttl.index_id))
        prefixes += [table.base_partition, *(table.index_partition(index) for index in table.indexes)]
    for key in records:
        assert not key.startswith(keys.JOB_SPACE)
        if key.startswith((keys.ITEM_SPACE, keys.EXPIRY_SPACE)):
            assert key.startswith(tuple(prefixes))

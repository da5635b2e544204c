"""What a write changes in the store: the item, its index entries, its expiry, the counters and the stream, as one
`Commit`.

Every write of an item goes through `change`, so that items, indexes and streams cannot drift apart. It is a pure
function of the record before and the item after.

An index is charged by the change to what it stores (measured on the service): nothing if its view of the item
stays as it was; one write for an entry that appears, disappears or changes in place, on the larger of the two; two for
an entry whose key moves.
"""

from __future__ import annotations

from zlib import adler32

import msgspec

from torusdb.model.attributes import Item, decode_item, encode_item
from torusdb.model.expiry import Expiries
from torusdb.model.records import pack, record_item_json, record_size, unpack
from torusdb.model.schema import Index, Table
from torusdb.model.stream_records import BY_SERVICE, INSERT, MODIFY, REMOVE, pack_stream_record
from torusdb.model.values import item_size
from torusdb.operations.capacity import write_units
from torusdb.storage.commands import Commit


class Change(msgspec.Struct, gc=False):
    """One item's change. Several gather into one `Commit`."""

    puts: list[tuple[bytes, bytes]]
    deletes: list[bytes]
    tallies: list[tuple[bytes, int, int]]
    old_size: int | None
    new_size: int | None
    index_units: dict[str, float]
    collection: bytes | None = None
    """The counter of the item collection, on a table with local indexes."""
    collection_growth: int = 0
    appends: list[tuple[bytes, bytes]] = []
    """The record of the table's stream, if it has one and something has changed."""
    unsure: list[tuple[bytes, bytes, int]] = []
    """The counter, key and size of entries that the change takes for counted, though their index is being filled: see
    `writes.count_unfilled`."""

    def commit(self) -> Commit:
        return Commit(self.puts, self.deletes, self.tallies, self.appends)


class Entry(msgspec.Struct, gc=False):
    """An index's view of an item."""

    key: bytes
    item: Item
    size: int

    def record(self, stamp_ms: int) -> bytes:
        return pack(encode_item(self.item), self.size, stamp_ms)


def index_entry(table: Table, index: Index, item: Item) -> Entry | None:
    """None for an item that lacks an attribute of the index's key: indexes are sparse."""
    key = table.entry_key(index, item)
    if key is None:
        return None
    projected = table.project(index, item)
    return Entry(key, projected, item_size(projected))


def change(
    table: Table,
    key: bytes,
    old_record: bytes | None,
    new: Item | None,
    new_size: int,
    stamp_ms: int,
    by_service: bool = False,
) -> Change | None:
    """What it takes to bring the item at `key` from `old_record` to `new` (None deletes it; `new_size` is its size).
    None where there was nothing and there is to be nothing. `by_service`: it is time to live that deletes the item."""
    if new is None and old_record is None:
        return None
    old_size = None if old_record is None else record_size(old_record)
    tally = (
        table.own_tally_key,
        (new is not None) - (old_record is not None),
        (new_size if new is not None else 0) - (old_size or 0),
    )
    new_json = b""
    if new is None:
        result = Change([], [key], [tally], old_size, None, {})
    else:
        new_json = encode_item(new)
        result = Change([(key, pack(new_json, new_size, stamp_ms))], [], [tally], old_size, new_size, {})
    if table.indexes:
        _change_indexes(table, result, None if old_record is None else unpack(old_record), new, stamp_ms)
    if table.expiries is not None:
        _change_expiry(table.expiries, result, key, old_record, new, stamp_ms)
    if table.shard_logs:
        record = _stream_record(table, old_record, new, new_json, new_size, stamp_ms, by_service)
        if record is not None:
            result.appends = [(table.shard_log_of(key), record)]
    return result


def _change_expiry(
    expiries: Expiries, result: Change, key: bytes, old_record: bytes | None, new: Item | None, stamp_ms: int
) -> None:
    before = None if old_record is None else expiries.due_of_record(old_record)
    after = None if new is None else expiries.due(new, stamp_ms)
    if before == after:
        return
    if before is not None:
        result.deletes.append(expiries.key(key, before))
    if after is not None:
        result.puts.append((expiries.key(key, after), b""))


def _stream_record(
    table: Table,
    old_record: bytes | None,
    new: Item | None,
    new_json: bytes,
    new_size: int,
    stamp_ms: int,
    by_service: bool,
) -> bytes | None:
    """None for a write that changes nothing (developer guide, "Change data capture for DynamoDB Streams"). Images are
    the JSON that is stored."""
    old_json = b"" if old_record is None else record_item_json(old_record)
    if new is None:
        event, image = REMOVE, decode_item(old_json)
    else:
        event, image = INSERT if old_record is None else MODIFY, new
        if old_record is not None and _is_same(old_json, new_json, new):
            return None
    key_item = {name: image[name] for name in table.key_order}
    size = item_size(key_item)
    members = b'"Keys":%b' % encode_item(key_item)
    shows_new, shows_old = table.stream_images
    if shows_new and new is not None:
        members = b'%b,"NewImage":%b' % (members, new_json)
        size += new_size
    if shows_old and old_record is not None:
        members = b'%b,"OldImage":%b' % (members, old_json)
        size += record_size(old_record)
    return pack_stream_record(event | BY_SERVICE if by_service else event, size, stamp_ms, members)


def _is_same(old_json: bytes, new_json: bytes, new: Item) -> bool:
    """Whether two canonical items are equal. If they are, their JSON has the same bytes, if perhaps in another order,
    that of the attributes: where the sums of the bytes differ (the low half of an Adler-32) nothing need be decoded,
    which would take ten times as long."""
    if len(old_json) != len(new_json):
        return False
    if old_json == new_json:
        return True
    return adler32(old_json) & 0xFFFF == adler32(new_json) & 0xFFFF and decode_item(old_json) == new


def _change_indexes(table: Table, result: Change, old: Item | None, new: Item | None, stamp_ms: int) -> None:
    growth = result.tallies[0][2]
    for index in table.indexes:
        if index.status == "DELETING":
            continue
        before = None if old is None else index_entry(table, index, old)
        after = None if new is None else index_entry(table, index, new)
        grown = _change_entry(table, index, result, before, after, stamp_ms)
        if not index.is_global:
            growth += grown
    if table.local_indexes:
        anchor = new if new is not None else old
        assert anchor is not None
        result.collection = table.collection_tally_key(anchor)
        result.collection_growth = growth
        result.tallies.append((result.collection, 0, growth))


def _change_entry(
    table: Table, index: Index, result: Change, before: Entry | None, after: Entry | None, stamp_ms: int
) -> int:
    """Adds one index's part to `result`; gives the bytes that the index grew by."""
    if before is None and after is None:
        return 0
    if before is not None and after is not None and before.key == after.key:
        if before.item == after.item:
            return 0
        units = max(write_units(before.size), write_units(after.size))
    else:
        units = sum(write_units(entry.size) for entry in (before, after) if entry is not None)
        if before is not None:
            result.deletes.append(before.key)
    if before is not None and index.status == "CREATING":
        result.unsure.append((table.tally_key(index), before.key, before.size))
    if after is not None:
        result.puts.append((after.key, after.record(stamp_ms)))
    grown = (after.size if after else 0) - (before.size if before else 0)
    result.tallies.append((table.tally_key(index), (after is not None) - (before is not None), grown))
    result.index_units[index.name] = units
    return grown

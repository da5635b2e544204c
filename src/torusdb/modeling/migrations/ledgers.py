"""Into another table: one item of the source at a time, by whoever comes to it.

Theory of operation. A *ledger*, a table beside the target, has an entry for each item of the source that has been
brought over: how often that was done, and the keys that its outcome has in the target. An entry is never removed before
the switch, also where the item is gone. Bringing an item over is one transaction: the outcome's items, the removal of
those of the outcome before, and the entry, whose count moves on by one on condition that it is where it was.

- `copy_work`, of the scan: on condition that there is no entry. What the scan has read is then older than nothing that
  was brought over before, since nothing was.
- `follow_work`, of the stream: reads the entry, *then* the item as it is now, then writes on condition that the entry
  is as it was read. So what a transaction brings over was read after the one before it had landed.

Each transaction thus brings over a state of the item that is no older than what the one before it found. Every
change of an item has a record in the stream, and the last transaction for that record, or any later one, has read the
item after the change: when all records are handled, the target has what the source has. Records may come twice, late
or in another order, several workers may do the same, and all may be killed at any time: nothing rests on what a record
says, other than that the item of this key has changed."""

from __future__ import annotations

import hashlib
from typing import Any, Final, Literal, TypeAlias

from torusdb.modeling.cursors import key_of_plain, plain_key
from torusdb.modeling.expressions import Placeholders
from torusdb.modeling.migrations.conversion import key_of
from torusdb.modeling.migrations.driving import Means
from torusdb.modeling.migrations.errors import ItemRefused, MigrationError
from torusdb.modeling.migrations.migration import Migration
from torusdb.modeling.migrations.progress import key_text
from torusdb.modeling.migrations.retries import failed_conditions, refusal_of
from torusdb.modeling.migrations.writing import Member, delete, put, put_new, read, together
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Work
from torusdb.modeling.table import Table
from torusdb.streams.calls import attempt

Result: TypeAlias = Literal["converted", "already", "left", "removed"]

ENTRY_KEY: Final = "source"
KEY_TEXT_BYTES_MAX: Final = 1024
"""A longer one stands in the ledger by its hash: a key attribute has 2,048 bytes at most."""
TABLES_ENTRY: Final = "tables"
"""Says which tables the ledger is of. Keys as texts are JSON or hashes, and never this."""
TURNS_MAX: Final = 20
"""Of one item that others bring over each time before it is written."""


def ledger_of(migration: Migration) -> Table:
    return Table(f"{migration.target.name}-ledger", partition_key=ENTRY_KEY)


def leases_of(migration: Migration) -> str:
    """The table of the stream's consumer."""
    return f"{migration.target.name}-leases"


def bind(migration: Migration, means: Means, identities: dict[str, str]) -> None:
    """Has the ledger know which tables it is of. What it says was brought over would be missing in others of their
    names, so it is refused there."""
    ledger = ledger_of(migration)
    entry: Item = {ENTRY_KEY: {"S": TABLES_ENTRY}, **{role: {"S": each} for role, each in identities.items()}}
    try:
        attempt(means.wait, means.client.put_item, **put_new(ledger, entry)["Put"])
    except Exception as error:
        if failed_conditions(error) is None:
            raise
        key = {ENTRY_KEY: entry[ENTRY_KEY]}
        found = attempt(means.wait, means.client.get_item, TableName=ledger.name, Key=key, ConsistentRead=True)
        if found.get("Item") != entry:
            raise MigrationError(
                f"The table {ledger.name} is the ledger of other tables of the names {migration.source.name} and "
                f"{migration.target.name}: remove it and {leases_of(migration)}, and begin anew (--restart) with an "
                "empty target"
            ) from error


def copy_work(migration: Migration, item: Item) -> Work[Result]:
    """Brings over what the scan has read, unless that was done. Raises ItemRefused."""
    outcome = migration.outcome(item)
    entry = first_entry(migration, item, outcome.items)
    members = [put_new(ledger_of(migration), entry), *(put_new(migration.target, each) for each in outcome.items)]
    try:
        yield from together(members)
    except Exception as error:
        if 0 in (failed_conditions(error) or []):
            return "already"
        told = _told(error, members)
        if told is error:
            raise
        raise told from error
    return "left" if outcome.is_left else "converted"


def follow_work(migration: Migration, key: Item) -> Work[Result]:
    """Brings over the item with this key as it is now. Raises ItemRefused."""
    ledger = ledger_of(migration)
    for _ in range(TURNS_MAX):
        entry = yield from read(ledger, {ENTRY_KEY: {"S": entry_key(key)}})
        item = yield from read(migration.source, key)
        outcome = migration.outcome(item) if item is not None else None
        items = [] if outcome is None else outcome.items
        members = _members(migration, key, entry, items)
        try:
            yield from together(members)
        except Exception as error:
            if 0 in (failed_conditions(error) or []):
                continue
            told = _told(error, members)
            if told is error:
                raise
            raise told from error
        if outcome is None:
            return "removed"
        return "left" if outcome.is_left else "converted"
    raise ItemRefused(f"Others have brought this item over {TURNS_MAX} times while it was being converted")


def _members(migration: Migration, key: Item, entry: Item | None, items: list[Item]) -> list[Member]:
    """The first is the ledger's."""
    ledger, target = ledger_of(migration), migration.target
    if entry is None:
        return [put_new(ledger, _entry(migration, key, 1, items)), *(put_new(target, each) for each in items)]
    count, before = int(entry["count"]["N"]), _keys(entry)
    placeholders = Placeholders()
    condition = f"{placeholders.name('count')} = {placeholders.value({'N': str(count)})}"
    moved: dict[str, Any] = {
        "TableName": ledger.name,
        "Item": _entry(migration, key, count + 1, items),
        "ConditionExpression": condition,
    }
    placeholders.add_to(moved)
    keys = [plain_key(key_of(target, each)) for each in items]
    writes = [
        put(target, each) if own in before else put_new(target, each) for each, own in zip(items, keys, strict=True)
    ]
    removals = [delete(target, key_of_plain(each)) for each in before if each not in keys]
    return [{"Put": moved}, *writes, *removals]


def first_entry(migration: Migration, item: Item, items: list[Item]) -> Item:
    """Of the ledger, for an item that comes to these."""
    return _entry(migration, key_of(migration.source, item), 1, items)


def _entry(migration: Migration, key: Item, count: int, items: list[Item]) -> Item:
    keys = [{"M": key_of(migration.target, each)} for each in items]
    return {ENTRY_KEY: {"S": entry_key(key)}, "count": {"N": str(count)}, "keys": {"L": keys}}


def _keys(entry: Item) -> list[dict[str, dict[str, str]]]:
    return [plain_key(each["M"]) for each in entry["keys"]["L"]]


def entry_key(key: Item) -> str:
    text = key_text(key)
    encoded = text.encode()
    return text if len(encoded) <= KEY_TEXT_BYTES_MAX else hashlib.sha256(encoded).hexdigest()


def _told(error: Exception, members: list[Member]) -> Exception:
    failed = failed_conditions(error)
    if failed is not None:
        taken = members[failed[0]]["Put"]["Item"]
        return ItemRefused(f"The conversion gave an item whose key another has already: {taken!r}")
    refusal = refusal_of(error)
    return error if refusal is None else ItemRefused(refusal)

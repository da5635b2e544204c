"""One item, in place.

Theory of operation. What is written is the *difference* between the item as it was read and as the conversion wants
it, on condition that all that the conversion rests on still holds: every attribute that was read is as it was, and
those that the conversion looked for, or brings with it, are still not there. So where anybody else writes in between,
either the condition fails, and the item is read and converted anew, or what was written is only attributes that the
conversion knows nothing of: then both are in the item, as if the other had written afterwards.

A conversion may also go through all attributes, whatever they are called, and then it does rest on one that came in
between. The write answers with the item as it was, so that is seen: what the conversion makes of the whole item is
written after it. (A run that is killed right between the two leaves that attribute as it was written.)

An item that is marked is never converted: the marker comes with the conversion, in the same write, and its absence is
one of the conditions. Where an item moves, splits or goes, its removal and what takes its place are one transaction,
which has the same conditions; its parts are marked and must not have been there. What a write has done whose answer was
lost is found by reading: the item is marked, or gone."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from torusdb.modeling.migrations.conversion import Outcome, key_of
from torusdb.modeling.migrations.errors import ItemRefused, MigrationError
from torusdb.modeling.migrations.migration import Migration
from torusdb.modeling.migrations.retries import failed_conditions, refusal_of
from torusdb.modeling.migrations.writing import AsRead, Member, alone, change, delete_as_read, put_new, read, together
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Work

Result: TypeAlias = Literal["converted", "already", "left", "gone"]

CONVERSIONS_MAX: Final = 20
"""Of one item that others change each time before it is written."""


class _Changed(Exception):
    """The item isn't as it was read."""


def convert_work(migration: Migration, item: Item) -> Work[Result]:
    """Converts an item as it was read, at whatever time. Raises ItemRefused."""
    current: Item | None = item
    for _ in range(CONVERSIONS_MAX):
        if current is None:
            return "gone"
        if migration.is_done(current):
            return "already"
        outcome = migration.outcome(current)
        if outcome.is_left:
            return "left"
        try:
            yield from _land(migration, current, outcome)
        except _Changed:
            current = yield from read(migration.source, key_of(migration.source, item))
        else:
            return "converted"
    raise ItemRefused(f"The item was changed by others {CONVERSIONS_MAX} times while it was being converted")


def _land(migration: Migration, item: Item, outcome: Outcome) -> Work[None]:
    members = replacement(migration, item, outcome)
    try:
        if len(members) > 1:
            yield from together(members)
            return
        old = yield from alone(members[0])
    except Exception as error:
        told = _told(error, members)
        if told is error:
            raise
        raise told from error
    if old.keys() - item.keys():
        yield from _amend(migration, item, old, outcome)


def replacement(migration: Migration, item: Item, outcome: Outcome) -> list[Member]:
    """The writes that put the outcome in the place of the item; that of the item itself is the first."""
    table = migration.source
    key = key_of(table, item)
    kept = next((each for each in outcome.items if key_of(table, each) == key), None)
    brought = () if kept is None else kept.keys()
    marker = () if migration.marker is None else (migration.marker,)
    as_read = AsRead(item, {*outcome.asked, *brought, *marker, *migration.may_appear}, migration.compare)
    first = delete_as_read(table, item, as_read) if kept is None else change(table, item, kept, as_read)
    return [first, *(put_new(table, each) for each in outcome.items if each is not kept)]


def _told(error: Exception, members: list[Member]) -> Exception:
    failed = failed_conditions(error)
    if failed is None:
        refusal = refusal_of(error)
        return error if refusal is None else ItemRefused(refusal)
    if 0 in failed:
        return _Changed()
    taken = members[failed[0]]["Put"]["Item"]
    return ItemRefused(f"The conversion gave an item whose key another has already: {taken!r}")


def _amend(migration: Migration, item: Item, old: Item, outcome: Outcome) -> Work[None]:
    """Attributes came to the item between reading and writing, which the conversion knew nothing of."""
    late = {name: wire for name, wire in old.items() if name not in item}
    wanted = migration.outcome(old)
    if not outcome.items:
        if wanted.is_left or wanted.items:
            yield from _put_back(migration, old)
            raise _Changed
        return
    landed = {**outcome.items[0], **late}
    if wanted.is_left or wanted.items == [landed]:
        return
    # The marker is on it by now, so what is asked of it is that nobody has changed what was just written.
    unmarked = Outcome(wanted.items, False, wanted.asked - landed.keys())
    members = replacement(migration, landed, unmarked)
    try:
        yield from together(members)
    except Exception as error:
        told = _told(error, members)
        if told is error:
            raise
        if not isinstance(told, _Changed):
            raise told from error
        raise ItemRefused(
            f"{', '.join(late)} came to the item while it was being converted, and it was changed again since: "
            "look at it by hand"
        ) from error


def _put_back(migration: Migration, old: Item) -> Work[None]:
    """An item that was removed, and would not have been with what came to it in between."""
    try:
        yield from alone(put_new(migration.source, old))
    except Exception as error:
        if failed_conditions(error) is None:  # else somebody has written it anew
            raise MigrationError(f"This item was removed, is to stay, and could not be put back: {old!r}") from error

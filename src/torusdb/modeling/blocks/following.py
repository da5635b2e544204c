"""What blocks that follow a stream have in common: where in it a change stands, and what an item is by now.

Theory of operation. A stream gives each change at least once. The changes of one item have numbers that grow, over all
shards, so whoever keeps the number of the last change that was taken in, beside what came of it, knows every other one
that is no later for one that has come before, or that is late. Of several changes of one item, the last says it all,
since its image is the whole item. All of this holds within one stream: another one of the same table numbers anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from torusdb.modeling.changes import Change
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import PlanRefused
from torusdb.modeling.plans import Ref, identity_of

E = TypeVar("E", bound=Entity)

POSITION_CHARACTERS: Final = 40
"""The longest sequence number (the service's model)."""
FIRST_POSITION: Final = "0" * POSITION_CHARACTERS
"""Before all changes."""


def position_of(change: Change[Any]) -> str:
    """The sequence number, as a text that sorts as the number does. (A number of DynamoDB has 38 digits only.)"""
    return change.sequence_number.zfill(POSITION_CHARACTERS)


def name_of_item(ref: Ref[Any]) -> str:
    """An item's key as one text. Keys of two attributes have a line break between them."""
    return "\n".join(map(str, identity_of(ref.key)))


def latest_of(kind: type[E], changes: Iterable[Change[Any]]) -> list[Change[E]]:
    """Of each such item in these changes the last one."""
    latest: dict[Ref[E], Change[E]] = {}
    for each in changes:
        change = each.of(kind)
        if change is not None and (change.ref not in latest or position_of(latest[change.ref]) < position_of(change)):
            latest[change.ref] = change
    return list(latest.values())


def image_of(change: Change[E]) -> E | None:
    """The item after a change, None where it is no longer there."""
    if change.new is None and change.kind != "remove":
        raise PlanRefused(f"The change of {change.ref!r} does not say what is new: make a stream that has new images")
    return change.new

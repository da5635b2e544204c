"""What the tables must hold, in plain dicts: the same writes, in groups that land or are lost as the engine's do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torusdb.storage.tickets import Ticket

Item = dict[str, dict[str, Any]]
Place = tuple[int, bytes]
"""A table's id and an item's storage key."""
Writes = Mapping[Place, Item | None]
"""The items as they become; None is deleted."""


class Reference:
    def __init__(self) -> None:
        self.durable: dict[Place, Item] = {}
        self.latest: dict[Place, Item] = {}
        self.moment = 0
        """Rises whenever something becomes durable."""
        self._groups: list[tuple[Ticket, dict[Place, Item | None]]] = []
        self._history: dict[Place, list[tuple[int, Item | None]]] = {}

    def stage(self, ticket: Ticket | None, writes: Writes) -> None:
        if not writes:
            return
        assert ticket is not None, "a write needs a ticket"
        if not self._groups or self._groups[-1][0] is not ticket:
            self._groups.append((ticket, {}))
        self._groups[-1][1].update(writes)
        _apply(self.latest, writes)

    def land(self, ticket: Ticket) -> None:
        """What waits for `ticket` is durable now."""
        if self._groups and self._groups[0][0] is ticket:
            _, writes = self._groups.pop(0)
            self.moment += 1
            _apply(self.durable, writes)
            for place, item in writes.items():
                self._history.setdefault(place, []).append((self.moment, item))

    def lose(self) -> None:
        """What is not durable never was."""
        self._groups = []
        self.latest = dict(self.durable)

    def seen_since(self, place: Place, moment: int) -> list[Item | None]:
        """All that a read could have found at `place` since `moment`."""
        history: list[tuple[int, Item | None]] = self._history.get(place, [])
        before = [item for at, item in history if at <= moment]
        return [before[-1] if before else None, *(item for at, item in history if at > moment)]

    def seen_together(self, places: list[Place], moment: int) -> list[list[Item | None]]:
        """All that one reading of all places could have found since `moment`."""
        return [[self._at(place, at) for place in places] for at in range(moment, self.moment + 1)]

    def _at(self, place: Place, moment: int) -> Item | None:
        history = [item for at, item in self._history.get(place, []) if at <= moment]
        return history[-1] if history else None


def _apply(items: dict[Place, Item], writes: Writes) -> None:
    for place, item in writes.items():
        if item is None:
            items.pop(place, None)
        else:
            items[place] = item

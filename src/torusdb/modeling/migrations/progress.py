"""How far a migration has come: what is kept between runs, as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from torusdb.modeling.cursors import BEGINNING, END, Position, key_of_plain, plain_key
from torusdb.modeling.migrations.errors import MigrationError
from torusdb.modeling.migrations.migration import IN_PLACE, Migration
from torusdb.modeling.scalars import Item

FORMAT: Final = 2
SEGMENTS_MAX: Final = 256
"""Each is a worker; positions of so many fit into an item, unless keys are longer than 1 KB (then TableState
refuses them)."""
ERRORS_MAX: Final = 200
"""All are kept, and fit into an item, unless keys are longer than 1 KB; with more of them the run ends."""
ERROR_TEXT_MAX: Final = 500

SCANNING: Final = "scanning"
FOLLOWING: Final = "following"
"""The target has everything, and is kept current."""
DONE: Final = "done"


def key_text(key: Item) -> str:
    """A key as a text, the same for the same key."""
    return json.dumps(plain_key(key), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key_of_text(text: str) -> Item:
    return key_of_plain(json.loads(text))


@dataclass
class Progress:
    """`positions`: of each segment. `counts`: of items, by what became of them, and "read". `errors`: what items were
    refused for, by key. `seconds`, `read_units`, `write_units`: over all runs. `stream`: that is followed;
    `followed_at`: when, by the world's clock, it was last asked for what is new. `tables`: which the source and the
    target are, as `tables.identity` has it."""

    migration: str
    version: int
    form: str
    source: str
    target: str
    positions: list[Position]
    phase: str = SCANNING
    counts: Counter[str] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    read_units: float = 0.0
    write_units: float = 0.0
    stream: str | None = None
    followed_at: float | None = None
    tables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls, migration: Migration, segments: int) -> Progress:
        names = (migration.source.name, migration.target.name)
        return cls(migration.name, migration.version, migration.form, *names, [BEGINNING] * _segments(segments))

    @property
    def segments(self) -> int:
        return len(self.positions)

    @property
    def is_scanned(self) -> bool:
        return all(position is END for position in self.positions)

    def begin_again(self, segments: int) -> None:
        """Another scan; what is converted is passed by. In place, it comes to what was refused as well; a copy doesn't,
        where an earlier state of the item was brought over."""
        self.positions = [BEGINNING] * _segments(segments)
        self.phase = SCANNING
        self.counts.clear()
        if self.form == IN_PLACE:
            self.errors.clear()

    def to_json(self) -> str:
        positions = [each if isinstance(each, bool) else plain_key(each) for each in self.positions]
        content = {**vars(self), "positions": positions, "format": FORMAT}
        return json.dumps(content, indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, where: str) -> Progress:
        damaged = MigrationError(
            f"{where} holds no state of a migration, or a damaged one: name another, or remove it and begin again"
        )
        try:
            content: dict[str, Any] = json.loads(text)
            found = content.pop("format")
            if found != FORMAT:
                raise MigrationError(
                    f"{where} was written by another version of TorusDB (format {found}): give this run a state of its "
                    "own (--state OTHER); what is converted is passed by"
                )
            content["positions"] = [
                each if isinstance(each, bool) else key_of_plain(each) for each in content["positions"]
            ]
            content["counts"] = Counter(content["counts"])
            return cls(**content)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise damaged from error

    def check(self, migration: Migration, segments: int | None, where: str) -> None:
        """That it is of this migration, and has as many segments, if a number was asked for."""
        mine = Progress.new(migration, 1)
        for name in ("migration", "version", "form", "source", "target"):
            was, wanted = getattr(self, name), getattr(mine, name)
            if was != wanted:
                raise MigrationError(
                    f"{where} holds the state of another migration: its {name} is {was!r}, not {wanted!r}. "
                    "Name another place for the state"
                )
        if segments is not None and segments != self.segments:
            raise MigrationError(
                f"{where} holds a run of {self.segments} segments, not {segments}: go on with {self.segments}, "
                "or begin again (restart)"
            )

    def check_tables(self, found: dict[str, str], where: str) -> None:
        """That it is of these tables, and not of others of their names."""
        for role, name in (("source", self.source), ("target", self.target)):
            was, now = self.tables.get(role), found.get(role)
            if was != now:
                raise MigrationError(
                    f"{where} holds the state of a run on another table {name}: that was {was or 'not there'}, and "
                    f"this is {now or 'not there'}. Give this run a state of its own (--state OTHER), or begin anew "
                    "with this table (--restart)"
                )


def _segments(count: int) -> int:
    if not 1 <= count <= SEGMENTS_MAX:
        raise MigrationError(f"A migration has 1 to {SEGMENTS_MAX} segments, not {count}")
    return count

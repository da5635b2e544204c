"""Declares a migration.

@in_place(shop, version=2, marker="_schema", reads=[OldCustomer])
def split_names(old: OldCustomer) -> Customer:
    first, _, last = old.name.partition(" ")
    return Customer(id=old.id, first_name=first, last_name=last)

@into_table(new_shop, source=shop)
def to_new_shop(item):
    return item | {"pk": {"S": "V2#" + item["pk"]["S"]}}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Final

from torusdb.modeling.errors import ModelError
from torusdb.modeling.migrations.conversion import Conversion, Convert, Outcome
from torusdb.modeling.migrations.errors import ItemRefused
from torusdb.modeling.scalars import Item
from torusdb.modeling.table import Table

if TYPE_CHECKING:
    from torusdb.modeling.entity import Entity

IN_PLACE: Final = "in place"
INTO_TABLE: Final = "into a table"


class Migration:
    """Made by `in_place` and `into_table`. The function must give the same for the same item each time: it is called
    again whenever an item has changed, and by dry runs and verifications."""

    def __init__(
        self,
        name: str,
        convert: Convert,
        source: Table,
        target: Table,
        *,
        version: int,
        reads: Sequence[type[Entity]],
        marker: str | None = None,
        compare: Sequence[str] | None = None,
        may_appear: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.source = source
        self.target = target
        self.version = version
        self.marker = marker
        self.compare = None if compare is None else tuple(compare)
        self.may_appear = tuple(may_appear)
        self._check(reads)
        self._conversion = Conversion(convert, source, target, reads)

    def __repr__(self) -> str:
        return f"<migration {self.name}, {self.form}>"

    @property
    def form(self) -> str:
        return INTO_TABLE if self.marker is None else IN_PLACE

    def called(self, source: str | None = None, target: str | None = None) -> Migration:
        """The same for tables that are called otherwise than they are declared: those of a stage."""
        other = copy(self)
        other.source = other.target = _called(self.source, source)
        if self.marker is None:
            other.target = _called(self.target, target)
            other._check_tables()
        elif target is not None:
            raise ModelError(f"The migration {self.name} is in place: there is no target to be called {target}")
        return other

    def _check_tables(self) -> None:
        if self.marker is None and self.target.name == self.source.name:
            raise ModelError(
                f"The migration {self.name} is from {self.source.name} into the same table: declare it with in_place"
            )

    def _check(self, reads: Sequence[type[Entity]]) -> None:
        if self.version < 1:
            raise ModelError(f"The migration {self.name} has the version {self.version}: versions begin with 1")
        if self.marker is not None and self.marker in self.source.key_kinds:
            raise ModelError(
                f"The migration {self.name} marks items by {self.marker}, which is a key attribute: choose another"
            )
        self._check_tables()
        for kind in reads:
            if kind.__model__ is None or kind.__model__.table.name != self.source.name:
                raise ModelError(
                    f"The migration {self.name} reads {kind.__name__}, which is not of the table {self.source.name}"
                )

    def is_done(self, item: Item) -> bool:
        """Whether this migration, or a later one, has converted the item. Raises ItemRefused."""
        if self.marker is None or self.marker not in item:
            return False
        marked = item[self.marker].get("N")
        if marked is None:
            raise ItemRefused(f"{self.marker} is {item[self.marker]!r}, and marks no version: choose another marker")
        return float(marked) >= self.version

    def outcome(self, item: Item) -> Outcome:
        """What becomes of the item, with the marker on it. Raises ItemRefused."""
        outcome = self._conversion.outcome(item)
        if self.marker is not None and not outcome.is_left:
            for each in outcome.items:
                each[self.marker] = {"N": str(self.version)}
        return outcome


def in_place(
    table: Table,
    *,
    version: int,
    marker: str,
    name: str | None = None,
    reads: Sequence[type[Entity]] = (),
    compare: Sequence[str] | None = None,
    may_appear: Sequence[str] = (),
) -> Callable[[Convert], Migration]:
    """Converts the items where they are. Each that is converted has the number `version` in the attribute `marker`;
    one that has it, or a higher one, is passed by.

    An item is written on condition that it is as it was read: all its attributes, or those in `compare` if they are
    known to change with every write (a version). `may_appear`: attributes that a program may add to an item in the
    meantime, and that a conversion which moves, splits or removes items would lose."""

    def declare(convert: Convert) -> Migration:
        return Migration(
            _name(name, convert),
            convert,
            table,
            table,
            version=version,
            reads=reads,
            marker=marker,
            compare=compare,
            may_appear=may_appear,
        )

    return declare


def into_table(
    target: Table,
    *,
    source: Table,
    version: int = 1,
    name: str | None = None,
    reads: Sequence[type[Entity]] = (),
) -> Callable[[Convert], Migration]:
    """Converts the items of a table into another, which is then kept current until the switch."""

    def declare(convert: Convert) -> Migration:
        return Migration(_name(name, convert), convert, source, target, version=version, reads=reads)

    return declare


def _called(table: Table, name: str | None) -> Table:
    other = copy(table)
    other.name = name or table.name
    return other


def _name(name: str | None, convert: Convert) -> str:
    return name or str(getattr(convert, "__name__", "migration"))

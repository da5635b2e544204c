"""Rules on indexes: their number, their use, and what they cost to keep."""

from __future__ import annotations

from typing import Final

from torusdb.modeling.design.facts import Access, Facts, key_in
from torusdb.modeling.design.lints.findings import Remarks, error, note, warning
from torusdb.modeling.design.loads import entity_load, pattern_load
from torusdb.modeling.design.units import GLOBAL_INDEXES_MAX, LOCAL_INDEXES_MAX
from torusdb.modeling.table import GlobalIndex, Index, LocalIndex, Table

MOVING_WRITES_MIN: Final = 1.5
"""Writes of an index for one of the entity, from which on most move the entry."""
WRITES_BY_READS_MAX: Final = 10
"""An index that is written so much more than it is read costs more than its patterns seem to be worth."""


def too_many_indexes(facts: Facts) -> Remarks:
    for table in facts.design.tables:
        for kind, what, most in (
            (GlobalIndex, "global", GLOBAL_INDEXES_MAX),
            (LocalIndex, "local", LOCAL_INDEXES_MAX),
        ):
            count = sum(isinstance(index, kind) for index in table.indexes)
            if count > most:
                yield error(
                    table,
                    f"it has {count} {what} indexes, and the service takes {most}; overload one: several entities can "
                    "share an index, each with templates of its own",
                )


def unused_indexes(facts: Facts) -> Remarks:
    for table, index in _indexes(facts):
        if _readers(facts, index):
            continue
        members = [model.name for model in table.entities.values() if key_in(model, index)]
        if members:
            yield warning(
                index,
                f"no pattern reads it, and every write of {' and '.join(members)} pays for it; declare the pattern "
                "that needs it, or remove it",
            )
        else:
            yield note(index, "no entity has a key for it; give one a Key(…, index=…), or remove it")


def needless_projections(facts: Facts) -> Remarks:
    """An index that holds whole items, of which its patterns read a few attributes."""
    for table, index in _indexes(facts):
        readers = _readers(facts, index)
        if index.include is not None or not readers:
            continue
        chosen = [access.read.chosen for access in readers if access.read is not None]
        if len(chosen) < len(readers) or not all(chosen):
            continue
        keys = table.key_names(index)
        names = sorted({each._stored for each in sum(chosen, ())} - {*keys})
        yield note(
            index,
            f"it holds whole items, and its patterns read {', '.join(names) or 'keys'} only; declare it with "
            f"include={tuple(names)!r}, and writes that change nothing else will not be charged for it",
        )


def moving_entries(facts: Facts) -> Remarks:
    """An index in which each write moves the entity: one entry goes, one comes."""
    for key in facts.keys:
        volume = facts.volume(key.model)
        if volume is None or volume.index_writes.get(key, 1.0) < MOVING_WRITES_MIN or not volume.writes:
            continue
        yield warning(
            key,
            f"most of the {volume.writes:g} writes a second of {key.model.name} move its entry in "
            f"{key.index_name}, which costs two writes each; leave what changes so often out of the key",
        )


def costly_indexes(facts: Facts) -> Remarks:
    """An index that is written far more than it is read."""
    for table, index in _indexes(facts):
        readers = _readers(facts, index)
        loads = [pattern_load(facts, access).units_per_second for access in readers]
        if not loads or None in loads:
            continue
        read = sum(load for load in loads if load is not None)
        written = 0.0
        for model in table.entities.values():
            load = entity_load(facts, model)
            units = sum(units for key, units in load.units_each.items() if key.index is index)
            written += units * (load.volume.writes if load.volume else 0)
        if written > WRITES_BY_READS_MAX * max(read, 0.1):
            yield note(
                index,
                f"it takes {written:,.4g} write units a second to keep, for {read:,.4g} read units; make it sparse (a "
                "key field that is None leaves the entity out), project less, or read in another way",
            )


def _indexes(facts: Facts) -> list[tuple[Table, Index]]:
    return [(table, index) for table in facts.design.tables for index in table.indexes]


def _readers(facts: Facts, index: Index) -> list[Access]:
    return [access for access in facts.accesses.values() if access.index is index]


RULES: Final = (too_many_indexes, unused_indexes, needless_projections, moving_entries, costly_indexes)

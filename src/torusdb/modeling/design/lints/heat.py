"""Rules on heat: what one partition key can bear."""

from __future__ import annotations

from typing import Final

from torusdb.modeling.design.facts import Facts
from torusdb.modeling.design.lints.findings import Remarks, error, note, warning
from torusdb.modeling.design.loads import Heat, heats, own_index
from torusdb.modeling.design.units import PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX

WARM: Final = 0.5
"""The part of what a partition can do from which on growth is worth a warning."""


NEEDED_TIMES_MAX: Final = 4
"""Room to grow: more shards than so many times those that are needed are paid for in vain."""


def hot_keys(facts: Facts) -> Remarks:
    """One partition key gets more than one partition can do: it throttles, however large the table is."""
    for heat in heats(facts):
        if heat.load > WARM:
            tell = error if heat.load > 1 else warning
            yield tell(heat.key, f"{_asked(heat)}; {_remedy(heat)}")


def _asked(heat: Heat) -> str:
    least = "at least " if heat.even else ""
    told = (
        f"its hottest partition key gets {least}{heat.read_units:,.0f} read and {heat.write_units:,.0f} write units a "
        f"second ({', '.join(heat.sources)}), which is {heat.load:.0%} of what one partition can do "
        f"({PARTITION_READ_UNITS_MAX} or {PARTITION_WRITE_UNITS_MAX})"
    )
    return told if own_index(heat.key) is None else f"{told}, and an index that throttles holds up the table's writes"


def _remedy(heat: Heat) -> str:
    if heat.shards is None:
        return "shards do not help, since each request reads a unit at least; cache what is read, or store copies of it"
    if heat.load <= 1:
        return f"think of shards={max(2, heat.key.shards * 2)} before it doubles"
    return f"spread it with shards={heat.shards} and a shard_by= of many values"


def needless_shards(facts: Facts) -> Remarks:
    """Each query of all shards is a request to each, which reads half a unit at least."""
    for heat in heats(facts):
        spread = [access for access in facts.accesses.values() if access.keys[:1] == [heat.key] and access.lanes > 1]
        if spread and heat.shards is not None and heat.key.shards > NEEDED_TIMES_MAX * heat.shards:
            names = " and ".join(access.pattern.name for access in spread)
            yield note(
                heat.key,
                f"it is spread over {heat.key.shards} shards, of which the expected load needs {heat.shards}, and each "
                f"use of {names} is a request to every one; fewer shards would read fewer units",
            )


RULES: Final = (hot_keys, needless_shards)

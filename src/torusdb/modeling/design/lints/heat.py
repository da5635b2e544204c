"""Rules on heat: what one partition key can bear."""

from __future__ import annotations

from typing import Final

from torusdb.modeling.design.facts import Facts
from torusdb.modeling.design.lints.findings import Remarks, error, warning
from torusdb.modeling.design.loads import Heat, heats, own_index
from torusdb.modeling.design.units import PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX

WARM: Final = 0.5
"""The part of what a partition can do from which on growth is worth a warning."""


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


RULES: Final = (hot_keys,)

"""Entities that have expired, and are hidden until the service drops their items, which may take days.

The service's rule (developer guide, "Using time to live"): an item has expired when the time has come to the number in
its TTL attribute, in seconds since 1970; from that second on it is hidden, as by the guide's own filter, which keeps
what lies behind the current second. What is no number never expires, and neither does what lies more than five
years back. Hiding is of reads: conditions of writes see what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from torusdb.modeling.context import Context

if TYPE_CHECKING:
    from torusdb.modeling.expressions import Placeholders
    from torusdb.modeling.model import EntityModel
    from torusdb.modeling.scalars import Item

AGE_SECONDS_MAX: Final = 5 * 31_556_952
"""Five years of the calendar's mean length."""
NOW: Final = ":now"
OLDEST: Final = ":oldest"
"""Placeholders of the only values that differ each time a plan is compiled."""


def is_hidden(model: EntityModel[Any], item: Item, context: Context) -> bool:
    if model.hidden_by is None:
        return False
    number = item.get(model.hidden_by._stored, {}).get("N")
    now = context.now_seconds()
    return number is not None and now - AGE_SECONDS_MAX <= Decimal(number) <= now


def hiding(models: Sequence[EntityModel[Any]]) -> list[EntityModel[Any]]:
    return [model for model in models if model.hidden_by is not None]


def filter_text(models: Sequence[EntityModel[Any]], placeholders: Placeholders, context: Context) -> str | None:
    """A filter that leaves out what `is_hidden`. `models`: all that may be read; some of them may show theirs."""
    hidden = hiding(models)
    if not hidden:
        return None
    attribute = hidden[0].hidden_by
    assert attribute is not None  # of a table there is one
    name, now = placeholders.name(attribute._stored), context.now_seconds()
    placeholders.values[OLDEST] = {"N": str(now - AGE_SECONDS_MAX)}
    placeholders.values[NOW] = {"N": str(now)}
    conditions = [f"{name} >= {OLDEST} AND {name} <= {NOW}"]
    if len(hidden) < len(models):
        kind = placeholders.name(hidden[0].table.type_attribute)
        aliases = [placeholders.value({"S": model.type_name}) for model in hidden]
        conditions.insert(0, f"{kind} IN ({', '.join(aliases)})")
    return f"NOT ({' AND '.join(conditions)})"


def readable_filter(models: Sequence[EntityModel[Any]]) -> str | None:
    return " AND ".join(f"{model.hidden_by!r} is not past" for model in hiding(models)) or None

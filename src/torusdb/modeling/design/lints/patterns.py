"""Rules on access patterns: what they read, and what of it they throw away."""

from __future__ import annotations

from typing import Final

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.design.facts import Facts
from torusdb.modeling.design.lints.findings import Remarks, note, warning
from torusdb.modeling.design.units import PAGE_BYTES_MAX
from torusdb.modeling.expressions import Comparison, flattened
from torusdb.modeling.table import Table

WASTEFUL_BELOW: Final = 0.5
"""A filter that keeps less throws most away."""


def scans(facts: Facts) -> Remarks:
    """An access pattern without an index."""
    for access in facts.accesses.values():
        if access.operation == "Scan":
            yield warning(
                access.pattern,
                f"it reads all of the table {access.table.name}{_how_much(facts, access.table)} each time it is used; "
                "give its entity a key in an index (sparse, if few entities belong in it) and query that",
            )


def _how_much(facts: Facts, table: Table) -> str:
    stored = 0.0
    for model in table.entities.values():
        size, volume = facts.size(model), facts.volume(model)
        if size is None or volume is None:
            return ""
        stored += size.bytes * volume.items
    return f" ({stored / 1024**2:,.0f} MB)"


def wasteful_filters(facts: Facts) -> Remarks:
    """A filter costs what it reads, not what it keeps."""
    for access in facts.accesses.values():
        if access.keeps < WASTEFUL_BELOW:
            yield warning(
                access.pattern,
                f"its filter keeps {access.keeps:.0%} of what it reads, so that it costs {1 / access.keeps:.3g} times "
                "what its answers would; put what it filters by into the sort key, or into a sparse index",
            )


def filters_for_keys(facts: Facts) -> Remarks:
    """Equality is what keys are for."""
    for access in facts.accesses.values():
        condition = access.read.condition if access.read is not None else None
        if condition is None:
            continue
        names = [
            repr(operand)
            for each in flattened([condition])
            if isinstance(each, Comparison) and each.comparator == "="
            for operand in each.operands()
            if isinstance(operand, Attribute)
        ]
        if names:
            yield note(
                access.pattern,
                f"it filters by {' and '.join(names)} ==, which a key could find without reading the rest; make it a "
                "field of the key before what is sorted by, or of an index's partition key",
            )


def mixed_partitions(facts: Facts) -> Remarks:
    """Entities that are not asked for are in the range that is read."""
    for access in facts.accesses.values():
        if access.mixed and access.operation == "Query":
            names = " and ".join(model.name for model in access.models)
            yield warning(
                access.pattern,
                f"the range that it reads can hold other entities than {names}, which are read, charged and thrown "
                "away; begin their sort keys with different literals, or read all of them as a collection",
            )


def limits_behind_filters(facts: Facts) -> Remarks:
    """A limit is of what the filter keeps: the service reads on until the page is full."""
    for access in facts.accesses.values():
        if access.limit and access.filtered and access.page_items is None:
            yield warning(
                access.pattern,
                f"it wants {access.limit} items and filters what it reads, so that each request reads up to 1 MB; give "
                "it a page_size(…), or do without the filter",
            )


def long_answers(facts: Facts) -> Remarks:
    """A query of a whole collection that takes many pages."""
    for access in facts.accesses.values():
        if access.operation != "Query" or access.limit:
            continue
        largest = 0.0
        for model in access.models:
            volume, size = facts.volume(model), facts.size(model, access.index)
            if volume is not None and volume.largest_collection and size is not None and access.index is None:
                largest += volume.largest_collection * size.bytes
        if largest > PAGE_BYTES_MAX:
            yield note(
                access.pattern,
                f"the largest collection that it reads has {largest / 1024**2:,.1f} MB, which is "
                f"{largest / PAGE_BYTES_MAX:,.0f} requests one after another; give it a limit(…) and go on by cursors",
            )


def unread_entities(facts: Facts) -> Remarks:
    for model in facts.models:
        if not any(model in access.models for access in facts.accesses.values()):
            yield note(
                model,
                "no pattern reads it; declare how it is read, since keys follow from access patterns, or remove it; "
                "where only transactions look at it, or others read it, say so in the Workload: "
                f'Accepted("unread-entities", {model.name}, "its reason")',
            )


RULES: Final = (
    scans,
    wasteful_filters,
    filters_for_keys,
    mixed_partitions,
    limits_behind_filters,
    long_answers,
    unread_entities,
)

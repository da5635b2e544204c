"""Tells a plan: tables for the terminal and for Markdown, and values for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from textwrap import wrap
from typing import Any, Final, NamedTuple

from torusdb.modeling.design.capacity import Plan, Point, grown
from torusdb.modeling.design.cost import ON_DEMAND, PROVISIONED, STANDARD
from torusdb.modeling.design.units import GIGABYTE

FACTORS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Times the expected load, for growth in the terminal."""
BAR_WIDTH: Final = 24
NOTE_WIDTH: Final = 110


class Section(NamedTuple):
    """`numbers`: the columns that hold figures, and stand to the right. `notes`: sentences behind the table."""

    title: str
    headers: list[str]
    rows: list[list[str]]
    numbers: frozenset[int]
    notes: list[str]


def sections(plan: Plan, points: Sequence[Point] | None = None) -> list[Section]:
    """`points`: the plan as it grows, if that was calculated before."""
    points = grown(plan, FACTORS) if points is None else points
    found = [_patterns(plan), _entities(plan), _resources(plan), _heats(plan), _bills(plan), _growth(points)]
    told = [_list("Missing, and in no sum", plan.missing), _list("Taken to be so", plan.assumed)]
    return [each for each in [*found, *told] if each.rows]


def _patterns(plan: Plan) -> Section:
    rows = []
    for load in plan.patterns:
        access, rate = load.access, load.rate
        rows.append(
            [
                access.pattern.name,
                access.operation + (f" ×{access.lanes}" if access.lanes > 1 else ""),
                access.where,
                "?" if rate is None else _figure(rate.per_second),
                "?" if rate is None else _figure(rate.items_given),
                "?" if load.units_each is None else _figure(load.units_each),
                "?" if load.units_per_second is None else _figure(load.units_per_second),
            ]
        )
    if plan.read_units:
        rows.append(["in all", *[""] * 5, _figure(plan.read_units)])
    headers = ["access pattern", "operation", "from", "uses/s", "items", "RCU each", "RCU"]
    return Section("Reads, at the busiest time", headers, rows, frozenset({3, 4, 5, 6}), [])


def _entities(plan: Plan) -> Section:
    rows = []
    for load in plan.entities:
        volume = load.volume
        if volume is None or not load.units_each:
            rows.append([load.model.name, *["?"] * 5])
            continue
        table_part = load.units_each[load.model.primary]
        rows.append(
            [
                load.model.name,
                f"{volume.items:,}",
                "?" if volume.writes_per_second is None else _figure(volume.writes),
                _figure(table_part),
                _figure(sum(load.units_each.values()) - table_part),
                "?" if load.units_per_second is None else _figure(load.units_per_second),
            ]
        )
    if plan.write_units:
        rows.append(["in all", *[""] * 4, _figure(plan.write_units)])
    headers = ["entity", "items", "writes/s", "WCU each", "+ indexes", "WCU"]
    return Section("Writes, at the busiest time", headers, rows, frozenset({1, 2, 3, 4, 5}), [])


def _resources(plan: Plan) -> Section:
    rows = []
    for each in plan.resources:
        share = each.share
        rows.append(
            [
                each.name,
                _figure(each.read_units),
                _figure(each.write_units),
                _gigabytes(each.stored_bytes),
                f"{each.partitions_by_throughput:,}",
                f"{each.partitions_by_size:,}",
                f"{each.partitions:,}",
                f"{_figure(share.read_units)} / {_figure(share.write_units)} / {_gigabytes(share.billed_bytes)}",
            ]
        )
    headers = ["table or index", "RCU", "WCU", "GB", "by load", "by size", "partitions", "share: RCU / WCU / GB"]
    notes = ["partitions = max(⌈RCU/3000 + WCU/1000⌉, ⌈GB/10⌉); local indexes are within their table"]
    return Section("Partitions", headers, rows, frozenset(range(1, 8)), notes)


def _heats(plan: Plan) -> Section:
    rows = [
        [
            repr(heat.key),
            _figure(heat.read_units),
            _figure(heat.write_units),
            f"{heat.load:.0%}",
            str(heat.key.shards),
            "no number helps" if heat.shards is None else str(heat.shards),
            "at least" if heat.even else "known",
        ]
        for heat in plan.heats
    ]
    headers = ["hottest partition key of", "RCU", "WCU", "of a partition", "shards", "shards needed", "its part"]
    return Section("Hottest keys, where they are known", headers, rows, frozenset({1, 2, 3, 4, 5}), [])


def _bills(plan: Plan) -> Section:
    prices = plan.prices
    rows = [
        [
            f"{bill.mode}, {bill.table_class}",
            *map(_money, (bill.reads, bill.writes, bill.storage, bill.streams)),
            _money(bill.total),
        ]
        for bill in plan.bills
    ]
    load = "as if the busiest time lasted all month"
    if plan.average_load is not None:
        load = f"for {plan.average_load:.0%} of the busiest time on average"
    notes = [
        f"{prices.currency}, list prices of {prices.region} on {prices.date}; on-demand {load}; "
        f"provisioned for the busiest time at {plan.utilisation:.0%} utilisation"
    ]
    if plan.break_even is not None:
        notes.append(f"provisioned costs less than on-demand from an average of {plan.break_even:.0%} on")
    notes.append("items that time to live removes cost no write; the free tier is left out, being the account's")
    headers = [f"{prices.currency} a month", "reads", "writes", "storage", "streams", "in all"]
    return Section("Cost", headers, rows, frozenset({1, 2, 3, 4, 5}), notes)


def _growth(points: Sequence[Point]) -> Section:
    rows = []
    totals = [point.total(ON_DEMAND, STANDARD) for point in points]
    for point, total in zip(points, totals, strict=True):
        rows.append(
            [
                f"{point.factor:g}×",
                _money(total),
                _money(point.total(PROVISIONED, STANDARD)),
                f"{point.plan.partitions:,}",
                bar(total, totals),
            ]
        )
    if not any(totals):
        rows = []
    headers = ["load and data", ON_DEMAND, PROVISIONED, "partitions", "on-demand (a logarithmic scale)"]
    return Section("Growth, by the month", headers, rows, frozenset({0, 1, 2, 3}), [])


def bar(value: float, values: Sequence[float]) -> str:
    """On a logarithmic scale from the least to the greatest."""
    present = [each for each in values if each > 0]
    if value <= 0 or not present:
        return ""
    low, high = min(present) / 2, max(present)
    return "█" * max(1, round(BAR_WIDTH * log(value / low) / log(high / low)))


def _list(title: str, sentences: Sequence[str]) -> Section:
    return Section(title, [""], [[each] for each in sentences], frozenset(), [])


# As text


def terminal(plan: Plan, points: Sequence[Point] | None = None) -> str:
    return "\n\n".join("\n".join(_lines(each)) for each in sections(plan, points)) + "\n"


def _lines(section: Section) -> Iterator[str]:
    yield section.title
    if section.headers == [""]:
        for row in section.rows:
            yield from wrap(row[0], NOTE_WIDTH, initial_indent="  - ", subsequent_indent="    ")
        return
    widths = [max(map(len, column)) for column in zip(section.headers, *section.rows, strict=True)]
    rule = "  ".join("─" * width for width in widths)
    for number, row in enumerate([section.headers, *section.rows]):
        cells = [
            cell.rjust(width) if column in section.numbers else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
        if number == 0:
            yield "  " + rule
    for note in section.notes:
        yield from wrap(note, NOTE_WIDTH, initial_indent="  ", subsequent_indent="    ")


def markdown(plan: Plan, points: Sequence[Point] | None = None) -> str:
    parts = [f"# The capacity plan of {plan.design.name}"]
    for each in sections(plan, points):
        parts.append("\n".join([f"## {each.title}", "", *_markdown_lines(each)]))
    return "\n\n".join(parts) + "\n"


def _markdown_lines(section: Section) -> Iterator[str]:
    if section.headers == [""]:
        yield from (f"- {row[0]}" for row in section.rows)
        return
    yield f"| {' | '.join(section.headers)} |"
    yield f"| {' | '.join('---:' if column in section.numbers else '---' for column in range(len(section.headers)))} |"
    yield from (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in section.rows)
    for note in section.notes:
        yield ""
        yield note[0].upper() + note[1:] + "."


def as_values(plan: Plan, points: Sequence[Point] | None = None) -> dict[str, Any]:
    """What JSON can hold. None is what is not known."""
    points = grown(plan, FACTORS) if points is None else points
    return {
        "design": plan.design.name,
        "utilisation": plan.utilisation,
        "average_load": plan.average_load,
        "prices": {"region": plan.prices.region, "date": plan.prices.date, "currency": plan.prices.currency},
        "patterns": [
            {
                "name": load.access.pattern.name,
                "operation": load.access.operation,
                "reads": load.access.where,
                "requests": load.access.lanes,
                "per_second": None if load.rate is None else load.rate.per_second,
                "read_units_each": load.units_each,
                "read_units": load.units_per_second,
            }
            for load in plan.patterns
        ],
        "entities": [
            {
                "name": load.model.name,
                "items": None if load.volume is None else load.volume.items,
                "writes_per_second": None if load.volume is None else load.volume.writes_per_second,
                "write_units_each": {repr(key): units for key, units in load.units_each.items()},
                "write_units": load.units_per_second,
            }
            for load in plan.entities
        ],
        "resources": [
            {
                "name": each.name,
                "read_units": each.read_units,
                "write_units": each.write_units,
                "stored_bytes": each.stored_bytes,
                "partitions_by_throughput": each.partitions_by_throughput,
                "partitions_by_size": each.partitions_by_size,
                "partitions": each.partitions,
            }
            for each in plan.resources
        ],
        "hottest_keys": [
            {
                "key": repr(heat.key),
                "read_units": heat.read_units,
                "write_units": heat.write_units,
                "load": heat.load,
                "shards": heat.key.shards,
                "shards_needed": heat.shards,
            }
            for heat in plan.heats
        ],
        "bills": [{**bill._asdict(), "total": bill.total} for bill in plan.bills],
        "break_even_load": plan.break_even,
        "growth": [
            {
                "factor": point.factor,
                "on_demand": point.total(ON_DEMAND, STANDARD),
                "provisioned": point.total(PROVISIONED, STANDARD),
                "partitions": point.plan.partitions,
            }
            for point in points
        ],
        "missing": plan.missing,
        "assumed": plan.assumed,
    }


def _figure(value: float) -> str:
    """Three digits that count, and all of those before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _money(value: float) -> str:
    return f"{value:,.2f}" if value < 1000 else f"{value:,.0f}"


def _gigabytes(stored: float) -> str:
    return _figure(stored / GIGABYTE) if stored >= GIGABYTE / 1000 else "<0.001" if stored else "0"

"""What `benchmark.py` has measured, as a table in Markdown and a plot in SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from order_entry.benchmark import LIMITED, Figure, Measured
from order_entry.model import FOURTEEN

PAGE: Final = "patterns.md"
PLOT: Final = "patterns.svg"

INK: Final = "#7d8590"
SHADES: Final = ("#9ecbff", "#3b8eea", "#1f5fa8", "#143d6b")
NAME_PIXELS: Final = 190
PANEL_PIXELS: Final = 300
GAP_PIXELS: Final = 60
BAR_PIXELS: Final = 9
HEAD_PIXELS: Final = 70

PANELS: Final[dict[str, Callable[[Figure], float]]] = {
    "the table": lambda figure: figure.milliseconds,
    "SQLite": lambda figure: figure.sql_milliseconds,
}


def write(measured: Measured, command: str, directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / PLOT).write_text(plot(measured))
    page = directory / PAGE
    page.write_text(text(measured, command))
    return page


def text(measured: Measured, command: str) -> str:
    sizes = list(measured.entities)
    held = ", ".join(f"{size}×: {count:,}" for size, count in measured.entities.items())
    heads = [f"{what} {size}×" for what in ("items", "read", "capacity units", "ms", "SQLite ms") for size in sizes]
    lines = [
        "# The fourteen patterns as the data grows",
        "",
        f"`{command}`: {measured.customers:,} customers at 1×. Items in the table: {held}.",
        "",
        "Each figure is the mean (items, capacity) or the median (time) over values that occur in the data. "
        "*Items* are those of the answer, *read* those that were looked at for it. A question to the fifteen shards "
        f"costs at least fifteen times half a unit. Of {' and '.join(f'`{name}`' for name in LIMITED)} the first "
        f"{max(LIMITED.values())} are asked for, and `orders_by_status` is asked for fewer days in more data.",
        "",
        "Both databases are in the process of the benchmark, with their data on disk. The table is asked by "
        "requests of the service, without boto3, SQLite by its own calls: look at how each grows, not at one "
        "beside the other.",
        "",
        f"![Milliseconds of each pattern]({PLOT})",
        "",
        f"| pattern | {' | '.join(heads)} |",
        f"| --- |{' ---: |' * len(heads)}",
    ]
    for name in FOURTEEN:
        by_size = {figure.times: figure for figure in measured.figures if figure.pattern == name}
        cells = [_short(show(by_size[size])) for show in COLUMNS for size in sizes]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


COLUMNS: Final[Sequence[Callable[[Figure], float]]] = (
    lambda figure: figure.items,
    lambda figure: figure.items_read,
    lambda figure: figure.capacity_units,
    lambda figure: figure.milliseconds,
    lambda figure: figure.sql_milliseconds,
)


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def plot(measured: Measured) -> str:
    """Two panels of bars on one logarithmic scale: the table, and SQLite."""
    group = (len(measured.entities) + 1) * BAR_PIXELS
    height = HEAD_PIXELS + len(FOURTEEN) * group + 20
    width = NAME_PIXELS + len(PANELS) * (PANEL_PIXELS + GAP_PIXELS)
    times = [value(each) for each in measured.figures for value in PANELS.values()]
    low, high = 10 ** math.floor(math.log10(min(times))), 10 ** math.ceil(math.log10(max(times)))
    held = ", ".join(f"{count:,}" for count in measured.entities.values())
    title = f"Milliseconds of each pattern, with {held} items in the table"
    parts = [_words(10, 20, title, size=15)]
    for row, name in enumerate(FOURTEEN):
        parts.append(_words(10, HEAD_PIXELS + row * group + (group - BAR_PIXELS) / 2 + 4, name))
    for number, (panel, value) in enumerate(PANELS.items()):
        left = NAME_PIXELS + number * (PANEL_PIXELS + GAP_PIXELS)
        parts += [_words(left, 42, panel), *_axis(left, low, high, height)]
        for row, name in enumerate(FOURTEEN):
            values = [value(each) for each in measured.figures if each.pattern == name]
            parts += _bars(values, left, HEAD_PIXELS + row * group, low, high)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui, sans-serif" fill="{INK}" role="img">\n<title>{escape(title)}</title>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _bars(values: Sequence[float], left: float, top: float, low: float, high: float) -> list[str]:
    parts = []
    for number, value in enumerate(values):
        length, y = _place(value, low, high), top + number * BAR_PIXELS
        parts.append(
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{BAR_PIXELS - 1}" '
            f'fill="{SHADES[number % len(SHADES)]}"/>'
        )
        parts.append(_words(left + length + 4, y + BAR_PIXELS - 1, _short(value), size=9))
    return parts


def _axis(left: float, low: float, high: float, height: float) -> list[str]:
    parts = []
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        x = left + _place(10.0**power, low, high)
        parts.append(
            f'<line x1="{x:.1f}" y1="{HEAD_PIXELS - 6}" x2="{x:.1f}" y2="{height - 16}" stroke="{INK}" '
            'stroke-opacity="0.3"/>'
        )
        parts.append(_words(x, HEAD_PIXELS - 10, f"{10.0**power:g}", anchor="middle", size=10))
    return parts


def _place(value: float, low: float, high: float) -> float:
    return PANEL_PIXELS * math.log(value / low) / math.log(high / low)


def _words(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'

"""Plots as SVG, drawn by hand: a few bars and lines need no library. Readable on light pages and on dark ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from benchmarks.results import LIKE_OF, PeerFacts, Results, in_order

DIRECTORY = "plots"
GROWTH_PLOT_NAME = "growth.svg"

INK = "#7d8590"
GRID_OPACITY = 0.3
COLOURS = {
    "torusdb": "#e5534b",
    "torusdb-relaxed": "#d6619c",
    "dynalite": "#d08b2c",
    "dynoxide": "#3b8eea",
    "dynamodb-local": "#3fa266",
    "moto": "#a371d8",
}
"""Of a middle brightness, so that they show on black and on white."""
MEMORY_OPACITY = 0.6

WIDTH = 860
NAMES_WIDTH = 150
VALUES_WIDTH = 60
BAR_HEIGHT = 11
GROUP_GAP = 12
LINE_HEIGHT = 22
LEGEND_COLUMNS = 4
PANEL_HEIGHT = 260


def product_of(peer: str) -> str:
    return peer.removesuffix("-memory")


@dataclass(frozen=True)
class LogScale:
    """Values from `low` to `high` on pixels from `start` to `stop`."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """1, 2 and 5 times powers of ten; powers alone where those would be many."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1, 2, 5) if self.high <= 100 * self.low else (1,)
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]


def nice_range(values: Iterable[float]) -> tuple[float, float]:
    """The next of 1, 2 and 5 times a power of ten below the least and above the greatest."""
    present = list(values)
    return _nice(min(present), up=False), _nice(max(present) * 1.0001, up=True)


def _nice(value: float, *, up: bool) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    if up:
        return next(power * step for step in (2, 5, 10) if power * step >= value)
    return next(power * step for step in (5, 2, 1) if power * step <= value * 1.0001)


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _grid_line(x1: float, y1: float, x2: float, y2: float, opacity: float = GRID_OPACITY) -> str:
    where = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {where} stroke="{INK}" stroke-opacity="{opacity}"/>'


def _box(x: float, y: float, width: float, height: float, peer: str) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {where} fill="{_colour(peer)}" fill-opacity="{_opacity(peer)}"/>'


def _colour(peer: str) -> str:
    return COLOURS.get(product_of(peer), INK)


def _opacity(peer: str) -> float:
    return 1.0 if product_of(peer) == peer else MEMORY_OPACITY


def _document(height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" font-family="system-ui, sans-serif" fill="{INK}" role="img">\n'
        f"<title>{escape(title)}</title>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _legend(peers: Sequence[str], top: float) -> tuple[list[str], float]:
    """A coloured box and a name for each, and where what follows may start."""
    parts = []
    for number, peer in enumerate(peers):
        row, column = divmod(number, LEGEND_COLUMNS)
        x, y = 10 + column * (WIDTH - 20) / LEGEND_COLUMNS, top + row * LINE_HEIGHT
        parts += [_box(x, y + 2, 12, 12, peer), _text(x + 18, y + 12, peer)]
    return parts, top + math.ceil(len(peers) / LEGEND_COLUMNS) * LINE_HEIGHT + 6


def _short(value: float) -> str:
    for limit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g}{letter}"
    return f"{value:g}"


# Ratios: a group of bars for each workload, from 1 to the right where TorusDB is faster.


def ratio_plot_name(size: str, driver: str) -> str:
    return f"ratios-{size}-{driver}.svg".replace(" ", "-").lower()


def ratio_plots(results: Results) -> dict[str, str]:
    """A plot for each size of items and each number of connections, by its file's name."""
    drawn = {}
    for size in in_order(figure.size for figure in results.figures):
        for driver in in_order(figure.driver for figure in results.figures if figure.driver.startswith("wrk")):
            groups = _ratio_groups(results, size, driver)
            if groups:
                connections = driver.removeprefix("wrk ")
                title = f"TorusDB's rate ÷ the peer's: items of {size}, {connections} connections"
                drawn[ratio_plot_name(size, driver)] = ratio_plot(title, groups)
    return drawn


def _ratio_groups(results: Results, size: str, driver: str) -> dict[str, dict[str, float]]:
    """By workload and peer; only what has a figure."""
    peers = [peer for peer in results.peers if peer.name not in LIKE_OF.values()]
    groups = {}
    for workload in in_order(figure.workload for figure in results.figures):
        if group := _medians(results, peers, workload, size, driver):
            groups[workload] = group
    return groups


def _medians(results: Results, peers: list[PeerFacts], workload: str, size: str, driver: str) -> dict[str, float]:
    rounds = {peer.name: results.ratios(peer, workload, size, driver) for peer in peers}
    return {name: statistics.median(each) for name, each in rounds.items() if each}


def ratio_plot(title: str, groups: dict[str, dict[str, float]]) -> str:
    peers = in_order(peer for group in groups.values() for peer in group)
    legend, top = _legend(peers, 34)
    low, high = nice_range([1.0, *(ratio for group in groups.values() for ratio in group.values())])
    scale = LogScale(low, high, NAMES_WIDTH, WIDTH - VALUES_WIDTH)
    bars, bottom = _bars(groups, scale, top + LINE_HEIGHT)
    grid = []
    for tick in scale.ticks():
        x = scale.at(tick)
        grid += [_grid_line(x, top + 14, x, bottom, 1.0 if tick == 1 else GRID_OPACITY)]
        grid += [_text(x, top + 8, f"{tick:g}×", "middle", 11)]
    return _document(bottom + 10, title, [_text(10, 20, title, size=15), *legend, *grid, *bars])


def _bars(groups: dict[str, dict[str, float]], scale: LogScale, y: float) -> tuple[list[str], float]:
    parts = []
    one = scale.at(1.0)
    for workload, group in groups.items():
        parts.append(_text(10, y + len(group) * BAR_HEIGHT / 2 + 4, workload))
        for peer, ratio in group.items():
            end = scale.at(ratio)
            parts.append(_box(min(one, end), y, abs(end - one), BAR_HEIGHT - 1, peer))
            parts.append(_text(max(one, end) + 4, y + BAR_HEIGHT - 2, f"{ratio:.3g}", size=10))
            y += BAR_HEIGHT
        y += GROUP_GAP
    return parts, y


# Growth: a panel for each workload, a line for each server.


def growth_plots(results: Results) -> dict[str, str]:
    rates: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for step in results.growth:
        for workload, rate in step.rates.items():
            rates.setdefault(workload, {}).setdefault(step.peer, []).append((step.items, rate))
    return {GROWTH_PLOT_NAME: growth_plot(rates)} if rates else {}


def growth_plot(rates: dict[str, dict[str, list[tuple[int, float]]]]) -> str:
    """By workload and server: points of items and rate."""
    title = "Requests a second as tables grow"
    legend, top = _legend(in_order(peer for lines in rates.values() for peer in lines), 34)
    parts = [_text(10, 20, title, size=15), *legend]
    panel_width = WIDTH / len(rates)
    for number, (workload, lines) in enumerate(rates.items()):
        left = number * panel_width
        parts.append(_text(left + 44, top + 12, workload, size=13))
        parts += _panel(lines, left + 44, left + panel_width - 20, top + 24)
    return _document(top + PANEL_HEIGHT + 50, title, parts)


def _panel(lines: dict[str, list[tuple[int, float]]], left: float, right: float, top: float) -> list[str]:
    points = [point for line in lines.values() for point in line]
    least, most = min(points)[0], max(points)[0]
    across = LogScale(least, max(most, 2 * least), left, right)
    upwards = LogScale(*nice_range(rate for _, rate in points), top + PANEL_HEIGHT, top)
    parts = []
    for tick in upwards.ticks():
        y = upwards.at(tick)
        parts += [_grid_line(left, y, right, y), _text(left - 4, y + 4, _short(tick), "end", 10)]
    for items in sorted({items for items, _ in points}):
        parts.append(_text(across.at(items), top + PANEL_HEIGHT + 16, _short(items), "middle", 10))
    for peer, line in lines.items():
        path = " ".join(f"{across.at(items):.1f},{upwards.at(rate):.1f}" for items, rate in line)
        stroke = f'stroke="{_colour(peer)}" stroke-opacity="{_opacity(peer)}" stroke-width="2"'
        dashes = "" if product_of(peer) == peer else ' stroke-dasharray="5 3"'
        parts.append(f'<polyline points="{path}" fill="none" {stroke}{dashes}/>')
    return parts

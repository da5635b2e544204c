"""Draws how cost and partitions grow with the load, as SVG by hand: two panels of a few lines need no library.

Legible on light pages and on dark ones: it has no background, and its ink follows the viewer's preference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from torusdb.modeling.design.capacity import Plan, Point, grown
from torusdb.modeling.design.cost import AUTO_SCALED, ON_DEMAND, PROVISIONED, STANDARD, reserved_mode

PLOT_FACTORS: Final = tuple(10 ** (step / 24 - 1) for step in range(73))
"""From a tenth to a hundred times the expected load, twenty-four steps to a power of ten."""
EXPECTED: Final = 1.0

WIDTH: Final = 860
LEFT: Final = 76
RIGHT: Final = 212
"""Of it: names of lines stand where the lines end."""
COST_HEIGHT: Final = 300
PARTITIONS_HEIGHT: Final = 120
TOP: Final = 76
GAP: Final = 56
BOTTOM: Final = 58
LABEL_HEIGHT: Final = 16

INKS: Final = {
    "on-demand": ("#d1495b", "#ff7b88", ""),
    "provisioned": ("#2274a5", "#63b3ed", ""),
    "auto-scaled": ("#3c8d5a", "#68d391", "; stroke-dasharray: 7 3"),
    "reserved": ("#8a63b8", "#c3a6ea", "; stroke-dasharray: 2 3"),
    "partitions": ("#a86b12", "#ecc267", ""),
}
"""Of lines and their names: on light pages, on dark ones, and how the line is broken."""
SCOPE: Final = "torusdb-growth"
"""The class of the picture, before each rule of its style: within a page of HTML, styles hold for all of the page."""
RULES: Final = {
    "text": "font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #57606a",
    ".title": "font-size: 16px; font-weight: 600; fill: #1f2328",
    ".panel": "font-size: 13px; font-weight: 600; fill: #1f2328",
    ".grid": "stroke: #57606a; stroke-opacity: 0.18",
    ".axis": "stroke: #57606a; stroke-opacity: 0.6",
    ".expected": "stroke: #57606a; stroke-opacity: 0.7; stroke-dasharray: 3 4",
    ".line": "fill: none; stroke-width: 2.25; stroke-linejoin: round",
    ".area": "fill: #a86b12; fill-opacity: 0.14; stroke: none",
    **{f".{name}": f"stroke: {light}{dashes}" for name, (light, _, dashes) in INKS.items()},
    **{f".{name}-text": f"fill: {light}" for name, (light, _, _) in INKS.items()},
}
RULES_IN_THE_DARK: Final = {
    "text": "fill: #9da7b3",
    ".title": "fill: #e6edf3",
    ".panel": "fill: #e6edf3",
    ".grid": "stroke: #9da7b3",
    ".axis": "stroke: #9da7b3",
    ".expected": "stroke: #9da7b3",
    ".area": "fill: #ecc267",
    **{f".{name}": f"stroke: {dark}" for name, (_, dark, _) in INKS.items()},
    **{f".{name}-text": f"fill: {dark}" for name, (_, dark, _) in INKS.items()},
}


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high`, both above 0, on pixels from `start` to `stop`; logarithmic."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, value: float) -> float:
        share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return self.start + share * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """Powers of ten; with 2 and 5 times them where these would be few."""
        decades = log10(self.high / self.low)
        steps = (1, 2, 5) if decades < 2 else (1,)
        powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        found = [step * 10.0**power for power in powers for step in steps]
        return [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]


class Line(NamedTuple):
    name: str
    style: str
    values: list[float]


def growth_svg(plan: Plan) -> str:
    """The text of an SVG picture: what a month costs, and the partitions, over the load."""
    points = grown(plan, PLOT_FACTORS)
    across = Scale(PLOT_FACTORS[0], PLOT_FACTORS[-1], LEFT, WIDTH - RIGHT)
    middle = TOP + COST_HEIGHT
    height = middle + GAP + PARTITIONS_HEIGHT + BOTTOM
    title = f"{plan.design.name}: cost and partitions as load and data grow"
    parts = [
        _text(LEFT, 26, title, "title"),
        *_cost_panel(plan, points, across, TOP, middle),
        *_partitions_panel(points, across, middle + GAP, middle + GAP + PARTITIONS_HEIGHT),
        *_across(across, middle + GAP + PARTITIONS_HEIGHT),
    ]
    return _document(height, title, _told(plan, points), parts)


def _told(plan: Plan, points: Sequence[Point]) -> str:
    """The picture in a sentence, for who cannot see it."""
    first, last = points[0], points[-1]
    return (
        f"On-demand costs {_money(first.total(ON_DEMAND, STANDARD))} {plan.prices.currency} a month at a tenth of the "
        f"expected load and {_money(last.total(ON_DEMAND, STANDARD))} at a hundred times; provisioned "
        f"{_money(first.total(PROVISIONED, STANDARD))} and {_money(last.total(PROVISIONED, STANDARD))}; "
        f"partitions grow from {first.plan.partitions} to {last.plan.partitions}."
    )


# The panels


def _cost_panel(plan: Plan, points: Sequence[Point], across: Scale, top: float, bottom: float) -> list[str]:
    lines = _cost_lines(plan, points)
    parts = [_text(LEFT, top - 14, f"{plan.prices.currency} a month, in the Standard class", "panel")]
    if min(lines[0].values) <= 0:
        return [*parts, _text(LEFT + 12, (top + bottom) / 2, "no Volume and no Rate says what there is to pay for")]
    upwards = _scale([value for line in lines for value in line.values], bottom, top)
    parts += _grid(across, upwards, _short)
    parts += [_polyline(across, upwards, points, line) for line in lines]
    parts += _end_labels(lines, upwards, across.stop + 10)
    return [*parts, *_mark(across, upwards, points, lines[:2], "{0:,.0f} {1}")]


def _cost_lines(plan: Plan, points: Sequence[Point]) -> list[Line]:
    wanted = [(ON_DEMAND, "on-demand"), (PROVISIONED, "provisioned")]
    if plan.average_load is not None:
        wanted.append((AUTO_SCALED, "auto-scaled"))
    wanted += [(reserved_mode(plan.prices.reserved[-1]), "reserved")] if plan.prices.reserved else []
    return [Line(mode, style, [point.total(mode, STANDARD) for point in points]) for mode, style in wanted]


def _partitions_panel(points: Sequence[Point], across: Scale, top: float, bottom: float) -> list[str]:
    line = Line("partitions", "partitions", [float(point.plan.partitions) for point in points])
    upwards = _scale([0.5, *line.values], bottom, top, least=1.0)
    steps = _steps(across, upwards, points, line)
    area = f"M {across.start:.1f},{bottom:.1f} L {steps} L {across.stop:.1f},{bottom:.1f} Z"
    return [
        _text(LEFT, top - 14, "partitions, of tables and global indexes", "panel"),
        *_grid(across, upwards, lambda value: f"{value:,.0f}"),
        f'<path class="area" d="{area}"/>',
        f'<path class="line partitions" d="M {steps}"/>',
        *_end_labels([line], upwards, across.stop + 10, lambda value: f"{value:,.0f} partitions"),
        *_mark(across, upwards, points, [line], "{0:,.0f} partitions"),
    ]


def _across(across: Scale, bottom: float) -> list[str]:
    parts = [
        _text(across.at(tick), bottom + 20, f"{tick:g}×", anchor="middle") for tick in (0.1, 0.3, 1, 3, 10, 30, 100)
    ]
    label = "load and data, as a multiple of what is expected"
    return [*parts, _text((across.start + across.stop) / 2, bottom + 42, label, anchor="middle")]


# What panels are made of


def _scale(values: Sequence[float], bottom: float, top: float, least: float | None = None) -> Scale:
    """Over the values, with some room at both ends, and ten times the least at the least."""
    low = min(values) / 1.35 if least is None else least / 1.35
    return Scale(low, max(*values, low * 10) * 1.35, bottom, top)


def _grid(across: Scale, upwards: Scale, label: Callable[[float], str]) -> list[str]:
    parts = []
    for tick in upwards.ticks():
        y = upwards.at(tick)
        parts.append(_rule(across.start, y, across.stop, y, "grid"))
        parts.append(_text(across.start - 8, y + 4, label(tick), anchor="end"))
    for tick in (0.1, 0.3, 3, 10, 30, 100):
        parts.append(_rule(across.at(tick), upwards.stop, across.at(tick), upwards.start, "grid"))
    parts.append(_rule(across.at(EXPECTED), upwards.stop, across.at(EXPECTED), upwards.start, "expected"))
    parts.append(_rule(across.start, upwards.start, across.stop, upwards.start, "axis"))
    return parts


def _polyline(across: Scale, upwards: Scale, points: Sequence[Point], line: Line) -> str:
    pairs = [
        f"{across.at(point.factor):.1f},{upwards.at(value):.1f}"
        for point, value in zip(points, line.values, strict=True)
    ]
    return f'<polyline class="line {line.style}" points="{" ".join(pairs)}"/>'


def _steps(across: Scale, upwards: Scale, points: Sequence[Point], line: Line) -> str:
    """From one number to the next there is nothing between."""
    places = [(across.at(point.factor), upwards.at(value)) for point, value in zip(points, line.values, strict=True)]
    path = [f"{places[0][0]:.1f},{places[0][1]:.1f}"]
    for (x, y), (_, before) in zip(places[1:], places, strict=False):
        path += [f"{x:.1f},{before:.1f}", f"{x:.1f},{y:.1f}"]
    return " ".join(path)


def _end_labels(
    lines: Sequence[Line], upwards: Scale, x: float, label: Callable[[float], str] | None = None
) -> list[str]:
    """Names where lines end, moved apart where they would touch."""
    ends = sorted((upwards.at(line.values[-1]), number) for number, line in enumerate(lines))
    parts = []
    free = float("-inf")
    for wanted, number in ends:
        line = lines[number]
        y = max(wanted + 4, free)
        told = label(line.values[-1]) if label else f"{line.name}"
        parts.append(_text(x, y, told, f"{line.style}-text"))
        free = y + LABEL_HEIGHT
    return parts


def _mark(across: Scale, upwards: Scale, points: Sequence[Point], lines: Sequence[Line], label: str) -> Iterable[str]:
    """Dots where the load is what is expected, and their figures above, where no line is."""
    expected = min(range(len(points)), key=lambda number: abs(points[number].factor - EXPECTED))
    x = across.at(EXPECTED)
    for line in lines:
        y = upwards.at(line.values[expected])
        yield f'<circle class="{line.style}-text" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
    figures = "".join(
        f'<tspan class="{line.style}-text" x="{x + 8:.1f}" dy="{LABEL_HEIGHT}">'
        f"{escape(label.format(line.values[expected], line.name))}</tspan>"
        for line in lines
    )
    yield f'<text y="{upwards.stop - 2:.1f}">{figures}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    of_class = f' class="{style}"' if style else ""
    return f'<text{of_class} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _document(height: float, title: str, told: str, parts: Iterable[str]) -> str:
    inside = "\n".join(parts)
    style = "\n".join([*_rules(RULES), "@media (prefers-color-scheme: dark) {", *_rules(RULES_IN_THE_DARK), "}"])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" class="{SCOPE}" role="img">\n'
        f"<title>{escape(title)}</title>\n<desc>{escape(told)}</desc>\n"
        f"<style>\n{style}\n</style>\n{inside}\n</svg>\n"
    )


def _rules(rules: Mapping[str, str]) -> list[str]:
    return [f"  .{SCOPE} {selector} {{ {rule} }}" for selector, rule in rules.items()]


def _money(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def _short(value: float) -> str:
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g}{letter}"
    return f"{value:g}"

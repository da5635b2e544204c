"""Lays texts out in columns of a terminal: a chart is lines of spans, each a text and its style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias
from unicodedata import combining, east_asian_width

from torusdb.modeling.design.charts.content import printable

COLUMN_GAP: Final = 2
COLUMN_WIDTH_MIN: Final = 6


class Span(NamedTuple):
    """`style`: in the words of rich, "" for none."""

    text: str
    style: str = ""


Line: TypeAlias = list[Span]
Cell: TypeAlias = str | Span | Sequence[Span]


class Column(NamedTuple):
    """`wraps`: what is too long goes on in the next line; else it is cut."""

    title: str
    wraps: bool = False


def columns(headings: Sequence[Column], rows: Sequence[Sequence[Cell] | None], width: int) -> list[Line]:
    """A table as lines; a row that is None is a rule between those before and behind it."""
    cells = [None if row is None else [_spans(cell) for cell in row] for row in rows]
    widths = _widths(headings, [row for row in cells if row is not None], width)
    rule = [Span("─" * (sum(widths) + COLUMN_GAP * (len(widths) - 1)), "dim")]
    lines = [
        _joined([[Span(cut_to(each.title, room), "bold")] for each, room in zip(headings, widths, strict=True)], widths)
    ]
    lines.append(rule)
    for row in cells:
        if row is None:
            lines.append(rule)
            continue
        parts = [
            _wrapped(cell, room) if heading.wraps else [_cut(cell, room)]
            for heading, cell, room in zip(headings, row, widths, strict=True)
        ]
        for number in range(max(map(len, parts))):
            lines.append(_joined([part[number] if number < len(part) else [] for part in parts], widths))
    return lines


def fitted(line: Line, width: int) -> Line:
    """Cut where the terminal ends."""
    return _cut([Span(printable(span.text), span.style) for span in line], width)


def plain(lines: Iterable[Line]) -> str:
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)


def cells_of(text: str) -> int:
    """How many places of a terminal's line it takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def cut_to(text: str, width: int) -> str:
    """With a sign that there is more."""
    return text if cells_of(text) <= width else f"{_beginning(text, width - 1)}…"


def _beginning(text: str, width: int) -> str:
    """As much of it as there is room for."""
    used = 0
    for place, character in enumerate(text):
        used += cells_of(character)
        if used > width:
            return text[:place]
    return text


def _spans(cell: Cell) -> list[Span]:
    spans = [Span(cell)] if isinstance(cell, str) else [cell] if isinstance(cell, Span) else list(cell)
    return [Span(printable(span.text), span.style) for span in spans]


def _widths(headings: Sequence[Column], rows: Sequence[Sequence[list[Span]]], width: int) -> list[int]:
    """As wide as what is in them; while that is too much for the terminal, the widest gives way."""
    widths = [
        max([cells_of(heading.title), *(sum(cells_of(span.text) for span in row[place]) for row in rows)])
        for place, heading in enumerate(headings)
    ]
    room = width - COLUMN_GAP * (len(widths) - 1)
    while sum(widths) > room and max(widths) > COLUMN_WIDTH_MIN:
        widest = widths.index(max(widths))
        others = [each for place, each in enumerate(widths) if place != widest]
        next_widest = max(others, default=0)
        give = min(sum(widths) - room, max(widths[widest] - max(next_widest, COLUMN_WIDTH_MIN), 1))
        widths[widest] -= give
    return widths


def _cut(spans: list[Span], width: int) -> list[Span]:
    line: list[Span] = []
    for place, span in enumerate(spans):
        more = place < len(spans) - 1 and any(each.text for each in spans[place + 1 :])
        if cells_of(span.text) > width or (more and cells_of(span.text) == width):
            line.append(Span(cut_to(span.text + (" " if more else ""), width), span.style))
            return line
        line.append(span)
        width -= cells_of(span.text)
    return line


def _wrapped(spans: list[Span], width: int) -> list[Line]:
    """Broken at spaces; a word that is longer than the line is cut into lines."""
    lines: list[Line] = [[]]
    used = 0
    for span in spans:
        for word in _words(span.text, width):
            if used and used + cells_of(word.rstrip()) > width:
                lines.append([])
                used = 0
            lines[-1].append(Span(word, span.style))
            used += cells_of(word)
    return [[*line[:-1], Span(line[-1].text.rstrip(" "), line[-1].style)] if line else line for line in lines]


def _words(text: str, width: int) -> Iterable[str]:
    for word in text.split(" "):
        while cells_of(word) > width:
            piece = _beginning(word, width)
            yield piece
            word = word[len(piece) :]  # noqa: PLW2901 - what is left of it
        yield f"{word} "


def _joined(parts: Sequence[Sequence[Span]], widths: Sequence[int]) -> Line:
    line: Line = []
    for place, (part, width) in enumerate(zip(parts, widths, strict=True)):
        used = sum(cells_of(span.text) for span in part)
        line += part
        if place < len(parts) - 1:
            line.append(Span(" " * (width - used + COLUMN_GAP)))
    return line

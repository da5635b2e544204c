"""The diagram of entities and relations, as SVG within a page that has its colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from torusdb.modeling.design.charts.content import (
    AttributeRow,
    Content,
    EntityContent,
    cut,
    relation_sign,
    relation_text,
)
from torusdb.modeling.design.charts.diagram_layout import Layout, Point, Size, lay_out
from torusdb.modeling.design.charts.layout import cells_of
from torusdb.modeling.design.charts.markup import Child, Markup, tag
from torusdb.modeling.design.relations import Relation

ROWS_MAX: Final = 8
NAME_CHARACTERS_MAX: Final = 22
TYPE_CHARACTERS_MAX: Final = 16
CHARACTER_WIDTH: Final = 7.25
"""Of a monospaced font of 12 pixels."""
TITLE_CHARACTER_WIDTH: Final = 8.4
TITLE_HEIGHT: Final = 32.0
ROW_HEIGHT: Final = 20.0
PADDING: Final = 12.0
MARK_WIDTH: Final = 26.0
COLUMN_GAP: Final = 20.0
BOX_WIDTH_MIN: Final = 128.0
MARGIN: Final = 4.0
FOOT: Final = 12.0
"""The length of a crow's foot, and half of it to either side."""
STUB: Final = 21.0
LOOP: Final = 26.0

Ids = Mapping[tuple[str, str], str]


def diagram(content: Content, ids: Ids, hues: Mapping[tuple[str, str], str]) -> Markup:
    """`ids`: the anchors of the entities' own sections; `hues`: the classes of their colours."""
    entities = content.entities
    places = {(each.table, each.name): place for place, each in enumerate(entities)}
    shown = [_rows(each) for each in entities]
    sizes = [_size(entity, rows) for entity, rows in zip(entities, shown, strict=True)]
    edges = [
        (places[each.parent.table.name, each.parent.name], places[each.child.table.name, each.child.name])
        for each in content.relations
    ]
    layout = lay_out(sizes, edges)
    lines = [
        _line(relation, points, layout, sizes, edge[0])
        for relation, points, edge in zip(content.relations, layout.lines, edges, strict=True)
    ]
    boxes = [
        _box(entity, rows, corner, size, ids[entity.table, entity.name], hues[entity.table, entity.name])
        for entity, rows, corner, size in zip(entities, shown, layout.boxes, sizes, strict=True)
    ]
    room = LOOP if any(one == other for one, other in edges) else 0.0
    width, height = layout.width + room + 2 * MARGIN, layout.height + 2 * MARGIN
    return tag(
        "svg",
        tag("title", f"The entities of {content.name} and how they are related"),
        lines,
        boxes,
        class_="er",
        role="group",
        viewBox=f"{-MARGIN:g} {-MARGIN:g} {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        style=f"--er-width:{width:g}px",
    )


# ------------------------------------------------------------------------------------------------------------- boxes


def _rows(entity: EntityContent) -> list[AttributeRow]:
    """The identity and the references first; of the others, as many as there is room for."""
    return sorted(entity.attributes, key=lambda each: (not each.in_identity, not each.refers_to))[:ROWS_MAX]


def _size(entity: EntityContent, rows: Sequence[AttributeRow]) -> Size:
    names = max((cells_of(cut(each.name, NAME_CHARACTERS_MAX)) for each in rows), default=0)
    types = max((cells_of(cut(each.type, TYPE_CHARACTERS_MAX)) for each in rows), default=0)
    inner = MARK_WIDTH + names * CHARACTER_WIDTH + COLUMN_GAP + types * CHARACTER_WIDTH
    title = cells_of(cut(entity.name, NAME_CHARACTERS_MAX)) * TITLE_CHARACTER_WIDTH
    lines = len(rows) + (len(entity.attributes) > len(rows))
    return Size(max(BOX_WIDTH_MIN, max(inner, title) + 2 * PADDING), TITLE_HEIGHT + lines * ROW_HEIGHT + PADDING / 2)


def _box(
    entity: EntityContent, rows: Sequence[AttributeRow], corner: Point, size: Size, anchor: str, hue: str
) -> Markup:
    x, y = corner
    parts: list[Child] = [
        tag("rect", class_="box", x=f"{x:g}", y=f"{y:g}", width=f"{size.width:g}", height=f"{size.height:g}", rx=7),
        tag("path", class_="head", d=_head(x, y, size.width)),
        _text("name", cut(entity.name, NAME_CHARACTERS_MAX), x + PADDING, y + 21),
    ]
    for number, each in enumerate(rows):
        baseline = y + TITLE_HEIGHT + number * ROW_HEIGHT + 16
        mark = "●" * each.in_identity + "→" * bool(each.refers_to)
        parts += [
            _text("mark", mark, x + PADDING, baseline) if mark else None,
            _text("field", cut(each.name, NAME_CHARACTERS_MAX), x + PADDING + MARK_WIDTH, baseline),
            _text("type", cut(each.type, TYPE_CHARACTERS_MAX), x + size.width - PADDING, baseline, anchor="end"),
        ]
    more = len(entity.attributes) - len(rows)
    if more:
        baseline = y + TITLE_HEIGHT + len(rows) * ROW_HEIGHT + 15
        parts.append(_text("type", f"and {more} more", x + PADDING + MARK_WIDTH, baseline))
    return tag("a", parts, href=f"#{anchor}", class_=hue, aria_label=f"Entity {entity.name}")


def _head(x: float, y: float, width: float) -> str:
    """The upper part of a box, whose upper corners only are round."""
    right, bottom = x + width, y + TITLE_HEIGHT
    return (
        f"M{x:g} {bottom:g}V{y + 7:g}Q{x:g} {y:g} {x + 7:g} {y:g}H{right - 7:g}Q{right:g} {y:g} {right:g} {y + 7:g}"
        f"V{bottom:g}Z"
    )


def _text(kind: str, text: str, x: float, y: float, *, anchor: str | None = None) -> Markup:
    return tag("text", text, class_=kind, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor)


# ------------------------------------------------------------------------------------------------------------- lines


def _line(relation: Relation, points: list[Point], layout: Layout, sizes: Sequence[Size], box: int) -> Markup:
    """From the parent to the child, with a sign at both ends: how many there can be."""
    said = f"{relation.parent.name} {relation_sign(relation)} {relation.child.name}: {relation_text(relation)}"
    if not points:
        points = _loop(layout.boxes[box], sizes[box])
        path = "M" + "L".join(f"{each.x:g} {each.y:g}" for each in points)
    else:
        path = _curve(points)
    ends = _ends(points)
    return tag(
        "g",
        tag("title", said),
        tag("path", class_="line", d=path),
        _many(ends[1]) if relation.many else _bar(ends[1], FOOT),
        _circle(ends[1], FOOT + 5),
        _bar(ends[0], FOOT - 4),
        _circle(ends[0], FOOT + 2) if relation.optional else _bar(ends[0], FOOT),
        class_=f"relation by-{relation.basis}",
    )


def _loop(corner: Point, size: Size) -> list[Point]:
    """From the side of a box back to it."""
    right = corner.x + size.width
    upper, lower = corner.y + 12, corner.y + TITLE_HEIGHT + ROW_HEIGHT
    return [Point(right, upper), Point(right + LOOP, upper), Point(right + LOOP, lower), Point(right, lower)]


def _curve(points: Sequence[Point]) -> str:
    """Upright where it meets a box, for the signs there."""
    first, last = points[0], points[-1]
    down = 1 if last.y > first.y else -1
    path = f"M{first.x:g} {first.y:g}"
    stub = Point(first.x, first.y + down * STUB)
    for one, other in pairwise([first, stub, *points[1:-1], _before(last, down), last]):
        if one.x == other.x:
            path += f"V{other.y:g}"
        else:
            middle = (one.y + other.y) / 2
            path += f"C{one.x:g} {middle:g} {other.x:g} {middle:g} {other.x:g} {other.y:g}"
    return path


def _before(last: Point, down: int) -> Point:
    return Point(last.x, last.y - down * STUB)


class _End:
    """Of a line: where it meets the box, and the direction away from it."""

    __slots__ = ("across", "at", "away")

    def __init__(self, at: Point, toward: Point, *, level: bool) -> None:
        step = toward.x - at.x if level else toward.y - at.y
        sign = 1.0 if step >= 0 else -1.0
        self.at = at
        self.away = Point(sign, 0.0) if level else Point(0.0, sign)
        self.across = Point(0.0, 1.0) if level else Point(1.0, 0.0)

    def point(self, away: float, across: float = 0.0) -> str:
        x = self.at.x + self.away.x * away + self.across.x * across
        y = self.at.y + self.away.y * away + self.across.y * across
        return f"{x:g} {y:g}"


def _ends(points: Sequence[Point]) -> tuple[_End, _End]:
    level = points[0].y == points[1].y
    return _End(points[0], points[1], level=level), _End(points[-1], points[-2], level=level)


def _many(end: _End) -> Markup:
    prongs = "".join(f"M{end.point(FOOT)}L{end.point(0, across)}" for across in (-FOOT / 2, FOOT / 2))
    return tag("path", class_="sign", d=prongs)


def _bar(end: _End, away: float) -> Markup:
    return tag("path", class_="sign", d=f"M{end.point(away, -FOOT / 2)}L{end.point(away, FOOT / 2)}")


def _circle(end: _End, away: float) -> Markup:
    x, y = end.point(away).split()
    return tag("circle", class_="sign", cx=x, cy=y, r=4)

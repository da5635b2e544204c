"""The diagram of the page: where its boxes and lines are, and that its colours can be read."""

from __future__ import annotations

import colorsys
import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.modeling import shop as shop_model
from tests.modeling.design.designs import design_from
from torusdb.modeling.design import check
from torusdb.modeling.design.charts.diagram_layout import Layout, Point, Size, lay_out
from torusdb.modeling.design.charts.style import hue, style_sheet

SIZES = st.builds(Size, st.integers(40, 300).map(float), st.integers(30, 260).map(float))
GRAPHS = st.lists(SIZES, max_size=12).flatmap(
    lambda sizes: st.tuples(
        st.just(sizes),
        st.lists(st.tuples(*[st.integers(0, len(sizes) - 1)] * 2), max_size=16) if sizes else st.just([]),
    )
)


def overlaps(one: Point, its: Size, other: Point, their: Size) -> bool:
    return (
        one.x < other.x + their.width
        and other.x < one.x + its.width
        and one.y < other.y + their.height
        and other.y < one.y + its.height
    )


@given(GRAPHS)
def test_boxes_do_not_overlap_and_lines_join_them(graph: tuple[list[Size], list[tuple[int, int]]]) -> None:
    sizes, edges = graph
    layout = lay_out(sizes, edges)
    boxes = list(zip(layout.boxes, sizes, strict=True))
    assert not any(overlaps(*one, *other) for one, other in combinations(boxes, 2))
    for corner, size in boxes:
        assert corner.x >= -1e-6
        assert corner.y >= 0
        assert corner.x + size.width <= layout.width + 1e-6
        assert corner.y + size.height <= layout.height + 1e-6
    for (one, other), line in zip(edges, layout.lines, strict=True):
        if one == other:
            assert line == []
            continue
        for box, end in ((one, line[0]), (other, line[-1])):
            corner, size = boxes[box]
            assert corner.x < end.x < corner.x + size.width
            assert min(abs(end.y - corner.y), abs(end.y - corner.y - size.height)) < 1e-6
        falls = [second.y >= first.y for first, second in pairwise(line)]
        assert len(set(falls)) == 1, "down all the way, or up"


@given(GRAPHS)
def test_lines_go_round_boxes(graph: tuple[list[Size], list[tuple[int, int]]]) -> None:
    """Within a layer they are upright, and there is no box where they are."""
    sizes, edges = graph
    layout = lay_out(sizes, edges)
    for (one, other), line in zip(edges, layout.lines, strict=True):
        for first, second in pairwise(line):
            if first.x == second.x:
                upper, lower = sorted((first.y, second.y))
                for box, (corner, size) in enumerate(zip(layout.boxes, sizes, strict=True)):
                    if box not in {one, other} and corner.y < lower and upper < corner.y + size.height:
                        assert not corner.x < first.x < corner.x + size.width


def test_who_is_referred_to_is_above() -> None:
    sizes = [Size(100, 50)] * 4
    layout = lay_out(sizes, [(2, 0), (0, 1), (2, 1), (3, 1)])
    tops = [corner.y for corner in layout.boxes]
    assert tops[2] < tops[0] < tops[1]
    assert tops[3] == tops[0], "near to what hangs on it"


def test_the_same_graph_has_the_same_layout() -> None:
    def made() -> Layout:
        return lay_out([Size(100, 60)] * 6, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0), (4, 3)])

    assert made() == made()


def test_crossings_that_can_be_avoided_are() -> None:
    layout = lay_out([Size(100, 50)] * 4, [(0, 3), (1, 2)])
    xs = [corner.x for corner in layout.boxes]
    assert (xs[0] < xs[1]) == (xs[3] < xs[2])


def test_an_entity_can_refer_to_its_own_kind() -> None:
    svg = check(
        design_from("""
t = Table("things", partition_key="pk")
class Category(Entity, table=t):
    key = Key("CATEGORY#{id}")
    id: Attr[str]
    parent: Attr[str | None] = None
""")
    ).html()
    assert "Category 0..1─n Category: Category.parent = Category.id, by its name" in svg


def test_the_shop_is_drawn() -> None:
    html = check(shop_model).html()
    (svg,) = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert re.findall(r'<a href="#entity-(\w+)"', svg) == ["Customer", "Order", "Product"]
    assert svg.count('class="line"') == 1
    assert "Customer 1─n Order: Order.customer = Customer.id" in svg


# ----------------------------------------------------------------------------------------------------------- colours


def luminance(color: tuple[float, float, float]) -> float:
    """As WCAG 2 has it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def from_hex(text: str) -> tuple[float, float, float]:
    red, green, blue = (int(text[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue


def modes() -> list[dict[str, str]]:
    """The variables of light and dark."""
    light, dark = re.findall(r":root \{([^}]*--ground[^}]*)\}", style_sheet(0))
    return [dict(re.findall(r"--([\w-]+): ([^;]+);", block)) for block in (light, dark)]


def test_texts_can_be_read_in_light_and_dark() -> None:
    for mode in modes():
        for ground in ("ground", "panel", "stripe", "code"):
            for ink in ("ink", "soft", "link", "error", "warning", "note"):
                assert contrast(from_hex(mode[ink]), from_hex(mode[ground])) >= 4.5, (ink, ground)


@pytest.mark.parametrize("place", range(40))
def test_colours_of_entities_can_be_read(place: int) -> None:
    for mode in modes():

        def color(kind: str, mode: dict[str, str] = mode) -> tuple[float, float, float]:
            light, strength = (float(mode[f"{kind}-{part}"].rstrip("%")) / 100 for part in ("light", "strength"))
            return colorsys.hls_to_rgb(hue(place) / 360, light, strength)

        assert contrast(color("deep"), color("tint")) >= 4.5

"""Where the boxes and lines of a diagram go, in layers: who is referred to is above those who refer to it.

The steps are those of Sugiyama, each in its simplest form: lines that would go up are turned for the time being; every
box comes one layer below the lowest that it hangs on; a line that passes layers has a place in each; the places of a
layer are ordered by what they hang on, as long as that leaves fewer crossings; and each is moved to the middle of what
it hangs on, as far as its neighbours let it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

BOX_GAP: Final = 36.0
LINE_GAP: Final = 18.0
LAYER_GAP: Final = 84.0
ROW_WIDTH_MAX: Final = 1100.0
"""Of the boxes without lines, which stand in rows below all others."""
ORDERING_SWEEPS: Final = 12
PLACING_SWEEPS: Final = 24
PORTS_SHARE: Final = 0.7
"""Lines begin and end within so much of a box's width."""


class Size(NamedTuple):
    width: float
    height: float


class Point(NamedTuple):
    x: float
    y: float


class Layout(NamedTuple):
    """`boxes`: the upper left corners; `lines`: the points that each goes through, downward from the first box to the
    second, or upward where `turned` says so."""

    width: float
    height: float
    boxes: list[Point]
    lines: list[list[Point]]


class _Node:
    """A box, or the place of a line in a layer (`box` None)."""

    __slots__ = ("above", "below", "box", "layer", "width", "x")

    def __init__(self, layer: int, width: float, box: int | None) -> None:
        self.layer = layer
        self.width = width
        self.box = box
        self.x = 0.0
        self.above: list[_Node] = []
        self.below: list[_Node] = []


def lay_out(sizes: Sequence[Size], edges: Sequence[tuple[int, int]]) -> Layout:
    """`edges`: from a box to one that hangs on it. A box can hang on itself; such a line has no points."""
    proper = [(one, other) for one, other in edges if one != other]
    connected = sorted({box for edge in proper for box in edge})
    downward = _downward(connected, proper)
    layer_of = _layers(connected, downward)
    nodes = {box: _Node(layer_of[box], sizes[box].width, box) for box in connected}
    chains = [_chain(nodes[one], nodes[other]) for one, other in downward]
    layers = _by_layer([*nodes.values(), *(node for chain in chains for node in chain[1:-1])])
    _order(layers)
    _place(layers)
    tops, bottom = _tops(layers, sizes)
    boxes = [Point(0, 0)] * len(sizes)
    for box, node in nodes.items():
        boxes[box] = Point(node.x - node.width / 2, tops[node.layer][0])
    lines = dict(zip(range(len(downward)), _lines(chains, sizes, tops), strict=True))
    ordered = _as_given(edges, proper, downward, lines)
    width = max((node.x + node.width / 2 for node in nodes.values()), default=0.0)
    alone = [box for box in range(len(sizes)) if box not in nodes]
    width, bottom = _rows(alone, sizes, boxes, width, bottom)
    return Layout(width, bottom, boxes, ordered)


def _downward(boxes: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges, with those turned that close a circle."""
    below: dict[int, list[int]] = {box: [other for one, other in edges if one == box] for box in boxes}
    state: dict[int, str] = {}
    turned: set[tuple[int, int]] = set()

    def visit(box: int) -> None:
        state[box] = "open"
        for other in below[box]:
            if state.get(other) == "open":
                turned.add((box, other))
            elif other not in state:
                visit(other)
        state[box] = "done"

    for box in boxes:
        if box not in state:
            visit(box)
    return [(other, one) if (one, other) in turned else (one, other) for one, other in edges]


def _layers(boxes: Sequence[int], edges: Sequence[tuple[int, int]]) -> dict[int, int]:
    above = {box: [one for one, other in edges if other == box] for box in boxes}
    below = {box: [other for one, other in edges if one == box] for box in boxes}
    layer: dict[int, int] = {}

    def depth(box: int) -> int:
        if box not in layer:
            layer[box] = max((depth(each) + 1 for each in above[box]), default=0)
        return layer[box]

    for box in boxes:
        depth(box)
    for box in boxes:  # what hangs on nothing comes down to what hangs on it
        if not above[box]:
            layer[box] = min(layer[each] for each in below[box]) - 1
    return layer


def _chain(one: _Node, other: _Node) -> list[_Node]:
    """From one to the other, with a place in each layer between them."""
    between = [_Node(layer, 0.0, None) for layer in range(one.layer + 1, other.layer)]
    chain = [one, *between, other]
    for upper, lower in pairwise(chain):
        upper.below.append(lower)
        lower.above.append(upper)
    return chain


def _by_layer(nodes: Sequence[_Node]) -> list[list[_Node]]:
    count = max((node.layer for node in nodes), default=-1) + 1
    return [[node for node in nodes if node.layer == layer] for layer in range(count)]


# ------------------------------------------------------------------------------------------------- the order in layers


def _order(layers: list[list[_Node]]) -> None:
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(ORDERING_SWEEPS):
        downward = sweep % 2 == 0
        for layer in layers[1:] if downward else layers[-2::-1]:
            _sort_by_neighbours(layers, layer, downward)
        crossings = _crossings(layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    for layer, order in zip(layers, best, strict=True):
        layer[:] = order


def _sort_by_neighbours(layers: list[list[_Node]], layer: list[_Node], downward: bool) -> None:
    places = {id(node): place for each in layers for place, node in enumerate(each)}

    def middle(node: _Node) -> float:
        neighbours = node.above if downward else node.below
        if not neighbours:
            return places[id(node)]
        return sum(places[id(each)] for each in neighbours) / len(neighbours)

    layer.sort(key=middle)


def _crossings(layers: list[list[_Node]]) -> int:
    count = 0
    for upper, lower in pairwise(layers):
        places = {id(node): place for place, node in enumerate(lower)}
        ends = [places[id(each)] for node in upper for each in sorted(node.below, key=lambda each: places[id(each)])]
        count += sum(first > second for place, first in enumerate(ends) for second in ends[place + 1 :])
    return count


# ------------------------------------------------------------------------------------------------------------ places


def _place(layers: list[list[_Node]]) -> None:
    for layer in layers:
        _move(layer, [0.0] * len(layer))
    for sweep in range(PLACING_SWEEPS):
        downward = sweep % 2 == 0
        for layer in layers if downward else reversed(layers):
            _move(layer, [_wanted(node, both=sweep >= PLACING_SWEEPS // 2, downward=downward) for node in layer])
    left = min((node.x - node.width / 2 for layer in layers for node in layer), default=0.0)
    for layer in layers:
        for node in layer:
            node.x -= left


def _wanted(node: _Node, *, both: bool, downward: bool) -> float:
    neighbours = [*node.above, *node.below] if both else node.above if downward else node.below
    return sum(each.x for each in neighbours) / len(neighbours) if neighbours else node.x


def _move(layer: list[_Node], wanted: list[float]) -> None:
    """As near to what is wanted as the gaps allow: the least sum of squares, by pooling neighbours that would come too
    near to each other."""
    offsets = [0.0]
    for left, right in pairwise(layer):
        gap = BOX_GAP if left.box is not None and right.box is not None else LINE_GAP
        offsets.append(offsets[-1] + left.width / 2 + gap + right.width / 2)
    pools: list[tuple[float, int]] = []
    for place, offset in zip(wanted, offsets, strict=False):
        total, count = place - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before, several = pools.pop()
            total, count = total + before, count + several
        pools.append((total, count))
    means = [total / count for total, count in pools for _ in range(count)]
    for node, mean, offset in zip(layer, means, offsets, strict=False):
        node.x = mean + offset


def _tops(layers: list[list[_Node]], sizes: Sequence[Size]) -> tuple[list[tuple[float, float]], float]:
    """Where each layer begins and ends."""
    tops, y = [], 0.0
    for layer in layers:
        height = max((sizes[node.box].height for node in layer if node.box is not None), default=0.0)
        tops.append((y, y + height))
        y += height + LAYER_GAP
    return tops, max(y - LAYER_GAP, 0.0)


def _lines(
    chains: Sequence[list[_Node]], sizes: Sequence[Size], tops: Sequence[tuple[float, float]]
) -> list[list[Point]]:
    """Lines of one box begin, and end, side by side, in the order of where they go."""
    begins = _ports([(chain[0], chain[1].x) for chain in chains])
    ends = _ports([(chain[-1], chain[-2].x) for chain in chains])
    lines = []
    for chain, begin, end in zip(chains, begins, ends, strict=True):
        first = chain[0]
        assert first.box is not None
        points = [Point(begin, tops[first.layer][0] + sizes[first.box].height)]
        if points[0].y < tops[first.layer][1]:
            points.append(Point(begin, tops[first.layer][1]))
        for node in chain[1:-1]:
            points += [Point(node.x, y) for y in tops[node.layer]]
        lines.append([*points, Point(end, tops[chain[-1].layer][0])])
    return lines


def _ports(ends: Sequence[tuple[_Node, float]]) -> list[float]:
    ports = [0.0] * len(ends)
    for node in {id(node): node for node, _ in ends}.values():
        mine = sorted((toward, place) for place, (each, toward) in enumerate(ends) if each is node)
        for number, (_, place) in enumerate(mine):
            ports[place] = node.x + node.width * PORTS_SHARE * ((number + 0.5) / len(mine) - 0.5)
    return ports


def _as_given(
    edges: Sequence[tuple[int, int]],
    proper: Sequence[tuple[int, int]],
    downward: Sequence[tuple[int, int]],
    lines: dict[int, list[Point]],
) -> list[list[Point]]:
    """The line of each edge, from its first box to its second."""
    found: list[list[Point]] = []
    place = 0
    for one, other in edges:
        if one == other:
            found.append([])
            continue
        found.append(lines[place] if proper[place] == downward[place] else lines[place][::-1])
        place += 1
    return found


def _rows(
    alone: Sequence[int], sizes: Sequence[Size], boxes: list[Point], width: float, bottom: float
) -> tuple[float, float]:
    """Puts boxes without lines into rows below the others; answers the width and the height of all."""
    rows: list[list[int]] = []
    room = 0.0
    for box in alone:
        if not rows or sizes[box].width > room:
            rows.append([])
            room = max(width, ROW_WIDTH_MAX)
        rows[-1].append(box)
        room -= sizes[box].width + BOX_GAP
    for row in rows:
        y = bottom + BOX_GAP if bottom else 0.0
        x = max(width - sum(sizes[box].width + BOX_GAP for box in row) + BOX_GAP, 0.0) / 2
        for box in row:
            boxes[box] = Point(x, y)
            x += sizes[box].width + BOX_GAP
            bottom = max(bottom, y + sizes[box].height)
        width = max(width, x - BOX_GAP)
    return width, bottom

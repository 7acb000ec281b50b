"""Graph drawing: boxes in layers from top to bottom, and lines around them.

The method of Sugiyama, Tagawa and Toda (1981): layers by longest path, dummy points on long lines,
order within a layer by the mean position of neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

BOX = (256.0, 58.0)  # width and height
GAP = (26.0, 34.0)  # between boxes, and between layers
LANE = 14.0  # width of a line that passes a layer
# lines that cross more layers than this are drawn around the whole picture
LONGEST = 12
SWEEPS = 8

Point = tuple[float, float]


@dataclass
class Placed:
    """Centres of the boxes, points of each line, and the size of the picture."""

    boxes: list[Point]
    lines: list[list[Point]]
    size: tuple[float, float]


@dataclass
class _Spot:
    """A box, or (without a row) a place where a line crosses a layer."""

    row: int | None
    x: float = 0.0

    @property
    def width(self) -> float:
        return LANE if self.row is None else BOX[0] + GAP[0]


def place(count: int, edges: Sequence[tuple[int, int]]) -> Placed:
    """Places `count` boxes so that each edge, which leads to a later box, goes down."""
    depth = [0] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        depth[target] = max(depth[target], depth[source] + 1)
    layers: list[list[_Spot]] = [[] for _ in range(max(depth, default=-1) + 1)]
    spots = [_Spot(i) for i in range(count)]
    for spot, layer in zip(spots, depth, strict=True):
        layers[layer].append(spot)
    chains: list[list[_Spot]] = []
    for source, target in edges:
        span = depth[target] - depth[source]
        passing = [_Spot(None) for _ in range(span - 1)] if span <= LONGEST else []
        for i, spot in enumerate(passing):
            layers[depth[source] + 1 + i].append(spot)
        chains.append([spots[source], *passing, spots[target]])
    _arrange(layers, [c for c, (a, b) in zip(chains, edges, strict=True)
                      if depth[b] - depth[a] <= LONGEST])
    return _finish(spots, depth, chains, layers)


def _arrange(layers: Sequence[list[_Spot]], chains: Sequence[Sequence[_Spot]]) -> None:
    """Moves each spot towards its neighbours in the layer above, then below, in turns."""
    above: dict[int, list[_Spot]] = {}
    below: dict[int, list[_Spot]] = {}
    for chain in chains:
        for upper, lower in pairwise(chain):
            above.setdefault(id(lower), []).append(upper)
            below.setdefault(id(upper), []).append(lower)
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            near = above if down else below
            wanted = [_mean([n.x for n in near.get(id(spot), [spot])]) for spot in layer]
            order = sorted(range(len(layer)), key=lambda i: wanted[i])
            layer[:] = [layer[i] for i in order]
            _spread(layer, [wanted[i] for i in order])


def _spread(layer: Sequence[_Spot], wanted: Sequence[float]) -> None:
    """Places spots as near as possible to where they want to be, in order, without overlap."""
    # spots that push one another form a group around the mean of their wanted places
    groups: list[tuple[list[_Spot], float, float]] = []  # spots, sum of wanted starts, width
    for spot, x in zip(layer, wanted, strict=True):
        spots, total, width = [spot], x - spot.width / 2, spot.width
        while groups:
            other, other_total, other_width = groups[-1]
            if other_total / len(other) + other_width <= total / len(spots):
                break
            groups.pop()
            total = other_total + total - other_width * len(spots)
            spots, width = other + spots, other_width + width
        groups.append((spots, total, width))
    for spots, total, _ in groups:
        left = total / len(spots)
        for spot in spots:
            spot.x = left + spot.width / 2
            left += spot.width


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _finish(spots: Sequence[_Spot], depth: Sequence[int], chains: Sequence[Sequence[_Spot]],
            layers: Sequence[Sequence[_Spot]]) -> Placed:
    everything = [spot for layer in layers for spot in layer]
    left = min((s.x - s.width / 2 for s in everything), default=0.0)
    right = max((s.x + s.width / 2 for s in everything), default=0.0) - left
    step = BOX[1] + GAP[1]
    boxes = [(spot.x - left, layer * step + step / 2)
             for spot, layer in zip(spots, depth, strict=True)]
    lines: list[list[Point]] = []
    lane = 0
    for chain in chains:
        source, target = chain[0].row, chain[-1].row
        assert source is not None
        assert target is not None
        top, end = boxes[source], boxes[target]
        points = [(top[0], top[1] + BOX[1] / 2)]
        if len(chain) == 2 and depth[target] - depth[source] > 1:
            aside = right + LANE * (1 + lane % 24) / 2
            lane += 1
            points += [(aside, top[1] + step), (aside, end[1] - step)]
        for i, spot in enumerate(chain[1:-1], depth[source] + 1):
            middle = i * step + step / 2
            # vertical beside boxes, bent between layers
            points += [(spot.x - left, middle - BOX[1] / 2), (spot.x - left, middle + BOX[1] / 2)]
        points.append((end[0], end[1] - BOX[1] / 2))
        lines.append(points)
    return Placed(boxes, lines, (right + (LANE * 13 if lane else 0.0), len(layers) * step))

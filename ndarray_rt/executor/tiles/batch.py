"""Batch tiles: the first layers of a network run for a few samples at a time. Runs nothing.

The results of the first convolutions of a batch do not fit into caches, so that the next layer
reads them from memory. One tile of the batch goes through all these layers before the next one
starts; the results of all tiles are contiguous and form that of the whole batch (in-place concat).
Later layers, with smaller images and larger weights, run for the whole batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple

from ... import config
from ...dtypes import DType
from ...errors import MXNetError
from ...op.registry import find
from ...symbol.node import Entry, Node, topological
from ..program.bound_graph import Facts, infer_shapes
from .cpu_caches import shared_cache_bytes
from .lanes import lane_count

Shape = tuple[int, ...]


class Tiling(NamedTuple):
    """The nodes up to number `cut`, in the graph's order, run for `samples` samples at a time."""

    cut: int
    samples: int


class Tiled(NamedTuple):
    """A graph in tiles.

    `parts` are the new variables: each is the samples [begin, end) of a variable. `made_of` maps a
    new node to the node of the whole batch, `tile_of` to the number of its tile.
    """

    heads: list[Entry]
    facts: Facts
    parts: dict[Entry, tuple[Entry, int, int]]
    made_of: dict[Node, Node]
    tile_of: dict[Node, int]


def may_tile() -> bool:
    """The switches allow tiles and the in-place concat of their results."""
    return config.NDRT_BATCH_TILES and config.NDRT_PLAN_MEMORY


def choose_tiling(heads: Sequence[Entry], facts: Facts, samples: int = 0) -> Tiling | None:
    """Where tiles end and how large they are, by the size of caches; None if tiles do not pay.

    A model: data that exceeds a cache is moved to and from memory once less per layer, and weights
    that do not fit beside the data are read from memory once per tile. `samples` is the size of a
    tile, if given.
    """
    if not may_tile():
        return None
    region = Region(heads, facts)
    cache = shared_cache_bytes()
    bytes_of = [region.bytes_of(node) for _, node in region.nodes]
    if max(bytes_of, default=0) <= cache // 2:
        return None  # everything stays in the cache
    moved = weights = most = best = 0
    chosen: Tiling | None = None
    for (at, node), touched in zip(region.nodes, bytes_of, strict=True):
        moved += touched if touched > cache // 2 else 0
        most = max(most, touched)
        weights += region.weight_bytes(node)
        if at not in region.cuts:
            continue
        size = samples or _samples(region.batch, most, cache * 2 // 5, lane_count())
        tiles = region.batch // size
        cost = weights * (tiles - 1) if weights > cache // 2 else 0
        if tiles > 1 and moved - cost > best:
            best, chosen = moved - cost, Tiling(at, size)
    return chosen


def _samples(batch: int, touched: int, room: int, lanes: int) -> int:
    """The most samples that divide the batch and fit, for all lanes, into `room` bytes; at least 1.
    """
    if batch % lanes:
        lanes = 1
    fitting = [n for n in range(1, batch + 1)
               if batch % (n * lanes) == 0 and touched // batch * n * lanes <= room]
    return max(fitting, default=1)


class Region:
    """The nodes of a graph that may run in tiles: those before the first that may not."""

    def __init__(self, heads: Sequence[Entry], facts: Facts) -> None:
        self._facts = facts
        self._heads = heads
        self._order = order = topological(heads)
        self._read = {*heads, *(entry for node in order for entry in node.inputs)}
        self.data = _data_of(order, facts.shapes)
        self.batch = 0 if self.data is None else facts.shapes[self.data][0]
        self.nodes: list[tuple[int, Node]] = []
        if self.data is None or self.batch < 2:
            return
        self._samples = {self.data}
        for at, node in enumerate(order):
            if node.op is None or not any(entry in self._samples for entry in node.inputs):
                continue
            if not self._may_tile(node):
                break
            self._samples.add(Entry(node, 0))
            self.nodes.append((at, node))

    def _may_tile(self, node: Node) -> bool:
        """Each sample of its output depends on the same samples of its inputs, and only outputs
        of that kind are read."""
        assert node.op is not None
        assert node.params is not None
        shape = self._facts.shapes[Entry(node, 0)]
        return (len(shape) > 1 and shape[0] == self.batch
                and node.op.is_per_sample(node.params, len(shape))
                and self._read.isdisjoint(node.outputs[1:]))

    @cached_property
    def cuts(self) -> set[int]:
        """Positions after which later nodes read nothing of the region but the result there."""
        order, found = self._order, set()
        last_read = {entry: at for at, node in enumerate(order) for entry in node.inputs}
        last_read.update(dict.fromkeys(self._heads, len(order)))
        open_until = -1
        for at, node in self.nodes:
            # all earlier results must have been read by now
            if open_until <= at and Entry(node, 0) not in self._heads:
                found.add(at)
            open_until = max(open_until, last_read.get(Entry(node, 0), at))
        return found

    def before(self, tiling: Tiling) -> list[Node]:
        """The nodes that run in tiles."""
        return [node for at, node in self.nodes if at <= tiling.cut]

    def bytes_of(self, node: Node) -> int:
        """Bytes of samples that a node reads and writes."""
        entries = [*(e for e in node.inputs if e in self._samples), Entry(node, 0)]
        return sum(self._nbytes(entry) for entry in entries)

    def weight_bytes(self, node: Node) -> int:
        """Bytes of everything else that it reads."""
        return sum(self._nbytes(e) for e in node.inputs if e not in self._samples)

    def _nbytes(self, entry: Entry) -> int:
        return prod(self._facts.shapes[entry]) * self._facts.types[entry].itemsize


def _data_of(order: Sequence[Node], shapes: Mapping[Entry, Shape]) -> Entry | None:
    """The variable whose samples reach the first convolution, directly or through other nodes."""
    node = next((n for n in order if n.op is not None and n.op.layout_cost), None)
    while node is not None and node.op is not None and node.params is not None and (
            node.op.is_per_sample(node.params, len(shapes[Entry(node, 0)]))):
        node = node.inputs[0].node
    return Entry(node, 0) if node is not None and node.is_variable else None


def in_one_tile(heads: Sequence[Entry], facts: Facts, tiling: Tiling | None,
                ) -> tuple[dict[Entry, Shape], dict[Entry, DType], dict[Node, int]]:
    """Shapes and dtypes of the graph where nodes in tiles have those of one tile, and how often
    each of these nodes runs."""
    shapes, runs = dict(facts.shapes), {}
    if tiling is not None:
        region = Region(heads, facts)
        for node in region.before(tiling):
            runs[node] = region.batch // tiling.samples
            shapes[Entry(node, 0)] = (tiling.samples, *shapes[Entry(node, 0)][1:])
        if region.data is not None:
            shapes[region.data] = (tiling.samples, *shapes[region.data][1:])
    return shapes, facts.types, runs


def tile_batches(heads: Sequence[Entry], facts: Facts, tiling: Tiling | None) -> Tiled:
    """The graph in tiles; unchanged if the tiling belongs to another graph, or if a node's result
    for a tile is not that tile of its output."""
    if tiling is not None:
        region = Region(heads, facts)
        if (region.data is not None and tiling.cut in region.cuts
                and 1 <= tiling.samples < region.batch and region.batch % tiling.samples == 0):
            tiled = _Tiler(heads, facts, region, tiling).tiled()
            if tiled is not None:
                return tiled
    return Tiled(list(heads), facts, {}, {}, {})


class _Tiler:
    """Makes the nodes of the tiles and their Concat, and new nodes for all that read it."""

    def __init__(self, heads: Sequence[Entry], facts: Facts, region: Region,
                 tiling: Tiling) -> None:
        self._heads, self._facts, self._region, self._tiling = heads, facts, region, tiling
        self._order = topological(heads)
        self._nodes = region.before(tiling)
        self._made_of: dict[Node, Node] = {}
        self._tile_of: dict[Node, int] = {}
        self._parts: dict[Entry, tuple[Entry, int, int]] = {}
        self._shapes, self._types = dict(facts.shapes), dict(facts.types)

    def tiled(self) -> Tiled | None:
        assert self._region.data is not None
        samples = self._tiling.samples
        ends = [self._tile(begin) for begin in range(0, self._region.batch, samples)]
        if not self._is_right(ends[0]):
            return None
        concat = find("Concat")
        last = self._nodes[-1]
        params = concat.params.parse({"num_args": str(len(ends)), "dim": "0"}, concat.name)
        join = Node(concat, f"{last.name}_tiles", {}, params, ends)
        whole = Entry(join, 0)
        self._shapes[whole] = self._facts.shapes[Entry(last, 0)]
        self._types[whole] = self._facts.types[Entry(last, 0)]
        inside = set(self._nodes)
        moved: dict[Entry, Entry] = {Entry(last, 0): whole}
        for node in self._order:
            if node not in inside and any(entry in moved for entry in node.inputs):
                self._renew(node, moved)
        return Tiled([moved.get(head, head) for head in self._heads],
                     Facts(self._shapes, self._types), self._parts, self._made_of, self._tile_of)

    def _tile(self, begin: int) -> Entry:
        """Makes the nodes of one tile; returns its result."""
        data = self._region.data
        assert data is not None
        end = begin + self._tiling.samples
        part = Entry(Node(None, f"{data.node.name}[{begin}:{end}]"), 0)
        self._parts[part] = data, begin, end
        self._shapes[part] = (end - begin, *self._facts.shapes[data][1:])
        self._types[part] = self._facts.types[data]
        moved = {data: part}
        for node in self._nodes:
            self._tile_of[self._renew(node, moved)] = begin // self._tiling.samples
            entry = Entry(node, 0)
            self._shapes[moved[entry]] = (end - begin, *self._facts.shapes[entry][1:])
        return moved[Entry(self._nodes[-1], 0)]

    def _renew(self, node: Node, moved: dict[Entry, Entry]) -> Node:
        """A new node of the same operator, on the new inputs."""
        made = node.over([moved.get(entry, entry) for entry in node.inputs])
        self._made_of[made] = node
        for old, new in zip(node.outputs, made.outputs, strict=True):
            moved[old] = new
            self._shapes[new] = self._facts.shapes[old]
            if old in self._facts.types:
                self._types[new] = self._facts.types[old]
        return made

    def _is_right(self, end: Entry) -> bool:
        """Shape inference for the first tile agrees with the shapes of the whole batch."""
        nodes = topological([end])
        variables = {node.name: Entry(node, 0) for node in nodes if node.is_variable}
        try:
            found = infer_shapes([end], {n: self._shapes[e] for n, e in variables.items()})
        except MXNetError:
            return False
        return all(shape == self._shapes[entry] for entry, shape in found.items())

"""Ranges that calibration found, as parameters of the quantized layers that have them: what MXNet's
backend MKLDNN_QUANTIZE makes of a quantized graph.

A layer then writes 8-bit numbers itself, or floats, in place of int32 sums for a node behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..symbol.node import Entry, Node
from ..symbol.subgraph import reparsed
from .fuse_layers import CONV, DENSE, SCORES, WEIGHTED, Reads
from .quantize import range_text
from .rewrite import Heads, replace

ADD, MULTIPLY = "_contrib_quantized_elemwise_add", "_contrib_quantized_elemwise_mul"
CONCAT, POOL = "_contrib_quantized_concat", "_contrib_quantized_pooling"
REQUANTIZE, DEQUANTIZE = "_contrib_requantize", "_contrib_dequantize"
# what may give floats, and what takes a range
GIVES_FLOATS = (SCORES, WEIGHTED, DENSE, MULTIPLY)
TAKES_RANGE = (CONV, ADD, *GIVES_FLOATS)
LOW, HIGH = "min_calib_range", "max_calib_range"


def fuse_ranges(heads: Sequence[Entry]) -> Heads:
    """The graph with ranges in the layers; those of what is concatenated are made the same."""
    return _align(_fuse(heads))


def _is(node: Node | None, *names: str) -> bool:
    return node is not None and node.op is not None and node.op.name in names


def _fuse(heads: Sequence[Entry]) -> Heads:
    reads = Reads(heads)
    # the last node of what becomes one, and the layer
    layers: dict[Node, Node] = {}
    for node in reads.order:
        if not _is(node, *TAKES_RANGE) or not getattr(node.params, "quantized", True):
            continue
        wider = reads.only_node(node)
        p: Any = None if wider is None else wider.params
        if wider is None or not _is(wider, REQUANTIZE) or p.calibrated is None:
            continue
        floats = reads.only_node(wider) if _is(node, *GIVES_FLOATS) else None
        last = floats if floats is not None and _is(floats, DEQUANTIZE) else wider
        layers[last] = node

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        layer = layers.get(node)
        if layer is None or layer.op is None:
            return None
        attrs = dict(layer.attrs)
        if _is(node, DEQUANTIZE):
            attrs["enable_float_output"] = "True"
        else:
            p: Any = node.params
            low, high = p.calibrated
            # thresholds of entropy have the same distance from 0; uint8 begins there
            attrs.update(_range(max(low, 0) if _gives_no_negatives(layer) else low, high))
        params = reparsed(layer, layer.op, attrs, layer.name)
        inputs = [now[entry] for entry in layer.inputs]
        return Node(layer.op, layer.name, attrs, params, inputs).outputs
    return replace(heads, change)


def _gives_no_negatives(layer: Node) -> bool:
    p: Any = layer.params
    return _is(layer, CONV, DENSE) and p.gives_no_negatives


def _range(low: Any, high: Any) -> dict[str, str]:
    return {LOW: range_text(low), HIGH: range_text(high)}


def _align(heads: Sequence[Entry]) -> Heads:
    """One range for all that is concatenated, so that nothing has to be rounded again."""
    reads = Reads(heads)
    wanted: dict[Node, dict[str, str]] = {}
    for node in reads.order:
        if not _is(node, CONCAT):
            continue
        found = [member for member in _concatenated(node, reads) if member not in wanted]
        if len(found) < 2:
            continue
        low = min(0.0, *(float(member.attrs[LOW]) for member in found))
        high = max(0.0, *(float(member.attrs[HIGH]) for member in found))
        wanted.update(dict.fromkeys(found, _range(low, high)))

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        if node not in wanted or node.op is None:
            return None
        attrs = {**node.attrs, **wanted[node]}
        return Node(node.op, node.name, attrs, reparsed(node, node.op, attrs, node.name),
                    [now[entry] for entry in node.inputs]).outputs
    return replace(heads, change)


def _concatenated(start: Node, reads: Reads) -> list[Node]:
    """Nodes of a calibrated range that only concatenations and poolings around one of them read."""
    passed = {start}
    waiting = [start]
    found: list[Node] = []
    goes_on = len(reads.reading_nodes(start)) <= 1
    while waiting:
        node = waiting.pop(0)
        for before in dict.fromkeys(entry.node for entry in node.inputs):
            if before in passed or before.is_variable or before in found or (
                    not reads.reading_nodes(before) <= passed):
                continue
            if LOW in before.attrs and HIGH in before.attrs:
                found.append(before)
            elif _is(before, CONCAT, POOL):
                passed.add(before)
                waiting.append(before)
        for after in reads.reading_nodes(node) if goes_on else ():
            if _is(after, CONCAT, POOL) and after not in passed:
                passed.add(after)
                waiting.append(after)
    return found


"""A graph on floats as one on 8-bit numbers, and the ranges found by calibration put into it.

Source: MXNet's passes QuantizeGraph and SetCalibTableToQuantizedGraph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ParameterError
from ..op.registry import find
from ..symbol.compose import copy_graph, output_name, parse_params
from ..symbol.node import Entry, Node, topological
from ..symbol.subgraph import SubgraphParams, reparsed
from .quantize_rules import NAMED_OUTPUTS, RULES, Rule

QUANTIZE, SHIFT, DEQUANTIZE, REQUANTIZE = (
    "_contrib_quantize_v2", "_contrib_quantize_asym", "_contrib_dequantize", "_contrib_requantize")
# operators that stand for a calibrated range, of their first input or of their first output
OF_INPUT = frozenset((QUANTIZE, SHIFT, REQUANTIZE))
OF_OUTPUT = frozenset(("_contrib_quantized_batch_norm",))
# operators on floats that can be quantized only where calibration follows
NEED_RANGES = tuple(name for name, rule in RULES.items() if rule.quantized in OF_OUTPUT)
# operators on 8-bit numbers, some of which are on floats without their parameter `quantized`
QUANTIZED = frozenset((QUANTIZE, SHIFT, DEQUANTIZE, REQUANTIZE,
                       *(rule.quantized for rule in RULES.values())))
PREFIX = "quantized_"
MODES = ("full", "smart")
ENOUGH = 1e-5  # of a range: a thousandth of a step


@dataclass(frozen=True)
class Wanted:
    """What is to be quantized, and to which dtype ("int8", "uint8" or "auto").

    Mode "full": all that can be; "smart": what leads, and what lies between. Nodes of the excluded
    names and operators stay on floats, and fused layers with a node of such a name, or whose layer
    is such an operator. Parameters `offline` are quantized beforehand: where the
    graph reads one there are variables <name>_quantize, <name>_quantize_min and _max instead.
    `by_rows`: weights of fused dense layers stay floats, and are rounded row by row.
    """

    dtype: str = "int8"
    mode: str = "smart"
    excluded_names: frozenset[str] = frozenset()
    excluded_ops: Collection[str] = ()
    offline: Collection[str] = ()
    by_rows: bool = False


class Quantized(NamedTuple):
    """The outputs, of floats again; names of the entries of the graph on floats whose ranges are
    wanted; names of nodes that are on 8-bit numbers now."""

    heads: list[Entry]
    calibrated: list[str]
    nodes: list[str]


def quantize(heads: Sequence[Entry], wanted: Wanted) -> Quantized:
    """A new graph; ParameterError for another mode, and for a graph that is quantized already."""
    if wanted.mode not in MODES:
        raise ParameterError(f"unrecognized quantize mode: {wanted.mode!r}, expected 'full' or "
                             "'smart'")
    return _Quantization(heads, wanted).result()


def calibrate(heads: Sequence[Entry], table: Mapping[str, tuple[float, float]]) -> list[Entry]:
    """A copy of a quantized graph with the ranges of a table, by the names that were wanted."""
    made = copy_graph(heads)
    for node in topological(made):
        if node.op is None or node.op.name not in OF_INPUT | OF_OUTPUT:
            continue
        entry = node.inputs[0] if node.op.name in OF_INPUT else Entry(node, 0)
        found = table.get(output_name(entry).removeprefix(PREFIX))
        if found is None:
            continue
        low, high = (range_text(end) for end in found)
        node.attrs = {**node.attrs, "min_calib_range": low, "max_calib_range": high}
        node.params = parse_params(node.op, node.attrs, node.name)
    return made


def range_text(end: Any) -> str:
    """An end of a range as MXNet writes it, with six places, where these say enough of it."""
    number = float(np.float32(end))
    text = f"{number:f}"
    return text if abs(float(text) - number) <= ENOUGH * abs(number) else repr(number)


# ---- which nodes --------------------------------------------------------------------------------


def _chosen(heads: Sequence[Entry], wanted: Wanted) -> dict[Node, Rule]:
    """The nodes that are quantized."""
    order = topological(heads)
    found = {node: rule for node in order if (rule := _rule_of(node, wanted)) is not None}
    if wanted.mode == "full":
        return found
    readers: dict[Node, list[Node]] = {}
    for node in order:
        for entry in node.inputs:
            readers.setdefault(entry.node, []).append(node)
    leads = [node for node, rule in found.items() if rule.leads]
    before = _reached(leads, found, lambda node: [entry.node for entry in node.inputs])
    behind = _reached(leads, found, lambda node: readers.get(node, []))
    return {node: rule for node, rule in found.items()
            if rule.leads or (node in before and node in behind)}


def _refuse_quantized(heads: Sequence[Entry]) -> None:
    """ParameterError for a graph with a node on 8-bit numbers."""
    for node in topological(heads):
        if node.op is not None and node.op.name in QUANTIZED and getattr(
                node.params, "quantized", True):
            raise ParameterError("no node of the graph can be quantized: it is on 8-bit numbers "
                                 f'already, as is {node.op.name} "{node.name}"')


def _rule_of(node: Node, wanted: Wanted) -> Rule | None:
    if (node.op is None or node.op.name not in RULES
            or not wanted.excluded_names.isdisjoint(part.name for part in _parts(node))
            or any(part.op is not None and part.op.name in wanted.excluded_ops
                   for part in _parts(node)[:2])):
        return None
    rule = RULES[node.op.name]
    if not rule.accepts(node.params) or (rule.signed and _may_be_uint8(node, wanted)):
        return None
    return rule.by_rows if wanted.by_rows and rule.by_rows is not None else rule


def _may_be_uint8(node: Node, wanted: Wanted) -> bool:
    """An input of the node, as calibration finds. Fused layers that end in relu give uint8."""
    return wanted.dtype == "auto" or any(
        getattr(entry.node.params, "gives_no_negatives", False) for entry in node.inputs)


def _parts(node: Node) -> list[Node]:
    """A node, and the operators in graphs inside of it: of a fused layer the layer is the first."""
    graphs = node.params.graphs if isinstance(node.params, SubgraphParams) else ()
    return [node, *(inner for graph in graphs for inner in graph.order if not inner.is_variable)]


def _reached(starts: Sequence[Node], found: Mapping[Node, Rule],
             step: Callable[[Node], Sequence[Node]]) -> set[Node]:
    """What is reached from nodes over nodes that follow."""
    reached: set[Node] = set()
    waiting = list(starts)
    while waiting:
        for node in step(waiting.pop()):
            if node in found and not found[node].leads and node not in reached:
                reached.add(node)
                waiting.append(node)
    return reached


# ---- the new graph ------------------------------------------------------------------------------


class _Bytes(NamedTuple):
    """Numbers of 8 bits, and the ends of the range that they stand for."""

    data: Entry
    low: Entry
    high: Entry


class _Quantization:
    def __init__(self, heads: Sequence[Entry], wanted: Wanted) -> None:
        self._heads = heads
        self._wanted = wanted
        self._rules = _chosen(heads, wanted)
        # old node -> the new one that has its outputs, of 8 bits where it is quantized
        self._made: dict[Node, Node] = {}
        self._old: dict[Node, Node] = {}
        # old entry -> the same as the other kind of numbers
        self._bytes: dict[Entry, _Bytes] = {}
        self._shifted: dict[Entry, _Bytes] = {}
        self._floats: dict[Entry, Entry] = {}

    def result(self) -> Quantized:
        if not self._rules:
            _refuse_quantized(self._heads)
        for node in topological(self._heads):
            rule = self._rules.get(node)
            made = self._copy(node) if rule is None else self._quantized(node, rule)
            self._made[node] = made
            self._old[made] = node
        heads = [self._as_floats(head) for head in self._heads]
        return Quantized(heads, self._calibrated(heads), [node.name for node in self._rules])

    def _copy(self, node: Node) -> Node:
        return Node(node.op, node.name, dict(node.attrs), node.params,
                    [self._as_floats(entry) for entry in node.inputs])

    def _quantized(self, node: Node, rule: Rule) -> Node:
        op, attrs = find(rule.quantized), {**node.attrs, **dict(rule.attrs)}
        floats, inputs, ends = rule.floats(node.params), [], []
        for i, entry in enumerate(node.inputs):
            if i in floats:
                inputs.append(self._as_floats(entry))
            else:
                data, low, high = self._as_bytes(entry, i in rule.shifted)
                inputs.append(data)
                ends += [low, high]
        name = PREFIX + node.name
        made = Node(op, name, attrs, reparsed(node, op, attrs, name), [*inputs, *ends])
        if not rule.widens:
            return made
        return _node(REQUANTIZE, f"requantize_{node.name}", made.outputs[:3],
                     {"out_type": self._wanted.dtype})

    def _as_floats(self, entry: Entry) -> Entry:
        if not self._is_bytes(entry):
            return Entry(self._made[entry.node], entry.index)
        if entry not in self._floats:
            made = _node(DEQUANTIZE, f"{entry.node.name}_dequantize", self._as_bytes(entry), {})
            self._old[made] = entry.node
            self._floats[entry] = Entry(made, 0)
        return self._floats[entry]

    def _is_bytes(self, entry: Entry) -> bool:
        rule = self._rules.get(entry.node)
        return rule is not None and not rule.gives_floats

    def _as_bytes(self, entry: Entry, shifted: bool = False) -> _Bytes:
        if shifted:
            if entry not in self._shifted:
                self._shifted[entry] = self._narrowed(entry, True)
            return self._shifted[entry]
        if entry not in self._bytes:
            self._bytes[entry] = (_Bytes(*self._made[entry.node].outputs[:3])
                                  if self._is_bytes(entry) else self._narrowed(entry, False))
        return self._bytes[entry]

    def _narrowed(self, entry: Entry, shifted: bool) -> _Bytes:
        """What is floats, quantized when the graph runs, or beforehand."""
        source, name = entry.node, entry.node.name
        if source.op is not None:
            named = source.op.name in NAMED_OUTPUTS
            name = output_name(entry) if named else f"{name}_{entry.index}"
        name += "_quantize"
        if shifted:
            return _Bytes(*_node(SHIFT, name, [self._as_floats(entry)], {}).outputs)
        if source.is_variable and source.name in self._wanted.offline:
            return _Bytes(*(Entry(Node(None, name + end), 0) for end in ("", "_min", "_max")))
        made = _node(QUANTIZE, name, [self._as_floats(entry)], {"out_type": self._wanted.dtype})
        return _Bytes(*made.outputs)

    def _calibrated(self, heads: Sequence[Entry]) -> list[str]:
        names = []
        for node in topological(heads):
            op_name = "" if node.op is None else node.op.name
            if op_name in OF_INPUT and node not in self._old:
                source = node.inputs[0]
                old = self._old[source.node]
                names.append(output_name(Entry(old, source.index)))
            elif op_name in OF_INPUT:
                names.append(output_name(Entry(self._old[node], node.inputs[0].index)))
            elif op_name in OF_OUTPUT:
                names.append(output_name(Entry(self._old[node], 0)))
        return names


def _node(op_name: str, name: str, inputs: Sequence[Entry], attrs: dict[str, str]) -> Node:
    op = find(op_name)
    return Node(op, name, attrs, parse_params(op, attrs, name), inputs)

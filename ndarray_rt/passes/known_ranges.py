"""What 8-bit numbers stand for, as far as a graph tells it without being run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops.quantization.quantize import known_range
from ..ops.quantization.ranges import widest
from ..symbol.node import Entry, Node
from .rewrite import Facts

Ends = tuple[np.float32, np.float32]
# the ranges of a node's 8-bit inputs, None where one is not known -> that of its output
Rule = Callable[[Node, Facts, Sequence["Ends | None"]], "Ends | None"]


def _quantized(node: Node, facts: Facts, given: Sequence[Ends | None]) -> Ends | None:
    p: Any = node.params
    return known_range(p, facts.types[node.inputs[0]])


def _requantized(node: Node, facts: Facts, given: Sequence[Ends | None]) -> Ends | None:
    p: Any = node.params
    if p.calibrated is None:
        return None
    most = widest(*p.calibrated)
    return (np.float32(0) if p.dtype == np.uint8 else np.float32(-most)), most


def _calibrated(node: Node, facts: Facts, given: Sequence[Ends | None]) -> Ends | None:
    p: Any = node.params
    found: Ends | None = p.calibrated
    return found


def _kept(node: Node, facts: Facts, given: Sequence[Ends | None]) -> Ends | None:
    return given[0]


def _joined(node: Node, facts: Facts, given: Sequence[Ends | None]) -> Ends | None:
    known = [ends for ends in given if ends is not None]
    if len(known) < len(given):
        return None
    lows, highs = zip(*known, strict=True)
    return np.float32(min(0, *lows)), np.float32(max(0, *highs))


# by the operator: the rule, and how many inputs there are before the ends of ranges
RULES: dict[str, tuple[Rule, Callable[[Any], int]]] = {
    "_contrib_quantize_v2": (_quantized, lambda p: 1),
    "_contrib_requantize": (_requantized, lambda p: 1),
    "_contrib_quantized_elemwise_add": (_calibrated, lambda p: 2),
    "_contrib_quantized_pooling": (_kept, lambda p: 1),
    "_contrib_quantized_act": (_kept, lambda p: 1),
    "_contrib_quantized_flatten": (_kept, lambda p: 1),
    "_contrib_quantized_concat": (_joined, lambda p: int(p.num_args)),
    "_sg_mkldnn_conv": (_calibrated, lambda p: int(p.count)),
    "_sg_mkldnn_fully_connected": (_calibrated, lambda p: int(p.count)),
    "_sg_mkldnn_selfatt_qk": (_calibrated, lambda p: int(p.count)),
    "_sg_mkldnn_selfatt_valatt": (_calibrated, lambda p: int(p.count)),
}


class KnownRanges:
    """Ends of ranges of nodes that were noted, inputs first."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._found: dict[Entry, np.float32] = {}

    def note(self, node: Node) -> None:
        """Looks what the ends of the node's range are, if it has one."""
        if node.op is None or node.op.name not in RULES or node.num_outputs != 3:
            return
        rule, count = RULES[node.op.name]
        ends = node.inputs[count(node.params):]
        made = rule(node, self._facts, [self._pair(*ends[i:i + 2]) for i in range(0, len(ends), 2)])
        if made is not None:
            self._found.update(zip(node.outputs[1:], made, strict=True))

    def _pair(self, low: Entry, high: Entry) -> Ends | None:
        a, b = self.of(low), self.of(high)
        return None if a is None or b is None else (a, b)

    def of(self, end: Entry) -> np.float32 | None:
        """The end of a range, or None where only a run tells it."""
        return self._found.get(end)

"""Arithmetic of operators: multiplications and additions, as the operators declare them.

Elementwise work (bias, activation, normalization) counts as memory traffic, as in the usual FLOP
counts of networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...op.registry import OpDef, Shape


def flops(op: OpDef, params: Any, ins: Sequence[Shape], outs: Sequence[Shape],
          wanted: Sequence[bool]) -> int:
    """Multiplications and additions of one call; 0 for operators bound by memory.

    The gradient of a layer takes as many again for data and for weight; `wanted` says which outputs
    are computed.
    """
    if op.flops is None:
        return 0
    if op.is_backward:
        # the outputs' gradient, data, weight
        return op.flops(params, ins[1:], ins[:1]) * sum(wanted[:2]) if len(ins) > 2 else 0
    return op.flops(params, ins, outs)

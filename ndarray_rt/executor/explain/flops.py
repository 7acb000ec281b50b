"""Arithmetic of operators: multiplications and additions, as they say themselves.

What is only elementwise (bias, activation, normalization) counts as moving bytes, here and in the
numbers that networks are known by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...op.registry import OpDef, Shape


def flops(op: OpDef, params: Any, ins: Sequence[Shape], outs: Sequence[Shape],
          wanted: Sequence[bool]) -> int:
    """Multiplications and additions of one call; 0 for operators that are bound by memory.

    The gradient of a layer takes as much again for each of data and weight; `wanted` says which of
    the outputs are computed.
    """
    if op.flops is None:
        return 0
    if op.is_backward:
        # (gradient of the output, data, weight)
        return op.flops(params, ins[1:], ins[:1]) * sum(wanted[:2]) if len(ins) > 2 else 0
    return op.flops(params, ins, outs)

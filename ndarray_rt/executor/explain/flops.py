"""Arithmetic of operators, counted from their parameters and shapes: multiplications and additions.

What is only elementwise (bias, activation, normalization) counts as moving bytes, here and in the
numbers that networks are known by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...ops.fused.separable_convolution import WINDOW

Shapes = Sequence[tuple[int, ...]]
_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}


def _convolution(p: Any, ins: Shapes, outs: Shapes) -> int:
    return 2 * prod(outs[0]) * prod(ins[1][1:])


def _deconvolution(p: Any, ins: Shapes, outs: Shapes) -> int:
    return 2 * prod(ins[0]) * prod(ins[1][1:])


def _normed_convolution(p: Any, ins: Shapes, outs: Shapes) -> int:
    scale = ins[int(p.num_args)]
    return 2 * prod(outs[0]) * prod(scale)


def _separable_convolution(p: Any, ins: Shapes, outs: Shapes) -> int:
    between, filters = int(p.num_between), int(p.num_filter)
    total = 2 * (prod(outs[0]) // filters) * between * (prod(WINDOW) + filters)
    return total + (2 * prod(ins[0]) * between if p.is_expanded else 0)


def _fully_connected(p: Any, ins: Shapes, outs: Shapes) -> int:
    return 2 * prod(outs[0]) * ins[1][1]


def _dot(p: Any, ins: Shapes, outs: Shapes) -> int:
    return 2 * prod(outs[0]) * (ins[0][0] if p.transpose_a else ins[0][-1])


def _batch_dot(p: Any, ins: Shapes, outs: Shapes) -> int:
    if p.transpose_a:
        return 2 * prod(outs[0]) * ins[0][-2]
    # of attention: the lengths of all heads side by side
    heads = p.heads if getattr(p, "split_a", False) else 1
    return 2 * prod(outs[0]) * ins[0][-1] // heads


def _rnn(p: Any, ins: Shapes, outs: Shapes) -> int:
    """Each layer's products with its input and with its state, at each time."""
    steps, batch, width = ins[0]
    directions = 2 if p.bidirectional else 1
    state = p.projection_size or p.state_size
    total = 0
    for _ in range(p.num_layers):
        products = _GATES[p.mode] * p.state_size * (width + state)
        if p.projection_size:
            products += p.state_size * p.projection_size
        total += 2 * steps * batch * directions * products
        width = state * directions
    return total


_COUNTS: dict[str, Callable[[Any, Shapes, Shapes], int]] = {
    "Convolution": _convolution, "Deconvolution": _deconvolution,
    "FullyConnected": _fully_connected, "dot": _dot, "batch_dot": _batch_dot,
    "linalg_gemm": _batch_dot, "linalg_gemm2": _batch_dot, "RNN": _rnn,
    "normed_Convolution": _normed_convolution,
    "separable_Convolution": _separable_convolution,
}


def flops(op: str, params: Any, ins: Shapes, outs: Shapes, wanted: Sequence[bool]) -> int:
    """Multiplications and additions of one call; 0 for operators that are bound by memory.

    A fused operator counts as the layer in it. The gradient of a layer takes as much again for
    each of data and weight; `wanted` says which of the outputs are computed.
    """
    name = op.removeprefix("_fused_")
    if name.startswith("_backward_"):
        count = _COUNTS.get(name.removeprefix("_backward_"))
        if count is None or len(ins) < 3:
            return 0
        # (gradient of the output, data, weight)
        return count(params, ins[1:], ins[:1]) * sum(wanted[:2])
    count = _COUNTS.get(name)
    return 0 if count is None else count(params, ins, outs)

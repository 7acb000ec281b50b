"""The gradient of LeakyReLU's gradient, as a formula of other operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...op.registry import Emit, GradNode
from ..terms import Term, terms

SELU_LAMBDA = 1.0507009873554804934193349852946
ROOT_OF_2_PI = math.sqrt(2 * math.pi)


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p = node.params
    grad, dy, at = terms(emit, out_grads[0], *node.inputs[:2])
    if p.act_type == "prelu":
        return _gradient_prelu(emit, node, out_grads)
    to_dy = grad("_backward_LeakyReLU", p, at, *terms(emit, *node.inputs[2:]))
    to_data: Term | None = None
    if p.act_type == "gelu":
        square = at("square")
        to_data = grad * dy * (square * -0.5)("exp") * (2 - square) * (1 / ROOT_OF_2_PI)
    elif p.act_type == "selu":
        to_data = grad * dy * _below(at) * SELU_LAMBDA
    elif p.act_type == "elu":
        to_data = grad * dy * _below(at) * at("_minimum_scalar", {"scalar": 0.0})("exp") * p.slope
    # rrelu's mask is drawn, not computed: nothing comes back to it
    return [to_dy.entry, None if to_data is None else to_data.entry, *[None] * len(node.inputs[2:])]


def _below(x: Term) -> Term:
    """1 where x is not above zero."""
    return x("_lesser_equal_scalar", {"scalar": 0.0})


def _gradient_prelu(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    """With u and v as the gradients of both results: for dy u f'(x) + v min(x, 0), and so on."""
    p = node.params
    dy, x, gamma, u, v = terms(emit, *node.inputs, *out_grads)
    # prelu with slopes v, without what it gives above zero
    to_dy = (u("_backward_LeakyReLU", p, x, gamma) + x("LeakyReLU", p, v)
             - x("_maximum_scalar", {"scalar": 0.0}))
    below = _below(x)
    to_x = (dy * below)("_backward_LeakyReLU", p, x, v)
    # the backward sums its out_grad times min(data, 0): here the data is -1 or 0
    to_gamma = emit("_backward_LeakyReLU", p, (dy * u).entry, (-below).entry, gamma.entry)[1]
    return [to_dy.entry, to_x.entry, (-Term(emit, to_gamma)).entry]

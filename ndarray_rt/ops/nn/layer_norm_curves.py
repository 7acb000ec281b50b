"""The gradient of LayerNorm's gradient, as a formula of other operators.

With n for the normalized data, s for std, a = gamma dy, m for the mean along the axis and
P(z) = z - m(z) - n m(z n): data_grad is P(a) / s. With u, v, w as the gradients of the three
results, that of dy is gamma P(u) / s + v n + w, that of gamma sums dy P(u) / s, and that of data is
P(h) / s - n m(u data_grad) / s, where h = v dy - (u m(a n) + a m(u n)) / s. mean and std are
functions of data here: nothing comes back to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...op.registry import Emit, GradNode
from ..terms import Term, terms


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p = node.params
    dy, x, gamma, mean, std = terms(emit, *node.inputs)
    u, v, w = terms(emit, *out_grads)
    ones = gamma("ones_like")

    def turned(term: Term) -> Term:
        """With the axis last, or back again."""
        return term if p.axis == -1 else term("SwapAxis", {"dim1": p.axis, "dim2": -1})

    def times(term: Term, vector: Term) -> Term:
        return turned(turned(term)("broadcast_mul", None, vector))

    def projected(term: Term) -> Term:
        """P(term) / s."""
        return term("_backward_LayerNorm", p, x, ones, mean, std)

    def row(term: Term) -> Term:
        """m(term) / s."""
        return term("mean", {"axis": p.axis, "keepdims": True}) / std

    def by_row(term: Term, numbers: Term) -> Term:
        return term("broadcast_mul", None, numbers)
    normal = x("broadcast_sub", None, mean)("broadcast_div", None, std)
    a, of_u = times(dy, gamma), projected(u)
    to_dy = times(of_u, gamma) + times(normal, v)
    to_dy = turned(turned(to_dy)("broadcast_add", None, w))
    to_gamma = turned(dy * of_u)("_broadcast_reduce", None, gamma)
    inner = times(dy, v) - by_row(u, row(a * normal)) - by_row(a, row(u * normal))
    to_x = projected(inner) - by_row(normal, row(u * projected(a)))
    return [to_dy.entry, to_x.entry, to_gamma.entry, None, None]

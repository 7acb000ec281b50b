"""Second derivatives of power, hypot and their like: the gradients of their gradients.

`_backward_broadcast_f(dy, a, b)` gives dy f_a(a, b) and dy f_b(a, b), summed to the shapes of a and
b. With u and v as the gradients of the two, its gradient for dy is u f_a + v f_b, for a
dy (u f_aa + v f_ab), for b dy (u f_ab + v f_bb).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ...op.registry import Emit, Gradient, GradNode
from ..terms import Term, terms


class Curve(NamedTuple):
    """f_a and f_b; `second` gives f_aa, f_ab, f_bb, None where all are zero."""

    slopes: Callable[[Term, Term], tuple[Term, Term]]
    second: Callable[[Term, Term], tuple[Term, Term, Term]] | None = None


def _comparison(first: str, second: str) -> Curve:
    return Curve(lambda a, b: (a(first, None, b), a(second, None, b)))


def _power_slopes(a: Term, b: Term) -> tuple[Term, Term]:
    return b * a("_power", None, b - 1), a("_power", None, b) * a("log")


def _power_second(a: Term, b: Term) -> tuple[Term, Term, Term]:
    log, below = a("log"), a("_power", None, b - 1)
    return (b * (b - 1) * a("_power", None, b - 2), below * (1 + b * log),
            a("_power", None, b) * log * log)


def _hypot_slopes(a: Term, b: Term) -> tuple[Term, Term]:
    whole = a("_hypot", None, b)
    return a / whole, b / whole


def _hypot_second(a: Term, b: Term) -> tuple[Term, Term, Term]:
    whole = a("_hypot", None, b)
    cube = whole("square") * whole
    return b("square") / cube, -(a * b / cube), a("square") / cube


CURVES: dict[str, Curve] = {
    "mod": Curve(lambda a, b: (a("ones_like"), -(a / b)("floor"))),
    "power": Curve(_power_slopes, _power_second),
    "maximum": _comparison("_greater_equal", "_lesser"),
    "minimum": _comparison("_lesser_equal", "_greater"),
    "hypot": Curve(_hypot_slopes, _hypot_second),
}


def second_order(key: str) -> Gradient:
    """The gradient function of `_backward_broadcast_<key>`."""
    return partial(_gradient, CURVES[key])


def _gradient(curve: Curve, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    dy, *operands = terms(emit, *node.inputs)
    zeros = dy("zeros_like")
    a, b, u, v = (term("broadcast_add", None, zeros)
                  for term in (*operands, *terms(emit, *out_grads)))
    slope_a, slope_b = curve.slopes(a, b)
    to_dy = u * slope_a + v * slope_b
    if curve.second is None:
        return [to_dy.entry, None, None]
    aa, ab, bb = curve.second(a, b)
    return [to_dy.entry, *((dy * whole)("_broadcast_reduce", None, operand).entry
                           for whole, operand in zip((u * aa + v * ab, u * ab + v * bb), operands,
                                                     strict=True))]

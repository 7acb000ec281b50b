"""Second derivatives of functions of one array: the gradients of their gradients.

`_backward_f(dy, v)` is dy f'(v), with v the argument of f or its value. Its gradient for dy is
itself; that for v is dy times the curve, the derivative of f' as a function of v.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...op.registry import Emit, Gradient, GradNode
from ..terms import Term, terms

# None: f' is constant wherever it has a slope; otherwise dy and v go in, dy times the curve comes
CURVES: dict[str, Callable[[Term, Term], Term] | None] = {
    "abs": None,
    "relu": None,
    "sigmoid": lambda dy, y: dy * (1 - 2 * y),
    "tanh": lambda dy, y: dy * y * -2,
    "softsign": lambda dy, x: dy * x("sign") * -2 / (1 + x("abs")) ** 3,
    "exp": lambda dy, y: dy,
    "expm1": lambda dy, x: dy * x("exp"),
    "log": lambda dy, x: -(dy / x("square")),
    "log2": lambda dy, x: dy / x("square") * (-1 / math.log(2)),
    "log10": lambda dy, x: dy / x("square") * (-1 / math.log(10)),
    "log1p": lambda dy, x: -(dy / (1 + x)("square")),
    "sqrt": lambda dy, y: dy / y("square") * -0.5,
    "rsqrt": lambda dy, x: dy * x("rsqrt") / x("square") * 0.75,
    "cbrt": lambda dy, y: dy / (y("square") * y) * (-2 / 3),
    "rcbrt": lambda dy, x: dy * x("rcbrt") / x("square") * (4 / 9),
    "square": lambda dy, x: dy * 2,
    "reciprocal": lambda dy, x: dy / (x("square") * x) * 2,
    "sin": lambda dy, x: -(dy * x("sin")),
    "cos": lambda dy, x: -(dy * x("cos")),
    "tan": lambda dy, y: dy * y * 2,
    "sinh": lambda dy, x: dy * x("sinh"),
    "cosh": lambda dy, x: dy * x("cosh"),
    "arcsin": lambda dy, x: dy * x * _inverse_root_cubed(1 - x("square")),
    "arccos": lambda dy, x: -(dy * x * _inverse_root_cubed(1 - x("square"))),
    "arctan": lambda dy, x: dy * x * -2 / (1 + x("square"))("square"),
    "arcsinh": lambda dy, x: -(dy * x * _inverse_root_cubed(1 + x("square"))),
    "arccosh": lambda dy, x: -(dy * x * _inverse_root_cubed(x("square") - 1)),
    "arctanh": lambda dy, x: dy * x * 2 / (1 - x("square"))("square"),
    "erf": lambda dy, x: dy * x * (-x("square"))("exp") * (-4 / math.sqrt(math.pi)),
    "erfinv": lambda dy, y: dy * y * y("square")("exp") * math.sqrt(math.pi),
}


def _inverse_root_cubed(x: Term) -> Term:
    return x("rsqrt") / x


def second_order(name: str) -> Gradient | None:
    """The gradient function of `_backward_<name>`, where there is one."""
    return partial(_gradient, name) if name in CURVES else None


def _gradient(name: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    grad, dy, at = terms(emit, out_grads[0], *node.inputs)
    curve = CURVES[name]
    return [grad(f"_backward_{name}", None, at).entry,
            None if curve is None else curve(grad * dy, at).entry]

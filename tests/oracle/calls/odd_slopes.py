"""Gradients at NaN, infinities, zeros of both signs and where functions have none."""

from __future__ import annotations

from ..call import Call, Given
from .math_unary import DOMAIN, STEPS

NAN, INF = float("nan"), float("inf")
ODD = [NAN, INF, -INF, -0.0, 0.0, 1.0, -1.0, 300.7, -129.5, 3e9, 0.5, -0.5]
ROWS = [ODD[:4], ODD[4:8], ODD[8:]]
PAIRS = [(a, b) for a in ODD[:7] for b in ODD[:7]]
# where MXNet's formula of the slope is not defined at 0: operators, some with a number as operand
AT_ZERO = ("power", "hypot", ("_power", 0), ("_rpower", 0), ("_hypot", 0), "prod", "nanprod")


def at_zero(which: object) -> str:
    """The reason why slopes are finite where MXNet's are not."""
    return "MXNet divides by 0 or takes its logarithm" if which in AT_ZERO else ""


CALLS = [
    *(Call(name, [Given(ODD)], {}, (0,), head_scale=4) for name in DOMAIN if name not in STEPS),
    *(Call(name, [Given(ODD, "float64")], {}, (0,), head_scale=4) for name in ("abs", "relu")),
    *(Call(f"broadcast_{name}", [Given([a for a, _ in PAIRS]), Given([b for _, b in PAIRS])], {},
           (0, 1), head_scale=4, finite_here=at_zero(name))
      for name in ("add", "sub", "mul", "div", "mod", "power", "maximum", "minimum", "hypot")),
    *(Call(f"_internal.{name}_scalar", [Given(ODD)], {"scalar": scalar}, (0,), head_scale=4,
           finite_here=at_zero((name, scalar)))
      for name in ("_rdiv", "_mod", "_rmod", "_power", "_rpower", "_maximum", "_minimum", "_hypot")
      for scalar in (0, 2, -1, 0.5, INF)),
    *(Call(name, [Given(ROWS)], {"axis": axis}, (0,), head_scale=4, finite_here=at_zero(name))
      for name in ("prod", "max", "min", "nanprod", "norm") for axis in (0,)),
    *(Call("Activation", [Given(ODD, dtype)], {"act_type": kind}, (0,), head_scale=4)
      for dtype in ("float32", "float64")
      for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign")),
    *(Call(name, [Given(ODD)], params, (0,), head_scale=4)
      for name, params in (("smooth_l1", {"scalar": 1.0}), ("hard_sigmoid", {}),
                           ("clip", {"a_min": -1, "a_max": 1}))),
    Call("where", [Given(ODD), Given(ODD), Given(ODD[::-1])], {}, (1, 2), head_scale=4),
]

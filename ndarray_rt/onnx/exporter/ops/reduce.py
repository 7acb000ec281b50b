"""Sums and the like over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..call import Call
from ..table import Refused, exports

_NAMES = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin",
          "prod": "ReduceProd", "_square_sum": "ReduceSumSquare"}


def _axes(c: Call, given: Any, exclude: bool = False) -> list[int]:
    """The axes, counted from the front."""
    rank = c.rank()
    if given is None or given == ():
        return list(range(rank))
    named = {axis % rank for axis in ([given] if isinstance(given, int) else given)}
    return [axis for axis in range(rank) if (axis in named) is not exclude]


def reduced(c: Call, name: str, x: str, axes: list[int], keepdims: bool) -> str:
    """Over axes; what is left of all of them is one number in a vector."""
    if not axes:
        return c.reduce(name, c.unsqueeze(x, 0), [0], False)
    made = c.reduce(name, x, axes, keepdims)
    return c.op("Reshape", made, c.ints(1)) if len(axes) == c.rank() and not keepdims else made


@exports(*_NAMES)
def reduce(c: Call) -> str:
    if c.dtype() != c.out_dtype():
        raise Refused(f"{c.out_dtype()} of {c.dtype()}")
    return reduced(c, _NAMES[c.operator], c.input(0), _axes(c, c.p.axis, c.p.exclude),
                   c.p.keepdims)


@exports("nansum", "nanprod")
def without_nan(c: Call) -> str:
    x = c.input(0)
    start = 0.0 if c.operator == "nansum" else 1.0
    x = c.op("Where", c.op("IsNaN", x), c.number(start), x)
    return reduced(c, "ReduceSum" if c.operator == "nansum" else "ReduceProd", x,
                   _axes(c, c.p.axis, c.p.exclude), c.p.keepdims)


@exports("norm")
def norm(c: Call) -> str:
    if c.p.ord not in (1, 2):
        raise Refused(f"ord {c.p.ord}")
    if c.dtype() != c.out_dtype():
        raise Refused(f"{c.out_dtype()} of {c.dtype()}")
    return reduced(c, f"ReduceL{c.p.ord}", c.input(0), _axes(c, c.p.axis), c.p.keepdims)


@exports("argmax", "argmin", "argmax_channel")
def arg_extreme(c: Call) -> str:
    name = "ArgMin" if c.operator == "argmin" else "ArgMax"
    x, axis = c.input(0), getattr(c.p, "axis", 1)
    keep = getattr(c.p, "keepdims", False)
    if axis is None:
        made = c.op(name, c.op("Reshape", x, c.ints(-1)), axis=0, keepdims=1)
        if keep:
            made = c.op("Reshape", made, c.ints(*[1] * c.rank()))
    else:
        made = c.op(name, x, axis=axis % c.rank(), keepdims=int(keep))
        if c.rank() == 1 and not keep:
            made = c.op("Reshape", made, c.ints(1))
    return c.cast(made, c.out_dtype())


@exports("_np_cumsum")
def cumsum(c: Call) -> str:
    x = c.input(0)
    if c.dtype() != c.out_dtype():
        x = c.cast(x, c.out_dtype())
    if c.p.axis is None:
        x = c.op("Reshape", x, c.ints(-1))
    return c.op("CumSum", x, c.const((c.p.axis or 0) % (1 if c.p.axis is None else c.rank()),
                                     np.int64))

"""Functions of an array and a number, element by element: _plus_scalar and its family."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, FLOAT64, INT64
from ...native import lib
from ...op.context import OpContext
from ...op.elementwise import Elementwise, X
from ...op.infer import TypeList, merge_types, same_shape, same_type
from ...op.numbers import Domain
from ...op.params import Params, boolean, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..terms import Term, terms
from . import functions
from .functions import CURVES, KINDS, SCALAR, SCALAR_SLOPES, function, is_padded, of_kind, slope
from .numeric import (
    BINARY,
    Function2,
    convert,
    is_integer,
    log_power,
    power_slope,
    scalar_of,
    share,
    single,
    times_slope,
    wide,
)
from .pointwise import bound, eltwise, eltwise_backward


@params_class
class ScalarParams(Params):
    scalar: float = number(1.0, doc="the number")
    is_int: bool = boolean(True, doc="False: an integer array gives a result in float64")


class Scalar(NamedTuple):
    """A function of an array and a number: forward(x, s), and its slope from x, or from y."""

    formula: str
    forward: Function2
    slope: Function2 | None = None
    from_output: bool = False


def _rdiv(x: AnyArray, s: AnyArray) -> AnyArray:
    # unlike _div_scalar, MXNet divides integers as floats here
    return convert(single(s) / single(x), x.dtype)


def _swapped(key: str) -> Function2:
    return lambda x, s: BINARY[key].forward(s, x)


TABLE: dict[str, Scalar] = {
    "_plus_scalar": Scalar("data + scalar", BINARY["add"].forward),
    "_minus_scalar": Scalar("data - scalar", BINARY["sub"].forward),
    "_rminus_scalar": Scalar("scalar - data", _swapped("sub")),
    "_mul_scalar": Scalar("data * scalar", BINARY["mul"].forward),
    "_div_scalar": Scalar("data / scalar; integers are divided towards zero",
                          BINARY["div"].forward),
    "_rdiv_scalar": Scalar("scalar / data", _rdiv, lambda x, s: -s / (x * x)),
    "_mod_scalar": Scalar("data modulo scalar, with the sign of the scalar",
                          BINARY["mod"].forward, lambda x, s: np.ones_like(x)),
    "_rmod_scalar": Scalar("scalar modulo data, with the sign of data", _swapped("mod"),
                           lambda x, s: -np.floor(s / x)),
    "_power_scalar": Scalar("data to the power of scalar", BINARY["power"].forward,
                            power_slope),
    "_rpower_scalar": Scalar("scalar to the power of data", _swapped("power"),
                             lambda y, s: log_power(s, y), from_output=True),
    "_maximum_scalar": Scalar("the greater of data and scalar", np.maximum,
                              lambda x, s: (x >= s).astype(x.dtype)),
    "_minimum_scalar": Scalar("the lesser of data and scalar", np.minimum,
                              lambda x, s: (x <= s).astype(x.dtype)),
    "_hypot_scalar": Scalar("sqrt(data**2 + scalar**2)", BINARY["hypot"].forward,
                            lambda x, s: share(x, np.hypot(x, s))),
    **{f"_{key}_scalar": Scalar(f"1 where {formula}, else 0", BINARY[key].forward)
       for key, formula in {
           "equal": "data == scalar", "not_equal": "data != scalar", "greater": "data > scalar",
           "greater_equal": "data >= scalar", "lesser": "data < scalar",
           "lesser_equal": "data <= scalar", "logical_and": "data and scalar are not 0",
           "logical_or": "data or scalar is not 0",
           "logical_xor": "just one of data and scalar is not 0"}.items()},
}
SMOOTH = tuple(name for name, entry in TABLE.items() if entry.slope is not None)
LINEAR = ("_plus_scalar", "_minus_scalar", "_rminus_scalar", "_mul_scalar", "_div_scalar")


def infer_type(p: ScalarParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    """The dtype of data; float64 for integers with is_int=False; bool counts as int64."""
    data = ins[0]
    if data is None:
        return [outs[0]] if p.is_int else ins, outs
    if is_integer(data) and not p.is_int:
        return ins, [merge_types([outs[0], FLOAT64])]
    if data.kind == "b":
        return ins, [merge_types([outs[0], INT64])]
    return same_type(p, ins, outs)


def compute(name: str, ctx: OpContext, p: ScalarParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    dtype = outs[0].dtype
    x = ins[0].astype(dtype, copy=False)
    outs[0].write(convert(TABLE[name].forward(x, scalar_of(p.scalar, dtype)), dtype))


# ---- oneDNN ------------------------------------------------------------------------------------

# name -> (algorithm, alpha, beta) from the number; products add -0, which leaves the sign of 0 be
ELTWISE: dict[str, Callable[[float], tuple[int, float, float]]] = {
    "_plus_scalar": lambda s: (lib.NDRT_ELTWISE_LINEAR, 1.0, s),
    "_minus_scalar": lambda s: (lib.NDRT_ELTWISE_LINEAR, 1.0, -s),
    "_rminus_scalar": lambda s: (lib.NDRT_ELTWISE_LINEAR, -1.0, s),
    "_mul_scalar": lambda s: (lib.NDRT_ELTWISE_LINEAR, s, -0.0),
    "_div_scalar": lambda s: (lib.NDRT_ELTWISE_LINEAR, 1.0 / s, -0.0),
    "_rdiv_scalar": lambda s: (lib.NDRT_ELTWISE_POW, s, -1.0),
}
BOUNDS = {"_maximum_scalar": lib.NDRT_BINARY_MAX, "_minimum_scalar": lib.NDRT_BINARY_MIN}
NATIVE = {**SCALAR, **functions.LINEAR, **CURVES}
SQUARE = 2.0  # the power that oneDNN has

# sizes of numbers that are factors or bounds in float32, and so are their inverses
LEAST, MOST = 1e-37, 1e37
TINY = 1e-307  # sizes that are no denormals in float64 begin below it


def domain_of(name: str) -> Domain:
    """Numbers with which one recorded call is done again: what is refused is none of them."""
    if name == "_div_scalar":
        return Domain(LEAST, MOST, zero=False)
    return Domain(LEAST, apart=(SQUARE,) if name == "_power_scalar" else ())


def _is_tiny(value: float) -> bool:
    """Kernels take it for 0, as they take denormals."""
    return 0 < abs(value) < LEAST


def _refuses_kind(name: str, p: ScalarParams, x: NDArray) -> str | None:
    """Why the kernel for dtypes other than float32 may not."""
    whole = is_integer(x.dtype)
    if x.dtype.name not in KINDS or (whole and not p.is_int):
        return f"dtype {x.dtype} has no kernel for a number"
    if whole and (name in CURVES or name in ("_div_scalar", "_rdiv_scalar")):
        return "whole numbers are divided and raised to powers in numpy"
    if x.dtype == FLOAT64 and 0 < abs(p.scalar) < TINY:
        return "the number is a denormal"
    return None


def refuses(name: str, p: ScalarParams, ins: list[NDArray]) -> str | None:
    if ins[0].dtype != FLOAT32:
        return _refuses_kind(name, p, ins[0])
    if name in SCALAR or (name == "_power_scalar" and p.scalar == SQUARE):
        return None
    if _is_tiny(p.scalar) or (name == "_div_scalar" and MOST < abs(p.scalar) < math.inf):
        return "the number, or its inverse, leaves the range of float32"
    if name in ELTWISE and is_padded(ins[0]) and (
            not abs(p.scalar) <= MOST or (name == "_div_scalar" and not p.scalar)):
        return "oneDNN is given no number out of the range of float32"
    if name in BOUNDS and is_padded(ins[0]) and math.isnan(p.scalar):
        return "oneDNN's bounds are no NaN"
    return None


def compute_ex(name: str, ctx: OpContext, p: ScalarParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    x, out = ins[0], outs[0]
    if x.dtype != FLOAT32:
        # of other dtypes x / s is not x times 1 / s
        which = lib.NDRT_FUNCTION_DIV if name == "_div_scalar" else NATIVE[name]
        of_kind(ctx, which, x, out, p.scalar)
    elif name == "_power_scalar" and p.scalar == SQUARE:
        eltwise(ctx, "eltwise", lib.NDRT_ELTWISE_SQUARE, 0.0, 0.0, x, out)
    elif name not in functions.LINEAR or not is_padded(x):
        function(ctx, NATIVE[name], x, out, p.scalar)
    elif name in BOUNDS:
        bound(ctx, "bound", BOUNDS[name], p.scalar, x, out)
    else:
        eltwise(ctx, "eltwise", *ELTWISE[name](p.scalar), x, out)


def compute_ex_backward(name: str, ctx: OpContext, p: ScalarParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    if name == "_power_scalar" and p.scalar == SQUARE:
        eltwise_backward(ctx, f"_backward{name}", lib.NDRT_ELTWISE_SQUARE, ins[0], ins[1],
                         outs[0], False)
    else:
        slope(ctx, SCALAR_SLOPES[name], ins[0], ins[1], outs[0], p.scalar)


def refuses_backward(name: str, p: ScalarParams, ins: list[NDArray]) -> str | None:
    if _is_tiny(p.scalar):
        return "the number leaves the range of float32"
    return need_float32(*ins)


# ---- gradients ---------------------------------------------------------------------------------


def gradient_linear(name: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    dy = out_grads[0]
    if name in ("_plus_scalar", "_minus_scalar"):
        return [dy]
    if name == "_rminus_scalar":
        return emit("negative", None, dy)
    return emit(name, node.params, dy)


def gradient_smooth(name: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    entry = node.outputs[0] if TABLE[name].from_output else node.inputs[0]
    return emit(f"_backward{name}", node.params, out_grads[0], entry)


# what is left of dy in the gradient of a slope; x is what the slope is a function of
DY_SLOPES: dict[str, Callable[[Term, Term, float], Term | None]] = {
    "_rdiv_scalar": lambda dy, x, s: dy / (x("square") * x) * (2 * s),
    "_power_scalar": lambda dy, x, s: (None if s in (0, 1)
                                       else dy * x ** (s - 2) * (s * (s - 1))),
    "_rpower_scalar": lambda dy, y, s: dy * (math.log(s) if s > 0 else 0.0 if s == 0
                                             else math.nan),
    "_hypot_scalar": lambda dy, x, s: dy / x("_hypot_scalar", {"scalar": s}) ** 3 * (s * s),
}


def gradient_backward(name: str, emit: Emit, node: GradNode, out_grads: Sequence[Any],
                      ) -> list[Any]:
    grad, dy, at = terms(emit, out_grads[0], *node.inputs)
    to_dy = grad(f"_backward{name}", node.params, at)
    curve = DY_SLOPES[name](grad * dy, at, node.params.scalar) if name in DY_SLOPES else None
    return [to_dy.entry, None if curve is None else curve.entry]


# of integers their slopes are 0, as in MXNet
STEPS = ("_mod_scalar", "_rmod_scalar")


def compute_backward(name: str, ctx: OpContext, p: ScalarParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, data = ins
    slope_of = TABLE[name].slope
    assert slope_of is not None
    if name in STEPS and is_integer(dy.dtype):
        outs[0].write(np.zeros_like(dy))
        return
    x = wide(data)
    outs[0].write(times_slope(dy, slope_of(x, scalar_of(p.scalar, x.dtype))))


def _alias(name: str) -> str:
    """MXNet's older name: _rminus_scalar is _RMinusScalar."""
    words = name.strip("_").split("_")
    if words[0][0] == "r" and words[0] != "r" and words[0][1:] in ("minus", "div", "mod", "power"):
        words[0:1] = ["r", words[0][1:]]
    return "_" + "".join(word.capitalize() for word in words)


WORDS = {"plus": "add", "minus": "sub"}


def _elementwise(name: str, p: ScalarParams) -> Elementwise:
    """_rdiv_scalar is the number divided by each element."""
    word = name.removeprefix("_").removesuffix("_scalar")
    number = float(p.scalar)
    if word in ("rminus", "rdiv", "rmod", "rpower"):
        return Elementwise(WORDS.get(word[1:], word[1:]), (number, X))
    return Elementwise(WORDS.get(word, word), (X, number))


def _define(name: str, entry: Scalar) -> OpDef:
    gradient = None
    if name in LINEAR:
        gradient = partial(gradient_linear, name)
    elif entry.slope is not None:
        gradient = partial(gradient_smooth, name)
    return OpDef(
        name, ScalarParams, inputs=("data",), infer_shape=same_shape, infer_type=infer_type,
        compute=partial(compute, name), compute_ex=partial(compute_ex, name),
        refuses=partial(refuses, name),
        gradient=gradient, no_gradient="" if gradient else "zero: a step has no slope",
        inplace={0: 0}, aliases=(_alias(name),),
        numbers=("scalar",), domain=domain_of(name), elementwise=partial(_elementwise, name),
        doc=f"Of an array and a number: {entry.formula}.\n\n"
            "The number is cast to data's dtype first: an integer array stays one (with is_int="
            f"False it becomes float64). Source: MXNet's {name}"
            "; a native kernel.")


for _name, _entry in TABLE.items():
    register(_define(_name, _entry))
for _name in SMOOTH:
    _native = _name in SCALAR_SLOPES
    register(OpDef(f"_backward{_name}", ScalarParams, inputs=("out_grad", "data"),
                   infer_shape=same_shape, infer_type=same_type,
                   compute=partial(compute_backward, _name),
                   compute_ex=partial(compute_ex_backward, _name) if _native else None,
                   refuses=partial(refuses_backward, _name) if _native else None,
                   gradient=partial(gradient_backward, _name), inplace={0: 0}, is_backward=True,
                   numbers=("scalar",) if _native else (),
                   domain=Domain(LEAST, apart=(SQUARE,) if _name == "_power_scalar" else ()),
                   doc=f"The gradient of {_name}."))

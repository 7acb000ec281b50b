"""Functions of one array, element by element: one table, with their slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...native import lib
from ...op.context import OpContext
from ...op.elementwise import Elementwise, X
from ...op.infer import same_shape, same_type
from ...op.params import NoParams
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.kernels import reduce
from ..terms import Term, terms
from .functions import WORDS, function, slope, unpadded
from .numeric import (
    Function1,
    convert,
    erf,
    is_integer,
    round_half_away,
    round_half_down,
    sigmoid,
    single,
    times_slope,
    wide,
)
from .pointwise import binary, bound, eltwise, eltwise_backward, step_grad
from .special import digamma, erfinv, gamma, log_gamma

NATIVE, ONEDNN = "a native kernel", "oneDNN eltwise or binary"


class Native(NamedTuple):
    """How a function of float32 is computed natively, and by whom."""

    run: Callable[[OpContext, NDArray, Output], None]
    source: str = ONEDNN


# out = dy times the slope at an array: of dy, of that array
NativeSlope = Callable[[OpContext, NDArray, NDArray, Output], None]
# dy times the derivative of the slope as a function of its argument
Curve = Callable[[Term, Term], Term]


class Unary(NamedTuple):
    """All about a function and its slope.

    `forward` gets its argument in a float dtype. `slope` is a function of x, or with `from_output`
    of y; None: zero everywhere. `curve` is the slope of the slope, for second gradients; None:
    there is none; CONSTANT: it is zero wherever it exists. `whole`: the function of integers, if it
    is not the truncated float one. `single`: MXNet computes integers
    in float, not in double. `known_as` is what passes take it for, where that is not its name.
    """

    formula: str
    forward: Function1
    slope: Function1 | None = None
    from_output: bool = False
    curve: Curve | str | None = None
    whole: Function1 | None = None
    single: bool = False
    native: Native | None = None
    native_slope: NativeSlope | None = None
    known_as: Elementwise | None = None


CONSTANT = "constant"

# ---- ways to compute natively -------------------------------------------------------------------


def _eltwise(alg: int, alpha: float = 0.0, beta: float = 0.0) -> Native:
    return Native(lambda ctx, x, out: eltwise(ctx, "eltwise", alg, alpha, beta, x, out))


def _function(which: int) -> Native:
    """A function of the kernel that has many (ndrt_function_id)."""
    return Native(lambda ctx, x, out: function(ctx, which, x, out), NATIVE)


def _exp(ctx: OpContext, x: NDArray, out: Output) -> None:
    if not out.requested:
        return
    mem = unpadded(x, ctx.stream)
    with out.open(mem.desc, ctx.stream, inplace_of=mem) as y:
        ctx.kernel(reduce.exp(out=y, data=mem, n=mem.desc.nelems))


def _slope(which: int) -> NativeSlope:
    return lambda ctx, dy, v, out: slope(ctx, which, dy, v, out)


def _step(which: int) -> NativeSlope:
    return lambda ctx, dy, v, out: step_grad(ctx, which, dy, v, out)


def _of_output(alg: int) -> NativeSlope:
    return lambda ctx, dy, v, out: eltwise_backward(ctx, "slope", alg, dy, v, out, True)


def _times(factor: float) -> NativeSlope:
    """dy times the slope's argument times a factor."""
    return lambda ctx, dy, v, out: binary(ctx, "binary", lib.NDRT_BINARY_MUL, dy, v, out, factor)


def _through(factor: float) -> NativeSlope:
    """dy through the slope's argument times a factor."""
    return lambda ctx, dy, v, out: binary(ctx, "binary", lib.NDRT_BINARY_DIV, dy, v, out, factor)


# ---- the functions ------------------------------------------------------------------------------


def _same(x: AnyArray) -> AnyArray:
    return x


def _linear(factor: float) -> Unary:
    return Unary(f"data * {factor:.6g}", lambda x: x * x.dtype.type(factor),
                 lambda x: np.full_like(x, factor), single=True,
                 native=_eltwise(lib.NDRT_ELTWISE_LINEAR, factor, -0.0))  # of 0 the sign stays


def _sign(x: AnyArray) -> AnyArray:
    return np.asarray((x > 0).astype(x.dtype) - (x < 0))


def _relu_slope(y: AnyArray) -> AnyArray:
    return np.where(np.isnan(y), y, (y > 0).astype(y.dtype))


def _erfinv_whole(x: AnyArray) -> AnyArray:
    # MXNet's NaN of whole numbers is 0
    return convert(np.where(np.abs(x) == 1, np.inf, 0.0), x.dtype)


def _inverse_root_cubed(x: Term) -> Term:
    return x("rsqrt") / x


def _silu_slope(x: AnyArray) -> AnyArray:
    y = sigmoid(x)
    made: AnyArray = y * (1 + x * (1 - y))
    return made


def _silu_curve(dy: Term, x: Term) -> Term:
    y = x("sigmoid")
    return dy * y * (1 - y) * (2 + x * (1 - 2 * y))


TABLE: dict[str, Unary] = {
    "negative": Unary("-data", np.negative, lambda x: -np.ones_like(x),
                      whole=lambda x: x if x.dtype.kind == "b" else np.negative(x),
                      native=_eltwise(lib.NDRT_ELTWISE_LINEAR, -1.0, -0.0)),
    "abs": Unary("|data|", np.abs, _sign, whole=np.abs, native=_eltwise(lib.NDRT_ELTWISE_ABS),
                 native_slope=_step(lib.NDRT_STEP_ABS), curve=CONSTANT),
    "sign": Unary("-1, 0 or 1; 0 for NaN", _sign,
                  whole=lambda x: x if x.dtype.kind == "b" else np.sign(x),
                  native=_function(lib.NDRT_FUNCTION_SIGN)),
    "relu": Unary("max(data, 0); NaN stays NaN", lambda x: np.maximum(x, 0), _relu_slope,
                  from_output=True, whole=lambda x: np.maximum(x, np.zeros((), x.dtype)),
                  native_slope=_step(lib.NDRT_STEP_RELU), curve=CONSTANT,
                  native=Native(lambda ctx, x, out: bound(
                      ctx, "bound", lib.NDRT_BINARY_MAX, 0.0, x, out))),
    "sigmoid": Unary("1 / (1 + exp(-data))", sigmoid, lambda y: y * (1 - y), from_output=True,
                     native=_eltwise(lib.NDRT_ELTWISE_LOGISTIC),
                     native_slope=_of_output(lib.NDRT_ELTWISE_LOGISTIC_FROM_DST),
                     curve=lambda dy, y: dy * (1 - 2 * y)),
    "tanh": Unary("tanh(data)", np.tanh, lambda y: 1 - y * y, from_output=True,
                  native=(_function(WORDS["tanh"]) if "tanh" in WORDS
                          else _eltwise(lib.NDRT_ELTWISE_TANH)),
                  native_slope=_of_output(lib.NDRT_ELTWISE_TANH_FROM_DST),
                  curve=lambda dy, y: dy * y * -2),
    "softsign": Unary("data / (1 + |data|)", lambda x: x / (1 + np.abs(x)),
                      lambda x: 1 / np.square(1 + np.abs(x)),
                      curve=lambda dy, x: dy * x("sign") * -2 / (1 + x("abs")) ** 3,
                      native=_function(WORDS["softsign"]),
                      native_slope=_slope(lib.NDRT_FUNCTION_SOFTSIGN_SLOPE)),
    "silu": Unary("data / (1 + exp(-data)), which is data * sigmoid(data)",
                  lambda x: x * sigmoid(x), _silu_slope, curve=_silu_curve,
                  native=_function(lib.NDRT_FUNCTION_SILU),
                  native_slope=_slope(lib.NDRT_FUNCTION_SILU_SLOPE),
                  known_as=Elementwise("swish", (X, 1.0))),
    "exp": Unary("e to the power of data", np.exp, _same, from_output=True,
                 native_slope=_times(1.0), curve=lambda dy, y: dy,
                 native=Native(_exp, NATIVE)),
    "expm1": Unary("exp(data) - 1", np.expm1, np.exp, curve=lambda dy, x: dy * x("exp"),
                   native=_function(WORDS["expm1"]),
                   native_slope=_slope(lib.NDRT_FUNCTION_EXPM1_SLOPE)),
    "log": Unary("natural logarithm", np.log, lambda x: 1 / x, native_slope=_through(1.0),
                 curve=lambda dy, x: -(dy / x("square")), native=_function(lib.NDRT_FUNCTION_LOG)),
    "log2": Unary("logarithm to base 2", np.log2, lambda x: 1 / (x * math.log(2)),
                  native_slope=_through(1 / math.log(2)),
                  curve=lambda dy, x: dy / x("square") * (-1 / math.log(2))),
    "log10": Unary("logarithm to base 10", np.log10, lambda x: 1 / (x * math.log(10)),
                   native_slope=_through(1 / math.log(10)),
                   curve=lambda dy, x: dy / x("square") * (-1 / math.log(10))),
    "log1p": Unary("log(1 + data)", np.log1p, lambda x: 1 / (1 + x),
                   curve=lambda dy, x: -(dy / (1 + x)("square")),
                   native=_function(lib.NDRT_FUNCTION_LOG1P),
                   native_slope=_slope(lib.NDRT_FUNCTION_LOG1P_SLOPE)),
    "sqrt": Unary("square root", np.sqrt, lambda y: 0.5 / y, from_output=True,
                  native=_eltwise(lib.NDRT_ELTWISE_SQRT), native_slope=_through(0.5),
                  curve=lambda dy, y: dy / y("square") * -0.5),
    "rsqrt": Unary("1 / sqrt(data)", lambda x: 1 / np.sqrt(x), lambda x: -0.5 / (np.sqrt(x) * x),
                   curve=lambda dy, x: dy * x("rsqrt") / x("square") * 0.75,
                   native=_function(lib.NDRT_FUNCTION_RSQRT),
                   native_slope=_slope(lib.NDRT_FUNCTION_RSQRT_SLOPE)),
    "cbrt": Unary("cube root", np.cbrt, lambda y: 1 / (3 * y * y), from_output=True,
                  curve=lambda dy, y: dy / (y("square") * y) * (-2 / 3)),
    "rcbrt": Unary("1 / cube root", lambda x: 1 / np.cbrt(x), lambda x: -1 / (3 * np.cbrt(x) * x),
                   curve=lambda dy, x: dy * x("rcbrt") / x("square") * (4 / 9)),
    "square": Unary("data * data", lambda x: x * x, lambda x: 2 * x, single=True,
                    native=_eltwise(lib.NDRT_ELTWISE_SQUARE), native_slope=_times(2.0),
                    curve=lambda dy, x: dy * 2),
    "reciprocal": Unary("1 / data", lambda x: 1 / x, lambda x: -1 / (x * x), single=True,
                        native=_eltwise(lib.NDRT_ELTWISE_POW, 1.0, -1.0),
                        curve=lambda dy, x: dy / (x("square") * x) * 2,
                        native_slope=_slope(lib.NDRT_FUNCTION_RECIPROCAL_SLOPE)),
    "floor": Unary("down to an integer", np.floor, whole=_same,
                   native=_function(lib.NDRT_FUNCTION_FLOOR)),
    "ceil": Unary("up to an integer", np.ceil, whole=_same,
                  native=_function(lib.NDRT_FUNCTION_CEIL)),
    "round": Unary("to the nearest integer, halves away from zero", round_half_away, whole=_same,
                   native=_function(lib.NDRT_FUNCTION_ROUND)),
    "rint": Unary("to the nearest integer, halves down", round_half_down, whole=_same,
                  native=_function(lib.NDRT_FUNCTION_RINT)),
    "fix": Unary("towards zero to an integer", np.trunc, whole=_same,
                 native=_function(lib.NDRT_FUNCTION_TRUNC)),
    "trunc": Unary("towards zero to an integer", np.trunc, whole=_same,
                   native=_function(lib.NDRT_FUNCTION_TRUNC)),
    "sin": Unary("sine", np.sin, np.cos, curve=lambda dy, x: -(dy * x("sin"))),
    "cos": Unary("cosine", np.cos, lambda x: -np.sin(x), curve=lambda dy, x: -(dy * x("cos"))),
    "tan": Unary("tangent", np.tan, lambda y: y * y + 1, from_output=True,
                 curve=lambda dy, y: dy * y * 2),
    "sinh": Unary("hyperbolic sine", np.sinh, np.cosh, curve=lambda dy, x: dy * x("sinh")),
    "cosh": Unary("hyperbolic cosine", np.cosh, np.sinh, curve=lambda dy, x: dy * x("cosh")),
    "arcsin": Unary("inverse sine", np.arcsin, lambda x: 1 / np.sqrt(1 - x * x),
                    curve=lambda dy, x: dy * x * _inverse_root_cubed(1 - x("square"))),
    "arccos": Unary("inverse cosine", np.arccos, lambda x: -1 / np.sqrt(1 - x * x),
                    curve=lambda dy, x: -(dy * x * _inverse_root_cubed(1 - x("square")))),
    "arctan": Unary("inverse tangent", np.arctan, lambda x: 1 / (x * x + 1),
                    curve=lambda dy, x: dy * x * -2 / (1 + x("square"))("square")),
    "arcsinh": Unary("inverse hyperbolic sine", np.arcsinh, lambda x: 1 / np.hypot(x, 1),
                     curve=lambda dy, x: -(dy * x * _inverse_root_cubed(1 + x("square")))),
    "arccosh": Unary("inverse hyperbolic cosine", np.arccosh, lambda x: 1 / np.sqrt(x * x - 1),
                     curve=lambda dy, x: -(dy * x * _inverse_root_cubed(x("square") - 1))),
    "arctanh": Unary("inverse hyperbolic tangent", np.arctanh, lambda x: 1 / (1 - x * x),
                     curve=lambda dy, x: dy * x * 2 / (1 - x("square"))("square")),
    "degrees": _linear(180 / math.pi),
    "radians": _linear(math.pi / 180),
    "erf": Unary("the error function", erf,
                 lambda x: (2 / math.sqrt(math.pi)) * np.exp(-x * x),
                 curve=lambda dy, x: dy * x * (-x("square"))("exp") * (-4 / math.sqrt(math.pi)),
                 native=_function(WORDS["erf"]),
                 native_slope=_slope(lib.NDRT_FUNCTION_ERF_SLOPE)),
    "erfinv": Unary("the inverse of erf; NaN beyond [-1, 1]", erfinv,
                    lambda y: (math.sqrt(math.pi) / 2) * np.exp(y * y), from_output=True,
                    whole=_erfinv_whole,
                    curve=lambda dy, y: dy * y * y("square")("exp") * math.sqrt(math.pi),
                    native=_function(lib.NDRT_FUNCTION_ERFINV),
                    native_slope=_slope(lib.NDRT_FUNCTION_ERFINV_SLOPE)),
    "gamma": Unary("the gamma function; NaN at negative whole numbers", gamma,
                   lambda x: gamma(x) * digamma(x)),
    "gammaln": Unary("logarithm of |gamma(data)|; infinite at whole numbers up to 0", log_gamma,
                     digamma),
    "logical_not": Unary("1 where data is 0, else 0", lambda x: (x == 0).astype(x.dtype),
                         native=_function(lib.NDRT_FUNCTION_NOT)),
}


def compute(name: str, ctx: OpContext, p: NoParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    entry, x = TABLE[name], ins[0]
    if is_integer(x.dtype) and entry.whole is not None:
        outs[0].write(entry.whole(x))
        return
    outs[0].write(convert(entry.forward(single(x) if entry.single else wide(x)), x.dtype))


def refuses(p: NoParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(native: Native, ctx: OpContext, p: NoParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    native.run(ctx, ins[0], outs[0])


def gradient(name: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    if name in ("negative", "degrees", "radians"):
        return emit(name, None, out_grads[0])
    entry = node.outputs[0] if TABLE[name].from_output else node.inputs[0]
    return emit(f"_backward_{name}", None, out_grads[0], entry)


def compute_backward(name: str, ctx: OpContext, p: NoParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, data = ins
    slope_of = TABLE[name].slope
    assert slope_of is not None
    outs[0].write(times_slope(dy, slope_of(wide(data))))


def compute_ex_backward(native: NativeSlope, ctx: OpContext, p: NoParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    native(ctx, ins[0], ins[1], outs[0])


def gradient_backward(name: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    """`_backward_f(dy, v)` is dy f'(v): its gradient for dy is itself, that for v dy times the
    curve."""
    grad, dy, at = terms(emit, out_grads[0], *node.inputs)
    curve = TABLE[name].curve
    return [grad(f"_backward_{name}", None, at).entry,
            curve(grad * dy, at).entry if callable(curve) else None]


def _define(name: str, entry: Unary) -> OpDef:
    native = entry.native
    return OpDef(
        name, NoParams, inputs=("data",), infer_shape=same_shape, infer_type=same_type,
        compute=partial(compute, name),
        compute_ex=partial(compute_ex, native) if native else None,
        refuses=refuses if native else None,
        gradient=partial(gradient, name) if entry.slope else None,
        no_gradient="" if entry.slope else "zero: a step has no slope", inplace={0: 0},
        elementwise=entry.known_as or Elementwise(name),
        doc=f"Element by element: {entry.formula}.\n\nThe output has the shape and dtype of data; "
            "what an integer can not hold is cut off. Source: MXNet's "
            f"{name}; {native.source if native else 'numpy'}.")


def _define_backward(name: str, entry: Unary) -> OpDef:
    native = entry.native_slope
    return OpDef(
        f"_backward_{name}", NoParams,
        inputs=("out_grad", "out" if entry.from_output else "data"), infer_shape=same_shape,
        infer_type=same_type, compute=partial(compute_backward, name),
        compute_ex=partial(compute_ex_backward, native) if native else None,
        refuses=refuses if native else None, inplace={0: 0}, is_backward=True,
        gradient=partial(gradient_backward, name) if entry.curve else None,
        no_gradient="" if entry.curve else "there is no second-order gradient of it",
        doc=f"The gradient of {name}.")


for _name, _entry in TABLE.items():
    register(_define(_name, _entry))
    if _entry.slope is not None and _name not in ("negative", "degrees", "radians"):
        register(_define_backward(_name, _entry))

"""Functions of one array, element by element: one table, with their slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import (
    AnyArray,
    get_data,
    get_default,
    need_float32,
)
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...native import lib
from ...op.context import OpContext
from ...op.elementwise import Elementwise
from ...op.infer import same_shape, same_type
from ...op.params import NoParams
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.kernels import index, reduce
from .functions import UNARY, UNARY_SLOPES, function, slope
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
from .unary_curves import second_order

FROM_OUTPUT, STEP, MUL, DIV = "eltwise of the output", "step", "mul", "div"


class Unary(NamedTuple):
    """A function and its slope.

    `forward` gets its argument in a float dtype. `slope` is a function of x, or with `from_output`
    of y; None: zero everywhere. `whole`: the function of integers, where it is not the float one
    cut off. `single`: MXNet computes integers in float, not in double. `native` is oneDNN's
    eltwise (algorithm, alpha, beta). `native_slope` is (FROM_OUTPUT, algorithm), (STEP, ndrt_step),
    or (MUL or DIV, factor): dy times or through the slope's argument times a factor.
    """

    formula: str
    forward: Function1
    slope: Function1 | None = None
    from_output: bool = False
    whole: Function1 | None = None
    single: bool = False
    native: tuple[int, float, float] | None = None
    native_slope: tuple[str, float] | None = None


def _same(x: AnyArray) -> AnyArray:
    return x


def _linear(factor: float) -> Unary:
    return Unary(f"data * {factor:.6g}", lambda x: x * x.dtype.type(factor),
                 lambda x: np.full_like(x, factor), single=True,
                 native=(lib.NDRT_ELTWISE_LINEAR, factor, -0.0))  # of 0 the sign stays


def _sign(x: AnyArray) -> AnyArray:
    return np.asarray((x > 0).astype(x.dtype) - (x < 0))


def _relu_slope(y: AnyArray) -> AnyArray:
    return np.where(np.isnan(y), y, (y > 0).astype(y.dtype))


def _erfinv_whole(x: AnyArray) -> AnyArray:
    # MXNet's NaN of whole numbers is 0
    return convert(np.where(np.abs(x) == 1, np.inf, 0.0), x.dtype)


TABLE: dict[str, Unary] = {
    "negative": Unary("-data", np.negative, lambda x: -np.ones_like(x),
                      whole=lambda x: x if x.dtype.kind == "b" else np.negative(x),
                      native=(lib.NDRT_ELTWISE_LINEAR, -1.0, -0.0)),
    "abs": Unary("|data|", np.abs, _sign, whole=np.abs, native=(lib.NDRT_ELTWISE_ABS, 0.0, 0.0),
                 native_slope=(STEP, lib.NDRT_STEP_ABS)),
    "sign": Unary("-1, 0 or 1; 0 for NaN", _sign,
                  whole=lambda x: x if x.dtype.kind == "b" else np.sign(x)),
    "relu": Unary("max(data, 0); NaN stays NaN", lambda x: np.maximum(x, 0), _relu_slope,
                  from_output=True, whole=lambda x: np.maximum(x, np.zeros((), x.dtype)),
                  native_slope=(STEP, lib.NDRT_STEP_RELU)),
    "sigmoid": Unary("1 / (1 + exp(-data))", sigmoid, lambda y: y * (1 - y), from_output=True,
                     native=(lib.NDRT_ELTWISE_LOGISTIC, 0.0, 0.0),
                     native_slope=(FROM_OUTPUT, lib.NDRT_ELTWISE_LOGISTIC_FROM_DST)),
    "tanh": Unary("tanh(data)", np.tanh, lambda y: 1 - y * y, from_output=True,
                  native=(lib.NDRT_ELTWISE_TANH, 0.0, 0.0),
                  native_slope=(FROM_OUTPUT, lib.NDRT_ELTWISE_TANH_FROM_DST)),
    "softsign": Unary("data / (1 + |data|)", lambda x: x / (1 + np.abs(x)),
                      lambda x: 1 / np.square(1 + np.abs(x))),
    "exp": Unary("e to the power of data", np.exp, _same, from_output=True,
                 native_slope=(MUL, 1.0)),
    "expm1": Unary("exp(data) - 1", np.expm1, np.exp),
    "log": Unary("natural logarithm", np.log, lambda x: 1 / x, native_slope=(DIV, 1.0)),
    "log2": Unary("logarithm to base 2", np.log2, lambda x: 1 / (x * math.log(2)),
                  native_slope=(DIV, 1 / math.log(2))),
    "log10": Unary("logarithm to base 10", np.log10, lambda x: 1 / (x * math.log(10)),
                   native_slope=(DIV, 1 / math.log(10))),
    "log1p": Unary("log(1 + data)", np.log1p, lambda x: 1 / (1 + x)),
    "sqrt": Unary("square root", np.sqrt, lambda y: 0.5 / y, from_output=True,
                  native=(lib.NDRT_ELTWISE_SQRT, 0.0, 0.0), native_slope=(DIV, 0.5)),
    "rsqrt": Unary("1 / sqrt(data)", lambda x: 1 / np.sqrt(x), lambda x: -0.5 / (np.sqrt(x) * x)),
    "cbrt": Unary("cube root", np.cbrt, lambda y: 1 / (3 * y * y), from_output=True),
    "rcbrt": Unary("1 / cube root", lambda x: 1 / np.cbrt(x), lambda x: -1 / (3 * np.cbrt(x) * x)),
    "square": Unary("data * data", lambda x: x * x, lambda x: 2 * x, single=True,
                    native=(lib.NDRT_ELTWISE_SQUARE, 0.0, 0.0), native_slope=(MUL, 2.0)),
    "reciprocal": Unary("1 / data", lambda x: 1 / x, lambda x: -1 / (x * x), single=True,
                        native=(lib.NDRT_ELTWISE_POW, 1.0, -1.0)),
    "floor": Unary("down to an integer", np.floor, whole=_same),
    "ceil": Unary("up to an integer", np.ceil, whole=_same),
    "round": Unary("to the nearest integer, halves away from zero", round_half_away, whole=_same),
    "rint": Unary("to the nearest integer, halves down", round_half_down, whole=_same),
    "fix": Unary("towards zero to an integer", np.trunc, whole=_same),
    "trunc": Unary("towards zero to an integer", np.trunc, whole=_same),
    "sin": Unary("sine", np.sin, np.cos),
    "cos": Unary("cosine", np.cos, lambda x: -np.sin(x)),
    "tan": Unary("tangent", np.tan, lambda y: y * y + 1, from_output=True),
    "sinh": Unary("hyperbolic sine", np.sinh, np.cosh),
    "cosh": Unary("hyperbolic cosine", np.cosh, np.sinh),
    "arcsin": Unary("inverse sine", np.arcsin, lambda x: 1 / np.sqrt(1 - x * x)),
    "arccos": Unary("inverse cosine", np.arccos, lambda x: -1 / np.sqrt(1 - x * x)),
    "arctan": Unary("inverse tangent", np.arctan, lambda x: 1 / (x * x + 1)),
    "arcsinh": Unary("inverse hyperbolic sine", np.arcsinh, lambda x: 1 / np.hypot(x, 1)),
    "arccosh": Unary("inverse hyperbolic cosine", np.arccosh, lambda x: 1 / np.sqrt(x * x - 1)),
    "arctanh": Unary("inverse hyperbolic tangent", np.arctanh, lambda x: 1 / (1 - x * x)),
    "degrees": _linear(180 / math.pi),
    "radians": _linear(math.pi / 180),
    "erf": Unary("the error function", erf,
                 lambda x: (2 / math.sqrt(math.pi)) * np.exp(-x * x)),
    "erfinv": Unary("the inverse of erf; NaN beyond [-1, 1]", erfinv,
                    lambda y: (math.sqrt(math.pi) / 2) * np.exp(y * y), from_output=True,
                    whole=_erfinv_whole),
    "gamma": Unary("the gamma function; NaN at negative whole numbers", gamma,
                   lambda x: gamma(x) * digamma(x)),
    "gammaln": Unary("logarithm of |gamma(data)|; infinite at whole numbers up to 0", log_gamma,
                     digamma),
    "logical_not": Unary("1 where data is 0, else 0", lambda x: (x == 0).astype(x.dtype)),
}


OWN = ("relu", "erf", "exp")  # computed by something else than one eltwise


def compute(name: str, ctx: OpContext, p: NoParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    entry, x = TABLE[name], ins[0]
    if is_integer(x.dtype) and entry.whole is not None:
        outs[0].write(entry.whole(x))
        return
    outs[0].write(convert(entry.forward(single(x) if entry.single else wide(x)), x.dtype))


def refuses(p: NoParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(name: str, ctx: OpContext, p: NoParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    native = TABLE[name].native
    if name in UNARY:
        function(ctx, UNARY[name], ins[0], outs[0])
    elif name == "exp":
        x = get_data(ins[0], ctx.stream)
        if x.desc.is_padded:
            # exp(0) would not leave 0 in the padding
            x = get_default(ins[0], ctx.stream)
        with outs[0].open(x.desc, ctx.stream, inplace_of=x) as y:
            ctx.kernel(reduce.exp(out=y, data=x, n=x.desc.nelems))
    elif name == "erf":
        x = get_data(ins[0], ctx.stream)
        with outs[0].open(x.desc, ctx.stream, inplace_of=x) as y:
            # padding stays zero: erf(0) is 0
            ctx.kernel(index.erf(out=y, data=x, n=x.desc.nbytes // ins[0].dtype.itemsize))
    elif native is None:
        bound(ctx, "bound", lib.NDRT_BINARY_MAX, 0.0, ins[0], outs[0])
    else:
        eltwise(ctx, "eltwise", *native, ins[0], outs[0])


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


def compute_ex_backward(name: str, ctx: OpContext, p: NoParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    dy, data = ins
    if name in UNARY_SLOPES:
        slope(ctx, UNARY_SLOPES[name], dy, data, outs[0])
        return
    native = TABLE[name].native_slope
    assert native is not None
    how, what = native
    if how in (MUL, DIV):
        alg = lib.NDRT_BINARY_MUL if how == MUL else lib.NDRT_BINARY_DIV
        binary(ctx, "binary", alg, dy, data, outs[0], what)
    elif how == STEP:
        step_grad(ctx, int(what), dy, data, outs[0])
    else:
        eltwise_backward(ctx, f"_backward_{name}", int(what), dy, data, outs[0], True)


def _define(name: str, entry: Unary) -> OpDef:
    native: Callable[..., None] | None = None
    if entry.native is not None or name in OWN or name in UNARY:
        native = partial(compute_ex, name)
    return OpDef(
        name, NoParams, inputs=("data",), infer_shape=same_shape, infer_type=same_type,
        compute=partial(compute, name), compute_ex=native,
        refuses=refuses if native else None,
        gradient=partial(gradient, name) if entry.slope else None,
        no_gradient="" if entry.slope else "zero: a step has no slope", inplace={0: 0},
        elementwise=Elementwise(name),
        doc=f"Element by element: {entry.formula}.\n\nThe output has the shape and dtype of data; "
            "what an integer can not hold is cut off. Source: MXNet's "
            f"{name}" + ("; numpy." if native is None else "; a kernel of ours."
                         if name in ("erf", "exp", *UNARY) else "; oneDNN eltwise or binary."))


def _define_backward(name: str, entry: Unary) -> OpDef:
    gradient = second_order(name)
    native = entry.native_slope is not None or name in UNARY_SLOPES
    return OpDef(
        f"_backward_{name}", NoParams,
        inputs=("out_grad", "out" if entry.from_output else "data"), infer_shape=same_shape,
        infer_type=same_type, compute=partial(compute_backward, name),
        compute_ex=partial(compute_ex_backward, name) if native else None,
        refuses=refuses if native else None, inplace={0: 0}, is_backward=True,
        gradient=gradient,
        no_gradient="" if gradient else "there is no second-order gradient of it",
        doc=f"The gradient of {name}.")


for _name, _entry in TABLE.items():
    register(_define(_name, _entry))
    if _entry.slope is not None and _name not in ("negative", "degrees", "radians"):
        register(_define_backward(_name, _entry))

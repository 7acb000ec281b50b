"""Functions of one array with parameters: hard_sigmoid, smooth_l1, quadratic."""

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
from ...op.params import Params, number, params_class
from ...op.registry import Emit, GradNode, InferType, OpDef, register
from ..floats import same_float_type
from ..terms import Term, terms
from .functions import function, slope
from .numeric import convert, is_integer, single, wide


def _single(value: float, x: AnyArray) -> Any:
    """A number rounded to float32, in the dtype of x."""
    return x.dtype.type(np.float32(value))


@params_class
class HardSigmoidParams(Params):
    alpha: float = number(0.2, doc="the slope")
    beta: float = number(0.5, doc="the value at 0")

    def line(self, x: AnyArray) -> AnyArray:
        """MXNet keeps both numbers in float32, also for float64 data."""
        made: AnyArray = _single(self.alpha, x) * x + _single(self.beta, x)
        return made


@params_class
class SmoothL1Params(Params):
    scalar: float = number(1.0, doc="sigma: the parabola ends at 1 / sigma**2")


@params_class
class QuadraticParams(Params):
    a: float = number(0.0, doc="factor of data**2")
    b: float = number(0.0, doc="factor of data")
    c: float = number(0.0, doc="what is added")


def _hard_sigmoid(x: AnyArray, p: HardSigmoidParams) -> AnyArray:
    y = p.line(x)
    made: AnyArray = np.where(y > 1, x.dtype.type(1), np.where(y < 0, x.dtype.type(0), y))
    return made


def _hard_sigmoid_slope(x: AnyArray, p: HardSigmoidParams) -> AnyArray:
    y = p.line(x)
    made: AnyArray = np.where((y > 0) & (y < 1), _single(p.alpha, x), x.dtype.type(0))
    return made


def _whole_sigma(p: SmoothL1Params) -> SmoothL1Params:
    sigma = float(int(p.scalar)) if math.isfinite(p.scalar) else 0.0
    return SmoothL1Params.parse({"scalar": sigma}, "smooth_l1")


def _edge(p: SmoothL1Params, x: AnyArray) -> tuple[Any, Any]:
    """(sigma**2, where the parabola ends) in the dtype of x."""
    square = x.dtype.type(p.scalar) * x.dtype.type(p.scalar)
    return square, (1 / square if square else x.dtype.type(np.inf))


def _smooth_l1(x: AnyArray, p: SmoothL1Params) -> AnyArray:
    square, edge = _edge(p, x)
    size = np.abs(x)
    half = x.dtype.type(0.5)
    made: AnyArray = np.where(size > edge, size - half * edge, half * x * x * square)
    return made


def _smooth_l1_slope(x: AnyArray, p: SmoothL1Params) -> AnyArray:
    square, edge = _edge(p, x)
    return np.where(np.abs(x) > edge, np.sign(x), square * x)


def _quadratic(x: AnyArray, p: QuadraticParams) -> AnyArray:
    a, b, c = (_single(value, x) for value in (p.a, p.b, p.c))
    made: AnyArray = a * x * x + b * x + c
    return made


def _quadratic_slope(x: AnyArray, p: QuadraticParams) -> AnyArray:
    made: AnyArray = _single(2 * p.a, x) * x + _single(p.b, x)
    return made


def _smooth_l1_curve(dy: Term, x: Term, p: SmoothL1Params) -> Term | None:
    square = p.scalar * p.scalar
    if not square:
        return None
    return dy * x("abs")("_lesser_equal_scalar", {"scalar": 1 / square}) * square


class Formula(NamedTuple):
    """One member of the family: its value and its slope at an array in a float dtype.

    `curve` gives its first argument times the slope of the slope; None: that is 0. `whole` gives
    the parameters that whole numbers are computed with, in single precision then.
    """

    name: str
    params: type[Params]
    forward: Callable[[AnyArray, Any], AnyArray]
    slope: Callable[[AnyArray, Any], AnyArray]
    text: str
    infer_type: InferType = same_type
    curve: Callable[[Term, Term, Any], Term | None] = lambda dy, x, p: None
    whole: Callable[[Any], Any] | None = None
    elementwise: Callable[[Any], Elementwise] | None = None
    names_data: bool = False

    @property
    def backward(self) -> str:
        return f"_backward_{self.name.removeprefix('_contrib_')}"


def _settled(formula: Formula, x: AnyArray, p: Any) -> tuple[AnyArray, Any]:
    """Data in the dtype that the formula is computed in, and its parameters there."""
    if formula.whole is not None and is_integer(x.dtype):
        return single(x), formula.whole(p)
    return wide(x), p


def compute(formula: Formula, ctx: OpContext, p: Params, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(convert(formula.forward(*_settled(formula, ins[0], p)), ins[0].dtype))


def compute_backward(formula: Formula, ctx: OpContext, p: Params, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, x = ins
    outs[0].write(convert(wide(dy) * formula.slope(*_settled(formula, x, p)), x.dtype))


# (function, slope) of the kernel, and its two numbers
NATIVE: dict[str, tuple[int, int, Callable[[Any], tuple[float, float]]]] = {
    "hard_sigmoid": (lib.NDRT_FUNCTION_HARD_SIGMOID, lib.NDRT_FUNCTION_HARD_SIGMOID_SLOPE,
                     lambda p: (p.alpha, p.beta)),
    "smooth_l1": (lib.NDRT_FUNCTION_SMOOTH_L1, lib.NDRT_FUNCTION_SMOOTH_L1_SLOPE,
                  lambda p: (p.scalar, 0.0)),
}


def refuses(p: Params, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(name: str, ctx: OpContext, p: Params, ins: list[NDArray],
               outs: list[Output]) -> None:
    which, _, numbers = NATIVE[name]
    function(ctx, which, ins[0], outs[0], *numbers(p))


def compute_ex_backward(name: str, ctx: OpContext, p: Params, ins: list[NDArray],
                        outs: list[Output]) -> None:
    _, which, numbers = NATIVE[name]
    slope(ctx, which, ins[0], ins[1], outs[0], *numbers(p))


def gradient(formula: Formula, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit(formula.backward, node.params, out_grads[0], node.inputs[0])


def gradient_backward(formula: Formula, emit: Emit, node: GradNode, out_grads: Sequence[Any],
                      ) -> list[Any]:
    grad, dy, x = terms(emit, out_grads[0], *node.inputs)
    to_data = formula.curve(grad * dy, x, node.params)
    return [grad(formula.backward, node.params, x).entry,
            None if to_data is None else to_data.entry]


def _numbers_of(formula: Formula) -> tuple[str, ...]:
    """What the kernel is given as it is."""
    return {"hard_sigmoid": ("alpha", "beta"), "smooth_l1": ("scalar",)}.get(formula.name, ())


def _register(formula: Formula) -> None:
    native = formula.name in NATIVE
    source = "a native kernel" if native else "numpy"
    register(OpDef(formula.name, formula.params, inputs=("data",), infer_shape=same_shape,
                   infer_type=formula.infer_type, compute=partial(compute, formula),
                   compute_ex=partial(compute_ex, formula.name) if native else None,
                   refuses=refuses if native else None,
                   gradient=partial(gradient, formula), inplace={0: 0},
                   numbers=_numbers_of(formula),
                   elementwise=formula.elementwise, names_data=formula.names_data,
                   doc=f"Element by element: {formula.text}.\n\nThe output has the shape and dtype "
                       f"of data. Source: MXNet's {formula.name}; {source}."))
    register(OpDef(formula.backward, formula.params, inputs=("out_grad", "data"),
                   infer_shape=same_shape, infer_type=formula.infer_type,
                   compute=partial(compute_backward, formula),
                   compute_ex=partial(compute_ex_backward, formula.name) if native else None,
                   refuses=refuses if native else None, inplace={0: 0}, is_backward=True,
                   numbers=_numbers_of(formula),
                   gradient=partial(gradient_backward, formula),
                   doc=f"The gradient of {formula.name}."))


_register(Formula("hard_sigmoid", HardSigmoidParams, _hard_sigmoid, _hard_sigmoid_slope,
                  "alpha * data + beta, brought into [0, 1]; NaN stays NaN", same_float_type,
                  elementwise=lambda p: Elementwise("hardsigmoid", (X, p.alpha, p.beta))))
_register(Formula("smooth_l1", SmoothL1Params, _smooth_l1, _smooth_l1_slope,
                  "(scalar * data)**2 / 2 where |data| is at most 1 / scalar**2, beyond that "
                  "|data| - 0.5 / scalar**2; of whole numbers scalar is cut off, too",
                  curve=_smooth_l1_curve, whole=_whole_sigma))
_register(Formula("_contrib_quadratic", QuadraticParams, _quadratic, _quadratic_slope,
                  "a * data**2 + b * data + c; whole numbers are cut off",
                  curve=lambda dy, x, p: dy * (2 * p.a), names_data=True))

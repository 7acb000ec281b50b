"""_random_*: arrays of a shape, or like another, of random numbers; parameters are numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, DType, dtype_name, find_dtype, greatest
from ...errors import ParameterError, ShapeError, TypeMismatch
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge_types, same_shape
from ...op.params import (
    Params,
    integer,
    number,
    optional_dtype,
    params_class,
    positive,
    shape,
    text,
)
from ...op.registry import OpDef, register
from ..floats import same_float_type
from ..tensor.init import CONSTANT, given_shape
from .distributions import DISTRIBUTIONS, FLOATS, sample
from .native import draw_by_numbers


@params_class
class Shaped(Params):
    shape: tuple[int, ...] = shape((), low=0, doc="shape of the output; a 0 is left to inference")
    ctx: str = text("", doc="accepted and ignored")
    dtype: str | None = optional_dtype(doc="float16, float32 or float64; default float32")


@params_class
class UniformNumbers(Params):
    low: float = number(0.0, finite=True, doc="lower end, included")
    high: float = number(1.0, finite=True, doc="upper end, not included")


@params_class
class NormalNumbers(Params):
    loc: float = number(0.0, finite=True, doc="mean")
    scale: float = positive(1.0, doc="standard deviation, above 0")


@params_class
class GammaNumbers(Params):
    alpha: float = positive(1.0, doc="shape of the distribution, above 0")
    beta: float = positive(1.0, doc="scale of the distribution, above 0")


@params_class
class ExponentialNumbers(Params):
    lam: float = positive(1.0, doc="rate, above 0")


@params_class
class PoissonNumbers(Params):
    lam: float = number(1.0, low=0.0, finite=True, doc="mean")


@params_class
class NegativeBinomialNumbers(Params):
    k: int = integer(1, low=0, doc="how many successes end a series")
    p: float = number(1.0, low=0.0, high=1.0, doc="probability of a success")


@params_class
class GeneralizedNumbers(Params):
    mu: float = number(1.0, low=0.0, finite=True, doc="mean")
    alpha: float = number(1.0, low=0.0, finite=True, doc="dispersion")


@params_class
class UniformParams(Shaped, UniformNumbers):
    """Its numbers and a shape."""


@params_class
class NormalParams(Shaped, NormalNumbers):
    """Its numbers and a shape."""


@params_class
class GammaParams(Shaped, GammaNumbers):
    """Its numbers and a shape."""


@params_class
class ExponentialParams(Shaped, ExponentialNumbers):
    """Its number and a shape."""


@params_class
class PoissonParams(Shaped, PoissonNumbers):
    """Its number and a shape."""


@params_class
class NegativeBinomialParams(Shaped, NegativeBinomialNumbers):
    """Its numbers and a shape."""


@params_class
class GeneralizedParams(Shaped, GeneralizedNumbers):
    """Its numbers and a shape."""


def infer_shape(p: Shaped, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    check_interval(p)
    return [], [given_shape(p.shape, outs[0])]


def check_interval(p: Params) -> None:
    """ShapeError where an interval ends before it begins."""
    if isinstance(p, UniformNumbers) and p.low > p.high:
        raise ShapeError(f"low={p.low} is above high={p.high}")


def infer_type(p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    dtype = drawn_type(p.dtype, outs[0])
    for name, value in vars(p).items():
        if isinstance(value, float) and abs(value) > greatest(dtype):
            raise ParameterError(f"parameter {name!r} got {value}, expected a number of {dtype}")
    if isinstance(p, UniformNumbers) and p.high - p.low > greatest(dtype):
        raise ParameterError(f"parameters 'low' and 'high' got {p.low} and {p.high}, which are "
                             f"further apart than {dtype} can say")
    return [], [dtype]


def drawn_type(given: str | None, out: DType | None) -> DType:
    """The dtype of what is drawn: what is known of it, else float32."""
    found = merge_types([out, None if given is None else find_dtype(given)]) or FLOAT32
    if found.name not in FLOATS:
        raise TypeMismatch(f"dtype {dtype_name(found)} is none of {', '.join(FLOATS)}")
    return found


def compute_of(name: str, fields: tuple[str, ...],
               ) -> Callable[[OpContext, Any, list[AnyArray], list[NumpyOutput]], None]:
    """Draws one number for each element of the output."""
    def compute(ctx: OpContext, p: Any, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
        n = prod(outs[0].shape)
        numbers = [np.full(n, getattr(p, field), np.float64) for field in fields]
        made = sample(ctx.random, name, numbers, outs[0].dtype)
        outs[0].write(made.reshape(outs[0].shape))
    return compute


def compute_ex_of(name: str, fields: tuple[str, ...],
                  ) -> Callable[[OpContext, Any, list[NDArray], list[Output]], None]:
    """The same as a native kernel."""
    def compute_ex(ctx: OpContext, p: Any, ins: list[NDArray], outs: list[Output]) -> None:
        numbers = [float(getattr(p, field)) for field in fields]
        draw_by_numbers(ctx, name, numbers, outs[0])
    return compute_ex


def infer_like(p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    check_interval(p)
    return same_shape(p, ins, outs)


SHAPED: dict[str, type[Params]] = {
    "uniform": UniformParams, "normal": NormalParams,
    "gamma": GammaParams, "exponential": ExponentialParams, "poisson": PoissonParams,
    "negative_binomial": NegativeBinomialParams,
    "generalized_negative_binomial": GeneralizedParams}
LIKE: dict[str, type[Params]] = {
    "uniform": UniformNumbers, "normal": NormalNumbers, "gamma": GammaNumbers,
    "exponential": ExponentialNumbers, "poisson": PoissonNumbers,
    "negative_binomial": NegativeBinomialNumbers,
    "generalized_negative_binomial": GeneralizedNumbers}


def fields_of(name: str) -> tuple[str, ...]:
    """The parameters of a distribution, as they are called where they are numbers."""
    return ("loc", "scale") if name == "normal" else DISTRIBUTIONS[name].parameters


for _name, _params in SHAPED.items():
    _short = (_name,) if _name in ("uniform", "normal") else ()
    register(OpDef(f"_random_{_name}", _params, inputs=(), infer_shape=infer_shape,
                   infer_type=infer_type, compute=compute_of(_name, fields_of(_name)),
                   compute_ex=compute_ex_of(_name, fields_of(_name)),
                   no_gradient=CONSTANT, is_random=True,
                   aliases=(*_short, f"random_{_name}"),
                   doc=f"Random numbers of a shape. {DISTRIBUTIONS[_name].what}.\n\nFrom the "
                       "stream of random words of the context. Source: MXNet's "
                       f"_random_{_name}; a native kernel."))
for _name, _params in LIKE.items():
    register(OpDef(f"_random_{_name}_like", _params, inputs=("data",), infer_shape=infer_like,
                   infer_type=same_float_type, compute=compute_of(_name, fields_of(_name)),
                   compute_ex=compute_ex_of(_name, fields_of(_name)),
                   no_gradient="zero: it does not depend on the values of data", ignores=(0,),
                   is_random=True,
                   doc="Random numbers in the shape and dtype of data, floats. "
                       f"{DISTRIBUTIONS[_name].what}.\n\nFrom the stream of random words of the "
                       f"context of data. Source: MXNet's _random_{_name}_like; a native "
                       "kernel."))

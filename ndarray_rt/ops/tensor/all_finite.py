"""all_finite, multi_all_finite and allclose: one answer about whole arrays."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray, plain_numpy
from ..._array.output import NumpyOutput
from ...dtypes import FLOAT32, UINT8
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge_all, merge_types, same_shape
from ...op.params import Params, boolean, how_many, number, params_class
from ...op.registry import OpDef, register
from ..floats import need_float_types
from .numeric import wide

_NO_GRADIENT = "zero: a step has no slope"


@params_class
class AllFiniteParams(Params):
    init_output: bool = boolean(True, doc="False: what the output holds counts as well")


@params_class
class MultiAllFiniteParams(Params):
    num_arrays: int = how_many(1, doc="how many arrays there are")
    init_output: bool = boolean(True, doc="False: what the output holds counts as well")


@params_class
class AllCloseParams(Params):
    rtol: float = number(1e-5, doc="tolerance relative to b")
    atol: float = number(1e-8, doc="absolute tolerance")
    equal_nan: bool = boolean(True, doc="NaN equals NaN")


def infer_shape(p: Params, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    return ins, [merge_all([outs[0], (1,)], "output shapes")]


def infer_type(p: Params, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types(ins)
    need_float_types([one])
    return [one] * len(ins), [merge_types([outs[0], FLOAT32])]


def compute(ctx: OpContext, p: AllFiniteParams | MultiAllFiniteParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    good = all(bool(np.isfinite(x).all()) for x in ins)
    # an output that is made by this very call holds nothing
    chunk = outs[0].array._chunk
    if p.init_output or not good or not (chunk.is_allocated or chunk.zero):
        outs[0].write(np.full((1,), good, FLOAT32))
    elif outs[0].requested:
        outs[0].write(plain_numpy(outs[0].array).copy())


def infer_shape_close(p: AllCloseParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    ins, _ = same_shape(p, ins, [])
    return ins, [merge_all([outs[0], ()], "output shapes")]


def infer_type_close(p: AllCloseParams, ins: TypeList, outs: TypeList,
                     ) -> tuple[TypeList, TypeList]:
    one = merge_types(ins)
    return [one, one], [merge_types([outs[0], UINT8])]


def compute_close(ctx: OpContext, p: AllCloseParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    a, b = (wide(x) for x in ins)
    close = np.isfinite(b) & (np.abs(a - b) <= p.atol + p.rtol * np.abs(b))
    close |= a == b
    if p.equal_nan:
        close |= np.isnan(a) & np.isnan(b)
    outs[0].write(np.array(bool(close.all()), UINT8))


def _names(p: MultiAllFiniteParams) -> tuple[str, ...]:
    return tuple(f"data_{i}" for i in range(p.num_arrays))


_RESULT = ("The output has shape (1,) and dtype float32. With init_output=False it becomes 0 or "
           "stays as it is. data has a float dtype. Source: MXNet's {}; numpy.")
register(OpDef("all_finite", AllFiniteParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, no_gradient=_NO_GRADIENT, names_data=True,
               doc="1 if no element is NaN or infinite, else 0.\n\n"
                   + _RESULT.format("all_finite")))
register(OpDef("multi_all_finite", MultiAllFiniteParams, inputs=_names, num_args="num_arrays",
               infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               no_gradient=_NO_GRADIENT,
               doc="1 if no element of any of the arrays is NaN or infinite, else 0.\n\n"
                   + _RESULT.format("multi_all_finite")))
register(OpDef("_contrib_allclose", AllCloseParams, inputs=("a", "b"),
               infer_shape=infer_shape_close, infer_type=infer_type_close, compute=compute_close,
               no_gradient=_NO_GRADIENT,
               doc="1 if |a - b| is at most atol + rtol * |b| everywhere, else 0.\n\nThe output "
                   "has rank 0 and dtype uint8. An infinity is close to itself only. a and b have "
                   "one shape and one dtype. Source: MXNet's _contrib_allclose; numpy."))

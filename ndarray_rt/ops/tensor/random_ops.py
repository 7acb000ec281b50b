"""Random arrays of a shape: _random_uniform and _random_normal."""

from __future__ import annotations

import numpy as np

from ...dtypes import FLOAT32, find_dtype
from ...errors import ShapeError, TypeMismatch
from ...ndarray.layout import AnyArray
from ...ndarray.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge_types
from ...op.params import Params, number, optional_dtype, params_class, shape, text
from ...op.registry import OpDef, register
from .init import CONSTANT, given_shape


@params_class
class UniformParams(Params):
    low: float = number(0.0, finite=True, doc="lower end, included")
    high: float = number(1.0, finite=True, doc="upper end, not included")
    shape: tuple[int, ...] = shape((), low=0, doc="shape of the output; a 0 is left to inference")
    ctx: str = text("", doc="accepted and ignored")
    dtype: str | None = optional_dtype(doc="float16, float32 or float64; default float32")


@params_class
class NormalParams(Params):
    loc: float = number(0.0, finite=True, doc="mean")
    scale: float = number(1.0, finite=True, doc="standard deviation, above 0")
    shape: tuple[int, ...] = shape((), low=0, doc="shape of the output; a 0 is left to inference")
    ctx: str = text("", doc="accepted and ignored")
    dtype: str | None = optional_dtype(doc="float16, float32 or float64; default float32")


def infer_shape(p: UniformParams | NormalParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    if isinstance(p, UniformParams) and p.low > p.high:
        raise ShapeError(f"low={p.low} is above high={p.high}")
    if isinstance(p, NormalParams) and not p.scale > 0:
        raise ShapeError(f"scale={p.scale}, expected a number above 0")
    return [], [given_shape(p.shape, outs[0])]


def infer_type(p: UniformParams | NormalParams, ins: TypeList, outs: TypeList,
               ) -> tuple[TypeList, TypeList]:
    given = None if p.dtype is None else find_dtype(p.dtype)
    found = merge_types([outs[0], given]) or FLOAT32
    if found.name not in ("float16", "float32", "float64"):
        raise TypeMismatch(f"dtype {found} is none of float16, float32, float64")
    return [], [found]


def compute_uniform(ctx: OpContext, p: UniformParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    out = outs[0]
    size = int(np.prod(out.shape))
    if out.dtype == np.float64:
        words = ctx.random.words(2 * size).astype(np.uint64)
        unit = ((words[::2] << np.uint64(21)) ^ (words[1::2] >> np.uint64(11))) * 2.0**-53
    else:
        unit = ctx.random.uniform(size).astype(np.float64)
    made = (p.low + (p.high - p.low) * unit).astype(out.dtype)
    # rounding may have reached the end, which does not belong to the interval
    low, high = out.dtype.type(p.low), out.dtype.type(p.high)
    if low < high:
        made = np.minimum(made, np.nextafter(high, low))
    outs[0].write(made.reshape(out.shape))


def compute_normal(ctx: OpContext, p: NormalParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    out = outs[0]
    unit = ctx.random.normal(int(np.prod(out.shape)))
    out.write((p.loc + p.scale * unit).astype(out.dtype).reshape(out.shape))


register(OpDef("_random_uniform", UniformParams, inputs=(), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute_uniform, no_gradient=CONSTANT,
               is_random=True, aliases=("uniform", "random_uniform"),
               doc="Random numbers, evenly from [low, high).\n\nFrom the caller's stream of random "
                   "words. Source: MXNet's _random_uniform."))
register(OpDef("_random_normal", NormalParams, inputs=(), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute_normal, no_gradient=CONSTANT,
               is_random=True, aliases=("normal", "random_normal"),
               doc="Random numbers from the normal distribution of mean loc and standard deviation "
                   "scale.\n\nFrom the caller's stream of random words. Source: MXNet's "
                   "_random_normal."))

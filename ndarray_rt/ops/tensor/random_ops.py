"""Random arrays of a shape: _random_uniform and _random_normal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import FLOAT32, DType, find_dtype
from ...errors import ShapeError, TypeMismatch, Unsupported
from ...native import lib
from ...ndarray.layout import AnyArray, need_float32
from ...ndarray.ndarray import NDArray
from ...ndarray.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge_types
from ...op.params import Params, number, optional_dtype, params_class, shape, text
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
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
    made = np.minimum((p.low + (p.high - p.low) * unit).astype(out.dtype), _limit(p, out.dtype))
    outs[0].write(made.reshape(out.shape))


def _limit(p: UniformParams, dtype: DType) -> Any:
    """The largest number of the interval: rounding may reach the end, which is not in it."""
    low, high = dtype.type(p.low), dtype.type(p.high)
    return np.nextafter(high, low) if low < high else dtype.type(np.inf)


def compute_ex_uniform(ctx: OpContext, p: UniformParams, ins: list[NDArray],
                       outs: list[Output]) -> None:
    limit = float(_limit(p, FLOAT32))
    _draw(ctx, lib.NDRT_KERNEL_UNIFORM, outs[0], (p.low, p.high - p.low, limit))


def compute_normal(ctx: OpContext, p: NormalParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    out = outs[0]
    unit = ctx.random.normal(int(np.prod(out.shape)))
    out.write((p.loc + p.scale * unit).astype(out.dtype).reshape(out.shape))


def compute_ex_normal(ctx: OpContext, p: NormalParams, ins: list[NDArray],
                      outs: list[Output]) -> None:
    _draw(ctx, lib.NDRT_KERNEL_NORMAL, outs[0], (p.loc, p.scale))


def _draw(ctx: OpContext, kernel: int, out: Output, scalars: Sequence[float]) -> None:
    refusal = need_float32(out.array)
    if refusal is not None:
        raise Unsupported(refusal)
    desc = default_desc(FLOAT32, out.shape)
    with out.open(desc, ctx.stream) as y:
        ctx.kernel(kernel, (desc.nelems,), (y, ctx.random_mem()), scalars)


register(OpDef("_random_uniform", UniformParams, inputs=(), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute_uniform, compute_ex=compute_ex_uniform,
               no_gradient=CONSTANT, is_random=True, aliases=("uniform", "random_uniform"),
               doc="Random numbers, evenly from [low, high).\n\nFrom the caller's stream of random "
                   "words. Source: MXNet's _random_uniform."))
register(OpDef("_random_normal", NormalParams, inputs=(), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute_normal, compute_ex=compute_ex_normal,
               no_gradient=CONSTANT, is_random=True, aliases=("normal", "random_normal"),
               doc="Random numbers from the normal distribution of mean loc and standard deviation "
                   "scale.\n\nFrom the caller's stream of random words. Source: MXNet's "
                   "_random_normal."))

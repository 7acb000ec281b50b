"""_random_randint: random whole numbers."""

from __future__ import annotations

from math import prod

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import find_dtype
from ...errors import ParameterError, ShapeError, TypeMismatch, Unsupported
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge_types
from ...op.params import Params, integer, optional_dtype, params_class, shape, text
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels import random as kernels
from ..tensor.init import CONSTANT, given_shape
from .native import can_write
from .source import below, integers


@params_class
class RandintParams(Params):
    low: int = integer(doc="lower end, included")
    high: int = integer(doc="upper end, not included")
    shape: tuple[int, ...] = shape((), low=0, doc="shape of the output; a 0 is left to inference")
    ctx: str = text("", doc="accepted and ignored")
    dtype: str | None = optional_dtype(doc="int32 or int64; default int32")


def infer_shape(p: RandintParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if p.low >= p.high:
        raise ShapeError(f"low={p.low}, expected less than high={p.high}")
    return [], [given_shape(p.shape, outs[0])]


def infer_type(p: RandintParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    given = None if p.dtype is None else find_dtype(p.dtype)
    found = merge_types([outs[0], given]) or np.dtype(np.int32)
    if found.name not in ("int32", "int64"):
        raise TypeMismatch(f"dtype {found} is neither int32 nor int64")
    ends = np.iinfo(found)
    if p.low < ends.min or p.high - 1 > ends.max:
        raise ParameterError(f"low={p.low} and high={p.high}, expected numbers that {found} holds")
    return [], [found]


def compute(ctx: OpContext, p: RandintParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    words = ctx.random.words(2 * prod(outs[0].shape))
    # of 64 bits, so that no number is noticeably more frequent than another
    offsets = below(integers(words[::2], words[1::2]), p.high - p.low)
    made = offsets.view(np.int64) + np.int64(p.low)
    outs[0].write(made.astype(outs[0].dtype).reshape(outs[0].shape))


def compute_ex(ctx: OpContext, p: RandintParams, ins: list[NDArray], outs: list[Output]) -> None:
    can_write(outs[0])
    if outs[0].array.dtype.name != "int32":
        raise Unsupported(f"no layout for {outs[0].array.dtype}")
    desc = default_desc(outs[0].array.dtype, outs[0].shape)
    count = p.high - p.low
    with outs[0].open(desc, ctx.stream) as y:
        ctx.kernel(kernels.randint(
            out=y, stream=ctx.random_mem(), n=desc.nelems, least=p.low,
            range=count - (1 << 64) if count >= 1 << 63 else count))


register(OpDef("_random_randint", RandintParams, inputs=(), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex,
               no_gradient=CONSTANT, is_random=True, aliases=("random_randint",),
               doc="Random whole numbers, evenly from [low, high), all of which "
                   "the dtype holds.\n\nFrom the stream of random words of the context. Source: "
                   "MXNet's _random_randint; a native kernel."))

"""_shuffle: rows in random order."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray, get_bytes
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import UINT8
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, same_shape, same_type
from ...op.params import NoParams
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels import random as kernels
from ..tensor.places import need_moved
from .native import can_write
from .source import integers


def infer_shape(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if ins[0] == ():
        raise ShapeError("data has shape (), expected a first axis whose rows are shuffled")
    return same_shape(p, ins, outs)


def compute(ctx: OpContext, p: NoParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    words = ctx.random.words(2 * len(ins[0]))
    order = np.argsort(integers(words[::2], words[1::2]), kind="stable")
    outs[0].write(ins[0][order])


def refuses(p: NoParams, ins: list[NDArray]) -> str | None:
    return need_moved(ins[0])


def compute_ex(ctx: OpContext, p: NoParams, ins: list[NDArray], outs: list[Output]) -> None:
    can_write(outs[0])
    x, stream = ins[0], ctx.stream
    rows = x.shape[0]
    source = get_bytes(x, stream)
    # keys, order, and where each of at most `rows` buckets ends
    keys = stream.scratch(default_desc(UINT8, (8 * (3 * rows + 1),)))
    with outs[0].open(default_desc(x.dtype, x.shape), stream) as y:
        ctx.kernel(kernels.shuffle(out=y, stream=ctx.random_mem(), data=source, scratch=keys,
                                   rows=rows, width=x.nbytes // max(rows, 1)))


register(OpDef("_shuffle", NoParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex,
               refuses=refuses, is_random=True, aliases=("shuffle",),
               no_gradient="MXNet has none either; shuffle indices and take by them",
               doc="The rows of data, along its first axis, in random order.\n\nAny dtype. From "
                   "the stream of random words of the context. Source: MXNet's _shuffle; a native "
                   "kernel."))

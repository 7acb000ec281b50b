"""_shuffle: rows in random order."""

from __future__ import annotations

import numpy as np

from ...errors import ShapeError
from ...ndarray.layout import AnyArray
from ...ndarray.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import ShapeList, same_shape, same_type
from ...op.params import NoParams
from ...op.registry import OpDef, register
from .source import integers


def infer_shape(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if ins[0] == ():
        raise ShapeError("data has shape (), expected a first axis whose rows are shuffled")
    return same_shape(p, ins, outs)


def compute(ctx: OpContext, p: NoParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    words = ctx.random.words(2 * len(ins[0]))
    order = np.argsort(integers(words[::2], words[1::2]), kind="stable")
    outs[0].write(ins[0][order])


register(OpDef("_shuffle", NoParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_type, compute=compute, is_random=True, aliases=("shuffle",),
               no_gradient="MXNet has none either; shuffle indices and take by them",
               doc="The rows of data, along its first axis, in random order.\n\nAny dtype. From "
                   "the caller's stream of random words. Source: MXNet's _shuffle."))

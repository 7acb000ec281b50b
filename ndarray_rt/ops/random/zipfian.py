"""_sample_unique_zipfian: different whole numbers, small ones more often."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, integer, params_class, shape
from ...op.registry import OpDef, register
from ..tensor.init import CONSTANT
from .source import Source, unit

INT64 = np.dtype(np.int64)
_AT_ONCE = 1 << 16  # numbers that are drawn before it is looked again whether they are enough


@params_class
class ZipfianParams(Params):
    range_max: int = integer(low=1, doc="how many numbers there are")
    shape: tuple[int, ...] = shape((), doc="(rows, numbers of each row)")


def infer_shape(p: ZipfianParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if len(p.shape) != 2 or min(p.shape) < 1:
        raise ShapeError(f"shape={p.shape}, expected (rows, numbers of each row)")
    if p.shape[1] > p.range_max:
        raise ShapeError(f"shape={p.shape}, but there are only range_max={p.range_max} numbers")
    return [], [merge(outs[0], p.shape), merge(outs[1], p.shape[:1])]


def infer_type(p: ZipfianParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return [], [merge_types([out, INT64]) for out in outs]


def _row(ctx: OpContext, range_max: int, count: int) -> tuple[AnyArray, int]:
    """The first `count` different numbers of a series, and how long it was."""
    found, drawn = np.empty(0, np.int64), 0  # the different ones so far, of so many
    n = min(max(count, 16) * 2, _AT_ONCE)
    while True:
        words = Source(ctx.random, n).words()
        u = unit(words[:, 0], words[:, 1])
        made = np.exp(u * np.log(range_max + 1.0)).astype(np.int64) - 1
        seen = np.concatenate([found, np.minimum(made, range_max - 1)])
        first = np.sort(np.unique(seen, return_index=True)[1])
        if len(first) >= count:
            return seen[first[:count]], drawn + int(first[count - 1]) + 1 - len(found)
        found, drawn = seen[first], drawn + n
        # the last ones are rare: looking again and again would take the square of the time
        n = min(2 * n, max(_AT_ONCE, count))


def compute(ctx: OpContext, p: ZipfianParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    # before anything is drawn, so that rows without end are refused at once
    numbers, tries = np.empty(p.shape, np.int64), np.empty(p.shape[:1], np.int64)
    for i in range(p.shape[0]):
        numbers[i], tries[i] = _row(ctx, p.range_max, p.shape[1])
    outs[0].write(numbers)
    outs[1].write(tries)


register(OpDef("_sample_unique_zipfian", ZipfianParams, inputs=(), outputs=("output0", "output1"),
               infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               no_gradient=CONSTANT, is_random=True,
               doc="Rows of different whole numbers from [0, range_max), in the order in which "
                   "they came, and how many had to be drawn for each row.\n\nA number c comes "
                   "with probability log((c + 2) / (c + 1)) / log(range_max + 1). int64. Source: "
                   "MXNet's _sample_unique_zipfian."))

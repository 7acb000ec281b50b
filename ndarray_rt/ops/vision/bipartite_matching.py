"""_contrib_bipartite_matching: pairs of rows and columns, best scores first."""

from __future__ import annotations

from math import prod

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import OpDef, register
from ..floats import same_float_type, wide
from .shared import zero_gradient


@params_class
class BipartiteMatchingParams(Params):
    threshold: float = number(doc="pairs whose score is not better than it are not made")
    is_ascend: bool = boolean(False, doc="smaller scores are better")
    topk: int = integer(-1, doc="once there are more pairs than that, no more are made; 0 or "
                                "less: no bound")


def infer_shape(p: BipartiteMatchingParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if data is None:
        return ins, outs
    if len(data) < 2:
        raise ShapeError(f"data has shape {data}, expected (..., rows, columns)")
    rows = merge(outs[0], data[:-1], "output shapes")
    columns = merge(outs[1], (*data[:-2], data[-1]), "output shapes")
    return [data], [rows, columns]


def _match(p: BipartiteMatchingParams, scores: AnyArray, rows: AnyArray,
           columns: AnyArray) -> None:
    """Fills in the partners."""
    width = scores.shape[1]
    flat = scores.reshape(-1)
    order = np.argsort(flat if p.is_ascend else -flat, kind="stable")
    limit = np.float32(p.threshold)
    good = flat[order] < limit if p.is_ascend else flat[order] > limit
    # as in MXNet, nothing is made behind the first bad score of a free pair
    count = 0
    for at, fine in zip(order.tolist(), good.tolist(), strict=True):
        row, column = divmod(at, width)
        if rows[row] != -1 or columns[column] != -1:
            continue
        if not fine:
            return
        rows[row], columns[column] = column, row
        count += 1
        # one more than topk, as MXNet does
        if 0 < p.topk < count or count == min(scores.shape):
            return


def compute(ctx: OpContext, p: BipartiteMatchingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data = wide(ins[0])
    batches = prod(data.shape[:-2])
    height, width = data.shape[-2:]
    rows = np.full((batches, height), -1, ins[0].dtype)
    columns = np.full((batches, width), -1, ins[0].dtype)
    for i, scores in enumerate(data.reshape(batches, height, width)):
        if scores.size:
            _match(p, scores, rows[i], columns[i])
    outs[0].write(rows.reshape(outs[0].shape))
    outs[1].write(columns.reshape(outs[1].shape))


register(OpDef("_contrib_bipartite_matching", BipartiteMatchingParams, inputs=("data",),
               outputs=("rows", "columns"), infer_shape=infer_shape, infer_type=same_float_type,
               compute=compute, gradient=zero_gradient,
               doc="Pairs each row with a column of its own, best scores first.\n\n"
                   "data (..., rows, columns): scores. Outputs: the column of each row (..., "
                   "rows) and the row of each column (..., columns), -1 where there is none. "
                   "The gradient is zero. One float dtype. Source: MXNet's "
                   "_contrib_bipartite_matching."))

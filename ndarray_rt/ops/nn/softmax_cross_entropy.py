"""softmax_cross_entropy: the summed loss of rows of scores, of which one column each is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, merge_dim, need_rank
from ...op.params import NoParams
from ...op.registry import Emit, GradNode, OpDef, register
from ..floats import same_float_type, wide
from .softmax import softmax_numpy

_LEAST = 1e-8  # a probability below that counts as so much


def infer_shape(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data, label = ins
    need_rank(data, (2,), "data")
    need_rank(label, (1,), "label")
    if data is not None or label is not None:
        rows, columns = data or (-1, -1)
        rows = merge_dim(rows, -1 if label is None else label[0], "rows of data and labels")
        data, label = (rows, columns), (rows,)
    return [data, label], [merge(outs[0], (1,), "output shapes")]


def _right(label: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Which element of each row is the right one; a label beyond the columns names none."""
    columns = np.arange(shape[1])
    made: AnyArray = columns == np.trunc(label.astype(np.float64))[:, None]
    return made


def compute(ctx: OpContext, p: NoParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    y = softmax_numpy(wide(ins[0]), 1)
    chosen = np.where(_right(ins[1], y.shape), y, y.dtype.type(0)).sum(axis=1)
    loss = -np.log(np.maximum(chosen, y.dtype.type(_LEAST))).sum()
    outs[0].write(np.reshape(loss, (1,)).astype(ins[0].dtype, copy=False))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # a label has no slope
    return [emit("_backward_softmax_cross_entropy", None, out_grads[0], *node.inputs)[0], None]


def infer_shape_backward(p: NoParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data, label), (loss,) = infer_shape(p, [merge(ins[1], outs[0]), ins[2]], [ins[0]])
    return [loss, data, label], [data]


def compute_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, x, label = ins
    y = softmax_numpy(wide(x), 1)
    made = (y - _right(label, y.shape).astype(y.dtype)) * wide(dy)
    outs[0].write(made.astype(x.dtype, copy=False))


register(OpDef("softmax_cross_entropy", NoParams, inputs=("data", "label"),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               gradient=gradient,
               doc="The sum over rows of -log(softmax(data)[label]).\n\ndata (rows, columns), "
                   "label (rows,) with the columns' numbers, cut off towards zero; one float "
                   "dtype. The output has shape (1,). A probability below 1e-8, and that of a "
                   "label beyond the columns, counts as 1e-8. Source: MXNet's "
                   "softmax_cross_entropy; numpy."))
register(OpDef("_backward_softmax_cross_entropy", NoParams,
               inputs=("out_grad", "data", "label"), infer_shape=infer_shape_backward,
               infer_type=same_float_type, compute=compute_backward, is_backward=True,
               no_gradient="there is no second-order gradient of it",
               doc="The gradient of softmax_cross_entropy."))

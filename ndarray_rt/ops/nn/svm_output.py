"""SVMOutput: the loss of a support vector machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, boolean, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..floats import same_float_type, wide
from ..tensor.places import whole
from .shape_rules import expect


@params_class
class SVMOutputParams(Params):
    margin: float = number(1.0, doc="how far scores shall be from 0")
    regularization_coefficient: float = number(1.0, doc="factor of the gradient")
    use_linear: bool = boolean(False, doc="the loss grows with the distance and not its square")


def infer_shape(p: SVMOutputParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    if data is None:
        return [None, ins[1]], [None]
    if len(data) < 2:
        raise ShapeError(f"data has shape {data}, expected rank 2 or more")
    label = expect(ins[1], data[:-1], "label", f"data {data}")
    return [(*label, data[-1]), label], [(*label, data[-1])]


def compute(ctx: OpContext, p: SVMOutputParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit("_backward_SVMOutput", node.params, node.inputs[1], node.outputs[0])[0], None]


def infer_shape_backward(p: SVMOutputParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data, label), _ = infer_shape(p, [merge(ins[1], outs[0]), ins[0]], [None])
    return [label, data], [data]


def compute_backward(ctx: OpContext, p: SVMOutputParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    scores = wide(ins[1])
    one = scores.dtype.type
    own = np.arange(scores.shape[-1]) == whole(ins[0])[..., None]
    # scores of the right class shall be above the margin, others below its opposite
    sign = np.where(own, one(-1), one(1))
    lack = one(p.margin) + sign * scores
    slope = (lack > 0) * one(1) if p.use_linear else 2 * np.maximum(lack, one(0))
    dx = sign * slope * one(p.regularization_coefficient)
    outs[0].write(dx.astype(ins[1].dtype, copy=False))


register(OpDef("SVMOutput", SVMOutputParams, inputs=("data", "label"), infer_shape=infer_shape,
               infer_type=same_float_type, compute=compute, gradient=gradient, inplace={0: 0},
               ignores=(1,), is_loss=True,
               doc="The scores as they are, with the gradient of a hinge loss.\n\n"
                   "data (..., classes), label (...) with the numbers of the right classes. With "
                   "h = max(0, margin - s score), s = 1 for the right class and -1 for others, "
                   "the loss is h^2, or h with use_linear, times regularization_coefficient; its "
                   "gradient does not depend on that of the output. One float dtype. Source: "
                   "MXNet's SVMOutput."))
register(OpDef("_backward_SVMOutput", SVMOutputParams, inputs=("label", "out"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=same_float_type, compute=compute_backward, inplace={0: 1},
               is_backward=True, no_gradient="a loss has no gradient of second order"))

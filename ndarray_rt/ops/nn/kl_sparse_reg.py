"""IdentityAttachKLSparseReg: activations pulled towards a mean, by their gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..floats import same_float_type, wide
from .shape_rules import expect


@params_class
class KLSparseRegParams(Params):
    sparseness_target: float = number(0.1, low=0.0, high=1.0, doc="the mean that is wanted")
    penalty: float = number(0.001, doc="factor of what is added to the gradient")
    momentum: float = number(0.9, low=0.0, high=1.0,
                             doc="what the moving mean keeps of itself at each step")


def infer_shape(p: KLSparseRegParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    if data is None:
        return [None, ins[1]], [None]
    if len(data) < 2:
        raise ShapeError(f"data has shape {data}, expected rank 2 or more")
    mean = expect(ins[1], data[-1:], "moving_avg", f"data {data}")
    data = (*data[:-1], mean[0])
    return [data, mean], [data]


def compute(ctx: OpContext, p: KLSparseRegParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit("_backward_IdentityAttachKLSparseReg", node.params, out_grads[0], node.outputs[0],
                node.inputs[1])
    return [made[0], None]


def infer_shape_backward(p: KLSparseRegParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data, mean), _ = infer_shape(p, [merge(ins[0], ins[1]), ins[2]], outs)
    return [data, data, mean], [data]


def compute_backward(ctx: OpContext, p: KLSparseRegParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, y, moving = ins
    if y.size:
        now = wide(y).reshape(-1, y.shape[-1]).mean(axis=0)
        moving[...] = p.momentum * moving + (1 - p.momentum) * now
    mean, target = wide(moving), p.sparseness_target
    slope = p.penalty * ((1 - target) / (1 - mean) - target / mean)
    outs[0].write(np.asarray(wide(dy) + slope, dy.dtype))


register(OpDef("IdentityAttachKLSparseReg", KLSparseRegParams, inputs=("data",),
               aux=("moving_avg",), infer_shape=infer_shape, infer_type=same_float_type,
               compute=compute, gradient=gradient, inplace={0: 0},
               doc="Gives data as it is; the gradient of the divergence of its mean from a target "
                   "is added on the way back.\n\n"
                   "data (..., units) within (0, 1), such as a sigmoid's output; moving_avg "
                   "(units,) is the moving mean m of each unit, which the backward moves. What is "
                   "added is penalty * ((1 - target) / (1 - m) - target / m). One float dtype. "
                   "Source: MXNet's IdentityAttachKLSparseReg."))
register(OpDef("_backward_IdentityAttachKLSparseReg", KLSparseRegParams,
               inputs=("out_grad", "out"), aux=("moving_avg",), outputs=("data_grad",),
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, inplace={0: 0}, mutates=(2,), is_backward=True,
               no_gradient="a loss has no gradient of second order"))

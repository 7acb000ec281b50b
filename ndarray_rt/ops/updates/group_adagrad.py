"""_contrib_group_adagrad_update: AdaGrad with one sum of squares for each row of a weight."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, number, params_class
from ...op.registry import OpDef, register
from ..floats import same_float_type, wide
from .rule import CLIP_DOC, NO_GRADIENT, clipped


@params_class
class GroupAdagradParams(Params):
    lr: float = number(doc="learning rate")
    rescale_grad: float = number(1.0, doc="factor of the gradient")
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    epsilon: float = number(1e-5, doc="added to the sums under the root")


def infer_shape(p: GroupAdagradParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    weight = merge(merge(ins[0], ins[1], "shapes of weight and grad"), outs[0], "output shapes")
    history = ins[2]
    if weight is not None:
        if len(weight) < 2:
            raise ShapeError(f"weight has shape {weight}, expected rank 2 or more: rows of numbers")
        ones = (1,) * (len(weight) - 1)
        if history is not None:
            wanted = weight[:1] if len(history) == 1 else (weight[0], *ones)
            history = merge(history, wanted, "shapes of history and of weight's rows")
    return [weight, weight, history], [weight]


def compute(ctx: OpContext, p: GroupAdagradParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    weight, grad, sums = (wide(x) for x in ins)
    number_of = weight.dtype.type
    g = clipped(number_of(p.rescale_grad) * grad, p.clip_gradient)
    gone = tuple(range(1, g.ndim))
    ones = (len(g), *(1,) * len(gone))
    # rows without elements add nothing
    mean = np.sum(g * g, axis=gone, keepdims=True) / number_of(max(g[:1].size, 1))
    total = sums.reshape(ones) + mean
    step = number_of(p.lr) * g / np.sqrt(total + number_of(p.epsilon))
    outs[0].write((weight - step).astype(ins[0].dtype, copy=False))
    ins[2][...] = total.reshape(ins[2].shape)


register(OpDef("_contrib_group_adagrad_update", GroupAdagradParams,
               inputs=("weight", "grad", "history"), infer_shape=infer_shape,
               infer_type=same_float_type, compute=compute, inplace={0: 0}, mutates=(2,),
               no_gradient=NO_GRADIENT,
               doc="The weight after one step: weight - lr g / sqrt(history + epsilon), with the "
                   "mean of g^2 over each row added to history.\n\ng is rescale_grad grad, "
                   "clipped; the weight itself changes only when it is given as out. history "
                   "(rows,) or (rows, 1) changes. Source: Duchi et al. 2011; MXNet's "
                   "_contrib_group_adagrad_update, which takes row_sparse gradients only; numpy."))

"""_affine_batch_norm: the factors and shifts that a batch norm with known statistics comes to."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, need_rank
from ...op.params import Params, boolean, number, params_class
from ...op.registry import OpDef, register
from ..floats import need_float_types


@params_class
class AffineBatchNormParams(Params):
    eps: float = number(1e-3, low=0.0, doc="added to the variance")
    fix_gamma: bool = boolean(True, doc="gamma counts as 1")


def infer_shape(p: AffineBatchNormParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    vector = outs[0]
    for shape in (*ins, outs[1]):
        vector = merge(vector, shape, "lengths of gamma, beta and statistics")
    need_rank(vector, (1,), "gamma")
    return [vector] * len(ins), [vector, vector]


def infer_type(p: AffineBatchNormParams, ins: TypeList, outs: TypeList,
               ) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins, *outs])
    need_float_types([one])
    return [one] * len(ins), [one, one]


def compute(ctx: OpContext, p: AffineBatchNormParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    gamma, beta, mean, var = (v.astype(np.float64) for v in ins)
    scale = 1 / np.sqrt(var + p.eps)
    if not p.fix_gamma:
        scale = scale * gamma
    outs[0].write(scale.astype(ins[0].dtype))
    outs[1].write((beta - mean * scale).astype(ins[0].dtype))


register(OpDef("_affine_batch_norm", AffineBatchNormParams,
               inputs=("gamma", "beta", "moving_mean", "moving_var"), outputs=("scale", "shift"),
               infer_shape=infer_shape, infer_type=infer_type, compute=compute, is_fused=True,
               no_gradient="it is for inference", is_prologue=True,
               doc="The factor and the shift of each channel that do what a BatchNorm does at "
                   "inference.\n\nAll are vectors (channels,). Computed in float64. Made by "
                   "passes."))

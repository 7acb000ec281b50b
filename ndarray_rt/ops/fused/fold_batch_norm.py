"""_fold_batch_norm: weights and bias that do what a layer and the batch norm behind it do."""

from __future__ import annotations

from math import prod

import numpy as np

from ..._array.layout import AnyArray, get_default, need_float32
from ..._array.ndarray import MAX_DIMS, NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, is_half
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, need_rank
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels.norm import fold_norm
from ..floats import need_float_types


@params_class
class FoldBatchNormParams(Params):
    eps: float = number(1e-3, low=0.0, doc="added to the variance")
    fix_gamma: bool = boolean(True, doc="gamma counts as 1")
    no_bias: bool = boolean(False, doc="the layer has no bias")
    num_group: int = integer(1, low=1, doc="groups of a transposed weight")
    transposed: bool = boolean(False, doc="a deconvolution's weight: channels out on axis 1")


def input_names(p: FoldBatchNormParams) -> tuple[str, ...]:
    head = ("weight",) if p.no_bias else ("weight", "bias")
    return (*head, "gamma", "beta", "moving_mean", "moving_var")


def infer_shape(p: FoldBatchNormParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    weight = merge(ins[0], outs[0], "shapes of the weights")
    need_rank(weight, range(2, MAX_DIMS + 1), "weight")
    vector = outs[1]
    for shape in ins[1:]:
        vector = merge(vector, shape, "lengths of bias, gamma, beta and statistics")
    if weight is not None and -1 not in weight:
        if p.transposed and weight[0] % p.num_group:
            raise ShapeError(f"weight has shape {weight}, expected a multiple of num_group "
                             f"{p.num_group} on axis 0")
        channels = weight[1] * p.num_group if p.transposed else weight[0]
        vector = merge(vector, (channels,), "channels of the weight")
    return [weight, *[vector] * (len(ins) - 1)], [weight, vector]


def infer_type(p: FoldBatchNormParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    own = len(ins) - 4
    one = merge_types([*ins[:own], *outs])
    need_float_types([one])
    # as those of BatchNorm
    stats = FLOAT32 if one is not None and is_half(one) else one
    return [one] * own + [stats] * 4, [one] * len(outs)


def compute(ctx: OpContext, p: FoldBatchNormParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    weight = ins[0]
    gamma, beta, mean, var = (v.astype(np.float64) for v in ins[-4:])
    scale = 1 / np.sqrt(var + p.eps)
    if not p.fix_gamma:
        scale = scale * gamma
    bias = 0.0 if p.no_bias else ins[1].astype(np.float64)
    if p.transposed:
        # (in, out of a group, *kernel), the inputs of one group after those of another
        grouped = weight.reshape(p.num_group, weight.shape[0] // p.num_group, weight.shape[1],
                                 prod(weight.shape[2:]))
        folded = grouped * scale.reshape(p.num_group, 1, weight.shape[1], 1)
    else:
        folded = weight.reshape(weight.shape[0], prod(weight.shape[1:])) * scale[:, None]
    outs[0].write(folded.astype(weight.dtype).reshape(weight.shape))
    outs[1].write(((bias - mean) * scale + beta).astype(weight.dtype))


def refuses(p: FoldBatchNormParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: FoldBatchNormParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    stream, shape = ctx.stream, ins[0].shape
    weight, *bias, gamma, beta, mean, var = (get_default(array, stream) for array in ins)
    groups, inputs, channels, width = (
        (p.num_group, shape[0] // p.num_group, shape[1], prod(shape[2:])) if p.transposed
        else (1, 1, shape[0], prod(shape[1:])))
    with (outs[0].open(default_desc(FLOAT32, shape), stream) as folded,
          outs[1].open(default_desc(FLOAT32, outs[1].shape), stream) as shift):
        ctx.kernel(fold_norm(
            weight_out=folded, bias_out=shift, weight=weight, beta=beta, mean=mean, var=var,
            gamma=None if p.fix_gamma else gamma, bias=None if p.no_bias else bias[0],
            groups=groups, inputs=inputs, channels=channels, width=width, epsilon=p.eps))


register(OpDef("_fold_batch_norm", FoldBatchNormParams, inputs=input_names,
               outputs=("weight", "bias"), infer_shape=infer_shape, infer_type=infer_type,
               compute=compute, compute_ex=compute_ex, refuses=refuses, is_fused=True,
               no_gradient="it is for inference",
               ignores=lambda p: (() if not p.fix_gamma else (1 if p.no_bias else 2,)),
               is_prologue=True,
               doc="The weight and bias of one layer that does what a linear layer and the "
                   "BatchNorm behind it do at inference.\n\n"
                   "weight (out, ...), or (in, out / num_group, ...) when transposed; the vectors "
                   "(out,). Computed in float64. Made by passes."))

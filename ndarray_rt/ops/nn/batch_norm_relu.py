"""BatchNormWithReLU: BatchNorm and relu in one operator."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...op.registry import Emit, GradNode, OpDef, register
from . import batch_norm
from .activation import ActivationParams

RELU = ActivationParams.parse({"act_type": "relu"}, "Activation")


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    data, gamma, _, moving_mean, moving_var = node.inputs
    out, mean, *_, variance = node.outputs
    (dy,) = emit("_backward_Activation", RELU, out_grads[0], out)
    return emit("_backward_BatchNorm", node.params, dy, data, gamma, mean, variance, moving_mean,
                moving_var)


register(OpDef("_contrib_BatchNormWithReLU", batch_norm.BatchNormParams,
               inputs=("data", "gamma", "beta"), aux=("moving_mean", "moving_var"),
               outputs=batch_norm.output_names,
               visible_outputs=lambda p: 3 if p.output_mean_var else 1,
               infer_shape=batch_norm.infer_shape, infer_type=batch_norm.infer_type,
               compute=partial(batch_norm.compute, rectified=True),
               compute_ex=partial(batch_norm.compute_ex, rectified=True),
               refuses=batch_norm.refuses, gradient=gradient, inplace={0: 0},
               ignores=batch_norm.ignored,
               doc="Batch normalization and then relu: max(0, BatchNorm(data, ...)).\n\n"
                   "Shapes, dtypes and parameters are those of BatchNorm. Source: MXNet's "
                   "contrib.BatchNormWithReLU; oneDNN batch normalization and eltwise."))

"""BatchNormWithReLU: BatchNorm and relu in one operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from ...op.params import params_class
from ...op.registry import Emit, GradNode, register
from .activation import ActivationParams
from .batch_norm import BATCH_NORM, BatchNormParams

RELU = ActivationParams.parse({"act_type": "relu"}, "Activation")


@params_class
class BatchNormWithReLUParams(BatchNormParams):
    """BatchNorm's parameters; what is done to the result is no choice."""

    post_ops: ClassVar[str] = "relu"


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    data, gamma, _, moving_mean, moving_var = node.inputs
    out, mean, *_, variance = node.outputs
    (dy,) = emit("_backward_Activation", RELU, out_grads[0], out)
    return emit("_backward_BatchNorm", node.params, dy, data, gamma, mean, variance, moving_mean,
                moving_var)


register(replace(
    BATCH_NORM, name="_contrib_BatchNormWithReLU", params=BatchNormWithReLUParams,
    gradient=gradient, aliases=(), epilogue=None,
    doc="Batch normalization and then relu: max(0, BatchNorm(data, ...)).\n\n"
        "Shapes, dtypes and parameters are those of BatchNorm. Source: MXNet's "
        "contrib.BatchNormWithReLU; a native kernel, in training oneDNN batch normalization and "
        "eltwise behind it."))

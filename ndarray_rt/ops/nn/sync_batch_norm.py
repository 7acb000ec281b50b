"""SyncBatchNorm: BatchNorm over the batches of several devices; here there is one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList
from ...op.params import Params, boolean, integer, number, params_class, text
from ...op.registry import Emit, GradNode, OpDef, register
from . import batch_norm
from .batch_norm import BatchNormParams


@params_class
class SyncBatchNormParams(Params):
    eps: float = number(1e-3, low=0.0, doc="added to the variance")
    momentum: float = number(0.9, doc="what the moving statistics keep of themselves at each step")
    fix_gamma: bool = boolean(True, doc="gamma counts as 1 and its gradient is 0")
    use_global_stats: bool = boolean(False, doc="the moving statistics in training too")
    output_mean_var: bool = boolean(False, doc="mean and variance are outputs")
    ndev: int = integer(1, doc="how many devices; no effect here")
    key: str = text(doc="which layers share their statistics; no effect here")


@lru_cache(maxsize=1024)
def _plain(p: SyncBatchNormParams) -> BatchNormParams:
    return BatchNormParams.parse(
        {"eps": p.eps, "momentum": p.momentum, "fix_gamma": p.fix_gamma,
         "use_global_stats": p.use_global_stats}, "_contrib_SyncBatchNorm")


def infer_shape(p: SyncBatchNormParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    return batch_norm.infer_shape(_plain(p), ins, outs)


def infer_type(p: SyncBatchNormParams, ins: TypeList, outs: TypeList,
               ) -> tuple[TypeList, TypeList]:
    return batch_norm.infer_type(_plain(p), ins, outs)


def compute(ctx: OpContext, p: SyncBatchNormParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    batch_norm.compute(ctx, _plain(p), ins, outs)


def refuses(p: SyncBatchNormParams, ins: list[NDArray]) -> str | None:
    return batch_norm.refuses(_plain(p), ins)


def compute_ex(ctx: OpContext, p: SyncBatchNormParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    batch_norm.compute_ex(ctx, _plain(p), ins, outs)


def ignored(p: SyncBatchNormParams) -> tuple[int, ...]:
    return batch_norm.ignored(_plain(p))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    data, gamma, _, moving_mean, moving_var = node.inputs
    return emit("_backward_BatchNorm", _plain(node.params), out_grads[0], data, gamma,
                node.outputs[1], node.outputs[2], moving_mean, moving_var)


register(OpDef("_contrib_SyncBatchNorm", SyncBatchNormParams, inputs=("data", "gamma", "beta"),
               aux=("moving_mean", "moving_var"), outputs=("output", "mean", "var"),
               visible_outputs=lambda p: 3 if p.output_mean_var else 1,
               infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient, inplace={0: 0},
               ignores=ignored,
               doc="Batch normalization whose statistics several devices share; as there is one "
                   "device, BatchNorm with channels at axis 1.\n\n"
                   "data (N, C, ...), the others (C,). With output_mean_var mean and variance are "
                   "outputs too. Source: MXNet's contrib.SyncBatchNorm; oneDNN batch "
                   "normalization."))

"""SoftmaxActivation: the older softmax, over the last axis or over channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, choice, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..floats import same_float_type
from . import softmax
from .softmax import Flavour, SoftmaxParams

FLAVOUR = Flavour("softmax")


@params_class
class SoftmaxActivationParams(Params):
    mode: str = choice("channel", "instance", default="instance",
                       doc="instance: over the last axis; channel: over axis 1")


@lru_cache(maxsize=2)
def _as_softmax(p: SoftmaxActivationParams) -> SoftmaxParams:
    return SoftmaxParams.parse({"axis": 1 if p.mode == "channel" else -1}, "SoftmaxActivation")


def infer_shape(p: SoftmaxActivationParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    least = 3 if p.mode == "channel" else 1
    if data is not None and len(data) < least:
        raise ShapeError(f"data has shape {data}, expected rank {least} or more with mode "
                         f"{p.mode!r}")
    return [data], [data]


def compute(ctx: OpContext, p: SoftmaxActivationParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    softmax.compute(FLAVOUR, ctx, _as_softmax(p), ins, outs)


def refuses(p: SoftmaxActivationParams, ins: list[NDArray]) -> str | None:
    return softmax.refuses(_as_softmax(p), ins)


def compute_ex(ctx: OpContext, p: SoftmaxActivationParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    softmax.compute_ex(FLAVOUR, ctx, _as_softmax(p), ins, outs)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_softmax", _as_softmax(node.params), out_grads[0], node.outputs[0])


register(OpDef("SoftmaxActivation", SoftmaxActivationParams, inputs=("data",),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient, inplace={0: 0},
               doc="exp(x) / sum(exp(x)) over the last axis, or with mode channel over axis 1 of "
                   "data of rank 3 or more.\n\nThe output has the shape of data. One float dtype. "
                   "Source: MXNet's SoftmaxActivation; oneDNN softmax."))

"""Pooling_v1: the pooling of MXNet before 0.10, which counts padding as zeros of the data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, need_rank
from ...op.params import Params, boolean, choice, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..floats import same_float_type, wide
from .pool_onednn import PoolKernel, run_backward, run_forward
from .pool_window import (
    Windows,
    max_backward_ties,
    max_windows,
    place_windows,
    reduce_windows,
    spread_windows,
)


@params_class
class PoolingV1Params(Params):
    kernel: tuple[int, ...] = shape((), low=1, doc="window: (h, w)")
    pool_type: str = choice("max", "avg", "sum", default="max", doc="what is made of a window")
    global_pool: bool = boolean(False, doc="one window over all; kernel, stride and pad are not "
                                           "looked at")
    pooling_convention: str = choice(
        "valid", "full", default="valid",
        doc="valid: only windows within data and padding; full: as many as meet them")
    stride: tuple[int, ...] = shape((), low=1, doc="step of the window; default 1s")
    pad: tuple[int, ...] = shape((), low=0, doc="zeros on both ends of an axis; default 0s")

    def windows(self, data: Shape) -> Windows:
        return place_windows(self.kernel, self.stride, self.pad, self.pooling_convention,
                             self.global_pool, data[2:])


def infer_shape(p: PoolingV1Params, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    need_rank(data, (4,), "data")
    if data is None:
        return ins, outs
    merged = merge(outs[0], (*data[:2], *p.windows(data).out), "output shapes")
    return [data if merged is None else (*merged[:2], *data[2:])], [merged]


def _with_zeros(x: AnyArray, win: Windows) -> tuple[AnyArray, Windows]:
    """Data with its padding, and the windows over that."""
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in win.pad)])
    return padded, win._replace(pad=(0,) * len(win.pad), data=padded.shape[2:])


def _max(x: AnyArray, win: Windows) -> AnyArray:
    return max_windows(x, win)


def compute(ctx: OpContext, p: PoolingV1Params, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, win = _with_zeros(wide(ins[0]), p.windows(ins[0].shape))
    if p.pool_type == "max":
        y = _max(x, win)
    else:
        y = reduce_windows(x, win, np.add, 0)
        if p.pool_type == "avg":
            y = y / y.dtype.type(max(1, prod(win.kernel)))
    outs[0].write(y.astype(ins[0].dtype, copy=False))


@lru_cache(maxsize=1024)
def kernel_of(p: PoolingV1Params, data: Shape) -> PoolKernel | str:
    """oneDNN's way of computing this, or why there is none."""
    win = p.windows(data)
    if win.has_empty:
        return "a window lies outside of the data"
    if p.pool_type == "max":
        if any(win.pad):
            return "zeros of the padding count for the maximum"
        return PoolKernel(lib.NDRT_POOLING_MAX, win, False)
    return PoolKernel(lib.NDRT_POOLING_AVG_INCLUDE_PADDING, win, False,
                      float(prod(win.kernel)) if p.pool_type == "sum" else 1.0)


def refuses(p: PoolingV1Params, ins: list[NDArray]) -> str | None:
    found = kernel_of(p, ins[0].shape)
    return found if isinstance(found, str) else need_float32(*ins)


def compute_ex(ctx: OpContext, p: PoolingV1Params, ins: list[NDArray],
               outs: list[Output]) -> None:
    kernel = kernel_of(p, ins[0].shape)
    assert isinstance(kernel, PoolKernel)
    run_forward(ctx, kernel, ins[0], outs[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_Pooling_v1", node.params, out_grads[0], node.inputs[0],
                node.outputs[0])


def infer_shape_backward(p: PoolingV1Params, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data, out = merge(ins[1], outs[0]), merge(ins[0], ins[2])
    return [out, data, out], [data]


def ignored_backward(p: PoolingV1Params) -> tuple[int, ...]:
    return (2,) if p.pool_type == "max" else (1, 2)


def compute_backward(ctx: OpContext, p: PoolingV1Params, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, given = wide(ins[0]), p.windows(ins[1].shape)
    x, win = _with_zeros(wide(ins[1]), given)
    if p.pool_type == "max":
        dx = max_backward_ties(dy, x, _max(x, win), win)
    else:
        if p.pool_type == "avg":
            dy = dy / dy.dtype.type(max(1, prod(win.kernel)))
        dx = spread_windows(dy, win)
    inner: Any = (slice(None), slice(None), *(
        slice(a, a + d) for a, d in zip(given.pad, given.data, strict=True)))
    outs[0].write(dx[inner].astype(ins[1].dtype, copy=False))


def refuses_backward(p: PoolingV1Params, ins: list[NDArray]) -> str | None:
    if p.pool_type == "max":
        return "the gradient goes to every maximum of a window, oneDNN's to the first"
    return refuses(p, [ins[1]])


def compute_ex_backward(ctx: OpContext, p: PoolingV1Params, ins: list[NDArray],
                        outs: list[Output]) -> None:
    kernel = kernel_of(p, ins[1].shape)
    assert isinstance(kernel, PoolKernel)
    run_backward(ctx, kernel, ins[0], ins[1], outs[0])


register(OpDef("Pooling_v1", PoolingV1Params, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_float_type, compute=compute, compute_ex=compute_ex,
               refuses=refuses, gradient=gradient,
               doc="Pooling over 2 spatial axes as old models have it.\n\n"
                   "data (N, C, H, W); output (N, C, *out) as for Pooling. It differs from "
                   "Pooling where windows meet padding: that counts as zeros for max, avg always "
                   "divides by the whole kernel, and max gives its gradient to every place that "
                   "holds the maximum. Floats of any width. Source: MXNet's Pooling_v1; oneDNN "
                   "pooling."))
register(OpDef("_backward_Pooling_v1", PoolingV1Params, inputs=("out_grad", "data", "out"),
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, compute_ex=compute_ex_backward,
               refuses=refuses_backward, ignores=ignored_backward, is_backward=True,
               no_gradient="there is no second-order gradient of it"))

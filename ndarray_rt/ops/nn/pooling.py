"""Pooling: maximum, average, sum or p-norm over sliding windows; 1-D to 3-D."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import DType, greatest
from ...errors import ParameterError, ShapeError, where
from ...native import lib
from ...op.context import OpContext
from ...op.epilogue import Epilogue
from ...op.infer import ShapeList, merge, need_rank
from ...op.params import (
    Params,
    boolean,
    choice,
    optional_boolean,
    optional_choice,
    optional_integer,
    params_class,
    shape,
)
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.primitive import PostSpec, eltwise_post
from ..floats import same_float_type, wide
from ..fused.params import PostOpParams, with_post_ops
from ..fused.post_ops import ELTWISE, apply_chain, chain_of_params
from ..terms import replaced, terms
from .pool_onednn import PoolKernel, run_backward, run_forward
from .pool_window import (
    Windows,
    divisors,
    max_backward,
    max_taken,
    max_windows,
    place_windows,
    reduce_windows,
    spread_windows,
)

P = TypeVar("P", bound="PoolingParams")
LAYOUTS = {"NCW": 3, "NWC": 3, "NCHW": 4, "NHWC": 4, "NCDHW": 5, "NDHWC": 5}
P_VALUES = (1, 2, 3)


@params_class
class PoolingParams(Params):
    kernel: tuple[int, ...] = shape((), low=1, doc="window: (w,), (h, w) or (d, h, w)")
    pool_type: str = choice("max", "avg", "sum", "lp", default="max",
                            doc="what is made of a window")
    global_pool: bool = boolean(False, doc="one window over all; kernel, stride and pad are not "
                                           "looked at")
    pooling_convention: str = choice(
        "valid", "full", "same", default="valid",
        doc="valid: only windows within data and padding; full: as many as meet them; same: one "
            "for each stride, on 1 axis without padding")
    stride: tuple[int, ...] = shape((), low=1, doc="step of the window; default 1s")
    pad: tuple[int, ...] = shape((), low=0, doc="padding on both ends of an axis; default 0s")
    p_value: int | None = optional_integer(doc="p of lp: 1, 2 or 3")
    count_include_pad: bool | None = optional_boolean(
        doc="avg divides by the padding in a window too; default True")
    layout: str | None = optional_choice(*LAYOUTS, doc="order of the axes as the user sees them")

    @classmethod
    def parse(cls: type[P], attrs: Mapping[str, object], op: str, node: str | None = None) -> P:
        made = super().parse(attrs, op, node)
        if made.pool_type == "lp" and made.p_value not in P_VALUES:
            raise ParameterError(f"{where(op, node)}: parameter 'p_value' got {made.p_value!r}, "
                                 f"expected one of 1, 2, 3 with pool_type 'lp'")
        return made

    @property
    def channels_last(self) -> bool:
        return self.layout is not None and self.layout.endswith("C")

    def windows(self, data: Shape) -> Windows:
        """Where the windows lie on data of this shape."""
        spatial = data[1:-1] if self.channels_last else data[2:]
        return place_windows(self.kernel, self.stride, self.pad, self.pooling_convention,
                             self.global_pool, spatial)

    @property
    def includes_pad(self) -> bool:
        return self.count_include_pad is not False and not self.global_pool


def infer_shape(p: PoolingParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    need_rank(data, (3, 4, 5), "data")
    if data is None:
        return ins, outs
    if p.layout is not None and LAYOUTS[p.layout] != len(data):
        raise ShapeError(f"data has shape {data}, expected rank {LAYOUTS[p.layout]} from layout "
                         f"{p.layout}")
    win = p.windows(data)
    last = p.channels_last
    out = (data[0], *win.out, data[-1]) if last else (*data[:2], *win.out)
    merged = merge(outs[0], out, "output shapes")
    if merged is not None:
        data = (merged[0], *data[1:-1], merged[-1]) if last else (*merged[:2], *data[2:])
    return [data], [merged]


def _channels_second(p: PoolingParams, x: AnyArray) -> AnyArray:
    return wide(np.moveaxis(x, -1, 1) if p.channels_last else x)


def write(p: PoolingParams, out: NumpyOutput, value: AnyArray) -> None:
    """Writes a result whose channels are second."""
    if p.channels_last:
        value = np.moveaxis(value, 1, -1)
    out.write(value.astype(out.dtype, copy=False))


def compute(ctx: OpContext, p: PoolingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    write(p, outs[0], apply_chain(chain_of_params(p), pooled(p, ins[0], outs[0].dtype), ()))


def pooled(p: PoolingParams, data: AnyArray, dtype: DType) -> AnyArray:
    """What is made of the windows, with channels second, for an output of `dtype`."""
    x = _channels_second(p, data)
    win = p.windows(data.shape)
    if p.pool_type == "max":
        return max_windows(x, win, -greatest(dtype))
    if p.pool_type == "lp":
        return _lp(x, win, p.p_value or 1)
    y = reduce_windows(x, win, np.add, 0)
    return y if p.pool_type == "sum" else y / divisors(win, p.includes_pad).astype(y.dtype)


def _lp(x: AnyArray, win: Windows, power: int) -> AnyArray:
    """The p-th root of the sum of p-th powers; odd powers keep their sign."""
    total = reduce_windows(x if power == 1 else x ** power, win, np.add, 0)
    if power == 1:
        return total
    made: AnyArray = np.sqrt(total) if power == 2 else np.cbrt(total)
    return made


@lru_cache(maxsize=1024)
def kernel_of(p: PoolingParams, data: Shape) -> PoolKernel | str:
    """oneDNN's way of computing this, or why there is none."""
    if p.pool_type == "lp":
        return "oneDNN has no lp pooling"
    win = p.windows(data)
    if win.has_empty:
        return "a window lies outside of the data"
    if p.pool_type == "max":
        return PoolKernel(lib.NDRT_POOLING_MAX, win, p.channels_last)
    include, exclude = (lib.NDRT_POOLING_AVG_INCLUDE_PADDING,
                        lib.NDRT_POOLING_AVG_EXCLUDE_PADDING)
    if p.pool_type == "sum":
        # its average divides by the whole window, wherever that lies
        return PoolKernel(include, win, p.channels_last, scale=float(np.prod(win.kernel)))
    if not p.includes_pad:
        return PoolKernel(exclude, win, p.channels_last)
    if all(win.beyond(axis) <= pad for axis, pad in enumerate(win.pad)):
        return PoolKernel(include, win, p.channels_last)
    if not any(win.pad):
        # what lies beyond the padding is never counted: without padding only data is
        return PoolKernel(exclude, win, p.channels_last)
    return "windows reach beyond the padding, where oneDNN's average counts and MXNet's does not"


def refuses(p: PoolingParams, ins: list[NDArray]) -> str | None:
    found = kernel_of(p, ins[0].shape)
    return found if isinstance(found, str) else need_float32(*ins)


def compute_ex(ctx: OpContext, p: PoolingParams, ins: list[NDArray], outs: list[Output]) -> None:
    kernel, chain = kernel_of(p, ins[0].shape), chain_of_params(p)
    assert isinstance(kernel, PoolKernel)
    specs: list[PostSpec] = []
    if chain and kernel.scale != 1.0:
        specs.append(eltwise_post(ELTWISE["linear"][0], kernel.scale, 0.0))
    specs += [eltwise_post(ELTWISE[op.name][0], op.alpha, op.beta) for op in chain]
    run_forward(ctx, kernel, ins[0], outs[0], tuple(specs))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_Pooling", node.params, out_grads[0], node.inputs[0], node.outputs[0])


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: PoolingParams = node.params
    grad, dy, x, y = terms(emit, out_grads[0], *node.inputs)
    if p.pool_type == "max":
        return [grad("_backward_Pooling_taken", p, x).entry, None, None]
    power = (p.p_value or 1) if p.pool_type == "lp" else 1
    if power == 1:
        return [grad("Pooling", p).entry, None, None]
    # the gradient is x^(power - 1) times the sum, over windows with x, of dy / y^(power - 1)
    sums = replaced(p, pool_type="sum")
    met = (grad * x ** (power - 1))("Pooling", sums)
    share = (dy / y ** (power - 1))("_backward_Pooling", sums, x, y)
    return [(met / y ** (power - 1)).entry,
            (grad * x ** (power - 2) * share * (power - 1)).entry,
            (dy * met / y ** power * (1 - power)).entry]


def infer_shape_backward(p: PoolingParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data, out = merge(ins[1], outs[0]), merge(ins[0], ins[2])
    return [out, data, out], [data]


def ignored_backward(p: PoolingParams) -> tuple[int, ...]:
    return {"max": (2,), "lp": ()}.get(p.pool_type, (1, 2))


def compute_backward(ctx: OpContext, p: PoolingParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy = _channels_second(p, ins[0])
    win = p.windows(ins[1].shape)
    if p.pool_type == "max":
        dx = max_backward(dy, _channels_second(p, ins[1]), win)
    elif p.pool_type == "lp" and p.p_value != 1:
        power = (p.p_value or 1) - 1
        x, y = _channels_second(p, ins[1]), _channels_second(p, ins[2])
        share = np.where(y == 0, 0, dy / np.where(y == 0, 1, y) ** power)
        dx = x ** power * spread_windows(share.astype(dy.dtype, copy=False), win)
    else:
        if p.pool_type == "avg":
            dy = dy / divisors(win, p.includes_pad).astype(dy.dtype)
        dx = spread_windows(dy, win)
    write(p, outs[0], dx)


def refuses_backward(p: PoolingParams, ins: list[NDArray]) -> str | None:
    found = kernel_of(p, ins[1].shape)
    return found if isinstance(found, str) else need_float32(*ins)


def compute_ex_backward(ctx: OpContext, p: PoolingParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    kernel = kernel_of(p, ins[1].shape)
    assert isinstance(kernel, PoolKernel)
    run_backward(ctx, kernel, ins[0], ins[1], outs[0])


@params_class
class FusedPoolingParams(PoolingParams, PostOpParams):
    """Pooling's parameters and the post-ops, which are elementwise functions."""


EPILOGUE = Epilogue("_fused_Pooling", takes=lambda p: p.pool_type != "lp")


POOLING = register(OpDef(
    "Pooling", PoolingParams, inputs=("data",), infer_shape=infer_shape,
    infer_type=same_float_type, compute=compute, compute_ex=compute_ex,
    refuses=refuses, gradient=gradient, names_data=True, per_sample=True,
    epilogue=EPILOGUE,
    doc="Pooling over 1 to 3 spatial axes.\n\n"
        "data (N, C, *spatial), or with channels last as layout says; output "
        "(N, C, *out) with out = floor((d + 2 pad - kernel) / stride) + 1, 'full' "
        "rounding up. max passes over NaN where a window has numbers, and its gradient "
        "goes to the first place that holds the maximum; avg divides by what a window "
        "holds of data and (count_include_pad) padding; lp is (sum of x^p)^(1/p). "
        "Floats of any width. Source: MXNet's Pooling; oneDNN pooling."))
register(with_post_ops(
    POOLING, FusedPoolingParams,
    "Pooling and what is done to its result.\n\n"
    "data as in Pooling. Made by passes. Source: oneDNN pooling with post-ops."))
register(OpDef("_backward_Pooling", PoolingParams, inputs=("out_grad", "data", "out"),
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, compute_ex=compute_ex_backward,
               refuses=refuses_backward, ignores=ignored_backward, gradient=gradient_backward,
               is_backward=True))


# ---- what max passes on, for gradients of its gradient ------------------------------------------


def infer_shape_taken(p: PoolingParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    one = merge(ins[0], ins[1])
    _, found = infer_shape(p, [one], outs)
    return [one, one], found


def compute_taken(ctx: OpContext, p: PoolingParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    values, x = (_channels_second(p, array) for array in ins)
    write(p, outs[0], max_taken(values, x, p.windows(ins[1].shape)))


def gradient_taken(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # the output that the backward of max takes is not read
    dy = out_grads[0]
    return [*emit("_backward_Pooling", node.params, dy, node.inputs[1], dy), None]


register(OpDef("_backward_Pooling_taken", PoolingParams, inputs=("values", "data"),
               infer_shape=infer_shape_taken, infer_type=same_float_type, compute=compute_taken,
               gradient=gradient_taken, is_backward=True,
               doc="Of each window the value at the first place where data has its maximum; 0 "
                   "where it has none."))

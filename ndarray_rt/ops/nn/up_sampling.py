"""UpSampling: images made larger by repeating pixels, or by a deconvolution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, merge_dim, need_rank
from ...op.params import Params, choice, how_many, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..floats import same_float_type, wide
from . import deconvolution
from .deconvolution import DeconvolutionParams
from .resize import resize_back, resize_images


@params_class
class UpSamplingParams(Params):
    scale: int = integer(low=1, high=1000, doc="rows and columns of the output by those of the "
                                               "first input")
    num_filter: int = integer(0, low=0, doc="channels of data, with bilinear")
    sample_type: str = choice("bilinear", "nearest",
                              doc="nearest: each pixel is repeated; bilinear: a deconvolution "
                                  "whose weight is an input")
    multi_input_mode: str = choice("concat", "sum", default="concat",
                                   doc="what is made of several inputs, with nearest")
    num_args: int = how_many(doc="how many inputs; of bilinear there are always two")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if self.sample_type == "bilinear":
            self.__dict__["num_args"] = 2

    @property
    def is_nearest(self) -> bool:
        return self.sample_type == "nearest"


def input_names(p: UpSamplingParams) -> tuple[str, ...]:
    if not p.is_nearest:
        return ("data", "weight")
    return tuple(f"arg{i}" for i in range(p.num_args))


@lru_cache(maxsize=256)
def _as_deconvolution(p: UpSamplingParams) -> DeconvolutionParams:
    if not p.num_filter:
        raise ShapeError("sample_type 'bilinear' needs num_filter, the channels of data")
    size, pad = 2 * p.scale - p.scale % 2, p.scale // 2
    return DeconvolutionParams.parse(
        {"kernel": (size, size), "stride": (p.scale, p.scale), "pad": (pad, pad),
         "num_filter": p.num_filter, "num_group": p.num_filter}, "UpSampling")


def infer_shape(p: UpSamplingParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    if not p.is_nearest:
        return deconvolution.infer_shape(_as_deconvolution(p), ins, outs)
    for i, shape in enumerate(ins):
        need_rank(shape, (4,), f"arg{i}")
    if ins[0] is None:
        return ins, outs
    batch, channels = ins[0][0], 0
    height, width = (-1 if d == -1 else d * p.scale for d in ins[0][2:])
    for i, shape in enumerate(ins):
        if shape is None:
            channels = -1
            continue
        batch = merge_dim(batch, shape[0], f"batch sizes of arg0 and arg{i}")
        for axis, full in ((2, height), (3, width)):
            if -1 not in (shape[axis], full) and (not shape[axis] or full % shape[axis]):
                raise ShapeError(f"arg{i} has shape {shape}, whose size does not divide the "
                                 f"output's {height} x {width}, from arg0 {ins[0]}, "
                                 f"scale={p.scale}")
        if -1 not in (*shape[2:], height, width) and height // shape[2] != width // shape[3]:
            raise ShapeError(f"arg{i} has shape {shape}: one scale does not make it "
                             f"{height} x {width}")
        if p.multi_input_mode == "sum" or channels == -1 or shape[1] == -1:
            channels = shape[1] if i == 0 or p.multi_input_mode == "sum" else -1
        else:
            channels += shape[1]
    if p.multi_input_mode == "sum":
        for i, shape in enumerate(ins):
            if shape is not None:
                channels = merge_dim(channels, shape[1], f"channels of the inputs up to arg{i}")
    out = merge(outs[0], (batch, channels, height, width), "output shapes")
    return list(ins), [out]


def compute(ctx: OpContext, p: UpSamplingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    if not p.is_nearest:
        deconvolution.compute(ctx, _as_deconvolution(p), ins, outs)
        return
    height = ins[0].shape[2] * p.scale
    parts = []
    for x in ins:
        times = height // max(1, x.shape[2])
        parts.append(x.repeat(times, axis=2).repeat(times, axis=3))
    if p.multi_input_mode == "sum":
        total = wide(parts[0])
        for part in parts[1:]:
            total = total + part
        outs[0].write(total.astype(ins[0].dtype, copy=False))
    else:
        outs[0].write(np.concatenate(parts, axis=1))


def refuses(p: UpSamplingParams, ins: list[NDArray]) -> str | None:
    if p.is_nearest:
        return ("numpy repeats the pixels of several inputs" if p.num_args > 1
                else need_float32(*ins))
    return deconvolution.refuses(_as_deconvolution(p), ins)


def compute_ex(ctx: OpContext, p: UpSamplingParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    if p.is_nearest:
        # of more places than there are, each is the mean of one
        resize_images(ctx, lib.NDRT_RESIZE_MEAN, ins[0], outs[0])
        return
    deconvolution.compute_ex(ctx, _as_deconvolution(p), ins, outs)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p = node.params
    if not p.is_nearest:
        return emit("_backward_Deconvolution", _as_deconvolution(p), out_grads[0], *node.inputs)
    return emit("_backward_UpSampling", p, out_grads[0], *node.inputs)


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [*emit("UpSampling", node.params, *out_grads), *[None] * len(out_grads)]


def infer_shape_backward(p: UpSamplingParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    inputs = [merge(a, b, "shapes of an input and its gradient")
              for a, b in zip(ins[1:], outs, strict=True)]
    made, (out,) = infer_shape(p, inputs, [ins[0]])
    return [out, *made], list(made)


def compute_backward(ctx: OpContext, p: UpSamplingParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, begin = wide(ins[0]), 0
    for x, out in zip(ins[1:], outs, strict=True):
        n, channels, height, width = x.shape
        part = dy if p.multi_input_mode == "sum" else dy[:, begin:begin + channels]
        begin += channels
        times = dy.shape[2] // max(1, height)
        blocks = part.reshape(n, channels, height, times, width, times)
        out.write(blocks.sum(axis=(3, 5)).astype(x.dtype, copy=False))


def refuses_backward(p: UpSamplingParams, ins: list[NDArray]) -> str | None:
    return refuses(p, ins[:1])


def compute_ex_backward(ctx: OpContext, p: UpSamplingParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    resize_back(ctx, lib.NDRT_RESIZE_MEAN, ins[0], outs[0])


register(OpDef("UpSampling", UpSamplingParams, inputs=input_names, num_args="num_args",
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient,
               doc="Images made larger by a whole factor.\n\n"
                   "Inputs (N, C, H, W). nearest: each pixel is repeated; further inputs, whose "
                   "size divides that of the output, are brought to the same size and come "
                   "behind as channels, or are added. bilinear: a deconvolution of each channel "
                   "by weight (C, 1, k, k), k = 2 scale - scale % 2. One float dtype. Source: "
                   "MXNet's UpSampling; oneDNN deconvolution, a native kernel for "
                   "nearest."))
register(OpDef("_backward_UpSampling", UpSamplingParams,
               inputs=lambda p: ("out_grad", *input_names(p)),
               outputs=lambda p: tuple(f"{name}_grad" for name in input_names(p)),
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, compute_ex=compute_ex_backward, refuses=refuses_backward,
               ignores=lambda p: tuple(range(1, 1 + p.num_args)), gradient=gradient_backward,
               is_backward=True))

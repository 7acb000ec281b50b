"""Convolutions, fully connected layers, pooling, embeddings; and what inference passes through."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..call import Call
from ..dims import Dim
from ..table import Refused, exports


def need_channels_first(c: Call) -> None:
    """Refused for an axis order that ONNX has not."""
    layout = getattr(c.p, "layout", None)
    if layout is not None and layout not in ("NCW", "NCHW", "NCDHW"):
        raise Refused(f"layout {layout}: ONNX has channels at axis 1 only")


def filled(given: Sequence[int], rank: int, default: int) -> list[int]:
    """A parameter with a number for each axis; () stands for the default."""
    return list(given) if given else [default] * rank


@exports("Convolution")
def convolution(c: Call) -> str:
    need_channels_first(c)
    rank = len(c.p.kernel)
    pads = filled(c.p.pad, rank, 0)
    return c.op("Conv", *c.inputs, kernel_shape=list(c.p.kernel),
                strides=filled(c.p.stride, rank, 1), dilations=filled(c.p.dilate, rank, 1),
                pads=pads * 2, group=c.p.num_group)


@exports("Deconvolution")
def deconvolution(c: Call) -> str:
    need_channels_first(c)
    from ....ops.nn.deconvolution import window
    rank = len(c.p.kernel)
    spatial = c.shape()[2:]
    if any(c.p.target_shape):
        sizes = tuple(c.fixed(spatial, "with target_shape the size of data"))
    else:
        sizes = tuple(-1 if isinstance(size, Dim) else size for size in spatial)
    geo = window(c.p, sizes)
    more = [a - b for a, b in zip(geo.pad, geo.pad_end, strict=True)]
    return c.op("ConvTranspose", *c.inputs, kernel_shape=list(geo.kernel),
                strides=list(geo.stride), dilations=list(geo.dilate), pads=list(geo.pad) * 2,
                output_padding=more if rank and any(more) else None, group=c.p.num_group)


@exports("FullyConnected")
def fully_connected(c: Call) -> str:
    x, rank = c.input(0), c.rank()
    if not c.p.flatten:
        value = c.value(1)
        weight = (c.op("Transpose", c.input(1), perm=[1, 0]) if value is None
                  else c.const(np.ascontiguousarray(value.T)))
        made = c.op("MatMul", x, weight)
        return made if c.p.no_bias else c.op("Add", made, c.input(2))
    if rank != 2:
        x = c.op("Flatten", x, axis=1)
    return c.op("Gemm", x, *c.inputs[1:], transB=1)


@exports("Embedding", "_contrib_SparseEmbedding")
def embedding(c: Call) -> str:
    index = c.op("Clip", c.whole(0), c.const(0, np.int64), c.const(c.p.input_dim - 1, np.int64))
    return c.op("Gather", c.input(1), index, axis=0)


# ---- pooling -----------------------------------------------------------------------------------


@exports("Pooling", "Pooling_v1")
def pooling(c: Call) -> str:
    need_channels_first(c)
    x, kind = c.input(0), c.p.pool_type
    power = getattr(c.p, "p_value", None) or 2
    if c.p.global_pool:
        if kind == "sum":
            return c.reduce("ReduceSum", x, range(2, c.rank()), True)
        name = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool", "lp": "GlobalLpPool"}[kind]
        return c.op(name, x, p=power if kind == "lp" else None)
    if c.operator == "Pooling_v1" and (any(c.p.pad) or c.p.pooling_convention == "full"):
        raise Refused("Pooling_v1 counts what lies beyond the data in a way of its own")
    rank = len(c.p.kernel)
    kernel, stride = list(c.p.kernel), filled(c.p.stride, rank, 1)
    pads = filled(c.p.pad, rank, 0)
    attrs: dict[str, object] = {"kernel_shape": kernel, "strides": stride}
    more, ceil = _beyond(c, kernel, stride, pads)
    if any(p + m >= k for p, m, k in zip(pads, more, kernel, strict=True)):
        raise Refused("windows that lie in the padding")
    counts = getattr(c.p, "count_include_pad", None) is not False
    if kind == "max":
        return c.op("MaxPool", x, pads=[*pads, *_sum(pads, more)], ceil_mode=ceil, **attrs)
    if kind == "avg" and (not counts or not any(pads)):
        return c.op("AveragePool", x, pads=[*pads, *_sum(pads, more)], ceil_mode=ceil,
                    count_include_pad=0, **attrs)
    if ceil:
        raise Refused(f"pooling_convention 'full' of {kind} with padding needs fixed sizes of data")
    if kind == "lp":
        x = c.pad(x, [0, 0, *pads], [0, 0, *_sum(pads, more)], 0.0)
        return c.op("LpPool", x, p=power, **attrs)
    made = c.op("AveragePool", x, pads=[*pads, *_sum(pads, more)], count_include_pad=1, **attrs)
    if kind == "sum":
        return c.op("Mul", made, c.number(prod(kernel)))
    return c.op("Mul", made, c.const(_shares(c, kernel, stride, pads), c.dtype())) if any(
        more) else made


def _sum(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _beyond(c: Call, kernel: list[int], stride: list[int], pads: list[int],
            ) -> tuple[list[int], int | None]:
    """How far the last windows reach beyond the padding, and ONNX's ceil_mode."""
    if c.p.pooling_convention == "valid":
        return [0] * len(kernel), None
    spatial, out = c.shape()[2:], c.out_shape()[2:]
    if any(isinstance(size, Dim) for size in spatial):
        if c.p.pooling_convention == "same":
            raise Refused("pooling_convention 'same' needs fixed sizes of data")
        return [0] * len(kernel), 1
    found = [(o - 1) * s + k - d - 2 * p for o, s, k, d, p in zip(
        c.fixed(out, "its output"), stride, kernel, c.fixed(spatial, "data"), pads, strict=True)]
    return [max(0, size) for size in found], None


def _shares(c: Call, kernel: list[int], stride: list[int], pads: list[int]) -> np.ndarray:
    """What a mean over windows is to be multiplied by, which leaves out what is beyond padding."""
    spatial, out = c.fixed(c.shape()[2:], "data"), c.fixed(c.out_shape()[2:], "its output")
    made = np.ones((1, 1, *out))
    for axis, size in enumerate(out):
        begins = np.arange(size) * stride[axis] - pads[axis]
        counts = np.minimum(begins + kernel[axis], spatial[axis] + pads[axis]) - begins
        made *= (kernel[axis] / counts).reshape([-1 if i == axis else 1
                                                 for i in range(-2, len(out))])
    return made


# ---- what inference passes through -------------------------------------------------------------


@exports("_copy", "BlockGrad", "make_loss", "MakeLoss", "_contrib_gradientmultiplier",
         "IdentityAttachKLSparseReg", "cast_storage", "_contrib_to_mkldnn", "_contrib_to_dense")
def identity(c: Call) -> str:
    return c.input(0)


@exports("LinearRegressionOutput", "MAERegressionOutput", "SVMOutput",
         "_identity_with_attr_like_rhs", ignores=[1])
def first(c: Call) -> str:
    return c.input(0)


@exports("Dropout")
def dropout(c: Call) -> str:
    if c.p.mode == "always" and c.p.p > 0:
        raise Refused("mode 'always' draws random numbers")
    return c.input(0)


@exports("amp_cast", "Cast")
def cast(c: Call) -> str:
    return c.input(0) if c.dtype() == c.out_dtype() else c.cast(c.input(0), c.out_dtype())


@exports("amp_multicast")
def multicast(c: Call) -> list[str]:
    return [x if c.dtype(i) == c.out_dtype(i) else c.cast(x, c.out_dtype(i))
            for i, x in enumerate(c.inputs)]

"""Convolutions by kernels of ours: depthwise ones, and those of images of a few channels.

oneDNN's depthwise kernels load a vector of data for each multiply-add, and its first convolution of
a network wastes a third of its time where windows are small.
"""

from __future__ import annotations

from typing import NamedTuple

from ..._array.layout import grouped_dims
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...cpu_level import has_avx512
from ...dtypes import DType
from ...native import lib
from ...op.choose import BLOCK, BLOCKED
from ...op.context import OpContext
from ...op.packing import is_kept
from ...op.registry import Shape
from ...storage.desc import MemDesc, channels_last_desc, default_desc, tagged_desc
from .conv_geometry import Geometry
from .kept_products import AS_IT_IS, Finish, operands

DEPTHWISE_WINDOW, DEPTHWISE_STRIDES = (3, 3), ((1, 1), (2, 2))
# of larger windows oneDNN's kernel is as fast
FEW_CHANNELS_WINDOWS, FEW_CHANNELS_STRIDES = ((2, 2), (3, 3)), ((1, 1), (2, 2), (4, 4))


class _Way(NamedTuple):
    """A kernel, and the layouts that it reads."""

    kernel: int
    data: MemDesc
    weights: MemDesc


def convolve_windows(ctx: OpContext, geo: Geometry, data: NDArray, weight: NDArray,
                     bias: NDArray | None, out: Output, finish: Finish = AS_IT_IS) -> bool:
    """Writes the convolution, plus bias, finished.

    False where another implementation is to do it: neither kernel can, something is to be added,
    the weight is not kept packed, layouts are to be blocked, or the CPU has no AVX-512.
    """
    if (len(geo.kernel) != 2 or finish.added is not None or ctx.family == BLOCKED
            or not has_avx512()):
        return False
    way = _way(geo, data.dtype, data.shape, weight.shape, out.shape)
    if way is None or not is_kept(ctx, weight, way.weights):
        return False
    sources = operands(ctx, data, way.data, weight, way.weights, bias, geo.groups)
    with out.open(channels_last_desc(data.dtype, out.shape), ctx.stream) as y:
        ctx.kernel(way.kernel, data.shape, [y, *sources],
                   (finish.low, finish.high, out.shape[1], geo.kernel[0], geo.stride[0], *geo.pad))
    return True


def _way(geo: Geometry, dtype: DType, data: Shape, weight: Shape, out: Shape) -> _Way | None:
    if 0 in data or 0 in out or out[1] % BLOCK or set(geo.dilate) != {1} or geo.pad != geo.pad_end:
        return None
    if 1 < geo.groups == data[1] == out[1]:
        if geo.kernel != DEPTHWISE_WINDOW or geo.stride not in DEPTHWISE_STRIDES:
            return None
        return _Way(lib.NDRT_KERNEL_DEPTHWISE, channels_last_desc(dtype, data),
                    tagged_desc(dtype, grouped_dims(weight, geo.groups), f"Abcde{BLOCK}a"))
    if (geo.groups == 1 and data[1] <= lib.NDRT_FEW_CHANNELS_MOST
            and geo.kernel in FEW_CHANNELS_WINDOWS and geo.stride in FEW_CHANNELS_STRIDES):
        return _Way(lib.NDRT_KERNEL_FEW_CHANNELS, default_desc(dtype, data),
                    tagged_desc(dtype, weight, f"Acdb{BLOCK}a"))
    return None

"""Products of rows with a weight that is kept packed, by kernels of ours.

Of a few rows reading the weight takes all the time, and oneDNN's inner product reads it at about
half of the memory's speed. Of more rows, and of the pixels of small images, a kernel of ours asks
for the next columns of the weight while it computes these: in a network the weights are in no near
cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..._array.layout import get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...cpu_level import has_avx512
from ...native import lib
from ...op.choose import ONEDNN, OURS
from ...op.context import OpContext
from ...op.packing import is_kept, weights
from ...storage.desc import MemDesc, channels_last_desc, default_desc
from ...storage.stream import Mem
from .conv_geometry import Geometry
from .pointwise_convolution import is_one_pixel, is_pointwise, matrix_dims
from .product_weights import block_width, blocks_of_columns

# Columns of a block where rows are pixels, best first (measured): half of each line that a CPU
# fetches ahead from wider ones is for later.
WIDTHS_FOR_PIXELS = (32, 64, 16)
# Of few rows, and of more, where the weight has been packed for another number of them already.
WIDTHS_FOR_FEW = (lib.NDRT_FEW_ROWS_WIDE, lib.NDRT_FEW_ROWS_NARROW)
WIDTHS_FOR_ROWS = (64, 32, 48, 16)
# Of more pixels oneDNN's product is up to 2 % faster (measured with oneDNN 3.2); of more features a
# block of columns and the data do not fit into the second cache together.
MOST_PIXELS, MOST_FEATURES = 8192, 2048
# Of so many rows of a layer ours is as fast or, with two threads, up to 1.2 times as fast, and it
# needs nothing made for a number of rows; of 1024 oneDNN's is up to half a percent faster.
MOST_ROWS = 256


class Finish(NamedTuple):
    """What is done to a product: `added` of its own shape is added, then it is kept within bounds.
    """

    low: float = -math.inf
    high: float = math.inf
    added: NDArray | None = None


AS_IT_IS = Finish()


def multiply(ctx: OpContext, rows: int, data: NDArray, weight: NDArray, bias: NDArray | None,
             out: Output, given: MemDesc | None = None, finish: Finish = AS_IT_IS) -> bool:
    """Writes the product of `rows` rows of data and the weight's transpose, plus bias, finished.

    `given` is the special layout that the data is to be read in, where it has one. False where
    another implementation is to do it: the plan says so, the weight is not kept packed, there are
    too many rows or features, or the CPU has no AVX-512.
    """
    if rows < 1 or ctx.family == ONEDNN or not has_avx512():
        return False
    features, columns = prod(weight.shape[1:]), weight.shape[0]
    is_few = rows <= lib.NDRT_FEW_ROWS_MOST and finish.added is None
    if not is_few and (given is not None or not 0 < features <= MOST_FEATURES
                       or (rows > MOST_ROWS and ctx.family != OURS)):
        return False
    widths = (block_width(columns), *(WIDTHS_FOR_FEW if is_few else WIDTHS_FOR_ROWS))
    width, packed = packed_for(weight, given, widths)
    if packed is None or not is_kept(ctx, weight, packed):
        return False
    sources = operands(ctx, data, given or default_desc(data.dtype, data.shape), weight, packed,
                       bias)
    seen, dims = default_desc(data.dtype, out.shape), (rows, features, columns, width)
    if not is_few:
        _write_products(ctx, dims, sources, bias is not None, out, seen, finish)
        return True
    with out.open(seen, ctx.stream) as y:
        ctx.kernel(lib.NDRT_KERNEL_FEW_ROWS, dims, [y, *sources], (finish.low, finish.high))
    return True


def convolve_pixels(ctx: OpContext, geo: Geometry, data: NDArray, weight: NDArray,
                    bias: NDArray | None, out: Output, finish: Finish = AS_IT_IS) -> bool:
    """The same for a convolution with a window of one pixel, whose rows are the pixels.

    False where another implementation is to do it: it is no product, there are more than
    MOST_PIXELS or MOST_FEATURES, the weight is not kept packed, or the CPU has no AVX-512.
    """
    if is_one_pixel(geo, data.shape, out.shape):
        return multiply(ctx, data.shape[0], data, weight, bias, out, None, finish)
    rows, features = matrix_dims(data.shape)
    if (not is_pointwise(geo, data.shape, out.shape, ctx.family) or 0 in out.shape
            or not 0 < rows <= MOST_PIXELS or not 0 < features <= MOST_FEATURES):
        return False
    kept = kept_for_pixels(ctx, weight)
    if kept is None:
        return False
    width, packed = kept
    sources = operands(ctx, data, channels_last_desc(data.dtype, data.shape), weight, packed, bias)
    _write_products(ctx, (rows, features, weight.shape[0], width), sources, bias is not None, out,
                    channels_last_desc(data.dtype, out.shape), finish)
    return True


def _write_products(ctx: OpContext, dims: tuple[int, int, int, int], sources: list[Mem],
                    has_bias: bool, out: Output, seen: MemDesc, finish: Finish) -> None:
    """Writes what NDRT_KERNEL_PRODUCTS makes of data, weight and bias, in the layout `seen`."""
    added = None
    if finish.added is not None:
        added = get_data_reorder(finish.added, seen, ctx.stream)
        sources = [*sources, added]
    with out.open(seen, ctx.stream, inplace_of=added) as y:
        ctx.kernel(lib.NDRT_KERNEL_PRODUCTS, dims, [y, *sources],
                   (finish.low, finish.high, has_bias, added is not None))


def kept_for_pixels(ctx: OpContext, weight: NDArray) -> tuple[int, MemDesc] | None:
    """What `packed_for_pixels` gives; None where the weight is not kept so or the CPU has no
    AVX-512."""
    if not has_avx512():
        return None
    found = packed_for_pixels(weight)
    return found if is_kept(ctx, weight, found[1]) else None


def packed_for_pixels(weight: NDArray) -> tuple[int, MemDesc]:
    """Columns of a block, and the layout, for NDRT_KERNEL_PRODUCTS where rows are pixels."""
    width, packed = packed_for(weight, None, WIDTHS_FOR_PIXELS)
    assert packed is not None
    return width, packed


def packed_for(weight: NDArray, given: MemDesc | None, widths: Sequence[int],
               ) -> tuple[int, MemDesc | None]:
    """Columns of a block, and the layout: the one that the weight is in, if it is one of these, so
    that it is not packed again for another number of rows; else that of the first width."""
    found = weight._chunk.mkl_mem
    if found is not None:
        for width in widths:
            if blocks_of_columns(weight, given, width) is found:
                return width, found
    return widths[0], blocks_of_columns(weight, given, widths[0])


def operands(ctx: OpContext, data: NDArray, seen: MemDesc, weight: NDArray, packed: MemDesc,
             bias: NDArray | None, groups: int = 1) -> list[Mem]:
    """Data in the layout `seen`, weight in `packed`, and the bias if there is one."""
    # the weight first: converting it may move its memory
    w = weights(ctx, weight, packed, groups)
    made = [get_data_reorder(data, seen, ctx.stream), w]
    return made if bias is None else [*made, get_default(bias, ctx.stream)]

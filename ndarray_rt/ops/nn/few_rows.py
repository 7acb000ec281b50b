"""Products of a few rows with a packed matrix, by a kernel of ours: reading the matrix takes all
their time, and oneDNN's inner product reads it at about half of the memory's speed."""

from __future__ import annotations

import math
from math import prod

from ...native import lib
from ...ndarray.layout import get_data_reorder, get_default
from ...ndarray.ndarray import NDArray
from ...ndarray.output import Output
from ...op.choose import prefers_channels_last
from ...op.context import OpContext
from ...op.packing import keeps_packed, weights
from ...storage.desc import MemDesc, default_desc
from .product_weights import block_width, blocks_of_columns

NO_BOUNDS = (-math.inf, math.inf)


def few_rows(ctx: OpContext, rows: int, data: NDArray, weight: NDArray, bias: NDArray | None,
             out: Output, given: MemDesc | None = None,
             bounds: tuple[float, float] = NO_BOUNDS) -> bool:
    """Writes the product of `rows` rows and the weight's transpose, plus bias, within `bounds`.

    `given` is the special layout that the data is to be read in, where it has one. False where
    another implementation is to do it: the weight is not kept packed, there are more rows than
    NDRT_FEW_ROWS_MOST, or the CPU has no AVX-512.
    """
    if not 0 < rows <= lib.NDRT_FEW_ROWS_MOST or not prefers_channels_last():
        return False
    columns, features = weight.shape[0], prod(weight.shape[1:])
    packed = blocks_of_columns(weight, given)
    if packed is None or not keeps_packed(ctx, weight):
        return False
    # the weight first: converting it may move its memory
    w = weights(ctx, weight, packed)
    dtype, stream = data.dtype, ctx.stream
    src = get_data_reorder(data, given or default_desc(dtype, data.shape), stream)
    sources = [src, w] if bias is None else [src, w, get_default(bias, stream)]
    with out.open(default_desc(dtype, out.shape), stream) as y:
        ctx.kernel(lib.NDRT_KERNEL_FEW_ROWS, (rows, features, columns, block_width(columns)),
                   [y, *sources], bounds)
    return True

"""Products of rows with a prepacked weight, by native kernels: packed and skinny GEMM.

With few rows, reading the weight takes all the time, and oneDNN's inner product reads it at about
half of the memory's speed. With more rows, and for the pixels of small images, the packed GEMM
prefetches the next columns of the weight while it computes: in a network the weights are in no
near cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..._array.layout import get_data_reorder, get_default, grouped_dims
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...cpu_level import has_avx512, lanes
from ...native import lib
from ...op.calibration import (
    MOST_FEATURES,
    MOST_FEW,
    MOST_ROWS,
    WIDTHS_FOR_PIXELS,
    WIDTHS_FOR_ROWS,
)
from ...op.choose import NATIVE
from ...op.context import OpContext
from ...op.packing import weights
from ...op.select import Implementation
from ...storage.desc import MemDesc, channels_last_desc, default_desc, tagged_desc
from ...storage.kernels.gemm import packed_gemm, skinny_gemm
from ...storage.stream import Mem
from .gemm_weights import block_width, blocks_of_columns

# with few rows, where the weight has already been packed for another number of them
WIDTHS_FOR_FEW = (lib.NDRT_SKINNY_GEMM_WIDE if has_avx512() else lib.NDRT_SKINNY_GEMM_WIDE_AVX2,
                  lib.NDRT_SKINNY_GEMM_NARROW)


class NativeEpilogue(NamedTuple):
    """What native kernels do to a result: `added`, of its shape, is added; then it is clamped."""

    low: float = -math.inf
    high: float = math.inf
    added: NDArray | None = None


class Operands(NamedTuple):
    """What GEMM kernels read."""

    data: Mem
    weight: Mem
    bias: Mem | None


class GemmCall(NamedTuple):
    """The product of `rows` rows of data and the weight's transpose, plus bias, then the epilogue.

    `given` is the special layout that the data is to be read in, where it has one. `epilogue` is
    None where more is done to the product than native kernels can do.
    """

    rows: int
    data: NDArray
    weight: NDArray
    bias: NDArray | None
    out: Output
    epilogue: NativeEpilogue | None
    variant: str
    given: MemDesc | None = None

    @property
    def features(self) -> int:
        return prod(self.weight.shape[1:])

    @property
    def dims(self) -> tuple[int, int, int]:
        """Rows, features and columns."""
        return self.rows, self.features, self.weight.shape[0]

    @property
    def is_few(self) -> bool:
        """The kernel for few rows can do it."""
        return (self.rows <= lib.NDRT_SKINNY_GEMM_MOST and self.epilogue is not None
                and self.epilogue.added is None)


MORE_IS_DONE = "more is done to the result than to add something and to keep it within bounds"


def _accepts_few(ctx: OpContext, call: GemmCall) -> str | None:
    if call.epilogue is None or call.epilogue.added is not None:
        return "more is done to the result than to keep it within bounds"
    if not 0 < call.rows <= lib.NDRT_SKINNY_GEMM_MOST:
        return f"there are more than {lib.NDRT_SKINNY_GEMM_MOST} rows, or none"
    return None


def _pays_for_few(ctx: OpContext, call: GemmCall) -> str | None:
    return f"there are more than {MOST_FEW} rows" if call.rows > MOST_FEW else None


def _packing_for_few(call: GemmCall) -> tuple[int, MemDesc | None]:
    return packed_for(call.weight, call.given, (block_width(call.weight.shape[0]), *WIDTHS_FOR_FEW))


def _run_few(ctx: OpContext, call: GemmCall) -> None:
    width, packed = _packing_for_few(call)
    assert packed is not None
    assert call.epilogue is not None
    sources = _sources(ctx, call, packed)
    with call.out.open(default_desc(call.data.dtype, call.out.shape), ctx.stream) as y:
        ctx.kernel(skinny_gemm(
            out=y, data=sources.data, weights=sources.weight, bias=sources.bias, rows=call.rows,
            features=call.features, columns=call.weight.shape[0], width=width,
            low=call.epilogue.low, high=call.epilogue.high))


def _accepts_rows(ctx: OpContext, call: GemmCall) -> str | None:
    if call.epilogue is None:
        return MORE_IS_DONE
    if call.rows < 1 or call.is_few:
        return "there are few rows, or none"
    if call.given is not None:
        return "the data is in a special layout"
    if not 0 < call.features <= MOST_FEATURES:
        return f"there are more than {MOST_FEATURES} features, or none"
    return None


def _pays_for_rows(ctx: OpContext, call: GemmCall) -> str | None:
    return f"there are more than {MOST_ROWS} rows" if call.rows > MOST_ROWS else None


def _packing_for_rows(call: GemmCall) -> tuple[int, MemDesc | None]:
    return packed_for(call.weight, None, (block_width(call.weight.shape[0]), *WIDTHS_FOR_ROWS))


def _run_rows(ctx: OpContext, call: GemmCall) -> None:
    width, packed = _packing_for_rows(call)
    assert packed is not None
    assert call.epilogue is not None
    run_packed_gemm(ctx, (*call.dims, width), _sources(ctx, call, packed),
                   call.out, default_desc(call.data.dtype, call.out.shape), call.epilogue)


def _sources(ctx: OpContext, call: GemmCall, packed: MemDesc) -> Operands:
    seen = call.given or default_desc(call.data.dtype, call.data.shape)
    return operands(ctx, call.data, seen, call.weight, packed, call.bias)


SKINNY_GEMM = Implementation[GemmCall](
    "skinny GEMM", NATIVE, _run_few, _accepts_few, _pays_for_few,
    packs=lambda call: _packing_for_few(call)[1])
PACKED_GEMM = Implementation[GemmCall](
    "packed GEMM", NATIVE, _run_rows, _accepts_rows, _pays_for_rows,
    packs=lambda call: _packing_for_rows(call)[1])


def run_packed_gemm(ctx: OpContext, dims: tuple[int, int, int, int], sources: Operands,
                   out: Output, seen: MemDesc, epilogue: NativeEpilogue, groups: int = 1,
                   shuffled: int = 1) -> None:
    """Writes data times weight plus bias in the layout `seen`. `dims` are rows, features, columns,
    and columns of a block of the weight; features and columns are those of one of `groups`. The
    data is read as its channels shuffled from `shuffled` groups."""
    (rows, features, columns, width), (data, weight, bias) = dims, sources
    added = None
    if epilogue.added is not None:
        added = get_data_reorder(epilogue.added, seen, ctx.stream)
    with out.open(seen, ctx.stream, inplace_of=added) as y:
        ctx.kernel(packed_gemm(out=y, data=data, weights=weight, bias=bias, added=added, rows=rows,
                            features=features, columns=columns, width=width, groups=groups,
                            shuffled=shuffled, low=epilogue.low, high=epilogue.high))


def packed_for_pixels(weight: NDArray, groups: int = 1) -> tuple[int, MemDesc]:
    """Columns of a block, and the layout, for NDRT_KERNEL_PACKED_GEMM where rows are pixels."""
    if groups > 1:
        width = WIDTHS_FOR_PIXELS[0]
        window = "defghijkl"[:len(weight.shape) - 2]
        return width, tagged_desc(weight.dtype, grouped_dims(weight.shape, groups),
                                  f"aB{window}c{width}b")
    seen = None
    if not has_avx512() and weight.shape[1] % lanes() == 0:
        # the same bytes by the name that oneDNN's convolutions for AVX2 have for them
        seen = channels_last_desc(weight.dtype, (1, *weight.shape[1:]))
    width, packed = packed_for(weight, seen, WIDTHS_FOR_PIXELS)
    assert packed is not None
    return width, packed


def packed_for(weight: NDArray, given: MemDesc | None, widths: Sequence[int],
               ) -> tuple[int, MemDesc | None]:
    """Columns of a block, and the layout: the weight's present layout if it is one of these, so
    that it is not packed again for another number of rows; else that of the first width."""
    found = weight._chunk.mkl_mem
    if found is not None:
        for width in widths:
            if blocks_of_columns(weight, given, width) is found:
                return width, found
    return widths[0], blocks_of_columns(weight, given, widths[0])


def operands(ctx: OpContext, data: NDArray, seen: MemDesc, weight: NDArray, packed: MemDesc,
             bias: NDArray | None, groups: int = 1) -> Operands:
    """Data in the layout `seen`, weight in `packed`, and the bias if there is one."""
    # the weight first: converting it may move its memory
    w = weights(ctx, weight, packed, groups)
    return Operands(get_data_reorder(data, seen, ctx.stream), w,
                    None if bias is None else get_default(bias, ctx.stream))

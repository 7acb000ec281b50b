"""The layouts in which GEMMs read data and weight, best first. Runs nothing."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from ..._array.ndarray import NDArray
from ...cpu_level import has_avx512, lanes
from ...native import lib
from ...op.calibration import ALIASING, LEAST_OF_REUSED, LEAST_OF_WIDE, WIDE
from ...op.choose import BLOCK
from ...storage.desc import (
    MemDesc,
    any_desc,
    blocked_desc,
    channels_last_desc,
    default_desc,
    tagged_desc,
)
from ...storage.primitive import Primitive


class Reading(NamedTuple):
    """How an inner product reads data and weight.

    `source` is the data's layout and `packed` the weight's; the primitive sees the same bytes as
    `src` and `weights`, which may have other dims. None: the weight has the primitive's layout.
    """

    source: MemDesc
    src: MemDesc
    weights: MemDesc
    packed: MemDesc | None = None


def readings(rows: MemDesc, weight: NDArray, given: MemDesc | None, packed: bool) -> list[Reading]:
    """All ways, best first. `rows`: the data as a dense matrix; `given`: the special layout that it
    has; `packed`: the weight is prepacked. Without a place to keep it, packing costs more than it
    gains.
    """
    if not packed:
        return [Reading(rows, rows, default_desc(weight.dtype, weight.shape))]
    made = [Reading(rows, rows, w) for w in weight_layouts(weight, weight.shape)]
    if given is not None:
        dims = (weight.shape[0], *given.dims[1:])
        made[:0] = [Reading(given, given, w) for w in weight_layouts(weight, dims)]
        width = block_width(dims[0])
        blocks = blocks_of_columns(weight, given, width)
        if blocks is not None:
            flat = f"AB{lanes()}b{width}a"
            made.insert(0, Reading(given, rows, tagged_desc(weight.dtype, weight.shape, flat),
                                   blocks))
    return made


def chosen(prim: Primitive, ways: list[Reading]) -> Reading:
    """The one of `ways` that the primitive was made for."""
    return next(way for way in ways if way.src is prim.src
                and (way.weights.is_any or way.weights is prim.weights))


def weight_layouts(weight: NDArray, dims: tuple[int, ...]) -> list[MemDesc]:
    """Layouts to try for a prepacked weight seen as `dims`: its present one first, so that products
    of other batches share it, and oneDNN's own choice last."""
    free = any_desc(weight.dtype, dims)
    found = weight._chunk.mkl_mem
    if (found is not None and not weight.is_view and found.dims == dims
            and (dims[0] < LEAST_OF_REUSED or max(found.inner_blks, default=0) >= LEAST_OF_REUSED)):
        return [found, free]
    columns, features = dims[:2]
    inner = "cdefghijkl"[:len(dims) - 2]
    narrow = int(lib.NDRT_SKINNY_GEMM_NARROW)
    if not has_avx512() and columns <= narrow:
        # oneDNN's own choice may be blocks that native kernels do not read
        return [tagged_desc(weight.dtype, dims, f"AB{inner}{lanes()}b{narrow}a"), free]
    if has_avx512() and columns >= LEAST_OF_WIDE and (
            len(dims) == 2 or columns % (2 * WIDE) == 0 or features % ALIASING == 0):
        return [tagged_desc(weight.dtype, dims, f"AB{inner}{BLOCK}b{WIDE}a"), free]
    return [free]


def block_width(columns: int) -> int:
    """Columns of a block, for weights that the skinny GEMM may read, too."""
    is_wide = has_avx512() and columns >= LEAST_OF_WIDE
    return int(lib.NDRT_SKINNY_GEMM_WIDE if is_wide else lib.NDRT_SKINNY_GEMM_NARROW)


def blocks_of_columns(weight: NDArray, given: MemDesc | None, width: int) -> MemDesc | None:
    """A weight's layout in blocks of `width` columns, whose features are in the order of the bytes
    of data in the special layout `given`, if it has one.

    Its bytes are those of a matrix of as many features in blocks of a vector's lanes by `width`.
    None where no such layout has a name.
    """
    dtype, dims, block = weight.dtype, weight.shape, lanes()
    if given is not None:
        dims = (dims[0], *given.dims[1:])
    inner = "cdefghijkl"[:len(dims) - 2]
    if given is None or (dims[1] % block == 0
                         and given is blocked_desc(dtype, given.dims, block)):
        return tagged_desc(dtype, dims, f"AB{inner}{block}b{width}a")
    if prod(dims[1:]) % block == 0 and given is channels_last_desc(dtype, given.dims):
        return tagged_desc(dtype, dims, f"A{inner}b{width}a")
    return None

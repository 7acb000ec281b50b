"""Places: arrays whose values are positions along an axis, for take, Embedding, pick and masks.

Registers no operator.
"""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray, get_bytes
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ..._array.req import Req
from ...dtypes import DType, native_code
from ...errors import ShapeError, Unsupported
from ...native import lib
from ...op.context import OpContext
from ...op.registry import Shape
from ...storage.desc import default_desc
from ...storage.kernels import index as kernels
from .pointwise import FLOAT_NUM

Rows = tuple[int, int, int, int]  # outer, places, rows, elements of a row

_LEAST = -(2.0**63)


def whole(places: AnyArray) -> AnyArray:
    """Places as int64: floats cut off towards zero, what does not fit as the least int64."""
    if places.dtype.kind in "iub":
        return places.astype(np.int64)
    value = places.astype(np.float64)
    made: AnyArray = np.where((value >= _LEAST) & (value < -_LEAST), value, _LEAST).astype(np.int64)
    return made


def places_in(dtype: DType) -> int:
    """How many places from 0 on a dtype tells apart."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max) + 1
    return 1 << {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(dtype.name, 1)


def need_places(count: int, dtype: DType, data: Shape) -> None:
    """ShapeError where a dtype can not hold each of `count` places in data."""
    if count > places_in(dtype):
        raise ShapeError(f"data has shape {data}, expected at most {places_in(dtype)} places: no "
                         f"more can be told apart in {dtype}")


def inside(places: AnyArray, length: int, wrap: bool) -> AnyArray:
    """Whole places brought into [0, length): to the nearer end, or round and round."""
    found = whole(places)
    made: AnyArray = np.mod(found, length) if wrap else np.clip(found, 0, length - 1)
    return made


def kind_of(dtype: DType) -> int | None:
    """What the native kernels call places of a dtype; None where they read none such."""
    if dtype.name == "int64":
        return int(lib.NDRT_INDEX_S64)
    return None if dtype.name in ("float16", "bfloat16", "bool") else native_code(dtype)


def need_kind(places: NDArray) -> str | None:
    """A reason why the native kernels may not: places of a dtype that they do not read."""
    return None if kind_of(places.dtype) is not None else f"places of dtype {places.dtype}"


def need_moved(array: NDArray) -> str | None:
    """A reason why the native kernels may not move an array's elements: it has no layouts."""
    return f"no layout for {array.dtype}" if native_code(array.dtype) is None else None


def can_add(out: Output) -> None:
    """Unsupported where the request adds numbers that no primitive adds."""
    if out.req == Req.kAddTo and out.array.dtype.num != FLOAT_NUM:
        raise Unsupported(f"nothing adds {out.array.dtype} to an output")


def gather(ctx: OpContext, table: NDArray, places: NDArray, out: Output, rows: Rows,
           wrap: bool = False) -> None:
    """out[o, i] = table[o, places[i]], as the native kernel does it."""
    if not out.requested:
        return
    can_add(out)
    stream, (outer, count, length, width) = ctx.stream, rows
    source, at = get_bytes(table, stream), get_bytes(places, stream)
    with out.open(default_desc(table.dtype, out.shape), stream) as y:
        ctx.kernel(kernels.gather(
            out=y, table=source, places=at, outer=outer, count=count, rows=length,
            width=width * table.dtype.itemsize, kind=kind_of(places.dtype) or 0, wrap=wrap))


def gather_grad(ctx: OpContext, dy: NDArray, places: NDArray, out: Output, rows: Rows,
                wrap: bool = False) -> None:
    """out[o, r] = the sum of dy[o, i] over all i with places[i] = r."""
    if not out.requested:
        return
    stream = ctx.stream
    source, at = get_bytes(dy, stream), get_bytes(places, stream)
    with out.open_weight_grad(default_desc(dy.dtype, out.shape), stream) as dx:
        outer, count, length, width = rows
        ctx.kernel(kernels.gather_grad(
            dx=dx, dy=source, places=at, outer=outer, count=count, rows=length, width=width,
            kind=kind_of(places.dtype) or 0, wrap=wrap))


def scatter_add(dy: AnyArray, places: AnyArray, rows: Rows, wrap: bool = False) -> AnyArray:
    """`gather_grad` in numpy: (outer, rows, elements of a row), in dy's dtype."""
    outer, count, length, width = rows
    made = np.zeros((length, outer, width), dy.dtype)
    if count and length:
        at = inside(places.reshape(-1), length, wrap)
        np.add.at(made, at, dy.reshape(outer, count, width).swapaxes(0, 1))
    swapped: AnyArray = made.swapaxes(0, 1)
    return swapped

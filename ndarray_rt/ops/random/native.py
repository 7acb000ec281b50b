"""Calls of the native kernels that draw (random/draws.c). Registers no operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._array.layout import get_bytes
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ..._array.req import Req
from ...dtypes import FLOAT32, native_code
from ...errors import Unsupported
from ...native import lib
from ...op.context import OpContext
from ...storage.desc import MemDesc, default_desc
from ...storage.kernels import random as kernels
from ...storage.stream import Mem
from .distributions import DISTRIBUTIONS, FLOATS, last_below

# dtypes of parameters that the kernels read
_READ = ("float16", "float32", "float64", "int32", "int8", "uint8", "int64")

# So many elements are drawn in a second or less; the stream gives whole blocks of four words, so
# that those of several draws are those of one.
MOST_AT_ONCE = 1 << 22


def need_readable(array: NDArray) -> str | None:
    """A reason why the native kernels may not: an array of a dtype that they do not read."""
    return None if array.dtype.name in _READ else f"parameters of dtype {array.dtype}"


def kind_of(array: NDArray) -> int:
    code = lib.NDRT_INDEX_S64 if array.dtype.name == "int64" else native_code(array.dtype)
    return int(code or 0)


def can_write(*outs: Output) -> None:
    """Unsupported where a result would be copied or added to what no primitive copies or adds.

    Before anything is drawn: numpy then draws the same numbers.
    """
    for out in outs:
        if out.req in (Req.kWriteInplace, Req.kAddTo) and out.array.dtype != FLOAT32:
            raise Unsupported(f"request {out.req.name} for {out.array.dtype}")


def draw_by_numbers(ctx: OpContext, name: str, numbers: Sequence[float], out: Output) -> None:
    """A random number for each element of the output, by parameters that are numbers."""
    desc = _desc(out)
    with out.open(desc, ctx.stream) as y:
        for begin in range(0, desc.nelems, MOST_AT_ONCE):
            if begin:
                # what waits would run in one call, and no interrupt is served within that
                ctx.stream.flush()
            n = min(MOST_AT_ONCE, desc.nelems - begin)
            _draw(ctx, name, numbers, n, y.behind(begin * out.array.dtype.itemsize), out)


def _draw(ctx: OpContext, name: str, numbers: Sequence[float], n: int, y: Mem,
          out: Output) -> None:
    """The next n elements of the output."""
    if out.array.dtype == FLOAT32 and name == "normal":
        loc, scale = numbers
        ctx.kernel(kernels.normal(out=y, stream=ctx.random_mem(), n=n, loc=loc, scale=scale))
    elif out.array.dtype == FLOAT32 and name == "uniform":
        low, high = numbers
        last = last_below(*np.array(numbers, FLOAT32))
        ctx.kernel(kernels.uniform(out=y, stream=ctx.random_mem(), n=n, low=low, width=high - low,
                                   limit=float(last)))
    else:
        a, b = (*numbers, 0.0, 0.0)[:2]
        ctx.kernel(kernels.draw(
            out=y, stream=ctx.random_mem(), n=n, distribution=DISTRIBUTIONS[name].code, each=0,
            dtype=native_code(out.array.dtype) or 0, kind=0, a=a, b=b))


def draw_by_arrays(ctx: OpContext, name: str, arrays: Sequence[NDArray], each: int,
                   out: Output) -> None:
    """`each` random numbers for each element of the parameters."""
    desc = _desc(out)
    given = [get_bytes(array, ctx.stream) for array in arrays]
    with out.open(desc, ctx.stream) as y:
        ctx.kernel(kernels.draw(
            out=y, stream=ctx.random_mem(), first=given[0], second=given[1] if given[1:] else None,
            n=desc.nelems, distribution=DISTRIBUTIONS[name].code, each=each,
            dtype=native_code(out.array.dtype) or 0, kind=kind_of(arrays[0]), a=0.0, b=0.0))


def _desc(out: Output) -> MemDesc:
    can_write(out)
    if out.array.dtype.name not in FLOATS:
        raise Unsupported(f"no random numbers of dtype {out.array.dtype}")
    return default_desc(out.array.dtype, out.shape)

"""Products of matrices of float64 and int32 by a native kernel. Registers no operator."""

from __future__ import annotations

import math

from .._array.layout import need_float32
from .._array.ndarray import NDArray
from ..dtypes import FLOAT64, INT32, DType
from ..native import lib
from ..op.context import OpContext
from ..op.elementwise import Chain
from ..storage.desc import MemDesc, default_desc
from ..storage.kernels.gemm import blocked_gemm
from ..storage.stream import Mem
from .fused.post_ops import chain_bounds

DTYPES = (FLOAT64, INT32)

Bounds = tuple[float, float]
UNBOUNDED = (-math.inf, math.inf)


def is_blocked(dtype: DType) -> bool:
    """The kernel computes in this dtype; oneDNN and the other kernels do in float32."""
    return dtype in DTYPES


def need_product(chain: Chain, *arrays: NDArray) -> str | None:
    """The reason why no kernel can multiply these arrays and do the chain to the result."""
    dtype = arrays[0].dtype
    if not is_blocked(dtype):
        return need_float32(*arrays)
    if any(array.dtype != dtype for array in arrays):
        return f"arrays of other dtypes than {dtype}"
    bounds = chain_bounds(chain)
    if bounds is None or (bounds != UNBOUNDED and dtype == INT32):
        return f"what is done to a product of {dtype}"
    return None


def scratch_of(ctx: OpContext, dtype: DType, rows: int, depth: int, columns: int,
               ) -> tuple[int, Mem]:
    """The threads that a product may have, and scratch for them."""
    slots = lib.ndrt_threads_get()
    numbers = lib.ndrt_blocked_scratch(rows, depth, columns, slots)
    return slots, ctx.stream.scratch(default_desc(dtype, (numbers,)))


def multiply(ctx: OpContext, dtype: DType, a: Mem, b: Mem, out: Mem, *, alpha: float = 1.0,
             beta: float = 1.0, bias: Mem | None = None, added: Mem | None = None,
             bounds: Bounds = UNBOUNDED) -> None:
    """out = alpha a b + bias + beta added within bounds, for each place in up to two leading axes.

    Layouts are strided ones of these matrices; rows of the result, and of `added`, which has its
    layout, are contiguous.
    """
    rows, depth = a.desc.dims[-2:]
    columns = b.desc.dims[-1]
    products = (1, 1, *out.desc.dims[:-2])[-2:]
    slots, scratch = scratch_of(ctx, dtype, rows, depth, columns)
    ctx.kernel(blocked_gemm(
        out=out, a=a, b=b, scratch=scratch, bias=bias, added=added, products=products, rows=rows,
        depth=depth, columns=columns, a_steps=_steps(a.desc), b_steps=_steps(b.desc),
        out_steps=_steps(out.desc)[:3], kind=out.desc.dtype_code, slots=slots, alpha=alpha,
        beta=beta, low=bounds[0], high=bounds[1]))


def _steps(desc: MemDesc) -> tuple[int, ...]:
    return (0, 0, *desc.strides)[-4:]

"""Functions of float32 element by element by a native kernel, where oneDNN has none.

Registers no operator.
"""

from __future__ import annotations

from ..._array.layout import get_data, get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...native import lib
from ...op.calibration import SLOW_POST_OPS
from ...op.context import OpContext
from ...storage.kernels import elementwise as kernels
from ...storage.stream import Mem, Stream
from .places import can_add

# by the operators' names
SCALAR: dict[str, int] = {
    "_equal_scalar": lib.NDRT_FUNCTION_EQ, "_not_equal_scalar": lib.NDRT_FUNCTION_NE,
    "_greater_scalar": lib.NDRT_FUNCTION_GT, "_greater_equal_scalar": lib.NDRT_FUNCTION_GE,
    "_lesser_scalar": lib.NDRT_FUNCTION_LT, "_lesser_equal_scalar": lib.NDRT_FUNCTION_LE,
    "_logical_and_scalar": lib.NDRT_FUNCTION_AND, "_logical_or_scalar": lib.NDRT_FUNCTION_OR,
    "_logical_xor_scalar": lib.NDRT_FUNCTION_XOR,
}
# of numbers that oneDNN may take, too; its primitives have them built in
LINEAR: dict[str, int] = {
    "_plus_scalar": lib.NDRT_FUNCTION_ADD, "_minus_scalar": lib.NDRT_FUNCTION_SUB,
    "_rminus_scalar": lib.NDRT_FUNCTION_RSUB, "_mul_scalar": lib.NDRT_FUNCTION_MUL,
    "_div_scalar": lib.NDRT_FUNCTION_OVER, "_rdiv_scalar": lib.NDRT_FUNCTION_RDIV,
    "_maximum_scalar": lib.NDRT_FUNCTION_MAX, "_minimum_scalar": lib.NDRT_FUNCTION_MIN,
}
# for which oneDNN has nothing that takes the number as an argument
CURVES: dict[str, int] = {
    "_power_scalar": lib.NDRT_FUNCTION_POWER, "_rpower_scalar": lib.NDRT_FUNCTION_POWER_FROM,
    "_mod_scalar": lib.NDRT_FUNCTION_MOD, "_rmod_scalar": lib.NDRT_FUNCTION_RMOD,
    "_hypot_scalar": lib.NDRT_FUNCTION_HYPOT,
}
SCALAR_SLOPES: dict[str, int] = {
    "_rdiv_scalar": lib.NDRT_FUNCTION_RDIV_SLOPE, "_power_scalar": lib.NDRT_FUNCTION_POWER_SLOPE,
    "_rpower_scalar": lib.NDRT_FUNCTION_POWER_FROM_SLOPE,
    "_rmod_scalar": lib.NDRT_FUNCTION_RMOD_SLOPE, "_hypot_scalar": lib.NDRT_FUNCTION_HYPOT_SLOPE,
    "_maximum_scalar": lib.NDRT_FUNCTION_MAXIMUM_SLOPE,
    "_minimum_scalar": lib.NDRT_FUNCTION_MINIMUM_SLOPE,
}
# of one array, by their words in `Elementwise`, for which oneDNN has nothing or something slow
WORDS: dict[str, int] = {
    "softsign": lib.NDRT_FUNCTION_SOFTSIGN, "expm1": lib.NDRT_FUNCTION_EXPM1,
    "erf": lib.NDRT_FUNCTION_ERF,
    **({"tanh": lib.NDRT_FUNCTION_TANH, "gelu_tanh": lib.NDRT_FUNCTION_GELU_TANH}
       if SLOW_POST_OPS else {})}


def unpadded(x: NDArray, stream: Stream) -> Mem:
    """The contents in their own layout, unless a function of 0 would get into its padding."""
    mem = get_data(x, stream)
    return get_default(x, stream) if mem.desc.is_padded else mem


def function(ctx: OpContext, which: int, x: NDArray, out: Output, p: float = 0.0,
             q: float = 0.0) -> None:
    """out = the function (ndrt_function_id) of x and two numbers."""
    if not out.requested:
        return
    mem = unpadded(x, ctx.stream)
    with out.open(mem.desc, ctx.stream, inplace_of=mem) as y:
        ctx.kernel(kernels.function(out=y, x=mem, n=mem.desc.nelems, which=which, p=p, q=q))


# dtypes other than float32 whose arithmetic with a number has a kernel
KINDS: dict[str, int] = {
    "float64": lib.NDRT_F64, "float16": lib.NDRT_F16, "int64": lib.NDRT_INDEX_S64,
    "int32": lib.NDRT_S32, "int8": lib.NDRT_S8, "uint8": lib.NDRT_U8,
}


def of_kind(ctx: OpContext, which: int, x: NDArray, out: Output, p: float) -> None:
    """out = the function of x and a number, in one of KINDS."""
    if not out.requested:
        return
    can_add(out)
    mem = unpadded(x, ctx.stream)
    with out.open(mem.desc, ctx.stream, inplace_of=mem) as y:
        ctx.kernel(kernels.scalar(out=y, x=mem, n=x.size, kind=KINDS[x.dtype.name], which=which,
                                  p=p))


def on_memory(ctx: OpContext, which: int, x: Mem, y: Mem, p: float) -> None:
    """y = the function of x and a number, in one dense layout or in place."""
    ctx.kernel(kernels.function(out=y, x=x, n=x.desc.nelems, which=which, p=p, q=0.0))


def is_padded(x: NDArray) -> bool:
    """A native kernel would have to leave this array's layout, as padding is zero."""
    desc = x._chunk.mkl_mem
    return desc is not None and desc.is_padded and not x.is_view


def slope(ctx: OpContext, which: int, dy: NDArray, x: NDArray, out: Output, p: float = 0.0,
          q: float = 0.0) -> None:
    """out = dy times the slope at x; the output may be the memory of dy."""
    if not out.requested:
        return
    grad = unpadded(dy, ctx.stream)
    at = get_data_reorder(x, grad.desc, ctx.stream)
    with out.open(grad.desc, ctx.stream, inplace_of=grad) as dx:
        ctx.kernel(kernels.function(out=dx, x=at, dy=grad, n=grad.desc.nelems, which=which, p=p,
                                    q=q))

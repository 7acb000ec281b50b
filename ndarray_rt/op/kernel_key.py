"""Which kernel a call gets: (place, library, dtype, layout). Runs nothing.

`expected_kernel` and `transform` are what PaddlePaddle's Fluid calls GetExpectedKernelType and
data transform.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .. import config
from .._array.layout import AnyArray, numbers
from .._array.ndarray import NDArray
from ..dtypes import FLOAT32, DType
from ..storage.stream import Stream
from .params import Params
from .registry import OpDef
from .wide_call import WideCall, wide_call

if TYPE_CHECKING:
    from .context import OpContext


class KernelKey(NamedTuple):
    """What a kernel needs its inputs to be."""

    place: str  # "cpu"
    library: str  # "onednn" or "numpy"
    dtype: str
    layout: str  # "any": takes what there is; "default": row-major


def expected_kernel(op: OpDef, params: Params, ctx: OpContext, ins: list[NDArray],
                    outs: list[NDArray]) -> tuple[KernelKey, str | None, WideCall | None]:
    """The kernel for these arrays, why it is not oneDNN's where it is not, and how it is called
    where it computes in float32 what the arrays have in 16 bits."""
    dtype = ins[0].dtype if ins else outs[0].dtype
    reason = "use_onednn=False" if ctx.mode.in_numpy else _general_reason(op, ins, outs)
    if reason is None and op.refuses is not None:
        reason = op.refuses(params, ins)
        if reason is not None:
            wide = wide_call(op, params, ctx, ins)
            if wide is not None:
                return kernel_key(FLOAT32, True), None, wide
    return kernel_key(dtype, reason is None), reason, None


@lru_cache(maxsize=64)
def kernel_key(dtype: DType, onednn: bool) -> KernelKey:
    """oneDNN's key takes any layout, numpy's the default one."""
    return (KernelKey("cpu", "onednn", dtype.name, "any") if onednn
            else KernelKey("cpu", "numpy", dtype.name, "default"))


def _general_reason(op: OpDef, ins: list[NDArray], outs: list[NDArray]) -> str | None:
    if op.compute_ex is None:
        return "the operator has no oneDNN path"
    if not config.NDRT_ONEDNN:
        return "NDRT_ONEDNN=0"
    for array in (*ins, *outs):
        if 0 in array.shape:
            return "an array of no elements"
        if not array.shape:
            return "an array of rank 0"
    return None


def transform(ins: list[NDArray], key: KernelKey, stream: Stream) -> list[AnyArray]:
    """Inputs as the numpy kernel wants them: default layout, private copies where they are not."""
    if key.library != "numpy":
        raise ValueError(f"inputs of {key.library} kernels stay as they are")
    return [numbers(array, stream) for array in ins]

"""Which kind of kernel a call gets: (place, library, dtype, layout). Runs nothing.

`expected_kernel` and `transform` are called GetExpectedKernelType and data transform in
PaddlePaddle's Fluid.
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
    """What a kind of kernel requires of its inputs."""

    place: str  # "cpu"
    library: str  # "native" (oneDNN's kernels and this package's) or "numpy"
    dtype: str
    layout: str  # "any" or "default" (row-major)


def expected_kernel(op: OpDef, params: Params, ctx: OpContext, ins: list[NDArray],
                    outs: list[NDArray]) -> tuple[KernelKey, str | None, WideCall | None]:
    """The kind of kernel for these arrays; if it is not native, the reason; and how to call it if
    it computes 16-bit arrays in float32."""
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
def kernel_key(dtype: DType, native: bool) -> KernelKey:
    """Native kernels take any layout, NumPy the default one."""
    return (KernelKey("cpu", "native", dtype.name, "any") if native
            else KernelKey("cpu", "numpy", dtype.name, "default"))


def _general_reason(op: OpDef, ins: list[NDArray], outs: list[NDArray]) -> str | None:
    if op.compute_ex is None:
        return "the operator has no native path"
    if not config.NDRT_ONEDNN:
        return "NDRT_ONEDNN=0"
    for array in (*ins, *outs):
        if 0 in array.shape:
            return "an array of no elements"
        if not array.shape:
            return "an array of rank 0"
    return None


def transform(ins: list[NDArray], key: KernelKey, stream: Stream) -> list[AnyArray]:
    """Inputs for NumPy: in the default layout, as private copies if they are in another one."""
    if key.library != "numpy":
        raise ValueError(f"inputs of {key.library} kernels stay as they are")
    return [numbers(array, stream) for array in ins]

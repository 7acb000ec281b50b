"""Which kernel a call gets: (place, library, dtype, layout). Runs nothing.

`expected_kernel` and `transform` are what PaddlePaddle's Fluid calls GetExpectedKernelType and
data transform.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from .. import config
from .._array.layout import AnyArray, default_numpy
from .._array.ndarray import NDArray
from ..dtypes import DType
from ..storage.stream import ImmediateStream
from .params import Params
from .registry import OpDef


class KernelKey(NamedTuple):
    """What a kernel needs its inputs to be."""

    place: str  # "cpu"
    library: str  # "onednn" or "numpy"
    dtype: str
    layout: str  # "any": takes what there is; "default": row-major


def expected_kernel(op: OpDef, params: Params, ins: list[NDArray], outs: list[NDArray],
                    in_numpy: bool = False) -> tuple[KernelKey, str | None]:
    """The kernel for these arrays, and why it is not oneDNN's where it is not; `in_numpy`: because
    the user wants it so."""
    dtype = ins[0].dtype if ins else outs[0].dtype
    reason = "use_onednn=False" if in_numpy else _reason(op, params, ins, outs)
    return kernel_key(dtype, reason is None), reason


@lru_cache(maxsize=64)
def kernel_key(dtype: DType, onednn: bool) -> KernelKey:
    """oneDNN's key takes any layout, numpy's the default one."""
    return (KernelKey("cpu", "onednn", dtype.name, "any") if onednn
            else KernelKey("cpu", "numpy", dtype.name, "default"))


def _reason(op: OpDef, params: Params, ins: list[NDArray], outs: list[NDArray]) -> str | None:
    if op.compute_ex is None:
        return "the operator has no oneDNN path"
    if not config.NDRT_ONEDNN:
        return "NDRT_ONEDNN=0"
    for array in (*ins, *outs):
        if 0 in array.shape:
            return "an array of no elements"
        if not array.shape:
            return "an array of rank 0"
    return op.refuses(params, ins) if op.refuses is not None else None


def transform(ins: list[NDArray], key: KernelKey, stream: ImmediateStream) -> list[AnyArray]:
    """Inputs as the numpy kernel wants them: default layout, private copies where they are not."""
    if key.library != "numpy":
        raise ValueError(f"inputs of {key.library} kernels stay as they are")
    return [default_numpy(array, stream) for array in ins]

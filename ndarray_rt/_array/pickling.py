"""Pickling and copying arrays: contents, shape, dtype and context, nothing else.

Contents are pickled in the default layout, whatever the array's own is. Gradients and the tape are
not kept, views keep only their own part, and arrays that shared memory no longer do.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np

from ..context import Context
from ..dtypes import find_dtype
from ..errors import NdrtError
from .access import Access
from .copy import write_numpy
from .create import array
from .interop import ShareError, asnumpy, export
from .ndarray import NDArray, check_shape, new_array


def reduce(x: NDArray, protocol: int = 2) -> Any:
    """pickle's `__reduce_ex__`. From protocol 5 on contents can travel out of band.

    An out-of-band buffer is the array's own bytes, read-only and pinned while it lives, unless the
    array is in a special layout: then it is a copy.
    """
    try:
        plain = asnumpy(x) if x.is_special else export(x, writable=False)
    except ShareError:  # an executor has packed it meanwhile
        plain = asnumpy(x)
    flat: Any = plain.reshape(-1).view(np.uint8)
    flat.flags.writeable = False
    data = pickle.PickleBuffer(flat) if protocol >= 5 else flat.tobytes()
    ctx = (x.ctx.device_type, x.ctx.device_id)
    return restore, (data, x.shape, x.dtype.name, ctx, sys.byteorder)


def restore(data: Any, shape: tuple[int, ...], dtype: str, ctx: tuple[str, int],
            byteorder: str) -> NDArray:
    """The array that `reduce` took apart, on memory of its own."""
    kind = find_dtype(dtype)
    if byteorder not in ("little", "big"):
        raise NdrtError(f"unpickling: the order of bytes is {byteorder!r}, "
                        "expected 'little' or 'big'")
    if not (isinstance(ctx, tuple) and len(ctx) == 2):
        raise NdrtError(f"unpickling: the context is {ctx!r}, expected a type and a number")
    made = new_array(check_shape(shape, "unpickling"), kind, Context(*ctx))
    found = np.frombuffer(data, np.uint8)
    if found.size != made.nbytes:
        raise NdrtError(f"unpickling: an array of shape {made.shape} and {dtype} has "
                        f"{made.nbytes} bytes, got {found.size}")
    values = found.view(kind).reshape(made.shape)
    with Access(written=(made,)) as stream:
        write_numpy(made, values if byteorder == sys.byteorder else values.byteswap(), stream)
    return made


def become(x: NDArray, made: NDArray) -> None:
    """Turns x into an array on the memory of `made`, with its shape, dtype and context."""
    x.__init__(made._chunk, made.shape, made.dtype, made._byte_offset,  # type: ignore[misc]
               ctx=made.ctx)


def copied(x: NDArray) -> NDArray:
    """copy.copy: an array with memory of its own, without history on the tape."""
    return array(x, x.ctx)


def deepcopied(x: NDArray, memo: dict[int, Any]) -> NDArray:
    """copy.deepcopy: as copy.copy, once for an array that appears more than once."""
    made = memo[id(x)] = copied(x)
    return made

"""Arrays on memory that NumPy allocated, for readers of files that make NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.ndarray import NDArray
from ..context import Context
from ..dtypes import DType
from ..storage.chunk import Chunk
from ..storage.handle import Handle


def over_numpy(values: np.ndarray[Any, Any], dtype: DType, ctx: Context) -> NDArray:
    """An array on the memory of C-contiguous values that nobody else will use any more."""
    if not values.size:
        return NDArray(Chunk(values.shape, dtype), values.shape, dtype, ctx=ctx)
    handle = Handle.borrowed(values.__array_interface__["data"][0], values.nbytes, values)
    return NDArray(Chunk(values.shape, dtype, handle=handle), values.shape, dtype, ctx=ctx)

"""boolean_mask: the rows selected by a mask, whose number depends on the mask's values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import interop
from .._array.create import array
from .._array.ndarray import NDArray
from ..errors import ParameterError, ShapeError, TypeMismatch, shown
from .invoke import invoke


def boolean_mask(data: NDArray, index: NDArray, axis: int = 0, out: NDArray | None = None,
                 name: str | None = None) -> Any:
    """The rows of data where index is not zero; the others get a gradient of zero.

    index (rows,) of any dtype; axis is 0. Source: MXNet's _contrib_boolean_mask.
    """
    for what, given in (("data", data), ("index", index)):
        if not isinstance(given, NDArray):
            raise TypeMismatch(f"boolean_mask: {what} got {shown(given)}, expected an NDArray")
    if axis != 0:
        raise ParameterError(f"boolean_mask: axis got {shown(axis)}, expected 0")
    if index.ndim != 1 or data.shape[:1] != index.shape:
        raise ShapeError(f"boolean_mask: index has shape {index.shape}, expected "
                         f"{data.shape[:1]} from data {data.shape}")
    rows = np.flatnonzero(interop.asnumpy(index))
    return invoke("take", (data, array(rows, data.ctx, np.int64)), {"axis": 0}, out=out, name=name)

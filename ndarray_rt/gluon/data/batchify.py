"""Batches out of lists of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import nd
from ...context import Context
from ...nd import NDArray
from ...public import shows

__all__ = ["as_in_context", "default_batchify_fn", "default_mp_batchify_fn"]
__dir__ = shows(globals())


def default_batchify_fn(data: Any) -> Any:
    """One array of all samples, which are stacked; of tuples, a list with an array for each part.

    Samples that are no NDArrays are stacked by NumPy, whose dtype the array has.
    """
    first = data[0]
    if isinstance(first, NDArray):
        return nd.stack(*data, axis=0)
    if isinstance(first, tuple):
        return [default_batchify_fn(part) for part in zip(*data, strict=True)]
    stacked = np.asarray(data)
    return nd.array(stacked, dtype=stacked.dtype)


def default_mp_batchify_fn(data: Any) -> Any:
    """As `default_batchify_fn`: whatever worker processes make goes through shared memory."""
    return default_batchify_fn(data)


def as_in_context(data: Any, ctx: Context) -> Any:
    """The arrays of a batch on another context; tuples become lists."""
    if isinstance(data, NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, (list, tuple)):
        return [as_in_context(part, ctx) for part in data]
    return data

"""bfloat16 without ml_dtypes: conversions between numbers and its bit patterns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import DType, is_bare

AnyArray = np.ndarray[Any, np.dtype[Any]]


def cast(value: Any, dtype: DType) -> AnyArray:
    """`value` as an array of a dtype; for bfloat16 without ml_dtypes, as bit patterns."""
    made: AnyArray = np.asarray(value)
    if not is_bare(dtype) or made.dtype == dtype:
        return made.astype(dtype, copy=False)
    single = np.ascontiguousarray(made, np.float32).reshape(made.shape)
    bits = single.view(np.uint32)
    # round to nearest even; a NaN whose only set bits are cut off must stay a NaN
    rounded = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16
    kept: AnyArray = np.where(np.isnan(single), bits >> 16 | 0x40, rounded).astype(np.uint16)
    found: AnyArray = kept.view(dtype)
    return found


def numbers_of(elements: AnyArray) -> AnyArray:
    """Elements of any dtype as an array that NumPy can compute with; bit patterns as float32."""
    if not is_bare(elements.dtype):
        return elements
    plain = np.ascontiguousarray(elements).reshape(elements.shape)
    made: AnyArray = (plain.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return made

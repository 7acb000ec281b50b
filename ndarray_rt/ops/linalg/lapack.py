"""What the operators compute with: NumPy, and BLAS through scipy where that is installed.

Matrices lie along the last two axes. Registers no operator.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..blas import MIB, Blas, Buffers, need_room, uses_blas

_BLOCK = 32  # rows that are solved one by one
# address space that loading scipy and its BLAS takes: with less, OpenBLAS hangs
_LOADING = 192 * MIB


def turned(x: AnyArray) -> AnyArray:
    """The transposes."""
    return np.swapaxes(x, -1, -2)


def copied_down(x: AnyArray) -> AnyArray:
    """Symmetric matrices with the lower triangles of these."""
    low = np.tril(x)
    made: AnyArray = low + turned(np.tril(x, -1))
    return made


@lru_cache(maxsize=1)
def _blas() -> Any:
    """scipy's BLAS, or None. OutOfMemory where loading it might find no memory for its threads."""
    need_room(_LOADING)
    try:
        return importlib.import_module("scipy.linalg.blas")
    except ImportError:
        return None


@uses_blas
def _solve_rows(a: AnyArray, b: AnyArray) -> AnyArray:
    """Forward substitution, row by row; the whole batch at once."""
    n = a.shape[-1]
    x = np.empty_like(b)
    for i in range(n):
        known = np.matmul(a[..., i:i + 1, :i], x[..., :i, :])
        x[..., i:i + 1, :] = (b[..., i:i + 1, :] - known) / a[..., i:i + 1, i:i + 1]
    return x


@uses_blas
def _solve_halves(a: AnyArray, b: AnyArray) -> AnyArray:
    """Solves a x = b for lower triangles, by halves: most of it is products of matrices."""
    n = a.shape[-1]
    if n <= _BLOCK:
        return _solve_rows(a, b)
    half = n // 2
    top = _solve_halves(a[..., :half, :half], b[..., :half, :])
    rest = b[..., half:, :] - np.matmul(a[..., half:, :half], top)
    return np.concatenate([top, _solve_halves(a[..., half:, half:], rest)], axis=-2)


@lru_cache(maxsize=1)
def _room() -> Blas:
    """For scipy's BLAS, which is another one than NumPy's."""
    few = np.eye(2)
    return Blas(Buffers(importlib.import_module("scipy"), lambda: _blas().dtrsm(1.0, few, few)))


def _solve_blas(blas: Any, a: AnyArray, b: AnyArray, lower: bool) -> AnyArray:
    trsm = blas.strsm if a.dtype == np.float32 else blas.dtrsm
    x = np.empty_like(b)
    with _room():
        for place in np.ndindex(*a.shape[:-2]):
            x[place] = trsm(1.0, a[place], b[place], lower=lower)
    return x


def solve(a: AnyArray, b: AnyArray, lower: bool = True) -> AnyArray:
    """The x of a x = b, where `a` is a triangle; what stands beyond it is not read.

    Infinite or NaN where a number of the diagonal is 0.
    """
    blas = _blas()
    if blas is not None and b.size and np.all(np.diagonal(a, axis1=-2, axis2=-1)):
        return _solve_blas(blas, a, b, lower)
    if lower:
        return _solve_halves(a, b)
    return _solve_halves(a[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]


def triangular_solve(a: AnyArray, b: AnyArray, *, transpose: bool = False,
                     rightside: bool = False, lower: bool = True) -> AnyArray:
    """The x of op(a) x = b, or of x op(a) = b."""
    if rightside:  # op(a)^T x^T = b^T
        return turned(solve(a, turned(b), lower) if transpose
                      else solve(turned(a), turned(b), not lower))
    return solve(turned(a), b, not lower) if transpose else solve(a, b, lower)

"""Random matrices with known properties, as numpy arrays, and identities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import nd
from .._array.ndarray import NDArray

Array = np.ndarray[Any, np.dtype[Any]]
# of the eigenvectors of matrices that are to be well conditioned
_WORST_CONDITION = 3


def new_orthonormal_matrix_2d(n: int) -> Array:
    """A random orthonormal matrix of n rows."""
    x = np.random.randn(n, n)
    return np.asarray(np.linalg.qr(x.T @ x)[0])


def new_sym_matrix_with_real_eigvals_2d(n: int) -> Array:
    """A random symmetric matrix of n rows with eigenvalues from -10 to 10."""
    q = new_orthonormal_matrix_2d(n)
    return np.asarray(q.T @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ q)


def new_matrix_with_real_eigvals_2d(n: int) -> Array:
    """A random matrix of n rows with real eigenvalues from -10 to 10, its eigenvectors well
    conditioned."""
    while True:
        # a reflection whose columns are scaled
        v = np.random.uniform(-1.0, 1.0, (n, 1))
        v /= np.linalg.norm(v)
        q = (np.eye(n) - 2 * v @ v.T) * np.random.uniform(-1.0, 1.0, n)
        if np.linalg.cond(q, 2) < _WORST_CONDITION:
            break
    return np.asarray(np.linalg.inv(q) @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ q)


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> Array:
    """Matrices of `new_matrix_with_real_eigvals_2d` in the last two dimensions."""
    return _many(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> Array:
    """Matrices of `new_sym_matrix_with_real_eigvals_2d` in the last two dimensions."""
    return _many(new_sym_matrix_with_real_eigvals_2d, shape)


def _many(make: Callable[[int], Array], shape: Sequence[int]) -> Array:
    count = int(np.prod(shape[:-2]))
    return np.array([make(shape[-1]) for _ in range(count)]).reshape(tuple(shape))


def get_identity_mat(size: int) -> NDArray:
    """The identity of `size` rows, float32."""
    made: NDArray = nd.eye(size)
    return made


def get_identity_mat_batch(size: int) -> NDArray:
    """Two identities, one after the other: (2, size, size)."""
    one = get_identity_mat(size)
    made: NDArray = nd.stack(one, one)
    return made

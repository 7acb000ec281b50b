"""Diagonals and triangles of matrices, determinants, products with triangles."""

from __future__ import annotations

import numpy as np

from ....ops.linalg.diagonal import diagonal_places, triangle_places
from ...graph import Array
from ..call import Call
from ..dims import Size
from ..table import exports


def _taken(c: Call, x: str, before: tuple[Size, ...], places: tuple[Array, Array]) -> str:
    """The elements of matrices (..., rows, columns) at some places, (..., places)."""
    rows, columns = c.fixed(before[-2:], "the size of a matrix")
    flat = c.reshape(x, before, (*before[:-2], rows * columns))
    return c.op("Gather", flat, c.const(places[0] * columns + places[1], np.int64), axis=-1)


def _made(c: Call, before: tuple[Size, ...], n: int, places: tuple[Array, Array]) -> str:
    """Matrices (..., n, n) with vectors at some places and zeros elsewhere."""
    count = c.fixed(before[-1:], "the size of a matrix")[0]
    zero = [0] * (len(before) - 1)
    more = c.pad(c.input(0), [*zero, 0], [*zero, 1], 0.0)
    order = np.full((n, n), count, np.int64)
    order[places] = np.arange(count)
    return c.op("Gather", more, c.const(order), axis=-1)


@exports("_linalg_extractdiag", "_linalg_extracttrian")
def extract(c: Call) -> str:
    n = c.fixed(c.shape()[-1:], "the size of a matrix")[0]
    places = diagonal_places if c.operator == "_linalg_extractdiag" else triangle_places
    return _taken(c, c.input(0), c.shape(), places(c.p, n))


@exports("_linalg_makediag", "_linalg_maketrian")
def make(c: Call) -> str:
    n = c.fixed(c.out_shape()[-1:], "the size of a matrix")[0]
    places = diagonal_places if c.operator == "_linalg_makediag" else triangle_places
    return _made(c, c.shape(), n, places(c.p, n))


@exports("diag")
def diag(c: Call) -> str:
    k, shape = c.p.k, c.shape()
    if len(shape) == 1:
        n = c.fixed(c.out_shape()[-1:], "the size of a matrix")[0]
        return _made(c, shape, n, _diagonal(k, n - abs(k)))
    axes = c.p.axis1 % len(shape), c.p.axis2 % len(shape)
    order = [*(axis for axis in range(len(shape)) if axis not in axes), *axes]
    length = c.fixed(c.out_shape()[-1:], "the size of a matrix")[0]
    return _taken(c, c.transpose(c.input(0), order), tuple(shape[axis] for axis in order),
                  _diagonal(k, length))


def _diagonal(k: int, length: int) -> tuple[Array, Array]:
    """(rows, columns) of the k-th diagonal."""
    along = np.arange(length)
    return along + max(-k, 0), along + max(k, 0)


@exports("_linalg_det")
def det(c: Call) -> str:
    return _per_matrix(c, c.op("Det", c.input(0)))


@exports("_linalg_sumlogdiag")
def sumlogdiag(c: Call) -> str:
    n = np.arange(c.fixed(c.shape()[-1:], "the size of a matrix")[0])
    logs = c.op("Log", _taken(c, c.input(0), c.shape(), (n, n)))
    return _per_matrix(c, c.reduce("ReduceSum", logs, [-1], False))


def _per_matrix(c: Call, x: str) -> str:
    """A number for each matrix; of a single one a vector of one."""
    return c.unsqueeze(x, 0) if c.rank() == 2 else x


@exports("_linalg_trmm")
def trmm(c: Call) -> str:
    n = c.fixed(c.shape()[-1:], "the size of a matrix")[0]
    whole = np.ones((n, n), np.bool_)
    inside = np.tril(whole) if c.p.lower else np.triu(whole)
    a = c.op("Where", c.const(inside), c.input(0), c.number(0.0))
    if c.p.transpose:
        rank = c.rank()
        a = c.transpose(a, [*range(rank - 2), rank - 1, rank - 2])
    made = c.op("MatMul", *((c.input(1), a) if c.p.rightside else (a, c.input(1))))
    return made if c.p.alpha == 1.0 else c.op("Mul", made, c.number(c.p.alpha))

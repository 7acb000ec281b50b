"""Products of matrices: MatMul, Gemm, Einsum and their whole-number forms."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...ops.blas import uses_blas
from ..build import GraphBuilder
from ..graph import Array, Node
from ..one_hot import rows_of
from ..table import operator
from ..values import MAX_BYTES, Value
from .math import binary


@operator("MatMul")
@uses_blas
def matmul(node: Node, a: Array, b: Array) -> Array:
    made: Array = np.matmul(a, b)
    return made.astype(a.dtype, copy=False)


@matmul.sized
def matmul_size(node: Node, a: Array, b: Array) -> tuple[tuple[int, ...], Any]:
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (*shape, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ())), a.dtype


@matmul.symbol
def matmul_symbol(b: GraphBuilder, node: Node, x: Value, y: Value) -> Value | None:
    if not x.is_float or x.dtype != y.dtype or not x.rank or not y.rank:
        return None
    return rows_of(b, x, y) or product(b, x, y)


def product(b: GraphBuilder, x: Value, y: Value) -> Value:
    """NumPy's matmul of two tensors of one or more axes."""
    left = b.reshaped(x, (1, *x.shape)) if x.rank == 1 else x
    right = b.reshaped(y, (*y.shape, 1)) if y.rank == 1 else y
    made = _product(b, left, right)
    shape = list(made.shape)
    if x.rank == 1:
        del shape[-2]
    if y.rank == 1:
        del shape[-1]
    return b.shaped(made, shape)


def _product(b: GraphBuilder, x: Value, y: Value) -> Value:
    inner, columns = y.shape[-2:]
    if x.shape[-1] != inner:
        raise ValueError(f"a product of {x.shape} and {y.shape}")
    if y.const is not None and y.rank == 2:
        # a dense layer, whose weight has a row for each output
        weight = Value((columns, inner), y.dtype,
                       const=b.constants.made_of(y, "rows", np.transpose))
        return b.op("FullyConnected", x, weight, num_hidden=columns, no_bias=True, flatten=False)
    if x.rank == y.rank == 2:
        return b.op("dot", x, y)
    if y.rank == 2:
        rows = b.reshaped(x, (prod(x.shape[:-1]), inner))
        return b.reshaped(b.op("dot", rows, y), (*x.shape[:-1], columns))
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    parts = []
    for value in (x, y):
        whole = (*lead, *value.shape[-2:])
        if value.shape != whole:
            value = b.op("broadcast_to", b.alike(value, len(whole)), shape=whole)
        parts.append(b.reshaped(value, (prod(lead), *whole[-2:])))
    made = b.op("batch_dot", *parts)
    return b.reshaped(made, (*lead, x.shape[-2], columns))


@operator("Gemm")
@uses_blas
def gemm(node: Node, a: Array, b: Array, c: Array | None = None) -> Any:
    a = a.T if node.attr("transA", 0) else a
    b = b.T if node.attr("transB", 0) else b
    made = np.matmul(a, b)
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    if alpha != 1.0:
        made = (made * np.asarray(alpha)).astype(a.dtype)
    if c is not None:
        made = made + (c if beta == 1.0 else (c * np.asarray(beta)).astype(a.dtype))
    return made.astype(a.dtype)


@gemm.sized
def gemm_size(node: Node, a: Array, b: Array, c: Array | None = None) -> tuple[list[int], Any]:
    shape = [a.shape[1 if node.attr("transA", 0) else 0],
             b.shape[0 if node.attr("transB", 0) else 1]]
    # unlike elsewhere only the third one is repeated to fit
    if c is not None and np.broadcast_shapes(c.shape, tuple(shape)) != tuple(shape):
        raise ValueError(f"a sum of {tuple(shape)} and {c.shape}")
    return shape, a.dtype


@gemm.symbol
def gemm_symbol(b: GraphBuilder, node: Node, x: Value, w: Value, c: Value | None = None,
                ) -> Value | None:
    if not x.is_float or x.dtype != w.dtype:
        return None
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 1.0))
    if node.attr("transA", 0):
        x = b.transposed(x, (1, 0))
    inner, columns = w.shape[::-1] if node.attr("transB", 0) else w.shape
    if w.const is not None:
        # as a dense layer wants it, with a row for each output
        def rows(array: Array) -> Any:
            turned = array if node.attr("transB", 0) else array.T
            return turned if alpha == 1.0 else (turned * np.asarray(alpha)).astype(array.dtype)
        weight = Value((columns, inner), w.dtype, const=b.constants.made_of(
            w, f"rows {node.attr('transB', 0)} {alpha}", rows))
        bias = None
        if c is not None and c.const is not None and c.size in (1, columns) and (
                not c.rank or (c.shape[-1] in (1, columns) and c.size == c.shape[-1])):
            def vector(array: Array) -> Any:
                whole = np.broadcast_to(array.reshape(-1), (columns,))
                return (whole * np.asarray(beta)).astype(array.dtype)
            bias = Value((columns,), c.dtype, const=b.constants.made_of(
                c, f"vector {columns} {beta}", vector))
            c = None
        if bias is not None:
            made = b.op("FullyConnected", x, weight, bias, num_hidden=columns)
        else:
            made = b.op("FullyConnected", x, weight, num_hidden=columns, no_bias=True)
    else:
        made = b.op("dot", x, b.transposed(w, (1, 0)) if node.attr("transB", 0) else w)
        if alpha != 1.0:
            made = b.op("_mul_scalar", made, scalar=alpha)
    if c is None or beta == 0.0:
        return made
    if beta != 1.0:
        c = b.shaped(b.op("_mul_scalar", c, scalar=beta), c.shape)
    return binary(b, "Add", made, c)


@operator("Einsum")
@uses_blas
def einsum(node: Node, *arrays: Array) -> Array:
    dtype = arrays[0].dtype
    own = [a.astype(np.float32) for a in arrays] if dtype.name == "bfloat16" else arrays
    # two arrays at a time, as long as what that gives is not too large
    how = "greedy", MAX_BYTES.get() // own[0].itemsize
    made: Array = np.einsum(node.attr("equation").replace(" ", ""), *own, optimize=how)
    return made.astype(dtype, copy=False)


@einsum.sized
def einsum_size(node: Node, *arrays: Array) -> tuple[tuple[int, ...], Any]:
    """An axis for each letter of the result, behind those that an ellipsis stands for."""
    terms, arrow, result = node.attr("equation").replace(" ", "").partition("->")
    lengths: dict[str, int] = {}
    more: tuple[int, ...] = ()
    for term, array in zip(terms.split(","), arrays, strict=True):
        before, dots, behind = term.partition("...")
        shape, end = array.shape, array.ndim - len(behind)
        if len(before) > end or (not dots and array.ndim != len(before)):
            raise ValueError(f"an array of rank {array.ndim} for {term!r}")
        for letter, size in (*zip(before, shape, strict=False),
                             *zip(behind, shape[end:], strict=True)):
            lengths[letter] = max(size, lengths.get(letter, size))
        more = np.broadcast_shapes(more, shape[len(before):end])
    if not arrow:
        result = "..." + "".join(letter for letter in sorted(lengths) if terms.count(letter) == 1)
    own = tuple(lengths[letter] for letter in result if letter != ".")
    return (*(more if "..." in result else ()), *own), arrays[0].dtype


@operator("Det")
@uses_blas
def determinant(node: Node, x: Array) -> Array:
    return np.asarray(np.linalg.det(x)).astype(x.dtype)

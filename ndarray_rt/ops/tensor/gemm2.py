"""_linalg_gemm2: scaled matrix products of batches."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, DType
from ...errors import ShapeError, TypeMismatch
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_dim, normalize_axis, same_type
from ...op.numbers import Domain
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc, strided_desc
from ...storage.kernels.elementwise import fill
from ...storage.primitive import Arg, Kind, PostSpec, binary_post, make_primitive
from ...storage.stream import Mem
from ..blas import uses_blas
from ..blocked_gemm import is_blocked, multiply, need_product
from .places import can_add


@params_class
class Gemm2Params(Params):
    transpose_a: bool = boolean(False, doc="A is turned round")
    transpose_b: bool = boolean(False, doc="B is turned round")
    alpha: float = number(1.0, doc="what the product is multiplied by")
    axis: int = integer(-2, doc="the axis of the rows; the columns are the last one")


class Products(Protocol):
    """The parameters that say which matrices are multiplied."""

    @property
    def transpose_a(self) -> bool: ...
    @property
    def transpose_b(self) -> bool: ...
    @property
    def alpha(self) -> float: ...
    @property
    def axis(self) -> int: ...


def _row_axis(p: Products, rank: int) -> int:
    axis = normalize_axis(p.axis, rank)
    if axis == rank - 1:
        raise ShapeError(f"axis={p.axis} is the axis of the columns")
    return axis


def infer_shape(p: Products, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    a, b = ins
    if a is None or b is None:
        return ins, outs
    if len(a) != len(b) or len(a) < 2:
        raise ShapeError(f"A has shape {a} and B {b}, expected one rank of at least 2")
    axis = _row_axis(p, len(a))
    m, k = (a[-1], a[axis]) if p.transpose_a else (a[axis], a[-1])
    other, n = (b[-1], b[axis]) if p.transpose_b else (b[axis], b[-1])
    try:
        merge_dim(k, other)
        batch = merge((*a[:axis], *a[axis + 1:-1]), (*b[:axis], *b[axis + 1:-1])) or ()
    except ShapeError:
        raise ShapeError(f"B has shape {b}, expected one that fits A {a}, axis={p.axis}, "
                         f"transpose_a={p.transpose_a}, transpose_b={p.transpose_b}") from None
    return ins, [merge(outs[0], (*batch[:axis], m, *batch[axis:], n), "output shapes")]


def infer_type(p: Gemm2Params, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    for dtype in (*ins, *outs):
        if dtype is not None and dtype.name not in ("float32", "float64"):
            raise TypeMismatch(f"dtype {dtype} is neither float32 nor float64")
    return same_type(p, ins, outs)


@uses_blas
def product_of(p: Products, a: AnyArray, b: AnyArray) -> AnyArray:
    """alpha times the products, with the rows where `axis` says."""
    dtype = a.dtype
    a, b = np.moveaxis(a, p.axis, -2), np.moveaxis(b, p.axis, -2)
    a = np.swapaxes(a, -1, -2) if p.transpose_a else a
    b = np.swapaxes(b, -1, -2) if p.transpose_b else b
    y = np.matmul(a, b) * dtype.type(p.alpha)
    return np.moveaxis(y, -2, p.axis)


def compute(ctx: OpContext, p: Gemm2Params, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(product_of(p, ins[0], ins[1]))


def refuses(p: Gemm2Params, ins: list[NDArray]) -> str | None:
    return need_product((), *ins)


def seen(p: Products, dtype: DType, shape: Shape, turned: bool = False) -> MemDesc:
    """An array as matrices, with the batch axes before and behind the rows as one each."""
    axis = _row_axis(p, len(shape))
    before, rows, behind, columns = (prod(shape[:axis]), shape[axis], prod(shape[axis + 1:-1]),
                                     shape[-1])
    step = behind * columns  # from row to row
    dims, strides = (rows, columns), (step, 1)
    if turned:
        dims, strides = (columns, rows), (1, step)
    groups = [(before, rows * step), (behind, columns)]
    if 1 in (before, behind):  # one batch axis is enough
        groups.pop(0 if before == 1 and behind != 1 else 1)
    return strided_desc(dtype, (*(size for size, _ in groups), *dims),
                        (*(by for _, by in groups), *strides))


def compute_ex(ctx: OpContext, p: Gemm2Params, ins: list[NDArray], outs: list[Output]) -> None:
    a, b = ins
    if not outs[0].requested:
        return
    can_add(outs[0])
    src = seen(p, a.dtype, a.shape, p.transpose_a)
    w = seen(p, b.dtype, b.shape, p.transpose_b)
    dst = seen(p, a.dtype, outs[0].shape)
    x, y = get_default(a, ctx.stream).as_desc(src), get_default(b, ctx.stream).as_desc(w)
    with outs[0].open(default_desc(a.dtype, outs[0].shape), ctx.stream) as z:
        scaled_product(ctx, a.dtype, p.alpha, x, y, z.as_desc(dst))


def scaled_product(ctx: OpContext, dtype: DType, alpha: float, x: Mem, y: Mem, z: Mem) -> None:
    """z = alpha times the products of x and y."""
    if is_blocked(dtype):
        multiply(ctx, dtype, x, y, z, alpha=alpha)
        return
    ops, more = factor(ctx, alpha, z.desc.ndims, 1)
    prim = ctx.primitive(("product", x.desc.id, y.desc.id, z.desc.id, bool(ops)), lambda:
                         make_primitive(Kind.MATMUL, src=x.desc, weights=y.desc, dst=z.desc,
                                        post_ops=ops))
    ctx.run(prim, ((Arg.SRC, x), (Arg.WEIGHTS, y), (Arg.DST, z), *more))


def factor(ctx: OpContext, value: float, rank: int, place: int,
           ) -> tuple[list[PostSpec], list[tuple[int, Mem]]]:
    """The post-op at a place, from 1, that multiplies by a number, and its argument.

    The number is in memory, so that one primitive serves all numbers; a factor of 1 is none.
    """
    if value == 1.0:
        return [], []
    cell = ctx.stream.scratch(default_desc(FLOAT32, (1,) * rank))
    ctx.kernel(fill(out=cell, n=1, value=value))
    return ([binary_post(lib.NDRT_BINARY_MUL, cell.desc)],
            [(place * Arg.POST_OP + Arg.SRC_1, cell)])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: Gemm2Params = node.params
    dy, (a, b), ta, tb = out_grads[0], node.inputs, p.transpose_a, p.transpose_b

    def product(x: Any, y: Any, turn_x: bool, turn_y: bool) -> Any:
        params = {"transpose_a": turn_x, "transpose_b": turn_y, "alpha": p.alpha, "axis": p.axis}
        return emit("_linalg_gemm2", params, x, y)[0]
    da = product(b, dy, tb, True) if ta else product(dy, b, False, not tb)
    db = product(dy, a, True, ta) if tb else product(a, dy, not ta, False)
    return [da, db]


register(OpDef("_linalg_gemm2", Gemm2Params, inputs=("A", "B"), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, aliases=("linalg_gemm2",), numbers=("alpha",),
               domain=Domain(apart=(1.0,)),
               doc="alpha times the matrix products of A and B, for each place in the other "
                   "axes.\n\nRows lie along axis, columns along the last one; transpose_a and "
                   "transpose_b turn these two round. One rank of at least 2, float32 or float64. "
                   "Source: MXNet's linalg_gemm2; oneDNN matmul."))

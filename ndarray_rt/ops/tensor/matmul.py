"""dot and batch_dot: matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.epilogue import Epilogue
from ...op.infer import ShapeList, merge, merge_dim, same_type
from ...op.params import Params, boolean, optional_choice, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc, strided_desc
from ...storage.primitive import Arg, Kind, make_primitive
from ..blas import uses_blas
from ..terms import product_gradient
from .numeric import convert, is_integer, wide


@params_class
class DotParams(Params):
    transpose_a: bool = boolean(False, doc="the first operand is turned round")
    transpose_b: bool = boolean(False, doc="the second operand is turned round")
    forward_stype: str | None = optional_choice("default", doc="storage type: dense")


# ---- dot: the contracted axis, and everything else as one ---------------------------------------


def _parts(shape: Shape, contracted_first: bool) -> tuple[int, Shape]:
    """(length of the contracted axis, the others)."""
    return (shape[0], shape[1:]) if contracted_first else (shape[-1], shape[:-1])


def infer_shape_dot(p: DotParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    a, b = ins
    if a is None or b is None:
        return ins, outs
    if not a or not b:
        raise ShapeError(f"lhs has shape {a} and rhs {b}, expected at least rank 1")
    if len(a) == len(b) == 1 and (p.transpose_a or p.transpose_b):
        raise ShapeError("vectors can not be transposed")
    inner, left = _parts(a, p.transpose_a)
    other, right = _parts(b, not p.transpose_b)
    if inner != other and -1 not in (inner, other):
        raise ShapeError(f"rhs has shape {b}, expected {inner} along its contracted axis from "
                         f"lhs {a}, {_flags(p)}")
    return ins, [merge(outs[0], left + right or (1,), "output shapes")]


def _flags(p: DotParams) -> str:
    return f"transpose_a={p.transpose_a}, transpose_b={p.transpose_b}"


def sizes(p: DotParams, a: Shape, b: Shape) -> tuple[int, int, int]:
    """(m, k, n): dot is the product of an m x k and a k x n matrix."""
    k, left = _parts(a, p.transpose_a)
    return prod(left), k, prod(_parts(b, not p.transpose_b)[1])


def matrix(x: AnyArray, rows: int, columns: int, turned: bool) -> AnyArray:
    return x.reshape(columns, rows).T if turned else x.reshape(rows, columns)


@uses_blas
def _product(a: AnyArray, b: AnyArray) -> AnyArray:
    """The matrix product in a's dtype; halves are summed as floats."""
    if is_integer(a.dtype):
        return convert(np.matmul(a, b), a.dtype)
    return convert(np.matmul(wide(a), wide(b)), a.dtype)


def compute_dot(ctx: OpContext, p: DotParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
    a, b = ins
    m, k, n = sizes(p, a.shape, b.shape)
    y = _product(matrix(a, m, k, p.transpose_a), matrix(b, k, n, p.transpose_b))
    outs[0].write(y.reshape(outs[0].shape))


def refuses(p: DotParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def seen_as(array: NDArray, rows: int, columns: int, turned: bool, batch: Shape = ()) -> MemDesc:
    """An array as (batches of) a rows x columns matrix, of which it may hold the transpose."""
    dims = (*batch, rows, columns)
    if not turned:
        return default_desc(array.dtype, dims)
    outer = (rows * columns,) if batch else ()
    return strided_desc(array.dtype, dims, (*outer, 1, rows))


def _multiply(ctx: OpContext, a: NDArray, a_seen: MemDesc, b: NDArray, b_seen: MemDesc,
              out: Output, y_seen: MemDesc, y_own: MemDesc) -> None:
    """out = a b. `y_own` is the output's layout, `y_seen` how the product sees it."""
    if not out.requested:
        return
    prim = ctx.primitive(("matmul", a_seen.id, b_seen.id, y_seen.id), lambda: make_primitive(
        Kind.MATMUL, src=a_seen, weights=b_seen, dst=y_seen))
    src = get_default(a, ctx.stream).as_desc(a_seen)
    weights = get_default(b, ctx.stream).as_desc(b_seen)
    with out.open(y_own, ctx.stream) as y:
        ctx.run(prim, ((Arg.SRC, src), (Arg.WEIGHTS, weights), (Arg.DST, y.as_desc(y_seen))))


def compute_ex_dot(ctx: OpContext, p: DotParams, ins: list[NDArray], outs: list[Output]) -> None:
    a, b = ins
    m, k, n = sizes(p, a.shape, b.shape)
    _multiply(ctx, a, seen_as(a, m, k, p.transpose_a), b, seen_as(b, k, n, p.transpose_b), outs[0],
              default_desc(a.dtype, (m, n)), default_desc(a.dtype, outs[0].shape))


def gradient_dot(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_dot", node.params, out_grads[0], *node.inputs)


def gradient_dot_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return product_gradient("dot", emit, node, out_grads)


def infer_shape_dot_backward(p: DotParams, ins: ShapeList, outs: ShapeList,
                             ) -> tuple[ShapeList, ShapeList]:
    grads = [merge(outs[i], ins[i + 1], "gradient and input shapes") for i in (0, 1)]
    _, (whole,) = infer_shape_dot(p, grads, [ins[0]])
    return [whole, *grads], grads


def compute_dot_backward(ctx: OpContext, p: DotParams, ins: list[AnyArray],
                         outs: list[NumpyOutput]) -> None:
    dy, a, b = ins
    m, k, n = sizes(p, a.shape, b.shape)
    grad = dy.reshape(m, n)
    if outs[0].requested:
        da = _product(grad, matrix(b, k, n, p.transpose_b).T)
        outs[0].write((da.T if p.transpose_a else da).reshape(a.shape))
    if outs[1].requested:
        db = _product(matrix(a, m, k, p.transpose_a).T, grad)
        outs[1].write((db.T if p.transpose_b else db).reshape(b.shape))


def compute_ex_dot_backward(ctx: OpContext, p: DotParams, ins: list[NDArray],
                            outs: list[Output]) -> None:
    dy, a, b = ins
    m, k, n = sizes(p, a.shape, b.shape)
    # da = dy b^T and db = a^T dy, or their transposes where the operand is held as one
    if p.transpose_a:
        _multiply(ctx, b, seen_as(b, k, n, p.transpose_b), dy, seen_as(dy, n, m, True), outs[0],
                  default_desc(a.dtype, (k, m)), default_desc(a.dtype, a.shape))
    else:
        _multiply(ctx, dy, seen_as(dy, m, n, False), b, seen_as(b, n, k, not p.transpose_b),
                  outs[0], default_desc(a.dtype, (m, k)), default_desc(a.dtype, a.shape))
    if p.transpose_b:
        _multiply(ctx, dy, seen_as(dy, n, m, True), a, seen_as(a, m, k, p.transpose_a), outs[1],
                  default_desc(b.dtype, (n, k)), default_desc(b.dtype, b.shape))
    else:
        _multiply(ctx, a, seen_as(a, k, m, not p.transpose_a), dy, seen_as(dy, m, n, False),
                  outs[1], default_desc(b.dtype, (k, n)), default_desc(b.dtype, b.shape))


# ---- batch_dot ----------------------------------------------------------------------------------


def infer_shape_batch(p: DotParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    a, b = ins
    if a is None or b is None:
        return ins, outs
    if len(a) != len(b) or len(a) < 3:
        raise ShapeError(f"lhs has shape {a} and rhs {b}, expected one rank of at least 3")
    try:
        batch = merge(a[:-2], b[:-2])
        (m, k), (n, other) = _turned(a, p.transpose_a), _turned(b, not p.transpose_b)
        merge_dim(k, other)
    except ShapeError:
        raise ShapeError(f"rhs has shape {b}, expected one that fits lhs {a}, {_flags(p)}"
                         ) from None
    if k == -1 or other == -1:
        # nothing is said before both contracted axes are known, as in MXNet
        return ins, outs
    return ins, [merge(outs[0], (*(batch or ()), m, n), "output shapes")]


def _turned(shape: Shape, turned: bool) -> tuple[int, int]:
    """(the axis that stays, the contracted one)."""
    return (shape[-1], shape[-2]) if turned else (shape[-2], shape[-1])


def _swapped(x: AnyArray, turned: bool) -> AnyArray:
    return np.swapaxes(x, -1, -2) if turned else x


def compute_batch(ctx: OpContext, p: DotParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    outs[0].write(_product(_swapped(ins[0], p.transpose_a), _swapped(ins[1], p.transpose_b)))


def compute_ex_batch(ctx: OpContext, p: DotParams, ins: list[NDArray],
                     outs: list[Output]) -> None:
    a, b = ins
    (m, k), (n, _) = _turned(a.shape, p.transpose_a), _turned(b.shape, not p.transpose_b)
    batch = (prod(a.shape[:-2]),)
    _multiply(ctx, a, seen_as(a, m, k, p.transpose_a, batch), b,
              seen_as(b, k, n, p.transpose_b, batch), outs[0],
              default_desc(a.dtype, (*batch, m, n)), default_desc(a.dtype, outs[0].shape))


def gradient_batch(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    dy, (a, b) = out_grads[0], node.inputs
    ta, tb = node.params.transpose_a, node.params.transpose_b

    def product(x: Any, y: Any, turn_x: bool, turn_y: bool) -> Any:
        return emit("batch_dot", {"transpose_a": turn_x, "transpose_b": turn_y}, x, y)[0]
    da = product(b, dy, tb, True) if ta else product(dy, b, False, not tb)
    db = product(dy, a, True, ta) if tb else product(a, dy, not ta, False)
    return [da, db]


def flops_dot(p: DotParams, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions."""
    return 2 * prod(outs[0]) * (ins[0][0] if p.transpose_a else ins[0][-1])


def flops_batch(p: Any, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions."""
    return 2 * prod(outs[0]) * (ins[0][-2] if p.transpose_a else ins[0][-1])


def _takes_operand(p: DotParams, out: Shape, shape: Shape) -> bool:
    return len(out) == 2 and (shape == out or all(dim == 1 for dim in shape[:-1]))


def _takes_operand_batch(p: Any, out: Shape, shape: Shape) -> bool:
    """Of attention's products, too, which may join heads."""
    if len(out) != 3 or getattr(p, "join", False):
        return False
    column = shape[0] == out[0] and shape[1] == 1 and shape[2] == out[2]
    is_row = all(dim == 1 for dim in shape[:-1])
    return shape == out or is_row or (column and not getattr(p, "heads", 0))


EPILOGUE_DOT = Epilogue("_fused_dot", operand=_takes_operand)
EPILOGUE_BATCH = Epilogue("_fused_batch_dot", operand=_takes_operand_batch)

register(OpDef("dot", DotParams, inputs=("lhs", "rhs"), infer_shape=infer_shape_dot,
               infer_type=same_type, compute=compute_dot, compute_ex=compute_ex_dot,
               refuses=refuses, gradient=gradient_dot, epilogue=EPILOGUE_DOT, flops=flops_dot,
               doc="Contracts the last axis of lhs (the first with transpose_a) with the first of "
                   "rhs (the last with transpose_b).\n\nThe output has the other axes of lhs, then "
                   "those of rhs; of two vectors it is (1,). One dtype. Source: MXNet's dot; "
                   "oneDNN matmul."))
register(OpDef("_backward_dot", DotParams, inputs=("out_grad", "lhs", "rhs"),
               outputs=("lhs_grad", "rhs_grad"), infer_shape=infer_shape_dot_backward,
               infer_type=same_type, compute=compute_dot_backward,
               compute_ex=compute_ex_dot_backward, refuses=refuses,
               gradient=gradient_dot_backward, is_backward=True, flops=flops_dot,
               doc="Both gradients of dot."))
register(OpDef("batch_dot", DotParams, inputs=("lhs", "rhs"), infer_shape=infer_shape_batch,
               infer_type=same_type, compute=compute_batch, compute_ex=compute_ex_batch,
               refuses=refuses, gradient=gradient_batch, epilogue=EPILOGUE_BATCH, flops=flops_batch,
               doc="Matrix products over the last two axes, for each place in the leading ones.\n\n"
                   "Leading axes agree; transpose_a and transpose_b turn the last two round. One "
                   "dtype. Source: MXNet's batch_dot; oneDNN matmul."))

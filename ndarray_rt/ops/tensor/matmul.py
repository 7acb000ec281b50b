"""dot and batch_dot: matrix products, and what is done to them, in one primitive.

Those of attention read and write arrays in which the heads of a place lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...op.epilogue import Epilogue
from ...op.infer import ShapeList, merge, merge_dim, same_type
from ...op.params import Params, boolean, integer, optional_choice, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc, strided_desc
from ...storage.primitive import Arg, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from ..blocked_gemm import UNBOUNDED, is_blocked, multiply, need_product
from ..fused.params import PostOpParams, with_post_ops
from ..fused.post_ops import apply_chain, chain_bounds, chain_of_params, num_operands, post_specs
from ..fused.run import choose, run
from ..products import product
from ..terms import product_gradient
from .numeric import convert, is_integer, wide
from .places import can_add


class Heads(NamedTuple):
    """Heads of attention, and which arrays hold those of a place side by side."""

    number: int = 0
    split_a: bool = False
    split_b: bool = False
    join: bool = False


@params_class
class DotParams(Params):
    transpose_a: bool = boolean(False, doc="the first operand is turned round")
    transpose_b: bool = boolean(False, doc="the second operand is turned round")
    forward_stype: str | None = optional_choice("default", doc="storage type: dense")

    def attention(self) -> Heads:
        return Heads()


@params_class
class FusedDotParams(DotParams, PostOpParams):
    """The product's parameters and the post-ops."""


@params_class
class FusedBatchDotParams(DotParams, PostOpParams):
    """The product's parameters, the post-ops, and which arrays hold heads side by side."""

    heads: int = integer(0, low=0, doc="heads of attention; 0: no array is split")
    split_a: bool = boolean(False, doc="lhs is (B, T, heads * D) and stands for (B * heads, T, D)")
    split_b: bool = boolean(False, doc="rhs is split as well")
    join: bool = boolean(False, doc="the output is (B, T, heads * D) in place of (B * heads, T, D)")

    def attention(self) -> Heads:
        return Heads(self.heads, self.split_a, self.split_b, self.join)


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


def _sizes(p: DotParams, a: Shape, b: Shape) -> tuple[int, int, int]:
    """(m, k, n): dot is the product of an m x k and a k x n matrix."""
    k, left = _parts(a, p.transpose_a)
    return prod(left), k, prod(_parts(b, not p.transpose_b)[1])


def _matrix(x: AnyArray, rows: int, columns: int, turned: bool) -> AnyArray:
    return x.reshape(columns, rows).T if turned else x.reshape(rows, columns)


def _product(a: AnyArray, b: AnyArray, out: NumpyOutput | None = None) -> AnyArray:
    """The matrix product, in the room of `out` where it has some; halves are summed as floats."""
    return product(a, b, out) if is_integer(a.dtype) else product(wide(a), wide(b), out)


def _finished(p: DotParams, y: AnyArray, ins: list[AnyArray]) -> AnyArray:
    """What is done to a product of the inputs, in their dtype."""
    made = apply_chain(chain_of_params(p), y, [wide(operand) for operand in ins[2:]])
    return convert(made, ins[0].dtype)


def compute_dot(ctx: OpContext, p: DotParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
    a, b = ins[:2]
    m, k, n = _sizes(p, a.shape, b.shape)
    y = _product(_matrix(a, m, k, p.transpose_a), _matrix(b, k, n, p.transpose_b),
                 None if chain_of_params(p) else outs[0])
    outs[0].write(_finished(p, y.reshape(outs[0].shape), ins))


def refuses_dot(p: DotParams, ins: list[NDArray]) -> str | None:
    if len(ins) > 2 and not ins[0].ndim == ins[1].ndim == 2:
        return "operands of a result that is no matrix"
    return need_product(chain_of_params(p), *ins)


def _seen_as(array: NDArray, rows: int, columns: int, turned: bool, batch: Shape = ()) -> MemDesc:
    """An array as (batches of) a rows x columns matrix, of which it may hold the transpose."""
    dims = (*batch, rows, columns)
    if not turned:
        return default_desc(array.dtype, dims)
    outer = (rows * columns,) if batch else ()
    return strided_desc(array.dtype, dims, (*outer, 1, rows))


def _multiply(ctx: OpContext, a: NDArray, a_seen: MemDesc, b: NDArray, b_seen: MemDesc,
              out: Output, y_seen: MemDesc, chain: Chain = (), operands: Sequence[NDArray] = (),
              shapes: Sequence[Shape] = ()) -> None:
    """out = what the chain makes of a b, with operands that the product sees in these shapes.

    `a_seen`, `b_seen` and `y_seen` are how the product sees the arrays.
    """
    if not out.requested:
        return
    own = default_desc(a.dtype, out.shape)
    if is_blocked(a.dtype):
        can_add(out)
        x, y = get_default(a, ctx.stream), get_default(b, ctx.stream)
        with out.open(own, ctx.stream) as made:
            multiply(ctx, a.dtype, x.as_desc(a_seen), y.as_desc(b_seen), made.as_desc(y_seen),
                     bounds=chain_bounds(chain) or UNBOUNDED)
        return

    def build(in_place: bool) -> Primitive:
        return make_primitive(Kind.MATMUL, src=a_seen, weights=b_seen, dst=y_seen,
                              post_ops=post_specs(chain, y_seen, a.dtype, shapes, in_place))
    fused = choose(ctx, ("matmul", chain, a_seen.id, b_seen.id, y_seen.id, *shapes), build, chain,
                   operands, out, own)
    args: tuple[tuple[int, Mem], ...] = (
        (Arg.SRC, get_default(a, ctx.stream).as_desc(a_seen)),
        (Arg.WEIGHTS, get_default(b, ctx.stream).as_desc(b_seen)))
    run(ctx, fused, chain, operands, out, args, own)


def compute_ex_dot(ctx: OpContext, p: DotParams, ins: list[NDArray], outs: list[Output]) -> None:
    a, b, *operands = ins
    m, k, n = _sizes(p, a.shape, b.shape)
    _multiply(ctx, a, _seen_as(a, m, k, p.transpose_a), b, _seen_as(b, k, n, p.transpose_b),
              outs[0], default_desc(a.dtype, (m, n)), chain_of_params(p), operands,
              [operand.shape for operand in operands])


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
    m, k, n = _sizes(p, a.shape, b.shape)
    grad = dy.reshape(m, n)
    if outs[0].requested:
        da = convert(_product(grad, _matrix(b, k, n, p.transpose_b).T), a.dtype)
        outs[0].write((da.T if p.transpose_a else da).reshape(a.shape))
    if outs[1].requested:
        db = convert(_product(_matrix(a, m, k, p.transpose_a).T, grad), b.dtype)
        outs[1].write((db.T if p.transpose_b else db).reshape(b.shape))


def refuses_dot_backward(p: DotParams, ins: list[NDArray]) -> str | None:
    return need_product((), *ins)


def compute_ex_dot_backward(ctx: OpContext, p: DotParams, ins: list[NDArray],
                            outs: list[Output]) -> None:
    dy, a, b = ins
    m, k, n = _sizes(p, a.shape, b.shape)
    # da = dy b^T and db = a^T dy, or their transposes where the operand is held as one
    if p.transpose_a:
        _multiply(ctx, b, _seen_as(b, k, n, p.transpose_b), dy, _seen_as(dy, n, m, True), outs[0],
                  default_desc(a.dtype, (k, m)))
    else:
        _multiply(ctx, dy, _seen_as(dy, m, n, False), b, _seen_as(b, n, k, not p.transpose_b),
                  outs[0], default_desc(a.dtype, (m, k)))
    if p.transpose_b:
        _multiply(ctx, dy, _seen_as(dy, n, m, True), a, _seen_as(a, m, k, p.transpose_a), outs[1],
                  default_desc(b.dtype, (n, k)))
    else:
        _multiply(ctx, a, _seen_as(a, k, m, not p.transpose_a), dy, _seen_as(dy, m, n, False),
                  outs[1], default_desc(b.dtype, (k, n)))


# ---- batch_dot ----------------------------------------------------------------------------------


def _apart(heads: int, shape: Shape | None, what: str) -> Shape | None:
    """(B, T, heads * D) as (B * heads, T, D)."""
    if shape is None:
        return None
    if len(shape) != 3 or (shape[2] != -1 and shape[2] % heads):
        raise ShapeError(f"{what} has shape {shape}, expected (batch, rows, a multiple of heads="
                         f"{heads})")
    batch, rows, columns = shape
    return (batch * heads if batch != -1 else -1, rows, columns // heads if columns != -1 else -1)


def _together(heads: int, shape: Shape) -> Shape:
    """The other way round."""
    if shape[0] % heads and shape[0] != -1:
        raise ShapeError(f"{shape[0]} products are no multiple of heads={heads}")
    return (shape[0] // heads if shape[0] != -1 else -1, shape[1],
            shape[2] * heads if shape[2] != -1 else -1)


def infer_shape_batch(p: DotParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    heads, split_a, split_b, join = p.attention()
    if not heads and (split_a or split_b or join):
        raise ShapeError("heads=0, expected a number of heads with split_a, split_b or join")
    if join and num_operands(chain_of_params(p)):
        raise ShapeError("join, expected a chain without operands")
    a = _apart(heads, ins[0], "lhs") if split_a else ins[0]
    b = _apart(heads, ins[1], "rhs") if split_b else ins[1]
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
    out = (*(batch or ()), m, n)
    return ins, [merge(outs[0], _together(heads, out) if join else out, "output shapes")]


def _turned(shape: Shape, turned: bool) -> tuple[int, int]:
    """(the axis that stays, the contracted one)."""
    return (shape[-1], shape[-2]) if turned else (shape[-2], shape[-1])


def _swapped(x: AnyArray, turned: bool) -> AnyArray:
    return np.swapaxes(x, -1, -2) if turned else x


def _split(x: AnyArray, heads: int) -> AnyArray:
    batch, rows, columns = x.shape
    split = x.reshape(batch, rows, heads, columns // heads).transpose(0, 2, 1, 3)
    made: AnyArray = split.reshape(batch * heads, rows, columns // heads)
    return made


def compute_batch(ctx: OpContext, p: DotParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    heads, split_a, split_b, join = p.attention()
    a = _split(ins[0], heads) if split_a else ins[0]
    b = _split(ins[1], heads) if split_b else ins[1]
    y = _product(_swapped(a, p.transpose_a), _swapped(b, p.transpose_b),
                 None if join or chain_of_params(p) else outs[0])
    y = _finished(p, y, ins)
    if join:
        count, rows, columns = y.shape
        y = y.reshape(count // heads, heads, rows, columns).transpose(0, 2, 1, 3)
    outs[0].write(y.reshape(outs[0].shape))


def _batch_seen(heads: int, array: NDArray, split: bool, turned: bool) -> MemDesc:
    """An operand as (batch, rows, columns), or with heads as (batch, heads, rows, columns)."""
    *lead, rows, columns = array.shape
    if not heads:
        m, k = _turned(array.shape, turned)
        return _seen_as(array, m, k, turned, (prod(lead),))
    size = columns // heads if split else columns
    batch = lead[0] if split else lead[0] // heads
    dims: Shape = (batch, heads, rows, size)
    strides: Shape = ((rows * columns, size, columns, 1) if split
                      else (heads * rows * size, rows * size, size, 1))
    if turned:
        dims = (batch, heads, size, rows)
        strides = (*strides[:2], strides[3], strides[2])
    return strided_desc(array.dtype, dims, strides)


def refuses_batch(p: DotParams, ins: list[NDArray]) -> str | None:
    if len(ins) > 2 and ins[0].ndim > 3:
        return "operands of products over several leading axes"
    return need_product(chain_of_params(p), *ins)


def compute_ex_batch(ctx: OpContext, p: DotParams, ins: list[NDArray],
                     outs: list[Output]) -> None:
    a, b, *operands = ins
    heads, split_a, split_b, join = p.attention()
    a_seen = _batch_seen(heads, a, split_a, p.transpose_a)
    b_seen = _batch_seen(heads, b, split_b, p.transpose_b)
    dims = (*a_seen.dims[:-1], b_seen.dims[-1])
    y_seen = default_desc(a.dtype, dims)
    if join:
        rows, columns = dims[-2:]
        y_seen = strided_desc(a.dtype, dims,
                              (rows * heads * columns, columns, heads * columns, 1))
    shapes = [_operand_dims(heads, operand.shape, dims) for operand in operands]
    _multiply(ctx, a, a_seen, b, b_seen, outs[0], y_seen, chain_of_params(p), operands, shapes)


def _operand_dims(heads: int, shape: Shape, dims: Shape) -> Shape:
    """An operand's dims where the result has an axis for heads."""
    return (*((1, 1) if shape[0] == 1 else dims[:2]), *shape[1:]) if heads else shape


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


def flops_batch(p: DotParams, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions; with heads, the lengths of all lie side by side."""
    made = 2 * prod(outs[0]) * (ins[0][-2] if p.transpose_a else ins[0][-1])
    heads = p.attention()
    return made // (heads.number if heads.split_a and not p.transpose_a else 1)


def _takes_operand(p: DotParams, out: Shape, shape: Shape) -> bool:
    return len(out) == 2 and (shape == out or all(dim == 1 for dim in shape[:-1]))


def _takes_operand_batch(p: DotParams, out: Shape, shape: Shape) -> bool:
    """Of attention's products, too, which may join heads."""
    heads = p.attention()
    if len(out) != 3 or heads.join:
        return False
    column = shape[0] == out[0] and shape[1] == 1 and shape[2] == out[2]
    is_row = all(dim == 1 for dim in shape[:-1])
    return shape == out or is_row or (column and not heads.number)


DOT = register(OpDef(
    "dot", DotParams, inputs=("lhs", "rhs"), infer_shape=infer_shape_dot, infer_type=same_type,
    compute=compute_dot, compute_ex=compute_ex_dot, refuses=refuses_dot, gradient=gradient_dot,
    epilogue=Epilogue("_fused_dot", operand=_takes_operand), flops=flops_dot,
    doc="Contracts the last axis of lhs (the first with transpose_a) with the first of "
        "rhs (the last with transpose_b).\n\nThe output has the other axes of lhs, then "
        "those of rhs; of two vectors it is (1,). One dtype. Source: MXNet's dot; "
        "oneDNN matmul."))
register(with_post_ops(
    DOT, FusedDotParams,
    "dot, and what is done to its result.\n\n"
    "lhs and rhs as in dot, then one operand for each binary post-op: of the result's shape, or "
    "broadcast to it. Made by passes. Source: oneDNN matmul with post-ops."))
register(OpDef("_backward_dot", DotParams, inputs=("out_grad", "lhs", "rhs"),
               outputs=("lhs_grad", "rhs_grad"), infer_shape=infer_shape_dot_backward,
               infer_type=same_type, compute=compute_dot_backward,
               compute_ex=compute_ex_dot_backward, refuses=refuses_dot_backward,
               gradient=gradient_dot_backward, is_backward=True, flops=flops_dot,
               doc="Both gradients of dot."))
BATCH_DOT = register(OpDef(
    "batch_dot", DotParams, inputs=("lhs", "rhs"), infer_shape=infer_shape_batch,
    infer_type=same_type, compute=compute_batch, compute_ex=compute_ex_batch,
    refuses=refuses_batch, gradient=gradient_batch,
    epilogue=Epilogue("_fused_batch_dot", operand=_takes_operand_batch), flops=flops_batch,
    doc="Matrix products over the last two axes, for each place in the leading ones.\n\n"
        "Leading axes agree; transpose_a and transpose_b turn the last two round. One "
        "dtype. Source: MXNet's batch_dot; oneDNN matmul."))
register(with_post_ops(
    BATCH_DOT, FusedBatchDotParams,
    "batch_dot, and what is done to its result.\n\n"
    "lhs and rhs as in batch_dot, or (B, T, heads * D) in place of (B * heads, T, D) as split_a, "
    "split_b and join say; then one operand for each binary post-op, which broadcasts to "
    "(B * heads, M, N). Made by passes. Source: Vaswani et al. 2017; oneDNN matmul over strided "
    "arrays."))

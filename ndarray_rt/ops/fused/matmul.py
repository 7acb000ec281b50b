"""_fused_dot and _fused_batch_dot: matrix products, and what is done to them, in one primitive.

Those of attention read and write arrays in which the heads of a place lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...op.infer import ShapeList, merge
from ...op.params import boolean, integer, params_class
from ...op.registry import OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc, strided_desc
from ...storage.primitive import Arg, Kind, Primitive, make_primitive
from ..blas import uses_blas
from ..floats import same_float_type, wide
from ..tensor import matmul as plain
from .params import PostOpParams
from .post_ops import apply_chain, infer_operands, operand_names, post_specs
from .run import chain_adds_first, choose, run

Dims = tuple[int, ...]


@params_class
class FusedDotParams(plain.DotParams, PostOpParams):
    """The product's parameters and the post-ops."""


@params_class
class FusedBatchDotParams(plain.DotParams, PostOpParams):
    """The product's parameters, the post-ops, and which arrays hold heads side by side."""

    heads: int = integer(0, low=0, doc="heads of attention; 0: no array is split")
    split_a: bool = boolean(False, doc="lhs is (B, T, heads * D) and stands for (B * heads, T, D)")
    split_b: bool = boolean(False, doc="rhs is split as well")
    join: bool = boolean(False, doc="the output is (B, T, heads * D) in place of (B * heads, T, D)")


def input_names(p: PostOpParams) -> tuple[str, ...]:
    return ("lhs", "rhs", *operand_names(p.chain))


def inplace(p: PostOpParams) -> dict[int, int]:
    """The result may replace the first operand, where that is added before all else."""
    return {0: 2} if chain_adds_first(p.chain) and not getattr(p, "join", False) else {}


# ---- dot ----------------------------------------------------------------------------------------


def infer_shape_dot(p: FusedDotParams, ins: ShapeList, outs: ShapeList,
                    ) -> tuple[ShapeList, ShapeList]:
    made, outs = plain.infer_shape_dot(p, ins[:2], outs)
    operands, out = infer_operands(p.chain, ins[2:], outs[0])
    return [*made, *operands], [out]


@uses_blas
def compute_dot(ctx: OpContext, p: FusedDotParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
    a, b, *operands = (wide(value) for value in ins)
    m, k, n = plain.sizes(p, a.shape, b.shape)
    y = plain.matrix(a, m, k, p.transpose_a) @ plain.matrix(b, k, n, p.transpose_b)
    made = apply_chain(p.chain, y.reshape(outs[0].shape), operands)
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def refuses_dot(p: FusedDotParams, ins: list[NDArray]) -> str | None:
    if len(ins) > 2 and not ins[0].ndim == ins[1].ndim == 2:
        return "operands of a result that is no matrix"
    return plain.refuses(p, ins)


def compute_ex_dot(ctx: OpContext, p: FusedDotParams, ins: list[NDArray],
                   outs: list[Output]) -> None:
    a, b = ins[:2]
    m, k, n = plain.sizes(p, a.shape, b.shape)
    seen = [plain.seen_as(a, m, k, p.transpose_a), plain.seen_as(b, k, n, p.transpose_b),
            default_desc(a.dtype, (m, n))]
    _multiply(ctx, p, ins, outs[0], seen, [operand.shape for operand in ins[2:]])


# ---- batch_dot ----------------------------------------------------------------------------------


def _apart(p: FusedBatchDotParams, shape: Shape | None, what: str) -> Shape | None:
    """(B, T, heads * D) as (B * heads, T, D)."""
    if shape is None:
        return None
    if len(shape) != 3 or (shape[2] != -1 and shape[2] % p.heads):
        raise ShapeError(f"{what} has shape {shape}, expected (batch, rows, a multiple of heads="
                         f"{p.heads})")
    batch, rows, columns = shape
    return (batch * p.heads if batch != -1 else -1, rows,
            columns // p.heads if columns != -1 else -1)


def _together(p: FusedBatchDotParams, shape: Shape | None) -> Shape | None:
    """The other way round."""
    if shape is None:
        return None
    if shape[0] % p.heads and shape[0] != -1:
        raise ShapeError(f"{shape[0]} products are no multiple of heads={p.heads}")
    return (shape[0] // p.heads if shape[0] != -1 else -1, shape[1],
            shape[2] * p.heads if shape[2] != -1 else -1)


def infer_shape_batch(p: FusedBatchDotParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    if not p.heads and (p.split_a or p.split_b or p.join):
        raise ShapeError("heads=0, expected a number of heads with split_a, split_b or join")
    a = _apart(p, ins[0], "lhs") if p.split_a else ins[0]
    b = _apart(p, ins[1], "rhs") if p.split_b else ins[1]
    _, made = plain.infer_shape_batch(p, [a, b], [None])
    operands, product = infer_operands(p.chain, ins[2:], made[0])
    out = _together(p, product) if p.join else product
    return [*ins[:2], *operands], [merge(outs[0], out, "output shapes")]


def _split(p: FusedBatchDotParams, x: AnyArray) -> AnyArray:
    batch, rows, columns = x.shape
    split = x.reshape(batch, rows, p.heads, columns // p.heads).transpose(0, 2, 1, 3)
    made: AnyArray = split.reshape(batch * p.heads, rows, columns // p.heads)
    return made


@uses_blas
def compute_batch(ctx: OpContext, p: FusedBatchDotParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    a, b, *operands = (wide(value) for value in ins)
    a = _split(p, a) if p.split_a else a
    b = _split(p, b) if p.split_b else b
    y = np.matmul(np.swapaxes(a, -1, -2) if p.transpose_a else a,
                  np.swapaxes(b, -1, -2) if p.transpose_b else b)
    y = apply_chain(p.chain, y, operands).astype(ins[0].dtype, copy=False)
    if p.join:
        count, rows, columns = y.shape
        y = y.reshape(count // p.heads, p.heads, rows, columns).transpose(0, 2, 1, 3)
    outs[0].write(y.reshape(outs[0].shape))


def _seen(p: FusedBatchDotParams, array: NDArray, split: bool, turned: bool) -> MemDesc:
    """An operand as (batch, rows, columns), or with heads as (batch, heads, rows, columns)."""
    shape = array.shape
    if split:
        batch, rows, columns = shape
        size = columns // p.heads
        dims: Dims = (batch, p.heads, rows, size)
        strides: Dims = (rows * columns, size, columns, 1)
    else:
        rows, size = shape[-2:]
        lead = (shape[0] // p.heads, p.heads) if p.heads else (prod(shape[:-2]),)
        dims = (*lead, rows, size)
        strides = tuple(prod(dims[axis + 1:]) for axis in range(len(dims)))
    if turned:
        dims = (*dims[:-2], dims[-1], dims[-2])
        strides = (*strides[:-2], strides[-1], strides[-2])
    return strided_desc(array.dtype, dims, strides)


def refuses_batch(p: FusedBatchDotParams, ins: list[NDArray]) -> str | None:
    if len(ins) > 2 and ins[0].ndim > 3:
        return "operands of products over several leading axes"
    return plain.refuses(p, ins)


def compute_ex_batch(ctx: OpContext, p: FusedBatchDotParams, ins: list[NDArray],
                     outs: list[Output]) -> None:
    a = _seen(p, ins[0], p.split_a, p.transpose_a)
    b = _seen(p, ins[1], p.split_b, p.transpose_b)
    dims = (*a.dims[:-1], b.dims[-1])
    if p.join:
        _, heads, rows, columns = dims
        dst = strided_desc(ins[0].dtype, dims,
                           (rows * heads * columns, columns, heads * columns, 1))
    else:
        dst = default_desc(ins[0].dtype, dims)
    shapes = [_operand_dims(p, operand.shape, dims) for operand in ins[2:]]
    _multiply(ctx, p, ins, outs[0], [a, b, dst], shapes)


def _operand_dims(p: FusedBatchDotParams, shape: Shape, dims: Dims) -> Dims:
    """An operand's dims where the result has an axis for heads."""
    if not p.heads:
        return shape
    return (*((1, 1) if shape[0] == 1 else dims[:2]), *shape[1:])


# ---- both ---------------------------------------------------------------------------------------


def _multiply(ctx: OpContext, p: PostOpParams, ins: list[NDArray], out: Output,
              seen: list[MemDesc], shapes: list[Dims]) -> None:
    """out = the chain of lhs rhs; `seen` are the layouts of lhs, rhs and the product."""
    if not out.requested:
        return
    a, b, *operands = ins
    src, weights, dst = seen
    chain: Chain = p.chain
    own = default_desc(a.dtype, out.shape)

    def build(in_place: bool) -> Primitive:
        return make_primitive(Kind.MATMUL, src=src, weights=weights, dst=dst,
                              post_ops=post_specs(chain, dst, a.dtype, shapes, in_place))
    sign = ("matmul.fused", p.post_ops, src.id, weights.id, dst.id, *shapes)
    fused = choose(ctx, sign, build, chain, operands, out, own)
    args: list[tuple[int, Any]] = [(Arg.SRC, get_default(a, ctx.stream).as_desc(src)),
                                   (Arg.WEIGHTS, get_default(b, ctx.stream).as_desc(weights))]
    run(ctx, fused, chain, operands, out, args, own)


def flops_batch(p: FusedBatchDotParams, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions; with heads, the lengths of all lie side by side."""
    return plain.flops_batch(p, ins, outs) // (p.heads if p.split_a and not p.transpose_a else 1)


register(OpDef("_fused_dot", FusedDotParams, inputs=input_names, infer_shape=infer_shape_dot,
               infer_type=same_float_type, compute=compute_dot, compute_ex=compute_ex_dot,
               refuses=refuses_dot, inplace=inplace, is_fused=True,
               no_gradient="it is for inference",
               epilogue=plain.EPILOGUE_DOT, flops=plain.flops_dot,
               doc="dot, and what is done to its result.\n\n"
                   "lhs and rhs as in dot, then one operand for each binary post-op: of the "
                   "result's shape, or broadcast to it. Made by passes. Source: oneDNN matmul "
                   "with post-ops."))
register(OpDef("_fused_batch_dot", FusedBatchDotParams, inputs=input_names,
               infer_shape=infer_shape_batch, infer_type=same_float_type, compute=compute_batch,
               compute_ex=compute_ex_batch, refuses=refuses_batch, inplace=inplace,
               is_fused=True, no_gradient="it is for inference",
               epilogue=plain.EPILOGUE_BATCH, flops=flops_batch,
               doc="batch_dot, and what is done to its result.\n\n"
                   "lhs and rhs as in batch_dot, or (B, T, heads * D) in place of "
                   "(B * heads, T, D) as split_a, split_b and join say; then one operand for "
                   "each binary post-op, which broadcasts to (B * heads, M, N). Made by passes. "
                   "Source: Vaswani et al. 2017; oneDNN matmul over strided arrays."))

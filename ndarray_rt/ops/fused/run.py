"""Running a primitive with post-ops: where its result goes decides how an operand is added."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from ..._array.layout import get_data_reorder
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ..._array.req import Req
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...op.registry import Shape
from ...storage.desc import MemDesc
from ...storage.primitive import Arg, Primitive
from ...storage.stream import Mem
from ..nn.packed_gemm import NativeEpilogue
from .post_ops import chain_bounds, operand_desc

Build = Callable[[bool], Primitive]


class Fused(NamedTuple):
    """A primitive with post-ops, and whether the first operand is what the destination holds."""

    prim: Primitive
    in_place: bool


def choose(ctx: OpContext, sign: tuple[Hashable, ...], build: Build, chain: Chain,
           operands: Sequence[NDArray], out: Output, dst: MemDesc | None = None) -> Fused:
    """The primitive for this call: one that adds to the destination where that holds an operand.

    `build(in_place)` makes it. `dst`: the output's own layout, where the primitive sees the same
    bytes with other dims.
    """
    if out.req == Req.kWriteInplace and operands and chain_adds_first(chain):
        prim = ctx.primitive((*sign, "in place"), lambda: build(True))
        if _holds(operands[0], out.array, _seen(prim, out, dst)):
            return Fused(prim, True)
    return Fused(ctx.primitive(sign, lambda: build(False)), False)


def _seen(prim: Primitive, out: Output, dst: MemDesc | None) -> MemDesc:
    """The layout of the output: the primitive's, unless that sees the bytes with other dims."""
    return prim.dst if dst is None or prim.dst.dims == out.shape else dst


def native_epilogue(chain: Chain, operands: Sequence[NDArray], out: Shape) -> NativeEpilogue | None:
    """What native kernels are to do, where they can do what the chain does, else None."""
    added = None
    if chain_adds_first(chain):
        added, chain, operands = operands[0], chain[1:], operands[1:]
        if added.shape != out:
            return None
    bounds = None if operands else chain_bounds(chain)
    return None if bounds is None else NativeEpilogue(*bounds, added)


def chain_adds_first(chain: Chain) -> bool:
    """An operand is added before all else: oneDNN has kernels for it lying in the destination."""
    return bool(chain) and chain[0].name == "add"


def _holds(operand: NDArray, target: NDArray, desc: MemDesc) -> bool:
    """The output's memory is the operand's, in the primitive's layout."""
    special = target._chunk.mkl_mem
    return (operand._chunk is target._chunk and operand._byte_offset == target._byte_offset
            and not target.is_view
            and (desc.is_default if special is None else special is desc))


def run(ctx: OpContext, fused: Fused, chain: Chain, operands: Sequence[NDArray], out: Output,
        args: Sequence[tuple[int, Mem]], dst: MemDesc | None = None) -> None:
    """Runs it: `args` without destination and operands. `dst`: the output's own layout, where the
    primitive sees the same bytes with other dims."""
    prim, stream = fused.prim, ctx.stream
    own = _seen(prim, out, dst)
    if fused.in_place:
        mem = get_data_reorder(operands[0], own, stream)
        operand_args = _operand_args(ctx, fused, chain, operands, own)
        ctx.run(prim, [*args, *operand_args, (Arg.DST, mem.as_desc(prim.dst))])
        return
    operand_args = _operand_args(ctx, fused, chain, operands, own)
    with out.open(own, stream) as mem:
        ctx.run(prim, [*args, *operand_args, (Arg.DST, mem.as_desc(prim.dst))])


def _operand_args(ctx: OpContext, fused: Fused, chain: Chain, operands: Sequence[NDArray],
                  own: MemDesc) -> list[tuple[int, Mem]]:
    made: list[tuple[int, Mem]] = []
    left = iter(operands)
    skip = fused.in_place
    for i, op in enumerate(chain):
        if not op.has_operand:
            continue
        operand = next(left)
        if skip:
            skip = False
            continue
        arg = Arg.POST_OP * (i + 1) + Arg.SRC_1
        mem = get_data_reorder(operand, operand_desc(operand.shape, own, operand.dtype),
                               ctx.stream)
        made.append((arg, mem if operand.shape != own.dims else mem.as_desc(fused.prim.dst)))
    return made

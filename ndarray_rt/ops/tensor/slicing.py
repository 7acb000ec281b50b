"""Parts of an array along one axis, as memory: what Concat, SliceChannel and their gradients share.

Registers no operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..._array.output import Output
from ...op.context import OpContext
from ...storage.desc import strided_desc
from ...storage.stream import Mem
from .pointwise import dense_like, dtype_of, move, shifted


def part(mem: Mem, axis: int, begin: int, length: int, squeeze: bool = False) -> Mem:
    """Elements [begin, begin + length) of an axis, in place; with `squeeze` without that axis.

    The memory has no blocks. A recorded step keeps the shifted pointer.
    """
    desc = mem.desc
    dims = (*desc.dims[:axis], length, *desc.dims[axis + 1:])
    strides = desc.strides
    if squeeze:
        dims = (*dims[:axis], *dims[axis + 1:])
        strides = (*strides[:axis], *strides[axis + 1:])
    seen = strided_desc(dtype_of(desc), dims, strides)
    return shifted(mem, begin * desc.strides[axis], seen)


def scatter(ctx: OpContext, mem: Mem, axis: int, lengths: Sequence[int], outs: Sequence[Output],
            squeeze: bool = False) -> None:
    """Gives each output its part of `mem` along an axis, in an axis order like mem's."""
    begin = 0
    for length, out in zip(lengths, outs, strict=True):
        if out.requested:
            source = part(mem, axis, begin, length, squeeze)
            layout = None if squeeze else dense_like(mem.desc, source.desc.dims)
            move(ctx, source, out, layout)
        begin += length

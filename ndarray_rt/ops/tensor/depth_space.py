"""depth_to_space and space_to_depth: channels as blocks of pixels, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, need_rank, same_type
from ...op.params import Params, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from .linear import rearranged, row_strides
from .pointwise import need_native


@params_class
class BlockParams(Params):
    block_size: int = integer(low=1, doc="edge of a block in pixels")


def _deep(p: BlockParams, shape: Shape) -> Shape:
    """(n, channels, height, width) when blocks become channels; -1 stays."""
    n, c, h, w = shape
    b = p.block_size
    for length in (h, w):
        if length != -1 and length % b:
            raise ShapeError(f"height and width of {shape} are no multiples of block_size={b}")
    return (n, -1 if c == -1 else c * b * b, -1 if h == -1 else h // b, -1 if w == -1 else w // b)


def _wide(p: BlockParams, shape: Shape) -> Shape:
    """The same when channels become blocks."""
    n, c, h, w = shape
    b = p.block_size
    if c != -1 and c % (b * b):
        raise ShapeError(f"the channels of {shape} are no multiple of block_size**2={b * b}")
    return n, -1 if c == -1 else c // (b * b), -1 if h == -1 else h * b, -1 if w == -1 else w * b


def infer_shape(to_space: bool, p: BlockParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    need_rank(data, (4,), "data")
    need_rank(out, (4,), "the output")
    if data is not None and 0 in data:
        raise ShapeError(f"data has shape {data}, expected no axis of length 0")
    if data is not None:
        out = merge(out, (_wide if to_space else _deep)(p, data), "output shapes")
    if out is not None:
        data = merge(data, (_deep if to_space else _wide)(p, out), "input shapes")
    return [data], [out]


def _split(to_space: bool, p: BlockParams, data: Shape) -> tuple[Shape, tuple[int, ...]]:
    """data with its blocks as axes of their own, and the order that these take in the output."""
    (n, c, h, w), b = data, p.block_size
    if to_space:
        return (n, b, b, c // (b * b), h, w), (0, 3, 4, 1, 5, 2)
    return (n, c, h // b, b, w // b, b), (0, 3, 5, 1, 2, 4)


def compute(to_space: bool, ctx: OpContext, p: BlockParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    dims, order = _split(to_space, p, ins[0].shape)
    outs[0].write(ins[0].reshape(dims).transpose(order).reshape(outs[0].shape))


def refuses(p: BlockParams, ins: list[NDArray]) -> str | None:
    return need_native(ins[0])


def compute_ex(to_space: bool, ctx: OpContext, p: BlockParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    dims, order = _split(to_space, p, ins[0].shape)
    strides = row_strides(dims)
    rearranged(ctx, ins[0], outs[0], [dims[axis] for axis in order],
               [strides[axis] for axis in order])


def gradient(back: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit(back, node.params, out_grads[0])


def _register(name: str, back: str, to_space: bool, doc: str) -> None:
    register(OpDef(name, BlockParams, inputs=("data",), infer_shape=partial(infer_shape, to_space),
                   infer_type=same_type, compute=partial(compute, to_space),
                   compute_ex=partial(compute_ex, to_space), refuses=refuses,
                   gradient=partial(gradient, back), names_data=True,
                   doc=f"{doc} The dtype stays. Source: MXNet's {name}; oneDNN reorder."))


_register("depth_to_space", "space_to_depth", True,
          "Channels become blocks of pixels.\n\n(n, c, h, w) becomes (n, c / b**2, h b, w b) for "
          "b = block_size; the first of the channels stand in the top row of a block.")
_register("space_to_depth", "depth_to_space", False,
          "Blocks of pixels become channels: depth_to_space turned round.\n\n(n, c, h, w) becomes "
          "(n, c b**2, h / b, w / b) for b = block_size.")

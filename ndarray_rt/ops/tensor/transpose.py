"""transpose and SwapAxis: the axes of an array in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, normalize_axis, same_type
from ...op.params import Params, integer, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, register
from .pointwise import move, need_native

Axes = tuple[int, ...]


@params_class
class TransposeParams(Params):
    axes: tuple[int, ...] = shape((), doc="where each axis comes from; () turns their order round")

    def order(self, rank: int) -> Axes:
        """The axes counted from the front; ShapeError when they are no permutation."""
        if not self.axes:
            return tuple(reversed(range(rank)))
        if len(self.axes) != rank:
            raise ShapeError(f"data has rank {rank}, expected {len(self.axes)} from "
                             f"axes={self.axes}")
        found = tuple(normalize_axis(axis, rank, "axes") for axis in self.axes)
        if len(set(found)) != rank:
            raise ShapeError(f"axes {self.axes} names an axis twice")
        return found


@params_class
class SwapAxisParams(Params):
    dim1: int = integer(0, doc="the one axis")
    dim2: int = integer(0, doc="the other axis")

    def order(self, rank: int) -> Axes:
        """The axes with the two exchanged."""
        order = list(range(rank))
        a, b = (normalize_axis(dim, rank, "dim") for dim in (self.dim1, self.dim2))
        order[a], order[b] = b, a
        return tuple(order)


P = TransposeParams | SwapAxisParams


def inverse(order: Axes) -> Axes:
    """The order that undoes one."""
    made = [0] * len(order)
    for new, old in enumerate(order):
        made[old] = new
    return tuple(made)


def infer_shape(p: P, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    known = data if data is not None else out
    if known is None:
        return ins, outs
    order = p.order(len(known))
    if data is not None:
        out = merge(out, tuple(data[axis] for axis in order), "output shapes")
    if out is not None:
        data = merge(data, tuple(out[axis] for axis in inverse(order)))
    return [data], [out]


def compute(ctx: OpContext, p: P, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(np.transpose(ins[0], p.order(ins[0].ndim)))


def refuses(p: P, ins: list[NDArray]) -> str | None:
    return need_native(ins[0])


def compute_ex(ctx: OpContext, p: P, ins: list[NDArray], outs: list[Output]) -> None:
    x = get_data(ins[0], ctx.stream)
    # the same bytes, seen with their axes in the new order: no move at all where that is row-major
    move(ctx, x.as_desc(x.desc.permuted(p.order(x.desc.ndims))), outs[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    axes = node.params.axes
    back = () if not axes else inverse(tuple(axis % len(axes) for axis in axes))
    return emit("transpose", {"axes": back}, out_grads[0])


def gradient_swap(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("SwapAxis", node.params, out_grads[0])


def keeps_order(p: TransposeParams, rank: int) -> bool:
    """No axis moves."""
    return p.order(rank) == tuple(range(rank))


register(OpDef("transpose", TransposeParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, identity=keeps_order, permutes=lambda p, rank: p.order(rank),
               doc="Axis i of the output is axis axes[i] of data; without axes their order is "
                   "turned round.\n\nThe dtype stays. Source: MXNet's transpose; oneDNN reorder."))
register(OpDef("SwapAxis", SwapAxisParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient_swap, aliases=("swapaxes",), names_data=True,
               permutes=lambda p, rank: p.order(rank),
               doc="Exchanges the axes dim1 and dim2.\n\nThe dtype stays. Source: MXNet's "
                   "SwapAxis; oneDNN reorder."))

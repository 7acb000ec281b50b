"""The gradient of products over axes, and its own, without dividing by what may be 0.

Elements along the axes that go are multiplied from both ends, so that each product leaves one out.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import Unsupported
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, same_type
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels.reduce import product_grad
from ..floats import wide
from .axis_kernels import part_of
from .places import can_add
from .reduce_shapes import ReduceParams, kept_shape, output_shape, reduced_axes


def as_rows(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    """The axes that go as one last axis."""
    last = tuple(range(x.ndim - len(gone), x.ndim))
    moved = np.moveaxis(x, gone, last)
    count = prod(x.shape[axis] for axis in gone)
    made: AnyArray = moved.reshape((*moved.shape[:x.ndim - len(gone)], count))
    return made


def from_rows(rows: AnyArray, like: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    """The way back."""
    moved = rows.reshape((*rows.shape[:-1], *(like.shape[axis] for axis in gone)))
    made: AnyArray = np.moveaxis(moved, tuple(range(like.ndim - len(gone), like.ndim)), gone)
    return made


def _before(x: AnyArray, first: AnyArray | int) -> AnyArray:
    """`first` times the product of what stands before each element of the last axis."""
    made = np.empty_like(x)
    made[..., :1] = first
    made[..., 1:] = x[..., :-1]
    return np.cumprod(made, axis=-1, dtype=x.dtype)


def times_others(x: AnyArray, dy: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    """For each element dy times the product of the others; dy has size 1 where axes go."""
    rows = as_rows(x, gone)
    if not rows.size:
        return np.zeros_like(x)
    behind = _before(rows[..., ::-1], as_rows(dy, gone))[..., ::-1]
    return from_rows(_before(rows, 1) * behind, x, gone)


class _Sums(NamedTuple):
    """Of a run of elements: their product, and the sum of g times the product of the others."""

    product: AnyArray
    total: AnyArray

    def then(self, after: _Sums) -> _Sums:
        """Of this run with another one behind it."""
        return _Sums(self.product * after.product,
                     self.total * after.product + self.product * after.total)

    def part(self, key: slice) -> _Sums:
        return _Sums(self.product[..., key], self.total[..., key])


def _sums_before(x: AnyArray, g: AnyArray) -> _Sums:
    """The sums of what stands before each element of the last axis, in steps that double."""
    product, total = np.ones_like(x), np.zeros_like(x)
    product[..., 1:], total[..., 1:] = x[..., :-1], g[..., :-1]
    sums, step = _Sums(product, total), 1
    while step < x.shape[-1]:
        joined = sums.part(slice(None, -step)).then(sums.part(slice(step, None)))
        sums.product[..., step:], sums.total[..., step:] = joined
        step *= 2
    return sums


def compute_slope(ctx: OpContext, p: ReduceParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    x = wide(ins[2])
    gone = reduced_axes(p, x.ndim)
    rows, g = as_rows(x, gone), as_rows(wide(ins[0]), gone)
    before = _sums_before(rows, g)
    behind = _sums_before(rows[..., ::-1], g[..., ::-1]).part(slice(None, None, -1))
    dy = as_rows(wide(ins[1]).reshape(kept_shape(p, x.shape)), gone)
    outs[0].write(from_rows(dy * before.then(behind).total, x, gone).astype(ins[2].dtype,
                                                                             copy=False))


def compute_ex(ctx: OpContext, p: ReduceParams, ins: list[NDArray], outs: list[Output]) -> None:
    """outs[0] = dy times the product of the others."""
    dy, data = ins[:2]
    part = part_of(data.shape, reduced_axes(p, data.ndim))
    if part is None or not data.size:
        raise Unsupported("a product over axes that are no neighbours, or of no elements")
    if not outs[0].requested:
        return
    can_add(outs[0])
    grad, x = get_default(dy, ctx.stream), get_default(data, ctx.stream)
    with outs[0].open(default_desc(data.dtype, data.shape), ctx.stream) as dx:
        outer, length, inner = part
        ctx.kernel(product_grad(dx=dx, dy=grad, data=x, outer=outer, length=length, inner=inner))


def infer_shape_slope(p: ReduceParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    data = merge(merge(ins[0], ins[2]), outs[0])
    return [data, ins[1] if data is None else merge(ins[1], output_shape(p, data)), data], [data]


register(OpDef("_backward_product_slope", ReduceParams, inputs=("grad", "out_grad", "data"),
               infer_shape=infer_shape_slope, infer_type=same_type, compute=compute_slope,
               is_backward=True, no_gradient="there is no gradient of third order of it",
               doc="For each element of data the sum of the others' grad times out_grad times the "
                   "product of the rest: what the gradient of a product changes with it."))

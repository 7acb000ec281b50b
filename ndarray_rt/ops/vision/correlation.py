"""Correlation: how alike the patches of two maps are, for all small displacements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge_all
from ...op.params import Params, boolean, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..floats import same_float_type, wide
from .shared import fits


@params_class
class CorrelationParams(Params):
    kernel_size: int = integer(1, low=1, doc="height and width of a patch, odd")
    max_displacement: int = integer(1, low=0, doc="how far patches are looked for")
    stride1: int = integer(1, low=1, doc="step from patch to patch of data1")
    stride2: int = integer(1, low=1, doc="step from displacement to displacement")
    pad_size: int = integer(0, low=0, doc="zeros on each side of height and width")
    is_multiply: bool = boolean(True, doc="products are summed; else absolute differences")

    @property
    def reach(self) -> int:
        """Displacements to each side."""
        return self.max_displacement // self.stride2

    def length(self, length: int) -> int:
        """Patches along an axis; -1: not known yet."""
        if length == -1:
            return -1
        border = self.max_displacement + (self.kernel_size - 1) // 2
        return -((2 * border - length - 2 * self.pad_size) // self.stride1)


def infer_shape(p: CorrelationParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    if p.kernel_size % 2 == 0:
        raise ShapeError(f"kernel_size={p.kernel_size}, expected an odd number")
    out = fits(outs[0], (-1, (2 * p.reach + 1)**2, -1, -1), "the output")
    both = fits(merge_all(ins, "shapes of data1 and data2"), (-1,) * 4, "data1 and data2")
    if both is None:
        return [None, None], [out]
    size = [p.length(length) for length in both[2:]]
    if any(length != -1 and length < 1 for length in size):
        raise ShapeError(f"data1 of shape {both} has no room for patches: kernel_size="
                         f"{p.kernel_size}, max_displacement={p.max_displacement}, pad_size="
                         f"{p.pad_size}")
    out = fits((both[0], (2 * p.reach + 1)**2, *size), out or (-1,) * 4, "the output")
    if out is not None:
        both = (out[0], *both[1:])
    return [both, both], [out]


Window = tuple[slice, slice, slice, slice]


def _windows(p: CorrelationParams, size: Shape) -> Iterator[tuple[int, Window, Window]]:
    """(displacement, place in data1, place in data2) for each pixel of a patch."""
    whole, step = slice(None), p.stride1
    side = 2 * p.reach + 1

    def window(y: int, x: int) -> Window:
        return (whole, whole, slice(y, y + step * (size[0] - 1) + 1, step),
                slice(x, x + step * (size[1] - 1) + 1, step))
    for at in range(side * side):
        down, right = ((i - p.reach) * p.stride2 for i in divmod(at, side))
        for y, x in np.ndindex(p.kernel_size, p.kernel_size):
            first = y + p.max_displacement, x + p.max_displacement
            yield at, window(*first), window(first[0] + down, first[1] + right)


def _padded(p: CorrelationParams, x: AnyArray) -> AnyArray:
    pad = (p.pad_size, p.pad_size)
    return np.pad(wide(x), ((0, 0), (0, 0), pad, pad))


def compute(ctx: OpContext, p: CorrelationParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    a, b = (_padded(p, x) for x in ins)
    made = np.zeros(outs[0].shape, a.dtype)
    for at, one, other in _windows(p, made.shape[2:]):
        if p.is_multiply:
            made[:, at] += np.einsum("nchw,nchw->nhw", a[one], b[other])
        else:
            made[:, at] += np.abs(a[one] - b[other]).sum(1)
    made /= a.dtype.type(max(p.kernel_size**2 * a.shape[1], 1))
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_Correlation", node.params, out_grads[0], *node.inputs)


def infer_shape_backward(p: CorrelationParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    both = merge_all([*ins[1:], *outs], "shapes of data and gradients")
    known, (out,) = infer_shape(p, [both, both], [ins[0]])
    return [out, *known], known


def compute_backward(ctx: OpContext, p: CorrelationParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    a, b = (_padded(p, x) for x in ins[1:])
    dy = wide(ins[0]) / a.dtype.type(max(p.kernel_size**2 * a.shape[1], 1))
    d_a, d_b = np.zeros_like(a), np.zeros_like(b)
    for at, one, other in _windows(p, dy.shape[2:]):
        slope = dy[:, at, None]
        if p.is_multiply:
            d_a[one] += slope * b[other]
            d_b[other] += slope * a[one]
        else:
            signed = np.where(a[one] >= b[other], slope, -slope)
            d_a[one] += signed
            d_b[other] -= signed
    height, width = ins[1].shape[2:]
    inner = (..., slice(p.pad_size, p.pad_size + height), slice(p.pad_size, p.pad_size + width))
    for out, made in zip(outs, (d_a, d_b), strict=True):
        out.write(made[inner].astype(ins[0].dtype, copy=False))


register(OpDef("Correlation", CorrelationParams, inputs=("data1", "data2"),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               gradient=gradient,
               doc="How alike each patch of data1 is to those of data2 nearby.\n\n"
                   "data1, data2 (N, C, H, W); the output (N, displacements, h, w): the mean over "
                   "a patch and its channels of products, or of absolute differences. One float "
                   "dtype. Raises ShapeError where there is no room for a patch. Source: "
                   "Dosovitskiy et al. 2015; MXNet's Correlation."))
register(OpDef("_backward_Correlation", CorrelationParams,
               inputs=("out_grad", "data1", "data2"), outputs=("data1_grad", "data2_grad"),
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, is_backward=True,
               no_gradient="MXNet has no second-order gradient of it"))

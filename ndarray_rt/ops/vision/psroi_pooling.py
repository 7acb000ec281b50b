"""_contrib_PSROIPooling: means over bins of regions, from channels of each bin's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..blas import uses_blas
from ..floats import same_float_type, wide
from ..tensor.numeric import round_half_away
from .shared import fits


@params_class
class PSROIPoolingParams(Params):
    spatial_scale: float = number(low=0.0, high=1.0,
                                  doc="pixels of data for one unit of a region's corners")
    output_dim: int = integer(low=1, doc="channels of the output")
    pooled_size: int = integer(low=1, doc="rows and columns of bins")
    group_size: int = integer(0, low=0, doc="rows and columns of groups of channels; 0: as many as "
                                            "bins")

    @property
    def groups(self) -> int:
        """Rows and columns of groups of channels."""
        return self.group_size or self.pooled_size


def infer_shape(p: PSROIPoolingParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, rois = fits(ins[0], (-1,) * 4, "data"), fits(ins[1], (-1, 5), "rois")
    need = p.output_dim * p.groups**2
    if data is not None and -1 < data[1] < need:
        raise ShapeError(f"data has {data[1]} channels, expected {need}: output_dim="
                         f"{p.output_dim} for each of {p.groups} x {p.groups} groups")
    made = (-1 if rois is None else rois[0], p.output_dim, p.pooled_size, p.pooled_size)
    out = merge(outs[0], made, "output shapes")
    if out is not None:
        rois = merge(rois, (out[0], 5), "numbers of regions")
    return [data, rois], [out]


def _shares(start: Any, end: Any, bins: int, length: int) -> AnyArray:
    """(bins, length): one over the number of a bin's pixels, for each of them."""
    kind = start.dtype.type
    step = np.maximum(end - start, kind(0.1)) / kind(bins)
    order = np.arange(bins, dtype=start.dtype)
    first = np.floor(order * step + start)[:, None]
    last = np.ceil((order + 1) * step + start)[:, None]
    at = np.arange(length)
    inside = (at >= first) & (at < last)
    made: AnyArray = inside / np.maximum(inside.sum(1, keepdims=True), 1)
    return made.astype(start.dtype)


Shares = tuple[int, int, AnyArray, AnyArray]


def _regions(p: PSROIPoolingParams, rois: AnyArray, data: Shape) -> Iterator[Shares]:
    """(region, its image, shares of rows, of columns) for each region of an image there is."""
    corner = round_half_away(rois[:, 1:])
    corner[:, 2:] += 1
    corner *= rois.dtype.type(p.spatial_scale)
    for i, image in enumerate(np.trunc(rois[:, 0])):
        if 0 <= image < data[0]:
            left, top, right, bottom = corner[i]
            yield (i, int(image), _shares(top, bottom, p.pooled_size, data[2]),
                   _shares(left, right, p.pooled_size, data[3]))


def _groups(p: PSROIPoolingParams) -> Any:
    """The index of the groups of all bins, row by row."""
    at = np.arange(p.pooled_size) * p.groups // p.pooled_size
    return slice(None), at[:, None], at[None, :]


def _grouped(p: PSROIPoolingParams, image: AnyArray) -> AnyArray:
    """A view: (output_dim, groups, groups, height, width)."""
    used = image[:p.output_dim * p.groups**2]
    return used.reshape(p.output_dim, p.groups, p.groups, *image.shape[1:])


@uses_blas
def compute(ctx: OpContext, p: PSROIPoolingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data, rois = wide(ins[0]), wide(ins[1])
    made = np.zeros(outs[0].shape, data.dtype)
    for i, image, rows, columns in _regions(p, rois, data.shape):
        parts = _grouped(p, data[image])[_groups(p)]
        made[i] = np.einsum("ph,cpqhw,qw->cpq", rows, parts, columns, optimize=True)
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # as in MXNet, no gradient comes back to the corners of regions
    data, rois = node.inputs
    return [emit("_backward_PSROIPooling", node.params, out_grads[0], data, rois)[0],
            emit.zeros_like(rois)]


def infer_shape_backward(p: PSROIPoolingParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data, rois), (out,) = infer_shape(p, [merge(ins[1], outs[0]), ins[2]], [ins[0]])
    return [out, data, rois], [data]


@uses_blas
def compute_backward(ctx: OpContext, p: PSROIPoolingParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, rois = wide(ins[0]), wide(ins[2])
    made = np.zeros(outs[0].shape, dy.dtype)
    for i, image, rows, columns in _regions(p, rois, made.shape):
        parts = np.einsum("ph,cpq,qw->cpqhw", rows, dy[i], columns, optimize=True)
        np.add.at(_grouped(p, made[image]), _groups(p), parts)
    outs[0].write(made.astype(ins[0].dtype, copy=False))


register(OpDef("_contrib_PSROIPooling", PSROIPoolingParams, inputs=("data", "rois"),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               gradient=gradient,
               doc="Means over the bins of regions of images, each bin from channels of its "
                   "own.\n\ndata (N, output_dim * groups * groups, H, W); rois (R, 5): image, "
                   "left, top, right, bottom, rounded to whole units of 1 / spatial_scale pixels; "
                   "the output (R, output_dim, pooled_size, pooled_size). An empty bin, and a "
                   "region of an image that there is not, give zeros. One float dtype. Source: "
                   "Dai et al. 2016; MXNet's _contrib_PSROIPooling."))
register(OpDef("_backward_PSROIPooling", PSROIPoolingParams,
               inputs=("out_grad", "data", "rois"), outputs=("data_grad",),
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, ignores=(1,), is_backward=True,
               no_gradient="MXNet has no second-order gradient of it"))

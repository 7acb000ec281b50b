"""_contrib_RROIAlign: means of bilinear samples over the bins of turned regions of images."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, integer, number, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..floats import same_float_type, wide
from .shared import fits

_MOST = 2**26  # samples of one region


@params_class
class RROIAlignParams(Params):
    pooled_size: tuple[int, ...] = shape(low=1, doc="bins of a region: (height, width)")
    spatial_scale: float = number(doc="pixels of data for one unit of a region's numbers")
    sampling_ratio: int = integer(-1, doc="samples along each side of a bin; 0 or less: as many "
                                          "as a bin has pixels, rounded up")

    @property
    def bins(self) -> tuple[int, int]:
        """Rows and columns of bins."""
        if len(self.pooled_size) != 2:
            raise ShapeError(f"pooled_size is {self.pooled_size}, expected (height, width)")
        return self.pooled_size[0], self.pooled_size[1]


def infer_shape(p: RROIAlignParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = fits(ins[0], (-1,) * 4, "data")
    rois = fits(ins[1], (-1, 6), "rois")
    out = fits(outs[0], (-1, -1, *p.bins), "the output")
    made = (-1 if rois is None else rois[0], -1 if data is None else data[1], *p.bins)
    out = merge(out, made, "output shapes")
    if rois is None and out is not None and out[0] != -1:
        rois = (out[0], 6)
    return [data, rois], [out]


class Samples(NamedTuple):
    """The samples of one region: for each four pixels of the image and how much they count."""

    places: AnyArray  # (4, samples), in the image's rows one after the other
    weights: AnyArray  # (4, samples)
    grid: tuple[int, int, int, int]  # rows of bins, samples of each, columns, samples of each


def _side(size: Any, bins: int, ratio: int) -> tuple[AnyArray, int]:
    """(where the samples lie along one side, from the middle; how many there are in a bin)."""
    count = ratio if ratio > 0 else math.ceil(size / bins)
    if count * bins > _MOST:
        raise ShapeError(f"rois: a region with a side of {size} pixels has too many samples")
    kind = size.dtype.type
    at = (np.arange(bins * count) + 0.5).astype(size.dtype) * (size / kind(bins * count))
    return at - size / kind(2), count


def _near(at: AnyArray, length: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """(the pixel before, the one behind, the share of the latter) along an axis."""
    at = np.clip(at, 0, length - 1)
    low = at.astype(np.int64)
    return low, np.minimum(low + 1, length - 1), at - low


def _samples(p: RROIAlignParams, roi: AnyArray, height: int, width: int) -> Samples:
    kind, (rows, columns) = roi.dtype.type, p.bins
    x, y, w, h = roi[1:5] * kind(p.spatial_scale)
    down, per_row = _side(np.maximum(h, kind(1)), rows, p.sampling_ratio)
    right, per_column = _side(np.maximum(w, kind(1)), columns, p.sampling_ratio)
    if down.size * right.size > _MOST:
        raise ShapeError(f"rois: a region of {w} x {h} pixels has too many samples")
    turn = roi[5] * kind(math.pi / 180)
    cos, sin = np.cos(turn), np.sin(turn)
    xs = (right[None, :] * cos + down[:, None] * sin + x).reshape(-1)
    ys = (down[:, None] * cos - right[None, :] * sin + y).reshape(-1)
    inside = (ys >= -1) & (ys <= height) & (xs >= -1) & (xs <= width)
    top, bottom, below = _near(ys, height)
    left, far, beside = _near(xs, width)
    above, before = kind(1) - below, kind(1) - beside
    places = np.stack([top * width + left, top * width + far, bottom * width + left,
                       bottom * width + far])
    weights = np.stack([above * before, above * beside, below * before, below * beside])
    return Samples(places, np.where(inside, weights, kind(0)),
                   (rows, per_row, columns, per_column))


def _regions(p: RROIAlignParams, rois: AnyArray, data: Shape) -> Iterator[tuple[int, int, Samples]]:
    """(region, its image, its samples) for each region of an image that there is."""
    if not data[2] * data[3]:
        return
    for i, roi in enumerate(rois):
        if np.isfinite(roi).all() and 0 <= np.trunc(roi[0]) < data[0]:
            yield i, int(roi[0]), _samples(p, roi, data[2], data[3])


def compute(ctx: OpContext, p: RROIAlignParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data, rois = wide(ins[0]), wide(ins[1])
    made = np.zeros(outs[0].shape, data.dtype)
    for i, image, found in _regions(p, rois, data.shape):
        pixels = data[image].reshape(data.shape[1], data.shape[2] * data.shape[3])
        taken = (pixels[:, found.places] * found.weights).sum(1)
        made[i] = taken.reshape(data.shape[1], *found.grid).mean((2, 4))
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    data, rois = node.inputs
    return [emit("_backward_RROIAlign", node.params, out_grads[0], data, rois)[0],
            emit.zeros_like(rois)]


def infer_shape_backward(p: RROIAlignParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "data and its gradient")
    (data, rois), (out,) = infer_shape(p, [data, ins[2]], [ins[0]])
    return [out, data, rois], [data]


def compute_backward(ctx: OpContext, p: RROIAlignParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, rois = wide(ins[0]), wide(ins[2])
    images, channels, height, width = shape_ = outs[0].shape
    made = np.zeros((images, height * width, channels), dy.dtype)
    for i, image, found in _regions(p, rois, shape_):
        _, per_row, _, per_column = found.grid
        share = dy[i] / dy.dtype.type(per_row * per_column)
        each = np.broadcast_to(share[:, :, None, :, None], (channels, *found.grid))
        each = each.reshape(channels, found.weights.shape[1]).T
        for places, weights in zip(found.places, found.weights, strict=True):
            np.add.at(made[image], places, each * weights[:, None])
    outs[0].write(made.transpose(0, 2, 1).reshape(shape_).astype(ins[0].dtype, copy=False))


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # it is linear in the gradient that it gets
    _, data, rois = node.inputs
    return [emit("_contrib_RROIAlign", node.params, out_grads[0], rois)[0],
            emit.zeros_like(data), emit.zeros_like(rois)]


register(OpDef("_contrib_RROIAlign", RROIAlignParams, inputs=("data", "rois"),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               gradient=gradient,
               doc="Means over the bins of turned regions of images, from bilinear samples.\n\n"
                   "data (N, C, H, W); rois (R, 6): image, middle x, middle y, width, height in "
                   "units of 1 / spatial_scale pixels, and the angle in degrees; the output (R, "
                   "C, *pooled_size). A region of an image that there is not, or that is not "
                   "finite, gives zeros. One float dtype. Raises ShapeError for regions of too "
                   "many samples. Source: Ma et al. 2018; MXNet's _contrib_RROIAlign; numpy."))
register(OpDef("_backward_RROIAlign", RROIAlignParams, inputs=("out_grad", "data", "rois"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=same_float_type, compute=compute_backward, ignores=(1,),
               gradient=gradient_backward, is_backward=True,
               doc="The gradient of _contrib_RROIAlign's data."))

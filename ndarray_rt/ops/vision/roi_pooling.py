"""ROIPooling: largest values over the bins of regions of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT32
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, number, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels import vision as kernels
from ..floats import need_float_types, wide
from ..tensor.numeric import round_half_away
from .shared import fits, need_plain, plain

LOWEST = -float(np.finfo(np.float32).max)  # what nothing lies below, as in MXNet for all dtypes


@params_class
class ROIPoolingParams(Params):
    pooled_size: tuple[int, ...] = shape(low=1, doc="bins of a region: (height, width)")
    spatial_scale: float = number(low=0.0, high=1.0,
                                  doc="pixels of data for one unit of a region's corners")

    @property
    def bins(self) -> tuple[int, int]:
        """Rows and columns of bins."""
        if len(self.pooled_size) != 2:
            raise ShapeError(f"pooled_size is {self.pooled_size}, expected (height, width)")
        return self.pooled_size[0], self.pooled_size[1]


def infer_shape(p: ROIPoolingParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = fits(ins[0], (-1,) * 4, "data")
    rois = fits(ins[1], (-1, 5), "rois")
    out = fits(merge(outs[0], outs[1], "output shapes"), (-1, -1, *p.bins), "the output")
    made = (-1 if rois is None else rois[0], -1 if data is None else data[1], *p.bins)
    out = merge(out, made, "output shapes")
    if rois is None and out is not None and out[0] != -1:
        rois = (out[0], 5)
    return [data, rois], [out, out]


def infer_type(p: ROIPoolingParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins, outs[0]])
    need_float_types([one])
    return [one, one], [one, INT32]


def _bounds(start: AnyArray, end: AnyArray, bins: int, length: int) -> tuple[AnyArray, AnyArray]:
    """First pixel and the one behind the last, (regions, bins)."""
    kind = start.dtype.type
    step = np.maximum(end - start + 1, kind(1)) / kind(bins)
    order = np.arange(bins, dtype=start.dtype)
    first = np.floor(order * step[:, None]) + start[:, None]
    last = np.ceil((order + 1) * step[:, None]) + start[:, None]
    return (np.nan_to_num(np.clip(first, 0, length)).astype(np.int64),
            np.nan_to_num(np.clip(last, 0, length)).astype(np.int64))


def compute(ctx: OpContext, p: ROIPoolingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data, rois = wide(ins[0]), wide(ins[1])
    images, channels, height, width = data.shape
    # NaN is never the largest
    source = np.where(np.isnan(data), -np.inf, data)
    made = np.zeros(outs[0].shape, data.dtype)
    found = np.full(outs[0].shape, -1, np.int32)
    corner = round_half_away(rois[:, 1:] * rois.dtype.type(p.spatial_scale))
    left, right = _bounds(corner[:, 0], corner[:, 2], p.bins[1], width)
    top, bottom = _bounds(corner[:, 1], corner[:, 3], p.bins[0], height)
    for i, given in enumerate(np.trunc(rois[:, 0])):
        if not 0 <= given < images:
            continue
        image = source[int(given)]
        for y, x in np.ndindex(*p.bins):
            if bottom[i, y] <= top[i, y] or right[i, x] <= left[i, x]:
                continue
            part = image[:, top[i, y]:bottom[i, y], left[i, x]:right[i, x]]
            flat = part.reshape(channels, part.shape[1] * part.shape[2])
            at = flat.argmax(axis=1)
            value = np.take_along_axis(flat, at[:, None], 1)[:, 0]
            row, column = np.divmod(at, part.shape[2])
            place = (row + top[i, y]) * width + column + left[i, x]
            above = value > LOWEST
            made[i, :, y, x] = np.where(above, value, LOWEST)
            found[i, :, y, x] = np.where(above, place, -1)
    outs[0].write(made.astype(ins[0].dtype, copy=False))
    outs[1].write(found)


def refuses(p: ROIPoolingParams, ins: list[NDArray]) -> str | None:
    return need_plain(*ins)


def compute_ex(ctx: OpContext, p: ROIPoolingParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, rois = plain(ctx, ins[0]), plain(ctx, ins[1])
    out, stream = outs[0].shape, ctx.stream
    shape = ins[0].shape
    with (outs[0].open(default_desc(FLOAT32, out), stream) as y,
          outs[1].open(default_desc(INT32, out), stream) as places):
        ctx.kernel(kernels.roi_pool(
            out=y, places=places, data=data, rois=rois, regions=out[0], channels=out[1],
            height=shape[2], width=shape[3], images=shape[0], rows=p.bins[0], columns=p.bins[1],
            scale=p.spatial_scale))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # as in MXNet, no gradient comes back to the corners of regions
    data, rois = node.inputs
    return [emit("_backward_ROIPooling", node.params, out_grads[0], data, rois,
                 node.outputs[1])[0], emit.zeros_like(rois)]


def infer_shape_backward(p: ROIPoolingParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "data and its gradient")
    (data, rois), (out, _) = infer_shape(p, [data, ins[2]], [ins[0], ins[3]])
    return [out, data, rois, out], [data]


def infer_type_backward(p: ROIPoolingParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:3], *outs])
    need_float_types([one])
    return [one, one, one, INT32], [one]


def compute_backward(ctx: OpContext, p: ROIPoolingParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, rois, places = wide(ins[0]), wide(ins[2]), ins[3]
    images, channels, height, width = outs[0].shape
    made = np.zeros((images, channels, height * width), dy.dtype)
    image = np.trunc(rois[:, 0])
    used = (places >= 0) & ((image >= 0) & (image < images))[:, None, None, None]
    channel = np.broadcast_to(np.arange(channels)[:, None, None], places.shape)
    owner = np.broadcast_to(np.where(np.isfinite(image), image, 0)[:, None, None, None],
                            places.shape)
    np.add.at(made, (owner[used].astype(np.int64), channel[used], places[used]), dy[used])
    outs[0].write(made.reshape(outs[0].shape).astype(ins[0].dtype, copy=False))


def refuses_backward(p: ROIPoolingParams, ins: list[NDArray]) -> str | None:
    return need_plain(ins[0], ins[2])


def compute_ex_backward(ctx: OpContext, p: ROIPoolingParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    dy, rois, places = plain(ctx, ins[0]), plain(ctx, ins[2]), plain(ctx, ins[3])
    out, shape = ins[0].shape, outs[0].shape
    with outs[0].open(default_desc(FLOAT32, shape), ctx.stream) as dx:
        ctx.kernel(kernels.roi_pool_grad(
            dx=dx, dy=dy, places=places, rois=rois, regions=out[0], channels=out[1],
            height=shape[2], width=shape[3], images=shape[0], rows=p.bins[0], columns=p.bins[1]))


register(OpDef("ROIPooling", ROIPoolingParams, inputs=("data", "rois"),
               outputs=("output", "maxidx"), visible_outputs=1, infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient,
               doc="The largest value in each bin of regions of images.\n\n"
                   "data (N, C, H, W); rois (R, 5): image, left, top, right, bottom, both ends "
                   "included, in units of 1 / spatial_scale pixels, rounded to whole pixels; the "
                   "output (R, C, *pooled_size). An empty bin, and a region of an image that "
                   "there is not, give zeros. One float dtype. Source: Girshick 2015; MXNet's "
                   "ROIPooling."))
register(OpDef("_backward_ROIPooling", ROIPoolingParams,
               inputs=("out_grad", "data", "rois", "maxidx"), outputs=("data_grad",),
               infer_shape=infer_shape_backward, infer_type=infer_type_backward,
               compute=compute_backward, compute_ex=compute_ex_backward,
               refuses=refuses_backward, ignores=(1,), is_backward=True,
               no_gradient="MXNet has no second-order gradient of it"))

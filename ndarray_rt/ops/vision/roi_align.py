"""_contrib_ROIAlign: means of bilinear samples over the bins of regions of images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, boolean, integer, number, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels import vision as kernels
from ..blas import uses_blas
from ..floats import same_float_type, wide
from .shared import fits, need_plain, plain

MAX_SAMPLES = 1 << 12  # along a side of a bin: a bin's time grows with their square


@params_class
class ROIAlignParams(Params):
    pooled_size: tuple[int, ...] = shape(low=1, doc="bins of a region: (height, width)")
    spatial_scale: float = number(doc="pixels of data for one unit of a region's corners")
    sample_ratio: int = integer(-1, high=MAX_SAMPLES,
                                doc="samples along each side of a bin; 0 or less: as many as a "
                                    "bin has pixels, rounded up")
    position_sensitive: bool = boolean(False, doc="each bin has channels of its own")
    aligned: bool = boolean(False, doc="pixels have their centers at halves")

    @property
    def bins(self) -> tuple[int, int]:
        """Rows and columns of bins."""
        if len(self.pooled_size) != 2:
            raise ShapeError(f"pooled_size is {self.pooled_size}, expected (height, width)")
        return self.pooled_size[0], self.pooled_size[1]

    @property
    def planes(self) -> int:
        """Channels of data for one of the output."""
        height, width = self.bins
        return height * width if self.position_sensitive else 1


def infer_shape(p: ROIAlignParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = fits(ins[0], (-1,) * 4, "data")
    rois = fits(ins[1], (-1, 5), "rois")
    out = fits(outs[0], (-1, -1, *p.bins), "the output")
    count = -1 if rois is None else rois[0]
    channels = -1 if data is None else data[1]
    if channels > 0 and channels % p.planes:
        raise ShapeError(f"data has {channels} channels, expected a multiple of "
                         f"{p.planes} = {p.bins[0]} * {p.bins[1]} with position_sensitive")
    made = (count, channels if channels == -1 else channels // p.planes, *p.bins)
    out = merge(out, made, "output shapes")
    if rois is None and out is not None and out[0] != -1:
        rois = (out[0], 5)
    return [data, rois], [out]


class Taps(NamedTuple):
    """How much each pixel of an axis counts for each bin of a region."""

    rows: AnyArray  # (bins, height)
    columns: AnyArray  # (bins, width)


def _axis_taps(start: Any, size: Any, bins: int, samples: int, length: int) -> AnyArray:
    """(bins, length): the weights of the pixels along one axis, the mean over the samples."""
    kind = start.dtype.type
    step = size / kind(bins)
    if samples < 1:
        samples = int(min(np.ceil(step), 2.0**31)) if np.isfinite(step) else 0
    made: AnyArray = np.zeros((bins, length), start.dtype)
    if samples < 1 or length == 0 or not np.isfinite(start):
        return made
    low = start + np.arange(bins, dtype=start.dtype) * step
    width = step / kind(samples)
    # samples lie so dense that no more than these can be inside, from the first one that may be
    first = np.clip(np.floor((-1 - low) / width - 0.5) - 1, 0, samples)
    most = int(min(samples, (length + 1) / float(width) + 6 if width > 0 else samples))
    order = first[:, None] + np.arange(most)
    at = low[:, None] + (order + 0.5).astype(start.dtype) * step / kind(samples)
    used = (order < samples) & (at >= -1) & (at <= length)
    at = np.where(used, np.maximum(at, 0), 0).astype(start.dtype)
    near = at.astype(np.int64)
    last = near >= length - 1
    near = np.where(last, length - 1, near)
    far = np.where(last, near, near + 1)
    part = np.where(last, 0, at - near).astype(start.dtype)
    bin_of = np.broadcast_to(np.arange(bins)[:, None], at.shape)
    np.add.at(made, (bin_of, near), np.where(used, 1 - part, 0))
    np.add.at(made, (bin_of, far), np.where(used, part, 0))
    made /= kind(samples)
    return made


def _regions(p: ROIAlignParams, rois: AnyArray, data: Shape) -> Iterator[tuple[int, int, Taps]]:
    """(region, its image, its taps) for each region of an image that there is."""
    kind = rois.dtype.type
    offset = kind(0.5 if p.aligned else 0.0)
    corners = rois[:, 1:] * kind(p.spatial_scale) - offset
    for i, image in enumerate(rois[:, 0]):
        if not 0 <= np.trunc(image) < data[0]:
            continue
        (x0, y0), (x1, y1) = corners[i, :2], corners[i, 2:]
        width, height = x1 - x0, y1 - y0
        if p.aligned and not (width > 0 and height > 0):
            raise ShapeError(f"rois: region {i} is {tuple(rois[i].tolist())}, expected a width "
                             "and a height above 0 with aligned=True")
        if not p.aligned:
            width, height = np.maximum(width, kind(1)), np.maximum(height, kind(1))
        rows = _axis_taps(y0, height, p.bins[0], p.sample_ratio, data[2])
        columns = _axis_taps(x0, width, p.bins[1], p.sample_ratio, data[3])
        yield i, int(image), Taps(rows, columns)


@uses_blas
def compute(ctx: OpContext, p: ROIAlignParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data, rois = wide(ins[0]), wide(ins[1])
    made = np.zeros(outs[0].shape, data.dtype)
    for i, image, taps in _regions(p, rois, data.shape):
        source = data[image]
        if p.position_sensitive:
            parts = source.reshape(made.shape[1], *p.bins, *data.shape[2:])
            made[i] = np.einsum("ph,cpqhw,qw->cpq", taps.rows, parts, taps.columns, optimize=True)
        else:
            made[i] = taps.rows @ source @ taps.columns.T
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def refuses(p: ROIAlignParams, ins: list[NDArray]) -> str | None:
    if p.aligned:
        return "numpy looks for empty regions"
    return need_plain(*ins)


class _Facts(TypedDict):
    """What the kernel and its gradient's are both given."""

    regions: int
    channels: int
    height: int
    width: int
    images: int
    rows: int
    columns: int
    samples: int
    split: bool
    scale: float


def _facts(p: ROIAlignParams, data: Shape, out: Shape) -> _Facts:
    return {"regions": out[0], "channels": out[1], "height": data[2], "width": data[3],
            "images": data[0], "rows": p.bins[0], "columns": p.bins[1], "samples": p.sample_ratio,
            "split": p.position_sensitive, "scale": p.spatial_scale}


def compute_ex(ctx: OpContext, p: ROIAlignParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, rois = plain(ctx, ins[0]), plain(ctx, ins[1])
    with outs[0].open(default_desc(FLOAT32, outs[0].shape), ctx.stream) as y:
        ctx.kernel(kernels.roi_align(out=y, data=data, rois=rois,
                                     **_facts(p, ins[0].shape, outs[0].shape)))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # as in MXNet, no gradient comes back to the corners of regions
    data, rois = node.inputs
    return [emit("_backward_ROIAlign", node.params, out_grads[0], data, rois)[0],
            emit.zeros_like(rois)]


def infer_shape_backward(p: ROIAlignParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "data and its gradient")
    (data, rois), (out,) = infer_shape(p, [data, ins[2]], [ins[0]])
    return [out, data, rois], [data]


@uses_blas
def compute_backward(ctx: OpContext, p: ROIAlignParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, rois = wide(ins[0]), wide(ins[2])
    made = np.zeros(outs[0].shape, dy.dtype)
    for i, image, taps in _regions(p, rois, made.shape):
        if p.position_sensitive:
            parts = np.einsum("ph,cpq,qw->cpqhw", taps.rows, dy[i], taps.columns, optimize=True)
            made[image] += parts.reshape(made.shape[1:])
        else:
            made[image] += taps.rows.T @ dy[i] @ taps.columns
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def compute_ex_backward(ctx: OpContext, p: ROIAlignParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    dy, rois = plain(ctx, ins[0]), plain(ctx, ins[2])
    with outs[0].open(default_desc(FLOAT32, outs[0].shape), ctx.stream) as dx:
        ctx.kernel(kernels.roi_align_grad(dx=dx, dy=dy, rois=rois,
                                          **_facts(p, outs[0].shape, ins[0].shape)))


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # it is linear in the gradient that it gets
    _, data, rois = node.inputs
    return [emit("_contrib_ROIAlign", node.params, out_grads[0], rois)[0],
            emit.zeros_like(data), emit.zeros_like(rois)]


register(OpDef("_contrib_ROIAlign", ROIAlignParams, inputs=("data", "rois"),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient,
               doc="Means over the bins of regions of images, from bilinear samples.\n\n"
                   "data (N, C, H, W); rois (R, 5): image, left, top, right, bottom, in units of "
                   "1 / spatial_scale pixels; the output (R, C, *pooled_size), with "
                   "position_sensitive (R, C / (bins), *pooled_size). A region of an image that "
                   "there is not gives zeros. One float dtype. Raises ShapeError for empty "
                   "regions with aligned. Source: He et al. 2017; MXNet's _contrib_ROIAlign."))
register(OpDef("_backward_ROIAlign", ROIAlignParams, inputs=("out_grad", "data", "rois"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=same_float_type, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses, ignores=(1,),
               gradient=gradient_backward, is_backward=True,
               doc="The gradient of _contrib_ROIAlign's data."))

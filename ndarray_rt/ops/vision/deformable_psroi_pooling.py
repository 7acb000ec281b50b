"""_contrib_DeformablePSROIPooling: means of samples over bins that are moved about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..floats import same_float_type
from ..tensor.numeric import round_half_away
from .shared import fits


@params_class
class DeformablePSROIPoolingParams(Params):
    spatial_scale: float = number(low=0.0, high=1.0,
                                  doc="pixels of data for one unit of a region's corners")
    output_dim: int = integer(low=1, doc="channels of the output")
    group_size: int = integer(low=1, doc="rows and columns of groups of channels")
    pooled_size: int = integer(low=1, doc="rows and columns of bins")
    part_size: int = integer(0, low=0, doc="rows and columns of trans; 0: as many as bins")
    sample_per_part: int = integer(1, low=1, doc="rows and columns of samples of a bin")
    trans_std: float = number(0.0, low=0.0, high=1.0,
                              doc="sides of the region for one unit of trans")
    no_trans: bool = boolean(False, doc="there is no trans: bins stay where they are")

    @property
    def parts(self) -> int:
        """Rows and columns of trans."""
        return self.part_size or self.pooled_size


def input_names(p: DeformablePSROIPoolingParams) -> tuple[str, ...]:
    return ("data", "rois") if p.no_trans else ("data", "rois", "trans")


def infer_shape(p: DeformablePSROIPoolingParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, rois = fits(ins[0], (-1,) * 4, "data"), fits(ins[1], (-1, 5), "rois")
    need = p.output_dim * p.group_size**2
    if data is not None and -1 < data[1] < need:
        raise ShapeError(f"data has {data[1]} channels, expected {need}: output_dim="
                         f"{p.output_dim} for each of {p.group_size} x {p.group_size} groups")
    trans = None if p.no_trans else fits(ins[2], (-1, -1, p.parts, p.parts), "trans")
    regions = [shape[0] for shape in (rois, trans) if shape is not None]
    out = merge(outs[0], outs[1], "shapes of the output and of top_count")
    made: Shape = (-1, p.output_dim, p.pooled_size, p.pooled_size)
    for count in regions:
        made = merge(made, (count, *made[1:]), "numbers of regions") or made
    out = merge(out, made, "output shapes") or made
    rois = merge(rois, (out[0], 5), "numbers of regions")
    if p.no_trans:
        return [data, rois], [out, out]
    trans = merge(trans, (out[0], -1, p.parts, p.parts), "numbers of regions") or ()
    if trans[1] != -1 and (trans[1] < 2 or trans[1] % 2 or p.output_dim % (trans[1] // 2)):
        raise ShapeError(f"trans has {trans[1]} channels, expected two for each class, and as many "
                         f"classes as divide output_dim={p.output_dim}")
    return [data, rois, trans], [out, out]


class Samples(NamedTuple):
    """The samples of one region; arrays are (classes, bins, bins, samples, samples)."""

    region: int
    image: int
    used: AnyArray  # those within the image
    x: AnyArray
    y: AnyArray
    size: tuple[Any, Any]  # width and height of the region


class Corner(NamedTuple):
    """One of the four pixels about each sample."""

    at: AnyArray  # its place among the pixels of an image
    weight: AnyArray
    slope_x: AnyArray
    slope_y: AnyArray


def _line(start: Any, size: Any, moved: AnyArray, bins: int, samples: int) -> AnyArray:
    """(classes, bins, bins, samples): where samples lie along the axis that bins stand behind."""
    step = size / bins
    first = np.arange(bins) * step + start + moved * size
    made: AnyArray = first[..., None] + np.arange(samples) * (step / samples)
    return made


def _regions(p: DeformablePSROIPoolingParams, data: Shape, rois: AnyArray,
             trans: AnyArray | None) -> Iterator[Samples]:
    """The samples of each region of an image that there is and that has pixels."""
    corner = round_half_away(rois[:, 1:])
    corner[:, 2:] += 1
    corner = corner * p.spatial_scale - 0.5
    part = np.arange(p.pooled_size) * p.parts // p.pooled_size
    height, width = data[2:]
    for i, image in enumerate(np.trunc(rois[:, 0])):
        if not (0 <= image < data[0] and height and width):
            continue
        left, top, right, bottom = corner[i]
        size = np.maximum(right - left, 0.1), np.maximum(bottom - top, 0.1)
        moved = np.zeros((1, 2, p.pooled_size, p.pooled_size))
        if trans is not None:
            given = trans[i].reshape(-1, 2, p.parts, p.parts)
            moved = given[:, :, part[:, None], part] * p.trans_std
        x = _line(left, size[0], moved[:, 0], p.pooled_size, p.sample_per_part)
        y = _line(top, size[1], moved[:, 1].swapaxes(1, 2), p.pooled_size, p.sample_per_part)
        x, y = np.broadcast_arrays(x[..., None, :], y.swapaxes(1, 2)[..., :, None])
        used = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
        yield Samples(i, int(image), used, np.where(used, np.clip(x, 0, width - 1), 0),
                      np.where(used, np.clip(y, 0, height - 1), 0), size)


def _corners(found: Samples, width: int) -> list[Corner]:
    left, top = np.floor(found.x), np.floor(found.y)
    right, bottom = np.ceil(found.x), np.ceil(found.y)
    x, y = found.x - left, found.y - top
    return [Corner((row * width + column).astype(np.int64),
                   np.where(found.used, wide * high, 0), sign_x * high, sign_y * wide)
            for row, high, sign_y in ((top, 1 - y, -1), (bottom, y, 1))
            for column, wide, sign_x in ((left, 1 - x, -1), (right, x, 1))]


def _of_channels(p: DeformablePSROIPoolingParams, per_class: AnyArray) -> AnyArray:
    """(output_dim, ...) of (classes, ...): channels of one class stand together."""
    return np.repeat(per_class, p.output_dim // len(per_class), axis=0)


def _groups(p: DeformablePSROIPoolingParams) -> tuple[AnyArray, AnyArray]:
    """Channel and group of samples: indices for arrays (output_dim, bins, bins, rows, columns)."""
    at = np.arange(p.pooled_size) * p.group_size // p.pooled_size
    group = (at[:, None] * p.group_size + at)[None, :, :, None, None]
    return np.arange(p.output_dim).reshape(-1, 1, 1, 1, 1), group


def _flat(p: DeformablePSROIPoolingParams, image: AnyArray) -> AnyArray:
    """A view: (output_dim, groups, pixels)."""
    used = image[:p.output_dim * p.group_size**2]
    return used.reshape(p.output_dim, p.group_size**2, image.shape[1] * image.shape[2])


def _doubles(p: DeformablePSROIPoolingParams, ins: Sequence[AnyArray],
             ) -> tuple[AnyArray, AnyArray, AnyArray | None]:
    """data, rois and trans, where there is one."""
    data, rois, *rest = (x.astype(np.float64) for x in ins)
    return data, rois, None if p.no_trans else rest[0]


def compute(ctx: OpContext, p: DeformablePSROIPoolingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data, rois, trans = _doubles(p, ins)
    made, count = np.zeros(outs[0].shape), np.zeros(outs[0].shape)
    channel, group = _groups(p)
    for found in _regions(p, data.shape, rois, trans):
        flat = _flat(p, data[found.image])
        total = np.zeros(made.shape[1:])
        for c in _corners(found, data.shape[3]):
            value = flat[channel, group, _of_channels(p, c.at)] * _of_channels(p, c.weight)
            total += value.sum((3, 4))
        count[found.region] = _of_channels(p, found.used.sum((3, 4)))
        made[found.region] = total / np.maximum(count[found.region], 1)
    for out, value in zip(outs, (made, count), strict=True):
        out.write(value.astype(ins[0].dtype))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # as in MXNet, no gradient comes back to the corners of regions
    made = emit("_backward_DeformablePSROIPooling", node.params, out_grads[0], *node.inputs)
    return [made[0], emit.zeros_like(node.inputs[1]), *made[1:]]


def backward_inputs(p: DeformablePSROIPoolingParams) -> tuple[str, ...]:
    return ("out_grad", *input_names(p))


def backward_outputs(p: DeformablePSROIPoolingParams) -> tuple[str, ...]:
    return ("data_grad",) if p.no_trans else ("data_grad", "trans_grad")


def infer_shape_backward(p: DeformablePSROIPoolingParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    given = [merge(ins[1], outs[0]), ins[2]]
    if not p.no_trans:
        given.append(merge(ins[3], outs[1]))
    (data, rois, *trans), (out, _) = infer_shape(p, given, [ins[0], None])
    return [out, data, rois, *trans], [data, *trans]


def compute_backward(ctx: OpContext, p: DeformablePSROIPoolingParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, (data, rois, trans) = ins[0].astype(np.float64), _doubles(p, ins[1:])
    to_data, to_trans = np.zeros(data.shape), None if trans is None else np.zeros(trans.shape)
    channel, group = _groups(p)
    part = np.arange(p.pooled_size) * p.parts // p.pooled_size
    for found in _regions(p, data.shape, rois, trans):
        count = np.maximum(found.used.sum((3, 4)), 1)
        share = (dy[found.region] / _of_channels(p, count))[..., None, None]
        flat, back = _flat(p, data[found.image]), _flat(p, to_data[found.image])
        slopes = np.zeros((2, *share.shape[:3]))
        for c in _corners(found, data.shape[3]):
            at = (channel, group, _of_channels(p, c.at))
            np.add.at(back, at, share * _of_channels(p, c.weight))
            if to_trans is not None:
                value = share * flat[at]
                for axis, slope in enumerate((c.slope_x, c.slope_y)):
                    slopes[axis] += (value * _of_channels(p, np.where(found.used, slope, 0))).sum(
                        (3, 4))
        if to_trans is not None:
            _add_slopes(p, to_trans[found.region], slopes, found.size, part)
    for out, made in zip(outs, (to_data, to_trans), strict=False):
        assert made is not None
        out.write(made.astype(ins[0].dtype))


def _add_slopes(p: DeformablePSROIPoolingParams, to_trans: AnyArray, slopes: AnyArray,
                size: tuple[Any, Any], part: AnyArray) -> None:
    """Adds what all channels of a class give to the part of trans that moves a bin."""
    classes = len(to_trans) // 2
    summed = slopes.reshape(2, classes, -1, *slopes.shape[2:]).sum(2).swapaxes(0, 1)
    summed = summed * (p.trans_std * np.array(size)[:, None, None])
    target = to_trans.reshape(classes, 2, p.parts, p.parts)
    place: Any = (slice(None), slice(None), part[:, None], part)
    np.add.at(target, place, summed)


register(OpDef("_contrib_DeformablePSROIPooling", DeformablePSROIPoolingParams,
               inputs=input_names, outputs=("output", "top_count"), visible_outputs=1,
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               gradient=gradient,
               doc="Means of bilinear samples over the bins of regions of images, each bin from "
                   "channels of its own and moved by what trans says.\n\ndata (N, output_dim * "
                   "groups * groups, H, W); rois (R, 5): image, left, top, right, bottom, rounded "
                   "to whole units of 1 / spatial_scale pixels; trans (R, 2 * classes, part_size, "
                   "part_size): how far bins move to the right and down, for the channels of each "
                   "class; the output (R, output_dim, pooled_size, pooled_size). The samples "
                   "within the image count; without any, and for an image that there is not, "
                   "zeros. One float dtype. Source: Dai et al. 2017; MXNet's "
                   "_contrib_DeformablePSROIPooling, which runs on GPUs only; numpy."))
register(OpDef("_backward_DeformablePSROIPooling", DeformablePSROIPoolingParams,
               inputs=backward_inputs, outputs=backward_outputs,
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, is_backward=True,
               no_gradient="MXNet has no second-order gradient of it",
               doc="The gradients of _contrib_DeformablePSROIPooling's data and trans."))

"""_contrib_MultiBoxPrior: the anchors of each pixel of a map."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, boolean, numbers, params_class
from ...op.registry import OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels.vision import multibox_prior
from ..floats import same_float_type
from .shared import need_plain, zero_gradient


@params_class
class MultiBoxPriorParams(Params):
    sizes: tuple[float, ...] = numbers((1.0,), doc="sizes of anchors, as shares of the height; "
                                                   "the first of them for all ratios")
    ratios: tuple[float, ...] = numbers((1.0,), doc="widths for one height; the first of them for "
                                                    "all sizes")
    clip: bool = boolean(False, doc="no anchor leaves [0, 1]")
    steps: tuple[float, ...] = numbers((-1.0, -1.0), length=2,
                                       doc="from pixel to pixel, y and x; 0 or less: the map fills "
                                           "[0, 1]")
    offsets: tuple[float, ...] = numbers((0.5, 0.5), length=2,
                                         doc="of a center in its pixel, y and x, within [0, 1]")


def infer_shape(p: MultiBoxPriorParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    if not p.sizes or not p.ratios:
        raise ShapeError(f"sizes={p.sizes}, ratios={p.ratios}: expected one or more of each")
    if not all(0 <= offset <= 1 for offset in p.offsets):
        raise ShapeError(f"offsets={p.offsets}, expected numbers within [0, 1]")
    if p.steps[0] * p.steps[1] < 0:
        raise ShapeError(f"steps={p.steps}: expected both or none above 0")
    data = ins[0]
    if data is None:
        return ins, [merge(outs[0], (1, -1, 4), "output shapes")]
    if len(data) < 4:
        raise ShapeError(f"data has shape {data}, expected rank 4: (N, C, height, width)")
    if 0 in data[2:4]:
        raise ShapeError(f"data has shape {data}, expected a height and a width above 0")
    count = -1 if -1 in data[2:4] else (
        data[2] * data[3] * (len(p.sizes) + len(p.ratios) - 1))
    return [data], [merge(outs[0], (1, count, 4), "output shapes")]


def _halves(p: MultiBoxPriorParams, data: Shape) -> tuple[AnyArray, AnyArray]:
    """Half widths and half heights of a pixel's anchors."""
    single = np.float32
    # as in MXNet, ratios that are not above 0 give anchors of infinity or NaN
    with np.errstate(all="ignore"):
        ratios = np.sqrt(np.array(p.ratios, single))
        size = np.array([*p.sizes, *p.sizes[:1] * (len(ratios) - 1)], single)
        ratio = np.concatenate([np.repeat(ratios[:1], len(p.sizes)), ratios[1:]])
        width = size * single(data[2]) / single(data[3]) * ratio / single(2)
        return width, size / ratio / single(2)


def _steps(p: MultiBoxPriorParams, data: Shape) -> AnyArray:
    given = p.steps if min(p.steps) > 0 else (1 / data[2], 1 / data[3])
    return np.array(given, np.float32)


def compute(ctx: OpContext, p: MultiBoxPriorParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    shape = ins[0].shape
    halves = np.stack(_halves(p, shape), -1)
    steps, offsets = _steps(p, shape), np.array(p.offsets, np.float32)
    y = (np.arange(shape[2], dtype=np.float32) + offsets[0]) * steps[0]
    x = (np.arange(shape[3], dtype=np.float32) + offsets[1]) * steps[1]
    centers = np.stack(np.meshgrid(x, y), -1)[:, :, None]
    made = np.concatenate([centers - halves, centers + halves], -1)
    if p.clip:
        made = np.clip(made, 0, 1)
    outs[0].write(made.reshape(outs[0].shape).astype(ins[0].dtype, copy=False))


def refuses(p: MultiBoxPriorParams, ins: list[NDArray]) -> str | None:
    return need_plain(*ins)


def compute_ex(ctx: OpContext, p: MultiBoxPriorParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    if not outs[0].requested:
        return
    shape = ins[0].shape
    widths, heights = _halves(p, shape)
    steps = _steps(p, shape)
    with outs[0].open(default_desc(FLOAT32, outs[0].shape), ctx.stream) as y:
        for i, (width, height) in enumerate(zip(widths, heights, strict=True)):
            ctx.kernel(multibox_prior(
                out=y, rows=shape[2], columns=shape[3], anchors=len(widths), which=i, clip=p.clip,
                half_width=float(width), half_height=float(height), step_y=float(steps[0]),
                step_x=float(steps[1]), offset_y=p.offsets[0], offset_x=p.offsets[1]))


register(OpDef("_contrib_MultiBoxPrior", MultiBoxPriorParams, inputs=("data",),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=zero_gradient, ignores=(0,),
               names_data=True,
               doc="Anchors: boxes of several sizes and ratios round each pixel of a map.\n\n"
                   "data (N, C, H, W), whose values are not read; the output (1, H * W * "
                   "(sizes + ratios - 1), 4): corners in shares of the image, for each pixel "
                   "first all sizes with the first ratio, then the first size with the other "
                   "ratios. The gradient is zero. Source: Liu et al. 2016; MXNet's "
                   "_contrib_MultiBoxPrior."))

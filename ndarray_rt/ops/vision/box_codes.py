"""_contrib_box_encode, _contrib_box_decode: boxes as shifts from anchors, and back."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, merge_all
from ...op.params import NoParams, Params, number, params_class
from ...op.registry import OpDef, register
from ..floats import same_float_type, wide
from .geometry import box_format
from .shared import fits


@params_class
class BoxDecodeParams(Params):
    std0: float = number(1.0, doc="what the shifts of x are multiplied by")
    std1: float = number(1.0, doc="what the shifts of y are multiplied by")
    std2: float = number(1.0, doc="what the logarithms of widths are multiplied by")
    std3: float = number(1.0, doc="what the logarithms of heights are multiplied by")
    clip: float = number(-1.0, doc="the most that these logarithms may be; 0 or less: no bound")
    format: str = box_format("center", "what an anchor is")


def infer_shape_encode(p: NoParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    out = merge_all([ins[2], *outs], "shapes of anchors and outputs")
    out = fits(out, (-1, -1, 4), "anchors")
    batch, count = (-1, -1) if out is None else out[:2]
    pair = merge(ins[0], ins[1], "shapes of samples and matches")
    pair = merge(fits(pair, (batch, count), "samples or matches"), (batch, count))
    refs = merge(fits(ins[3], (batch, -1, 4), "refs"), (batch, -1, 4))
    out = merge(out, (*(pair or (-1, -1)), 4), "shapes of samples and anchors")
    made: ShapeList = [pair, pair, out, refs, *(fits(s, (4,), "means or stds") or (4,)
                                                for s in ins[4:])]
    return made, [out, out]


def _centers(boxes: AnyArray) -> tuple[AnyArray, AnyArray]:
    size = boxes[..., 2:] - boxes[..., :2]
    return boxes[..., :2] + size * boxes.dtype.type(0.5), size


def compute_encode(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    samples, matches, anchors, refs, means, stds = (wide(x) for x in ins)
    rows = refs.shape[1]
    if not rows and anchors.size:
        raise ShapeError(f"refs has shape {refs.shape}: there is nothing to match")
    valid = samples > 0.5
    place = np.where(valid, np.trunc(matches), 0)
    wrong = ~((place >= 0) & (place < rows))
    if wrong.any():
        raise ShapeError(f"matches holds {matches[wrong][0]}, expected 0 to {rows - 1} from refs "
                         f"of shape {refs.shape}")
    found = np.take_along_axis(refs, place.astype(np.int64)[..., None], 1) if anchors.size else (
        np.zeros_like(anchors))
    (near, size), (own, own_size) = _centers(found), _centers(anchors)
    valid = valid[..., None]
    shift = np.concatenate([(near - own) / own_size, np.log(size / own_size)], -1)
    made = np.where(valid, (shift - means) / stds, 0)
    dtype = ins[0].dtype
    outs[0].write(made.astype(dtype, copy=False))
    outs[1].write(np.broadcast_to(valid, anchors.shape).astype(dtype))


def infer_shape_decode(p: BoxDecodeParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    data = fits(merge(ins[0], outs[0], "shapes of data and output"), (-1, -1, 4), "data")
    anchors = fits(ins[1], (-1, -1 if data is None else data[1], 4), "anchors")
    if data is not None and anchors is not None:
        data = (data[0], max(data[1], anchors[1]), 4)
    return [data, anchors], [data]


def compute_decode(ctx: OpContext, p: BoxDecodeParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    data, anchors = wide(ins[0]), wide(ins[1])
    if not data.size:
        outs[0].write(ins[0])
        return
    if not len(anchors):
        raise ShapeError(f"anchors has shape {anchors.shape}, expected (1, {data.shape[1]}, 4)")
    anchor = anchors[0]  # as in MXNet, the first of them serves all
    center, size = (_centers(anchor) if p.format == "corner"
                    else (anchor[:, :2], anchor[:, 2:]))
    std = np.array([p.std0, p.std1, p.std2, p.std3], np.float32).astype(data.dtype)
    place = data[..., :2] * std[:2] * size + center
    log = data[..., 2:] * std[2:]
    if p.clip > 0:
        limit = data.dtype.type(np.float32(p.clip))
        log = np.where(log < limit, log, limit)
    half = np.exp(log) * size * data.dtype.type(0.5)
    made = np.concatenate([place - half, place + half], -1)
    outs[0].write(made.astype(ins[0].dtype, copy=False))


register(OpDef("_contrib_box_encode", NoParams,
               inputs=("samples", "matches", "anchors", "refs", "means", "stds"),
               outputs=("targets", "masks"), infer_shape=infer_shape_encode,
               infer_type=same_float_type, compute=compute_encode,
               no_gradient="MXNet has none: it makes targets of training",
               doc="Boxes as shifts of centers and logarithms of sizes, from anchors.\n\n"
                   "samples, matches (N, A): which anchors count (above 0.5) and the rows of refs "
                   "that they match; anchors (N, A, 4), refs (N, M, 4): corners; means, stds "
                   "(4,). Outputs (N, A, 4): (shift - means) / stds, zero where an anchor does "
                   "not count, and the mask. One float dtype. Raises ShapeError for matches "
                   "beyond refs. Source: MXNet's _contrib_box_encode."))
register(OpDef("_contrib_box_decode", BoxDecodeParams, inputs=("data", "anchors"),
               infer_shape=infer_shape_decode, infer_type=same_float_type,
               compute=compute_decode, no_gradient="MXNet has none: it reads predictions",
               doc="Boxes from shifts of centers and logarithms of sizes, and their anchors.\n\n"
                   "data (N, A, 4); anchors (1, A, 4); the output (N, A, 4): corners. One float "
                   "dtype. Source: MXNet's _contrib_box_decode."))

"""_cvcopyMakeBorder: an image with a margin round it."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import DType
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, same_type
from ...op.params import Params, integer, number, numbers, params_class
from ...op.registry import OpDef, register

CONSTANT, ISOLATED = 0, 16
# OpenCV's number of what a margin repeats -> NumPy's name
MODES = {1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}


@params_class
class BorderParams(Params):
    top: int = integer(low=0, doc="rows to add above")
    bot: int = integer(low=0, doc="rows to add below")
    left: int = integer(low=0, doc="columns to add on the left")
    right: int = integer(low=0, doc="columns to add on the right")
    type: int = integer(0, low=0, high=ISOLATED,
                        doc="what is there: 0 numbers, 1 the last pixel, 2 the image "
                            "mirrored (cba|abc), 3 its other side, 4 the image mirrored round its "
                            "last pixel (dcb|abcd); 16 is 0")
    value: float = number(0.0, finite=True, doc="the number for all channels")
    values: tuple[float, ...] = numbers((), doc="a number for each channel, instead of value")


def infer_shape(p: BorderParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if p.type not in (CONSTANT, ISOLATED, *MODES):
        raise ShapeError(f"type={p.type}, expected 0 to 4 or {ISOLATED}")
    data, out = ins[0], outs[0]
    high, wide = p.top + p.bot, p.left + p.right
    if data is None and out is not None and len(out) == 3:
        data = (-1, -1, out[2])
    if data is None:
        return ins, outs
    if len(data) != 3:
        raise ShapeError(f"src has shape {data}, expected (height, width, channels)")
    if 0 in data[:2]:
        raise ShapeError(f"src has shape {data}: there is nothing to repeat")
    rows, columns = (-1 if length == -1 else length + more
                     for length, more in ((data[0], high), (data[1], wide)))
    out = merge(out, (rows, columns, data[2]), "output shapes")
    if out is not None:
        data = (*(-1 if length == -1 else length - more
                  for length, more in ((out[0], high), (out[1], wide))), out[2])
    return [data], [out]


def _filling(p: BorderParams, channels: int, dtype: DType) -> AnyArray:
    """What each channel's margin is filled with: those without a number of `values` with 0."""
    given = p.values[:channels] or (p.value,) * channels
    made = np.zeros(channels)
    made[:len(given)] = given
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        made = np.clip(np.rint(made), limits.min, limits.max)
    return made.astype(dtype)


def compute(ctx: OpContext, p: BorderParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data = ins[0]
    margins = ((p.top, p.bot), (p.left, p.right), (0, 0))
    if p.type in MODES:
        outs[0].write(np.pad(data, margins, MODES[p.type]))  # type: ignore[call-overload]
        return
    height, width, channels = data.shape
    made = np.empty(outs[0].shape, data.dtype)
    made[:] = _filling(p, channels, data.dtype)
    made[p.top:p.top + height, p.left:p.left + width] = data
    outs[0].write(made)


register(OpDef("_cvcopyMakeBorder", BorderParams, inputs=("src",), infer_shape=infer_shape,
               infer_type=same_type, compute=compute,
               no_gradient="MXNet has none: it is for data",
               doc="An image with a margin round it.\n\n"
                   "src (height, width, channels); the output has its dtype. Raises ShapeError for "
                   "images of no pixels. Source: MXNet's _cvcopyMakeBorder; OpenCV's "
                   "copyMakeBorder."))

"""_image_crop: a part of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, same_type
from ...op.params import Params, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from .shapes import need_depth, need_images


@params_class
class CropParams(Params):
    x: int = integer(low=0, doc="the first column")
    y: int = integer(low=0, doc="the first row")
    width: int = integer(low=1, doc="columns of the result")
    height: int = integer(low=1, doc="rows of the result")

    @property
    def place(self) -> tuple[Any, ...]:
        """The part, as an index."""
        return (..., slice(self.y, self.y + self.height), slice(self.x, self.x + self.width),
                slice(None))


def infer_shape(p: CropParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data = need_images(ins[0])
    if data is None:
        return ins, outs
    need_depth(data, -1)
    for what, begin, count, length in (("y and height", p.y, p.height, data[-3]),
                                       ("x and width", p.x, p.width, data[-2])):
        if length != -1 and begin + count > length:
            raise ShapeError(f"{what} are {begin} and {count}: beyond data of shape {data}")
    out = merge(outs[0], (*data[:-3], p.height, p.width, data[-1]), "output shapes")
    if out is not None:
        data = (*out[:-3], *data[-3:-1], out[-1])
    return [data], [out]


def compute(ctx: OpContext, p: CropParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0][p.place])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_image_crop", node.params, out_grads[0], node.inputs[0])


def infer_shape_backward(p: CropParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data,), (out,) = infer_shape(p, [merge(ins[1], outs[0])], [ins[0]])
    return [out, data], [data]


def infer_type_backward(p: CropParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins, *outs])
    return [one, one], [one]


def compute_backward(ctx: OpContext, p: CropParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    made = np.zeros(outs[0].shape, ins[0].dtype)
    made[p.place] = ins[0]
    outs[0].write(made)


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit("_image_crop", node.params, out_grads[0])[0], emit.zeros_like(node.inputs[1])]


register(OpDef("_image_crop", CropParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_type, compute=compute, gradient=gradient,
               doc="A part of images: columns from x and rows from y on.\n\n"
                   "data (height, width, channels) or (N, height, width, channels) of 1 or 3 "
                   "channels. Raises ShapeError for a part beyond the image. Source: MXNet's "
                   "_image_crop."))
register(OpDef("_backward_image_crop", CropParams, inputs=("out_grad", "data"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward,
               gradient=gradient_backward, ignores=(1,), is_backward=True))

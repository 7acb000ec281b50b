"""_image_to_tensor and _image_normalize: images as networks take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, same_shape, same_type
from ...op.params import NoParams, Params, numbers, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..tensor.numeric import convert, is_integer, wide
from .shapes import need_depth, need_images


def infer_shape_tensor(p: NoParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    data, out = need_images(ins[0]), outs[0]
    if data is None and out is not None and len(out) in (3, 4):
        data = (*out[:-3], out[-2], out[-1], out[-3])
    if data is None:
        return ins, outs
    out = merge(out, (*data[:-3], data[-1], data[-3], data[-2]), "output shapes")
    if out is not None:
        data = (*out[:-3], out[-2], out[-1], out[-3])
    return [data], [out]


def infer_type_tensor(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ins, [merge_types([outs[0], FLOAT32])]


def compute_tensor(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    data = ins[0]
    single = data if data.dtype == np.float64 else data.astype(np.float32)
    made = np.moveaxis(single / single.dtype.type(255), -1, -3)
    outs[0].write(made.astype(np.float32, copy=False))


def gradient_tensor(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_image_to_tensor", None, out_grads[0], node.inputs[0])


def infer_shape_tensor_backward(p: NoParams, ins: ShapeList, outs: ShapeList,
                                ) -> tuple[ShapeList, ShapeList]:
    (data,), (out,) = infer_shape_tensor(p, [merge(ins[1], outs[0])], [ins[0]])
    return [out, data], [data]


def infer_type_tensor_backward(p: NoParams, ins: TypeList, outs: TypeList,
                               ) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[1], outs[0]])
    return [FLOAT32, one], [one]


def compute_tensor_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                            outs: list[NumpyOutput]) -> None:
    made = np.moveaxis(ins[0] / np.float32(255), -3, -1)
    outs[0].write(convert(made, ins[1].dtype))


@params_class
class NormalizeParams(Params):
    mean: tuple[float, ...] = numbers((0.0, 0.0, 0.0, 0.0),
                                      doc="what is taken off each channel, or off all")
    std: tuple[float, ...] = numbers((1.0, 1.0, 1.0, 1.0),
                                     doc="what each channel is divided by, or all")

    def column(self, name: str, depth: int) -> AnyArray:
        """One of them for each channel, beside the axes of an image."""
        given = getattr(self, name)
        # the default has four, for any image
        if len(given) == 4 and len(set(given)) == 1:
            given = given[:1]
        if len(given) not in (1, depth):
            raise ShapeError(f"{name}={given}, expected 1 or {depth} numbers for an image of "
                             f"{depth} channels")
        return np.array(given, np.float32)[:, None, None]


def infer_shape_normalize(p: NormalizeParams, ins: ShapeList, outs: ShapeList,
                          ) -> tuple[ShapeList, ShapeList]:
    made = same_shape(p, ins, outs)
    data = made[0][0]
    if data is not None:
        if len(data) not in (3, 4):
            raise ShapeError(f"data has shape {data}, expected (channels, height, width) or (N, "
                             "channels, height, width)")
        need_depth(data, -3)
        if data[-3] != -1:
            p.column("mean", data[-3])
            p.column("std", data[-3])
    return made


def _written(value: AnyArray, out: NumpyOutput) -> None:
    out.write(convert(value, out.dtype))


def compute_normalize(ctx: OpContext, p: NormalizeParams, ins: list[AnyArray],
                      outs: list[NumpyOutput]) -> None:
    depth = ins[0].shape[-3]
    data = ins[0].astype(np.float32) if is_integer(ins[0].dtype) else wide(ins[0])
    _written((data - p.column("mean", depth)) / p.column("std", depth), outs[0])


def gradient_normalize(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_image_normalize", node.params, out_grads[0])


def compute_normalize_backward(ctx: OpContext, p: NormalizeParams, ins: list[AnyArray],
                               outs: list[NumpyOutput]) -> None:
    _written(wide(ins[0]) / p.column("std", ins[0].shape[-3]), outs[0])


register(OpDef("_image_to_tensor", NoParams, inputs=("data",), infer_shape=infer_shape_tensor,
               infer_type=infer_type_tensor, compute=compute_tensor, gradient=gradient_tensor,
               names_data=True,
               doc="An image as a network takes it: channels first, divided by 255.\n\n"
                   "data (height, width, channels) or (N, height, width, channels) of any dtype; "
                   "the output is float32 with the channels before height and width. Source: "
                   "MXNet's _image_to_tensor, which has no gradient."))
register(OpDef("_backward_image_to_tensor", NoParams, inputs=("out_grad", "data"),
               outputs=("data_grad",), infer_shape=infer_shape_tensor_backward,
               infer_type=infer_type_tensor_backward, compute=compute_tensor_backward,
               ignores=(1,), is_backward=True, no_gradient="MXNet has none either"))
register(OpDef("_image_normalize", NormalizeParams, inputs=("data",),
               infer_shape=infer_shape_normalize, infer_type=same_type,
               compute=compute_normalize, gradient=gradient_normalize, inplace={0: 0},
               doc="(data - mean) / std, channel by channel.\n\n"
                   "data (channels, height, width) or (N, channels, height, width) of 1 or 3 "
                   "channels; the output has its shape and dtype. Raises ShapeError where mean "
                   "or std have neither one number nor one for each channel. Source: MXNet's "
                   "_image_normalize."))
register(OpDef("_backward_image_normalize", NormalizeParams, inputs=("out_grad",),
               outputs=("data_grad",), infer_shape=infer_shape_normalize, infer_type=same_type,
               compute=compute_normalize_backward, gradient=gradient_normalize, inplace={0: 0},
               is_backward=True))

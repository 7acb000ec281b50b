"""What operators on images share: their shapes, and bytes that do not wrap round."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ...dtypes import DType
from ...errors import ShapeError
from ...op.infer import ShapeList, same_shape
from ...op.registry import Emit, GradNode, Shape
from ..tensor.numeric import convert

DEPTHS = (1, 3)
# as in MXNet: it counts as if the image had been passed on as it is
SAME_GRADIENT = "The gradient is passed on as it is, as in MXNet."


def need_depth(shape: Shape, axis: int) -> None:
    """ShapeError where an image has neither one channel nor three."""
    if shape[axis] not in (-1, *DEPTHS):
        raise ShapeError(f"data has shape {shape}, expected 1 or 3 channels on axis "
                         f"{axis % len(shape)}")


def one_image(p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    """One image (height, width, 1 or 3) in, one out."""
    made = same_shape(p, ins, outs)
    data = made[0][0]
    if data is not None:
        if len(data) != 3:
            raise ShapeError(f"data has shape {data}, expected (height, width, channels)")
        need_depth(data, -1)
    return made


def need_images(shape: Shape | None) -> Shape | None:
    """(height, width, channels), or several of them; ShapeError where it is neither."""
    if shape is not None and len(shape) not in (3, 4):
        raise ShapeError(f"data has shape {shape}, expected (height, width, channels) or (N, "
                         "height, width, channels)")
    return shape


def single(x: AnyArray) -> AnyArray:
    """An image in single precision, in which colors are computed."""
    return x.astype(np.float32, copy=False)


def saturated(value: AnyArray, dtype: DType) -> AnyArray:
    """Single precision as the dtype of an image: bytes stay within theirs."""
    if dtype == np.uint8:
        value = np.clip(value, 0, 255)
    return convert(value, dtype)


def same_gradient(emit: Emit, node: GradNode, out_grads: Any) -> list[Any]:
    """The gradient of the output is that of the image."""
    return [out_grads[0]]

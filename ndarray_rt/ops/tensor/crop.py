"""Crop: a window of images, of a given size or of that of other images."""

from __future__ import annotations

from ...errors import ShapeError
from ...op.params import Params, boolean, integer, params_class, shape
from ...op.registry import Shape
from .windows import ALL, Window, register_window


@params_class
class CropParams(Params):
    num_args: int = integer(low=1, high=2, doc="2: the second input has the size of the window")
    offset: tuple[int, ...] = shape((0, 0), low=0, doc="first row and column of the window")
    h_w: tuple[int, ...] = shape((0, 0), low=0, doc="height and width where there is one input")
    center_crop: bool = boolean(False, doc="the window lies in the middle, offset is not read")


def input_names(p: CropParams) -> tuple[str, ...]:
    return ("data", "crop_like")[:p.num_args]


def window(p: CropParams, data: Shape, like: Shape | None) -> Window:
    if len(data) != 4 or (like is not None and len(like) != 4):
        raise ShapeError(f"data has shape {data}, crop_like {like}, expected rank 4")
    if len(p.offset) != 2 or len(p.h_w) != 2:
        raise ShapeError(f"offset={p.offset}, h_w={p.h_w}, expected two numbers each")
    sizes = p.h_w if p.num_args == 1 else (-1, -1) if like is None else like[2:]
    made: Window = [ALL, ALL]
    for what, axis in (("height", 2), ("width", 3)):
        size, length = sizes[axis - 2], data[axis]
        if -1 in (size, length):
            made.append(None)
            continue
        begin = (length - size) // 2 if p.center_crop else p.offset[axis - 2]
        if size < 1 or begin < 0 or begin + size > length:
            raise ShapeError(f"a window of {what} {size} from {begin} on is no part of data "
                             f"{data}")
        made.append(slice(begin, begin + size, 1))
    return made


register_window("Crop", CropParams, window,
                "A window of images (n, c, h, w).\n\nOf size h_w, or as high and wide as a second "
                "input, crop_like; in the middle, or from offset on. Raises ShapeError where it is "
                "no part of data.", inputs=input_names, num_args="num_args")

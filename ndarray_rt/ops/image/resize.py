"""_image_resize: images in another size."""

from __future__ import annotations

from math import prod

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError, TypeMismatch
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, boolean, integer, params_class, shape
from ...op.registry import OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels import vision as kernels
from ..floats import wide
from ..tensor.places import can_add
from ..vision.shared import plain
from .shapes import need_images
from .taps import LINEAR, resize

DTYPES = ("uint8", "float16", "float32", "float64")


@params_class
class ResizeParams(Params):
    size: tuple[int, ...] = shape((), low=1, doc="(width, height), or one length of both")
    keep_ratio: bool = boolean(False, doc="one length is that of the shorter side")
    interp: int = integer(1, low=0, high=4, doc="0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 "
                                                "Lanczos over 8 pixels")

    def sized(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the output; -1: not known yet."""
        if len(self.size) not in (1, 2):
            raise ShapeError(f"size={self.size}, expected (width, height) or one length")
        if len(self.size) == 2:
            return self.size[1], self.size[0]
        if not self.keep_ratio:
            return self.size[0], self.size[0]
        if -1 in (height, width):
            return -1, -1
        if height > width:
            return height * self.size[0] // max(width, 1), self.size[0]
        return self.size[0], width * self.size[0] // max(height, 1)


@params_class
class CvResizeParams(Params):
    w: int = integer(low=1, doc="the output's width")
    h: int = integer(low=1, doc="the output's height")
    interp: int = integer(1, low=0, high=4, doc="as for _image_resize")

    def sized(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the output."""
        return self.h, self.w


AnyResize = ResizeParams | CvResizeParams


def infer_shape(p: AnyResize, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data = need_images(ins[0])
    if data is None:
        p.sized(-1, -1)
        return ins, outs
    if 0 in data[-3:-1]:
        raise ShapeError(f"data has shape {data}: there is nothing to resize")
    size = p.sized(*data[-3:-1])
    if 0 in size:
        raise ShapeError(f"data of shape {data} would get height and width {size}")
    out = merge(outs[0], (*data[:-3], *size, data[-1]), "output shapes")
    if out is not None:
        data = (*out[:-3], *data[-3:-1], out[-1])
    return [data], [out]


def infer_type(p: AnyResize, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    if one is not None and one.name not in DTYPES:
        raise TypeMismatch(f"dtype {one} is none of {', '.join(DTYPES)}")
    return [one], [one]


def _images(shape: Shape) -> tuple[int, int, int, int]:
    """Images, height, width, channels."""
    return prod(shape[:-3]), shape[-3], shape[-2], shape[-1]


def compute(ctx: OpContext, p: AnyResize, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    out = outs[0]
    made = wide(ins[0]).reshape(_images(ins[0].shape))
    if made.size:
        made = resize(made, out.shape[-3], out.shape[-2], p.interp)
    out.write(made.reshape(out.shape).astype(ins[0].dtype, copy=False))


def refuses(p: AnyResize, ins: list[NDArray]) -> str | None:
    data = ins[0]
    if p.interp != LINEAR:
        return "the native kernel is bilinear"
    if data.dtype.name not in ("uint8", "float32"):
        return f"dtype {data.dtype} is neither uint8 nor float32"
    return None if data.size else "there is nothing to resize"


def compute_ex(ctx: OpContext, p: AnyResize, ins: list[NDArray], outs: list[Output]) -> None:
    out = outs[0]
    if not out.requested:
        return
    can_add(out)
    data = plain(ctx, ins[0])
    with out.open(default_desc(ins[0].dtype, out.shape), ctx.stream) as y:
        images, height, width, depth = _images(ins[0].shape)
        ctx.kernel(kernels.resize(
            out=y, data=data, images=images, height=height, width=width, depth=depth,
            rows=out.shape[-3], columns=out.shape[-2], dtype=data.desc.dtype_code))


register(OpDef("_image_resize", ResizeParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               no_gradient="MXNet has none: it is for data",
               doc="An image in another size.\n\n"
                   "data (height, width, channels) or (N, height, width, channels) of uint8 or "
                   "floats; the output has its dtype. Raises ShapeError for images of no pixels. "
                   "Source: MXNet's _image_resize; OpenCV's resize, whose bytes it gives."))
register(OpDef("_cvimresize", CvResizeParams, inputs=("src",), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               no_gradient="MXNet has none: it is for data",
               doc="An image in another size: _image_resize with height and width apart.\n\n"
                   "src (height, width, channels) of uint8 or floats; the output has its dtype. "
                   "Source: MXNet's _cvimresize."))

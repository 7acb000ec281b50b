"""Convolutions of images one pixel wide, run on the same bytes seen as images one pixel high:
oneDNN's kernels work along rows, and here each row has one pixel. Channels-last layouts only."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...cpu_level import Level
from ...dtypes import DType
from ...errors import Unsupported
from ...op.choose import CHANNELS_LAST, ONEDNN
from ...op.context import OpContext
from ...op.registry import Shape
from ...op.select import Implementation
from ...storage.desc import any_desc, channels_last_desc, default_desc
from ...storage.primitive import Direction, Kind, PostSpec, Primitive, make_primitive
from ..fused.post_ops import post_specs
from .conv_call import ConvolutionCall, run_over_channels_last
from .conv_geometry import Geometry


def is_column(geo: Geometry, data: Shape, out: Shape) -> bool:
    """The image and the window are one pixel wide."""
    return (geo.groups == 1 and len(geo.kernel) == 2 and geo.kernel[1] == data[3] == out[3] == 1
            and data[2] > 1)


def _accepts(ctx: OpContext, call: ConvolutionCall) -> str | None:
    is_one = is_column(call.geo, call.data.shape, call.out.shape)
    return None if is_one else "images are wider than one pixel, or channels are in groups"


def _run(ctx: OpContext, call: ConvolutionCall) -> None:
    data, weight, out = call.data, call.weight, call.out
    dtype, shapes = data.dtype, call.operand_shapes

    def build(in_place: bool) -> Primitive:
        dst = channels_last_desc(dtype, turned(out.shape))
        specs = post_specs(call.chain, dst, dtype, as_rows(shapes, out.shape), in_place)
        return along_rows(call.direction, data.shape, weight.shape, out.shape, dtype,
                          call.bias is not None, call.geo.fields(), specs)
    run_over_channels_last(ctx, call, "Convolution.column", build)


def turned(shape: Shape) -> Shape:
    """With the last two axes swapped."""
    return (*shape[:-2], shape[-1], shape[-2])


def along_rows(direction: Direction, data: Shape, weight: Shape, out: Shape, dtype: DType,
               has_bias: bool, fields: dict[str, Any],
               post_ops: Sequence[PostSpec] = ()) -> Primitive:
    """The convolution of turned images. Unsupported when oneDNN has no fast one."""
    steps: dict[str, Any] = {name: turned(value) for name, value in fields.items()}
    return make_primitive(Kind.CONVOLUTION, direction, post_ops=post_ops,
                          src=channels_last_desc(dtype, turned(data)),
                          weights=any_desc(dtype, turned(weight)),
                          bias=default_desc(dtype, out[1:2]) if has_bias else None,
                          dst=channels_last_desc(dtype, turned(out)),
                          **steps)


def as_rows(shapes: Sequence[Shape], out: Shape) -> list[Shape]:
    """Shapes of post-ops' operands where the result is turned; Unsupported when one of them has
    another rank, or numbers for the places of a column."""
    made: list[Shape] = []
    for shape in shapes:
        if shape != out and (len(shape) != len(out) or prod(shape) != shape[1]):
            raise Unsupported(f"an operand of shape {shape} is not turned with images")
        made.append(turned(shape))
    return made


COLUMN = Implementation[ConvolutionCall](
    "oneDNN convolution along rows", ONEDNN, _run, _accepts, layouts=(CHANNELS_LAST,),
    level=Level.AVX512)

"""Convolutions with a window of one pixel as products of matrices, which is what they are in
channels-last layouts: oneDNN's inner product computes them faster than its convolution does."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...dtypes import DType
from ...errors import Unsupported
from ...op.choose import BLOCKED, prefers_channels_last
from ...op.registry import Shape
from ...storage.desc import MemDesc, channels_last_desc, default_desc
from ...storage.primitive import Direction, Kind, PostSpec, Primitive, make_primitive
from .conv_geometry import Geometry

# of fewer channels than this oneDNN's convolution makes more channels at least as fast (measured
# with oneDNN 3.2 on AVX-512; its product is up to 2.7 times as fast elsewhere)
LEAST_CHANNELS = 48


def is_pointwise(geo: Geometry, data: Shape, out: Shape, family: str) -> bool:
    """It is a product of matrices, in a family of layouts."""
    return (geo.groups == 1 and data[2:] == out[2:] and set(geo.kernel) == {1}
            and set(geo.stride) == {1} and family != BLOCKED and prefers_channels_last())


def is_product(geo: Geometry, data: Shape, out: Shape, family: str) -> bool:
    """The same, and oneDNN's product is faster than its convolution."""
    return (is_pointwise(geo, data, out, family)
            and (data[1] >= LEAST_CHANNELS or out[1] <= data[1]))


def is_one_pixel(geo: Geometry, data: Shape, out: Shape) -> bool:
    """It makes one pixel of each image from its only one: rows of channels times a matrix."""
    return (geo.groups == 1 and set(geo.kernel) == {1} and not any(geo.pad + geo.pad_end)
            and prod(data[2:]) == prod(out[2:]) == 1)


def matrix_dims(shape: Shape) -> tuple[int, int]:
    """(pixels of the batch, channels)."""
    return prod(shape) // shape[1], shape[1]


def product(direction: Direction, data: Shape, weights: MemDesc, dtype: DType, has_bias: bool,
            post_ops: Sequence[PostSpec] = ()) -> Primitive:
    """The inner product; its weights have the dims of the convolution's, its result is a matrix.

    Unsupported when oneDNN has no fast one.
    """
    pixels, channels = matrix_dims(data)
    filters, _, *window = weights.dims
    return make_primitive(Kind.INNER_PRODUCT, direction, weights=weights, post_ops=post_ops,
                          src=default_desc(dtype, (pixels, channels, *window)),
                          bias=default_desc(dtype, (filters,)) if has_bias else None,
                          dst=default_desc(dtype, (pixels, filters)))


def outward(desc: MemDesc, dtype: DType, shape: Shape) -> MemDesc:
    """How an array of this shape sees what a convolution's primitive reads or writes as `desc`."""
    return desc if desc.dims == shape else channels_last_desc(dtype, shape)


def as_matrices(shapes: Sequence[Shape], out: Shape) -> list[Shape]:
    """Shapes of post-ops' operands where the result is seen as a matrix; Unsupported when one of
    them has none."""
    made: list[Shape] = []
    for shape in shapes:
        if shape == out:
            made.append(matrix_dims(out))
        elif prod(shape) == shape[1]:
            made.append((1, shape[1]))
        else:
            raise Unsupported(f"an operand of shape {shape} does not broadcast over a matrix")
    return made

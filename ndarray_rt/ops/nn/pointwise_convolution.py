"""1x1 convolutions as matrix products, which they are in channels-last layouts: oneDNN's inner
product is faster than its convolution, and the packed GEMM faster still for small images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from ...cpu_level import Level
from ...dtypes import DType
from ...errors import Unsupported
from ...op.calibration import (
    LEAST_CHANNELS,
    LEAST_WEIGHTS,
    MOST_FEATURES,
    MOST_OF_GROUP,
    MOST_PIXELS,
)
from ...op.choose import CHANNELS_LAST, NATIVE, ONEDNN, first_supported
from ...op.context import OpContext
from ...op.registry import Shape
from ...op.select import Implementation, seen_as
from ...storage.desc import MemDesc, channels_last_desc, default_desc, tagged_desc
from ...storage.primitive import Direction, Kind, PostSpec, Primitive, make_primitive
from ..fused.post_ops import post_specs
from .conv_call import ConvolutionCall, run_over_channels_last
from .conv_geometry import Geometry
from .gemm_weights import weight_layouts
from .packed_gemm import (
    MORE_IS_DONE,
    PACKED_GEMM,
    SKINNY_GEMM,
    GemmCall,
    operands,
    packed_for_pixels,
    run_packed_gemm,
)


def is_pointwise(geo: Geometry, data: Shape, out: Shape) -> bool:
    """It is a product of matrices, in channels-last layouts."""
    return geo.groups == 1 and _is_by_pixels(geo, data, out)


def _is_by_pixels(geo: Geometry, data: Shape, out: Shape) -> bool:
    """It is a product of matrices for each group."""
    return data[2:] == out[2:] and set(geo.kernel) == {1} and set(geo.stride) == {1}


def _is_one_pixel(geo: Geometry, data: Shape, out: Shape) -> bool:
    """It makes one pixel of each image from its only one: rows of channels times a matrix."""
    return (geo.groups == 1 and set(geo.kernel) == {1} and not any(geo.pad + geo.pad_end)
            and prod(data[2:]) == prod(out[2:]) == 1)


def matrix_dims(shape: Shape) -> tuple[int, int]:
    """(pixels of the batch, channels)."""
    return prod(shape) // shape[1], shape[1]


NOT_POINTWISE = "windows, strides or groups"

# ---- by native kernels --------------------------------------------------------------------------


def _of_one_pixel(call: ConvolutionCall) -> GemmCall | str:
    """The call as a product of rows, which are images of one pixel."""
    if not _is_one_pixel(call.geo, call.data.shape, call.out.shape):
        return "images are not of one pixel"
    return GemmCall(call.data.shape[0], call.data, call.weight, call.bias, call.out, call.epilogue,
                call.variant)


def accepts_pixels(ctx: OpContext, call: ConvolutionCall) -> str | None:
    geo, data, out = call.geo, call.data.shape, call.out.shape
    if call.epilogue is None:
        return MORE_IS_DONE
    if not _is_by_pixels(geo, data, out) or _is_one_pixel(geo, data, out):
        return "windows or strides"
    pixels, features = matrix_dims(data)
    if 0 in out or not 0 < pixels <= MOST_PIXELS or not 0 < features <= MOST_FEATURES:
        return f"more than {MOST_PIXELS} pixels or {MOST_FEATURES} channels, or none"
    return None


def _pays_for_pixels(ctx: OpContext, call: ConvolutionCall) -> str | None:
    filters, features = call.weight.shape[:2]
    if call.geo.groups > 1:
        return None if features <= MOST_OF_GROUP else f"a group reads {features} channels"
    if filters * features < LEAST_WEIGHTS:
        return f"fewer than {LEAST_WEIGHTS} weights"
    return None


def run_pixels(ctx: OpContext, call: ConvolutionCall, shuffled: int = 1) -> None:
    """Computes what `accepts_pixels` accepts; the data is read as its channels shuffled from
    `shuffled` groups."""
    data, weight, epilogue, groups = call.data, call.weight, call.epilogue, call.geo.groups
    assert epilogue is not None
    width, packed = packed_for_pixels(weight, groups)
    sources = operands(ctx, data, channels_last_desc(data.dtype, data.shape), weight, packed,
                       call.bias, groups)
    filters, features = weight.shape[:2]
    pixels, _ = matrix_dims(data.shape)
    run_packed_gemm(ctx, (pixels, features, filters // groups, width), sources, call.out,
                   channels_last_desc(data.dtype, call.out.shape), epilogue, groups, shuffled)


# ---- by oneDNN's inner product ------------------------------------------------------------------


def _accepts_product(ctx: OpContext, call: ConvolutionCall) -> str | None:
    data, out = call.data.shape, call.out.shape
    return None if is_pointwise(call.geo, data, out) else NOT_POINTWISE


def _pays_as_product(ctx: OpContext, call: ConvolutionCall) -> str | None:
    if call.data.shape[1] < LEAST_CHANNELS and call.out.shape[1] > call.data.shape[1]:
        return f"fewer than {LEAST_CHANNELS} channels, and more are made of them"
    return None


def _run_product(ctx: OpContext, call: ConvolutionCall) -> None:
    data, weight, out = call.data, call.weight, call.out
    dtype, shapes = data.dtype, call.operand_shapes

    def build(in_place: bool) -> Primitive:
        dst = default_desc(dtype, matrix_dims(out.shape))
        specs = post_specs(call.chain, dst, dtype, as_matrices(shapes, out.shape), in_place)
        return first_supported(
            partial(product, call.direction, data.shape, w, dtype, call.bias is not None, specs)
            for w in weight_layouts(weight, weight.shape))
    run_over_channels_last(ctx, call, "Convolution.product", build)


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


# ---- the gradient of the weights ----------------------------------------------------------------


def weight_product(data: Shape, weights: Shape, dtype: DType, has_bias: bool) -> Primitive:
    """The gradient of the weights: a product of the matrices of data and out_grad.

    Its rows are the wider side of the weights, which oneDNN's GEMM computes up to a tenth faster
    than the other way round (measured with 3.2 on AVX-512). Unsupported when oneDNN has no fast
    one.
    """
    pixels, channels = matrix_dims(data)
    filters = weights[0]
    order = "ba" if filters > channels else "ab"
    return make_primitive(Kind.INNER_PRODUCT, Direction.BACKWARD_WEIGHTS,
                          src=default_desc(dtype, (pixels, channels)),
                          diff_weights=tagged_desc(dtype, (filters, channels), order),
                          diff_bias=default_desc(dtype, (filters,)) if has_bias else None,
                          diff_dst=default_desc(dtype, (pixels, filters)))


def outward(desc: MemDesc, dtype: DType, shape: Shape) -> MemDesc:
    """How an array of this shape sees what a primitive reads as `desc`."""
    return desc if desc.dims == shape else channels_last_desc(dtype, shape)


def weight_outward(desc: MemDesc, dtype: DType, shape: Shape) -> MemDesc:
    """How the weights see what a primitive writes as `desc`."""
    if len(desc.dims) != 2:
        return desc
    order = "ab" if desc.is_default else "ba"
    return tagged_desc(dtype, shape, order + "cdefghijkl"[:len(shape) - 2])


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


ONE_PIXEL = tuple(seen_as(_of_one_pixel, one, f"{one.name} of one pixel")
                  for one in (SKINNY_GEMM, PACKED_GEMM))
PIXELS = Implementation[ConvolutionCall](
    "packed GEMM of pixels", NATIVE, run_pixels, accepts_pixels, _pays_for_pixels,
    lambda call: packed_for_pixels(call.weight, call.geo.groups)[1], layouts=(CHANNELS_LAST,))
PRODUCT = Implementation[ConvolutionCall](
    "oneDNN inner product", ONEDNN, _run_product, _accepts_product, _pays_as_product,
    layouts=(CHANNELS_LAST,), level=Level.AVX512)

"""_fused_normed_Convolution: a 1x1 convolution of several tensors, normalized before it.

Layers of dense blocks read the concatenation of all tensors before them along the channels, each
with its own factors and shifts. The concatenation is never materialized: one strip of pixels at a
time is gathered, normalized and rectified in a buffer that stays in a core's cache, and multiplied
by the weights there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import DType
from ...errors import ShapeError
from ...native import lib
from ...op import calibration
from ...op.choose import NATIVE, ONEDNN, first_supported
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.packing import weights
from ...op.params import choice, how_many, params_class
from ...op.registry import OpDef, Shape, register
from ...op.select import Implementation
from ...op.select import compute as select
from ...storage.desc import MemDesc, channels_last_desc, default_desc
from ...storage.kernels.gemm import packed_gemm
from ...storage.kernels.index import concat_scaled
from ...storage.primitive import Arg, Direction, Primitive
from ...storage.stream import Mem
from ..blas import uses_blas
from ..floats import same_float_type, wide
from ..nn import convolution as plain
from ..nn.conv_costs import convolution_cost
from ..nn.gemm_weights import weight_layouts
from ..nn.packed_gemm import MORE_IS_DONE, packed_for_pixels
from ..nn.pointwise_convolution import product
from .params import PostOpParams
from .post_ops import apply_chain, chain_bounds, num_operands, post_specs

# (rows, data, result): multiplies rows by the weight
Multiply = Callable[[int, Mem, Mem], None]

ROWS_STEP = 16


@params_class
class NormedConvolutionParams(plain.ConvolutionParams, PostOpParams):
    num_args: int = how_many(doc="how many tensors are concatenated")
    act_type: str = choice("relu", "none", default="relu",
                           doc="what is done to the normalized values")


def input_names(p: NormedConvolutionParams) -> tuple[str, ...]:
    tail = ("scale", "shift", "weight") if p.no_bias else ("scale", "shift", "weight", "bias")
    return (*(f"data{i}" for i in range(p.num_args)), *tail)


def infer_shape(p: NormedConvolutionParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    n, rank = p.num_args, len(p.kernel) + 2
    if (set(p.kernel) != {1} or set(p.stride) - {1} or set(p.pad) - {0} or p.num_group != 1
            or num_operands(p.chain)):
        raise ShapeError(f"kernel {p.kernel}, stride {p.stride}, pad {p.pad}, num_group "
                         f"{p.num_group}, post_ops {p.post_ops!r}: expected a window of one pixel, "
                         "one group and no operands")
    parts = ins[:n]
    base: Shape | None = None
    given = [shape for shape in parts if shape is not None]
    for shape in given:
        if len(shape) != rank:
            raise ShapeError(f"data has shape {shape}, expected rank {rank}")
    # most often of one shape but for their channels, and there may be many
    opened = dict.fromkeys((shape[0], -1, *shape[2:]) for shape in given)
    for shape in opened:
        base = merge(base, shape, "data but for their channels")
    if outs[0] is not None:
        base = merge(base, (outs[0][0], -1, *outs[0][2:]), "data and output")
    if base is not None and [*opened] != [base]:
        parts = [merge(shape, base) if shape is not None else None for shape in parts]
    channels = -1
    if len(given) == n and -1 not in (widths := [shape[1] for shape in given]):
        channels = sum(widths)
    whole = (-1, channels, *[-1] * (rank - 2)) if base is None else (base[0], channels, *base[2:])
    (_, weight, *bias), (out,) = plain.infer_shape(p, [whole, *ins[n + 2:]], outs)
    assert weight is not None
    vector = merge(merge(ins[n], ins[n + 1], "scale and shift"), (weight[1],), "channels")
    return [*parts, vector, vector, weight, *bias], [out if base is not None else outs[0]]


@uses_blas
def compute(ctx: OpContext, p: NormedConvolutionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    parts, (scale, shift, weight, *bias) = ins[:p.num_args], map(wide, ins[p.num_args:])
    x = np.moveaxis(np.concatenate([wide(part) for part in parts], axis=1), 1, -1)
    x = x * scale + shift
    if p.act_type == "relu":
        x = np.where(x > 0, x, 0)
    y = x @ weight.reshape(weight.shape[:2]).T
    if bias:
        y = y + bias[0]
    made = apply_chain(p.chain, np.moveaxis(y, -1, 1), ())
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def refuses(p: NormedConvolutionParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def _strips(pixels: int, channels: int) -> list[tuple[int, int]]:
    """[begin, end) of the pixels that are worked on at a time: all alike but the last."""
    room = calibration.STRIP_BYTES * int(lib.ndrt_threads_get())
    count = min(-(-pixels * channels * 4 // room), calibration.MOST_STRIPS)
    rows = -(-pixels // (count * ROWS_STEP)) * ROWS_STEP
    return [(begin, min(begin + rows, pixels)) for begin in range(0, pixels, rows)]


def compute_ex(ctx: OpContext, p: NormedConvolutionParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    n, stream, out = p.num_args, ctx.stream, outs[0].shape
    parts, scale, shift, weight = ins[:n], *ins[n:n + 3]
    dtype = weight.dtype
    widths = [part.shape[1] for part in parts]
    channels, pixels = scale.shape[0], prod(out) // out[1]
    image = prod(out[2:])
    # products of large images know nothing of the batch and serve all batches
    piece = image if image > calibration.MOST_NORMED_PIXELS else pixels
    strips = _strips(piece, channels)
    bias = None if p.no_bias else ins[n + 3]
    call = _Product(p, pixels, channels, strips, weight, bias, [])
    select(ctx, PRODUCTS, call)
    (multiply,) = call.found
    sources = [get_data_reorder(part, channels_last_desc(dtype, part.shape), stream)
               for part in parts]
    factors, shifts = get_default(scale, stream), get_default(shift, stream)
    rows = stream.scratch(default_desc(dtype, (strips[0][1], channels)))
    relu = p.act_type == "relu"
    # arrays that one call gathers, and the column that they begin at
    groups = [(first, sum(widths[:first]), widths[first:first + lib.NDRT_SCALED_MOST])
              for first in range(0, n, lib.NDRT_SCALED_MOST)]
    with outs[0].open(channels_last_desc(dtype, out), stream) as made:
        for begin, end in [(first + begin, first + end) for first in range(0, pixels, piece)
                           for begin, end in strips]:
            for first, column, columns in groups:
                at = column * dtype.itemsize
                given = [source.behind(begin * width * dtype.itemsize) for source, width
                         in zip(sources[first:], columns, strict=False)]
                ctx.kernel(concat_scaled(
                    out=rows.behind(at), factors=factors.behind(at), shifts=shifts.behind(at),
                    parts=given, rows=end - begin, columns=channels, rectify=relu,
                    widths=columns))
            multiply(end - begin, rows, made.behind(begin * out[1] * dtype.itemsize))


class _Product(NamedTuple):
    """The products of strips of pixels, of this many channels, with the weight.

    An implementation leaves the function that multiplies a strip in `found`.
    """

    params: NormedConvolutionParams
    pixels: int
    channels: int
    strips: list[tuple[int, int]]
    weight: NDArray
    bias: NDArray | None
    found: list[Multiply]
    variant: str = ""  # strips are rows, whatever layouts the plan has


def _accepts_packed(ctx: OpContext, call: _Product) -> str | None:
    return MORE_IS_DONE if chain_bounds(call.params.chain) is None else None


def _pays_packed(ctx: OpContext, call: _Product) -> str | None:
    if call.pixels > calibration.MOST_NORMED_PIXELS:
        return f"there are more than {calibration.MOST_NORMED_PIXELS} pixels"
    return None


def _find_packed(ctx: OpContext, call: _Product) -> None:
    """Needs no code written for each number of rows and channels."""
    p, weight, bias, bounds = call.params, call.weight, call.bias, chain_bounds(call.params.chain)
    channels = call.channels
    assert bounds is not None
    width, packed = packed_for_pixels(weight)
    w = weights(ctx, weight, packed)
    b = None if bias is None else get_default(bias, ctx.stream)
    low, high = bounds

    def multiply(count: int, rows: Mem, made: Mem) -> None:
        ctx.kernel(packed_gemm(out=made, data=rows, weights=w, bias=b, rows=count,
                            features=channels, columns=p.num_filter, width=width, groups=1,
                            shuffled=1, low=low, high=high))
    call.found.append(multiply)


def _find_onednn(ctx: OpContext, call: _Product) -> None:
    p, channels, strips = call.params, call.channels, call.strips
    weight, bias = call.weight, call.bias

    def build() -> dict[int, Primitive]:
        """One for each number of rows, all with the weights in the same layout."""
        made: dict[int, Primitive] = {}
        for begin, end in strips:
            if end - begin not in made:
                layouts = ([made[strips[0][1]].weights] if made
                           else weight_layouts(weight, weight.shape))
                made[end - begin] = first_supported(
                    partial(_product, p, end - begin, channels, w, weight.dtype) for w in layouts)
        return made
    counts = {end - begin for begin, end in strips}
    with ctx.any_batch():
        prims = ctx.primitive(("normed_Convolution", p, channels, *sorted(counts)), build)
    constant = [(Arg.WEIGHTS, weights(ctx, weight, prims[strips[0][1]].weights))]
    if bias is not None:
        constant.append((Arg.BIAS, get_default(bias, ctx.stream)))

    def multiply(count: int, rows: Mem, made: Mem) -> None:
        prim = prims[count]
        ctx.run(prim, [(Arg.SRC, rows.as_desc(prim.src)), *constant,
                       (Arg.DST, made.as_desc(prim.dst))])
    call.found.append(multiply)


PRODUCTS = (
    Implementation[_Product]("packed GEMM of strips", NATIVE, _find_packed, _accepts_packed,
                             _pays_packed, lambda call: packed_for_pixels(call.weight)[1]),
    Implementation[_Product]("oneDNN inner product of strips", ONEDNN, _find_onednn))


def _product(p: NormedConvolutionParams, rows: int, channels: int, w: MemDesc,
             dtype: DType) -> Primitive:
    dst = default_desc(dtype, (rows, p.num_filter))
    return product(Direction.FORWARD_INFERENCE, (rows, channels, *w.dims[2:]), w, dtype,
                   not p.no_bias, post_specs(p.chain, dst, dtype, (), False))


def flops(p: NormedConvolutionParams, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions of the product."""
    return 2 * prod(outs[0]) * prod(ins[p.num_args])


register(OpDef("_fused_normed_Convolution", NormedConvolutionParams, inputs=input_names,
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, is_fused=True,
               no_gradient="it is for inference", per_sample=True, flops=flops,
               layout_cost=convolution_cost,
               doc="A 1x1 convolution of tensors concatenated along the channels, after each "
                   "channel was multiplied, shifted and rectified.\n\n"
                   "data0 to dataN (N, channels, ...), scale and shift (all channels,), weight "
                   "(num_filter, all channels, 1, ...), bias (num_filter,). Made by passes. "
                   "Source: oneDNN inner product with post-ops, and a kernel that gathers."))

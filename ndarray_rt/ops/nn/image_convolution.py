"""A convolution of a batch by a primitive of one image, run for each of its images.

Making a primitive takes about as long as running it on an image, as code is generated for its
shape. A primitive for one image serves all batch sizes, and the weights, packed once for all of
them, stay in the caches from one image to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..._array.layout import get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...cpu_level import Level
from ...dtypes import FLOAT32
from ...native import lib
from ...op import calibration
from ...op.choose import ONEDNN, layout_desc
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...op.packing import weights
from ...op.registry import Shape
from ...op.select import Implementation
from ...storage.desc import MemDesc, any_desc, default_desc
from ...storage.primitive import Arg, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from ..fused.post_ops import operand_desc, post_specs
from ..fused.run import Fused, choose
from .column_convolution import is_column
from .conv_call import ConvolutionCall


def _accepts(ctx: OpContext, call: ConvolutionCall) -> str | None:
    if call.is_train:
        return "training"
    if ctx.shapes is None:
        # what such calls make for shapes that change is kept once, not for samples as well
        return "a call that is part of no graph"
    if call.geo.groups != 1 or prod(call.geo.kernel) == 1 or not call.out.shape[0]:
        return "groups, a window of one pixel, or no images"
    if is_column(call.geo, call.data.shape, call.out.shape):
        return "images are one pixel wide"
    return None


def _pays(ctx: OpContext, call: ConvolutionCall) -> str | None:
    work = prod(call.out.shape[1:]) * prod(call.weight.shape[1:])
    if work < lib.ndrt_threads_get() * calibration.LEAST_IMAGE_WORK:
        return f"an image takes fewer than {calibration.LEAST_IMAGE_WORK} multiply-adds a thread"
    return None


def _compute(ctx: OpContext, call: ConvolutionCall) -> None:
    data, weight, bias, out, chain = call.data, call.weight, call.bias, call.out, call.chain
    operands, variant = call.operands, call.variant

    def build(in_place: bool) -> Primitive:
        dst = layout_desc(FLOAT32, _image(out.shape), variant)
        shapes = [_image(operand.shape) for operand in operands]
        return make_primitive(
            Kind.CONVOLUTION, call.direction,
            src=layout_desc(FLOAT32, _image(data.shape), variant),
            weights=any_desc(FLOAT32, weight.shape),
            bias=None if bias is None else default_desc(FLOAT32, bias.shape), dst=dst,
            post_ops=post_specs(chain, dst, FLOAT32, shapes, in_place), **call.geo.fields())
    sign = ("Convolution.image", call.params, weight.shape, _image(data.shape),
            *(_image(operand.shape) for operand in operands))
    seen = layout_desc(FLOAT32, out.shape, variant)
    with ctx.any_batch():
        fused = choose(ctx, sign, build, chain, operands, out, seen)
    # the weight first: converting it may move its memory
    given = [_Given(Arg.WEIGHTS, weights(ctx, weight, fused.prim.weights, 1))]
    src = get_data_reorder(data, layout_desc(FLOAT32, data.shape, variant), ctx.stream)
    given.append(_Given(Arg.SRC, src.as_desc(fused.prim.src), fused.prim.src.nbytes))
    if bias is not None:
        given.append(_Given(Arg.BIAS, get_default(bias, ctx.stream)))
    _run(ctx, fused, chain, operands, out, given, seen)


def _image(shape: Shape) -> Shape:
    """The shape of one image of a batch."""
    return (1, *shape[1:])


class _Given(NamedTuple):
    """An argument of the first image, and the stride in bytes to that of the next one."""

    arg: int
    mem: Mem
    step: int = 0

    def of(self, image: int) -> tuple[int, Mem]:
        return self.arg, self.mem.behind(image * self.step)


def _run(ctx: OpContext, fused: Fused, chain: Chain, operands: Sequence[NDArray], out: Output,
         given: list[_Given], seen: MemDesc) -> None:
    """Runs the primitive for each image, in the order of the batch."""
    prim, stream = fused.prim, ctx.stream
    given += _operands(ctx, fused, chain, operands, seen)

    def run_all(mem: Mem) -> None:
        everything = [*given, _Given(Arg.DST, mem.as_desc(prim.dst), prim.dst.nbytes)]
        ctx.run_each(prim, ([argument.of(image) for argument in everything]
                            for image in range(out.shape[0])))
    if fused.in_place:
        run_all(get_data_reorder(operands[0], seen, stream))
        return
    with out.open(seen, stream) as mem:
        run_all(mem)


def _operands(ctx: OpContext, fused: Fused, chain: Chain, operands: Sequence[NDArray],
              seen: MemDesc) -> list[_Given]:
    """The operands of post-ops, except one that the destination holds; the same for each image if
    broadcast along the batch."""
    made: list[_Given] = []
    positions = [i for i, op in enumerate(chain) if op.has_operand]
    for i, operand in [*zip(positions, operands, strict=True)][int(fused.in_place):]:
        own = operand_desc(_image(operand.shape), fused.prim.dst, FLOAT32)
        whole = own
        if operand.shape[0] > 1:
            whole = operand_desc(operand.shape, seen, FLOAT32)
        mem = get_data_reorder(operand, whole, ctx.stream).as_desc(own)
        made.append(_Given(Arg.POST_OP * (i + 1) + Arg.SRC_1, mem,
                           own.nbytes if operand.shape[0] > 1 else 0))
    return made


IMAGES = Implementation[ConvolutionCall](
    "oneDNN convolution for each image", ONEDNN, _compute, _accepts, _pays, level=Level.AVX512)

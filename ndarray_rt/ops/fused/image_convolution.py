"""A convolution of a batch by a primitive of one image, run for each of its images.

Making a primitive for a window takes about as long as running it on an image, as its code is
written for the shape. One that knows nothing of the batch serves all batches, and its weights,
packed once for all of them, stay in the caches from one image to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..._array.layout import get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...cpu_level import has_avx512
from ...dtypes import FLOAT32
from ...errors import Unsupported
from ...native import lib
from ...op.choose import family_desc
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...op.packing import weights
from ...storage.desc import MemDesc, any_desc, default_desc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from ..nn import convolution as plain
from .post_ops import operand_desc, post_specs
from .run import Fused, choose

Shape = tuple[int, ...]

# Multiply-adds of an image, for each thread that shares them out, from which this takes as long as
# one primitive of the whole batch within 5 % (measured with images of 7x7 to 56x56; within 3 % from
# 12 million on, with 2 million up to 25 % longer). Such layers take little of a network's time.
LEAST_WORK = 3_000_000


def convolve_images(ctx: OpContext, p: plain.ConvolutionParams, chain: Chain, data: NDArray,
                    weight: NDArray, bias: NDArray | None, operands: Sequence[NDArray],
                    out: Output) -> bool:
    """Writes the convolution and what the chain makes of it.

    False where another implementation is to do it: the window is of one pixel, channels are in
    groups, an image is too little work, oneDNN has no fast kernel for the layouts, or the CPU has
    no AVX-512.
    """
    if not _pays(p, weight.shape, out.shape):
        return False

    def build(in_place: bool) -> Primitive:
        dst = family_desc(FLOAT32, _image(out.shape), ctx.family)
        shapes = [_image(operand.shape) for operand in operands]
        return make_primitive(
            Kind.CONVOLUTION, Direction.FORWARD_INFERENCE,
            src=family_desc(FLOAT32, _image(data.shape), ctx.family),
            weights=any_desc(FLOAT32, weight.shape),
            bias=None if bias is None else default_desc(FLOAT32, bias.shape), dst=dst,
            post_ops=post_specs(chain, dst, FLOAT32, shapes, in_place), **plain.fields(p))
    sign = ("Convolution.image", p, weight.shape, _image(data.shape),
            *(_image(operand.shape) for operand in operands))
    seen = family_desc(FLOAT32, out.shape, ctx.family)
    try:
        with ctx.any_batch():
            fused = choose(ctx, sign, build, chain, operands, out, seen)
    except Unsupported:
        return False
    # the weight first: converting it may move its memory
    given = [_Given(Arg.WEIGHTS, weights(ctx, weight, fused.prim.weights, 1))]
    src = get_data_reorder(data, family_desc(FLOAT32, data.shape, ctx.family), ctx.stream)
    given.append(_Given(Arg.SRC, src.as_desc(fused.prim.src), fused.prim.src.nbytes))
    if bias is not None:
        given.append(_Given(Arg.BIAS, get_default(bias, ctx.stream)))
    _run(ctx, fused, chain, operands, out, given, seen)
    return True


def _pays(p: plain.ConvolutionParams, weight: Shape, out: Shape) -> bool:
    work = prod(out[1:]) * prod(weight[1:])
    return (work >= lib.ndrt_threads_get() * LEAST_WORK and out[0] > 0
            and p.num_group == 1 and prod(p.kernel) > 1 and has_avx512())


def _image(shape: Shape) -> Shape:
    """That of one image of a batch."""
    return (1, *shape[1:])


class _Given(NamedTuple):
    """An argument of the first image, and how many bytes further that of each next one is."""

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
    """What post-ops read, but what the destination holds; the same for each image where it is
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

"""Pooling through oneDNN, whatever operator asks for it. Knows no operator's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

from ..._array.layout import get_data, get_data_reorder
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...dtypes import FLOAT32
from ...errors import ParameterError, Unsupported
from ...native import lib
from ...op.choose import first_supported
from ...op.context import OpContext
from ...storage.desc import MemDesc, any_desc, channels_last_desc, tagged_desc
from ...storage.primitive import Arg, Direction, Kind, PostSpec, Primitive, make_primitive
from ...storage.stream import Mem
from .pool_window import Windows

# Elements that the windows of an image read, for each thread that shares them out, from which a
# primitive of one image, run for each, takes as long as one of the whole batch (measured with
# images of 7x7 to 112x112, in batches of 2 and 16; with 40,000 it takes up to 7 % longer).
LEAST_WORK = 100_000


class PoolKernel(NamedTuple):
    """An algorithm of oneDNN over windows; its result is multiplied by `scale`.

    With `channels_last` the arrays' own axes are (N, *spatial, C).
    """

    alg: int
    win: Windows
    channels_last: bool
    scale: float = 1.0

    def fields(self) -> dict[str, Any]:
        """The window as oneDNN wants it: the end's padding as far as windows reach."""
        win = self.win
        axes = range(len(win.kernel))
        return {"alg": self.alg, "kernel": win.kernel, "strides": win.stride,
                "dilates": (0,) * len(win.kernel), "pad_l": win.pad,
                "pad_r": tuple(max(0, win.beyond(axis)) for axis in axes)}

    def inward(self, desc: MemDesc) -> MemDesc:
        """A layout of an array as oneDNN names its axes: (N, C, *spatial)."""
        n = desc.ndims
        return desc.permuted((0, n - 1, *range(1, n - 1))) if self.channels_last else desc

    def outward(self, desc: MemDesc) -> MemDesc:
        """The other way round."""
        n = desc.ndims
        return desc.permuted((0, *range(2, n), 1)) if self.channels_last else desc


def _with_dims(desc: MemDesc, dims: tuple[int, ...]) -> MemDesc | None:
    """The same order of axes and blocks for other dims; None for what no letters describe."""
    if desc.dtype_name != "float32":
        return None
    letters = "abcdefghijkl"
    order = sorted(range(desc.ndims), key=lambda d: (-desc.strides[d], d))
    outer = "".join(letters[d].upper() if d in desc.inner_idxs else letters[d] for d in order)
    inner = "".join(f"{b}{letters[d]}"
                    for b, d in zip(desc.inner_blks, desc.inner_idxs, strict=True))
    try:
        return tagged_desc(FLOAT32, dims, outer + inner)
    except (ParameterError, Unsupported):
        return None


def run_forward(ctx: OpContext, kernel: PoolKernel, data: NDArray, out: Output,
                post_ops: tuple[PostSpec, ...] = ()) -> None:
    """The output in the layout of the data, where oneDNN is fast there, else channels-last.

    `post_ops`: functions of the result that is not scaled yet; then it is not scaled here.
    """
    stream = ctx.stream
    given = kernel.inward(get_data(data, stream).desc)
    if _pool_images(ctx, kernel, data, given, out, post_ops):
        return
    prim = ctx.primitive(("pooling.forward", kernel, given.id, post_ops),
                         partial(_forward, kernel, given, post_ops))
    scaling = None if post_ops else _scaling(ctx, kernel, prim.dst)
    x = get_data_reorder(data, kernel.outward(prim.src), stream).as_desc(prim.src)
    with out.open(kernel.outward(prim.dst), stream) as made:
        y = made.as_desc(prim.dst)
        ctx.run(prim, ((Arg.SRC, x), (Arg.DST, y)))
        if scaling is not None:
            ctx.run(scaling, ((Arg.SRC, y), (Arg.DST, y)))


def _forward(kernel: PoolKernel, given: MemDesc, post_ops: tuple[PostSpec, ...]) -> Primitive:
    make = partial(make_primitive, Kind.POOLING, Direction.FORWARD_INFERENCE,
                   dst=any_desc(FLOAT32, (*given.dims[:2], *kernel.win.out)), post_ops=post_ops,
                   **kernel.fields())
    return first_supported(partial(make, src=src) for src in _layouts(given))


def _pool_images(ctx: OpContext, kernel: PoolKernel, data: NDArray, given: MemDesc, out: Output,
                 post_ops: tuple[PostSpec, ...]) -> bool:
    """The same by a primitive of one image, which batches of all sizes share, run for each image.

    False where an image is too little work for that, the result is to be scaled, the layout is
    another one than channels-last or oneDNN has no fast kernel for it.
    """
    dims, win = given.dims, kernel.win
    work = dims[1] * prod(win.out) * prod(win.kernel)
    if (work < lib.ndrt_threads_get() * LEAST_WORK or not dims[0] or ctx.is_train
            or (kernel.scale != 1.0 and not post_ops)
            or given.same_as != channels_last_desc(FLOAT32, dims).same_as):
        return False
    image = channels_last_desc(FLOAT32, (1, *dims[1:]))
    made = channels_last_desc(FLOAT32, (dims[0], dims[1], *win.out))
    with ctx.any_batch():
        prim = ctx.primitive(("pooling.image", kernel, image.id, post_ops),
                             partial(_forward, kernel, image, post_ops))
    if (prim.src.same_as != image.same_as
            or prim.dst.same_as != channels_last_desc(FLOAT32, (1, *made.dims[1:])).same_as):
        return False
    x = get_data_reorder(data, kernel.outward(given), ctx.stream).as_desc(prim.src)
    with out.open(kernel.outward(made), ctx.stream) as mem:
        y = mem.as_desc(prim.dst)
        ctx.run_each(prim, (((Arg.SRC, x.behind(i * prim.src.nbytes)),
                             (Arg.DST, y.behind(i * prim.dst.nbytes))) for i in range(dims[0])))
    return True


def _layouts(given: MemDesc) -> list[MemDesc]:
    """What to try for data in a layout: that, then channels-last, which always has a kernel."""
    return list(dict.fromkeys((given, channels_last_desc(FLOAT32, given.dims))))


def _scaling(ctx: OpContext, kernel: PoolKernel, desc: MemDesc) -> Primitive | None:
    """Multiplies by the kernel's scale; None when there is nothing to multiply by."""
    if kernel.scale == 1.0:
        return None

    def build() -> Primitive:
        return make_primitive(Kind.ELTWISE, Direction.FORWARD_INFERENCE,
                              alg=lib.NDRT_ELTWISE_LINEAR, src=desc, dst=desc,
                              alpha=kernel.scale)
    return ctx.primitive(("pooling.scale", kernel.scale, desc.id), build)


def run_backward(ctx: OpContext, kernel: PoolKernel, out_grad: NDArray, data: NDArray,
                 grad: Output) -> None:
    """The gradient for the data. Reads the data's values for maxima only."""
    if kernel.alg == lib.NDRT_POOLING_MAX:
        _max_backward(ctx, kernel, out_grad, data, grad)
    else:
        _average_backward(ctx, kernel, out_grad, data, grad)


def _backward(kernel: PoolKernel, src: MemDesc, dst: MemDesc) -> Primitive:
    return make_primitive(Kind.POOLING, Direction.BACKWARD_DATA, diff_src=src, diff_dst=dst,
                          **kernel.fields())


def _max_backward(ctx: OpContext, kernel: PoolKernel, out_grad: NDArray, data: NDArray,
                  grad: Output) -> None:
    """Runs the forward once more: it alone says which element of a window was the maximum."""
    stream = ctx.stream
    given = kernel.inward(get_data(data, stream).desc)
    out_dims = any_desc(FLOAT32, (*given.dims[:2], *kernel.win.out))

    def pair(src: MemDesc) -> tuple[Primitive, Primitive]:
        forward = make_primitive(Kind.POOLING, Direction.FORWARD_TRAINING, src=src, dst=out_dims,
                                 **kernel.fields())
        return forward, _backward(kernel, src, forward.dst)

    def build() -> tuple[Primitive, Primitive]:
        return first_supported(partial(pair, src) for src in _layouts(given))
    forward, backward = ctx.primitive(("pooling.max_backward", kernel, given.id), build)
    x = get_data_reorder(data, kernel.outward(forward.src), stream).as_desc(forward.src)
    dy = get_data_reorder(out_grad, kernel.outward(backward.diff_dst), stream)
    places = stream.scratch(forward.desc(Arg.WORKSPACE))
    ctx.run(forward, ((Arg.SRC, x), (Arg.DST, stream.scratch(forward.dst)),
                      (Arg.WORKSPACE, places)))
    _run_into(ctx, kernel, backward, dy, grad, ((Arg.WORKSPACE, places),))


def _average_backward(ctx: OpContext, kernel: PoolKernel, out_grad: NDArray, data: NDArray,
                      grad: Output) -> None:
    stream = ctx.stream
    given = kernel.inward(get_data(out_grad, stream).desc)
    src_dims = (*given.dims[:2], *kernel.win.data)
    last = channels_last_desc(FLOAT32, given.dims)

    def build() -> Primitive:
        pairs = [(last, channels_last_desc(FLOAT32, src_dims))]
        alike = _with_dims(given, src_dims)
        # one pixel of channels in the default layout is channels-last as well: that is faster
        if alike is not None and given.same_as != last.same_as:
            pairs.insert(0, (given, alike))
        return first_supported(partial(_backward, kernel, src, dst) for dst, src in pairs)
    prim = ctx.primitive(("pooling.backward", kernel, given.id), build)
    scaling = _scaling(ctx, kernel, prim.diff_dst)
    dy = get_data_reorder(out_grad, kernel.outward(prim.diff_dst), stream)
    if scaling is not None:
        scaled = stream.scratch(prim.diff_dst)
        ctx.run(scaling, ((Arg.SRC, dy.as_desc(prim.diff_dst)), (Arg.DST, scaled)))
        dy = scaled
    _run_into(ctx, kernel, prim, dy, grad, ())


def _run_into(ctx: OpContext, kernel: PoolKernel, prim: Primitive, dy: Mem, grad: Output,
              more: Sequence[tuple[int, Mem]]) -> None:
    with grad.open(kernel.outward(prim.diff_src), ctx.stream) as dx:
        ctx.run(prim, [(Arg.DIFF_DST, dy.as_desc(prim.diff_dst)),
                       (Arg.DIFF_SRC, dx.as_desc(prim.diff_src)), *more])

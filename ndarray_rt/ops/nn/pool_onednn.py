"""Pooling through oneDNN, whatever operator asks for it. Knows no operator's parameters.

oneDNN loses the maximum of a window of nothing but NaN, -infinity and the lowest finite number; a
native kernel (native/kernels/pool/lost_maxima.c) then does that window again. Looking for such
windows is not cheap beside maxima of channels that lie side by side: these are all taken by a
native kernel (native/kernels/pool/max_pool.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple, TypedDict

import numpy as np

from ..._array.layout import get_data, get_data_reorder
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...dtypes import FLOAT32, INT32, UINT8, DType
from ...errors import ParameterError, Unsupported
from ...native import lib
from ...op import calibration
from ...op.choose import NATIVE, ONEDNN, first_supported
from ...op.context import OpContext
from ...op.select import Implementation, compute
from ...storage.desc import (
    MemDesc,
    any_desc,
    blocked_desc,
    channels_last_desc,
    default_desc,
    tagged_desc,
)
from ...storage.kernels.pool import lost_maxima, max_pool
from ...storage.primitive import (
    Arg,
    Direction,
    Kind,
    PostSpec,
    Primitive,
    eltwise_post,
    make_primitive,
)
from ...storage.stream import Mem
from .pool_window import Windows


class PoolKernel(NamedTuple):
    """An algorithm of oneDNN over windows; its result is multiplied by `scale`.

    With `channels_last` the arrays' own axes are (N, *spatial, C).
    """

    alg: int
    win: Windows
    channels_last: bool
    scale: float = 1.0

    @property
    def is_max(self) -> bool:
        return bool(self.alg == lib.NDRT_POOLING_MAX)

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


class PoolCall(NamedTuple):
    """Pooling of data in the layout `given`, as oneDNN names its axes.

    `post_ops` are done by its primitive; what is `behind` needs a primitive of its own.
    """

    kernel: PoolKernel
    data: NDArray
    given: MemDesc
    out: Output
    asked: tuple[PostSpec, ...]
    is_train: bool
    variant: str = ""  # what there is for a plan to choose from follows the data's layout

    @property
    def weight(self) -> NDArray:
        return self.data

    @property
    def post_ops(self) -> tuple[PostSpec, ...]:
        return () if self._go_behind else self.asked

    @property
    def behind(self) -> tuple[PostSpec, ...]:
        if self._go_behind:
            return self.asked
        if self.kernel.scale != 1.0 and not self.asked:
            return (eltwise_post(lib.NDRT_ELTWISE_LINEAR, self.kernel.scale, 0.0),)
        return ()

    @property
    def _go_behind(self) -> bool:
        """oneDNN's loses maxima, and the first function does not hide that."""
        return bool(self.asked) and self.kernel.is_max and not _gives_one_for_lost(self.asked[0])


def run_forward(ctx: OpContext, kernel: PoolKernel, data: NDArray, out: Output,
                post_ops: tuple[PostSpec, ...] = ()) -> None:
    """The output in the layout of the data, where oneDNN is fast there, else channels-last.

    `post_ops`: functions of the result that is not scaled yet; then it is not scaled here.
    """
    given = kernel.inward(get_data(data, ctx.stream).desc)
    compute(ctx, FORWARD, PoolCall(kernel, data, given, out, post_ops, ctx.is_train))


def _run_onednn(ctx: OpContext, call: PoolCall) -> None:
    kernel, post_ops, stream = call.kernel, call.post_ops, ctx.stream
    prim, where = ctx.primitive(("pooling.forward", kernel, call.given.id, post_ops),
                                partial(_forward, kernel, call.given, post_ops))
    functions = [_function(ctx, spec, prim.dst) for spec in call.behind]
    x = get_data_reorder(call.data, kernel.outward(prim.src), stream).as_desc(prim.src)
    with call.out.open(kernel.outward(prim.dst), stream) as made:
        y = made.as_desc(prim.dst)
        ctx.run(prim, ((Arg.SRC, x), (Arg.DST, y)))
        if kernel.is_max and not post_ops:
            _find_lost(ctx, kernel, where, y, x)
        for function in functions:
            ctx.run(function, ((Arg.SRC, y), (Arg.DST, y)))


def _forward(kernel: PoolKernel, given: MemDesc, post_ops: tuple[PostSpec, ...],
             ) -> tuple[Primitive, _Lanes]:
    dst = any_desc(FLOAT32, (*given.dims[:2], *kernel.win.out))

    def make(src: MemDesc) -> tuple[Primitive, _Lanes]:
        prim = make_primitive(Kind.POOLING, Direction.FORWARD_INFERENCE, src=src, dst=dst,
                              post_ops=post_ops, **kernel.fields())
        return prim, _lanes(prim.src, prim.dst) if kernel.is_max else _Lanes(0, 0)
    return first_supported(partial(make, src) for src in _layouts(given))


def _accepts_images(ctx: OpContext, call: PoolCall) -> str | None:
    if call.is_train:
        return "training"
    if call.behind:
        return "more is done to the result than its primitive can"
    dims = call.given.dims
    if not dims[0] or call.given.same_as != channels_last_desc(FLOAT32, dims).same_as:
        return "there are no images, or they are not channels-last"
    return None


def _pays_for_images(ctx: OpContext, call: PoolCall) -> str | None:
    win = call.kernel.win
    work = call.given.dims[1] * prod(win.out) * prod(win.kernel)
    if work < lib.ndrt_threads_get() * calibration.LEAST_POOLING_WORK:
        return f"windows read fewer than {calibration.LEAST_POOLING_WORK} elements a thread"
    return None


def _run_images(ctx: OpContext, call: PoolCall) -> None:
    """By a primitive of one image, which batches of all sizes share, run for each image."""
    kernel, dims, post_ops = call.kernel, call.given.dims, call.post_ops
    image = channels_last_desc(FLOAT32, (1, *dims[1:]))
    made = channels_last_desc(FLOAT32, (dims[0], dims[1], *kernel.win.out))
    with ctx.any_batch():
        prim, where = ctx.primitive(("pooling.image", kernel, image.id, post_ops),
                                    partial(_forward, kernel, image, post_ops))
    if (prim.src.same_as != image.same_as
            or prim.dst.same_as != channels_last_desc(FLOAT32, (1, *made.dims[1:])).same_as):
        raise Unsupported("oneDNN has no fast kernel for an image that is channels-last")
    x = get_data_reorder(call.data, kernel.outward(call.given), ctx.stream).as_desc(prim.src)
    with call.out.open(kernel.outward(made), ctx.stream) as mem:
        y = mem.as_desc(prim.dst)
        ctx.run_each(prim, (((Arg.SRC, x.behind(i * prim.src.nbytes)),
                             (Arg.DST, y.behind(i * prim.dst.nbytes))) for i in range(dims[0])))
        if kernel.is_max and not post_ops:
            _find_lost(ctx, kernel, where._replace(outer=where.outer * dims[0]), y, x)


def _layouts(given: MemDesc) -> list[MemDesc]:
    """What to try for data in a layout: that, then channels-last, which always has a kernel."""
    return list(dict.fromkeys((given, channels_last_desc(FLOAT32, given.dims))))


def _function(ctx: OpContext, spec: PostSpec, desc: MemDesc) -> Primitive:
    """What a post-op does to a result, as a primitive over it."""
    _, alg, alpha, beta, _ = spec
    return ctx.primitive(("pooling.function", alg, alpha, beta, desc.id), partial(
        make_primitive, Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=alg, src=desc, dst=desc,
        alpha=alpha, beta=beta))


# ---- maxima by native kernels ------------------------------------------------------------------


class _Lanes(NamedTuple):
    """Arrays in a layout (outer, *spatial, lanes)."""

    outer: int
    lanes: int


def _lanes(src: MemDesc, dst: MemDesc, places: MemDesc | None = None) -> _Lanes:
    """What the layouts of data, result and places have in common; Unsupported: nothing."""
    n, channels = src.dims[:2]
    blocks = {1, channels, *src.inner_blks, *dst.inner_blks} - {0}
    arrays: list[tuple[MemDesc, DType]] = [(src, FLOAT32), (dst, FLOAT32)]
    if places is not None:
        arrays.append((places, UINT8 if places.dtype_code == lib.NDRT_U8 else INT32))
    for block in sorted(blocks):
        if all(desc.same_as == _with_lanes(dtype, desc.dims, block).same_as
               for desc, dtype in arrays):
            return _Lanes(n * -(-channels // block), block)
    raise Unsupported(f"{src!r}: channels lie neither apart, side by side nor in blocks")


def _with_lanes(dtype: DType, dims: tuple[int, ...], lanes: int) -> MemDesc:
    if lanes == 1:
        return default_desc(dtype, dims)
    return (channels_last_desc(dtype, dims) if lanes == dims[1]
            else blocked_desc(dtype, dims, lanes))


def _lanes_of(given: MemDesc) -> int:
    """How many channels lie side by side."""
    return given.inner_blks[0] if given.inner_blks else given.dims[1]


def _accepts_lanes(ctx: OpContext, call: PoolCall) -> str | None:
    kernel, given, bounds = call.kernel, call.given, _bounds(call.asked)
    if not kernel.is_max:
        return "these are no maxima"
    if bounds is None or not given.nelems or (
            prod(kernel.win.kernel[:-1]) > lib.NDRT_MAX_POOL_ROWS):
        return "more is done to the result than to keep it within bounds, or windows are high"
    lanes, (low, high) = _lanes_of(given), bounds
    wanted = _with_lanes(FLOAT32, given.dims, lanes)
    if lanes == 1 or given.same_as != wanted.same_as:
        return "no channels lie side by side"
    # what pads the channels is zero, and stays it
    if given.dims[1] % lanes and not low <= 0 <= high:
        return "padding of channels would not stay zero"
    return None


def _run_lanes(ctx: OpContext, call: PoolCall) -> None:
    kernel, given, bounds = call.kernel, call.given, _bounds(call.asked)
    assert bounds is not None
    (n, channels), lanes = given.dims[:2], _lanes_of(given)
    made = _with_lanes(FLOAT32, (n, channels, *kernel.win.out), lanes)
    x = get_data_reorder(call.data, kernel.outward(given), ctx.stream)
    with call.out.open(kernel.outward(made), ctx.stream) as y:
        ctx.kernel(max_pool(out=y, data=x, outer=n * -(-channels // lanes), lanes=lanes,
                            **_geometry(kernel.win), low=bounds[0], high=bounds[1]))


FORWARD = (
    Implementation[PoolCall]("maxima of channels side by side", NATIVE, _run_lanes, _accepts_lanes),
    Implementation[PoolCall]("oneDNN pooling for each image", ONEDNN, _run_images, _accepts_images,
                             _pays_for_images),
    Implementation[PoolCall]("oneDNN pooling", ONEDNN, _run_onednn))


def _bounds(post_ops: tuple[PostSpec, ...]) -> tuple[float, float] | None:
    """(low, high) where all that post-ops do is to keep results between them, else None."""
    if not post_ops:
        return -inf, inf
    (_, alg, alpha, beta, _), *more = post_ops
    if more or alg not in (lib.NDRT_ELTWISE_RELU, lib.NDRT_ELTWISE_CLIP):
        return None
    if alg == lib.NDRT_ELTWISE_CLIP:
        return alpha, beta
    return None if alpha else (0.0, inf)


class _Geometry(TypedDict):
    """What kernels are told of windows, as if they had three axes."""

    sides: Sequence[int]
    windows: Sequence[int]
    kernel: Sequence[int]
    stride: Sequence[int]
    pad: Sequence[int]


def _geometry(win: Windows) -> _Geometry:
    left = 3 - len(win.data)
    one, none = (1,) * left, (0,) * left
    return _Geometry(sides=(*one, *win.data), windows=(*one, *win.out), kernel=(*one, *win.kernel),
                     stride=(*one, *win.stride), pad=(*none, *win.pad))


def _gives_one_for_lost(spec: PostSpec) -> bool:
    """Whether a function gives the lowest finite number what it gives -infinity.

    To NaN these give that too, or leave it, as kernels differ in.
    """
    _, alg, alpha, _, _ = spec
    return ((alg == lib.NDRT_ELTWISE_RELU and alpha == 0)
            or (alg == lib.NDRT_ELTWISE_CLIP and alpha > np.finfo(FLOAT32).min))


def _find_lost(ctx: OpContext, kernel: PoolKernel, where: _Lanes, y: Mem, x: Mem,
               places: Mem | None = None) -> None:
    """Writes the maxima that oneDNN's primitive has lost."""
    dtype = 0 if places is None else places.desc.dtype_code
    ctx.kernel(lost_maxima(out=y, data=x, places=places, outer=where.outer, lanes=where.lanes,
                           **_geometry(kernel.win), places_dtype=dtype))


def run_backward(ctx: OpContext, kernel: PoolKernel, out_grad: NDArray, data: NDArray,
                 grad: Output) -> None:
    """The gradient for the data. Reads the data's values for maxima only."""
    if kernel.is_max:
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

    def make(src: MemDesc) -> tuple[Primitive, Primitive, _Lanes]:
        forward = make_primitive(Kind.POOLING, Direction.FORWARD_TRAINING, src=src, dst=out_dims,
                                 **kernel.fields())
        where = _lanes(forward.src, forward.dst, forward.desc(Arg.WORKSPACE))
        return forward, _backward(kernel, src, forward.dst), where

    def build() -> tuple[Primitive, Primitive, _Lanes]:
        return first_supported(partial(make, src) for src in _layouts(given))
    forward, backward, where = ctx.primitive(("pooling.max_backward", kernel, given.id), build)
    x = get_data_reorder(data, kernel.outward(forward.src), stream).as_desc(forward.src)
    dy = get_data_reorder(out_grad, kernel.outward(backward.diff_dst), stream)
    places, y = stream.scratch(forward.desc(Arg.WORKSPACE)), stream.scratch(forward.dst)
    ctx.run(forward, ((Arg.SRC, x), (Arg.DST, y), (Arg.WORKSPACE, places)))
    _find_lost(ctx, kernel, where, y, x, places)
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
    scaling = None if kernel.scale == 1.0 else _function(
        ctx, eltwise_post(lib.NDRT_ELTWISE_LINEAR, kernel.scale, 0.0), prim.diff_dst)
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

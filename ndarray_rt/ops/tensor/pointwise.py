"""oneDNN's work element by element, shared by the operators here: layouts, primitives, copies.

Whatever is dense is treated as one row of numbers, so that rank and axis order do not matter.
Registers no operator.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from math import copysign
from typing import Any, TypeVar

from ..._array.layout import get_data, get_data_reorder, get_default, write_mem
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ..._array.req import Req
from ...dtypes import DType, find_dtype, native_code
from ...errors import Unsupported
from ...native import ffi, lib
from ...op.context import OpContext
from ...storage.desc import MemDesc, channels_last_desc, default_desc, strided_desc
from ...storage.kernels import elementwise
from ...storage.kernels import reduce as kernels
from ...storage.primitive import (
    Arg,
    Direction,
    Kind,
    PostSpec,
    Primitive,
    binary_post,
    eltwise_post,
    make_primitive,
)
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem, Stream

T = TypeVar("T")
Dims = tuple[int, ...]

FLOAT_NUM = 11  # numpy's number of float32


# ---- layouts ------------------------------------------------------------------------------------


def dense_like(desc: MemDesc, dims: Dims) -> MemDesc:
    """The dense layout of `dims` whose axes lie in memory in the same order as those of `desc`."""
    dtype = dtype_of(desc)
    if desc.is_default:
        return default_desc(dtype, dims)
    strides = [0] * len(dims)
    step = 1
    for axis in reversed(axis_order(desc)):
        strides[axis] = step
        step *= dims[axis]
    return strided_desc(dtype, dims, tuple(strides))


def axis_order(desc: MemDesc) -> list[int]:
    """The axes from the outermost in memory to the innermost; `desc` has no blocks."""
    return sorted(range(desc.ndims), key=lambda axis: (-desc.strides[axis], axis))


# by name: a cache by layout would keep the layouts themselves
_dtype_named = lru_cache(maxsize=16)(find_dtype)


def dtype_of(desc: MemDesc) -> DType:
    """The numpy dtype of a layout."""
    return _dtype_named(desc.dtype_name)


def unblocked(x: NDArray, stream: Stream) -> Mem:
    """The contents in a layout that strides alone describe: its own, or channels-last."""
    mem = get_data(x, stream)
    if not mem.desc.inner_blks:
        return mem
    return get_data_reorder(x, channels_last_desc(x.dtype, x.shape), stream)


# ---- copies -------------------------------------------------------------------------------------


def put(ctx: OpContext, source: Mem, out: Output) -> None:
    """Gives `source`, in its layout, to an output; nothing is to do when they are one memory."""
    if out.req == Req.kNullOp:
        return
    if out.req == Req.kAddTo:
        _add(ctx, source, out)
        return
    if out.req == Req.kWriteInplace and source.keep is not out.array._chunk.handle:
        # what stood in the shared memory was converted to a copy, which can simply be written back
        out = Output(out.array, Req.kWriteTo)
    with out.open(source.desc, ctx.stream, inplace_of=source) as y:
        if y.ptr != source.ptr:
            ctx.kernel(elementwise.copy(out=y, data=source, nbytes=source.desc.nbytes))


def move(ctx: OpContext, source: Mem, out: Output, layout: MemDesc | None = None) -> None:
    """Gives `source`, of any strides, to an output in a dense layout (the default one)."""
    if out.req == Req.kNullOp:
        return
    target = layout or default_desc(dtype_of(source.desc), source.desc.dims)
    if source.desc.same_as == target.same_as:
        put(ctx, source.as_desc(target), out)
        return
    if out.req == Req.kAddTo:
        _add(ctx, source, out)
        return
    with out.open(target, ctx.stream) as y:
        reorder_mem(ctx.stream, source, y)


def _keep_layout(ctx: OpContext, x: Mem, out: Output) -> bool:
    """Gives memory as it lies to an output of another shape, where that can be."""
    array, chunk = out.array, out.array._chunk
    if out.req == Req.kAddTo or array.is_view or array._byte_offset or chunk.native.pins:
        return False
    try:
        kept = x.desc.reshaped(out.shape)
    except Unsupported:
        return False
    if out.req == Req.kWriteInplace:
        if chunk.mkl_mem is not x.desc or x.keep is not chunk.handle:
            return False
        ctx.stream.open(chunk)
        chunk.set_layout(kept)
        return True
    with out.open(kept, ctx.stream) as y:
        ctx.kernel(elementwise.copy(out=y, data=x, nbytes=kept.nbytes))
    return True


def reshape(ctx: OpContext, data: NDArray, out: Output) -> None:
    """Gives the elements of `data`, in row-major order, to an output of another shape: as they lie,
    where the shape has a layout in which they do."""
    if not out.requested:
        return
    stream = ctx.stream
    x = get_data(data, stream)
    if data.shape == out.shape:
        put(ctx, x, out)
        return
    if not x.desc.is_default and not x.desc.inner_blks and _keep_layout(ctx, x, out):
        return
    target = default_desc(data.dtype, out.shape)
    if x.desc.is_default:
        put(ctx, x.as_desc(target), out)
    elif out.req == Req.kWriteTo:
        with out.open(target, stream) as y:
            reorder_mem(stream, x, y.as_desc(default_desc(data.dtype, data.shape)))
    else:
        put(ctx, get_default(data, stream).as_desc(target), out)


def _add(ctx: OpContext, source: Mem, out: Output) -> None:
    if out.array.dtype.num != FLOAT_NUM:
        raise Unsupported(f"oneDNN adds no {out.array.dtype} to an output")
    write_mem(out.array, source, ctx.stream, add=True)


def need_native(*arrays: NDArray) -> str | None:
    """A reason why bytes can not be moved by oneDNN: a dtype that it moves slowly or not at all."""
    for array in arrays:
        if array.dtype.name not in ("float32", "int32", "int8", "uint8"):
            return f"oneDNN moves no {array.dtype}"
    return None


def need_bytes(*arrays: NDArray) -> str | None:
    """A reason why bytes can not be copied as they are: a dtype without layouts."""
    for array in arrays:
        if native_code(array.dtype) is None:
            return f"oneDNN has no layout for {array.dtype}"
    return None


# ---- primitives ---------------------------------------------------------------------------------


def _settled(ctx: OpContext, sign: tuple[Hashable, ...], desc: MemDesc,
             make: Callable[[MemDesc], T]) -> tuple[MemDesc, MemDesc, T]:
    """(layout of the arrays, what the primitive takes it for, primitive); refusals are kept too."""
    def build() -> tuple[MemDesc, MemDesc, T] | str:
        reasons = []
        for layout in dict.fromkeys((desc, unpadded(desc))):
            seen = row(layout)
            try:
                return layout, seen, make(seen)
            except Unsupported as refusal:
                reasons.append(str(refusal))
        return "; ".join(dict.fromkeys(reasons))
    found = ctx.primitive((*sign, desc.id), build)
    if isinstance(found, str):
        raise Unsupported(found)
    return found


def unpadded(desc: MemDesc) -> MemDesc:
    """The layout to go to when padding is in the way."""
    return channels_last_desc(dtype_of(desc), desc.dims) if desc.is_padded else desc


def row(desc: MemDesc) -> MemDesc:
    """A dense layout as one row of its elements; a padded one as it is."""
    return desc if desc.is_padded else default_desc(dtype_of(desc), (desc.nelems,))


def pointwise(ctx: OpContext, sign: tuple[Hashable, ...], arrays: Sequence[NDArray], out: Output,
              args: Sequence[tuple[int, int]], make: Callable[[MemDesc], Primitive],
              dst: int = Arg.DST) -> None:
    """Runs a primitive that works element by element on arrays of one shape.

    `args` pairs the primitive's arguments with positions in `arrays`; all of them are brought to
    the layout of the first. The output may be the memory of the first.
    """
    if not out.requested:
        return
    stream = ctx.stream
    first = get_data(arrays[0], stream)
    layout, seen, prim = _settled(ctx, sign, first.desc, make)
    mems = [get_data_reorder(array, layout, stream) for array in arrays]
    with out.open(layout, stream, inplace_of=mems[0]) as y:
        ctx.run(prim, (*((arg, mems[i].as_desc(seen)) for arg, i in args), (dst, y.as_desc(seen))))


def eltwise(ctx: OpContext, name: str, alg: int, alpha: float, beta: float, x: NDArray,
            out: Output) -> None:
    """out = alg(x; alpha, beta)."""
    turns_zero = alg == lib.NDRT_ELTWISE_LINEAR and not beta and copysign(1.0, alpha) < 0

    def make(desc: MemDesc) -> Primitive:
        if turns_zero and desc.is_padded:
            raise Unsupported("the padding would become -0")
        return make_primitive(Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=alg, src=desc,
                              dst=desc, alpha=alpha, beta=beta)
    pointwise(ctx, (name, alg, alpha, beta), [x], out, [(Arg.SRC, 0)], make)


def eltwise_backward(ctx: OpContext, name: str, alg: int, dy: NDArray, data: NDArray, out: Output,
                     from_output: bool, alpha: float = 0.0, beta: float = 0.0) -> None:
    """out = dy times the slope of alg at `data`, its input or (where `alg` says so) its output."""
    def make(desc: MemDesc) -> Primitive:
        fields: dict[str, Any] = {"dst" if from_output else "src": desc}
        return make_primitive(Kind.ELTWISE, Direction.BACKWARD, alg=alg, diff_src=desc,
                              diff_dst=desc, alpha=alpha, beta=beta, **fields)
    args = [(Arg.DIFF_DST, 0), (Arg.DST if from_output else Arg.SRC, 1)]
    pointwise(ctx, (name, alg, alpha, beta), [dy, data], out, args, make, dst=Arg.DIFF_SRC)


def binary(ctx: OpContext, name: str, alg: int, a: NDArray, b: NDArray, out: Output,
           scale: float = 1.0) -> None:
    """out = alg(a, b) * scale, for arrays of one shape."""
    def make(desc: MemDesc) -> Primitive:
        return make_primitive(Kind.BINARY, alg=alg, srcs=(desc, desc), dst=desc,
                              post_ops=_scaled(scale))
    pointwise(ctx, (name, alg, scale), [a, b], out, [(Arg.SRC, 0), (Arg.SRC_1, 1)], make)


def bound(ctx: OpContext, name: str, alg: int, limit: float, x: NDArray, out: Output) -> None:
    """out = max or min (`alg`) of the limit and x; NaN stays NaN."""
    pointwise(ctx, (name, alg, limit), [x], out, BOUND_ARGS,
              lambda desc: make_bound(desc, alg, limit))


def make_bound(desc: MemDesc, alg: int, limit: float) -> Primitive:
    """max or min of the limit and the argument, which is given three times (BOUND_ARGS).

    The CPU's max and min give their second operand when either is NaN, and oneDNN's eltwise puts
    x first. So here: anything to the limit, then the binary post-op with x second.
    """
    ops = [eltwise_post(lib.NDRT_ELTWISE_CLIP, limit, limit), binary_post(alg, desc)]
    return make_primitive(Kind.BINARY, alg=lib.NDRT_BINARY_SUB, srcs=(desc, desc), dst=desc,
                          post_ops=ops)


BOUND_ARGS = ((Arg.SRC, 0), (Arg.SRC_1, 0), (2 * Arg.POST_OP + Arg.SRC_1, 0))


def clamp(ctx: OpContext, name: str, low: float, high: float, x: NDArray, out: Output) -> None:
    """out = x brought into [low, high]; NaN stays NaN."""
    if not out.requested:
        return
    stream = ctx.stream

    def make(desc: MemDesc) -> tuple[Primitive, Primitive]:
        return (make_bound(desc, lib.NDRT_BINARY_MAX, low),
                make_bound(desc, lib.NDRT_BINARY_MIN, high))
    layout, seen, (lower, upper) = _settled(ctx, (name, low, high), get_data(x, stream).desc, make)
    source = get_data_reorder(x, layout, stream)
    with out.open(layout, stream, inplace_of=source) as y:
        target = y.as_desc(seen)
        # both in the output: each element is read before it is written
        for prim, mem in ((lower, source.as_desc(seen)), (upper, target)):
            ctx.run(prim, (*((arg, mem) for arg, _ in BOUND_ARGS), (Arg.DST, target)))


def step_grad(ctx: OpContext, step: int, dy: NDArray, at: NDArray, out: Output,
              low: float = 0.0, high: float = 0.0) -> None:
    """out = dy times a slope that is a step (ndrt_step) at `at`, by a native kernel."""
    if not out.requested:
        return
    grad = get_data(dy, ctx.stream)
    x = get_data_reorder(at, grad.desc, ctx.stream)
    with out.open(grad.desc, ctx.stream, inplace_of=grad) as y:
        # padding stays zero: dy is there
        ctx.kernel(kernels.step_grad(
            dx=y, dy=grad, data=x, n=grad.desc.nbytes // dy.dtype.itemsize, what=step, low=low,
            high=high))


def _scaled(scale: float) -> list[PostSpec]:
    return [] if scale == 1.0 else [eltwise_post(lib.NDRT_ELTWISE_LINEAR, scale, 0.0)]


# ---- broadcasting -------------------------------------------------------------------------------


def runs(desc: MemDesc, part: Dims) -> list[tuple[int, bool]]:
    """The dims of a layout in memory order, as runs of (elements, does `part` repeat over them)."""
    found: list[tuple[int, bool]] = []
    for axis in axis_order(desc):
        size = desc.dims[axis]
        if size == 1:
            continue
        repeats = part[axis] == 1
        if found and found[-1][1] == repeats:
            size *= found.pop()[0]
        found.append((size, repeats))
    return found


def _operand_dims(found: list[tuple[int, bool]]) -> tuple[Dims, Dims]:
    """Dims of the full operand and of the repeated one, in a form that oneDNN has code for."""
    sizes = tuple(size for size, _ in found)
    repeated = tuple(repeats for _, repeats in found)
    part = tuple(1 if repeats else size for size, repeats in found)
    if len(found) <= 1:
        return sizes or (1,), part or (1,)
    if repeated == (False, True):  # one number a row: it has code for channels
        return (1, *sizes), (1, *part)
    if len(found) == 2 or repeated in ((True, False, True), (False, True, False)):
        return sizes, part
    raise Unsupported(f"oneDNN broadcasts no operand over {len(found)} groups of axes by turns")


def spread(x: NDArray, shape: Dims, stream: Stream) -> Mem:
    """The contents broadcast to a shape: the array's own memory where it has all elements."""
    if x.shape == shape:
        return unblocked(x, stream)
    target, own = default_desc(x.dtype, shape), get_default(x, stream)
    if x.size == target.nelems:
        return own.as_desc(target)
    dims = (1,) * (len(shape) - x.ndim) + x.shape
    strides = [0 if size == 1 else step for size, step in zip(
        dims, default_desc(x.dtype, dims).strides, strict=True)]
    made = stream.scratch(target)
    reorder_mem(stream, own.as_desc(strided_desc(x.dtype, shape, tuple(strides))), made)
    return made


def binary_broadcast(ctx: OpContext, name: str, alg: int, full: NDArray, part: NDArray,
                     out: Output, scale: float = 1.0) -> None:
    """out = alg(full, part) * scale; `part` is broadcast, and `full` spread where it is to be."""
    if not out.requested:
        return
    stream, shape = ctx.stream, out.shape
    x = spread(full, shape, stream)
    dims = (1,) * (len(shape) - len(part.shape)) + part.shape
    found = runs(x.desc, dims)

    def build() -> tuple[MemDesc, MemDesc, Primitive] | str:
        try:
            full_dims, part_dims = _operand_dims(found)
            one, two = default_desc(full.dtype, full_dims), default_desc(full.dtype, part_dims)
            return one, two, make_primitive(Kind.BINARY, alg=alg, srcs=(one, two), dst=one,
                                            post_ops=_scaled(scale))
        except Unsupported as refusal:
            return str(refusal)
    made = ctx.primitive((name, alg, scale, tuple(found)), build)
    if isinstance(made, str):
        raise Unsupported(made)
    one, two, prim = made
    p = get_data_reorder(part, dense_like(x.desc, dims), stream)
    with out.open(x.desc, stream, inplace_of=x) as y:
        ctx.run(prim, ((Arg.SRC, x.as_desc(one)), (Arg.SRC_1, p.as_desc(two)),
                       (Arg.DST, y.as_desc(one))))


def shifted(mem: Mem, elements: int, desc: MemDesc) -> Mem:
    """The memory from some elements on, under another layout."""
    nbytes = elements * dtype_of(mem.desc).itemsize
    return Mem(desc, ffi.cast("char *", mem.ptr) + nbytes, mem.keep, mem.epoch)


def sum_to(ctx: OpContext, name: str, data: NDArray, dims: Dims, out: Output) -> None:
    """out = data summed over the axes where `dims` (of data's rank) has 1."""
    if not out.requested:
        return
    stream = ctx.stream
    same_rank = len(out.shape) == len(data.shape)
    # leading axes go: what stays must lie in the default order
    x = unblocked(data, stream) if same_rank else get_default(data, stream)
    found = runs(x.desc, dims)
    repeated = tuple(repeats for _, repeats in found)
    if repeated not in _SUMMED:
        raise Unsupported(f"oneDNN sums over no such groups of axes: {found}")
    target = dense_like(x.desc, dims) if same_rank else default_desc(data.dtype, out.shape)
    if repeated[-1]:
        _sum_inner(ctx, name, x, found, target, out)
        return
    rows, kept = found[-2][0], found[-1][0]
    step = default_desc(data.dtype, (kept,))
    with out.open(target, stream) as y:
        for i in range(target.nelems // kept):
            ctx.kernel(elementwise.bias_grad(
                out=shifted(y, i * kept, step), data=shifted(x, i * rows * kept, step), rows=rows,
                channels=kept))


def _sum_inner(ctx: OpContext, name: str, x: Mem, found: list[tuple[int, bool]],
               target: MemDesc, out: Output) -> None:
    """Sums the innermost elements by oneDNN, then the outermost of what is left."""
    stream, dtype = ctx.stream, dtype_of(x.desc)
    length = found[-1][0]
    if length > _LONGEST_SUM:
        raise Unsupported("a long sum loses digits in oneDNN")
    rows = found[0][0] if found[0][1] else 1
    source = default_desc(dtype, (rows * target.nelems, length))
    summed = default_desc(dtype, (rows * target.nelems, 1))
    prim = ctx.primitive((name, source.id), lambda: make_primitive(
        Kind.REDUCTION, alg=lib.NDRT_REDUCTION_SUM, src=source, dst=summed))
    if rows == 1:
        with out.open(target, stream) as y:
            ctx.run(prim, ((Arg.SRC, x.as_desc(source)), (Arg.DST, y.as_desc(summed))))
        return
    inner = stream.scratch(summed)
    ctx.run(prim, ((Arg.SRC, x.as_desc(source)), (Arg.DST, inner)))
    with out.open(target, stream) as y:
        ctx.kernel(elementwise.bias_grad(out=y, data=inner, rows=rows, channels=target.nelems))


# which groups of axes are summed, from the outermost in memory to the innermost
_SUMMED = {(True, False), (False, True), (True, False, True), (False, True, False)}
_LONGEST_SUM = 1 << 14

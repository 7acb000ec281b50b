"""sum, mean, max, min and prod over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_data, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError, Unsupported
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, known, merge, same_type
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc, strided_desc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem
from ..floats import wide
from ..terms import Term, terms
from . import product_slopes
from .axis_kernels import need_kind, part_of, reduced
from .numeric import is_integer
from .pointwise import FLOAT_NUM
from .product_slopes import times_others
from .reduce_shapes import ReduceParams, kept_shape, output_shape, reduced_axes
from .reduce_steps import Run, order_of, runs_of, steps_of

_REDUCTION_MUL = 0x2fff5  # oneDNN's number


class Reduction(NamedTuple):
    """One member of the family."""

    name: str
    alg: int | None  # None: oneDNN's does not do
    apply: Callable[[AnyArray, tuple[int, ...]], AnyArray]  # keeps the axes with size 1
    has_empty: bool = True  # there is a result of no elements
    mean: bool = False
    what: int | None = None  # ours

    @property
    def adds(self) -> bool:
        """A sum, or a mean: its slope does not depend on data."""
        return self.apply is _sum

    @property
    def reads_output(self) -> bool:
        """The gradient looks for the elements that the output is."""
        return not self.adds and self.apply is not _prod


def _with_output(p: ReduceParams, data: Shape, out: Shape) -> Shape:
    """data's unknown dims as far as the output tells them."""
    gone = reduced_axes(p, len(data))
    stay = [axis for axis in range(len(data)) if axis not in gone]
    made = list(data)
    for place, axis in enumerate(stay):
        if made[axis] == -1:
            made[axis] = out[axis if p.keepdims else place]
    return tuple(made)


def infer_shape(reduction: Reduction, p: ReduceParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if data is None:
        return [data], [outs[0]]
    out = merge(outs[0], output_shape(p, data), "output shapes")
    if out is not None and -1 in data:
        data = _with_output(p, data, out)
    if (not reduction.has_empty and known(data) and 0 in data
            and 0 not in output_shape(p, data)):
        raise ShapeError(f"data has shape {data}, of no elements there is no {reduction.name}")
    return [data], [out]


def _divided(total: AnyArray, count: int, dtype: np.dtype[Any]) -> AnyArray:
    """total / count, cut towards 0 for whole numbers."""
    if dtype.kind == "b":
        return total
    if dtype.kind in "iu":
        whole = total.astype(np.int64)
        made: AnyArray = ((whole - np.fmod(whole, count)) // count).astype(dtype)
        return made if count else np.zeros_like(total)
    return np.asarray(total / total.dtype.type(count))


def _sum(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    # the sum of whole numbers wraps around in their own dtype; one of floats must not depend on
    # the order of the rows, in which NumPy adds up every axis but the last
    wider = np.dtype(np.float64) if x.dtype.kind == "f" else x.dtype
    return np.asarray(x.sum(axis=gone, dtype=wider, keepdims=True)).astype(x.dtype, copy=False)


def _prod(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    return np.asarray(x.prod(axis=gone, dtype=x.dtype, keepdims=True))


def _max(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    return np.asarray(x.max(axis=gone, keepdims=True)) if x.size else _no_elements(x, gone)


def _min(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    return np.asarray(x.min(axis=gone, keepdims=True)) if x.size else _no_elements(x, gone)


def _no_elements(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    return x[tuple(slice(0, 1) if axis in gone else slice(None) for axis in range(x.ndim))]


def compute(reduction: Reduction, ctx: OpContext, p: ReduceParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = wide(ins[0])
    gone = reduced_axes(p, x.ndim)
    made = reduction.apply(x, gone)
    if reduction.mean:
        made = _divided(made, prod(x.shape[axis] for axis in gone), x.dtype)
    outs[0].write(made.reshape(outs[0].shape).astype(ins[0].dtype, copy=False))


def refuses(reduction: Reduction, p: ReduceParams, ins: list[NDArray]) -> str | None:
    if reduction.what is None:
        return need_float32(*ins) if reduction.alg is not None else "numpy passes over NaN"
    if reduction.mean and is_integer(ins[0].dtype):
        return "quotients of whole numbers"
    return need_kind(*ins)


def _by_kernel(reduction: Reduction, data: NDArray, gone: tuple[int, ...]) -> bool:
    """Ours is the better one: other dtypes, NaN, and rows in memory."""
    if reduction.alg is None or data.dtype.num != FLOAT_NUM:
        return True
    part = part_of(data.shape, gone)
    return (reduction.adds and part is not None and part[2] == 1 and data.size > 0
            and data._chunk.mkl_mem is None)


def _scaling(ctx: OpContext, desc: MemDesc, factor: float) -> Primitive:
    """y = factor x, in place or not."""
    return ctx.primitive(("reduce.scale", factor, desc.id), lambda: make_primitive(
        Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=lib.NDRT_ELTWISE_LINEAR, alpha=factor,
        src=desc, dst=desc))


def _can_reduce(reduction: Reduction, runs: list[Run]) -> bool:
    """Sums go over any axes, products over the innermost."""
    return reduction.adds or not any(run.gone for run in runs[:-1])


def compute_ex(reduction: Reduction, ctx: OpContext, p: ReduceParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, stream, alg = ins[0], ctx.stream, reduction.alg
    gone = reduced_axes(p, data.ndim)
    count = prod(data.shape[axis] for axis in gone)
    if reduction.what is not None and _by_kernel(reduction, data, gone):
        reduced(ctx, reduction.what, data, gone, outs[0],
                1.0 / count if reduction.mean and count else 1.0)
        return
    if alg is None:
        raise Unsupported(f"oneDNN's {reduction.name}")
    out = default_desc(data.dtype, outs[0].shape)
    x = get_data(data, stream)
    order = order_of(x.desc)
    if order is None or not _can_reduce(reduction, runs_of(x.desc, order, gone)):
        plain = default_desc(data.dtype, data.shape)
        order = [d for d in range(data.ndim) if data.shape[d] > 1]
        if not _can_reduce(reduction, runs_of(plain, order, gone)):
            raise Unsupported(f"a {reduction.name} over axes that are not innermost")
        x = get_default(data, stream)
    steps = steps_of(alg, ctx, runs_of(x.desc, order, gone))
    stay = [axis for axis in order if axis not in gone]
    in_order = stay == sorted(stay)
    flat = default_desc(data.dtype, (out.nelems,))
    scale = _scaling(ctx, flat, 1.0 / count) if reduction.mean and count > 1 else None
    with outs[0].open(out, stream) as opened:
        y = opened.as_desc(flat) if in_order else stream.scratch(flat)
        if not steps:
            reorder_mem(stream, x.as_desc(flat), y)
        for i, step in enumerate(steps):
            target = y if i == len(steps) - 1 else stream.scratch(step.result)
            step.run(ctx, x, target)
            x = target
        if scale is not None:
            ctx.run(scale, ((Arg.SRC, y), (Arg.DST, y)))
        if not in_order:
            source = strided_desc(data.dtype, out.dims, _strides_of_output(
                p, data.shape, stay, gone))
            reorder_mem(stream, y.as_desc(source), opened)


def _strides_of_output(p: ReduceParams, shape: Shape, stay: list[int], gone: tuple[int, ...],
                       ) -> tuple[int, ...]:
    """Where the output's elements lie after a reduction that left `stay` in this order."""
    strides, step = [1] * len(shape), 1
    for axis in reversed(stay):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides if p.keepdims else (
        strides[axis] for axis in range(len(shape)) if axis not in gone))


def gradient(reduction: Reduction, emit: Emit, node: GradNode, out_grads: Sequence[Any],
             ) -> list[Any]:
    reads = [node.inputs[0]]
    if reduction.reads_output:
        reads.append(node.outputs[0])
    return emit(f"_backward_{reduction.name}", node.params, out_grads[0], *reads)


def gradient_backward(reduction: Reduction, emit: Emit, node: GradNode,
                      out_grads: Sequence[Any]) -> list[Any]:
    p, grad = node.params, Term(emit, out_grads[0])
    if reduction.mean:
        # no mean of grad: over no elements that is NaN, and this is 0
        grad = grad * Term(emit, node.inputs[0])("ones_like")("_backward_mean", p,
                                                             Term(emit, node.inputs[1]))
    if reduction.adds:
        return [grad("sum", p).entry, None]
    _, x, y = terms(emit, *node.inputs)
    wide_y = y("_backward_sum", p, x)
    return [(grad * x("_equal", None, wide_y))("sum", p).entry, None, None]


def gradient_product_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p, (grad, dy, x) = node.params, terms(emit, out_grads[0], *node.inputs)
    others = dy("ones_like")("_backward_prod", p, x)
    return [(grad * others)("sum", p).entry, grad("_backward_product_slope", p, dy, x).entry]


def infer_shape_backward(p: ReduceParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0])
    small = ins[0] if data is None else merge(ins[0], output_shape(p, data))
    return [small, data, *[small] * (len(ins) - 2)], [data]


def compute_backward(reduction: Reduction, ctx: OpContext, p: ReduceParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    x = wide(ins[1])
    small = kept_shape(p, x.shape)
    dy = wide(ins[0]).reshape(small)
    if reduction.adds:
        count = prod(x.shape[axis] for axis in reduced_axes(p, x.ndim))
        slope = _divided(dy, count, x.dtype) if reduction.mean else dy
        outs[0].write(np.broadcast_to(slope, x.shape).astype(ins[1].dtype, copy=False))
        return
    if reduction.name == "prod":
        made = times_others(x, dy, reduced_axes(p, x.ndim))
    else:
        made = dy * (x == wide(ins[2]).reshape(small))  # all that tie get the whole gradient
    outs[0].write(made.astype(ins[1].dtype, copy=False))


def refuses_backward(p: ReduceParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def _spread(ctx: OpContext, p: ReduceParams, small: Mem, desc: MemDesc) -> Mem:
    """A row-major result as a source in data's dims, repeated along the axes that went."""
    strides, step = [0] * desc.ndims, 1
    gone = reduced_axes(p, desc.ndims)
    for axis in range(desc.ndims - 1, -1, -1):
        if axis not in gone:
            strides[axis] = step
            step *= desc.dims[axis]
    return small.as_desc(strided_desc(FLOAT32, desc.dims, tuple(strides)))


def compute_ex_backward(reduction: Reduction, ctx: OpContext, p: ReduceParams,
                        ins: list[NDArray], outs: list[Output]) -> None:
    data, stream = ins[1], ctx.stream
    dy = get_default(ins[0], stream)
    if reduction.adds:
        desc = default_desc(data.dtype, data.shape)
        if reduction.mean:
            count = prod(data.shape[axis] for axis in reduced_axes(p, data.ndim))
            scaled = stream.scratch(dy.desc)
            ctx.run(_scaling(ctx, dy.desc, 1.0 / count), ((Arg.SRC, dy), (Arg.DST, scaled)))
            dy = scaled
        with outs[0].open(desc, stream) as dx:
            reorder_mem(stream, _spread(ctx, p, dy, desc), dx)
        return
    if reduction.name == "prod":
        product_slopes.compute_ex(ctx, p, ins, outs)
        return
    x = get_data(data, stream)
    if x.desc.is_padded:
        # 0 == 0 would leave other things than 0 in the padding
        x = get_default(data, stream)
    desc = x.desc
    first, product = (ctx.primitive(("reduce.binary", alg, desc.id), partial(
        make_primitive, Kind.BINARY, alg=alg, srcs=(desc, desc), dst=desc))
        for alg in (lib.NDRT_BINARY_EQ, lib.NDRT_BINARY_MUL))
    y, grad = stream.scratch(desc), stream.scratch(desc)
    reorder_mem(stream, _spread(ctx, p, get_default(ins[2], stream), desc), y)
    reorder_mem(stream, _spread(ctx, p, dy, desc), grad)
    with outs[0].open(desc, stream) as dx:
        ctx.run(first, ((Arg.SRC, y), (Arg.SRC_1, x), (Arg.DST, y)))
        ctx.run(product, ((Arg.SRC, y), (Arg.SRC_1, grad), (Arg.DST, dx)))


def _register(reduction: Reduction, result: str, note: str, *aliases: str) -> None:
    register(OpDef(reduction.name, ReduceParams, inputs=("data",),
                   infer_shape=partial(infer_shape, reduction), infer_type=same_type,
                   compute=partial(compute, reduction), compute_ex=partial(compute_ex, reduction),
                   refuses=partial(refuses, reduction), gradient=partial(gradient, reduction),
                   aliases=aliases,
                   doc=f"{result} over axes.\n\nThe output has data's dtype, and its shape "
                       "without the axes (with size 1 there if keepdims); over all axes it has "
                       f"shape (1,). {note} Source: MXNet's {reduction.name}; oneDNN "
                       "reduction, a native kernel."))
    register(OpDef(f"_backward_{reduction.name}", ReduceParams,
                   inputs=(("out_grad", "data", "out") if reduction.reads_output
                           else ("out_grad", "data")),
                   infer_shape=infer_shape_backward, infer_type=same_type,
                   compute=partial(compute_backward, reduction),
                   compute_ex=partial(compute_ex_backward, reduction),
                   refuses=refuses_backward,
                   gradient=(gradient_product_backward if reduction.apply is _prod
                             else partial(gradient_backward, reduction)),
                   ignores=(1,) if reduction.adds else (), is_backward=True))


_register(Reduction("sum", lib.NDRT_REDUCTION_SUM, _sum, what=lib.NDRT_REDUCE_SUM),
          "The sum of elements",
          "Whole numbers wrap around.", "sum_axis")
_register(Reduction("mean", lib.NDRT_REDUCTION_SUM, _sum, mean=True, what=lib.NDRT_REDUCE_SUM),
          "The mean of elements", "Whole numbers are cut towards 0.")
_register(Reduction("max", None, _max, has_empty=False, what=lib.NDRT_REDUCE_MAX),
          "The greatest element",
          "NaN wins. All elements that tie get the whole gradient.", "max_axis")
_register(Reduction("min", None, _min, has_empty=False, what=lib.NDRT_REDUCE_MIN),
          "The least element",
          "NaN wins. All elements that tie get the whole gradient.", "min_axis")
_register(Reduction("prod", _REDUCTION_MUL, _prod), "The product of elements",
          "Whole numbers wrap around. The gradient of an element is the product of the others.")

"""Dropout: a random part of the elements becomes 0, the others grow by as much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data, get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, normalize_axis
from ...op.params import Params, choice, number, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc, strided_desc
from ...storage.kernels import random as kernels
from ...storage.kernels.elementwise import fill
from ...storage.primitive import Arg, Kind, Primitive, make_primitive
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem
from ..floats import same_float_type, wide


@params_class
class DropoutParams(Params):
    p: float = number(0.5, low=0.0, high=1.0, doc="share of the elements that become 0")
    mode: str = choice("training", "always", default="training", doc="when elements are dropped")
    axes: tuple[int, ...] = shape((), doc="axes along which all elements share one fate")

    def drops(self, ctx: OpContext) -> bool:
        """Anything is dropped in this call."""
        return self.p > 0 and (ctx.is_train or self.mode == "always")


def mask_shape(p: DropoutParams, data: Shape) -> Shape:
    """One number for all elements along `axes`."""
    shared = {normalize_axis(axis, len(data), "axes:") for axis in p.axes}
    return tuple(1 if axis in shared else dim for axis, dim in enumerate(data))


def infer_shape(p: DropoutParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    mask = outs[1] if data is None else merge(outs[1], mask_shape(p, data), "shapes of masks")
    return [data], [data, mask]


def fate(share: float, if_all: float = math.nan) -> tuple[int, np.float32]:
    """An element is kept when the 24 upper bits of its word are below the first number.

    The second is what it is multiplied by then. With a share of 1 there is no such number; every
    element is multiplied by `if_all`, which is 0 times infinity as in MXNet.
    """
    keep = np.float32(1) - np.float32(share)
    if keep == 0:
        return 2**24, np.float32(if_all)
    return ceil(float(keep) * 2**24), np.float32(1) / keep


def draw_mask(ctx: OpContext, share: float, shape: Shape, if_all: float = math.nan) -> AnyArray:
    """0 for elements of the share that is dropped, else what keeps the mean; words in row-major
    order."""
    bound, factor = fate(share, if_all)
    words = ctx.random.words(prod(shape)) >> np.uint32(8)
    made: AnyArray = np.where(words < bound, factor, np.float32(0)).reshape(shape)
    return made


def compute(ctx: OpContext, p: DropoutParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = ins[0]
    if not p.drops(ctx):
        outs[0].write(x)
        outs[1].write(np.ones(outs[1].shape, x.dtype))
        return
    mask = draw_mask(ctx, p.p, outs[1].shape)
    outs[0].write((wide(x) * mask).astype(x.dtype, copy=False))
    outs[1].write(mask.astype(x.dtype, copy=False))


def refuses(p: DropoutParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def _product(ctx: OpContext, desc: MemDesc) -> Primitive:
    return ctx.primitive(("Dropout.product", desc.id), lambda: make_primitive(
        Kind.BINARY, alg=lib.NDRT_BINARY_MUL, srcs=(desc, desc), dst=desc))


def _like(ctx: OpContext, mask: Mem, desc: MemDesc) -> Mem:
    """A row-major mask in the dims and layout of the data, repeated along shared axes."""
    if mask.desc.same_as == desc.same_as:
        return mask.as_desc(desc)
    full = ctx.stream.scratch(desc)
    strides = tuple(step if dim == whole else 0 for step, dim, whole in zip(
        mask.desc.strides, mask.desc.dims, desc.dims, strict=True))
    reorder_mem(ctx.stream, mask.as_desc(strided_desc(FLOAT32, desc.dims, strides)), full)
    return full


def compute_ex(ctx: OpContext, p: DropoutParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    stream = ctx.stream
    x = get_data(ins[0], stream)
    desc = default_desc(ins[0].dtype, outs[1].shape)
    if not p.drops(ctx):
        _keep_all(ctx, x, desc, outs)
    elif x.desc.is_default and desc.dims == x.desc.dims:
        with outs[0].open(x.desc, stream, inplace_of=x) as y, outs[1].open(desc, stream) as mask:
            bound, factor = fate(p.p)
            ctx.kernel(kernels.dropout(out=y, stream=ctx.random_mem(), mask=mask, data=x,
                                       n=desc.nelems, bound=bound, factor=float(factor)))
    else:
        _keep_some(ctx, p, x, desc, outs)


def _keep_all(ctx: OpContext, x: Mem, desc: MemDesc, outs: list[Output]) -> None:
    if outs[1].requested:
        with outs[1].open(desc, ctx.stream) as mask:
            ctx.kernel(fill(out=mask, n=desc.nelems, value=1.0))
    if outs[0].requested:
        with outs[0].open(x.desc, ctx.stream, inplace_of=x) as y:
            if y.ptr != x.ptr:
                reorder_mem(ctx.stream, x, y)


def _keep_some(ctx: OpContext, p: DropoutParams, x: Mem, desc: MemDesc,
               outs: list[Output]) -> None:
    """Where an element of data and its word are at different places."""
    stream = ctx.stream
    product = _product(ctx, x.desc)
    if desc.dims != x.desc.dims:
        with outs[1].open(desc, stream) as mask:
            draw_native(ctx, p.p, mask)
            factors = _like(ctx, mask, x.desc)
            _multiply(ctx, product, x, factors, outs[0])
        return
    drawn = stream.scratch(desc)
    # the mask in the layout of data, where the backward wants it
    with outs[1].open(x.desc, stream) as mask:
        draw_native(ctx, p.p, drawn)
        reorder_mem(stream, drawn, mask)
        _multiply(ctx, product, x, mask, outs[0])


def _multiply(ctx: OpContext, product: Primitive, x: Mem, factors: Mem, out: Output) -> None:
    if out.requested:
        with out.open(x.desc, ctx.stream, inplace_of=x) as y:
            ctx.run(product, ((Arg.SRC, x), (Arg.SRC_1, factors), (Arg.DST, y)))


def draw_native(ctx: OpContext, share: float, mask: Mem, if_all: float = math.nan) -> None:
    """`draw_mask` as a step that fills a mask in the default layout."""
    bound, factor = fate(share, if_all)
    ctx.kernel(kernels.dropout_mask(out=mask, stream=ctx.random_mem(), n=mask.desc.nelems,
                                    bound=bound, factor=float(factor)))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    if node.params.p == 0:
        return [out_grads[0]]
    return emit("_backward_Dropout", node.params, out_grads[0], node.outputs[1])


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # the mask is drawn, not computed: nothing comes back to it
    return [*emit("_backward_Dropout", node.params, out_grads[0], node.inputs[1]), None]


def infer_shape_backward(p: DropoutParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0])
    mask = ins[1] if data is None else merge(ins[1], mask_shape(p, data))
    return [data, mask], [data]


def compute_backward(ctx: OpContext, p: DropoutParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    outs[0].write((wide(ins[0]) * wide(ins[1])).astype(ins[0].dtype, copy=False))


def compute_ex_backward(ctx: OpContext, p: DropoutParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    dy = get_data(ins[0], ctx.stream)
    product = _product(ctx, dy.desc)
    if ins[1].shape == dy.desc.dims:
        factors = get_data_reorder(ins[1], dy.desc, ctx.stream)
    else:
        factors = _like(ctx, get_default(ins[1], ctx.stream), dy.desc)
    with outs[0].open(dy.desc, ctx.stream, inplace_of=dy) as dx:
        ctx.run(product, ((Arg.SRC, dy), (Arg.SRC_1, factors), (Arg.DST, dx)))


register(OpDef("Dropout", DropoutParams, inputs=("data",), outputs=("output", "mask"),
               visible_outputs=1, infer_shape=infer_shape, infer_type=same_float_type,
               compute=compute, compute_ex=compute_ex, refuses=refuses, gradient=gradient,
               inplace={0: 0}, is_random=True,
               identity=lambda p, rank: p.mode == "training", names_data=True,
               doc="Sets a random share p of the elements to 0 and multiplies the others by "
                   "1 / (1 - p).\n\nOnly when training, or with mode='always'; otherwise the "
                   "output is data. All elements along `axes` share one fate. With p=1 "
                   "everything is NaN. The second, hidden output is what data was multiplied by. "
                   "Source: MXNet's Dropout; a native kernel, oneDNN binary."))
register(OpDef("_backward_Dropout", DropoutParams, inputs=("out_grad", "mask"),
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, compute_ex=compute_ex_backward, refuses=refuses,
               gradient=gradient_backward, inplace={0: 0}, is_backward=True))

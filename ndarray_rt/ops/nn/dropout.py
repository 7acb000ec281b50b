"""Dropout: a random part of the elements becomes 0, the others grow by as much."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from ...dtypes import FLOAT32
from ...native import ffi, lib
from ...ndarray.layout import AnyArray, get_data, get_default, need_float32
from ...ndarray.ndarray import NDArray
from ...ndarray.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, normalize_axis
from ...op.params import Params, choice, number, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc, strided_desc
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


def draw_mask(ctx: OpContext, share: float, out: AnyArray) -> None:
    """Fills `out`, flat: 0 where an element is of the share dropped, else what keeps the mean."""
    keep = np.float32(1) - np.float32(share)
    # a word is kept when the 24 upper bits, as a number in [0, 1), are below `keep`
    bound = ceil(float(keep) * 2**24) << 8
    kept = ctx.random.words(out.size) < bound if keep else np.zeros(out.size, np.bool_)
    np.multiply(kept, np.float32(1) / keep if keep else np.float32(0), out=out, casting="unsafe")


def compute(ctx: OpContext, p: DropoutParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = ins[0]
    if not p.drops(ctx):
        outs[0].write(x)
        outs[1].write(np.ones(outs[1].shape, x.dtype))
        return
    flat = np.empty(prod(outs[1].shape), wide(x.reshape(-1)[:0]).dtype)
    draw_mask(ctx, p.p, flat)
    mask = flat.reshape(outs[1].shape)
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
    drops = p.drops(ctx)
    product = _product(ctx, x.desc) if drops else None

    def fill(mask: Mem) -> None:
        def step() -> None:
            # each replay of a recorded run draws anew
            flat = np.frombuffer(ffi.buffer(mask.ptr, desc.nbytes), np.float32)
            if drops:
                draw_mask(ctx, p.p, flat)
            else:
                flat[:] = 1
        stream.callback(step)

    if product is None:
        if outs[1].requested:
            with outs[1].open(desc, stream) as mask:
                fill(mask)
        if outs[0].requested:
            with outs[0].open(x.desc, stream, inplace_of=x) as y:
                if y.ptr != x.ptr:
                    reorder_mem(stream, x, y)
        return
    with outs[1].open(desc, stream) as mask:
        fill(mask)
        if outs[0].requested:
            factors = _like(ctx, mask, x.desc)
            with outs[0].open(x.desc, stream, inplace_of=x) as y:
                ctx.run(product, ((Arg.SRC, x), (Arg.SRC_1, factors), (Arg.DST, y)))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    if node.params.p == 0:
        return [out_grads[0]]
    return emit("_backward_Dropout", node.params, out_grads[0], node.outputs[1])


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
    factors = _like(ctx, get_default(ins[1], ctx.stream), dy.desc)
    with outs[0].open(dy.desc, ctx.stream, inplace_of=dy) as dx:
        ctx.run(product, ((Arg.SRC, dy), (Arg.SRC_1, factors), (Arg.DST, dx)))


register(OpDef("Dropout", DropoutParams, inputs=("data",), outputs=("output", "mask"),
               visible_outputs=1, infer_shape=infer_shape, infer_type=same_float_type,
               compute=compute, compute_ex=compute_ex, refuses=refuses, gradient=gradient,
               inplace={0: 0}, is_random=True,
               doc="Sets a random share p of the elements to 0 and multiplies the others by "
                   "1 / (1 - p).\n\nOnly when training, or with mode='always'; otherwise the "
                   "output is data. All elements along `axes` share one fate. The second, "
                   "hidden output is what data was multiplied by. Source: MXNet's Dropout; "
                   "oneDNN binary."))
register(OpDef("_backward_Dropout", DropoutParams, inputs=("out_grad", "mask"),
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, compute_ex=compute_ex_backward, refuses=refuses,
               inplace={0: 0}, is_backward=True,
               no_gradient="there is no second-order gradient of it"))

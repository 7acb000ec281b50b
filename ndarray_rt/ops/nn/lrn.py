"""LRN: each element divided by a power of the mean square of its neighbours among channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data, get_data_reorder, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...native import lib
from ...op.choose import first_supported
from ...op.context import OpContext
from ...op.infer import ShapeList, same_shape
from ...op.params import Params, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import MemDesc, channels_last_desc, default_desc
from ...storage.kernels import norm as kernels
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ..floats import same_float_type, wide

# up to these a native kernel, whose numbers are arguments; beyond, oneDNN's is up to 2.5 times as
# fast, and making it takes no longer than running it
MOST_ELEMENTS = 1 << 14
BETA = 0.75  # the power that oneDNN has code for
LEAST_NSIZE = 3


@params_class
class LRNParams(Params):
    nsize: int = integer(low=1, doc="how many channels count as neighbours, the element's own "
                                    "among them; one less when even")
    alpha: float = number(1e-4, doc="weight of the mean square")
    beta: float = number(0.75, doc="the power")
    knorm: float = number(2.0, doc="added to the weighted mean square")


def infer_shape(p: LRNParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if ins[0] is not None and len(ins[0]) < 2:
        raise ShapeError(f"data has shape {ins[0]}, expected rank 2 or more")
    return same_shape(p, ins, outs)


def _neighbours(x: AnyArray, nsize: int) -> AnyArray:
    """Sums over the neighbours of each channel; an even nsize counts as one less, as in MXNet."""
    made: AnyArray = x.copy()
    for k in range(1, min((nsize - 1) // 2, x.shape[1] - 1) + 1):
        made[:, k:] += x[:, :-k]
        made[:, :-k] += x[:, k:]
    return made


def _base(p: LRNParams, x: AnyArray) -> AnyArray:
    made: AnyArray = x.dtype.type(p.knorm) + _neighbours(np.square(x), p.nsize) * x.dtype.type(
        p.alpha / p.nsize)
    return made


def compute(ctx: OpContext, p: LRNParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    x = wide(ins[0])
    outs[0].write((x * _base(p, x) ** -p.beta).astype(ins[0].dtype, copy=False))


def refuses(p: LRNParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def refuses_backward(p: LRNParams, ins: list[NDArray]) -> str | None:
    if p.nsize < LEAST_NSIZE:
        # oneDNN 3.2 dies with a segmentation fault when it makes such a primitive
        return "oneDNN needs an nsize of 3 or more"
    return need_float32(*ins)


def _layouts(given: MemDesc) -> list[MemDesc]:
    """What to try for data in a layout: that, then channels-last, which always has a kernel."""
    return list(dict.fromkeys((given, channels_last_desc(FLOAT32, given.dims))))


def _four_axes(desc: MemDesc) -> MemDesc:
    """The same bytes with one image axis or two: oneDNN has kernels for rank 4 alone."""
    dims = desc.dims
    if desc is not channels_last_desc(FLOAT32, dims):
        return desc
    return channels_last_desc(FLOAT32, (*dims[:2], prod(dims[2:]), 1) if len(dims) != 4 else dims)


def _fields(p: LRNParams) -> dict[str, Any]:
    return {"alg": lib.NDRT_LRN_ACROSS_CHANNELS, "local_size": p.nsize, "alpha": p.alpha,
            "beta": p.beta, "k": p.knorm}


def _run_primitive(ctx: OpContext, p: LRNParams, data: NDArray, out: Output) -> None:
    stream = ctx.stream
    given = get_data(data, stream).desc

    def make(desc: MemDesc) -> tuple[Primitive, MemDesc]:
        four = _four_axes(desc)
        return make_primitive(Kind.LRN, Direction.FORWARD_INFERENCE, src=four, dst=four,
                              **_fields(p)), desc
    prim, desc = ctx.primitive(
        ("LRN.forward", p, given.id),
        lambda: first_supported(partial(make, desc) for desc in _layouts(given)))
    x = get_data_reorder(data, desc, stream)
    with out.open(desc, stream) as y:
        ctx.run(prim, ((Arg.SRC, x.as_desc(prim.src)), (Arg.DST, y.as_desc(prim.dst))))


def compute_ex(ctx: OpContext, p: LRNParams, ins: list[NDArray], outs: list[Output]) -> None:
    stream, shape = ctx.stream, ins[0].shape
    if prod(shape) > MOST_ELEMENTS and p.nsize >= LEAST_NSIZE and p.beta == BETA:
        _run_primitive(ctx, p, ins[0], outs[0])
        return
    given, last = get_data(ins[0], stream).desc, channels_last_desc(FLOAT32, shape)
    is_plain = given.same_as == default_desc(FLOAT32, shape).same_as
    desc = given if is_plain or given.same_as == last.same_as else last
    pixels = prod(shape[2:])
    dims = (shape[0], shape[1], pixels) if is_plain else (shape[0] * pixels, shape[1], 1)
    x = get_data_reorder(ins[0], desc, stream)
    with outs[0].open(desc, stream) as y:
        outer, channels, inner = dims
        ctx.kernel(kernels.lrn(out=y, data=x, outer=outer, channels=channels, inner=inner,
                               neighbours=p.nsize, alpha=p.alpha, beta=p.beta, knorm=p.knorm))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_LRN", node.params, out_grads[0], node.inputs[0])


def compute_backward(ctx: OpContext, p: LRNParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, x = wide(ins[0]), wide(ins[1])
    base = _base(p, x)
    share = dy * base ** -p.beta
    across = _neighbours(share * x / base, p.nsize)
    dx = share - x.dtype.type(2 * p.alpha * p.beta / p.nsize) * x * across
    outs[0].write(dx.astype(ins[1].dtype, copy=False))


def compute_ex_backward(ctx: OpContext, p: LRNParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    stream = ctx.stream
    given = get_data(ins[1], stream).desc

    def make(desc: MemDesc) -> tuple[Primitive, Primitive, MemDesc]:
        four = _four_axes(desc)
        forward = make_primitive(Kind.LRN, Direction.FORWARD_TRAINING, src=four, dst=four,
                                 **_fields(p))
        backward = make_primitive(Kind.LRN, Direction.BACKWARD_DATA, src=four, diff_src=four,
                                  diff_dst=four, **_fields(p))
        return forward, backward, desc
    forward, backward, desc = ctx.primitive(
        ("LRN.backward", p, given.id),
        lambda: first_supported(partial(make, desc) for desc in _layouts(given)))
    x = get_data_reorder(ins[1], desc, stream).as_desc(forward.src)
    dy = get_data_reorder(ins[0], desc, stream).as_desc(backward.diff_dst)
    args = [(Arg.SRC, x), (Arg.DIFF_DST, dy)]
    notes = forward.desc_or_none(Arg.WORKSPACE)
    if notes is not None:
        # what the forward would have noted for the backward is computed once more
        space = stream.scratch(notes)
        ctx.run(forward, ((Arg.SRC, x), (Arg.DST, stream.scratch(forward.dst)),
                          (Arg.WORKSPACE, space)))
        args.append((Arg.WORKSPACE, space))
    with outs[0].open(desc, stream) as dx:
        ctx.run(backward, [*args, (Arg.DIFF_SRC, dx.as_desc(backward.diff_src))])


register(OpDef("LRN", LRNParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_float_type, compute=compute, compute_ex=compute_ex,
               refuses=refuses, gradient=gradient, numbers=("alpha", "beta", "knorm"),
               names_data=True, per_sample=True,
               doc="Local response normalization across channels.\n\n"
                   "y = x / (knorm + alpha / nsize * sum of squares over the nsize channels around "
                   "each, one fewer where nsize is even)^beta. data (N, C, *rest); output of the "
                   "same shape and dtype. Source: "
                   "MXNet's LRN; oneDNN lrn, a native kernel for small data."))
register(OpDef("_backward_LRN", LRNParams, inputs=("out_grad", "data"),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses_backward,
               is_backward=True,
               no_gradient="there is no second-order gradient of it"))

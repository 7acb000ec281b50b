"""The gradients of a convolution by oneDNN: of the data, and of weights and bias together."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ..._array.layout import get_data_reorder, get_weights, grouped_dims
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...cpu_level import Level
from ...op.choose import ONEDNN, data_candidates, first_supported
from ...op.context import OpContext
from ...op.select import Implementation, compute
from ...storage.desc import any_desc, default_desc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from .conv_geometry import Geometry
from .pointwise_convolution import (
    NOT_POINTWISE,
    is_pointwise,
    outward,
    weight_outward,
    weight_product,
)


class BackwardCall(NamedTuple):
    """A gradient of a convolution.

    An implementation leaves its primitive in `found`, so that those of both gradients are there
    before either is written, and a refusal leaves everything as it was.
    """

    params: Any
    geo: Geometry
    out_grad: NDArray
    data: NDArray
    weight: NDArray
    outs: list[Output]
    with_bias: bool
    found: list[Primitive]
    variant: str = ""  # layouts are those that come


def _prepare_data(ctx: OpContext, call: BackwardCall) -> None:
    dy, x, w, dtype = call.out_grad, call.data, call.weight, call.data.dtype
    groups = call.geo.groups

    def build() -> Primitive:
        make = partial(make_primitive, Kind.CONVOLUTION, Direction.BACKWARD_DATA,
                       weights=any_desc(dtype, grouped_dims(w.shape, groups)), **call.geo.fields())
        return first_supported(partial(make, diff_src=src, diff_dst=dst)
                               for src, dst in data_candidates(dtype, x.shape, dy.shape))
    call.found.append(ctx.primitive(("Convolution.backward_data", call.params, x.shape), build))


def _run_data(ctx: OpContext, call: BackwardCall, prim: Primitive) -> None:
    args = [(Arg.DIFF_DST, get_data_reorder(call.out_grad, prim.diff_dst, ctx.stream)),
            (Arg.WEIGHTS, get_weights(call.weight, prim.weights, call.geo.groups, ctx.stream))]
    with call.outs[0].open(prim.diff_src, ctx.stream) as dx:
        ctx.run(prim, [*args, (Arg.DIFF_SRC, dx)])


def _accepts_product(ctx: OpContext, call: BackwardCall) -> str | None:
    is_one = is_pointwise(call.geo, call.data.shape, call.out_grad.shape)
    return None if is_one else NOT_POINTWISE


def _prepare_product(ctx: OpContext, call: BackwardCall) -> None:
    x, w = call.data, call.weight
    sign = ("Convolution.backward_product", call.params, x.shape, call.with_bias)
    call.found.append(ctx.primitive(
        sign, partial(weight_product, x.shape, w.shape, x.dtype, call.with_bias)))


def _prepare_weights(ctx: OpContext, call: BackwardCall) -> None:
    dy, x, w, dtype = call.out_grad, call.data, call.weight, call.data.dtype

    def build() -> Primitive:
        make = partial(make_primitive, Kind.CONVOLUTION, Direction.BACKWARD_WEIGHTS,
                       diff_weights=any_desc(dtype, grouped_dims(w.shape, call.geo.groups)),
                       diff_bias=default_desc(dtype, (w.shape[0],)) if call.with_bias else None,
                       **call.geo.fields())
        return first_supported(partial(make, src=src, diff_dst=dst)
                               for src, dst in data_candidates(dtype, x.shape, dy.shape))
    sign = ("Convolution.backward_weights", call.params, x.shape, call.with_bias)
    call.found.append(ctx.primitive(sign, build))


def _run_weights(ctx: OpContext, call: BackwardCall, prim: Primitive) -> None:
    dy, x, w, stream = call.out_grad, call.data, call.weight, ctx.stream
    src = get_data_reorder(x, outward(prim.src, x.dtype, x.shape), stream)
    diff = get_data_reorder(dy, outward(prim.diff_dst, x.dtype, dy.shape), stream)
    args = [(Arg.SRC, src.as_desc(prim.src)), (Arg.DIFF_DST, diff.as_desc(prim.diff_dst))]
    made = weight_outward(prim.diff_weights, x.dtype, w.shape)
    with call.outs[1].open_weight_grad(made, stream) as dw:
        args.append((Arg.DIFF_WEIGHTS, dw.as_desc(prim.diff_weights)))
        if not call.with_bias:
            ctx.run(prim, args)
            return
        with call.outs[2].open(default_desc(x.dtype, (w.shape[0],)), stream) as db:
            ctx.run(prim, [*args, (Arg.DIFF_BIAS, db)])


OF_DATA = (Implementation[BackwardCall]("oneDNN convolution, of data", ONEDNN, _prepare_data),)
OF_WEIGHTS = (
    Implementation[BackwardCall]("oneDNN inner product, of weights", ONEDNN, _prepare_product,
                                 _accepts_product, level=Level.AVX512),
    Implementation[BackwardCall]("oneDNN convolution, of weights", ONEDNN, _prepare_weights))


def compute_ex(ctx: OpContext, p: Any, ins: list[NDArray], outs: list[Output]) -> None:
    """Computes the gradients that are requested."""
    dy, x, w = ins
    with_bias = not p.no_bias and outs[2].requested
    call = BackwardCall(p, p.geometry(), dy, x, w, outs, with_bias, [])
    runs = []
    if outs[1].requested or with_bias:
        compute(ctx, OF_WEIGHTS, call)
        runs.append(_run_weights)
    if outs[0].requested:
        compute(ctx, OF_DATA, call)
        runs.append(_run_data)
    for run, prim in zip(runs, call.found, strict=True):
        run(ctx, call, prim)
